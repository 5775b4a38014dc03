--
-- How many values an expression is expected to have.  A sort by it and by a string behind it is expected to take as long as a sort by a column
-- that holds the expression's values, whose statistics are known: the fewer values the first one has, the more strings are compared.
--
CREATE TABLE expressed AS SELECT i AS id, (noise(i) % 2000000)::int AS x, (noise(i) % 100000)::numeric / 100 AS price, (noise(i, 2) % 1000)::int8 AS quantity,
	date '2015-01-01' + (noise(i, 3) % 3653)::int AS day, timestamp '2024-01-01' + (noise(i, 4) % 31536000) * interval '1 second' AS at, timestamptz '2024-01-01 00:00+00' + (noise(i, 5) % 1000000) * interval '1 second' AS atz,
	'Name ' || noise(i, 6) % 5000 AS name, chr(65 + (noise(i, 7) % 20)::int) || md5(i::text) AS code,
	jsonb_build_object('kind', 'k' || noise(i, 8) % 12, 'id', noise(i, 11) % 1000000, 'of', jsonb_build_object('sort', noise(i, 9) % 5)) AS document, md5((noise(i, 10) % 9000)::text) COLLATE "C" AS tail
FROM generate_series(1, 20000) AS i;
VACUUM ANALYZE expressed;
SET gpusort.mode = force;
SET gpusort.backend = cpu;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '64MB';
SET TimeZone = 'UTC';

-- Times of PostgreSQL's sort, expected by the expression, as a part of those by a column of its values.
CREATE FUNCTION theirs(query text) RETURNS float8 LANGUAGE sql AS 'SELECT postgresql_ms FROM gpusort_check(query)';
CREATE FUNCTION compare_expected(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ratio float8;
	is_text boolean;
BEGIN
	EXECUTE format('SELECT pg_typeof(%s) = ''text''::regtype FROM expressed LIMIT 1', expression) INTO is_text;
	-- a text of which no width is known is taken to have 32 bytes
	EXECUTE format('CREATE TEMPORARY TABLE column_of AS SELECT %s AS value, tail FROM expressed', CASE WHEN is_text THEN format('rpad(%s, 31)', expression) ELSE expression END);
	ANALYZE column_of;
	ratio := theirs(format('SELECT %s AS value, tail FROM expressed ORDER BY 1, 2', expression)) / theirs('SELECT value, tail FROM column_of ORDER BY 1, 2');
	DROP TABLE column_of;
	RETURN CASE WHEN ratio BETWEEN 0.8 AND 1.2 THEN 'as by its column' ELSE round(ratio::numeric, 2)::text END;
END $$;

SELECT expression, compare_expected(expression) FROM unnest(ARRAY[
	-- steps of numbers and times
	$$x / 10000$$, $$x / 100000 + 1$$, $$(x + 7) / 100000$$, $$floor(price / 100)$$, $$round(price)$$, $$round(price, 1)$$, $$trunc(price / 250)$$, $$div(price, 100)$$,
	$$date_trunc('quarter', day)$$, $$date_trunc('month', at)$$, $$date_trunc('days', at)$$, $$date_trunc('hour', atz)$$, $$date_trunc('month', day)::date$$,
	$$at::date$$, $$date_bin('6 hours', at, timestamp '2001-01-01')$$, $$floor(extract(epoch FROM at) / 86400)$$,
	$$to_char(at, 'YYYY-MM')$$, $$to_char(at, 'YYYY-MM-DD')$$, $$to_char(at, 'HH24')$$, $$to_char(at, 'Day')$$, $$to_char(day, 'YYYY "Q"Q')$$,
	-- what comes round
	$$extract(hour FROM at)$$, $$extract(hours FROM at)$$, $$extract(dow FROM day)$$, $$date_part('month', atz)$$, $$extract(year FROM day)$$, $$extract(decade FROM day)$$,
	$$extract(year FROM day) * 100 + extract(month FROM day)$$, $$x % 16$$, $$mod(quantity, 30)$$, $$quantity % 5$$,
	-- few results, whatever is behind them
	$$CASE WHEN price < 100 THEN 'low' WHEN price < 500 THEN 'middle' ELSE 'high' END$$, $$price > 300$$, $$x % 2 = 0 AND day > '2020-01-01'$$,
	$$coalesce(nullif(document ->> 'kind', 'k3'), 'none')$$, $$greatest(extract(hour FROM at), 6)$$,
	-- strings and documents
	$$left(code, 1)$$, $$substr(code, 1, 1)$$, $$substring(code FROM 1 FOR 1)$$, $$code::varchar(1)$$, $$code::char(1)$$, $$lower(name)$$, $$upper(left(code, 1))$$,
	$$document ->> 'kind'$$, $$document -> 'kind'$$, $$document -> 'of' ->> 'sort'$$, $$(document ->> 'id')::int$$,
	-- as many as before
	$$x + 1$$, $$quantity::text$$, $$- quantity$$, $$name || '!'$$, $$quantity::numeric * 2$$, $$at + interval '1 hour'$$, $$(at AT TIME ZONE 'UTC')$$
]) AS expression;

-- Of a function of which nothing is known there is one value at least, and as many as of its arguments at most.
SELECT expression, compare_expected(expression) FROM unnest('{"md5(name)","document ->> left(name, 4)","to_char(price, ''999'')","to_char(at, left(name, 4))"}'::text[]) AS expression;

-- A format that is known tells that there are few.
SELECT theirs('SELECT to_char(at, ''YYYY''), tail FROM expressed ORDER BY 1, 2') > 1.1 * theirs('SELECT to_char(at, left(name, 4)), tail FROM expressed ORDER BY 1, 2') AS by_the_format;

-- The same where the sort is found in the finished plan: the planner expects fewer rows than gpusort.min_rows above this join.
CREATE TABLE finished AS SELECT *, date_trunc('quarter', at) AS quarter, document ->> 'kind' AS kind FROM expressed;
VACUUM ANALYZE finished;
SET gpusort.mode = auto;
SET gpusort.min_rows = 1000;
SET enable_hashagg = off;
SELECT expression, CASE WHEN e.ms / c.ms BETWEEN 0.8 AND 1.2 THEN 'as by its column' ELSE round((e.ms / c.ms)::numeric, 2)::text END AS compare_expected
FROM (VALUES ($$date_trunc('quarter', a.at)$$, 'a.quarter'), ($$a.document ->> 'kind'$$, 'a.kind')) AS t (expression, of_column),
	theirs(format('SELECT %s, a.tail FROM finished a JOIN finished b ON a.id = b.id AND a.id + 1 = b.id + 1 GROUP BY 1, 2', expression)) AS e (ms),
	theirs(format('SELECT %s, a.tail FROM finished a JOIN finished b ON a.id = b.id AND a.id + 1 = b.id + 1 GROUP BY 1, 2', of_column)) AS c (ms);
RESET enable_hashagg;
RESET gpusort.min_rows;
SET gpusort.mode = force;

-- Statistics of an index on the expression, and extended ones, are what is known of it.
CREATE INDEX ON expressed (md5(name));
CREATE STATISTICS of_length ON (length(name)) FROM expressed;
ANALYZE expressed;
SELECT expression, compare_expected(expression) FROM unnest('{"md5(name)","length(name)"}'::text[]) AS expression;

-- A column that a sub-select returns has the values of its arms: 16 values leave more strings to compare than 20000 do.
SELECT what, theirs(format(query, 'x % 16')) > 1.1 * theirs(format(query, 'x')) AS by_the_values FROM (VALUES
	('UNION', 'SELECT %1$s, tail FROM expressed UNION SELECT %1$s, tail FROM expressed WHERE id > 5 ORDER BY 1, 2'),
	('UNION ALL, planned by itself', 'SELECT * FROM (SELECT %1$s AS k, tail FROM expressed UNION ALL SELECT %1$s, tail FROM expressed OFFSET 0) s ORDER BY k, tail'),
	('UNION ALL', 'SELECT * FROM (SELECT %1$s AS k, tail FROM expressed UNION ALL SELECT %1$s, tail FROM expressed) s ORDER BY k, tail'),
	('sub-select', 'SELECT * FROM (SELECT DISTINCT ON (id) %1$s AS k, tail FROM expressed ORDER BY id) s ORDER BY k, tail')) AS t (what, query);

-- Planning does not fail where values are asked for of set operations of which some arms are not planned yet.
SELECT query, check_query(format('SELECT * FROM (%s) AS s ORDER BY 1', format(query, 'SELECT x % 16 AS a FROM expressed UNION SELECT x % 7 FROM expressed')), NULL) FROM unnest(ARRAY['%1$s UNION ALL SELECT x %% 3 FROM expressed', '(%1$s) INTERSECT SELECT 1 UNION SELECT 2', '((%1$s) EXCEPT SELECT 1) UNION ALL SELECT 2',
	'(SELECT 5 EXCEPT (%1$s)) UNION ALL SELECT 2', '(SELECT x %% 20 FROM expressed EXCEPT (%1$s)) UNION ALL SELECT 2', 'WITH RECURSIVE r AS (%1$s UNION ALL SELECT a + 1 FROM r WHERE a < 0) SELECT count(*) FROM r']) AS query;

-- Who may not read the table learns nothing of its values, and is not stopped by them.
CREATE ROLE gpusort_reader;
GRANT SELECT (tail) ON expressed TO gpusort_reader;
CREATE VIEW shown AS SELECT document ->> 'kind' AS kind, left(code, 1) AS first, tail FROM expressed;
GRANT SELECT ON shown TO gpusort_reader;
SET ROLE gpusort_reader;
SELECT count(*) FROM gpusort_check('SELECT * FROM shown ORDER BY kind, first, tail');
RESET ROLE;

-- Values at the ends of their types fail nowhere: nothing is evaluated for an estimate but members of documents.
CREATE TABLE at_the_ends AS SELECT i, CASE i % 3 WHEN 0 THEN 'infinity'::timestamp WHEN 1 THEN '-infinity' ELSE '294276-12-31' END AS at, CASE i % 3 WHEN 0 THEN '5874897-12-31'::date WHEN 1 THEN 'infinity' ELSE '4713-01-01 BC' END AS day,
	CASE i % 3 WHEN 0 THEN 'NaN'::numeric WHEN 1 THEN 'Infinity' ELSE 1e300 END AS n, CASE i % 2 WHEN 0 THEN 'NaN'::float8 ELSE 1e308 END AS f, CASE i % 2 WHEN 0 THEN 2147483647 ELSE -2147483648 END AS x,
	CASE i % 4 WHEN 0 THEN '[1]'::jsonb WHEN 1 THEN 'null' WHEN 2 THEN '"kind"' END AS document
FROM generate_series(1, 2000) AS i;
ANALYZE at_the_ends;
SELECT expression, expected_ms > 0 AS expected FROM unnest('{"date_trunc(''month'', at)","date_trunc(''nonsense'', at)","extract(hour FROM at)","date_trunc(''month'', day)","floor(n / 0)","round(n, 100000)","f / 1e-300","x / 0","x % 0","x / -1","document ->> ''kind''","document -> ''a'' -> ''b''","to_char(at, '''')"}'::text[]) AS expression, gpusort_check(format('SELECT %s, i FROM at_the_ends WHERE i < 0 OR x > 7 ORDER BY 1, 2', expression));

-- What statistics say is kept in the process until they change, in a transaction that is rolled back, too.
UPDATE expressed SET x = x / 100000, document = jsonb_build_object('kind', 'k' || id % 3000);
BEGIN;
ANALYZE expressed;
SELECT expression, compare_expected(expression) FROM unnest(ARRAY[$$x / 10$$, $$document ->> 'kind'$$]) AS expression;
ROLLBACK;
SELECT expression, compare_expected(expression) = 'as by its column' AS of_new_values FROM unnest(ARRAY[$$x / 10$$, $$document ->> 'kind'$$]) AS expression;
ANALYZE expressed;
SELECT expression, compare_expected(expression) FROM unnest(ARRAY[$$x / 10$$, $$document ->> 'kind'$$]) AS expression;

DROP VIEW shown;
DROP TABLE expressed, finished, at_the_ends;
DROP ROLE gpusort_reader;
DROP FUNCTION compare_expected, theirs;
