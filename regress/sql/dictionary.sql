--
-- Text that repeats: keys have codes of values while rows come, and then ranks.
--
SET client_min_messages = warning;
CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
DO $$ BEGIN
	CREATE COLLATION dictionary_libc (provider = libc, locale = 'en_US.UTF-8');
EXCEPTION WHEN OTHERS THEN
	CREATE COLLATION dictionary_libc FROM "C";
END $$;

-- Values that repeat in many ways.
CREATE TABLE repeated AS SELECT i AS id,
	'one' AS one,
	CASE WHEN i % 17 = 0 THEN NULL ELSE 'v' || (noise(i) & 511) END AS few,
	'Zipf ' || (100000 / (1 + (noise(i, 1) & 65535))) AS zipf,
	'each twice ' || md5((i / 2)::text) AS twice,
	md5(i::text) AS different,
	CASE WHEN i < 6000 THEN md5(i::text) ELSE 'same' || i % 3 END AS different_first,
	CASE WHEN i > 6000 THEN md5(i::text) ELSE 'same' || i % 3 END AS same_first,
	'stairs ' || i / 300 AS stairs,
	CASE WHEN i % 5 = 0 THEN '' ELSE repeat('long ', i % 13 * 60) || i % 7 END AS long,
	('b' || i * 31 % 311 || repeat(' ', i % 3))::char(12) AS padded,
	('n' || i % 50)::name AS name,
	CASE WHEN i % 2 = 0 THEN 'Ab' ELSE 'aB' END || i * 13 % 101 AS cased,
	CASE WHEN i % 50 = 0 THEN repeat(md5((i % 7)::text), 400) ELSE 'x' END AS toasted,
	(noise(i, 2) & 1023)::int AS number
FROM generate_series(1, 12000) i;
-- The build with low thresholds has no memory for so many workers: some are lone.
ALTER TABLE repeated SET (parallel_workers = 5);
ANALYZE repeated;
SET gpusort.backend = cpu;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;

-- The query sorted by these keys with codes, and without them, in one process and in several, in much memory and in little.
CREATE FUNCTION check_codes(keys text, columns text DEFAULT '*') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT %s FROM repeated', columns);
	way text[];
	wrong text := '';
	result text;
BEGIN
	PERFORM expect_sort(query, keys);
	FOREACH way SLICE 1 IN ARRAY ARRAY[['on', '0', '64MB'], ['on', '0', '1MB'], ['on', '5', '64MB'], ['on', '2', '1MB'], ['auto', '0', '8MB']] LOOP
		PERFORM set_config('gpusort.dictionary', way[1], true), set_config('max_parallel_workers_per_gather', way[2], true), set_config('work_mem', way[3], true);
		result := check_expected_sort(query, keys);
		IF result <> 'ok' THEN
			wrong := wrong || format('%s: %s; ', way, result);
		END IF;
	END LOOP;
	RETURN coalesce(nullif(wrong, ''), 'ok');
END $$;

SELECT c, check_codes(format('%I COLLATE "C"', c)) AS c_order FROM unnest('{one,few,zipf,twice,different,different_first,same_first,stairs,long,padded,toasted}'::text[]) AS c;
SELECT c, check_codes(format('%I COLLATE dictionary_libc DESC', c), 'id, number, ' || c) AS libc FROM unnest('{few,twice,different_first,long,padded}'::text[]) AS c;
SELECT c, check_codes(format('%I COLLATE "en-x-icu" NULLS FIRST', c), 'id, ' || c) AS icu FROM unnest('{few,zipf,same_first,long,padded}'::text[]) AS c;
-- Values that are equal in the collation, and differ.
SELECT check_codes('cased COLLATE any_case, number');
SELECT check_codes('lower(cased), number DESC');
-- Several columns, of which a query wants none.
SELECT check_codes('name, few COLLATE dictionary_libc DESC NULLS LAST, padded COLLATE "C", number');
SELECT check_codes('few COLLATE "en-x-icu" DESC, zipf COLLATE dictionary_libc, number', 'id, number, few, zipf');
SELECT check_codes('few COLLATE "C", id', 'id, few');

-- What EXPLAIN says of it.
CREATE FUNCTION codes_in(query text) RETURNS SETOF text LANGUAGE plpgsql SET gpusort.mode = force AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Values:|Sort Method' THEN
			RETURN NEXT regexp_replace(regexp_replace(regexp_replace(ltrim(line), '\d+kB', 'NkB', 'g'), ' (Disk|Runs|Merge Passes).*', ''), '\d+(.*ended)', 'N\1');
		END IF;
	END LOOP;
END $$;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '64MB';
SELECT codes_in('SELECT * FROM repeated ORDER BY few COLLATE "en-x-icu", number');
SELECT codes_in('SELECT * FROM repeated ORDER BY few COLLATE "C", number') AS too_short;
SELECT codes_in('SELECT * FROM repeated ORDER BY twice COLLATE "C"') AS too_many_values_by_statistics;
SELECT codes_in('SELECT * FROM repeated ORDER BY few COLLATE "en-x-icu" LIMIT 10') AS none_under_a_limit;
-- All values come, and then all of them again: statistics say how many there are.
CREATE TABLE rounds AS SELECT i, 'device ' || i % 5000 AS device FROM generate_series(1, 25000) AS i;
ANALYZE rounds;
SELECT codes_in('SELECT * FROM rounds ORDER BY device COLLATE "en-x-icu"') AS in_rounds;
SET gpusort.dictionary = on;
SELECT codes_in('SELECT * FROM repeated ORDER BY different COLLATE "C"') AS given_up;
SELECT codes_in('SELECT * FROM repeated ORDER BY one COLLATE "C"') AS in_order;
SET gpusort.dictionary = off;
SELECT codes_in('SELECT * FROM repeated ORDER BY few COLLATE "en-x-icu", number') AS off;
RESET gpusort.dictionary;

-- What gpusort_check says of them.  Short strings in C are compared at once: no codes.
CREATE FUNCTION said(query text, codes text) RETURNS TABLE (taken boolean, how text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('gpusort.dictionary', codes, true);
	RETURN QUERY SELECT c.taken, regexp_replace(c.how, 'about [0-9.]+ [kM]B', 'about N MB') FROM gpusort_check(query) AS c;
END $$;
SELECT keys, codes, s.* FROM unnest(ARRAY['few COLLATE "en-x-icu", number', 'few COLLATE "C", number', 'few COLLATE "en-x-icu", name', 'few COLLATE "en-x-icu" LIMIT 10']) AS keys, unnest('{off,auto}'::text[]) AS codes, said('SELECT * FROM repeated ORDER BY ' || keys, codes) AS s ORDER BY keys COLLATE "C", codes COLLATE "C" DESC;
-- Strings that their first bytes tell apart must come more often.
SELECT s.* FROM said('SELECT * FROM repeated WHERE id <= 8000 ORDER BY padded COLLATE "C"', 'auto') AS s;

-- Cursors read backwards; a rescan sorts again.
SET gpusort.mode = force;
BEGIN;
DECLARE back SCROLL CURSOR FOR SELECT few, id FROM repeated ORDER BY few COLLATE "C" DESC NULLS LAST, id;
FETCH 2 FROM back;
MOVE FORWARD ALL FROM back;
FETCH BACKWARD 2 FROM back;
CLOSE back;
COMMIT;
SELECT n, s.* FROM (VALUES (3), (5)) v (n), LATERAL (SELECT few, max(id) FROM (SELECT few, id FROM repeated WHERE id % n = 1 ORDER BY few COLLATE "C" OFFSET 0) r GROUP BY few ORDER BY few DESC LIMIT 2) s ORDER BY 1, 2;
RESET gpusort.mode;
RESET work_mem;

-- Sorts that leave rows out.  What EXPLAIN ANALYZE says of a sort:
CREATE FUNCTION number_of(query text, property text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
	RETURN coalesce(jsonb_path_query_first(plan::jsonb, ('$.** ? (@."Custom Plan Provider" like_regex "^GpuSort(Ranges)?$")."' || property || '"')::jsonpath), '0')::bigint;
END $$;
-- A build with low thresholds looks for rows to drop only for a short while.
CREATE FUNCTION is_tight() RETURNS boolean LANGUAGE sql AS $$ SELECT current_setting('tests.unused_blocks', true) IS NOT NULL $$;
-- Compares a query's rows, in any order, with gpusort off and in force, in each way.  drops: are rows dropped?  NULL: they may be.
CREATE FUNCTION check_dropped(query text, drops boolean DEFAULT true) RETURNS text LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	all_rows text := format('SELECT array_agg(q::text) FROM (%s) q', query);
	rows_off text[];
	rows_forced text[];
	way text[];
	wrong text := '';
	result text;
BEGIN
	EXECUTE all_rows INTO rows_off;
	PERFORM set_config('gpusort.mode', 'force', true);
	FOREACH way SLICE 1 IN ARRAY ARRAY[['on', '0', '64MB'], ['on', '0', '2MB'], ['on', '2', '64MB'], ['on', '2', '2MB'], ['auto', '0', '8MB']] LOOP
		PERFORM set_config('gpusort.dictionary', way[1], true), set_config('max_parallel_workers_per_gather', way[2], true), set_config('work_mem', way[3], true);
		EXECUTE all_rows INTO rows_forced;
		result := compare_rows(rows_off, rows_forced);
		IF result !~ '^ok' THEN
			wrong := wrong || format('%s: %s; ', way, result);
		ELSIF way[1] = 'on' AND NOT is_tight() AND (number_of(query, 'Rows Dropped') > 0) <> drops THEN
			wrong := wrong || format('%s: %s rows dropped; ', way, number_of(query, 'Rows Dropped'));
		END IF;
	END LOOP;
	RETURN coalesce(nullif(wrong, ''), result);
END $$;

-- The first rows of each group, which the codes are: values may be compared as the C library does, too.
CREATE FUNCTION first_by_codes(func text, groups text, orders text, condition text) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT * FROM (SELECT id, number, %2$s OVER (PARTITION BY %1$s ORDER BY %3$s) AS r FROM repeated) s WHERE %4$s', groups, func, orders, condition)
$$;
SELECT c, check_dropped(first_by_codes('row_number()', c || ' COLLATE dictionary_libc', 'number, id', 'r <= 2'), drops) AS libc, check_dropped(first_by_codes('rank()', c || ' COLLATE "C"', 'number DESC', 'r <= 3'), drops) AS c,
	check_dropped(first_by_codes('dense_rank()', c || ' COLLATE "en-x-icu"', 'number NULLS FIRST', 'r = 1'), nullif(drops, false)) AS icu
FROM (VALUES ('few', true), ('zipf', true), ('twice', false), ('same_first', true), ('long', true), ('toasted', true)) AS v (c, drops);
-- Values that are equal in a collation and have several codes; several columns.
SELECT check_dropped(first_by_codes('row_number()', 'cased COLLATE any_case', 'number, id', 'r <= 4')) AS any_case, check_dropped(first_by_codes('dense_rank()', 'cased COLLATE any_case, number % 3', 'id % 90', 'r < 3')) AS ranks,
	check_dropped(first_by_codes('rank()', 'number % 3, few COLLATE dictionary_libc, lower(cased)', 'id % 9', 'r < 3')) AS several;
SET enable_hashagg = off;
SELECT check_dropped('SELECT DISTINCT ON (few COLLATE dictionary_libc) * FROM repeated ORDER BY few COLLATE dictionary_libc DESC NULLS LAST, id') AS of_each, check_dropped('SELECT DISTINCT zipf COLLATE dictionary_libc AS zipf, number % 3 FROM repeated') AS distinct,
	check_dropped('SELECT few COLLATE dictionary_libc AS few, padded FROM repeated GROUP BY 1, 2') AS groups;
RESET enable_hashagg;
-- Rows that are cut out of chunks, because later ones come before them.
SELECT check_dropped('SELECT DISTINCT ON (stairs COLLATE dictionary_libc) stairs, id, long FROM repeated ORDER BY stairs COLLATE dictionary_libc, id DESC', NULL) AS newest,
	check_dropped('SELECT DISTINCT ON (one COLLATE dictionary_libc, twice COLLATE dictionary_libc) id, long FROM repeated ORDER BY one COLLATE dictionary_libc, twice COLLATE dictionary_libc, id DESC', NULL) AS ended;
-- Behind the groups codes have no order: exact keys have none, and keys that guess drop no row.
SET gpusort.dictionary = on;
SET gpusort.mode = force;
SELECT number_of(q, 'Values') AS values, number_of(q, 'Rows Dropped') > 0 AS drops
FROM unnest(ARRAY[first_by_codes('row_number()', 'one', 'few COLLATE "C", id', 'r < 3'), first_by_codes('row_number()', 'number', 'few COLLATE "fr-CA-x-icu", id', 'r < 3')]) AS q;
-- Exact keys drop rows also when coding has ended.
SELECT check_dropped(first_by_codes('row_number()', 'same_first COLLATE "C"', 'id', 'r <= 2')) AS exact, check_dropped('SELECT DISTINCT ON (same_first COLLATE dictionary_libc, number % 3) id FROM repeated ORDER BY same_first COLLATE dictionary_libc, number % 3, id') AS libc;
CREATE VIEW ended_codes AS SELECT CASE WHEN id < 7000 THEN different ELSE few END AS c, id FROM repeated;
SELECT number_of(q, 'Values') > 0 AS values, (number_of(q, 'Rows Dropped') > 3000) = drops OR is_tight() AS dropped
FROM (VALUES ('SELECT DISTINCT ON (c COLLATE "C") c, id FROM ended_codes ORDER BY c COLLATE "C", id', true), ('SELECT DISTINCT ON (c COLLATE "fr-CA-x-icu") c, id FROM ended_codes ORDER BY c COLLATE "fr-CA-x-icu", id', false)) AS v (q, drops);
RESET gpusort.dictionary;
RESET gpusort.mode;

-- The first rows of all: values of the first column are compared once.
CREATE FUNCTION limited(keys text, columns text, n text) RETURNS text LANGUAGE sql AS $$ SELECT format('SELECT %s FROM repeated ORDER BY %s FETCH FIRST %s', columns, keys, n) $$;
SELECT n, check_dropped(limited('few COLLATE dictionary_libc NULLS FIRST, id', 'id, few', n)) AS nulls_first, check_dropped(limited('zipf COLLATE dictionary_libc DESC, number, id', 'id, zipf', n)) AS descending,
	check_dropped(limited('long COLLATE dictionary_libc', 'long', n), NULL) AS long, check_dropped(limited('different_first COLLATE dictionary_libc, id', '*', n), NULL) AS different_first,
	check_dropped(limited('padded COLLATE dictionary_libc DESC, number % 10', 'padded, number % 10', n)) AS padded
FROM unnest('{1 ROW ONLY,20 ROWS ONLY,700 ROWS ONLY}'::text[]) AS n;
SELECT check_dropped(limited('one COLLATE dictionary_libc', 'one', '20 ROWS ONLY')) AS one, check_dropped(limited('few COLLATE dictionary_libc, id', 'id', '11999 ROWS ONLY'), false) AS nearly_all, check_dropped(limited('stairs COLLATE dictionary_libc DESC, id', 'id', '5 ROWS ONLY'), NULL) AS stairs,
	check_dropped('SELECT * FROM (SELECT few, id, row_number() OVER (ORDER BY few COLLATE dictionary_libc, id) AS r FROM repeated) s WHERE r <= 30') AS window;
CREATE TABLE tied_codes AS SELECT few COLLATE dictionary_libc AS few, cased COLLATE any_case AS cased, one COLLATE dictionary_libc AS one, number % 10 AS number, id,
	('b' || id % 40 || repeat(' ', number % 3))::bpchar COLLATE dictionary_libc AS blanks FROM repeated;
ANALYZE tied_codes;
SELECT n, check_dropped('SELECT few FROM tied_codes ORDER BY few ' || n) AS few, check_dropped('SELECT few, number FROM tied_codes ORDER BY few DESC, number ' || n) AS two,
	check_dropped('SELECT rtrim(blanks) AS blanks, number FROM tied_codes ORDER BY tied_codes.blanks, number ' || n) AS blanks, check_dropped('SELECT id FROM tied_codes ORDER BY one ' || n, false) AS one
FROM unnest('{FETCH FIRST 1 ROW WITH TIES,OFFSET 20 FETCH FIRST 9 ROWS WITH TIES,FETCH FIRST 500 ROWS WITH TIES}'::text[]) AS n;
