--
-- Sorts that do not fit in memory: runs in temporary files, merged in one or more passes.
--
-- Of the cpu device, also on a server whose default is another one.
SET gpusort.backend = cpu;
CREATE TABLE s AS
	SELECT i AS id, noise(i) AS k, (noise(i) % 10)::int AS g, md5(i::text) COLLATE "C" AS t, noise(i)::numeric / 1000 AS n
	FROM generate_series(1, 30000) AS i;
ANALYZE s;
CREATE FUNCTION spills(query text) RETURNS boolean LANGUAGE plpgsql SET gpusort.mode = force AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE) ' || query LOOP
		IF line ~ 'Disk: [1-9]' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;
-- work_mem counts while gpusort.work_mem is -1.
SHOW gpusort.work_mem;
SET work_mem = '64MB';
SELECT spills('SELECT * FROM s ORDER BY k') AS in_64mb;
SET work_mem = '1MB';
SELECT spills('SELECT * FROM s ORDER BY k') AS in_1mb;
SET gpusort.work_mem = '64MB';
SELECT spills('SELECT * FROM s ORDER BY k') AS in_64mb_of_its_own;
-- One pass, and several.
SET gpusort.work_mem = '2MB';
SELECT check_options('SELECT * FROM s', 'k') AS fixed, check_options('SELECT * FROM s', 't') AS variable,
	check_sort('SELECT * FROM s', 'g, n DESC') AS duplicates;
SET gpusort.work_mem = '64kB';
SELECT spills('SELECT * FROM s ORDER BY k') AS in_64kb;
SELECT check_sort('SELECT * FROM s', 'k') AS fixed, check_sort('SELECT * FROM s', 'g') AS few_values, check_sort('SELECT * FROM s', 'id') AS sorted,
	check_sort('SELECT * FROM s', 'id DESC') AS reversed, check_sort('SELECT * FROM s', 't DESC') AS variable,
	check_sort('SELECT * FROM s', 'n, t COLLATE "und-x-icu"') AS two_variable_columns;
-- Wide rows: wider than the memory, than a chunk; wide keys; and a few among many narrow ones.
CREATE TABLE wide AS SELECT i AS id, (noise(i) % 1000)::int AS k, repeat(chr(65 + i % 26), 1000000 + i) COLLATE "C" AS w FROM generate_series(1, 6) AS i;
ALTER TABLE wide ALTER w SET STORAGE EXTERNAL;
INSERT INTO wide SELECT id + 6, k, w || 'x' FROM wide;
INSERT INTO wide SELECT id + 100, k % 1000, t FROM s WHERE id <= 5000;
SELECT check_sort('SELECT * FROM wide', 'k, id') AS wide_rows, check_sort('SELECT id, k, w || w AS ww FROM wide WHERE id < 100', 'k DESC') AS wider_rows,
	check_sort('SELECT * FROM wide', 'w, id DESC') AS wide_keys, check_sort('SELECT id, k FROM wide', 'k') AS narrow;
SET gpusort.work_mem = '16MB';
SELECT check_sort('SELECT id, k, w || '''' AS ww FROM wide', 'k, id') AS wide_rows, check_sort('SELECT * FROM wide', 'w || '''', id DESC') AS wide_keys;
SET gpusort.work_mem = '64kB';
-- Rows unlike their neighbours: NULLs here and there, lengths about where their number takes a byte more.  Keys that the
-- rows hold, keys of which they hold a part, keys that they don't hold, and keys that are not worth leaving out.
CREATE TABLE forms AS
	SELECT i AS id, CASE WHEN noise(i) % 3 > 0 THEN noise(i) END AS k, CASE WHEN noise(i) % 5 > 0 THEN md5(i::text) END COLLATE "C" AS t,
		repeat('x', ((ARRAY[0, 20, 60, 110, 8140, 16300])[1 + (noise(i) % 97 + 97) % 97 / 20 + (i % 500 = 0)::int] + noise(i) % 12)::int) AS filler,
		CASE WHEN i % 7 > 0 THEN (i % 300)::int2 END AS s
	FROM generate_series(1, 20000) AS i;
ANALYZE forms;
SELECT check_sort('SELECT * FROM forms', 'k') AS fixed, check_sort('SELECT * FROM forms', 't') AS variable,
	check_sort('SELECT * FROM forms', 's, t DESC, k') AS columns, check_sort('SELECT * FROM forms', 't COLLATE "und-x-icu", id') AS icu,
	check_sort('SELECT * FROM forms', 'length(filler), id') AS small_keys;
SELECT check_query('SELECT id, s FROM forms ORDER BY t COLLATE "C", id') AS without_t, check_query('SELECT s, filler FROM forms ORDER BY s, filler COLLATE "C", k') AS without_k,
	check_query('SELECT filler FROM forms ORDER BY id') AS without_id, check_query('SELECT id FROM forms ORDER BY id') AS id_alone,
	check_query('SELECT t FROM forms ORDER BY t COLLATE "C"') AS t_alone;
-- They take no more of the disk than PostgreSQL's tapes, if it has any: from 17 on it doesn't count the memory of values of
-- a single column that are passed by reference.
CREATE FUNCTION disk_kb(query text, mode text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	PERFORM set_config('gpusort.mode', mode, true);
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE) ' || query LOOP
		IF line ~ 'Disk: [1-9]' THEN
			RETURN substring(line FROM 'Disk: ([0-9]+)');
		END IF;
	END LOOP;
	RETURN NULL;
END $$;
SET gpusort.work_mem = -1;
SET work_mem = '256kB';
SELECT disk_kb('SELECT id FROM s ORDER BY id', 'force') <= 1.1 * disk_kb('SELECT id FROM s ORDER BY id', 'off') AS id_alone;
SET work_mem = '1MB';
SELECT query, disk_kb(query, 'off') off, disk_kb(query, 'force') force FROM unnest(ARRAY['SELECT * FROM s ORDER BY k', 'SELECT * FROM s ORDER BY t', 'SELECT t FROM s ORDER BY t', 'SELECT n FROM s ORDER BY n',
	'SELECT t FROM s ORDER BY t COLLATE "und-x-icu"', 'SELECT k, g, id FROM s ORDER BY g, k', 'SELECT * FROM forms ORDER BY t, k', 'SELECT id FROM forms ORDER BY t']) AS query
	WHERE disk_kb(query, 'force') IS NULL OR disk_kb(query, 'force') > 1.1 * disk_kb(query, 'off');
-- Nor does a scroll cursor at any time, wherever it goes; and it sees the same rows.  In the quick run each second query.
CREATE FUNCTION scrolled(query text, mode text, limit_kb bigint, OUT seen text, OUT kb bigint) LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	r record;
	step int;
BEGIN
	PERFORM set_config('gpusort.mode', mode, true), set_config('temp_file_limit', limit_kb::text, true);
	OPEN c SCROLL FOR EXECUTE query;
	FOREACH step IN ARRAY ARRAY[1, 5000, -1, 1, -1, 1, 1, -2, -313, 1, -1, -4000, 2000, -1, 9000, 1000000, -1, 1, -1, -12000, -1000000, 1, 700, -1] LOOP
		FETCH RELATIVE step FROM c INTO r;
		seen := concat_ws(' ', seen, coalesce(md5(r::text), '-'));
	END LOOP;
	MOVE LAST FROM c;
	LOOP
		FETCH PRIOR FROM c INTO r;
		EXIT WHEN NOT FOUND;
		seen := md5(seen || r::text);
	END LOOP;
	FETCH FIRST FROM c INTO r;
	seen := md5(seen || r::text);
	kb := (SELECT sum(size) FROM pg_ls_tmpdir() WHERE name LIKE 'pgsql_tmp' || pg_backend_pid() || '.%') / 1024;
	CLOSE c;
EXCEPTION WHEN configuration_limit_exceeded THEN
	seen := SQLERRM;
END $$;
SELECT count(*) = CASE WHEN whole_run() THEN 8 ELSE 4 END AS queries, count(*) FILTER (WHERE o.seen IS DISTINCT FROM f.seen) AS others, string_agg(DISTINCT query || ': ' || f.seen, E'\n') FILTER (WHERE o.seen <> f.seen) AS different
FROM unnest(ARRAY['SELECT * FROM s ORDER BY k, id', 'SELECT * FROM s ORDER BY t', 'SELECT k, g FROM s ORDER BY g, k', 'SELECT n, id FROM s ORDER BY n, id',
	'SELECT id FROM s ORDER BY id', 'SELECT * FROM forms ORDER BY t, k, id', 'SELECT * FROM forms ORDER BY s, id', 'SELECT filler, id FROM forms ORDER BY length(filler), id']) WITH ORDINALITY AS q (query, number),
	LATERAL scrolled(query, 'off', -1) AS o, LATERAL scrolled(query, 'force', o.kb * 11 / 10) AS f WHERE whole_run() OR number % 2 = 0;
SET gpusort.work_mem = '64kB';
-- Temporary tablespaces are used as for any other temporary file.
SELECT check_query('SELECT id FROM (SELECT * FROM s ORDER BY t, id OFFSET 100) q WHERE id % 7 = 0') AS through_a_subquery,
	check_query('SELECT * FROM s ORDER BY k LIMIT 15000 OFFSET 10000') AS limit_and_offset;
DROP TABLE s, wide, forms;
DROP FUNCTION spills, disk_kb, scrolled;
