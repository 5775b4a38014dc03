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
-- They take no more of the disk than PostgreSQL's tapes.
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
	WHERE coalesce(disk_kb(query, 'force') > 1.1 * disk_kb(query, 'off'), true);
SET gpusort.work_mem = '64kB';
-- Temporary tablespaces are used as for any other temporary file.
SELECT check_query('SELECT id FROM (SELECT * FROM s ORDER BY t, id OFFSET 100) q WHERE id % 7 = 0') AS through_a_subquery,
	check_query('SELECT * FROM s ORDER BY k LIMIT 15000 OFFSET 10000') AS limit_and_offset;
DROP TABLE s, wide, forms;
DROP FUNCTION spills, disk_kb;
