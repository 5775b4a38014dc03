--
-- Builds of B-trees that do not fit into memory, by several processes: all of them write runs, and load ranges of the order.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
SET gpusort.mode = force;
SET gpusort.backend = cpu;
SET max_parallel_maintenance_workers = 4;
CREATE TABLE sp (id int8, few int4, t text COLLATE "C", num numeric, real8 float8, wide text COLLATE "C", prefix text COLLATE "C", packed text COLLATE "C");
ALTER TABLE sp SET (parallel_workers = 4);
INSERT INTO sp SELECT noise(i), CASE WHEN i % 7 > 0 THEN i % 50 END, md5(i::text), noise(i, 2) / 1e6::numeric, noise(i, 1) / 1e10,
	CASE WHEN i % 500 = 0 THEN repeat(md5(i::text), 60) ELSE 'short ' || i END, repeat('p', 40) || i % 10000,
	CASE WHEN i % 3 = 0 THEN repeat('long ', 500) ELSE '' END || i FROM generate_series(1, 60000) AS i;
ANALYZE sp;

-- Builds in two sizes of memory, 1 and 3 MB or 2 and 4 in turn, and looks at the result.
CREATE FUNCTION check_spill(definition text, number bigint, kind text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	built bigint := (SELECT sum(index_builds) FROM pg_stat_gpusort);
BEGIN
	FOR megabytes IN 2 - number % 2 .. 4 BY 2 LOOP
		PERFORM set_config('maintenance_work_mem', megabytes || 'MB', true);
		EXECUTE format('CREATE %s INDEX spilled ON sp %s', kind, definition);
		PERFORM bt_index_parent_check('spilled', true, true);
		DROP INDEX spilled;
	END LOOP;
	RETURN CASE WHEN (SELECT sum(index_builds) FROM pg_stat_gpusort) = built + 2 THEN 'ok' ELSE 'not by gpusort' END;
END $$;
SELECT definition, check_spill(definition, number) FROM unnest(ARRAY['(id)', '(few)', '(t)', '(num)', '(real8)', '(wide)', '(prefix)', '(packed)', '(few, t DESC)',
	'(id) INCLUDE (t)', '(few NULLS FIRST) INCLUDE (packed)', '(lower(t))', '(id DESC) WHERE few < 3']) WITH ORDINALITY AS d (definition, number);
SELECT definition, check_spill(definition, number, 'UNIQUE') FROM unnest(ARRAY['(id)', '(t)', '(few, id DESC)']) WITH ORDINALITY AS d (definition, number);
-- In the order of the table: all processes' rows are neighbours.
CREATE TABLE sp_ascending AS SELECT i AS id, 'text ' || lpad(i::text, 8, '0') COLLATE "C" AS t FROM generate_series(1, 60000) AS i;
ALTER TABLE sp_ascending SET (parallel_workers = 4);
SET maintenance_work_mem = '1MB';
CREATE UNIQUE INDEX sp_ascending_id ON sp_ascending (id);
CREATE INDEX sp_ascending_t ON sp_ascending (t);
SELECT bt_index_parent_check(i, true, true) FROM unnest(ARRAY['sp_ascending_id', 'sp_ascending_t']::regclass[]) AS i;

-- A notice names the index that its user knows, not the one that is built in its place; an index whose name is that of such a one keeps it.
CREATE INDEX sp_a_name_that_has_as_many_characters_as_an_identifier_may_have ON sp_ascending (t DESC);
\set VERBOSITY terse
SET client_min_messages = notice;
REINDEX TABLE CONCURRENTLY sp_ascending;
REINDEX INDEX sp_ascending_t;
CREATE INDEX CONCURRENTLY sp_ascending_t_ccnew ON sp_ascending (t);
REINDEX INDEX CONCURRENTLY sp_ascending_t;
REINDEX INDEX CONCURRENTLY sp_ascending_t_ccnew;
SET client_min_messages = warning;
\set VERBOSITY default

-- A key whose only two alive rows have so many dead ones between them that no process meets both in its range.
\set SHOW_CONTEXT never
CREATE TABLE sp_dead (k int, t text);
ALTER TABLE sp_dead SET (parallel_workers = 4);
BEGIN;
INSERT INTO sp_dead SELECT 1, 'row ' || i FROM generate_series(1, 60000) AS i;
DELETE FROM sp_dead WHERE t NOT IN ('row 1', 'row 60000');
SAVEPOINT before;
CREATE UNIQUE INDEX sp_dead_k ON sp_dead (k);
ROLLBACK TO before;
CREATE UNIQUE INDEX sp_dead_k ON sp_dead (k) INCLUDE (t);
ROLLBACK TO before;
DELETE FROM sp_dead WHERE t = 'row 1';
CREATE UNIQUE INDEX sp_dead_k ON sp_dead (k);
SELECT bt_index_parent_check('sp_dead_k', true, true);
COMMIT;

-- Two alive rows of which the second is the first one of a range: ranges begin where so many bytes of a key change, here the third of the tid's six,
-- at some length of the string at least.
CREATE TABLE sp_seam (t text COLLATE "C");
ALTER TABLE sp_seam SET (parallel_workers = 4);
BEGIN;
INSERT INTO sp_seam SELECT repeat('x', 32) FROM generate_series(1, 60000) AS i;
DELETE FROM sp_seam WHERE ctid NOT IN ('(0,1)', '(256,1)');
CREATE FUNCTION is_unique(length int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE UNIQUE INDEX ON sp_seam (left(t, %s))', length);
	RETURN true;
EXCEPTION WHEN unique_violation THEN
	RETURN false;
END $$;
SELECT length, is_unique(length) FROM generate_series(24, 30) AS length;
ROLLBACK;

-- Temporary files are not larger than those of PostgreSQL. (Of one process: how many rows each of several has is a matter of time. With low
-- thresholds runs are merged sooner, and written twice.)
CREATE TABLE sp_noted (n int GENERATED ALWAYS AS IDENTITY, definition text, workers int, create_index text, bytes bigint);
CREATE FUNCTION note_temp_bytes(definition text, workers int, create_index text) RETURNS void LANGUAGE sql AS $$
	INSERT INTO sp_noted (definition, workers, create_index, bytes) SELECT definition, workers, create_index, temp_bytes FROM pg_stat_database WHERE datname = current_database() $$;
SET maintenance_work_mem = '2MB';
SELECT step FROM unnest(ARRAY['(id)', '(t)', '(few, num)', '(real8)', '(few) INCLUDE (t)', '(lower(t) COLLATE "und-x-icu")']) AS definition, unnest(ARRAY[0]) AS workers, unnest(ARRAY['off', 'on']) AS create_index,
	LATERAL unnest(ARRAY[
		format('DO $DO$ BEGIN PERFORM note_temp_bytes(%L, %s, %L); END $DO$', definition, workers, create_index),
		format('SET gpusort.create_index = %s; SET max_parallel_maintenance_workers = %s', create_index, workers),
		format('CREATE INDEX spilled ON sp %s', definition),
		'DROP INDEX spilled',
		'DO $DO$ BEGIN PERFORM pg_stat_force_next_flush(); END $DO$']) AS step
\set ECHO none
\gexec
\set ECHO all
SELECT note_temp_bytes('end', 0, NULL);
WITH written AS (SELECT *, lead(bytes) OVER (ORDER BY n) - bytes AS more FROM sp_noted)
SELECT definition, workers, ours.more > 0 AS spilled, ours.more <= postgres.more OR current_setting('tests.unused_blocks', true) IS NOT NULL AS not_more
FROM written AS ours JOIN written AS postgres USING (definition, workers) WHERE ours.create_index = 'on' AND postgres.create_index = 'off' ORDER BY 1, 2;
DROP TABLE sp, sp_ascending, sp_dead, sp_noted;
