--
-- Records without a named type, ORDER BY ROW(a, b): the expression in the plan says what columns they have.
--
SET timezone = 'UTC';
SET client_min_messages = warning;

CREATE TYPE row_pair AS (n int, t text COLLATE "und-x-icu");
CREATE COLLATION rows_alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE row_values AS SELECT i AS id, (noise(i) % 4)::int AS a, nullif(noise(i, 1) % 3, 0)::int2 AS b, CASE WHEN noise(i, 2) % 5 > 0 THEN (ARRAY['a', 'B', 'A', 'b', 'á', ''])[1 + i % 6] || i % 3 END AS t,
	(noise(i, 3) % 7)::numeric / 3 AS n, CASE WHEN noise(i, 4) % 3 > 0 THEN ROW(i % 2, CASE WHEN i % 5 > 0 THEN 'p' END)::row_pair END AS p, ARRAY[i % 3, NULL] AS l, repeat('c', i % 9 * 700) || i % 4 AS c, date '2000-01-01' + i % 5 AS d
	FROM generate_series(1, 2500) AS i;
ANALYZE row_values;
-- Of columns of all kinds, in collations of their own, in both directions, among other columns, and NULL where an outer join finds nothing.
SELECT key, check_options('SELECT * FROM row_values', key) AS result
FROM unnest('{"ROW(a, b)","ROW(b, t COLLATE \"C\", n)","(t COLLATE \"und-x-icu\", a)","(t COLLATE rows_alike, a)","(a, t COLLATE \"C\", t COLLATE \"und-x-icu\")","ROW(p, b)","ROW(l, d, p)","ROW(c COLLATE \"C\", n)","ROW(b)","ROW(b, NULL::int, a)","ROW(n + 1, lower(t COLLATE \"und-x-icu\"), ''x''::name)"}'::text[]) AS key;
SELECT key, check_sort('SELECT * FROM row_values', key) AS result FROM unnest('{"a, ROW(t COLLATE \"und-x-icu\", b) DESC, id","ROW(a, b), ROW(n, d) DESC NULLS LAST, id","ROW(a, b) USING *<, id","ROW(n, c) USING *> NULLS LAST, id"}'::text[]) AS key;
SELECT check_sort('SELECT v.id, s.r FROM row_values v LEFT JOIN (SELECT id, ROW(a, b, t COLLATE "C") AS r FROM row_values WHERE id % 3 > 0 OFFSET 0) s USING (id)', 'r, id') AS of_a_sub_select;
-- The keys are exact when rows are sorted, too: nothing is verified.
SELECT query, corrections(query) IS NULL AS exact
FROM unnest('{"SELECT id FROM row_values ORDER BY ROW(a, t COLLATE \"C\")","SELECT id FROM row_values ORDER BY id % 3, ROW(t COLLATE \"und-x-icu\", p)","SELECT * FROM (SELECT id, ROW(a, b) AS r FROM row_values OFFSET 0) s ORDER BY r","SELECT id, row_number() OVER (ORDER BY ROW(a, t COLLATE rows_alike)) FROM row_values"}'::text[]) AS query;
SET gpusort.work_mem = '256kB';
SELECT key, check_sort('SELECT * FROM row_values', key) AS spilled FROM unnest('{"ROW(n, a)","(t COLLATE rows_alike, a) DESC, id"}'::text[]) AS key;
RESET gpusort.work_mem;
SELECT check_query('SELECT id FROM row_values ORDER BY ROW(a, b, id) DESC LIMIT 100 OFFSET 20') AS bounded;
SELECT check_query('SELECT DISTINCT ON (ROW(a, n)) id, ROW(a, n) FROM row_values ORDER BY ROW(a, n), id') AS first_of_groups;
SELECT check_query('SELECT id, ROW(b, a), rank() OVER (ORDER BY ROW(b, a) DESC) FROM row_values ORDER BY id') AS windows;
SET enable_hashagg = off;
SELECT check_query('SELECT r, count(*), sum(id) FROM (SELECT ROW(a, b) AS r, id FROM row_values) s GROUP BY r ORDER BY r DESC') AS groups;
SELECT check_query('SELECT r FROM (SELECT ROW(a, b) AS r, count(*) FROM row_values GROUP BY ROLLUP (a, b)) s ORDER BY r DESC') AS grouping_sets;
RESET enable_hashagg;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT check_query('SELECT x.id, y.id FROM (SELECT ROW(a, t COLLATE "und-x-icu", n, d) AS r, id FROM row_values) x JOIN (SELECT ROW(a, t COLLATE "und-x-icu", n, d) AS r, id FROM row_values WHERE b IS NULL) y USING (r) ORDER BY 1, 2') AS merge_join;
RESET enable_hashjoin;
RESET enable_nestloop;

-- By several processes, in the order of a partition's rows, and after the plan was made for another column.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT key, check_sort('SELECT * FROM row_values', key) AS parallel FROM unnest('{"ROW(b, a), id","(t COLLATE \"und-x-icu\", n) DESC, id","(t COLLATE rows_alike, p), id"}'::text[]) AS key;
SET gpusort.mode = force;
SELECT plan_contains('SELECT id FROM row_values ORDER BY ROW(b, t COLLATE "C"), id', 'GpuSortFeed') AS fed_by_several, corrections('SELECT id FROM row_values ORDER BY ROW(b, t COLLATE "C"), id') IS NULL AS exact;
RESET gpusort.mode;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
CREATE TABLE row_parts (id int, a int, t text COLLATE "C") PARTITION BY RANGE (id);
CREATE TABLE row_parts_1 PARTITION OF row_parts FOR VALUES FROM (MINVALUE) TO (100);
CREATE TABLE row_parts_2 (t text COLLATE "C", gone int, a int, id int);
ALTER TABLE row_parts_2 DROP gone;
ALTER TABLE row_parts ATTACH PARTITION row_parts_2 FOR VALUES FROM (100) TO (MAXVALUE);
INSERT INTO row_parts SELECT id, a, t FROM row_values;
SELECT check_sort('SELECT * FROM row_parts', 'ROW(t, a) DESC, id') AS partitions, corrections('SELECT id FROM row_parts ORDER BY ROW(t, a)') IS NULL AS exact;
SET gpusort.mode = force;
SET plan_cache_mode = force_generic_plan;
PREPARE by_row AS SELECT id FROM row_parts WHERE id < $1 ORDER BY ROW(a, t), id;
CREATE TEMP TABLE by_number AS EXECUTE by_row(300);
ALTER TABLE row_parts ALTER a TYPE text USING chr(100 - a);
CREATE TEMP TABLE by_text AS EXECUTE by_row(300);
RESET gpusort.mode;
RESET plan_cache_mode;
SELECT (SELECT array_agg(b.id) FROM by_number b) = (SELECT array_agg(id) FROM (SELECT id FROM row_values WHERE id < 300 ORDER BY a, t COLLATE "C", id) s) AS by_number,
	(SELECT array_agg(b.id) FROM by_text b) = (SELECT array_agg(id) FROM (SELECT id FROM row_values WHERE id < 300 ORDER BY chr(100 - a), t COLLATE "C", id) s) AS by_text;
DEALLOCATE by_row;

-- Not known: which of two expressions made a record, or what a record in it has; a type without an order is PostgreSQL's error.
SET gpusort.mode = force;
SELECT sort_key, taken, reason
FROM unnest('{"SELECT r FROM (SELECT ROW(a, b) AS r FROM row_values UNION ALL SELECT ROW(b, a) FROM row_values) s ORDER BY r","SELECT CASE WHEN a > b THEN ROW(a, b) ELSE ROW(b, a) END AS r FROM row_values ORDER BY r","SELECT ROW(a, ROW(b, t)) AS r FROM row_values ORDER BY r","SELECT ROW(a, b::text::json) AS r FROM row_values ORDER BY r","SELECT r FROM (SELECT ROW(a, b) AS r FROM row_values GROUP BY ROLLUP (a, b)) s ORDER BY r"}'::text[]) AS query, gpusort_check(query);
SELECT id FROM row_values ORDER BY ROW(a, b::text::json) LIMIT 1;
SELECT id FROM row_values ORDER BY ROW(a, 'unknown') DESC, id LIMIT 3;
RESET gpusort.mode;

DROP TABLE row_values, row_parts;
