--
-- Builds of B-trees: every kind is verified by amcheck and compared in size with the one that PostgreSQL builds.
--
SET client_min_messages = warning;
CREATE EXTENSION amcheck;
SET gpusort.mode = force;
CREATE FUNCTION builds() RETURNS bigint LANGUAGE sql AS $$ SELECT sum(index_builds)::bigint FROM pg_stat_gpusort $$;

-- Bytes that writers may leave unused. With low thresholds (tools/test --only tight) there are several, of few pages each.
CREATE FUNCTION unused_size() RETURNS bigint LANGUAGE sql AS $$ SELECT 8192 * coalesce(current_setting('tests.unused_blocks', true)::bigint, 0) $$;

-- Has the index the size of PostgreSQL's?  In front of that, was it built by gpusort?
CREATE FUNCTION verify_index(index_name regclass, builds_before bigint, expected_size bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	actual_size bigint := pg_relation_size(index_name);
BEGIN
	IF builds() <> builds_before + 1 THEN
		RETURN format('gpusort has built %s indexes', builds() - builds_before);
	END IF;
	PERFORM bt_index_parent_check(index_name, true, true);
	IF abs(actual_size - expected_size) > 0.01 * expected_size + unused_size() THEN
		RETURN format('%s bytes, PostgreSQL has %s', actual_size, expected_size);
	END IF;
	RETURN 'ok';
END $$;

-- Builds an index serially, in parallel, and in little memory; in the quick run in two of the four ways, in turn, one of them in parallel.
CREATE SEQUENCE checks_of_indexes;
CREATE FUNCTION check_index(definition text, kind text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	number bigint := nextval('checks_of_indexes');
	ways text[] := '{{0,64MB},{2,200MB},{2,1MB},{0,1MB}}';
	way text[];
	result text;
	before bigint;
	expected_size bigint;
BEGIN
	PERFORM set_config('gpusort.create_index', 'off', true), set_config('max_parallel_maintenance_workers', '0', true), set_config('maintenance_work_mem', '64MB', true);
	EXECUTE format('CREATE %s INDEX checked_index ON %s', kind, definition);
	expected_size := pg_relation_size('checked_index');
	DROP INDEX checked_index;
	PERFORM set_config('gpusort.create_index', 'on', true);
	IF NOT whole_run() THEN
		ways := CASE WHEN number % 2 = 0 THEN ways[2:2] || ways[4:4] ELSE ways[1:1] || ways[3:3] END;
	END IF;
	FOREACH way SLICE 1 IN ARRAY ways LOOP
		PERFORM set_config('max_parallel_maintenance_workers', way[1], true), set_config('maintenance_work_mem', way[2], true);
		before := builds();
		EXECUTE format('CREATE %s INDEX checked_index ON %s', kind, definition);
		result := verify_index('checked_index', before, expected_size);
		DROP INDEX checked_index;
		IF result <> 'ok' THEN
			RETURN format('%s workers, %s: %s', way[1], way[2], result);
		END IF;
	END LOOP;
	RETURN 'ok';
END $$;

CREATE TYPE ix_mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN ix_positive AS int CHECK (VALUE > 0);
CREATE TABLE ix_kinds (id int8, few int4, small int2, real8 float8, num numeric, t text COLLATE "C", v varchar(40) COLLATE "C", n name, u uuid,
	ts timestamptz, day date, b bytea, flag bool, m ix_mood, p ix_positive, iv interval, bits bit(12), ip inet, c char(10) COLLATE "C", wide text);
ALTER TABLE ix_kinds SET (parallel_workers = 2);
INSERT INTO ix_kinds SELECT noise(i), CASE WHEN i % 7 > 0 THEN i % 50 END, i % 300, noise(i, 1) / 1e10, noise(i, 2) / 1e6::numeric, md5(i::text),
	'v' || noise(i, 3), 'name ' || i % 999, md5((i / 3)::text)::uuid, CASE WHEN i % 3 > 0 THEN now() + i % 99 * interval '1 h' END, date '2000-01-01' + i % 400,
	decode(md5(i::text), 'hex'), i % 2 = 0, (ARRAY['sad', 'ok', 'happy']::ix_mood[])[1 + i % 3], 1 + i % 77, i % 44 * interval '1 day', (i % 4096)::bit(12),
	('10.0.' || i % 250 || '.' || i % 9)::inet, 'c' || i % 88, CASE WHEN i % 1000 = 0 THEN repeat(md5(i::text), 60) ELSE 'short ' || i END
FROM generate_series(1, 20000) AS i;
ANALYZE ix_kinds;

SELECT definition, check_index('ix_kinds ' || definition) FROM unnest(ARRAY['(id)', '(few)', '(small DESC)', '(real8)', '(num)', '(t)', '(v)', '(n)', '(u)', '(ts)', '(day)', '(b)',
	'(flag)', '(m)', '(p)', '(iv)', '(bits)', '(ip)', '(c)', '(wide COLLATE "C")', '(id DESC NULLS FIRST)', '(few NULLS FIRST)', '(few DESC NULLS LAST, ts DESC)',
	'(few NULLS FIRST, ts)', '(few, t DESC, id)', '(id, id)', '(u, id)', '(id, u, few)', '(t text_pattern_ops)', '(c bpchar_pattern_ops DESC)', '(v varchar_pattern_ops, few NULLS FIRST)',
	'(few) INCLUDE (t, wide)', '(id) INCLUDE (few)', '(t) INCLUDE (num)', '(lower(t))', '((few + small), (num * 2) DESC)', '(id) WHERE few < 10',
	'(few) WHERE t > ''8'' AND ts IS NULL', '(t) WHERE false', '(few) WITH (fillfactor = 50)', '(few) WITH (deduplicate_items = off)', '(num) WITH (fillfactor = 10)']) AS definition;
SELECT definition, check_index('ix_kinds ' || definition, 'UNIQUE') FROM unnest(ARRAY['(id)', '(t)', '(few, id)', '(ts, id DESC) INCLUDE (few)', '(num, t)', '(lower(t)) WHERE few IS NULL']) AS definition;

-- Tables with none and few rows, and sizes about a page's.
CREATE TABLE ix_sizes (k int8, t text COLLATE "C");
CREATE FUNCTION check_sizes(key text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows int;
	result text;
BEGIN
	FOREACH rows IN ARRAY ARRAY[0, 1, 2, 365, 366, 367, 368, 407, 408, 733, 734, 1000] LOOP
		TRUNCATE ix_sizes;
		INSERT INTO ix_sizes SELECT noise(i), md5(i::text) FROM generate_series(1, rows) AS i;
		result := check_index('ix_sizes ' || key);
		IF result <> 'ok' THEN
			RETURN format('%s rows: %s', rows, result);
		END IF;
	END LOOP;
	RETURN 'ok';
END $$;
SELECT check_sizes('(k)'), check_sizes('(t)');

-- Rows that were updated and deleted: chains of versions, their roots, and versions that old snapshots see.
CREATE TABLE ix_versions (id int, k int, note text) WITH (fillfactor = 50, parallel_workers = 2);
INSERT INTO ix_versions SELECT i, i % 100, 'first' FROM generate_series(1, 10000) AS i;
UPDATE ix_versions SET note = 'second' WHERE id % 3 = 0;
DELETE FROM ix_versions WHERE id % 10 = 0;
UPDATE ix_versions SET note = 'third' WHERE id % 6 = 0;
SELECT check_index('ix_versions (k)'), check_index('ix_versions (note COLLATE "C", k)'), check_index('ix_versions (id)', 'UNIQUE');
VACUUM ix_versions;
SELECT check_index('ix_versions (k)'), check_index('ix_versions (id)', 'UNIQUE');
-- Of this transaction: rows that it has inserted, updated and deleted.
BEGIN;
INSERT INTO ix_versions SELECT i, i % 100, 'own' FROM generate_series(20001, 30000) AS i;
UPDATE ix_versions SET k = k + 1 WHERE id % 4 = 0;
UPDATE ix_versions SET note = 'own' WHERE id % 9 = 0;
DELETE FROM ix_versions WHERE id % 7 = 0;
-- Some of the deleted ones are there once more: dead rows are in the index, and no violation.
INSERT INTO ix_versions SELECT i, i % 100, 'again' FROM generate_series(20006, 29999, 70) AS i;
SELECT check_index('ix_versions (k)'), check_index('ix_versions (id)', 'UNIQUE');
ROLLBACK;

-- Unique violations: PostgreSQL's error, with the name of the constraint.
CREATE FUNCTION violation(statement text, create_index text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text; detail text; code text; relation text; name text;
BEGIN
	PERFORM set_config('gpusort.create_index', create_index, true);
	EXECUTE statement;
	RAISE EXCEPTION 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, code = RETURNED_SQLSTATE, relation = TABLE_NAME, name = CONSTRAINT_NAME;
	RETURN concat_ws('; ', message, detail, code, relation, name);
END $$;
CREATE TABLE ix_twice (id int8, t text COLLATE "C", k int);
INSERT INTO ix_twice SELECT i, 'text ' || i, CASE WHEN i <> 7 AND i <> 77 THEN i END FROM generate_series(1, 3000) AS i;
INSERT INTO ix_twice VALUES (5, 'text 5', 5000);
CREATE FUNCTION same_violation(statement text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN violation(statement, 'on') = violation(statement, 'off') THEN violation(statement, 'on') ELSE violation(statement, 'on') || ' <> ' || violation(statement, 'off') END $$;
SELECT same_violation('CREATE UNIQUE INDEX twice_id ON ix_twice (id)');
SELECT same_violation('CREATE UNIQUE INDEX twice_t ON ix_twice (t DESC, id)');
SELECT same_violation('ALTER TABLE ix_twice ADD CONSTRAINT twice_pkey PRIMARY KEY (id)');
SELECT same_violation('CREATE UNIQUE INDEX twice_k ON ix_twice (k)');
SELECT same_violation('CREATE UNIQUE INDEX twice_k ON ix_twice (k) NULLS NOT DISTINCT');
SELECT same_violation('CREATE UNIQUE INDEX twice_id ON ix_twice (id) WHERE k < 5000');
DELETE FROM ix_twice WHERE k = 5000;
SELECT same_violation('CREATE UNIQUE INDEX twice_id ON ix_twice (id)');
-- A dead row between two alive ones of the same key.
UPDATE ix_twice SET t = 'other', k = k + 1 WHERE id = 9;
INSERT INTO ix_twice VALUES (9, 'third', 0);
SELECT same_violation('CREATE UNIQUE INDEX twice_id ON ix_twice (id)');

-- Equal keys at each border of the ranges that several writers load, and about it: with low thresholds these are a
-- twelfth of all tuples each. The first row of the key at this rank is alive, then come dead ones, then perhaps
-- another alive one; so the one that a tuple has to be compared with is in the range before, or further away.  Without
-- low thresholds there is one range: three borders do.
CREATE TABLE ix_borders (k int8, is_dead bool) WITH (parallel_workers = 2);
CREATE FUNCTION border_result(rows int, rank int, dead_rows int, is_twice bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	TRUNCATE ix_borders;
	INSERT INTO ix_borders SELECT i, false FROM generate_series(1, rank) AS i;
	INSERT INTO ix_borders SELECT rank, true FROM generate_series(1, dead_rows);
	INSERT INTO ix_borders SELECT rank, false WHERE is_twice;
	INSERT INTO ix_borders SELECT i, false FROM generate_series(rank + 1, rows - dead_rows) AS i;
	DELETE FROM ix_borders WHERE is_dead;
	BEGIN
		CREATE UNIQUE INDEX borders_index ON ix_borders (k);
		PERFORM bt_index_parent_check('borders_index', true, true);
		DROP INDEX borders_index;
		RETURN 'built';
	EXCEPTION WHEN unique_violation THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
		RETURN detail;
	END;
END $$;
SET max_parallel_maintenance_workers = 2;
SET maintenance_work_mem = '200MB';
SELECT CASE WHEN current_setting('tests.unused_blocks', true) IS NULL THEN 5 ELSE 1 END AS every \gset
SELECT count(*) = 3 * (1 + 10 / :every) AS borders, string_agg(rank || ': ' || result, ', ') FILTER (WHERE result <> 'built') AS wrong_without, dead_rows
FROM generate_series(1, 11, :every) AS border, generate_series(-1, 1) AS beside, unnest(ARRAY[1, 1000]) AS dead_rows, LATERAL (SELECT 4000 * border / 12 + beside AS rank) AS r,
	border_result(4000, LEAST(rank, 4000 - dead_rows), dead_rows, false) AS result GROUP BY dead_rows ORDER BY dead_rows;
SELECT count(*) = 3 * (1 + 10 / :every) AS borders, string_agg(rank || ': ' || result, ', ') FILTER (WHERE result <> format('Key (k)=(%s) is duplicated.', rank)) AS wrong_with, dead_rows
FROM generate_series(1, 11, :every) AS border, generate_series(-1, 1) AS beside, unnest(ARRAY[0, 1, 1000]) AS dead_rows, LATERAL (SELECT LEAST(4000 * border / 12 + beside, 4000 - dead_rows) AS rank) AS r,
	border_result(4000, rank, dead_rows, true) AS result GROUP BY dead_rows ORDER BY dead_rows;
RESET maintenance_work_mem;

-- Keys that are too large for a page.
CREATE TABLE ix_large (t text COLLATE "C");
ALTER TABLE ix_large ALTER t SET STORAGE external;
INSERT INTO ix_large VALUES ('small'), (repeat('x', 3000));
SELECT same_violation('CREATE INDEX large_index ON ix_large (t)');
INSERT INTO ix_large VALUES (repeat('x', 9000));
SELECT same_violation('CREATE INDEX large_index ON ix_large (t)');

-- What the expressions of an index leave in memory is freed with each row.
CREATE TABLE ix_many AS SELECT i FROM generate_series(1, 10000) AS i;
CREATE FUNCTION leaves(i int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	bytes bigint;
BEGIN
	IF i % 5000 = 0 THEN
		SELECT sum(used_bytes) INTO bytes FROM pg_backend_memory_contexts WHERE name = 'ExprContext';
		IF bytes > 1000000 THEN
			RAISE EXCEPTION 'what expressions leave has % bytes', bytes;
		END IF;
	END IF;
	RETURN repeat('x', 500) || i;
END $$;
CREATE INDEX many_index ON ix_many (length(leaves(i)), i);
