--
-- When gpusort is in the plan, and that it is not when it should not be.
--
CREATE TABLE big AS SELECT i AS id, noise(i) AS k, (noise(i) % 100)::int AS g, repeat('x', 20) AS filler FROM generate_series(1, 200000) AS i;
CREATE INDEX ON big (id);
CREATE TABLE small AS SELECT * FROM big WHERE id <= 400;
VACUUM ANALYZE big, small;
SHOW gpusort.mode;

-- auto: large sorts that fit in memory.
SET work_mem = '64MB';
SELECT uses_gpusort('SELECT * FROM big ORDER BY k') AS large, uses_gpusort('SELECT * FROM small ORDER BY k') AS small;
-- Few rows are wanted: all others are dropped as they are read, sooner than by a heap, if these are many.  Floats where
-- all are sorted, for integers are by radix from 19 on.
SELECT uses_gpusort('SELECT * FROM big ORDER BY k LIMIT 20000') AS small_limit,
	uses_gpusort('SELECT * FROM big ORDER BY k LIMIT 20000 OFFSET 20') AS small_offset,
	uses_gpusort('SELECT * FROM big WHERE id <= 5000 ORDER BY k LIMIT 10') AS of_few_rows,
	uses_gpusort('SELECT * FROM big WHERE id <= 5000 ORDER BY k::float8') AS few_rows,
	uses_gpusort('SELECT * FROM big ORDER BY k OFFSET 20') AS offset_alone,
	uses_gpusort('SELECT * FROM big ORDER BY k::float8 LIMIT 190000') AS large_limit;
-- The order is there, or a part of it.
SELECT uses_gpusort('SELECT * FROM big ORDER BY id') AS index_order,
	plan_contains('SELECT * FROM big ORDER BY id', 'Index Scan') AS index_scan,
	uses_gpusort('SELECT * FROM big ORDER BY id, k LIMIT 1000') AS part_of_index_order,
	plan_contains('SELECT * FROM big ORDER BY id, k LIMIT 1000', 'Incremental Sort') AS incremental_sort,
	uses_gpusort('SELECT * FROM (SELECT * FROM big ORDER BY k OFFSET 0) s ORDER BY k') AS once;
SET gpusort.min_rows = 1000000;
SELECT uses_gpusort('SELECT * FROM big ORDER BY k') AS large_below_min_rows;
RESET gpusort.min_rows;

-- force: whatever the size; but neither where nothing needs sorting, nor where PostgreSQL can't sort otherwise.
SET gpusort.mode = force;
SELECT uses_gpusort('SELECT * FROM big ORDER BY k') AS large, uses_gpusort('SELECT * FROM small ORDER BY k') AS small,
	uses_gpusort('SELECT * FROM small WHERE id < 0 ORDER BY k') AS empty,
	uses_gpusort('SELECT * FROM small') AS unsorted, uses_gpusort('SELECT * FROM small WHERE k = 5 ORDER BY k') AS constant_key;

-- off: not one plan changes.  The plans of a session that never loaded gpusort are those of the mode off.
CREATE TABLE queries (q text);
INSERT INTO queries VALUES
	('SELECT * FROM big ORDER BY k'), ('SELECT * FROM big ORDER BY k LIMIT 10'), ('SELECT * FROM big ORDER BY id'), ('SELECT * FROM big ORDER BY id, k'),
	('SELECT g, count(*) FROM big GROUP BY g ORDER BY 2'), ('SELECT g, array_agg(k ORDER BY k) FROM big GROUP BY g'),
	('SELECT DISTINCT g FROM big ORDER BY g DESC'), ('SELECT *, row_number() OVER (ORDER BY k) FROM big ORDER BY filler, k'),
	('SELECT * FROM big b JOIN small s USING (k) ORDER BY b.g, s.id'), ('SELECT * FROM small UNION SELECT * FROM big ORDER BY 2'),
	('SELECT * FROM (SELECT * FROM big ORDER BY k LIMIT 1000) b ORDER BY id'), ('SELECT id FROM big WHERE g = 5 ORDER BY k FOR UPDATE');
CREATE FUNCTION plan_text(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	RETURN plan;
END $$;
SET gpusort.mode = off;
SET max_parallel_workers_per_gather = 2;
CREATE TABLE plans_off AS SELECT q, plan_text(q) AS plan FROM queries;
SELECT count(*) AS with_gpusort FROM plans_off WHERE plan LIKE '%GpuSort%';
DO $$ BEGIN
	EXECUTE format('ALTER DATABASE %I RESET session_preload_libraries', current_database());
END $$;
\c
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 2;
CREATE TABLE plans_without AS SELECT q, plan_text(q) AS plan FROM queries;
DO $$ BEGIN
	EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = gpusort', current_database());
END $$;
SELECT count(*) AS queries, count(*) FILTER (WHERE a.plan = b.plan) AS same_plan FROM plans_off a JOIN plans_without b USING (q);
-- gpusort was in none of these, and comes with LOAD.
SELECT current_setting('gpusort.mode', true) IS NULL AS not_loaded;
LOAD 'gpusort';
RESET max_parallel_workers_per_gather;
SELECT uses_gpusort('SELECT * FROM big ORDER BY k') AS loaded;

-- Settings of the planner that forbid sorts, and EXPLAIN of prepared and parallel queries, are obeyed.
SET gpusort.mode = force;
SET enable_sort = off;
SELECT uses_gpusort('SELECT * FROM small ORDER BY k') AS still_sorts;
RESET enable_sort;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT check_sort('SELECT * FROM big', 'k') AS with_parallel_plans,
	check_sort('SELECT g AS id, count(*) AS n, sum(k) AS s FROM big GROUP BY g', 'n DESC, s') AS parallel_aggregate,
	check_query('SELECT g, count(*) FROM big GROUP BY g ORDER BY count(*) DESC, g') AS parallel_aggregate_as_a_key,
	check_query('SELECT avg(k), g FROM big WHERE id % 3 = 0 GROUP BY g ORDER BY avg(k)') AS parallel_average;
SELECT explained FROM (SELECT plan_text('SELECT g, count(*) FROM big GROUP BY g ORDER BY count(*) DESC') AS explained) e
WHERE explained NOT LIKE '%GpuSort%Sort Key: (count(*)) DESC%Finalize%Partial%';
SELECT plan_contains('SELECT g, count(*) FROM big GROUP BY g ORDER BY count(*) DESC', 'Partial') AS partial_below;

-- Merges of several inputs: not where they sort one of them, in mode force.
SET max_parallel_workers_per_gather = 0;
SET random_page_cost = 0;
SET seq_page_cost = 0;
SET cpu_index_tuple_cost = 0;
SELECT uses_gpusort('SELECT id FROM (SELECT id FROM big UNION ALL SELECT id FROM small) s ORDER BY id') AS one_input_is_ordered,
	plan_contains('SELECT id FROM (SELECT id FROM big UNION ALL SELECT id FROM big) s ORDER BY id', 'Merge Append') AS all_are;

DROP TABLE big, small, queries, plans_off, plans_without;
DROP FUNCTION plan_text;
