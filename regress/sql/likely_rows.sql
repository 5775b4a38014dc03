--
-- How many rows a sort of a finished plan is taken to have: above joins more than the planner expects.
--
CREATE TABLE sold AS SELECT i AS id, (noise(i) & 1023)::int AS k, i % 400 AS day, '/usr/share/doc/' || md5(i::text) COLLATE "C" AS path, ('/usr/share/doc/' || (noise(i) & 255)) COLLATE "C" AS folder
FROM generate_series(1, 20000) AS i;
CREATE TABLE days AS SELECT i AS day, i % 20 AS month, i AS again FROM generate_series(0, 399) AS i;
CREATE TABLE days_unique AS TABLE days;
CREATE UNIQUE INDEX ON days_unique (day);
CREATE INDEX ON sold (id);
VACUUM ANALYZE sold, days, days_unique;
SET gpusort.min_rows = 1000000;
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;
SET gpusort.backend = cpu;

-- What the planner expects of the sort's input, and what the sort is taken to have, which the reason says.
CREATE FUNCTION rows_expected(query text) RETURNS TABLE (planned float8, likely float8) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT (jsonb_path_query_first(plan::jsonb, 'strict $.** ? (@."Node Type" == "Sort")') ->> 'Plan Rows')::float8,
		replace(substring(reason FROM '(\w+) rows?'), 'one', '1')::float8 FROM gpusort_check(query) LIMIT 1;
END $$;

-- The rows of a GpuSort that is the top of the plan.
CREATE FUNCTION rows_of_gpusort(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows' WHERE plan -> 0 -> 'Plan' ->> 'Custom Plan Provider' = 'GpuSort';
END $$;

-- No join, no doubt, however few of the table's rows are expected.
SELECT * FROM rows_expected('SELECT id FROM sold WHERE k % 7 = 3 AND day % 9 = 2 GROUP BY id');
-- Two clauses that say the same are taken to be two; there may be all of the larger input's rows.
SET enable_nestloop = off;
SELECT * FROM rows_expected('SELECT s.k, s.id FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1 GROUP BY s.k, s.id');
-- The same from the other side.
SELECT * FROM rows_expected('SELECT s.k, s.id FROM days d JOIN sold s ON s.day = d.day AND s.day + 1 = d.again + 1 GROUP BY s.k, s.id');
-- As many as the outer input at most: the inner one is unique; rows are looked for there, or their absence.
SELECT * FROM rows_expected('SELECT s.k, s.id FROM sold s JOIN days_unique d ON s.day = d.day AND s.day + 1 = d.again + 1 WHERE s.id <= 100 GROUP BY s.k, s.id');
SELECT * FROM rows_expected('SELECT d.again FROM days d WHERE EXISTS (SELECT 1 FROM sold s WHERE s.day = d.day AND s.day + 1 = d.again + 1) GROUP BY d.again');
SELECT * FROM rows_expected('SELECT d.again FROM days d WHERE NOT EXISTS (SELECT 1 FROM sold s WHERE s.day = d.day AND s.day + 1 = d.again + 1) GROUP BY d.again');
-- A join that is expected to have more rows than its inputs has them, below another one as well.
SELECT * FROM rows_expected('SELECT a.k, b.id FROM sold a JOIN sold b ON a.day = b.day JOIN days d ON b.day = d.day AND b.day + 1 = d.again + 1 GROUP BY a.k, b.id');
-- An inner input that is read for each outer row has all of its rows for each.
SET enable_nestloop = on;
SET enable_mergejoin = off;
SELECT * FROM rows_expected('SELECT s.k, t.id FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1 JOIN sold t ON t.id = s.id GROUP BY s.k, t.id');
RESET enable_mergejoin;
-- What is grouped, or limited, below the sort is as expected; a sub-select is seen through.
SELECT * FROM rows_expected('SELECT n FROM (SELECT s.k, count(*) AS n FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1 GROUP BY s.k) x ORDER BY n');
SELECT * FROM rows_expected('SELECT k FROM (SELECT s.k FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1 LIMIT 10) x ORDER BY k');
SELECT * FROM rows_expected('SELECT k FROM (SELECT s.k FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1 OFFSET 0) x ORDER BY k');
SELECT * FROM rows_expected('SELECT k + 1 AS x FROM (SELECT s.k FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1 OFFSET 0) x ORDER BY 1');
-- A condition above the join, which the planner counts.
SELECT * FROM rows_expected('SELECT k FROM (SELECT s.k FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1 OFFSET 0) x WHERE k % 7 = 3 ORDER BY k');
SELECT * FROM rows_expected('SELECT k FROM (SELECT s.k, row_number() OVER (PARTITION BY s.k ORDER BY s.id) AS n, rank() OVER (ORDER BY s.k) AS r FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1) x WHERE n <= 10 ORDER BY k + r');
-- Groups by an expression are as many as it has values, in a plan and of an ORDER BY's own path; grouping sets are as expected.
SELECT * FROM rows_expected('SELECT k / 100, count(*) FROM sold GROUP BY 1 ORDER BY 2');
SELECT * FROM rows_expected('SELECT DISTINCT k / 100, n FROM (SELECT k, count(*) AS n FROM sold GROUP BY k) s');
SELECT * FROM rows_expected('SELECT k / 100, count(*) FROM sold GROUP BY ROLLUP (1) ORDER BY 2');
-- By several; by one of which nothing is known as well; and without an aggregate.
SELECT * FROM rows_expected('SELECT k / 100, day / 40, count(*) FROM sold GROUP BY 1, 2 ORDER BY 3');
SELECT * FROM rows_expected('SELECT k / 100, g, count(*) FROM sold, generate_series(1, 5) AS g GROUP BY 1, 2 ORDER BY 3');
SELECT * FROM rows_expected('SELECT k / 100 AS hundreds FROM sold GROUP BY 1 ORDER BY (k / 100) % 7');
-- Numbers and times in steps: by the least and the greatest of a histogram, or of the most common values; those that are infinite do not count.
CREATE DOMAIN span_text AS text COLLATE "C";
CREATE TABLE spans AS SELECT i AS id, (noise(i) & 63)::int * 100 AS few, 7 AS one, CASE i WHEN 5 THEN 'infinity' ELSE date '2020-01-01' + i % 3000 END AS day, CASE i WHEN 5 THEN '-infinity' ELSE timestamp '2020-01-01' + i * interval '1 hour' END AS at,
	(i % 9000)::float4 AS real, i * 1.5 AS n, (i % 20000)::int2 AS small, time '00:00' + i * interval '4 seconds' AS clock, md5(i::text)::span_text AS code
FROM generate_series(1, 20000) AS i;
ANALYZE spans;
SELECT step, r.* FROM unnest(ARRAY['few / 1000', 'one / 2', 'date_trunc(''month'', day)', 'date_trunc(''month'', at)', 'floor(real / 100)', 'floor(n / 1000)', 'small / 500', 'id / 3000', 'date_trunc(''hour'', clock)', 'left(code, 1)']) AS step,
	rows_expected('SELECT ' || step || ', count(*) FROM spans GROUP BY 1 ORDER BY 2') AS r;
-- Through a sub-select; and through functions that move all values, or multiply them.
SELECT * FROM rows_expected('SELECT x / 3000, count(*) FROM (SELECT id AS x FROM spans OFFSET 0) s GROUP BY 1 ORDER BY 2');
CREATE VIEW moved AS SELECT small, id, id::int8 AS big, real::float8 AS f, n, day, at, at AT TIME ZONE 'UTC' AS atz, id::text COLLATE "C" AS t FROM spans;
SELECT step, r.likely FROM unnest(ARRAY['small + 2::int2', 'small - 2::int2', 'id + 2', 'id - 2', 'big + 2::int8', 'big - 2::int8', 'small + 2', 'small - 2', 'id + 2::int2', 'id - 2::int2', 'id + 2::int8', 'id - 2::int8', 'big + 2', 'big - 2', '- small', '- id', '- big', '- f', '- n',
	'n + 2', 'n - 2', 'f + 2', 'f - 2', 'day + 2', 'day - 2', 'at + interval ''1 day''', 'at - interval ''1 day''', 'atz + interval ''1 day''', 'atz - interval ''1 day''', 'at AT TIME ZONE ''UTC''', 'atz AT TIME ZONE ''UTC''',
	't || ''!''', 'lower(t)', 'upper(t)', 'initcap(t)', 'btrim(t)', 'ltrim(t)', 'rtrim(t)', 'small * 2::int2', 'id * 2', 'big * 2::int8', 'md5(t)', '(small + 2::int2) / 500', '(- id) / 500', '(small * 2::int2) / 500', '(id * 2) / 500', '(big * 2::int8) / 500', 'floor((- f) / 100)', 'floor((n - 2) / 1000)', 'date_trunc(''month'', day + 2)']) AS step,
	rows_expected('SELECT ' || step || ', count(*) FROM moved GROUP BY 1 ORDER BY 2') AS r;
DROP VIEW moved;
DROP TABLE spans;
DROP DOMAIN span_text;
SET gpusort.mode = force;
SELECT rows_of_gpusort('SELECT k / 100, count(*) FROM sold GROUP BY 1 ORDER BY 2'), rows_of_gpusort('SELECT k, count(*) FROM sold GROUP BY 1 ORDER BY 2'), rows_of_gpusort('SELECT k / 100, count(*) FROM sold GROUP BY ROLLUP (1) ORDER BY 2');
SELECT rows_of_gpusort('SELECT k / 100, day / 40, count(*) FROM sold GROUP BY 1, 2 ORDER BY 3') AS several, rows_of_gpusort('SELECT k / 100, g, count(*) FROM sold, generate_series(1, 5) AS g GROUP BY 1, 2 ORDER BY 3') AS not_known;
-- Rows for which an expression has one value: of a few values more than one row in 200; of a column as the planner expects.
SELECT filter, rows_of_gpusort('SELECT k, id FROM sold WHERE ' || filter || ' ORDER BY path') AS rows FROM unnest(ARRAY['k % 4 = 1', 'k / 128 = 3', 'k % 4 = 1 AND k / 128 = 3', '1 = k % 4', 'k % 4 <> 1', 'k % 1000 = 1', 'id % 4 = day', 'k::numeric = 5', 'folder::varchar = md5(''1'')', 'k % 4 = 1 OR k % 4 = 2', 'k % 2 = 1 AND k % 3 = 1 AND k % 5 = 1']) AS filter;
SELECT rows_of_gpusort('SELECT k, id FROM sold, generate_series(1, 1) WHERE k % 4 = 1 ORDER BY path') AS of_a_join;
RESET gpusort.mode;
-- A query that walks through a tree may return all of it, where ten steps are expected; other CTEs what their own plans may.
CREATE TABLE tree AS SELECT i AS id, CASE WHEN i > 1 THEN (i + 2) / 4 END AS parent FROM generate_series(1, 20000) AS i;
CREATE INDEX ON tree (parent);
VACUUM ANALYZE tree;
SELECT * FROM rows_expected('WITH RECURSIVE below AS (SELECT id, 0 AS depth FROM tree WHERE id = 1 UNION ALL SELECT t.id, b.depth + 1 FROM tree t JOIN below b ON t.parent = b.id) SELECT * FROM below ORDER BY depth, id');
SET enable_indexscan = off;
SET enable_seqscan = off;
SELECT * FROM rows_expected('WITH RECURSIVE below AS (SELECT id, 0 AS depth FROM tree WHERE id = 1 UNION ALL SELECT t.id, b.depth + 1 FROM tree t JOIN below b ON t.parent = b.id) SELECT * FROM below ORDER BY depth, id');
RESET enable_indexscan;
RESET enable_seqscan;
SELECT * FROM rows_expected('WITH x AS MATERIALIZED (SELECT s.k FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1) SELECT k FROM x ORDER BY k');
SELECT * FROM rows_expected('WITH x AS MATERIALIZED (SELECT s.k FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1) SELECT k FROM x WHERE k % 7 = 3 ORDER BY k');
DROP TABLE tree;
-- A filter asks for the rows of an outer join that have no match, of which the planner expects one; another filter does not.
SELECT * FROM rows_expected('SELECT s.id, s.k FROM sold s LEFT JOIN days d ON s.id = d.day WHERE d.month IS NULL ORDER BY s.k, s.id');
SELECT * FROM rows_expected('SELECT s.id, s.k FROM sold s LEFT JOIN days d ON s.id = d.day WHERE d.month IS DISTINCT FROM s.k ORDER BY s.k, s.id');
SELECT * FROM rows_expected('SELECT s.id, s.k FROM sold s LEFT JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1 WHERE coalesce(d.month, s.k) IS NOT NULL AND s.id <= 1000 AND coalesce(d.month, s.k) % 7 = 3 ORDER BY s.k, s.id');
-- In workers it is what each of them has.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE sold SET (parallel_workers = 2);
SELECT * FROM rows_expected('SELECT s.k, count(*) FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1 GROUP BY s.k');
SELECT * FROM rows_expected('SELECT k FROM (SELECT s.k FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 = d.again + 1 OFFSET 0) x ORDER BY k');
SET max_parallel_workers_per_gather = 0;

-- It decides: fewer rows are expected of both than gpusort.min_rows, and only the join may have more.
SET gpusort.min_rows = 10000;
SET enable_nestloop = off;
SELECT uses_gpusort('SELECT s.path FROM sold s JOIN days d ON s.day = d.day AND s.day + 1 >= d.again + 1 GROUP BY s.path') AS joined,
	uses_gpusort('SELECT path FROM sold WHERE id <= 7000 GROUP BY path') AS few;
RESET enable_nestloop;
RESET gpusort.min_rows;

-- What is little beside the input is left to PostgreSQL, although the sort itself would be faster.
CREATE FUNCTION dear(int) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT COST 10000 RETURN $1 IS NOT NULL;
ALTER FUNCTION dear(int) VOLATILE;
SELECT uses_gpusort('SELECT path FROM sold GROUP BY path') AS cheap_input, uses_gpusort('SELECT path FROM sold WHERE dear(id) GROUP BY path') AS dear_input,
	uses_gpusort('SELECT (SELECT count(*) FROM (SELECT path FROM sold GROUP BY path) s)') AS cheap_select, uses_gpusort('SELECT (SELECT count(*) FROM (SELECT path FROM sold WHERE dear(id) GROUP BY path) s)') AS dear_select;
SELECT expected_ms < postgresql_ms AS faster, regexp_replace(reason, '\d[.\d]*', 'N', 'g') AS reason FROM gpusort_check('SELECT path FROM sold WHERE dear(id) GROUP BY path');
-- So is a window that a GpuWindow would count.
SELECT plan_contains('SELECT rank() OVER (ORDER BY k) FROM sold', 'GpuWindow') AS cheap_input,
	plan_contains('SELECT rank() OVER (ORDER BY k) FROM sold WHERE dear(id)', 'GpuWindow') AS dear_input;

-- So is what workers sort, if it is little in the whole plan, but not in a sub-select's, which may run many times.
ALTER FUNCTION dear(int) PARALLEL SAFE;
SET max_parallel_workers_per_gather = 2;
SET gpusort.min_rows = 1000;
SELECT uses_gpusort('SELECT path, n FROM (SELECT folder AS path, count(*) AS n FROM sold GROUP BY 1) s') AS cheap_plan,
	uses_gpusort('SELECT dear(n::int) FROM (SELECT folder AS path, count(*) AS n FROM sold GROUP BY 1) s') AS dear_plan,
	uses_gpusort('SELECT dear(i), (SELECT max(n) FROM (SELECT folder AS path, count(*) AS n FROM sold GROUP BY 1) s) FROM generate_series(1, 1000) AS i') AS sub_select;
SELECT expected_ms < postgresql_ms AS faster, regexp_replace(reason, '\d[.\d]*', 'N', 'g') AS reason FROM gpusort_check('SELECT dear(n::int) FROM (SELECT folder AS path, count(*) AS n FROM sold GROUP BY 1) s') WHERE reason LIKE 'about%';
RESET gpusort.min_rows;

RESET enable_hashagg;
RESET gpusort.backend;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
DROP FUNCTION rows_expected, rows_of_gpusort, dear;
DROP TABLE sold, days, days_unique;
