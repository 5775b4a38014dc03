--
-- Builds of B-trees on text that the C library compares: sorted by images of the strings, verified by comparisons.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE EXTENSION IF NOT EXISTS pageinspect;
DO $$ BEGIN
	CREATE COLLATION il_english (provider = libc, locale = 'en_US.UTF-8');
	CREATE COLLATION il_czech (provider = libc, locale = 'cs_CZ.UTF-8');
EXCEPTION WHEN OTHERS THEN NULL;
END $$;
SELECT count(*) = 2 AS has_locales FROM pg_collation WHERE collname IN ('il_english', 'il_czech') \gset
\if :has_locales
\else
\echo skipped: this machine lacks the locales en_US.UTF-8 and cs_CZ.UTF-8
\quit
\endif
SET gpusort.mode = force;
-- No card sorts by a guess; plain, whose locale has no rules, is exact and may go to one.
SET gpusort.backend = cuda;

-- Words of letters, accents, punctuation, control characters, some of which mean something in keys, and what no locale knows, of which many come more than once; ones that an index compresses; NULLs.
CREATE FUNCTION il_piece(a bigint, b bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE abs(a % 8) WHEN 0 THEN chr((32 + abs(b % 95))::int) WHEN 1 THEN chr((192 + abs(b % 400))::int) WHEN 2 THEN chr((768 + abs(b % 100))::int)
		WHEN 3 THEN substr(E'-_ ./,''\x01\x02', (1 + abs(b % 9))::int, 1) WHEN 4 THEN chr((19968 + abs(b % 3000))::int) ELSE substr('aAbBcChH', (1 + abs(b % 8))::int, 1) END
$$;
CREATE TABLE il_rows (id int, few int, t text COLLATE il_english, u text COLLATE il_czech, n name COLLATE il_english, c char(12) COLLATE il_english, plain text COLLATE "C.utf8", packed text COLLATE il_english);
INSERT INTO il_rows SELECT i, nullif(i % 7, 0), w, 'ch' || w, left(w, 5), left(w, 3), CASE WHEN i % 100 = 7 THEN repeat('long ', 200) ELSE '' END || w, CASE WHEN i % 60 = 0 THEN repeat(left(w, 2), 2000) ELSE w END
FROM generate_series(1, 6000) AS i,
	LATERAL (SELECT string_agg(il_piece(noise(i % 4500 * 300 + j), noise(i % 4500 * 300 + j, 1)), '' ORDER BY j) AS w FROM generate_series(1, abs(noise(i % 4500) % 12)) AS j) AS s;
ALTER TABLE il_rows SET (parallel_workers = 2);
ANALYZE il_rows;

-- What is on the index's pages, byte for byte, but for where they were logged, checksums, and what is between line pointers and tuples.
CREATE FUNCTION il_content(index_name text) RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(md5(substr(page, 11, lower - 10) || substr(page, upper + 1)), ',' ORDER BY number))
	FROM (SELECT number, page, get_byte(page, 12) + 256 * get_byte(page, 13) AS lower, get_byte(page, 14) + 256 * get_byte(page, 15) AS upper
		  FROM (SELECT number, get_raw_page(index_name, number::int) AS page FROM generate_series(1, pg_relation_size(index_name) / 8192 - 1) AS number OFFSET 0) p) s
$$;
-- Builds an index in several ways, while no images of strings are spoiled, every third one, all: by one process it must be PostgreSQL's item by
-- item, of the same bytes; by several it is looked at by amcheck.  In the quick run in two or three of the five ways, in turn.
CREATE SEQUENCE il_checks;
CREATE FUNCTION check_libc(definition text, kind text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	number bigint := nextval('il_checks');
	ways text[] := '{{0,64MB,0},{0,1MB,1},{2,200MB,3},{2,1MB,0},{2,1MB,3}}';
	way text[];
	before bigint := (SELECT sum(index_builds) FROM pg_stat_gpusort WHERE device = 'cpu' OR definition ~ 'plain');
	expected text;
BEGIN
	PERFORM set_config('gpusort.create_index', 'off', true), set_config('max_parallel_maintenance_workers', '0', true);
	EXECUTE format('CREATE %s INDEX il_index ON il_rows %s', kind, definition);
	expected := il_content('il_index');
	DROP INDEX il_index;
	PERFORM set_config('gpusort.create_index', 'on', true);
	IF NOT whole_run() THEN
		ways := CASE WHEN number % 2 = 0 THEN ways[1:1] || ways[3:4] ELSE ways[2:2] || ways[5:5] END;
	END IF;
	FOREACH way SLICE 1 IN ARRAY ways LOOP
		PERFORM set_config('max_parallel_maintenance_workers', way[1], true), set_config('maintenance_work_mem', way[2], true), set_config('gpusort.spoiled_images', way[3], true);
		EXECUTE format('CREATE %s INDEX il_index ON il_rows %s', kind, definition);
		-- What is PostgreSQL's byte for byte need not be looked at by amcheck.
		IF way[1] <> '0' THEN
			PERFORM bt_index_parent_check('il_index', true, true);
		ELSIF il_content('il_index') <> expected THEN
			RETURN format('%s, %s: not what PostgreSQL builds', way[2], way[3]);
		END IF;
		DROP INDEX il_index;
	END LOOP;
	RETURN CASE (SELECT sum(index_builds) FROM pg_stat_gpusort WHERE device = 'cpu' OR definition ~ 'plain') - before WHEN cardinality(ways) / 3 THEN 'ok' ELSE 'not by the cpu device' END;
END $$;
SELECT definition, check_libc(definition) FROM unnest(ARRAY['(t)', '(u DESC NULLS LAST)', '(n)', '(c NULLS FIRST)', '(plain)', '(packed)', '(few DESC, u DESC, t)', '(lower(t)) INCLUDE (few)', '(t) WHERE few > 3', '((ARRAY[t, left(t, 1)]) DESC, few)']) AS definition;
SELECT definition, check_libc(definition, 'UNIQUE') FROM unnest(ARRAY['(t, id)', '(plain DESC, id)']) AS definition;

-- Duplicates are found, wherever their images stand.
CREATE TABLE il_twice AS SELECT i AS id, md5((i % 11999)::text) COLLATE il_english AS t FROM generate_series(1, 12000) AS i;
ALTER TABLE il_twice SET (parallel_workers = 2);
CREATE FUNCTION il_violation(workers int, memory text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('max_parallel_maintenance_workers', workers::text, true), set_config('maintenance_work_mem', memory, true);
	CREATE UNIQUE INDEX ON il_twice (t);
	RETURN 'none';
EXCEPTION WHEN unique_violation THEN
	RETURN SQLERRM;
END $$;
SET gpusort.spoiled_images = 2;
SELECT il_violation(0, '64MB'), il_violation(0, '1MB'), il_violation(2, '64MB'), il_violation(2, '1MB');
-- What is put right by all processes counts.
SELECT coalesce(sum(corrections), 0) AS corrections_before FROM pg_stat_gpusort \gset
SET max_parallel_maintenance_workers = 2;
SET maintenance_work_mem = '1MB';
CREATE INDEX ON il_twice (t);
SELECT sum(corrections) - :corrections_before > 5000 AS counted FROM pg_stat_gpusort;
RESET gpusort.spoiled_images;

SELECT taken, reason, how ~ '^device cpu' AS on_cpu FROM gpusort_check('CREATE INDEX ON il_rows (t)');
DROP TABLE il_rows, il_twice;
DROP FUNCTION il_piece, il_content, check_libc, il_violation;
DROP SEQUENCE il_checks;
DROP COLLATION il_english, il_czech;
