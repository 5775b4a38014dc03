--
-- Text that the C library compares: sorted by images of the strings, verified by comparisons.
--
DO $$ BEGIN
	CREATE COLLATION english (provider = libc, locale = 'en_US.UTF-8');
	CREATE COLLATION german (provider = libc, locale = 'de_DE.UTF-8');
	CREATE COLLATION czech (provider = libc, locale = 'cs_CZ.UTF-8');
	CREATE COLLATION rules (provider = libc, locale = 'C.UTF-8@rules');
EXCEPTION WHEN OTHERS THEN NULL;
END $$;
SELECT count(*) = 4 AS has_locales FROM pg_collation WHERE collname IN ('english', 'german', 'czech', 'rules') \gset
\if :has_locales
\else
\echo skipped: this machine lacks the locales en_US.UTF-8, de_DE.UTF-8, cs_CZ.UTF-8 and C.UTF-8@rules
\quit
\endif

SELECT check_text('text', 'C.utf8') AS text_c_utf8;
-- The database's own collation, C.UTF-8 on the throwaway cluster.
SELECT check_text('text', NULL) AS text_default;
SELECT check_text('text', 'english') AS text_english;
SELECT check_text('text', 'german') AS text_german;
-- Where ch is a letter between h and i.
SELECT check_text('text', 'czech') AS text_czech;
-- Whose name says that it is bytewise, but which has rules: the string is its own image.
SELECT check_text('text', 'rules') AS text_rules;
SELECT check_text('varchar(40)', 'english') AS varchar_english;
SELECT check_text('char(30)', 'english') AS char_english;
SELECT check_text('name', 'english') AS name_english;
CREATE DOMAIN english_label AS text COLLATE english;
SELECT check_text('english_label', NULL) AS domain_english;
SELECT string_agg(w, ' ') AS english FROM (SELECT w FROM unnest('{b,a,B,A,10,9,z,ä,a b,ab,a-b,/a}'::text[]) AS w ORDER BY w COLLATE english) s;

-- Random strings of letters, accents, punctuation, other scripts, and what no locale knows; short ones often repeated.
CREATE FUNCTION piece(a bigint, b bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE abs(a % 9) WHEN 0 THEN chr((32 + abs(b % 95))::int) WHEN 1 THEN chr((192 + abs(b % 400))::int)
		WHEN 2 THEN chr((768 + abs(b % 100))::int) WHEN 3 THEN substr('-_ ./,''', (1 + abs(b % 7))::int, 1)
		WHEN 4 THEN chr((19968 + abs(b % 3000))::int) WHEN 5 THEN chr((128512 + abs(b % 40))::int)
		WHEN 6 THEN chr((917760 + abs(b % 9))::int) ELSE substr('aAbBcChH', (1 + abs(b % 8))::int, 1) END
$$;
CREATE TABLE strings AS
SELECT i AS id, i % 7 AS few, (noise(i, 9) % 1000) / 10.0 AS n, nullif(i % 50, 0) AS k,
	(SELECT coalesce(string_agg(piece(noise(i * 300 + j), noise(i * 300 + j, 1)), ''), '')
	 FROM generate_series(1, abs(noise(i) % CASE WHEN i % 3 = 0 THEN 3 WHEN i % 100 = 1 THEN 200 ELSE 12 END)) AS j) AS v
FROM generate_series(1, 6000) AS i;
INSERT INTO strings (id, few, n, v) VALUES (6001, 1, 1, NULL), (6002, 2, 2, NULL), (6003, 3, 3, repeat('long word ', 20000)), (6004, 4, 4, repeat('long word ', 20000) || '!');
ANALYZE strings;

-- Every way of sorting them, while so many images of strings are spoiled: none, one in a thousand, every third one, all; in the quick run perhaps
-- some of these.
CREATE FUNCTION check_strings(query text, keys text, memory text DEFAULT '64MB', quick int[] DEFAULT '{0,1000,3,1}') RETURNS TABLE (spoiled int, result text)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM expect_sort(query, keys), set_config('gpusort.work_mem', memory, true);
	FOREACH spoiled IN ARRAY CASE WHEN whole_run() THEN '{0,1000,3,1}' ELSE quick END LOOP
		PERFORM set_config('gpusort.spoiled_images', spoiled::text, true);
		result := check_expected_sort(query, keys);
		RETURN NEXT;
	END LOOP;
	PERFORM set_config('gpusort.work_mem', '-1', true), set_config('gpusort.spoiled_images', '0', true);
END $$;
-- Where keys only guess, those that are equal are not counted as one value.
CREATE FUNCTION count_strings(spoiled int, mode text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	PERFORM set_config('gpusort.spoiled_images', spoiled::text, true), set_config('gpusort.mode', mode, true), set_config('gpusort.work_mem', '64MB', true);
	EXECUTE 'SELECT count(DISTINCT v COLLATE english) FROM strings' INTO n;
	PERFORM set_config('gpusort.work_mem', '-1', true), set_config('gpusort.spoiled_images', '0', true), set_config('gpusort.mode', 'auto', true);
	RETURN n;
END $$;
SELECT spoiled, count_strings(spoiled, 'force') = count_strings(0, 'off') AS same_count FROM unnest('{0,1000,3,1}'::int[]) AS spoiled;
SELECT * FROM check_strings('SELECT * FROM strings', 'v COLLATE english');
SELECT * FROM check_strings('SELECT * FROM strings', 'v COLLATE english DESC NULLS LAST');
SELECT * FROM check_strings('SELECT * FROM strings', 'v COLLATE czech NULLS FIRST');
SELECT * FROM check_strings('SELECT * FROM strings', 'few, v COLLATE english, id');
SELECT * FROM check_strings('SELECT * FROM strings', 'left(v, 2) COLLATE german, n DESC, v COLLATE english DESC, k');
SELECT * FROM check_strings('SELECT * FROM strings', 'left(v, 1) COLLATE english, left(v, 2) COLLATE german');
SELECT * FROM check_strings('SELECT * FROM strings', 'n, left(v, 2) COLLATE "C", left(v, 3) COLLATE german, convert_to(v, ''UTF8'')');
SELECT * FROM check_strings('SELECT * FROM strings', 'v COLLATE "und-x-icu", v COLLATE english');
SELECT * FROM check_strings('SELECT * FROM strings', 'v');
SELECT string_agg(DISTINCT result, ' ') AS rules FROM check_strings('SELECT * FROM strings', 'left(v, 3) COLLATE rules DESC, n, v COLLATE rules, k');
-- In temporary files: rows that hold the strings, and rows that don't.
SELECT * FROM check_strings('SELECT * FROM strings', 'v COLLATE english', '100kB');
SELECT * FROM check_strings('SELECT * FROM strings', 'left(v, 2) COLLATE german DESC, n, v COLLATE english', '100kB');
SELECT * FROM check_strings('SELECT id, repeat(id::text, 100) AS filler, v FROM strings', 'left(v, 5) COLLATE english', '100kB');
-- Rows so wide that their keys are written beside them.
SELECT * FROM check_strings('SELECT id, few, repeat(''filler'', 500) AS filler, v FROM strings', 'few::text COLLATE german, v COLLATE english, id', '100kB');
-- Already in order, and in reverse.
SELECT * FROM check_strings('SELECT * FROM (SELECT * FROM strings ORDER BY v COLLATE english OFFSET 0) s', 'v COLLATE english');
SELECT * FROM check_strings('SELECT * FROM (SELECT * FROM strings ORDER BY v COLLATE english DESC OFFSET 0) s', 'v COLLATE english');

-- By several processes, in memory and not.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TABLE more_strings AS SELECT id * 20 + g AS id, n, v || repeat('x', g % 5) AS v FROM strings, generate_series(1, 15) AS g WHERE id <= 6000;
ANALYZE more_strings;
SELECT string_agg(DISTINCT result, ' ') AS in_memory FROM check_strings('SELECT * FROM more_strings', 'v COLLATE english', quick => '{0,3}');
SELECT string_agg(DISTINCT result, ' ') AS in_files FROM check_strings('SELECT * FROM more_strings', 'n DESC, v COLLATE german DESC', '2MB', quick => '{1000,1}');
DROP TABLE more_strings;
RESET max_parallel_workers_per_gather;

-- Arrays, composite values and ranges of such text, and documents: PostgreSQL's function for the whole value verifies them.
CREATE TYPE english_row AS (few int, t text COLLATE english, n numeric);
CREATE TYPE english_range AS RANGE (subtype = text, collation = english);
CREATE TABLE made_strings AS SELECT id, few, n, ARRAY[left(v, 1), v] COLLATE english AS a, ROW(few, v, n)::english_row AS e, ARRAY[ROW(few, left(v, 1), n), ROW(1, v, 1)]::english_row[] AS ea,
	CASE WHEN id % 10 > 0 THEN english_range(left(v, 2), CASE WHEN left(v, 2) <= v COLLATE english THEN v END) ELSE 'empty' END AS r,
	CASE WHEN id % 3 = 0 THEN to_jsonb(v) ELSE jsonb_build_object(left(v, 1), n, coalesce(v, 'x'), few) END AS j FROM strings WHERE v <> '' AND id % 2 = 0;
ANALYZE made_strings;
SELECT keys, memory, string_agg(DISTINCT result, ' ') AS results FROM unnest('{a,"e DESC NULLS LAST, id","few, r DESC","ea, n","j DESC, id","n, a DESC, left(a[2], 2) COLLATE czech, j"}'::text[]) AS keys, unnest('{64MB,100kB}'::text[]) AS memory, check_strings('SELECT * FROM made_strings', keys, memory, quick => CASE memory WHEN '64MB' THEN '{0,3}' ELSE '{1000,1}' END::int[]) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT corrections('SELECT * FROM made_strings ORDER BY e') < 1000 AS good_guesses;
DROP TABLE made_strings;

-- LIMITs, and a cursor that turns round.
SET gpusort.spoiled_images = 5;
SELECT check_query('SELECT id FROM strings ORDER BY v COLLATE english, id LIMIT 10') AS first_ten;
SELECT check_query('SELECT id FROM strings ORDER BY v COLLATE english DESC, id OFFSET 5900 LIMIT 200') AS last_ones;
-- Of strings whose images are long enough to be spoiled, which would drop the wrong rows.
SELECT check_query('SELECT id FROM strings ORDER BY v COLLATE english DESC NULLS LAST, id LIMIT 10') AS greatest, check_query('SELECT id FROM strings WHERE length(v) > 5 ORDER BY v COLLATE english, id LIMIT 10') AS long_ones;
SELECT check_query('SELECT id FROM strings ORDER BY v COLLATE english, id FETCH FIRST 3 ROWS WITH TIES') AS with_ties;
SET gpusort.mode = force;
SET gpusort.work_mem = '100kB';
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM strings ORDER BY v COLLATE english, id;
MOVE 4000 IN c;
FETCH 3 FROM c;
MOVE BACKWARD 3000 IN c;
FETCH BACKWARD 3 FROM c;
COMMIT;
SET gpusort.mode = off;
SELECT id FROM strings ORDER BY v COLLATE english, id OFFSET 4000 LIMIT 3;
SELECT id FROM strings ORDER BY v COLLATE english, id OFFSET 996 LIMIT 6;
RESET gpusort.work_mem;

-- What was put right is told.
CREATE TABLE md5s AS SELECT md5(i::text) AS t FROM generate_series(1, 6000) AS i;
SET gpusort.mode = force;
SET gpusort.spoiled_images = 0;
SELECT corrections('SELECT * FROM md5s ORDER BY t COLLATE english') AS none;
-- Where the C library compares by bytes and says so, there is nothing to verify.
SELECT corrections('SELECT * FROM md5s ORDER BY t') AS not_verified;
SET gpusort.spoiled_images = 100;
SELECT corrections('SELECT * FROM md5s ORDER BY t COLLATE english') BETWEEN 50 AND 120 AS some;
SET gpusort.spoiled_images = 1;
SELECT corrections('SELECT * FROM md5s ORDER BY t COLLATE english') > 3000 AS many;
RESET gpusort.spoiled_images;

-- Where characters that count at the last level alone stand: in front of letters, between, behind them, alone.  Nothing is to be corrected but where there are five.
CREATE TABLE marks AS SELECT row_number() OVER () AS id, v FROM (SELECT DISTINCT concat(a, b, c, d, e) AS v FROM unnest('{"",a,B,_,-}'::text[]) AS a, unnest('{"",a,B,_,-}'::text[]) AS b, unnest('{"",a,B,_,-}'::text[]) AS c, unnest('{"",a,B,_,-}'::text[]) AS d, unnest('{"",a,B,_,-}'::text[]) AS e) s;
ANALYZE marks;
SELECT corrections('SELECT * FROM marks WHERE v !~ ''[_-]{5}'' ORDER BY v COLLATE english') AS corrections, corrections('SELECT * FROM marks WHERE v !~ ''[_-]{5}'' ORDER BY v COLLATE english DESC') AS descending;
SELECT keys, memory, string_agg(DISTINCT result, ' ') AS results FROM unnest('{v COLLATE english,v COLLATE english DESC,"left(v, 2) COLLATE german DESC, v COLLATE english"}'::text[]) AS keys, unnest('{64MB,100kB}'::text[]) AS memory, check_strings('SELECT * FROM marks', keys, memory, quick => CASE memory WHEN '64MB' THEN '{0,3}' ELSE '{1000,1}' END::int[]) GROUP BY 1, 2 ORDER BY 1, 2;
-- What could be taken for such places, and is not.
SELECT keys, memory, string_agg(DISTINCT result, ' ') AS results FROM unnest('{v COLLATE english,v COLLATE english DESC,"left(v, 2) COLLATE german DESC, v COLLATE english"}'::text[]) AS keys, unnest('{64MB,100kB}'::text[]) AS memory, check_strings('SELECT id, chr(1) || v AS v FROM marks UNION ALL SELECT -id, v || chr(1) FROM marks UNION ALL SELECT 10000 + id, repeat(chr(1), 300) || v FROM marks WHERE id % 10 = 0', keys, memory, quick => CASE memory WHEN '64MB' THEN '{0,3}' ELSE '{1000,1}' END::int[]) GROUP BY 1, 2 ORDER BY 1, 2;

-- Characters that the locale does not know: only their bytes tell them from each other.
CREATE TABLE unknowns AS SELECT i * 2 + (c > 1)::int AS id, string_agg(chr(c + abs(noise(i * 10 + j) % n)::int), '') AS v FROM generate_series(1, 3000) AS i, generate_series(1, 3) AS j, (VALUES (1, 15), (44032, 400)) AS s (c, n) GROUP BY i, c;
ANALYZE unknowns;
SELECT corrections('SELECT * FROM unknowns ORDER BY v COLLATE english') < 20 AS few, corrections('SELECT * FROM unknowns ORDER BY v COLLATE english DESC') < 20 AS descending, check_sort('SELECT * FROM unknowns', 'v COLLATE english'), check_sort('SELECT * FROM unknowns', 'v COLLATE english DESC');
DROP TABLE unknowns;

-- Guesses that need hardly any correction: of case and accents, and of characters that change each other's weights.
CREATE TABLE cases AS
SELECT translate(md5((i % 2000)::text), '0123456789', 'äéüßøAÉGÜB') AS accents,
	CASE WHEN i % 3 = 0 THEN upper(md5((i % 2000)::text)) ELSE md5((i % 2000)::text) END AS cases,
	replace(md5(i::text), 'a', 'ch') AS digraphs
FROM generate_series(1, 6000) AS i;
SELECT corrections('SELECT * FROM cases ORDER BY accents COLLATE english') < 60 AS accents,
	corrections('SELECT * FROM cases ORDER BY cases COLLATE english') < 60 AS cases,
	corrections('SELECT * FROM cases ORDER BY digraphs COLLATE czech') < 600 AS digraphs;
DROP TABLE cases;

-- What is expected of them, in milliseconds: PostgreSQL's and ours.
ANALYZE md5s;
SELECT round(postgresql_ms::numeric, 1) AS postgresql, round(expected_ms::numeric, 1) AS ours FROM gpusort_check('SELECT * FROM md5s ORDER BY t COLLATE english');

-- A LIMIT drops no rows, so few of many are left to PostgreSQL.
SET gpusort.mode = auto;
SELECT wanted, taken, reason FROM unnest('{10,3000}'::int[]) AS wanted, gpusort_check('SELECT * FROM md5s ORDER BY t COLLATE english LIMIT ' || wanted);
SET gpusort.mode = force;

-- Keys are short enough: of PostgreSQL's sort these strings take 104 bytes of memory, too.
CREATE FUNCTION is_in_memory(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Sort Method' THEN
			RETURN line !~ 'Disk';
		END IF;
	END LOOP;
END $$;
SET gpusort.work_mem = '1500kB';
SELECT is_in_memory('SELECT * FROM md5s ORDER BY t COLLATE english') AS in_memory;
RESET gpusort.work_mem;
DROP FUNCTION is_in_memory;
RESET gpusort.mode;
DROP TABLE strings, md5s, marks;
DROP FUNCTION piece, check_strings;

-- The collation of a database.
\set first :DBNAME
CREATE DATABASE gpusort_regression_english TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'en_US.UTF-8' LC_CTYPE 'en_US.UTF-8';
ALTER DATABASE gpusort_regression_english SET session_preload_libraries = gpusort;
\c gpusort_regression_english
CREATE EXTENSION gpusort;
SET gpusort.mode = force;
CREATE TABLE words (w text);
INSERT INTO words SELECT w FROM unnest('{b,a,B,A,10,9,z,ä,a b,ab,a-b,/a}'::text[]) AS w;
EXPLAIN (COSTS OFF) SELECT w FROM words ORDER BY w;
SELECT string_agg(w, ' ') AS english FROM (SELECT w FROM words ORDER BY w) s;
SET gpusort.mode = off;
SELECT string_agg(w, ' ') AS english FROM (SELECT w FROM words ORDER BY w) s;
\c :first
DROP DATABASE gpusort_regression_english;
