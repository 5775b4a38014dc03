--
-- Every statement that builds B-trees: how many of them gpusort builds, and amcheck's opinion of all indexes.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
SET gpusort.mode = force;
-- Runs a statement: how many indexes were built by gpusort in it?
CREATE FUNCTION index_builds_of(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
BEGIN
	SELECT sum(index_builds) INTO before FROM pg_stat_gpusort;
	EXECUTE statement;
	RETURN (SELECT sum(index_builds) - before FROM pg_stat_gpusort);
END $$;
-- What amcheck finds wrong with the valid indexes of this session's tables; nothing.
CREATE FUNCTION bad_indexes() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	index_name regclass;
BEGIN
	FOR index_name IN SELECT i.indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid JOIN pg_am a ON a.oid = c.relam
			WHERE c.relkind = 'i' AND a.amname = 'btree' AND t.relname LIKE 'st\_%' AND i.indisvalid LOOP
		BEGIN
			PERFORM bt_index_parent_check(index_name, true, true);
		EXCEPTION WHEN OTHERS THEN
			RETURN NEXT index_name || ': ' || SQLERRM;
		END;
	END LOOP;
END $$;

CREATE TABLE st_table (id int8, k int, t text COLLATE "C");
INSERT INTO st_table SELECT noise(i), i, md5(i::text) FROM generate_series(1, 5000) AS i;
CREATE TEMP TABLE st_temp AS SELECT * FROM st_table;
CREATE UNLOGGED TABLE st_unlogged AS SELECT * FROM st_table;
CREATE TABLE st_parts (id int8, k int, t text COLLATE "C") PARTITION BY RANGE (k);
CREATE TABLE st_parts_1 PARTITION OF st_parts FOR VALUES FROM (0) TO (2000);
CREATE TABLE st_parts_2 PARTITION OF st_parts FOR VALUES FROM (2000) TO (9000);
INSERT INTO st_parts SELECT * FROM st_table;
CREATE MATERIALIZED VIEW st_view AS SELECT noise(i) AS id, i AS k, md5(i::text) COLLATE "C" AS t FROM generate_series(1, 5000) AS i;
CREATE TABLE st_own (j backwards);
CREATE FUNCTION statements() RETURNS TABLE (statement text, built bigint) LANGUAGE sql AS $$
	SELECT s, index_builds_of(s) FROM unnest(ARRAY[
		'CREATE INDEX st_table_t ON st_table (t)', 'CREATE UNIQUE INDEX st_table_k ON st_table (k)', 'ALTER TABLE st_table ADD PRIMARY KEY (id)', 'ALTER TABLE st_table ADD UNIQUE (t, k)',
		'ALTER TABLE st_table ADD EXCLUDE USING btree (k WITH =)', 'CREATE INDEX st_temp_t ON st_temp (t)', 'CREATE INDEX st_unlogged_t ON st_unlogged (t)', 'CREATE INDEX ON st_parts (t)',
		'ALTER TABLE st_parts ADD PRIMARY KEY (k, id)', 'CREATE INDEX st_view_t ON st_view (t)', 'REINDEX INDEX st_table_t', 'REINDEX TABLE st_table',
		'ALTER TABLE st_table ALTER k TYPE int8', 'CLUSTER st_table USING st_table_t', 'REFRESH MATERIALIZED VIEW st_view', 'ALTER TABLE st_table SET UNLOGGED',
		'ALTER TABLE st_table SET LOGGED', 'CREATE INDEX ON st_table USING hash (t)', 'CREATE INDEX ON st_table USING brin (k)']) AS s $$;
SET max_parallel_maintenance_workers = 0;
SELECT * FROM statements();
SELECT * FROM bad_indexes();
DROP INDEX st_table_t, st_table_k, st_temp_t, st_unlogged_t, st_view_t;
ALTER TABLE st_table DROP CONSTRAINT st_table_pkey, DROP CONSTRAINT st_table_t_k_key, DROP CONSTRAINT st_table_k_excl;
DROP INDEX st_table_t_idx, st_table_k_idx;
ALTER TABLE st_table ALTER k TYPE int4;
DROP TABLE st_parts;
CREATE TABLE st_parts (id int8, k int, t text COLLATE "C") PARTITION BY RANGE (k);
CREATE TABLE st_parts_1 PARTITION OF st_parts FOR VALUES FROM (0) TO (2000);
CREATE TABLE st_parts_2 PARTITION OF st_parts FOR VALUES FROM (2000) TO (9000);
INSERT INTO st_parts SELECT * FROM st_table;
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
SELECT string_agg(built::text, ' ') FROM statements();
SELECT * FROM bad_indexes();

-- Those that can't run in a function.
CREATE FUNCTION builds_so_far() RETURNS bigint LANGUAGE sql AS $$ SELECT sum(index_builds)::bigint FROM pg_stat_gpusort $$;
SELECT builds_so_far() AS before \gset
CREATE INDEX CONCURRENTLY st_table_c ON st_table (t DESC, id);
SELECT builds_so_far() - :before AS built;
REINDEX INDEX CONCURRENTLY st_table_c;
SELECT builds_so_far() - :before AS built;
VACUUM FULL st_view;
SELECT builds_so_far() - :before AS built;
SET max_parallel_maintenance_workers = 0;
CREATE UNIQUE INDEX CONCURRENTLY st_table_d ON st_table (t, id);
SELECT builds_so_far() - :before AS built;
REINDEX TABLE CONCURRENTLY st_view;
SELECT builds_so_far() - :before AS built;
VACUUM (FULL) st_view;
SELECT builds_so_far() - :before AS built;
SHOW max_parallel_maintenance_workers;
SELECT * FROM bad_indexes();

-- With max_parallel_maintenance_workers = 0, nobody but PostgreSQL about to build a B-tree finds another value:
-- no index of another access method, no expression; and indexes rebuilt together with such are left to PostgreSQL.
CREATE FUNCTION found_no_workers(value anyelement) RETURNS anyelement IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('max_parallel_maintenance_workers') <> '0' THEN
		RAISE EXCEPTION 'max_parallel_maintenance_workers is %', current_setting('max_parallel_maintenance_workers');
	END IF;
	RETURN value;
END $$;
CREATE TABLE st_seen (k int, t text COLLATE "C");
INSERT INTO st_seen SELECT i, md5(i::text) FROM generate_series(1, 2000) AS i;
CREATE MATERIALIZED VIEW st_seen_view AS SELECT found_no_workers(i) AS k FROM generate_series(1, 2000) AS i;
SELECT s AS statement, index_builds_of(s) AS built FROM unnest(ARRAY['CREATE INDEX st_seen_hash ON st_seen USING hash (found_no_workers(k))', 'CREATE INDEX st_seen_k ON st_seen (k)',
	'CREATE INDEX st_seen_t ON st_seen (found_no_workers(t))', 'REINDEX TABLE st_seen', 'REINDEX INDEX st_seen_hash', 'REINDEX INDEX st_seen_t', 'CLUSTER st_seen USING st_seen_k',
	'ALTER TABLE st_seen ALTER k TYPE int8 USING found_no_workers(k)', 'ALTER TABLE st_seen ADD PRIMARY KEY (k), ADD CONSTRAINT st_seen_excl EXCLUDE USING hash (found_no_workers(t) WITH =)',
	'CREATE INDEX st_seen_view_k ON st_seen_view (found_no_workers(k))', 'CREATE INDEX ON st_seen_view (k DESC)', 'REFRESH MATERIALIZED VIEW st_seen_view']) AS s;
SELECT replace(sort_key, 'public.', '') AS sort_key, taken, reason FROM gpusort_check('REINDEX TABLE st_seen') WHERE sort_key LIKE 'st_seen_k%' OR sort_key LIKE 'st_seen_hash%';
SELECT builds_so_far() AS before \gset
VACUUM FULL st_seen;
REINDEX TABLE CONCURRENTLY st_seen;
CREATE INDEX CONCURRENTLY st_seen_late ON st_seen USING hash (found_no_workers(t));
SELECT builds_so_far() - :before AS built;
DROP INDEX st_seen_hash, st_seen_late;
ALTER TABLE st_seen DROP CONSTRAINT st_seen_excl;
VACUUM FULL st_seen;
SELECT builds_so_far() - :before AS built;
REINDEX TABLE CONCURRENTLY st_seen;
SELECT builds_so_far() - :before AS built;
CREATE INDEX CONCURRENTLY st_seen_late ON st_seen (found_no_workers(t), k);
SELECT builds_so_far() - :before AS built;
SELECT s AS statement, index_builds_of(s) AS built FROM unnest(ARRAY['REINDEX TABLE st_seen', 'CLUSTER st_seen USING st_seen_k', 'ALTER TABLE st_seen ALTER k TYPE int4 USING found_no_workers(k)']) AS s;
SHOW max_parallel_maintenance_workers;
SELECT * FROM bad_indexes();
DROP MATERIALIZED VIEW st_seen_view;
DROP TABLE st_seen;
-- What is left to PostgreSQL, and why.
SELECT gpusort_stat_reset();
CREATE INDEX ON st_own (j);
CREATE INDEX ON st_table (t COLLATE "fr-CA-x-icu");
CREATE TABLE st_few AS SELECT i AS k, md5(i::text) COLLATE "C" AS t FROM generate_series(1, 500) AS i;
ANALYZE st_few;
SET gpusort.mode = auto;
CREATE INDEX ON st_few (k);
SET gpusort.create_index = off;
CREATE INDEX ON st_table (k);
SET gpusort.create_index = on;
SET gpusort.mode = off;
CREATE INDEX ON st_table (k);
SELECT index_builds, declined, declined_reasons FROM pg_stat_gpusort WHERE device <> 'cuda';
-- An index that is used at once, by inserts and scans, in the session that has built it.
SET gpusort.mode = force;
CREATE INDEX st_table_used ON st_table (k, id);
INSERT INTO st_table SELECT noise(i), i, md5(i::text) FROM generate_series(5001, 9000) AS i;
DELETE FROM st_table WHERE k % 3 = 0;
SET enable_seqscan = off;
SELECT count(*), min(k), max(k) FROM st_table WHERE k BETWEEN 4000 AND 8000;
VACUUM st_table;
SELECT count(*), min(k), max(k) FROM st_table WHERE k BETWEEN 4000 AND 8000;
SELECT * FROM bad_indexes();
-- VACUUM FULL and CLUSTER build unique indexes without a check: one that is invalid may hold duplicates.
SET gpusort.mode = off;
CREATE TABLE st_unchecked AS SELECT i % 30000 AS twice, CASE WHEN i % 20 = 0 THEN i END AS few, i AS id FROM generate_series(1, 60000) AS i;
ALTER TABLE st_unchecked SET (parallel_workers = 2);
\set VERBOSITY terse
CREATE UNIQUE INDEX CONCURRENTLY st_unchecked_twice ON st_unchecked (twice);
\set VERBOSITY default
CREATE UNIQUE INDEX st_unchecked_few ON st_unchecked (few);
CREATE UNIQUE INDEX st_unchecked_id ON st_unchecked (id);
VACUUM FULL st_unchecked;
SELECT pg_relation_size('st_unchecked_twice') AS twice_size, pg_relation_size('st_unchecked_few') AS few_size \gset
SET gpusort.mode = force;
SELECT builds_so_far() AS before \gset
SET max_parallel_maintenance_workers = 2;
VACUUM FULL st_unchecked;
CLUSTER st_unchecked USING st_unchecked_id;
SELECT builds_so_far() - :before AS built;
SELECT * FROM bad_indexes();
BEGIN;
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'st_unchecked_twice'::regclass;
SELECT bt_index_parent_check('st_unchecked_twice', true, true);
ROLLBACK;
-- With the posting lists that PostgreSQL makes then.
SET max_parallel_maintenance_workers = 0;
VACUUM FULL st_unchecked;
SELECT pg_relation_size('st_unchecked_twice') = :twice_size AS twice_same_size, pg_relation_size('st_unchecked_few') = :few_size AS few_same_size;
-- A check is made where PostgreSQL makes it.
SET max_parallel_maintenance_workers = 2;
\set VERBOSITY terse
REINDEX TABLE st_unchecked;
\set VERBOSITY default
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 'st_unchecked'::regclass ORDER BY indexrelid;
-- A build reads its table once, as the statistics say, though pages are left to PostgreSQL's scan here and there.
SET max_parallel_maintenance_workers = 0;
CREATE TABLE st_read WITH (fillfactor = 10) AS SELECT i AS k FROM generate_series(1, 5000) AS i;
DELETE FROM st_read WHERE k % 40 = 0;
CREATE FUNCTION reads_of_build(mode text, OUT scans bigint, OUT tuples bigint) LANGUAGE plpgsql AS $$
DECLARE
	before record;
BEGIN
	PERFORM set_config('gpusort.mode', mode, true);
	SELECT s.seq_scan, s.seq_tup_read INTO before FROM pg_stat_xact_user_tables AS s WHERE s.relname = 'st_read';
	CREATE INDEX st_read_k ON st_read (k);
	DROP INDEX st_read_k;
	SELECT s.seq_scan - before.seq_scan, s.seq_tup_read - before.seq_tup_read INTO scans, tuples FROM pg_stat_xact_user_tables AS s WHERE s.relname = 'st_read';
END $$;
BEGIN;
DELETE FROM st_read WHERE k % 100 = 7;
SELECT p.scans AS by_postgres, g.scans, g.tuples = p.tuples AS same_tuples FROM reads_of_build('off') AS p, reads_of_build('force') AS g;
ROLLBACK;
-- A spill is told of.
RESET client_min_messages;
SET gpusort.backend = cpu;
SET maintenance_work_mem = '1MB';
INSERT INTO st_unlogged SELECT noise(i), i, md5(i::text) FROM generate_series(1, 30000) AS i;
\set VERBOSITY terse
CREATE INDEX st_unlogged_k ON st_unlogged (t);
\set VERBOSITY default
-- What gpusort_check says beforehand: nothing is built.
SET gpusort.mode = auto;
SET maintenance_work_mem = '64MB';
SELECT sort_key, taken, reason LIKE 'the table has about % rows, which is not more than 1000; gpusort.mode = force would take the sort' AS few FROM gpusort_check('CREATE INDEX checked_1 ON st_few (k, t DESC NULLS LAST)');
SET gpusort.mode = force;
SELECT sort_key, taken, reason, regexp_replace(how, '[\d.]+ [kM]B', 'N', 'g') AS how, expected_ms FROM gpusort_check('CREATE UNIQUE INDEX checked_1 ON st_table (k, t DESC NULLS LAST) INCLUDE (id)');
SELECT sort_key, taken, reason FROM gpusort_check('CREATE INDEX CONCURRENTLY ON st_table (lower(t) text_pattern_ops, (k + 1)) WHERE k > 5');
-- A column that is only included needs no order.
CREATE TABLE st_documents (k int, doc json);
SELECT sort_key, taken, reason FROM gpusort_check('CREATE INDEX ON st_documents (k) INCLUDE (doc)');
SELECT sort_key, taken, reason FROM gpusort_check('CREATE INDEX ON st_parts (t)');
SELECT sort_key, taken, reason FROM gpusort_check('CREATE INDEX ON st_own (j)');
SELECT sort_key, taken, reason FROM gpusort_check('CREATE INDEX ON st_table (t COLLATE "fr-CA-x-icu")');
SELECT sort_key, taken, reason FROM gpusort_check('CREATE INDEX ON st_table USING hash (t)');
SET gpusort.create_index = off;
SELECT sort_key, taken, reason FROM gpusort_check('CREATE INDEX ON st_table (t)');
RESET gpusort.create_index;
-- A build that is left to PostgreSQL is logged if that is asked for, but no matter of course: gpusort is off, or the table is small.
CREATE TABLE st_logged_table AS SELECT 'a & b'::tsquery AS q FROM generate_series(1, 10);
SET client_min_messages = log;
CREATE INDEX st_logged ON st_logged_table (q);
SET gpusort.log_fallbacks = on;
REINDEX INDEX st_logged;
SET gpusort.mode = off;
REINDEX INDEX st_logged;
SET gpusort.mode = auto;
CREATE INDEX ON st_few (k);
RESET gpusort.log_fallbacks;
RESET client_min_messages;
SET gpusort.mode = force;
SET maintenance_work_mem = '1MB';
ALTER TABLE st_unlogged SET (parallel_workers = 2);
SET max_parallel_maintenance_workers = 3;
SELECT regexp_replace(how, '[\d.]+ [kM]B', 'N', 'g') AS how FROM gpusort_check('CREATE INDEX ON st_unlogged (t)');
SELECT columns, substring(how FROM 'about ([^,]+) of memory') AS memory, how ~ 'about [1-4]\.\d MB of temporary files' AS few_files
FROM unnest('{t,"t COLLATE \"und-x-icu\"",(k::numeric)}'::text[]) AS columns, gpusort_check(format('CREATE INDEX ON st_unlogged (%s)', columns));
SELECT * FROM gpusort_check('CREATE INDEX ON st_table (no_such_column)');
SELECT * FROM gpusort_check('CREATE INDEX ON no_such_table (k)');
SELECT count(*) FROM pg_class WHERE relname LIKE 'checked%';
