--
-- Windows of a sub-select that processes of a parallel plan compute, each for ranges of one sort (GpuSortRanges).
--
CREATE SCHEMA window_ranges;
SET search_path = window_ranges, public;
SELECT make_range_tables();
VACUUM ANALYZE r, uneven;

SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET gpusort.backend = cpu;

-- A check that cannot fail is no check.
SELECT check_ranges(digest('SELECT id, current_setting(''gpusort.mode'') AS m, lag(k) OVER (PARTITION BY g ORDER BY id) FROM r')) <> 'ok: 1 rows' AS other_rows, check_ranges('SELECT count(*) FROM r') AS no_window;

-- The plans.
SET gpusort.mode = force;
EXPLAIN (COSTS OFF) SELECT count(*), sum(b) FROM (SELECT lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s WHERE b < 5;
EXPLAIN (COSTS OFF) SELECT count(*), sum(b), sum(c) FROM (SELECT lag(k) OVER (PARTITION BY g ORDER BY id) AS b, count(*) OVER (PARTITION BY g ORDER BY id ROWS UNBOUNDED PRECEDING) AS c FROM r) s;
EXPLAIN (COSTS OFF) SELECT count(*), sum(b), sum(c) FROM (SELECT lag(k) OVER (PARTITION BY g, few ORDER BY id) AS b, count(*) OVER (PARTITION BY g) AS c FROM r) s;
EXPLAIN (COSTS OFF) SELECT count(*), sum(b) FROM (SELECT lag(k) OVER (PARTITION BY t COLLATE english ORDER BY id DESC NULLS LAST) AS b FROM r) s;
EXPLAIN (COSTS OFF) SELECT count(*), sum(b) FROM (SELECT lag(k) OVER (PARTITION BY g % 256, n ORDER BY k DESC) AS b FROM r WHERE few > 0) s;
SELECT nodes('SELECT count(*), sum(b) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s JOIN uneven u USING (id) WHERE u.g = 0', 'Parallel Custom Scan (GpuSortRanges)') AS below_a_join;
RESET gpusort.mode;

CREATE TABLE queries (name text, query text);
INSERT INTO queries VALUES
	('aggregate', digest('SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) FROM r')),
	('groups', 'SELECT few, count(*), sum(b) FROM (SELECT few, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s GROUP BY few'),
	('filter', 'SELECT * FROM (SELECT id, t, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s WHERE b % 100 = 5'),
	('join', 'SELECT count(*), sum(b) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s JOIN uneven u USING (id) WHERE u.g = 0'),
	('two windows', digest('SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id), count(*) OVER (PARTITION BY g ORDER BY id ROWS UNBOUNDED PRECEDING) FROM r')),
	('common prefix', digest('SELECT id, lag(k) OVER (PARTITION BY g, few ORDER BY id), count(*) OVER (PARTITION BY g) FROM r')),
	('peers', digest('SELECT id, rank() OVER (PARTITION BY g ORDER BY few), sum(k) OVER (PARTITION BY g ORDER BY few) FROM r')),
	('NULLs', digest('SELECT id, lag(k) OVER (PARTITION BY n ORDER BY id DESC), count(*) OVER (PARTITION BY n) FROM r')),
	('text, C', digest('SELECT id, lag(k) OVER (PARTITION BY t COLLATE "C" ORDER BY id) FROM r')),
	('text, libc', digest('SELECT id, lag(t) OVER (PARTITION BY t COLLATE english ORDER BY id), count(*) OVER (PARTITION BY t COLLATE english) FROM r')),
	('text, ICU', digest('SELECT id, lag(t) OVER (PARTITION BY t COLLATE "en-x-icu" ORDER BY id), count(*) OVER (PARTITION BY t COLLATE "en-x-icu") FROM r')),
	('text, case ignored', digest('SELECT id, lag(folded) OVER (PARTITION BY folded COLLATE ignore_case ORDER BY id), count(*) OVER (PARTITION BY folded COLLATE ignore_case) FROM r')),
	('an order in text', digest('SELECT id, lag(k) OVER (PARTITION BY g ORDER BY t COLLATE english, id) FROM r')),
	('floats', digest('SELECT id, lag(k) OVER (PARTITION BY f ORDER BY id), count(*) OVER (PARTITION BY f) FROM r')),
	('numerics', digest('SELECT id, lag(scaled) OVER (PARTITION BY scaled ORDER BY id), count(*) OVER (PARTITION BY scaled) FROM r')),
	('one partition', digest('SELECT id, lag(k) OVER (PARTITION BY one ORDER BY id), count(*) OVER (PARTITION BY one) FROM r')),
	('two partitions', digest('SELECT id, lag(k) OVER (PARTITION BY few > 1 ORDER BY id), count(*) OVER (PARTITION BY few > 1) FROM r')),
	('few partitions', digest('SELECT id, lag(k) OVER (PARTITION BY few ORDER BY id), count(*) OVER (PARTITION BY few) FROM r')),
	('a large one', digest('SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id), count(*) OVER (PARTITION BY g), filler FROM uneven')),
	('of one row each', digest('SELECT id, lag(k) OVER (PARTITION BY id ORDER BY k), count(*) OVER (PARTITION BY id) FROM r')),
	('of two rows each', digest('SELECT id, lag(k) OVER (PARTITION BY id / 2 ORDER BY id), count(*) OVER (PARTITION BY id / 2) FROM r')),
	('wide rows', digest('SELECT id, lag(k) OVER (PARTITION BY g, few ORDER BY id), t, filler, scaled FROM r')),
	('as long as ranges', digest('SELECT id, lag(k) OVER (PARTITION BY (id - 1) / 1200 ORDER BY id), count(*) OVER (PARTITION BY (id - 1) / 1200) FROM r WHERE id <= 19200')),
	('no rows', digest('SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) FROM r WHERE abs(id) < 1')),
	('one row', digest('SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) FROM r WHERE abs(id - 777) < 1')),
	('three rows', digest('SELECT id, count(*) OVER (PARTITION BY g > 0 ORDER BY id) FROM r WHERE abs(id - 777) < 2')),
	('windows of groups', digest('SELECT g, lag(c) OVER (PARTITION BY g / 4 ORDER BY g) FROM (SELECT g, count(*) AS c FROM r GROUP BY g OFFSET 0) o')),
	('in order', 'SELECT row_number() OVER () AS place, o.* FROM (SELECT g, id, b FROM (SELECT g, id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s WHERE b % 9 = 1 ORDER BY g, id OFFSET 0) o'),
	('two sorts', 'SELECT count(*), sum(a.b - o.b) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) a JOIN (SELECT id, lead(k) OVER (PARTITION BY t COLLATE "C" ORDER BY id) AS b FROM r) o USING (id)'),
	('UNION ALL', digest('SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r UNION ALL SELECT id, lead(k) OVER (PARTITION BY g ORDER BY id) FROM uneven'));
-- Who reads rows waits here and there, so that several processes take part.
CREATE VIEW input AS SELECT * FROM r WHERE id % 2000 <> 1 OR waits();
UPDATE queries SET query = regexp_replace(query, 'FROM r\M', 'FROM input', 'g');
SELECT name, check_ranges(query) FROM queries;
SET parallel_leader_participation = off;
SELECT name, check_ranges(query) AS without_leader FROM queries WHERE name ~ 'aggregate|NULLs|libc|ignored|few|large|each|no rows|one row|in order|two sorts';
-- All to runs in files: ranges of runs, or one process returns the rows whose keys guess.
SET work_mem = '64kB';
SELECT name, check_ranges(query) AS through_files FROM queries;
RESET parallel_leader_participation;
SELECT name, check_ranges(query) AS through_files FROM queries WHERE name ~ 'aggregate|NULLs|ICU|floats|two part|large|two rows|no rows|one row|in order|two sorts';
RESET work_mem;
-- Windows of PostgreSQL's own above the sort, and other directions.
SELECT check_ranges(digest('SELECT id, sum(few) OVER (PARTITION BY g ORDER BY id ROWS 3 PRECEDING) FROM r')) AS window_agg,
	check_ranges(digest('SELECT id, first_value(k + 1) OVER (PARTITION BY g ORDER BY id DESC NULLS FIRST), t || few FROM r')) AS projection,
	check_ranges('SELECT few, count(*), sum(m) FROM (SELECT few, max(k) FILTER (WHERE n > 9) OVER (PARTITION BY n, g % 2 ORDER BY k DESC NULLS LAST, id ROWS UNBOUNDED PRECEDING) AS m FROM r) s GROUP BY few') AS filter;

-- Planned workers that do not come.
SET max_parallel_workers = 0;
SELECT name, check_ranges(query) AS no_worker_comes FROM queries WHERE name ~ 'aggregate|NULLs|libc|large|no rows';
SET work_mem = '64kB';
SELECT name, check_ranges(query) AS through_files FROM queries WHERE name ~ 'aggregate|libc|large|no rows';
SET parallel_leader_participation = off;
SELECT name, check_ranges(query) AS no_worker_though_the_leader_leaves_it_to_them FROM queries WHERE name ~ 'aggregate|libc|large|no rows';
RESET work_mem;
SET max_parallel_workers = 1;
SELECT name, check_ranges(query) AS one_worker FROM queries WHERE name ~ 'aggregate|NULLs|libc|large|no rows|two sorts';
RESET parallel_leader_participation;
SELECT name, check_ranges(query) AS one_worker FROM queries WHERE name ~ 'aggregate|NULLs|libc|large|no rows|two sorts';
RESET max_parallel_workers;

-- Read again: workers start again.
SET enable_material = off;
SELECT check_ranges('SELECT o, s.* FROM (VALUES (1), (2), (3)) AS v (o) LEFT JOIN (SELECT count(*), sum(b) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) w) s ON s.count > o') AS rescanned,
	check_ranges('SELECT o, (SELECT count(b) + sum(b) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) w WHERE b > o) FROM generate_series(-3, 3) AS o') AS with_a_parameter,
	check_ranges('SELECT o, s.c FROM generate_series(1, 3) AS o, LATERAL (SELECT count(*) AS c FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r WHERE few < o) w) s') AS with_a_parameter_below;
SET max_parallel_workers = 0;
SELECT check_ranges('SELECT o, s.* FROM (VALUES (1), (2), (3)) AS v (o) LEFT JOIN (SELECT count(*), sum(b) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) w) s ON s.count > o') AS rescanned_without_workers;
RESET max_parallel_workers;
-- A parallel plan, executed without parallel mode: SELECT INTO takes two rows at most.
DO $$
DECLARE
	rows_off bigint; sum_off numeric; rows_forced bigint; sum_forced numeric;
BEGIN
	SELECT count(*), sum(s.sum) INTO rows_off, sum_off FROM (VALUES (1), (2), (3)) AS v (o) LEFT JOIN (SELECT count(*), sum(b) FROM (SELECT id, lag(id) OVER (PARTITION BY g ORDER BY id) AS b FROM r) w) s ON s.count > o;
	SET LOCAL gpusort.mode = force;
	SELECT count(*), sum(s.sum) INTO rows_forced, sum_forced FROM (VALUES (1), (2), (3)) AS v (o) LEFT JOIN (SELECT count(*), sum(b) FROM (SELECT id, lag(id) OVER (PARTITION BY g ORDER BY id) AS b FROM r) w) s ON s.count > o;
	RAISE NOTICE 'without parallel mode: % rows, the same sums: %', rows_forced, sum_off = sum_forced AND rows_off = rows_forced;
END $$;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET parallel_tuple_cost = 0;
SELECT check_ranges('SELECT count(*), sum(s.b + o) FROM (VALUES (1), (2), (3)) AS v (o) LEFT JOIN (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s ON s.b % 5 = o') AS nested_loop;
RESET parallel_tuple_cost;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- Nobody reads to the end.
SET parallel_tuple_cost = 0;
SELECT check_ranges('SELECT count(*) FROM (SELECT FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) w WHERE b IS NOT NULL LIMIT 10) s') AS limited,
	check_ranges('SELECT count(*) FROM (SELECT b FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) w WHERE b % 5 <> 1 LIMIT 15000) s') AS limited_later,
	check_ranges('SELECT o, s.c FROM (VALUES (1), (2), (3), (4)) AS v (o) LEFT JOIN (SELECT count(*) AS c FROM (SELECT FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) w WHERE b IS NOT NULL LIMIT 1000) l) s ON s.c > o') AS limited_again,
	check_ranges('SELECT o FROM generate_series(1, 3) AS o WHERE EXISTS (SELECT FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) w WHERE b > 0)') AS first_row;
RESET parallel_tuple_cost;
RESET enable_material;

-- What nodes below keep until the end of the query: a hash table of each process, windows below windows; a function that is read in part, which executes the plan without workers.
SET enable_parallel_hash = off;
SET enable_mergejoin = off;
SELECT check_ranges(digest('SELECT r.id, lag(u.k) OVER (PARTITION BY r.g ORDER BY r.id) FROM r JOIN uneven u USING (id)')) AS join_below,
	check_ranges(digest('SELECT id, lag(b) OVER (PARTITION BY few ORDER BY id) FROM (SELECT id, few, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) w')) AS windows_below,
	check_ranges(digest('SELECT id, lag(b) OVER (PARTITION BY few ORDER BY id) FROM (SELECT id, few, sum(k) OVER (PARTITION BY g ORDER BY id ROWS 2 PRECEDING) AS b FROM r) w')) AS window_agg_below;
RESET enable_parallel_hash;
RESET enable_mergejoin;
CREATE FUNCTION lazily() RETURNS SETOF bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT count(*) FROM (SELECT few, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s GROUP BY few ORDER BY few $$;
SET gpusort.mode = force;
SELECT lazily() LIMIT 2;
SELECT count(*), sum(n) FROM (SELECT lazily() AS n) s;
RESET gpusort.mode;
DROP FUNCTION lazily;

-- Plans that are kept, also for other executions than parallel ones; cursors.
SET plan_cache_mode = force_generic_plan;
SET gpusort.mode = force;
PREPARE windows (int) AS SELECT count(*), sum(b) FROM (SELECT few, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s WHERE few < $1;
CREATE TEMP TABLE forced_2 AS EXECUTE windows (2);
CREATE TEMP TABLE forced_5 AS EXECUTE windows (5);
SELECT nodes('EXECUTE windows (2)', 'GpuSortRanges') AS ranges;
DO $$ DECLARE r record; BEGIN FOR r IN EXECUTE 'EXECUTE windows (5)' LOOP ASSERT r = (SELECT f FROM forced_5 f); END LOOP; END $$;
SET gpusort.mode = off;
SELECT count(*) AS same FROM (TABLE forced_2 UNION ALL TABLE forced_5) f JOIN
	(SELECT count(*), sum(b) FROM (SELECT few, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s, generate_series(2, 5, 3) AS n WHERE few < n GROUP BY n) o USING (count, sum);
DEALLOCATE windows;
DROP TABLE forced_2, forced_5;
RESET plan_cache_mode;
SET gpusort.mode = force;
BEGIN;
DECLARE c CURSOR FOR SELECT count(*), sum(b) FROM (SELECT lag(id) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s;
FETCH ALL FROM c;
COMMIT;
SELECT count(*), sum(b) FROM (SELECT lag(id) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s;
RESET gpusort.mode;
SELECT check_query('SELECT count(*), sum(b) FROM (SELECT lag(id) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s', NULL) AS cursor;

-- What is not offered.
CREATE FUNCTION add_unsafe(bigint, int) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT $1 + $2';
CREATE AGGREGATE sum_unsafe(int) (SFUNC = add_unsafe, STYPE = bigint, INITCOND = 0, PARALLEL = UNSAFE);
CREATE AGGREGATE sum_restricted(int) (SFUNC = add_unsafe, STYPE = bigint, INITCOND = 0, PARALLEL = RESTRICTED);
CREATE AGGREGATE sum_safe(int) (SFUNC = add_unsafe, STYPE = bigint, INITCOND = 0, PARALLEL = SAFE);
CREATE FUNCTION leaders(int) RETURNS int LANGUAGE plpgsql STABLE PARALLEL RESTRICTED AS 'BEGIN RETURN $1; END';
CREATE FUNCTION everyones(int) RETURNS int LANGUAGE plpgsql STABLE PARALLEL SAFE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION changing(int) RETURNS int LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS 'BEGIN RETURN $1; END';
SET parallel_tuple_cost = 0;
SELECT name, check_ranges(query) FROM (VALUES
	('safe', digest('SELECT id, sum_safe(few) OVER (PARTITION BY g ORDER BY id) FROM r')),
	('safe argument', digest('SELECT id, sum(everyones(few)) OVER (PARTITION BY g ORDER BY id) FROM r')),
	('safe column', digest('SELECT everyones(id), sum(few) OVER (PARTITION BY g ORDER BY id) FROM r')),
	('unsafe', digest('SELECT id, sum_unsafe(few) OVER (PARTITION BY g ORDER BY id) FROM r')),
	('restricted', digest('SELECT id, sum_restricted(few) OVER (PARTITION BY g ORDER BY id) FROM r')),
	('restricted, first of two', digest('SELECT id, sum_restricted(few) OVER (PARTITION BY g ORDER BY id), count(*) OVER (PARTITION BY g) FROM r')),
	('restricted argument', digest('SELECT id, sum(leaders(few)) OVER (PARTITION BY g ORDER BY id) FROM r')),
	('restricted filter', digest('SELECT id, sum(few) FILTER (WHERE leaders(few) > 2) OVER (PARTITION BY g ORDER BY id) FROM r')),
	('restricted column', digest('SELECT leaders(id), sum(few) OVER (PARTITION BY g ORDER BY id) FROM r')),
	('restricted around it', digest('SELECT id, leaders((sum(few) OVER (PARTITION BY g ORDER BY id))::int) FROM r')),
	('restricted below', digest('SELECT id, sum(few) OVER (PARTITION BY g ORDER BY id) FROM r WHERE leaders(id) > 0')),
	('restricted offset', digest('SELECT id, sum(few) OVER (PARTITION BY g ORDER BY id ROWS leaders(2) PRECEDING) FROM r')),
	('restricted end', digest('SELECT id, sum(few) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 1 PRECEDING AND leaders(2) FOLLOWING) FROM r')),
	('offset of a query around', 'SELECT o, (SELECT sum(b) FROM (SELECT sum(few) OVER (PARTITION BY g ORDER BY id ROWS o PRECEDING) AS b FROM r) s) FROM generate_series(1, 3) AS o'),
	('end of a query around', 'SELECT o, (SELECT sum(b) FROM (SELECT sum(few) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 1 PRECEDING AND o FOLLOWING) AS b FROM r) s) FROM generate_series(1, 3) AS o'),
	('rows of a function', digest('SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id), generate_series(1, few) FROM r')),
	('volatile argument', digest('SELECT id, sum(changing(few)) OVER (PARTITION BY g ORDER BY id) FROM r')),
	('volatile key', digest('SELECT id, count(*) OVER (PARTITION BY changing(g)) FROM r')),
	('no partition', digest('SELECT id, lag(k) OVER (ORDER BY id) FROM r')),
	('another window without', digest('SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id), count(*) OVER () FROM r')),
	('a partition of another sort', digest('SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id), count(*) OVER (PARTITION BY few) FROM r')),
	('top', 'SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) FROM r'),
	('run condition', 'SELECT count(*), sum(id) FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM r) s WHERE n <= 3'),
	('LIMIT', digest('SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) FROM r ORDER BY g, id LIMIT 1000')),
	('LIMIT of some rows', 'SELECT count(*) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) FROM r LIMIT 1000) s'),
	('OFFSET', 'SELECT count(*) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) FROM r OFFSET 10) s'),
	('ORDER BY', 'SELECT count(*), max(n) FROM (SELECT few, row_number() OVER () AS n FROM (SELECT few, lag(k) OVER (PARTITION BY g ORDER BY id) FROM r ORDER BY g, id) o) s'),
	('restricted in the query around', 'SELECT count(*), sum(leaders(few)) FROM (SELECT few, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s WHERE b <> 0'),
	('no parallel mode', 'WITH i AS (DELETE FROM uneven WHERE false RETURNING id) SELECT count(*), sum(b) FROM (SELECT lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s'),
	('rows locked', 'SELECT count(*) FROM (SELECT id FROM r FOR UPDATE) l JOIN (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s USING (id)')) AS q (name, query);
RESET parallel_tuple_cost;
-- Other backends than this one, and no workers.
SET gpusort.mode = force;
SET gpusort.backend = cuda;
SELECT nodes(query, 'GpuSortRanges') AS cuda FROM queries WHERE name = 'aggregate';
SET gpusort.backend = auto;
SELECT nodes(query, 'GpuSortRanges') AS auto FROM queries WHERE name = 'aggregate';
SET gpusort.backend = cpu;
SET max_parallel_workers_per_gather = 0;
SELECT nodes(query, 'GpuSortRanges') AS no_workers FROM queries WHERE name = 'aggregate';
SET max_parallel_workers_per_gather = 3;
SET gpusort.mode = off;
SELECT nodes(query, 'GpuSortRanges') AS off FROM queries WHERE name = 'aggregate';
RESET gpusort.mode;
-- In mode auto there must be partitions enough: eight for each process.
SET gpusort.min_rows = 0;
SELECT check_ranges(digest('SELECT id, lag(k) OVER (PARTITION BY n ORDER BY id) FROM r'), 'auto') AS many, check_ranges(digest('SELECT id, lag(k) OVER (PARTITION BY few ORDER BY id) FROM r'), 'auto') AS few,
	check_ranges(digest('SELECT id, lag(k) OVER (PARTITION BY n, few ORDER BY id), count(*) OVER (PARTITION BY few, n) FROM r'), 'auto') AS both,
	check_ranges(digest('SELECT id, lag(k) OVER (PARTITION BY few, n ORDER BY id), count(*) OVER (PARTITION BY few) FROM r'), 'auto') AS few_of_one;
RESET gpusort.min_rows;

-- What EXPLAIN ANALYZE says.  Rows above wait here and there, so that all processes return some.
CREATE FUNCTION slow(id int) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1 AS $$
BEGIN
	IF id % 100 = 1 THEN
		PERFORM pg_sleep(0.002);
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION ranges_explained(query text) RETURNS jsonb LANGUAGE plpgsql SET gpusort.mode = force AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) ' || query INTO plan;
	RETURN jsonb_path_query_first(plan, 'strict $.** ? (@."Custom Plan Provider" == "GpuSortRanges")');
END $$;
SELECT e->'Sort Key' AS sort_key, e->'Group Key' AS group_key, e->'Sort Method' AS method, e->'Device' AS device, e->'Sort Space Type' AS space, (e->>'Peak Memory')::int > 0 AS memory, e->'Processes' AS processes,
	round((e->>'Actual Rows')::numeric * (e->>'Actual Loops')::numeric, -1) AS rows, jsonb_array_length(e->'Workers') AS workers, jsonb_path_exists(e, '$.Workers[*] ? (@."Actual Rows" == 0)') AS idle_ones
FROM ranges_explained('SELECT count(*), sum(b) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r WHERE slow(id)) s WHERE slow(id)') AS e;
SET parallel_leader_participation = off;
SELECT e->'Processes' AS processes, e->'Order Verified' AS verified, jsonb_array_length(e->'Workers') AS workers, jsonb_path_exists(e, '$.Workers[*] ? (@."Actual Rows" == 0)') AS idle_ones
FROM ranges_explained('SELECT count(*), sum(b) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY t COLLATE english, id) AS b FROM r WHERE slow(id)) s WHERE slow(id)') AS e;
SET work_mem = '64kB';
SELECT e->'Processes' AS processes, e->'Sort Method' AS method, e->'Sort Space Type' AS space, (e->>'Runs')::int > 3 AS runs, jsonb_array_length(e->'Workers') AS workers, jsonb_path_exists(e, '$.Workers[*] ? (@."Actual Rows" == 0)') AS idle_ones
FROM ranges_explained('SELECT count(*), sum(b) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r WHERE slow(id)) s WHERE slow(id)') AS e;
RESET work_mem;
RESET parallel_leader_participation;
SET max_parallel_workers = 0;
SELECT e->'Processes' AS processes, round((e->>'Actual Rows')::numeric) AS rows FROM ranges_explained('SELECT count(*), sum(b) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s') AS e;
RESET max_parallel_workers;
-- Without ANALYZE, and where it was never executed.
SET gpusort.mode = force;
EXPLAIN (COSTS OFF) SELECT count(*), sum(b) FROM (SELECT few, lag(k) OVER (PARTITION BY g, t COLLATE "C" ORDER BY id) AS b FROM r) s WHERE few > 1;
SELECT e ? 'Sort Method' AS sorted, e->'Actual Loops' AS loops FROM ranges_explained('SELECT count(*), sum(b) FROM (SELECT lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s WHERE now() < ''2000-01-01''') AS e;

-- The sort is counted once.
SELECT gpusort_stat_reset();
CREATE TEMP TABLE counted AS SELECT count(*), sum(b) FROM (SELECT lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r WHERE slow(id)) s;
-- Without shared_preload_libraries each process counts for itself, and the workers' counts end with them.
SELECT CASE WHEN current_setting('shared_preload_libraries') ~ 'gpusort' THEN (sorts, rows) = (1, 20000) ELSE sorts <= 1 END AS counted FROM pg_stat_gpusort WHERE device = 'cpu';
-- An error in one of the processes, below and above, and the next query.
\set VERBOSITY terse
SELECT count(*), sum(b) FROM (SELECT lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r WHERE 10 / (id - 777) < 11) s;
SELECT count(*), sum(b) FROM (SELECT id, lag(k) OVER (PARTITION BY g ORDER BY id) AS b FROM r) s WHERE 10 / (id - 777) < 11 AND b <> 0;
\set VERBOSITY default
SELECT check_ranges(query) AS next FROM queries WHERE name = 'aggregate';
RESET gpusort.mode;

DROP FUNCTION leaders, everyones, changing, slow, ranges_explained;
DROP AGGREGATE sum_unsafe(int), sum_restricted(int), sum_safe(int);
DROP FUNCTION add_unsafe;
DROP VIEW input;
DROP TABLE r, uneven, queries;
DROP COLLATION english;
DROP SCHEMA window_ranges;
