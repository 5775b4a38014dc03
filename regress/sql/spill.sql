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
-- Temporary tablespaces are used as for any other temporary file.
SELECT check_query('SELECT id FROM (SELECT * FROM s ORDER BY t, id OFFSET 100) q WHERE id % 7 = 0') AS through_a_subquery,
	check_query('SELECT * FROM s ORDER BY k LIMIT 15000 OFFSET 10000') AS limit_and_offset;
DROP TABLE s, wide;
DROP FUNCTION spills;
