--
-- A key that ends with a string of the row leaves its tail there.  Strings around the lengths from which that pays, that end at, before and behind
-- every eighth byte, many of them equal, some compressed or out of line in one row and plain in another one.
--
CREATE TABLE tails (id bigint, c text COLLATE "C", u text COLLATE "en-US-x-icu", v varchar(60) COLLATE "C", n name, p char(50) COLLATE "C", pad text);
ALTER TABLE tails ALTER COLUMN c SET STORAGE main, ALTER COLUMN pad SET STORAGE plain;
CREATE FUNCTION fill_tails(first bigint, strings text[]) RETURNS void LANGUAGE sql AS $$
	INSERT INTO tails SELECT first + i, s, s, left(s, 60), s::name, left(s, 50), CASE WHEN i % 3 = 0 THEN NULL ELSE repeat('p', (i % 20)::int) END
	FROM unnest(strings) WITH ORDINALITY AS t (s, i) ORDER BY noise(i)
$$;
SELECT fill_tails(1, array_agg(left('/usr/share/doc/packages/', start) || repeat('x', length) || tail))
FROM generate_series(0, 24, 3) AS start, generate_series(0, 34) AS length, unnest(ARRAY['', 'a', E'\001', E'\177', 'é', 'A', '  ']) AS tail;
SELECT fill_tails(10001, text_seams() || text_seams());
SELECT fill_tails(20001, ARRAY[NULL, '', NULL, '']);
-- the same strings compressed, plain and out of line
SELECT fill_tails(30001, array_agg(repeat('long', 600) || i % 7)) FROM generate_series(1, 60) AS i;
ALTER TABLE tails ALTER COLUMN c SET STORAGE plain, ALTER COLUMN u SET STORAGE plain;
SELECT fill_tails(40001, array_agg(repeat('long', 600) || i % 7)) FROM generate_series(1, 60) AS i;
ALTER TABLE tails ALTER COLUMN c SET STORAGE external, ALTER COLUMN u SET STORAGE external;
SELECT fill_tails(50001, array_agg(repeat('long', 1200) || i % 7)) FROM generate_series(1, 60) AS i;
ANALYZE tails;

SELECT keys, check_options('SELECT * FROM tails', keys) AS result FROM unnest('{c,u,v,n,p}'::text[]) AS keys;
SELECT keys, check_sort('SELECT * FROM tails', keys) AS result
FROM unnest(ARRAY['pad COLLATE "C", c', 'pad COLLATE "C" DESC, u', 'c, u', 'c, id', 'v, u DESC', 'u, pad COLLATE "C"', 'n, c DESC, u']) AS keys;
-- rows that are put together
SELECT check_sort('SELECT id, c || ''.'' AS c FROM tails', 'c') AS made;

-- through temporary files: of rows that hold their keys, of wide rows whose keys are written, of rows without their keys
SET gpusort.work_mem = '64kB';
SELECT keys, check_sort('SELECT * FROM tails', keys) AS spilled FROM unnest('{c,u,v,n}'::text[]) AS keys;
CREATE TABLE wide_tails AS SELECT id, v, repeat('w', 1500) AS pad FROM tails;
ANALYZE wide_tails;
SELECT check_sort('SELECT * FROM wide_tails', 'v') AS keys_written;
SELECT check_sort('SELECT id, upper(pad) AS pad, v FROM wide_tails', 'v') AS without;
RESET gpusort.work_mem;

-- rows that come in order, or in reverse order
CREATE TABLE tails_up AS SELECT * FROM tails ORDER BY c;
CREATE TABLE tails_down AS SELECT DISTINCT ON (c) * FROM tails ORDER BY c DESC;
-- and in order but for what is longer before what it begins with
CREATE TABLE tails_almost AS SELECT row_number() OVER () AS id, (to_char(i, 'FM0000000000000000000000000000000000') || repeat('x', 1 - j)) COLLATE "C" AS c
	FROM generate_series(1, 500) AS i, generate_series(0, 1) AS j ORDER BY i, j;
ANALYZE tails_up, tails_down, tails_almost;
SELECT check_sort('SELECT * FROM tails_almost', 'c') AS almost;
SELECT t, k, check_sort('SELECT * FROM ' || t, k) AS result FROM unnest('{tails_up,tails_down}'::text[]) AS t, unnest('{c,c DESC,u}'::text[]) AS k;

-- several processes
CREATE TABLE many_tails AS
	SELECT row_number() OVER () AS id, c, u, v FROM tails, generate_series(1, 40) WHERE octet_length(c) < 100;
ALTER TABLE many_tails SET (parallel_workers = 2);
ANALYZE many_tails;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT keys, check_sort('SELECT * FROM many_tails', keys) AS together FROM unnest('{c,u,v}'::text[]) AS keys;
RESET max_parallel_workers_per_gather;

-- strings so far on in their rows, or so long, that a row can't say so itself, beside others
CREATE TABLE far_tails (id int, pad text, c text COLLATE "C");
ALTER TABLE far_tails ALTER pad SET STORAGE plain;
INSERT INTO far_tails SELECT i, repeat('p', CASE WHEN i % 3 = 0 THEN 4000 + i ELSE i % 10 END), left('/usr/share/doc/', i % 16) || repeat('x', i % 5) || i / 6 FROM generate_series(1, 300) AS i;
ANALYZE far_tails;
SELECT check_sort('SELECT * FROM far_tails', 'c') AS far,
	check_query('WITH s AS MATERIALIZED (SELECT i, (repeat(''long'', 32765) || repeat(''x'', (i * 7) % 40)) COLLATE "C" AS c FROM generate_series(1, 30) AS i) SELECT * FROM s ORDER BY c') AS long;

-- That a string is not stored a second time, and nothing else beside a row that says all of the key: the bytes of a row with its key, the entry
-- included.  (gpusortd's chunks have keys whole.)
SET gpusort.backend = cpu;
CREATE TABLE long_strings AS SELECT (md5(i::text) || md5(i::text)) COLLATE "C" AS c, (md5(i::text) || md5(i::text)) COLLATE "en-US-x-icu" AS u, lpad(i::text, 6, '0') COLLATE "C" AS s
	FROM generate_series(1, 1000) AS i;
ANALYZE long_strings;
SELECT keys, result, bytes < limit_of AS tail_is_in_row
FROM (VALUES ('c', 180), ('s', 180), ('c DESC', 200), ('u', 280), ('u DESC', 280)) AS k (keys, limit_of), check_whole('SELECT * FROM long_strings ORDER BY ' || keys);
RESET gpusort.backend;

DROP TABLE tails, wide_tails, tails_up, tails_down, tails_almost, many_tails, far_tails, long_strings;
DROP FUNCTION fill_tails;
