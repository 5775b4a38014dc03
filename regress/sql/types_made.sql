--
-- Types that are made of others, with values on every seam of their encodings: arrays, composite types, ranges, multiranges.
--
SET timezone = 'UTC';
SET client_min_messages = warning;

CREATE TYPE hue AS ENUM ('red', 'green', 'blue');
ALTER TYPE hue ADD VALUE 'yellow' BEFORE 'green';
CREATE COLLATION made_alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE mixture AS (a int, gone text, b numeric, c text COLLATE "C", d hue, e int2[]);
ALTER TYPE mixture DROP ATTRIBUTE gone;
CREATE TYPE mixtures AS (m mixture, r numrange, i text COLLATE "und-x-icu");
CREATE TYPE nothing AS ();
CREATE DOMAIN made_few AS int2[] CHECK (cardinality(VALUE) < 301);
CREATE DOMAIN made_mixed AS mixture;
CREATE TYPE bytes_range AS RANGE (subtype = text, collation = "C");
CREATE TYPE pattern_range AS RANGE (subtype = text, subtype_opclass = text_pattern_ops, collation = "und-x-icu");
CREATE TYPE word_range AS RANGE (subtype = text, collation = "und-x-icu");
CREATE TYPE array_range AS RANGE (subtype = numeric[]);
SELECT type, check_seams(type) AS result
FROM unnest('{oidvector,int2vector,boolean[],\"char\"[],int2[],int4[],int8[],tid[],float4[],float8[],date[],timetz[],interval[],uuid[],macaddr[],numeric[],inet[],bytea[],varbit[],hue[],made_few,made_few[],
	int4range,int8range,daterange,tsrange,tstzrange,numrange,bytes_range,pattern_range,word_range,array_range,int4multirange,datemultirange,nummultirange,bytes_multirange,int4range[],nummultirange[],
	mixture,mixtures,made_mixed,mixture[],mixtures[],made_mixed[]}'::text[]) AS type;
SELECT type, collation_name, check_seams(type, collation_name) AS result
FROM unnest('{text[],varchar[],char(30)[],name[]}'::text[]) AS type, unnest('{C,und-x-icu,made_alike}'::text[]) AS collation_name;
SELECT check_type('nothing', 'ROW()', '{}') AS of_no_columns;

-- Compressed values and ones out of line; arrays as PL/pgSQL keeps them; rows older than a column of their type, that has a value or none for them.
CREATE TABLE large (id int, a int4[], t text[] COLLATE "C", m mixture, r bytes_range);
ALTER TABLE large ALTER t SET STORAGE external;
INSERT INTO large SELECT i, array_fill(i % 7, ARRAY[1000 + i % 3]) || i % 5, ARRAY(SELECT md5((i % 3 + j)::text) FROM generate_series(1, i % 4 * 40) AS j) || (i % 11)::text,
	ROW(i % 3, NULL, repeat('c', i % 2 * 20000) || i % 13, 'blue', NULL)::mixture, bytes_range(repeat('a', i % 2 * 20000), repeat('b', 3000 + i % 5), '[]') FROM generate_series(1, 400) AS i;
SELECT key, check_options('SELECT * FROM large', key) AS result FROM unnest('{a,t,m,r}'::text[]) AS key;
CREATE FUNCTION expanded(n int) RETURNS int[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	a int[] := '{}';
BEGIN
	FOR i IN 1 .. n LOOP
		a[i] := n % (i + 1);
	END LOOP;
	RETURN a;
END $$;
SELECT check_sort('SELECT id, expanded(id % 60) AS a FROM large', 'a DESC, id') AS expanded;
CREATE TABLE old (x int, y text COLLATE "C");
CREATE TABLE holds_old (id int, o old, os old[]);
INSERT INTO holds_old SELECT i, ROW(i % 7, nullif(i % 3, 0))::old, ARRAY[ROW(i % 2, 'x')::old] FROM generate_series(1, 500) AS i;
ALTER TABLE old ADD z int;
INSERT INTO holds_old SELECT i, ROW(i % 7, nullif(i % 3, 0), nullif(i % 4, 0))::old, ARRAY[ROW(i % 2, 'x', nullif(i % 3, 0))::old] FROM generate_series(501, 1000) AS i;
ALTER TABLE old DROP x;
SELECT key, check_options('SELECT * FROM holds_old', key) AS result FROM unnest('{o,os}'::text[]) AS key;
SELECT check_sort('SELECT id, h FROM (SELECT id, h FROM holds_old h) s', 'h DESC') AS whole_rows;

-- Through runs in temporary files, many equal ones, and the first of them.
CREATE TABLE many_made AS SELECT i AS id, ARRAY[noise(i) % 100, noise(i, 1) % 3] AS a, daterange(date '2000-01-01' + (noise(i) % 1000)::int, date '2003-01-01' + (noise(i, 1) % 10)::int) AS d,
	ROW(noise(i) % 10, (noise(i, 1) % 1000) / 100.0, noise(i, 2)::text, 'red', NULL)::mixture AS m FROM generate_series(1, 12000) AS i;
SELECT key, check_sort('SELECT * FROM many_made', key || ', id') AS result FROM unnest('{a,"d DESC","m, a DESC"}'::text[]) AS key;
SET gpusort.work_mem = '512kB';
SELECT key, check_sort('SELECT * FROM many_made', key || ', id') AS result FROM unnest('{a,"d DESC","m, a DESC"}'::text[]) AS key;
RESET gpusort.work_mem;
SELECT check_query('SELECT * FROM many_made ORDER BY a DESC, d, id LIMIT 100 OFFSET 20') AS bounded;
SELECT check_query('SELECT DISTINCT ON (a, d) * FROM many_made ORDER BY a, d DESC, id') AS distinct_on;

DROP TABLE large, holds_old, old, many_made;
