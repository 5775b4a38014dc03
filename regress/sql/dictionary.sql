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
