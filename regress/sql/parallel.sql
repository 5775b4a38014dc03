--
-- Sorts that several processes feed: GpuSort over Gather over GpuSortFeed.
--
CREATE TABLE p AS SELECT i AS id, noise(i) AS k, (noise(i, 1) & 63)::int AS g, md5(i::text) AS t, CASE WHEN i % 10 > 0 THEN noise(i, 2) / 1e15 END AS f
FROM generate_series(1, 20000) AS i;
CREATE TABLE few AS SELECT i AS g, 'name ' || i AS name FROM generate_series(0, 63) AS i;
CREATE TABLE others AS SELECT i AS id, noise(i, 3) AS other FROM generate_series(1, 20000) AS i;
CREATE TABLE parts (id bigint, k bigint, t text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (10000) TO (15000);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (15000) TO (60000);
INSERT INTO parts SELECT i, noise(i), md5(i::text) FROM generate_series(1, 20000) AS i;
VACUUM ANALYZE p, few, others, parts;

-- Parallel plans, however small the tables; a table's size would give fewer workers.
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
ALTER TABLE p SET (parallel_workers = 3);
SET gpusort.work_mem = '64MB';

-- Runs a query that has a unique column id, sorted by keys, with gpusort off and in parallel, and compares the two.  CREATE TABLE AS is executed
-- in parallel, where INSERT, cursors and loops are not.
CREATE FUNCTION check_parallel(query text, keys text, taken boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off SET client_min_messages = warning AS $$
DECLARE
	sorted text := format('SELECT * FROM (%s) q ORDER BY %s', query, keys);
BEGIN
	DROP TABLE IF EXISTS expected, actual;
	EXECUTE format('CREATE TEMP TABLE expected AS SELECT id, rank() OVER (ORDER BY %s), hash_record_extended(ROW(record_send(q)), 0) AS line FROM (%s) q', keys, query);
	PERFORM set_config('gpusort.mode', 'force', true);
	IF plan_contains(sorted, 'Parallel Custom Scan (GpuSortFeed)') <> taken THEN
		RETURN format('a feed is %sin the plan', CASE WHEN taken THEN 'not ' END);
	END IF;
	EXECUTE format('CREATE TEMP TABLE actual AS SELECT id, row_number() OVER () AS place, hash_record_extended(ROW(record_send(q)), 0) AS line FROM (%s) q', sorted);
	PERFORM set_config('gpusort.mode', 'off', true);
	RETURN compare_sorts();
END $$;

-- What EXPLAIN ANALYZE says of a query, without figures that vary.
CREATE FUNCTION explain_parallel(query text, options text DEFAULT '') RETURNS SETOF text
LANGUAGE plpgsql SET gpusort.backend = cpu AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF %s) %s', options, query) LOOP
		IF line !~ 'Worker \d+:|Stages' THEN
			RETURN NEXT regexp_replace(regexp_replace(line, '  Processes: \d+|((?:Memory|Disk): )\d+(kB)', '\1\2', 'g'), '(Runs: |Merge Passes: |rows=|loops=|Workers Launched: )[\d.]+', '\1N', 'g');
		END IF;
	END LOOP;
END $$;

CREATE FUNCTION explain_raw(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF) ' || query; END $$;

SET gpusort.mode = force;
EXPLAIN (COSTS OFF) SELECT * FROM p ORDER BY k;
EXPLAIN (COSTS OFF, VERBOSE) SELECT 1 AS one, id + 1 AS next, t FROM p WHERE g < 50 ORDER BY t COLLATE "C", k DESC;
SELECT explain_parallel('SELECT * FROM p ORDER BY k');
SELECT taken, reason FROM gpusort_check('SELECT * FROM p ORDER BY k');
RESET gpusort.mode;

-- Keys of all kinds.
SELECT check_parallel('SELECT * FROM p', 'k') AS fixed, check_parallel('SELECT * FROM p', 'g, f DESC') AS two_columns,
	check_parallel('SELECT * FROM p', 'f NULLS FIRST, id') AS nulls, check_parallel('SELECT * FROM p', 't COLLATE "C"') AS variable,
	check_parallel('SELECT * FROM p', 'g') AS few_values, check_parallel('SELECT * FROM p', 'id') AS in_order,
	check_parallel('SELECT * FROM p', 't COLLATE "und-x-icu" DESC, id') AS icu;
-- The processes wait for each other here and there, so that all of them have rows: with low thresholds (make TIGHT=1) they also sort together.
CREATE FUNCTION slow(id int) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
	IF id % 4000 = 1 THEN
		PERFORM pg_sleep(0.02);
	END IF;
	RETURN true;
END $$;
SELECT keys, check_parallel('SELECT * FROM p WHERE slow(id)', keys, CASE WHEN keys !~ 'icu' THEN true END) AS result
FROM unnest('{k,"g, k DESC","f NULLS FIRST, g, id","t COLLATE \"C\" DESC","g, t COLLATE \"C\", k","t COLLATE \"und-x-icu\"","left(t, 2) COLLATE \"C\", id"}'::text[]) AS keys;
SET gpusort.mode = force;
SELECT EXISTS (SELECT FROM generate_series(1, 50) AS i, explain_raw('SELECT * FROM p WHERE slow(id) ORDER BY t COLLATE "C"' || repeat(' ', i)) AS line WHERE line ~ 'Processes: [2-9]') AS several_processes;
-- The feeds' rows, each process's and in all, are those of the table.
SELECT (substring(line FROM 'rows=(\d+)')::int * substring(line FROM 'loops=(\d+)')::int + 50) / 100 * 100 AS fed FROM explain_raw('SELECT * FROM p WHERE slow(id) ORDER BY k') AS line WHERE line ~ 'GpuSortFeed';
RESET gpusort.mode;
-- One worker more than take part with low thresholds: its rows come when the others have sorted theirs.
SET max_parallel_workers_per_gather = 4;
ALTER TABLE p SET (parallel_workers = 4);
SELECT keys, check_parallel('SELECT * FROM p WHERE slow(id)', keys) AS result FROM unnest('{k,"g, t COLLATE \"C\", k","(''in a place far away/'' || t) COLLATE \"C\""}'::text[]) AS keys;
SELECT check_parallel('SELECT id, k, repeat(t, 200) AS wide FROM p WHERE id % 10 = 1 AND slow(id)', 'k') AS wide_rows;
SET max_parallel_workers_per_gather = 3;
ALTER TABLE p SET (parallel_workers = 3);
-- Inputs of all kinds.
SELECT check_parallel('SELECT id, k % 1000 AS m, 5 AS five, upper(t) AS u FROM p WHERE g % 3 = 1', 'm, id') AS projected,
	check_parallel('SELECT * FROM p WHERE id < 0', 'k') AS empty, check_parallel('SELECT * FROM p WHERE id = 5', 'k') AS one_row,
	check_parallel('SELECT p.id, name, k FROM p JOIN few USING (g)', 'name COLLATE "C", k') AS hash_join,
	check_parallel('SELECT * FROM parts', 'k') AS partitioned,
	check_parallel('SELECT id, k FROM p UNION ALL SELECT id + 40000, other FROM others', 'k') AS appended,
	check_parallel('SELECT id, t, (SELECT max(g) FROM few) AS m FROM p', 't COLLATE "C"') AS init_plan,
	check_parallel('SELECT * FROM p ORDER BY id LIMIT 500', 'k') AS limited;
SET enable_hashjoin = off;
SELECT check_parallel('SELECT p.id, other FROM p JOIN others USING (id)', 'other') AS merge_or_loop;
RESET enable_hashjoin;
SET enable_mergejoin = off;
SELECT check_parallel('SELECT p.id, other, others.ctid FROM p LEFT JOIN others USING (id)', 'other, id') AS parallel_hash;
RESET enable_mergejoin;
-- Where PostgreSQL has no parallel plan, neither is there a feed.
CREATE FUNCTION restricted(bigint) RETURNS bigint LANGUAGE plpgsql PARALLEL RESTRICTED AS 'BEGIN RETURN $1; END';
SELECT check_parallel('SELECT id, restricted(k) AS r FROM p', 'r', taken => false) AS restricted;
DROP FUNCTION restricted;

-- Around the sort.
SET gpusort.mode = force;
SELECT count(*), bool_and(k >= before) AS in_order FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT k FROM p ORDER BY k OFFSET 0) s) s;
SELECT id, k FROM p ORDER BY k LIMIT 3 OFFSET 19997;
WITH s AS MATERIALIZED (SELECT id, k FROM p ORDER BY k) SELECT count(*), sum(id) FROM s;
SELECT g, count(*), sum(first) FROM few, LATERAL (SELECT id AS first FROM p WHERE g < 5 ORDER BY k OFFSET 10) s WHERE few.g < 3 GROUP BY g ORDER BY g;
SELECT (SELECT count(*) FROM (SELECT * FROM p ORDER BY k OFFSET 1) s), (SELECT count(*) FROM (SELECT * FROM parts ORDER BY k OFFSET 1) s);
PREPARE sorted(int) AS SELECT id FROM p WHERE id % 2500 = $1 ORDER BY k LIMIT 5;
EXECUTE sorted(0);
EXECUTE sorted(1);
DEALLOCATE sorted;
-- Executed without workers: a cursor, a loop, a limited number of rows.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM p ORDER BY k;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
MOVE LAST FROM c;
FETCH BACKWARD 2 FROM c;
COMMIT;
DO $$
DECLARE
	r record;
	n int := 0;
BEGIN
	FOR r IN SELECT id FROM p ORDER BY k LOOP n := n + 1; END LOOP;
	RAISE NOTICE '% rows', n;
END $$;

-- Rescans: the workers are started again for each.
SET enable_material = off;
SELECT g, (SELECT sum(id) FROM (SELECT id FROM p ORDER BY k OFFSET few.g * 5000) s) FROM few WHERE g < 4 ORDER BY g;
RESET enable_material;

-- No workers, late ones, more than the machine has; without the leader.
SET max_parallel_workers = 0;
SELECT explain_parallel('SELECT * FROM p ORDER BY k');
SELECT check_parallel('SELECT * FROM p', 'k') AS no_workers;
-- Which progress tells when rows are returned: the processes that were planned have become one.
CREATE FUNCTION processes_shown() RETURNS int PARALLEL RESTRICTED VOLATILE LANGUAGE sql AS 'SELECT processes FROM pg_stat_progress_gpusort WHERE pid = pg_backend_pid()';
SELECT max(shown) AS processes_shown FROM (SELECT processes_shown() AS shown FROM (SELECT k FROM p ORDER BY k OFFSET 0) AS s LIMIT 1) AS s;
DROP FUNCTION processes_shown;
RESET max_parallel_workers;
SET parallel_leader_participation = off;
SELECT check_parallel('SELECT * FROM p', 'k') AS leader_takes_no_part, check_parallel('SELECT * FROM p', 't COLLATE "C"') AS variable;
SET max_parallel_workers = 0;
SELECT check_parallel('SELECT * FROM p', 'k') AS neither;
RESET max_parallel_workers;
RESET parallel_leader_participation;

-- Little memory: rows find no room, pass the Gather, and runs go to files.
SET gpusort.work_mem = '512kB';
SELECT explain_parallel('SELECT * FROM p ORDER BY k');
SELECT check_parallel('SELECT * FROM p', 'k') AS fixed, check_parallel('SELECT * FROM p', 't COLLATE "C"') AS variable;
SELECT check_parallel('SELECT id, k, CASE WHEN id % 1000 = 0 THEN repeat(t, 10000) END AS wide FROM p', 'k') AS wide_rows;
SET parallel_leader_participation = off;
SELECT check_parallel('SELECT * FROM p', 'k') AS leader_takes_no_part;
RESET parallel_leader_participation;
SELECT g, (SELECT sum(id) FROM (SELECT id FROM p ORDER BY k OFFSET few.g * 5000) s) FROM few WHERE g < 4 ORDER BY g;
-- The same, but the limit is reached late.
SET gpusort.work_mem = '1536kB';
SELECT check_parallel('SELECT * FROM p', 'k') AS fixed, check_parallel('SELECT * FROM p', 't COLLATE "C"') AS variable;
SET gpusort.work_mem = '64MB';

-- Errors in a worker and in the leader; the next sort works.
DO $$ BEGIN
	PERFORM sum(x) FROM (SELECT 1 / (id - 13333) AS x, k FROM p ORDER BY k OFFSET 0) s;
EXCEPTION WHEN division_by_zero THEN
	RAISE NOTICE 'caught';
END $$;
SET max_parallel_workers = 0;
SELECT sum(x) FROM (SELECT 1 / (id - 13333) AS x, k FROM p ORDER BY k OFFSET 0) s;
RESET max_parallel_workers;
SELECT check_parallel('SELECT * FROM p', 'k') AS works_on;
RESET gpusort.mode;

-- Again without a parameter that changed below it, since more of its rows are wanted.
SET gpusort.mode = force;
EXPLAIN (COSTS OFF) SELECT n, s.id FROM generate_series(1, 3) AS n, LATERAL (SELECT id FROM p ORDER BY k LIMIT n) s;
SELECT n, s.id FROM generate_series(1, 3) AS n, LATERAL (SELECT id FROM p ORDER BY k LIMIT n) s;
RESET gpusort.mode;
SELECT n, s.id FROM generate_series(3, 3) AS n, LATERAL (SELECT id FROM p ORDER BY k LIMIT n) s;

-- By cost: a large table is fed in parallel, if workers come cheaply enough; nothing is where there may be none. (With many
-- processors, 19 sorts integers as fast by itself.)
SET gpusort.mode = auto;
SELECT plan_contains('SELECT * FROM p ORDER BY k', 'GpuSortFeed') OR current_setting('server_version_num')::int >= 190000 AS cheap_workers;
SET parallel_setup_cost = 1000000;
SELECT plan_contains('SELECT * FROM p ORDER BY t COLLATE "C"', 'GpuSortFeed') AS expensive_workers, uses_gpusort('SELECT * FROM p ORDER BY t COLLATE "C"') AS alone;
SET parallel_setup_cost = 0;
SET max_parallel_workers_per_gather = 0;
SELECT plan_contains('SELECT * FROM p ORDER BY t COLLATE "C"', 'GpuSortFeed') AS no_parallel_plans, uses_gpusort('SELECT * FROM p ORDER BY t COLLATE "C"') AS alone;

DROP TABLE p, few, others, parts;
DROP FUNCTION check_parallel;
DROP FUNCTION explain_parallel, explain_raw, slow;
