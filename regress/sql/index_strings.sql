--
-- Builds of B-trees whose tuples are made of their variable keys when they are loaded, but for those that a key does not tell.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE EXTENSION IF NOT EXISTS pageinspect;
SET gpusort.mode = force;
SET gpusort.backend = cpu;

-- What is on the index's pages, byte for byte, but for where they were logged, checksums, and what is between line pointers and tuples.
CREATE FUNCTION index_content(index_name text) RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(md5(substr(page, 11, lower - 10) || substr(page, upper + 1)), ',' ORDER BY number))
	FROM (SELECT number, page, get_byte(page, 12) + 256 * get_byte(page, 13) AS lower, get_byte(page, 14) + 256 * get_byte(page, 15) AS upper
		  FROM (SELECT number, get_raw_page(index_name, number::int) AS page FROM generate_series(1, pg_relation_size(index_name) / 8192 - 1) AS number OFFSET 0) p) s
$$;
-- Builds an index in every way: by one process it must be PostgreSQL's item by item, of the same bytes; by several, of the same size but for
-- the blocks that writers may leave unused.  In the quick run two of the four ways in turn, one of them by several processes.
CREATE SEQUENCE checks_of_strings;
CREATE FUNCTION check_strings(definition text, kind text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	number bigint := nextval('checks_of_strings');
	ways text[] := '{{0,64MB},{0,1MB},{2,200MB},{2,1MB}}';
	way text[];
	before bigint := (SELECT sum(index_builds) FROM pg_stat_gpusort);
	expected text;
	expected_size bigint;
BEGIN
	PERFORM set_config('gpusort.create_index', 'off', true), set_config('max_parallel_maintenance_workers', '0', true);
	EXECUTE format('CREATE %s INDEX strings_index ON %s', kind, definition);
	expected := index_content('strings_index');
	expected_size := pg_relation_size('strings_index');
	DROP INDEX strings_index;
	PERFORM set_config('gpusort.create_index', 'on', true);
	IF NOT whole_run() THEN
		ways := CASE WHEN number % 2 = 0 THEN ways[1:1] || ways[4:4] ELSE ways[2:3] END;
	END IF;
	FOREACH way SLICE 1 IN ARRAY ways LOOP
		PERFORM set_config('max_parallel_maintenance_workers', way[1], true), set_config('maintenance_work_mem', way[2], true);
		EXECUTE format('CREATE %s INDEX strings_index ON %s', kind, definition);
		-- What is PostgreSQL's byte for byte need not be looked at by amcheck.
		IF way[1] <> '0' THEN
			PERFORM bt_index_parent_check('strings_index', true, true);
		ELSIF index_content('strings_index') <> expected THEN
			RETURN format('%s: not what PostgreSQL builds', way[2]);
		END IF;
		IF abs(pg_relation_size('strings_index') - expected_size) > 0.01 * expected_size + 8192 * coalesce(current_setting('tests.unused_blocks', true)::bigint, 0) THEN
			RETURN format('%s workers, %s: %s bytes, PostgreSQL has %s', way[1], way[2], pg_relation_size('strings_index'), expected_size);
		END IF;
		DROP INDEX strings_index;
	END LOOP;
	RETURN CASE (SELECT sum(index_builds) FROM pg_stat_gpusort) - before WHEN cardinality(ways) / 2 THEN 'ok' ELSE 'not by gpusort' END;
END $$;

-- Characters that do not compress.
CREATE FUNCTION noise_text(i int, length int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(left(string_agg(md5(i || '.' || j), '' ORDER BY j), length), '') FROM generate_series(1, (length + 31) / 32) AS j
$$;
-- Strings about the longest with a header of one byte and about the longest that an index takes as it is, which do and do not compress; ones
-- that the table has compressed or out of line; NULLs; many of them more than once.
CREATE COLLATION st_alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE st (id int, few int2, t text COLLATE "C", u text COLLATE "C", v varchar COLLATE "C", c char(6) COLLATE "C", b bytea, plain text COLLATE "C", line text COLLATE "C", i text COLLATE "und-x-icu",
	alike text COLLATE st_alike, d timetz);
ALTER TABLE st ALTER plain SET STORAGE plain, ALTER line SET STORAGE external;
ALTER TABLE st SET (parallel_workers = 2);
INSERT INTO st SELECT i, nullif(i % 9, 0),
	CASE i % 50 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN noise_text(i, 125) WHEN 3 THEN noise_text(i, 126) WHEN 4 THEN noise_text(i, 127) WHEN 5 THEN noise_text(i, 128)
		WHEN 6 THEN noise_text(i, 500 + i / 50 % 20) WHEN 7 THEN repeat('x', 500 + i / 50 % 20) WHEN 8 THEN repeat('y', 3000) || i % 300 WHEN 9 THEN noise_text(i, 2500)
		WHEN 10 THEN 'twice ' || i / 1000 WHEN 11 THEN noise_text(i % 300, 126 + i % 3) ELSE noise_text(i, i % 40) END,
	CASE WHEN i % 3 > 0 THEN 'text ' || i % 700 END, CASE WHEN i % 4 > 0 THEN left('varying ' || i, i % 17) END, left(i::text, i % 7),
	CASE i % 11 WHEN 0 THEN '\x' WHEN 1 THEN '\x00' WHEN 2 THEN '\x0000' WHEN 3 THEN '\x00ff' WHEN 4 THEN '\xff00' WHEN 5 THEN '\xff'
		WHEN 6 THEN decode(repeat('00', 124 + i % 6), 'hex') WHEN 7 THEN decode(repeat('ff', 124 + i % 6), 'hex') WHEN 8 THEN NULL
		ELSE decode(replace(md5(i::text), '1', '0'), 'hex') END,
	CASE WHEN i % 5 > 0 THEN noise_text(i, i % 130) END, noise_text(i, CASE WHEN i % 100 = 0 THEN 2500 ELSE i % 30 END),
	CASE WHEN i % 6 > 0 THEN CASE WHEN i % 7 > 0 THEN 'Wort ' ELSE 'Wörter ' END || i % 5000 END, upper(left(md5(i::text), 5)), time '00:00' + i % 7919 * interval '10 s'
FROM generate_series(1, 20000) AS i;
ANALYZE st;
SELECT definition, check_strings('st ' || definition) FROM unnest(ARRAY['(t)', '(t DESC)', '(t DESC NULLS LAST)', '(t NULLS FIRST)', '(u)', '(v DESC)', '(c)', '(c DESC, t)', '(b)', '(b DESC)', '(b NULLS FIRST, id)',
	'(plain)', '(u, plain)', '(line)', '(i)', '(i DESC, few)', '(alike)', '(alike, u)', '(few, u)', '(few NULLS FIRST, b DESC, id)', '(u, few, d, v DESC)', '(d DESC, u)', '(u, u)', '(lower(u), id)', '(u text_pattern_ops, few)', '(c bpchar_pattern_ops)',
	'(few, id, d, few, id, d)', '(u) INCLUDE (few)', '(u) WITH (deduplicate_items = off)', '(t) WITH (fillfactor = 40)', '(u) WHERE few > 4']) AS definition;
SELECT definition, check_strings('st ' || definition, 'UNIQUE') FROM unnest(ARRAY['(t, id)', '(id, u DESC)', '(b, c, id)']) AS definition;
-- All columns of an index: as many strings as a tuple has room for whatever they are, one more, and fixed ones.
SELECT n, check_strings(format('st (%s)', array_to_string(array_fill(k, ARRAY[n]), ', '))) FROM (VALUES (15, 'u'), (16, 'u'), (32, 'u'), (32, 'few')) AS v (n, k);
-- Tids that end in a zero byte, at every length of a key.
CREATE TABLE st_short AS SELECT left(md5(i::text), i % 17) COLLATE "C" AS t FROM generate_series(1, 20000) AS i;
ALTER TABLE st_short SET (parallel_workers = 2);
SELECT check_strings('st_short (t)'), check_strings('st_short (t DESC)');

-- Short strings with the long header, beside equal ones with the short one: an UPDATE leaves them so in a column of storage plain.
CREATE TABLE st_plain (id int, t text COLLATE "C");
ALTER TABLE st_plain ALTER t SET STORAGE plain;
INSERT INTO st_plain SELECT i, 'plain ' || i % 1000 FROM generate_series(1, 4000) AS i;
UPDATE st_plain SET t = t || '' WHERE id % 4 > 1;
SELECT check_strings('st_plain (t)'), check_strings('st_plain (t DESC, id)');

-- Errors are PostgreSQL's.  lz4, the default of PostgreSQL 19, would compress the long strings.
\set SHOW_CONTEXT never
CREATE TABLE st_large (t text COMPRESSION pglz COLLATE "C", k int);
INSERT INTO st_large SELECT 'text ' || i, i FROM generate_series(1, 3000) AS i;
INSERT INTO st_large VALUES ('text 5', 5), (NULL, 1), (NULL, 1);
CREATE UNIQUE INDEX ON st_large (t DESC);
CREATE UNIQUE INDEX ON st_large (k, t);
-- There are two NULLs.
CREATE UNIQUE INDEX ON st_large (t) WHERE k <> 5;
DROP INDEX st_large_t_idx;
INSERT INTO st_large VALUES (noise_text(1, 3000), 0);
CREATE INDEX ON st_large (t);
INSERT INTO st_large VALUES (noise_text(1, 9000), 0);
CREATE INDEX ON st_large (k, t);

-- Tuples are not kept beside keys that tell them: these rows fit into memory that they would not fit into with both.
SET client_min_messages = notice;
SET max_parallel_maintenance_workers = 0;
CREATE TABLE st_memory AS SELECT md5(i::text) COLLATE "C" AS t FROM generate_series(1, 60000) AS i;
ANALYZE st_memory;
SET maintenance_work_mem = '9MB';
CREATE INDEX ON st_memory (t);
-- With a column beside the key they are kept.
CREATE INDEX ON st_memory (t) INCLUDE (t);
SET client_min_messages = warning;

-- Values that are made of others, equal ones that look different, compressed ones.
CREATE TYPE st_pair AS (n numeric, t text COLLATE "C");
CREATE TABLE st_made AS SELECT i AS id, CASE WHEN i % 9 > 0 THEN ARRAY[i % 50, nullif(i % 7, 0), i % 3] END AS a, ARRAY['word ' || i % 300, repeat('z', i % 5 * 100)] COLLATE "C" AS t,
	ARRAY[(i % 60)::numeric, CASE WHEN i % 2 = 0 THEN 1.0 ELSE 1.00 END] AS n, daterange(date '2000-01-01' + i % 500, CASE WHEN i % 4 > 0 THEN date '2010-01-01' + i % 3 END) AS d,
	int4multirange(int4range(i % 100, i % 100 + 5), int4range(i % 200 + 200, 500)) AS m, ROW((i % 40)::numeric(9,1), CASE WHEN i % 3 > 0 THEN 'text ' || i % 20 END)::st_pair AS p FROM generate_series(1, 20000) AS i;
ALTER TABLE st_made SET (parallel_workers = 2);
ANALYZE st_made;
SELECT definition, check_strings('st_made ' || definition) FROM unnest(ARRAY['(a)', '(a DESC)', '(a NULLS FIRST, t)', '(t)', '(n)', '(d)', '(d DESC, m)', '(m)', '(p)', '(p DESC NULLS LAST, a)', '(id) INCLUDE (a, p)', '(array_remove(a, 3))']) AS definition;
SELECT definition, check_strings('st_made ' || definition, 'UNIQUE') FROM unnest(ARRAY['(p, d, id)', '((ARRAY[id]))', '((int4range(id, id + 1)))']) AS definition;
-- 1.0 and 1.00 are the same.
CREATE TABLE st_same AS SELECT ARRAY[i::numeric] AS a, ROW(i::numeric, 'x')::st_pair AS p FROM generate_series(1, 3000) AS i;
INSERT INTO st_same VALUES ('{7.00}', '(7.00,x)');
ANALYZE st_same;
CREATE UNIQUE INDEX ON st_same (a);
CREATE UNIQUE INDEX ON st_same (p);

DROP TABLE st, st_short, st_plain, st_large, st_memory, st_made, st_same;
