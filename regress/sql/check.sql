--
-- gpusort_check of statements whose sorts are not simply those of a SELECT's ORDER BY; settings of the service.
--
CREATE TABLE checked (id int, k int8, t text COLLATE "C");
INSERT INTO checked SELECT i, noise(i), 'text ' || i % 100 FROM generate_series(1, 5000) AS i;
ANALYZE checked;
SET gpusort.mode = force;
-- Sorts in subqueries of expressions.
SELECT sort_key, taken, reason FROM gpusort_check('SELECT id, ARRAY(SELECT k FROM checked c WHERE c.id % 10 = o.id ORDER BY t) FROM checked o WHERE id < 10 ORDER BY k');
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM checked WHERE k = (SELECT k FROM checked ORDER BY t, k LIMIT 1)');
-- Sorts for something else than an ORDER BY.
SET enable_hashagg = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT k, count(*) FROM checked GROUP BY k');
SELECT sort_key, taken, reason FROM gpusort_check('SELECT DISTINCT k FROM checked');
SELECT DISTINCT taken, reason FROM gpusort_check('SELECT k FROM checked UNION SELECT id FROM checked');
SELECT DISTINCT taken, reason FROM gpusort_check('SELECT k FROM checked INTERSECT SELECT id FROM checked');
SELECT sort_key, taken, reason FROM gpusort_check('SELECT rank() OVER (ORDER BY t) FROM checked');
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM checked a JOIN checked b USING (k)');
RESET enable_hashagg;
RESET enable_hashjoin;
RESET enable_nestloop;
-- One input of several is in order; the other is sorted, to be merged with it.
CREATE TABLE parts (a int, b int) PARTITION BY LIST (b);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
INSERT INTO parts SELECT i, 1 + i / 2500 FROM generate_series(1, 4999) AS i;
CREATE INDEX ON parts_1 (a);
ANALYZE parts;
SET gpusort.mode = auto;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT a FROM parts ORDER BY a LIMIT 100');
RESET gpusort.mode;
DROP TABLE checked, parts;

-- Why a whole plan was chosen, or another one: groups without a sort, where a GpuSort has been offered.
CREATE TABLE whole AS SELECT ('/usr/share/' || i % 5) COLLATE "C" AS few, i % 1000 AS a, noise(i, 1) % 1000 AS b, noise(i)::numeric AS k, md5(i::text) AS filler FROM generate_series(1, 100000) AS i;
ALTER TABLE whole SET (parallel_workers = 2);
SET default_statistics_target = 400; -- of all rows, or the plans below may be others each time
ANALYZE whole;
RESET default_statistics_target;
SET gpusort.backend = cpu;
SET gpusort.mode = auto;
SET work_mem = '64MB';
SELECT sort_key, taken, reason, expected_ms < postgresql_ms AS faster
FROM unnest('{few,k}'::text[]) AS key, gpusort_check(format('SELECT %s, count(*) FROM whole GROUP BY 1', key));
-- One that was offered tells nothing of another one beside it.
SELECT sort_key, taken, reason FROM gpusort_check('SELECT few, count(*) FROM whole GROUP BY few UNION ALL SELECT v, count(*) FROM (VALUES (''1'' COLLATE "C"), (''2'')) l (v) GROUP BY v');
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SELECT sort_key, taken, reason FROM unnest('{on,off}'::text[]) AS hashed, set_config('enable_hashagg', hashed, false),
	gpusort_check('SELECT few, count(*) FROM whole GROUP BY few') WHERE reason LIKE '%: expected%';
RESET enable_hashagg;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT DISTINCT few FROM whole WHERE k > 0') WHERE reason LIKE '%: expected%';
-- The start of workers who share the input is in both times.  PostgreSQL would have groups formed in workers, from 18 on hashed groups; from 19 on, which sorts integers by radix, these stay.
SET parallel_setup_cost = 100;
SELECT sort_key, reason ~ CASE WHEN taken THEN '^in place of (groups formed in workers|hashed groups)$' ELSE '^hashed groups: expected' END AS said, NOT taken OR expected_ms < postgresql_ms AS no_slower
FROM gpusort_check('SELECT a, b, count(*) FROM whole WHERE a < 50 GROUP BY a, b');
SELECT sort_key, taken, expected_ms < postgresql_ms AS faster FROM gpusort_check('SELECT few, k, count(*) FROM whole WHERE a < 50 GROUP BY few, k');
RESET parallel_setup_cost;
RESET max_parallel_workers_per_gather;
RESET work_mem;
-- None is offered of few rows, and none in mode off.
SET gpusort.min_rows = 1000000;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT few, count(*) FROM whole GROUP BY few');
RESET gpusort.min_rows;
SET gpusort.mode = off;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT few, count(*) FROM whole GROUP BY few');
RESET gpusort.mode;
RESET gpusort.backend;
DROP TABLE whole;

ALTER SYSTEM SET gpusort.max_device_memory = '5 apples';
ALTER SYSTEM SET gpusort.max_device_memory = '101%';

-- A library whose SQL is of another version: fewer columns, other types.
CREATE FUNCTION fewer_columns(OUT device text, OUT sorts bigint) RETURNS SETOF record LANGUAGE c AS '$libdir/gpusort', 'gpusort_stat_get';
SELECT * FROM fewer_columns();
CREATE FUNCTION other_types(OUT device text, OUT name text, OUT memory text, OUT max_memory bigint, OUT free_memory bigint, OUT jobs integer, OUT state text, OUT reason text)
RETURNS SETOF record LANGUAGE c AS '$libdir/gpusort', 'gpusort_devices';
SELECT * FROM other_types();

SELECT gpusort_version() = extversion AS same FROM pg_extension WHERE extname = 'gpusort';
