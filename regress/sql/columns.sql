--
-- Several sort columns, expressions as keys, sizes at the edges, and inputs with a shape.
--
CREATE TABLE facts AS
	SELECT i AS id, (noise(i) % 20)::int AS a, (noise(i, 1) % 5)::smallint AS b, (noise(i, 2) % 100)::float8 / 10 AS f,
		CASE WHEN i % 11 > 0 THEN (noise(i, 3) % 50)::numeric / 7 END AS n, md5((i % 300)::text)::uuid AS u,
		CASE WHEN i % 7 > 0 THEN 'name ' || i % 40 END AS t, i % 2 = 0 AS flag, date '2020-01-01' + i % 30 AS day,
		repeat('wide', i % 30) AS filler
	FROM generate_series(1, 3000) AS i;

SELECT check_sort('SELECT * FROM facts', 'a, b') AS int4_int2,
	check_sort('SELECT * FROM facts', 'a DESC, b, id') AS three_integers,
	check_sort('SELECT * FROM facts', 'flag, day DESC, a, b DESC, f') AS five_columns,
	check_sort('SELECT * FROM facts', 'u, f DESC') AS uuid_float8,
	check_sort('SELECT * FROM facts', 'n NULLS FIRST, a') AS numeric_int4,
	check_sort('SELECT * FROM facts', 'a, n DESC NULLS LAST, b') AS variable_in_the_middle,
	check_sort('SELECT * FROM facts', 't COLLATE "C" DESC, id') AS text_int4,
	check_sort('SELECT * FROM facts', 't COLLATE "und-x-icu" NULLS FIRST, n DESC, t COLLATE "C"') AS text_numeric_text,
	check_sort('SELECT * FROM facts', 'flag DESC, b, a, f, n, u, t COLLATE "C", day, id') AS nine_columns;
-- Fixed keys of every width up to one that is no longer fixed.
SELECT columns, check_sort('SELECT * FROM facts', columns)
FROM (SELECT string_agg(c, ', ') OVER (ORDER BY ordinality) AS columns
	  FROM unnest('{b,flag,a,id::int8,f DESC,day,u,u::text::uuid DESC}'::text[]) WITH ORDINALITY AS c) s;
-- A key twice is a key once.
SELECT check_sort('SELECT * FROM facts', 'a, a DESC, b') AS same_key_twice;
-- Expressions, and keys that are not in the target list.
SELECT check_sort('SELECT * FROM facts', '-a, abs(b), id % 10 DESC') AS expressions,
	check_sort('SELECT * FROM facts', 'lower(t) COLLATE "C" DESC, upper(t) COLLATE "und-x-icu"') AS text_expressions,
	check_sort('SELECT * FROM facts', 'a + b, n * 2 DESC, t IS NULL') AS mixed_expressions,
	check_sort('SELECT id, filler FROM facts', 'id % 17, length(filler)') AS few_columns,
	check_sort('SELECT id FROM facts', 'id DESC') AS one_column;
-- Operators named by USING.
SELECT check_sort('SELECT * FROM facts', 'a USING >, t COLLATE "C" USING <') AS using_operators,
	check_sort('SELECT * FROM facts', 't COLLATE "C" USING ~>~, a') AS using_pattern_operator,
	check_sort('SELECT * FROM facts', 't COLLATE "und-x-icu" USING ~<~, a') AS using_pattern_operator_icu;
-- An ordering that is not the type's own.
CREATE FUNCTION int4_by_digit(a int, b int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT btint4cmp(a % 10, b % 10) $$;
CREATE FUNCTION int4_digit_lt(a int, b int) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT a % 10 < b % 10 $$;
CREATE FUNCTION int4_digit_eq(a int, b int) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT a % 10 = b % 10 $$;
CREATE FUNCTION int4_digit_gt(a int, b int) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT a % 10 > b % 10 $$;
CREATE OPERATOR <% (FUNCTION = int4_digit_lt, LEFTARG = int, RIGHTARG = int, COMMUTATOR = >%);
CREATE OPERATOR >% (FUNCTION = int4_digit_gt, LEFTARG = int, RIGHTARG = int, COMMUTATOR = <%);
CREATE OPERATOR =% (FUNCTION = int4_digit_eq, LEFTARG = int, RIGHTARG = int, COMMUTATOR = =%);
CREATE OPERATOR CLASS by_digit FOR TYPE int USING btree AS OPERATOR 1 <%, OPERATOR 3 =%, OPERATOR 5 >%, FUNCTION 1 int4_by_digit;
SELECT check_sort('SELECT * FROM facts', 'id USING <%', taken => false) AS using_own_operator,
	check_sort('SELECT * FROM facts', 'a, id USING >%', taken => false) AS using_own_operator_second;
DROP OPERATOR FAMILY by_digit USING btree;
DROP OPERATOR <% (int, int), >% (int, int), =% (int, int);
DROP FUNCTION int4_by_digit, int4_digit_lt, int4_digit_eq, int4_digit_gt;

-- Few rows, and numbers of rows around those that a sort may treat alike.
CREATE TABLE counts AS
	SELECT i AS id, noise(i) AS k, md5(i::text) AS t FROM generate_series(1, 4200) AS i;
SELECT kind, CASE WHEN bool_and(result = 'ok') THEN 'ok' ELSE string_agg(rows || ': ' || result, '; ') END AS result
FROM (SELECT kind, rows, check_sort(format('SELECT * FROM counts WHERE id <= %s', rows), key) AS result
	  FROM unnest(ARRAY[0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513,
					   1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097]) AS rows,
		   (VALUES ('fixed', 'k'), ('two words', 'k % 3, k DESC'), ('variable', 't COLLATE "C"')) AS keys (kind, key)) r
GROUP BY kind ORDER BY kind COLLATE "C";

-- Inputs with a shape: sorted, reversed, all equal, few values, one outlier, sorted with a tail, an organ pipe.
CREATE TABLE shapes AS
	SELECT i AS id, i AS sorted, 20000 - i AS reversed, 7 AS equal, i % 3 AS few, (i = 11111)::int AS outlier,
		CASE WHEN i < 19900 THEN i ELSE noise(i) % 20000 END AS tail, abs(10000 - i) AS pipe, (i & ~255) AS blocks,
		NULL::int AS nothing, nullif(i % 2, 0) AS half, (1::int8 << (i % 63)) AS powers
	FROM generate_series(1, 20000) AS i;
SELECT shape, check_sort('SELECT * FROM shapes', shape) AS fixed, check_sort('SELECT * FROM shapes', shape || ' DESC, id') AS two_columns,
	check_sort('SELECT * FROM shapes', format('to_char(%s, ''S00000000000000000000'') COLLATE "C"', shape)) AS variable
FROM unnest('{sorted,reversed,equal,few,outlier,tail,pipe,blocks,nothing,half,powers}'::text[]) AS shape;

-- Rows of all widths, among them compressed and external values, dropped and added columns.
CREATE TABLE wide (id int, dropped text, compressed text, external text, plain text COLLATE "C");
ALTER TABLE wide ALTER external SET STORAGE EXTERNAL;
INSERT INTO wide SELECT i, 'dropped', repeat(md5(i::text), i % 200), repeat('e', i * 20), md5(i::text) FROM generate_series(1, 400) AS i;
ALTER TABLE wide DROP COLUMN dropped;
ALTER TABLE wide ADD COLUMN added int DEFAULT 5, ADD COLUMN empty text;
SELECT check_sort('SELECT * FROM wide', 'plain') AS wide_rows,
	check_sort('SELECT * FROM wide', 'compressed COLLATE "C" DESC') AS compressed_keys,
	check_sort('SELECT * FROM wide', 'external COLLATE "C"') AS external_keys,
	check_sort('SELECT * FROM wide', 'external COLLATE "und-x-icu" DESC, compressed COLLATE "C"') AS external_icu_keys,
	check_sort('SELECT * FROM wide', 'added, empty COLLATE "C", id DESC') AS added_columns;

DROP TABLE facts, counts, shapes, wide;
