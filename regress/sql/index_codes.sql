--
-- Builds of B-trees whose text has codes while the table is read, and then ranks.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE EXTENSION IF NOT EXISTS pageinspect;
SET gpusort.mode = force;
SET gpusort.backend = cpu;
CREATE COLLATION ic_alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
DO $$ BEGIN
	CREATE COLLATION ic_libc (provider = libc, locale = 'en_US.UTF-8');
EXCEPTION WHEN OTHERS THEN
	CREATE COLLATION ic_libc FROM "C";
END $$;

-- What is on the index's pages, byte for byte, but for where they were logged, checksums, and what is between line pointers and tuples.
CREATE FUNCTION ic_content(index_name text) RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(md5(substr(page, 11, lower - 10) || substr(page, upper + 1)), ',' ORDER BY number))
	FROM (SELECT number, page, get_byte(page, 12) + 256 * get_byte(page, 13) AS lower, get_byte(page, 14) + 256 * get_byte(page, 15) AS upper
		  FROM (SELECT number, get_raw_page(index_name, number::int) AS page FROM generate_series(1, pg_relation_size(index_name) / 8192 - 1) AS number OFFSET 0) p) s
$$;
-- Builds an index with codes in every way: by one process it must be PostgreSQL's item by item, of the same bytes; by several amcheck looks at it.
-- In the quick run two or three of the five ways in turn.
CREATE SEQUENCE ic_checks;
CREATE FUNCTION check_coded(definition text, kind text DEFAULT '', table_name text DEFAULT 'ic_rows') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	number bigint := nextval('ic_checks');
	ways text[] := '{{on,0,64MB},{on,0,1MB},{on,2,200MB},{on,2,2MB},{auto,2,64MB}}';
	way text[];
	built bigint := (SELECT sum(index_builds) FROM pg_stat_gpusort);
	expected text;
	expected_size bigint;
BEGIN
	PERFORM set_config('gpusort.create_index', 'off', true), set_config('max_parallel_maintenance_workers', '0', true), set_config('maintenance_work_mem', '64MB', true);
	EXECUTE format('CREATE %s INDEX ic_index ON %I %s', kind, table_name, definition);
	expected := ic_content('ic_index');
	expected_size := pg_relation_size('ic_index');
	DROP INDEX ic_index;
	PERFORM set_config('gpusort.create_index', 'on', true);
	IF NOT whole_run() THEN
		ways := CASE WHEN number % 2 = 0 THEN ways[1:1] || ways[4:5] ELSE ways[2:3] END;
	END IF;
	FOREACH way SLICE 1 IN ARRAY ways LOOP
		PERFORM set_config('gpusort.dictionary', way[1], true), set_config('max_parallel_maintenance_workers', way[2], true), set_config('maintenance_work_mem', way[3], true);
		EXECUTE format('CREATE %s INDEX ic_index ON %I %s', kind, table_name, definition);
		IF way[2] <> '0' THEN
			PERFORM bt_index_parent_check('ic_index', true, true);
		ELSIF ic_content('ic_index') <> expected THEN
			DROP INDEX ic_index;
			RETURN format('%s: not what PostgreSQL builds', way);
		END IF;
		IF abs(pg_relation_size('ic_index') - expected_size) > 0.01 * expected_size + 8192 * coalesce(current_setting('tests.unused_blocks', true)::bigint, 0) THEN
			RETURN format('%s: %s bytes, PostgreSQL has %s', way, pg_relation_size('ic_index'), expected_size);
		END IF;
		DROP INDEX ic_index;
	END LOOP;
	RETURN CASE (SELECT sum(index_builds) FROM pg_stat_gpusort) - built WHEN cardinality(ways) / 3 THEN 'ok' ELSE 'not by gpusort' END;
END $$;

-- Values that repeat in many ways.
CREATE TABLE ic_rows AS SELECT i AS id, (i % 9)::int2 AS small,
	'one' AS one,
	CASE WHEN i % 17 = 0 THEN NULL ELSE 'v' || (noise(i) & 511) END AS few,
	'Zipf ' || (100000 / (1 + (noise(i, 1) & 65535))) AS zipf,
	'each twice ' || md5((i / 2)::text) AS twice,
	md5(i::text) AS different,
	CASE WHEN i < 6000 THEN md5(i::text) ELSE 'same' || i % 3 END AS different_first,
	CASE WHEN i > 6000 THEN md5(i::text) ELSE 'same' || i % 3 END AS same_first,
	'stairs ' || i / 300 AS stairs,
	-- about the longest with a header of one byte and about the longest that an index takes as it is, of which the last are in no key with codes
	CASE WHEN i % 5 = 0 THEN '' ELSE repeat('long ', 24 + i % 3) || i % 7 END AS long,
	CASE WHEN i > 11000 THEN repeat('compressed ', 300) || i % 7 ELSE 'late ' || i % 9 END AS late,
	repeat(md5((i % 40)::text), 15 + i % 3) AS longest,
	('b' || i * 31 % 311 || repeat(' ', i % 3))::char(12) AS padded,
	('b' || i % 200 || repeat(' ', i % 3))::bpchar AS blanks,
	('n' || i % 50)::name AS name,
	('n' || i % 50)::varchar(20) AS varying,
	CASE WHEN i % 2 = 0 THEN 'Ab' ELSE 'aB' END || i * 13 % 101 AS cased,
	CASE WHEN i % 50 = 0 THEN repeat(md5((i % 7)::text), 400) ELSE 'x' END AS toasted,
	(noise(i, 2) & 1023)::int AS number, (noise(i, 2) & 63)::float8 AS real8
FROM generate_series(1, 12000) i;
ALTER TABLE ic_rows ADD COLUMN plain text;
ALTER TABLE ic_rows ALTER plain SET STORAGE plain, SET (parallel_workers = 2);
UPDATE ic_rows SET plain = 'plain ' || id % 60 WHERE id % 4 = 0;
DELETE FROM ic_rows WHERE id % 31 = 0;
ANALYZE ic_rows;

SELECT c, check_coded(format('(%I COLLATE "C")', c)) AS c_order FROM unnest('{one,few,zipf,twice,different,different_first,same_first,stairs,long,late,longest,padded,blanks,name,varying,plain,toasted}'::text[]) AS c;
SELECT c, check_coded(format('(%I COLLATE ic_libc DESC)', c)) AS libc FROM unnest('{few,zipf,twice,different_first,same_first,late,padded,blanks,name}'::text[]) AS c;
SELECT c, check_coded(format('(%I COLLATE "en-x-icu" NULLS FIRST)', c)) AS icu FROM unnest('{few,zipf,different_first,same_first,long,padded,toasted}'::text[]) AS c;
-- Values that are equal in the collation, and differ.
SELECT definition, check_coded(definition) FROM unnest(ARRAY['(cased COLLATE ic_alike)', '(cased COLLATE ic_alike DESC, few COLLATE "C")', '(lower(cased) COLLATE "C")', '(upper(few) COLLATE ic_libc, id)']) AS definition;
-- Several columns; columns that are not in the key, or that it does not tell.
SELECT definition, check_coded(definition) FROM unnest(ARRAY['(name, few COLLATE ic_libc DESC NULLS LAST, varying COLLATE "C")', '(small DESC, few COLLATE "en-x-icu", number)', '(few COLLATE "C" DESC NULLS LAST, zipf COLLATE "C" DESC)',
	'(few COLLATE "C") INCLUDE (number, different)', '(few COLLATE "C", real8)', '(few COLLATE "C", different COLLATE "C", stairs COLLATE "C")', '(few COLLATE "C", few COLLATE ic_libc, few COLLATE "en-x-icu")',
	'(few text_pattern_ops, id)', '(few COLLATE "C") WITH (deduplicate_items = off)', '(stairs COLLATE "C") WITH (fillfactor = 40)', '(few COLLATE ic_libc) WHERE small > 3']) AS definition;
SELECT definition, check_coded(definition, 'UNIQUE') FROM unnest(ARRAY['(few COLLATE "C", id)', '(id, few COLLATE ic_libc)', '(different COLLATE "C")', '(cased COLLATE ic_alike, id DESC)']) AS definition;

-- Runs, in each of which a rank may mean another value.
CREATE TABLE ic_many AS SELECT i AS id, CASE WHEN i < 40000 THEN 'm' ELSE chr(97 + i % 26) END AS letter, CASE WHEN i % 7 > 0 THEN 'v' || (noise(i) & 63) END AS few,
	('v' || (noise(i) & 63))::char(9) AS padded, CASE WHEN i < 45000 THEN 'n' || i % 100 ELSE md5(i::text) END AS different_last FROM generate_series(1, 60000) AS i;
ALTER TABLE ic_many SET (parallel_workers = 2);
ANALYZE ic_many;
-- Images of strings in the wrong order are put right.
SET gpusort.spoiled_images = 2;
SELECT definition, check_coded(definition, '', 'ic_many') FROM unnest(ARRAY['(few COLLATE ic_libc)', '(few COLLATE ic_libc DESC)', '(padded COLLATE ic_libc, letter COLLATE "C")', '(few COLLATE ic_libc) INCLUDE (id)', '(different_last COLLATE ic_libc)']) AS definition;
RESET gpusort.spoiled_images;
SELECT definition, check_coded(definition, '', 'ic_many') FROM unnest(ARRAY['(letter COLLATE ic_libc)', '(letter COLLATE ic_libc DESC, few COLLATE "en-x-icu")', '(few COLLATE "en-x-icu" NULLS FIRST)', '(few COLLATE "C")', '(few COLLATE "C" DESC)',
	'(padded COLLATE "C")', '(padded COLLATE ic_libc)', '(padded COLLATE "C" DESC, letter COLLATE "C")', '(different_last COLLATE "C")', '(different_last COLLATE ic_libc)', '(different_last COLLATE "en-x-icu")', '(few COLLATE "C") INCLUDE (id)']) AS definition;
SELECT definition, check_coded(definition, 'UNIQUE', 'ic_many') FROM unnest(ARRAY['(letter COLLATE ic_libc, id)', '(few COLLATE "C", id)']) AS definition;

-- By more processes, of which some find no room in the memory of all, in the build with low thresholds.
ALTER TABLE ic_many SET (parallel_workers = 5);
SET max_parallel_maintenance_workers = 5;
SET maintenance_work_mem = '64MB';
SET gpusort.dictionary = on;
CREATE INDEX ic_many_c ON ic_many (few COLLATE "C", padded COLLATE "C");
CREATE UNIQUE INDEX ic_many_libc ON ic_many (letter COLLATE ic_libc DESC, id);
CREATE INDEX ic_many_different ON ic_many (different_last COLLATE "en-x-icu");
SELECT bt_index_parent_check(i, true, true) FROM unnest(ARRAY['ic_many_c', 'ic_many_libc', 'ic_many_different']::regclass[]) AS i;
RESET max_parallel_maintenance_workers;

-- Duplicates are found; dead rows are none.
\set SHOW_CONTEXT never
CREATE TABLE ic_twice AS SELECT 'v' || i % 200 AS t, i / 200 AS n FROM generate_series(1, 12000) AS i;
ALTER TABLE ic_twice SET (parallel_workers = 2);
CREATE FUNCTION ic_violation(workers int, memory text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('max_parallel_maintenance_workers', workers::text, true), set_config('maintenance_work_mem', memory, true);
	CREATE UNIQUE INDEX ON ic_twice (t COLLATE "C", n);
	RETURN 'none';
EXCEPTION WHEN unique_violation THEN
	RETURN SQLERRM;
END $$;
SELECT ic_violation(0, '64MB'), ic_violation(0, '1MB'), ic_violation(2, '64MB'), ic_violation(2, '1MB');
DROP INDEX ic_twice_t_n_idx, ic_twice_t_n_idx1, ic_twice_t_n_idx2, ic_twice_t_n_idx3;
INSERT INTO ic_twice VALUES ('v7', 5);
SELECT ic_violation(0, '64MB'), ic_violation(0, '1MB'), ic_violation(2, '64MB'), ic_violation(2, '1MB');
BEGIN;
DELETE FROM ic_twice WHERE ctid = (SELECT ctid FROM ic_twice WHERE t = 'v7' AND n = 5 LIMIT 1);
SELECT ic_violation(0, '64MB'), ic_violation(2, '64MB');
ROLLBACK;

-- All statements that build indexes.
CREATE INDEX ic_path ON ic_twice (t COLLATE ic_libc);
CREATE INDEX CONCURRENTLY ic_concurrent ON ic_twice (t COLLATE "C" DESC);
REINDEX INDEX CONCURRENTLY ic_path;
REINDEX TABLE ic_twice;
VACUUM FULL ic_twice;
CLUSTER ic_twice USING ic_path;
SELECT bt_index_parent_check(i, true, true) FROM unnest(ARRAY['ic_path', 'ic_concurrent']::regclass[]) AS i;

-- With codes these rows fit into memory that they would not fit into without: by statistics, or because the first rows say so.  Values
-- that come too seldom get none, nor does a unique column.
\set VERBOSITY terse
SET max_parallel_maintenance_workers = 0;
SET maintenance_work_mem = '6MB';
RESET gpusort.dictionary;
CREATE TABLE ic_fits AS SELECT i AS id, repeat('text ', 20) || i % 100 AS t, repeat('text ', 20) || i / 3 AS thrice FROM generate_series(1, 60000) AS i;
SET client_min_messages = notice;
CREATE INDEX ic_no_statistics ON ic_fits (t COLLATE "C");
ANALYZE ic_fits;
CREATE INDEX ic_statistics ON ic_fits (t COLLATE "C");
CREATE INDEX ic_expression ON ic_fits (lower(t) COLLATE ic_libc);
CREATE INDEX ic_thrice ON ic_fits (thrice COLLATE "C");
CREATE UNIQUE INDEX ic_unique ON ic_fits (t COLLATE "C", id);
SET gpusort.dictionary = off;
CREATE INDEX ic_off ON ic_fits (t COLLATE "C");
SET client_min_messages = warning;
DROP TABLE ic_rows, ic_many, ic_twice, ic_fits;
DROP SEQUENCE ic_checks;
