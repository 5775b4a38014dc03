--
-- Sorts that processes of a parallel plan do each for itself, below a Gather.
--
CREATE SCHEMA sorts_in_workers;
SET search_path = sorts_in_workers, public;
CREATE TABLE w AS SELECT i AS id, noise(i) AS k, (noise(i, 1) & 63)::int AS g, md5((noise(i, 3) & 4095)::text) COLLATE "C" AS t, repeat('x', 60) AS filler,
	('/usr/share/' || (noise(i, 1) & 63)) COLLATE "C" AS gt
FROM generate_series(1, 40000) AS i;
CREATE TABLE v AS SELECT i AS id, CASE WHEN i % 20 > 0 THEN noise(i * 2) END AS k, (noise(i, 4) & 63)::int AS g FROM generate_series(1, 12000) AS i;
CREATE TABLE pieces (id int, k bigint, g int, t text COLLATE "C") PARTITION BY RANGE (id);
SELECT format('CREATE TABLE pieces_%s PARTITION OF pieces FOR VALUES FROM (%s) TO (%s)', i, i * 12000, (i + 1) * 12000) FROM generate_series(0, 3) AS i \gexec
INSERT INTO pieces SELECT id, k, g, t FROM w;
VACUUM ANALYZE w, v, pieces;

-- Parallel plans, however small the tables; merge joins.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
ALTER TABLE w SET (parallel_workers = 2);
ALTER TABLE v SET (parallel_workers = 2);
SET enable_hashagg = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET gpusort.backend = cpu;

-- How many sorts stand below a Gather, as EXPLAIN prints them.
CREATE FUNCTION sorts_of_workers(query text, node text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
	n int := 0;
	gather int;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Gather' THEN
			gather := position('G' IN line);
		ELSIF gather IS NOT NULL AND line ~ ('^ *(->  )?' || node || '$') THEN
			n := n + (position('-' IN line) > gather)::int;
		END IF;
	END LOOP;
	RETURN n;
END $$;
-- Runs a query with gpusort off, and in a mode in which its workers sort by it, and compares the rows, in any order unless they are numbered by the
-- query.  CREATE TABLE AS is executed in parallel, where cursors and loops are not.
CREATE FUNCTION check_workers(query text, mode text DEFAULT 'force') RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off SET client_min_messages = warning AS $$
DECLARE
	sorts int := sorts_of_workers(query, '(Incremental )?Sort');
	ours int;
	result text;
BEGIN
	DROP TABLE IF EXISTS rows_off, rows_forced;
	EXECUTE 'CREATE TEMP TABLE rows_off AS ' || query;
	PERFORM set_config('gpusort.mode', mode, true);
	ours := sorts_of_workers(query, 'Parallel Custom Scan \(GpuSort\)');
	EXECUTE 'CREATE TEMP TABLE rows_forced AS ' || query;
	PERFORM set_config('gpusort.mode', 'off', true);
	SELECT compare_rows(array_agg(r::text), (SELECT array_agg(f::text) FROM rows_forced f)) INTO result FROM rows_off r;
	RETURN concat_ws(', ', result, CASE WHEN ours = 0 THEN 'no worker sorts by gpusort' WHEN ours = sorts THEN 'all' ELSE 'some' END);
END $$;
-- A check that cannot fail is no check.
SELECT check_workers('SELECT count(*), current_setting(''gpusort.mode'') FROM w a JOIN v b ON a.k + 1 = b.k + 1') AS other_rows, check_workers('SELECT count(*) FROM w') AS no_sort;

SET gpusort.mode = force;
EXPLAIN (COSTS OFF) SELECT count(*) FROM w a JOIN v b ON a.k + 1 = b.k + 1;
EXPLAIN (COSTS OFF) SELECT a.k + 1 AS x, b.g FROM w a JOIN v b ON a.k + 1 = b.k + 1 ORDER BY x;
EXPLAIN (COSTS OFF, VERBOSE) SELECT count(*) FROM w a JOIN v b ON a.k + 1 = b.k + 1 AND a.g = b.g;
SELECT sort_key, taken, reason, regexp_replace(how, '[\d.]+ [kM]B', 'N', 'g') AS how FROM gpusort_check('SELECT count(*) FROM w a JOIN v b ON a.k + 1 = b.k + 1');
RESET gpusort.mode;

CREATE TABLE queries (name text, query text);
INSERT INTO queries VALUES
	('merge join', 'SELECT count(*), sum(a.id::bigint * b.id) FROM w a JOIN v b ON a.k + 1 = b.k + 1'),
	('duplicates, read from a mark', 'SELECT count(*), sum(a.id::bigint * b.id) FROM w a JOIN v b ON a.g * 1000 + a.id % 100 = b.g * 1000 + b.id % 100'),
	('left join', 'SELECT count(*), count(b.id) AS joined, sum(a.id::bigint * b.id) FROM w a LEFT JOIN v b ON a.k + 1 = b.k + 1'),
	('semi join', 'SELECT count(*), sum(id) FROM w a WHERE EXISTS (SELECT FROM v b WHERE b.k + 1 = a.k + 1)'),
	('anti join', 'SELECT count(*), sum(id) FROM w a WHERE NOT EXISTS (SELECT FROM v b WHERE b.k + 1 = a.k + 1)'),
	('ICU', 'SELECT count(*), sum(a.id::bigint) FROM w a JOIN v b ON a.t || ''x'' = (md5((b.g * 64)::text) || ''x'') COLLATE "en-x-icu"'),
	('text', 'SELECT count(*), sum(a.id::bigint) FROM w a JOIN v b ON a.t || '''' = md5(b.g::text) COLLATE "C"'),
	('Gather Merge', 'SELECT row_number() OVER (ORDER BY a.k + 1) AS place, a.k + 1 AS x, b.g FROM w a JOIN v b ON a.k + 1 = b.k + 1'),
	('below a join of groups', 'SELECT a.g, count(*), sum(b.id) FROM w a JOIN v b ON a.k + 1 = b.k + 1 GROUP BY a.g'),
	('children joined', 'SELECT count(*), sum(a.id::bigint) FROM pieces a JOIN pieces b ON a.id = b.id AND a.k = b.k'),
	('no rows', 'SELECT count(*) FROM w a JOIN (SELECT * FROM v WHERE id < 0) b ON a.k::numeric = b.k::numeric'),
	('verified by comparisons', 'SELECT count(*), sum(a.id::bigint) FROM w a JOIN v b ON a.t || ''x'' = (md5((b.g * 64)::text) || ''x'') COLLATE "default"');
SET enable_partitionwise_join = on;
SELECT name, check_workers(query) FROM queries;
SET parallel_leader_participation = off;
SELECT name, check_workers(query) AS without_leader FROM queries;
SET gpusort.work_mem = '64kB';
SELECT name, check_workers(query) AS through_files FROM queries;
SET parallel_leader_participation = on;
SELECT name, check_workers(query) AS through_files FROM queries;
RESET gpusort.work_mem;
SET work_mem = '64kB';
SELECT name, check_workers(query) AS work_mem FROM queries;
RESET work_mem;

-- In mode auto by the times that are expected.
SET gpusort.min_rows = 0;
SELECT check_workers(query, 'auto') AS auto FROM queries WHERE name = 'no rows';
RESET gpusort.min_rows;
-- Groups that workers form in part, where it costs something to pass rows; of a table and of an Append's children.
RESET parallel_tuple_cost;
SET gpusort.mode = auto;
EXPLAIN (COSTS OFF) SELECT g::numeric, count(*), max(id) FROM w GROUP BY 1;
RESET gpusort.mode;
SELECT check_workers('SELECT g::numeric, count(*), max(id) FROM w GROUP BY 1', 'auto') AS partial_groups, check_workers('SELECT g::numeric, count(*), max(id) FROM pieces GROUP BY 1', 'auto') AS of_children;
SET parallel_leader_participation = off;
SELECT check_workers('SELECT g::numeric, count(*), max(id) FROM w GROUP BY 1', 'auto') AS without_leader;
RESET parallel_leader_participation;
SET parallel_tuple_cost = 0;

-- Without workers that could be launched, and where there is no parallel mode, the leader does all.
SET max_parallel_workers = 0;
SELECT name, check_workers(query) AS no_worker_comes FROM queries LIMIT 3;
RESET max_parallel_workers;
SELECT check_query('SELECT count(*), sum(a.id::bigint * b.id) FROM w a JOIN v b ON a.k + 1 = b.k + 1') AS cursor;

-- Read again: workers start again.
SET enable_nestloop = on;
SET enable_material = off;
SELECT check_workers('SELECT o, s.* FROM generate_series(1, 4) AS o, (SELECT count(*), sum(a.id::bigint * b.id) FROM w a JOIN v b ON a.k + 1 = b.k + 1 OFFSET 0) s') AS rescanned;
SET enable_nestloop = off;

-- Plans that are kept.
SET plan_cache_mode = force_generic_plan;
SET gpusort.mode = force;
PREPARE joined (int) AS SELECT count(*), sum(a.id::bigint * b.id) FROM w a JOIN v b ON a.k + 1 = b.k + 1 WHERE a.g < $1;
CREATE TEMP TABLE forced_10 AS EXECUTE joined (10);
CREATE TEMP TABLE forced_20 AS EXECUTE joined (20);
SELECT sorts_of_workers('EXECUTE joined (10)', 'Parallel Custom Scan \(GpuSort\)') AS sorts;
SET gpusort.mode = off;
CREATE TEMP TABLE off_10 AS EXECUTE joined (10);
CREATE TEMP TABLE off_20 AS EXECUTE joined (20);
SELECT sorts_of_workers('EXECUTE joined (10)', 'Parallel Custom Scan \(GpuSort\)') AS sorts;
SELECT count(*) AS same FROM (TABLE forced_10 UNION ALL TABLE forced_20) f JOIN (TABLE off_10 UNION ALL TABLE off_20) o USING (count, sum);
DEALLOCATE joined;
RESET plan_cache_mode;

-- A LIMIT is known to workers; the leader tells them.  The planner expects fewer rows of the join than gpusort.min_rows, so that no other plan is
-- offered; the sort in its own is expected to have more.
CREATE VIEW joined AS SELECT a.id, a.t, a.k FROM w a JOIN w b ON a.id = b.id AND a.id + b.id > 0 AND a.g + b.g >= 0;
SET gpusort.mode = auto;
SET gpusort.min_rows = 5000;
SET enable_hashjoin = on;
EXPLAIN (COSTS OFF) SELECT * FROM joined ORDER BY t, k LIMIT 7000;
SELECT check_workers('SELECT row_number() OVER () AS place, s.* FROM (SELECT * FROM joined ORDER BY t, k LIMIT 7000 OFFSET 10) s', 'auto') AS limited;
SET parallel_leader_participation = off;
SELECT check_workers('SELECT row_number() OVER () AS place, s.* FROM (SELECT * FROM joined ORDER BY t, k LIMIT 7000) s', 'auto') AS without_leader;
SET enable_nestloop = on;
SELECT check_workers('SELECT o, s.* FROM generate_series(1, 3) AS o, (SELECT sum(id), max(k) FROM (SELECT * FROM joined ORDER BY t, k LIMIT 7000) l) s', 'auto') AS rescanned;
SET enable_nestloop = off;
RESET parallel_leader_participation;
SET enable_hashjoin = off;

-- What EXPLAIN ANALYZE says of each process, without figures that vary.  The workers wait for each other here and there, so that all have rows.
CREATE FUNCTION slow(id int) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1 AS $$
BEGIN
	IF id % 1000 = 1 THEN
		PERFORM pg_sleep(0.01);
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION explained(query text, pattern text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ pattern THEN
			RETURN NEXT regexp_replace(regexp_replace(line, '((?:Memory|Disk): )\d+(kB)', '\1N\2', 'g'), '(Runs: |Merge Passes: |Rows Dropped: )\d+', '\1N', 'g');
		END IF;
	END LOOP;
END $$;
SET gpusort.mode = force;
SET parallel_leader_participation = off;
SELECT explained('SELECT count(*) FROM (SELECT * FROM w WHERE slow(id)) a JOIN v b ON a.k + 1 = b.k + 1', 'Sort Method|Sort Key');
SET gpusort.work_mem = '130kB';
SELECT explained('SELECT count(*) FROM (SELECT * FROM w WHERE slow(id)) a JOIN v b ON a.k + 1 = b.k + 1', 'Sort Method') AS through_files;
RESET gpusort.work_mem;
SET gpusort.mode = auto;
SET enable_hashjoin = on;
SELECT explained('SELECT * FROM joined WHERE slow(id) OR id > 0 ORDER BY t, k LIMIT 7000', 'Sort Method|Bound') AS limited;
-- Read again, by Gathers that the Limit has ended.
SET enable_nestloop = on;
SELECT explained('SELECT o, s.* FROM generate_series(1, 3) AS o, (SELECT sum(id) FROM (SELECT * FROM joined WHERE slow(id) OR id > 0 ORDER BY t, k LIMIT 7000) l) s', 'Sort Method|Bound') AS read_again;
SET enable_nestloop = off;
SET enable_hashjoin = off;
SET gpusort.mode = force;
-- The leader's line is the first one.
RESET parallel_leader_participation;
SELECT explained('SELECT count(*) FROM (SELECT * FROM w WHERE slow(id)) a JOIN v b ON a.k + 1 = b.k + 1', 'Sort Method') AS with_leader;
-- In other formats each worker is a group of its own.
CREATE FUNCTION explain_json(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
	RETURN plan;
END $$;
SELECT worker->'Worker Number' AS worker, worker->>'Sort Method' <> '' AS method, (worker->>'Peak Memory')::int > 0 AS memory, worker->>'Device' AS device
FROM jsonb_path_query(explain_json('SELECT count(*) FROM (SELECT * FROM w WHERE slow(id)) a JOIN v b ON a.k + 1 = b.k + 1'), 'strict $.**."Sorting Workers"[*]') AS worker ORDER BY 1;
-- gpusort.work_mem is for all processes together; within it each of two has a half.
SET parallel_leader_participation = off;
SET gpusort.work_mem = '1200kB';
SELECT max((worker->>'Peak Memory')::int) BETWEEN 300 AND 600 AS a_half
FROM jsonb_path_query(explain_json('SELECT count(*) FROM (SELECT * FROM w WHERE slow(id)) a JOIN v b ON a.t || ''x'' = b.g::text'), 'strict $.**."Sorting Workers"[*]') AS worker;
RESET gpusort.work_mem;
RESET parallel_leader_participation;

-- Each process counts its sort, once.
SET parallel_leader_participation = off;
SELECT gpusort_stat_reset();
CREATE TEMP TABLE counted AS SELECT count(*) FROM (SELECT * FROM w WHERE slow(id)) a JOIN v b ON a.k + 1 = b.k + 1;
RESET parallel_leader_participation;
-- Without shared_preload_libraries each process counts for itself, and the workers' counts end with them.
SELECT CASE WHEN current_setting('shared_preload_libraries') ~ 'gpusort' THEN (sorts, rows) = (4, 40000 + 2 * 12000) ELSE sorts = 0 END AS counted FROM pg_stat_gpusort WHERE device = 'cpu';
SELECT declined, declined_reasons FROM pg_stat_gpusort WHERE device = 'postgresql';

-- An error in one of the processes, and the next query.
SELECT count(*) FROM w a JOIN v b ON 10 / (a.id - 777) + a.k = b.k + 1;
SELECT count(*), sum(1 / (a.id - 778)) FROM w a JOIN v b ON a.k + 1 = b.k + 1;
SELECT check_workers('SELECT count(*), sum(a.id::bigint * b.id) FROM w a JOIN v b ON a.k + 1 = b.k + 1') AS next;
RESET gpusort.mode;

DROP VIEW joined;
DROP TABLE queries, w, v, pieces CASCADE;
DROP FUNCTION sorts_of_workers, check_workers, slow, explained, explain_json;
DROP SCHEMA sorts_in_workers;
