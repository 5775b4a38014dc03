--
-- pg_stat_gpusort and pg_stat_progress_gpusort, of this session.  TAP tests look at those of others.
--
SET client_min_messages = warning;
CREATE COLLATION not_taken (provider = icu, locale = 'und-u-kr-latn-digit');
RESET client_min_messages;
CREATE TABLE counted AS SELECT i AS id, noise(i) AS k, md5(i::text) COLLATE "C" AS t, md5(i::text) COLLATE not_taken AS u, '{}'::jsonb AS j
FROM generate_series(1, 20000) AS i;
ANALYZE counted;
-- A second order of integers.
CREATE FUNCTION by_last_digit(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 % 10 - $2 % 10';
CREATE FUNCTION lower_digit(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 % 10 < $2 % 10';
CREATE OPERATOR <# (PROCEDURE = lower_digit, LEFTARG = int, RIGHTARG = int);
CREATE OPERATOR CLASS digit_ops FOR TYPE int USING btree AS OPERATOR 1 <#, OPERATOR 3 =, FUNCTION 1 by_last_digit(int, int);
-- Nothing here that is not counted on purpose.
CREATE FUNCTION counters(device text) RETURNS text
LANGUAGE sql SET gpusort.mode = off AS $$
	SELECT concat_ws(' ', s.device, 'sorts', sorts, 'parallel', parallel_sorts, 'rows', rows, 'bytes', bytes > 0, 'time', device_time > 0, 'spills', spills,
		'temp', temp_bytes > 0, 'fallbacks', fallbacks, fallback_reasons, 'declined', declined, declined_reasons)
	FROM pg_stat_gpusort AS s WHERE s.device = counters.device
$$;
CREATE FUNCTION run(query text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	r record;
	n bigint := 0;
BEGIN
	FOR r IN EXECUTE query LOOP
		n := n + 1;
	END LOOP;
	RETURN n;
END $$;

SELECT gpusort_stat_reset();
SELECT device, sorts, parallel_sorts, rows, bytes, device_time, spills, temp_bytes, fallbacks, fallback_reasons, declined, declined_reasons,
	stats_reset <= clock_timestamp() AND stats_reset > clock_timestamp() - interval '1 hour' AS reset FROM pg_stat_gpusort;

-- One sort, its rows, and the bytes of its keys (8, a number that can't be NULL or a marker and a number) and rows.
SET gpusort.backend = cpu;
SET gpusort.mode = force;
SET gpusort.work_mem = '64MB';
SELECT run('SELECT * FROM counted ORDER BY k');
SELECT counters('cpu'), counters('cuda'), counters('postgresql');
SELECT bytes BETWEEN 20000 * 100 AND 20000 * 250 AS plausible, scale(device_time::numeric) <= 3 AS whole_microseconds FROM pg_stat_gpusort WHERE device = 'cpu';
-- Two sorts in one query; one that is left early; one that never runs; one that fails before it is done, and one after.
SELECT run('SELECT * FROM (SELECT * FROM counted ORDER BY t OFFSET 0) s ORDER BY k');
SELECT run('SELECT EXISTS (SELECT * FROM counted ORDER BY k OFFSET 5000)');
SELECT run('SELECT * FROM counted WHERE false ORDER BY k');
SELECT run('SELECT * FROM counted ORDER BY k * (1 / (id - 500))');
SELECT run('SELECT 1 / (id - 500) FROM counted ORDER BY k');
SELECT counters('cpu'), counters('postgresql');
-- The time is that of all of them.
SELECT device_time AS before FROM pg_stat_gpusort WHERE device = 'cpu' \gset
SELECT run('SELECT * FROM counted WHERE id <= 10 ORDER BY k');
SELECT device_time >= :before AS all_of_it FROM pg_stat_gpusort WHERE device = 'cpu';
-- A rescan is one more sort.
SELECT gpusort_stat_reset();
SELECT run('SELECT * FROM generate_series(1, 3) AS g, LATERAL (SELECT * FROM counted WHERE id % 3 < g ORDER BY k OFFSET 0) s');
SELECT counters('cpu');
-- Temporary files.
SELECT gpusort_stat_reset();
SET gpusort.work_mem = '512kB';
SELECT run('SELECT * FROM counted ORDER BY k');
SET gpusort.work_mem = '64MB';
SELECT run('SELECT * FROM counted ORDER BY k');
SELECT counters('cpu');

-- Sorts left to PostgreSQL, by reason.
SELECT gpusort_stat_reset();
SELECT run('SELECT * FROM counted ORDER BY ROW(ROW(j))');
SELECT run('SELECT * FROM counted ORDER BY u, k');
SELECT run('SELECT * FROM counted ORDER BY id USING <#');
-- A grouping's own. Both inputs of a merge join that workers sort are not left; the plan of this one is enough.
SET enable_hashagg = off;
SELECT run('SELECT count(*) FROM counted WHERE id <= 100 GROUP BY GROUPING SETS ((id % 3), (id % 5))');
RESET enable_hashagg;
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_nestloop = off;
SELECT run('EXPLAIN SELECT count(*) FROM counted a JOIN counted b ON a.k + 1 = b.k + 1') > 0 AS explained;
COMMIT;
SELECT counters('postgresql'), counters('cpu');
SET gpusort.mode = auto;
SET gpusort.min_rows = 50000;
SELECT run('SELECT * FROM counted ORDER BY k');
SELECT run('SELECT (SELECT count(*) FROM (SELECT * FROM counted ORDER BY k OFFSET 0) s) FROM counted LIMIT 1');
SET gpusort.min_rows = 0;
SELECT run('SELECT * FROM counted WHERE id <= 200 ORDER BY k LIMIT 5');
SET enable_seqscan = off;
CREATE INDEX counted_id ON counted (id);
SELECT run('SELECT * FROM counted ORDER BY id, k');
SELECT counters('postgresql');
DROP INDEX counted_id;
RESET enable_seqscan;
-- Once a plan, not once an execution.
SELECT gpusort_stat_reset();
SET plan_cache_mode = force_generic_plan;
PREPARE prepared AS SELECT count(*) FROM (SELECT * FROM counted ORDER BY ROW(ROW(j)) OFFSET 0) s;
EXECUTE prepared;
EXECUTE prepared;
EXECUTE prepared;
DEALLOCATE prepared;
RESET plan_cache_mode;
SELECT counters('postgresql');
-- Not when gpusort_check looks at a plan, an error in it included, nor in mode off.
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM counted ORDER BY ROW(ROW(j))');
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM counted ORDER BY ROW(ROW(j)), 1 / 0');
SET gpusort.mode = off;
SELECT run('SELECT * FROM counted ORDER BY ROW(ROW(j))');
SELECT counters('postgresql');
SET gpusort.mode = auto;
SELECT run('SELECT * FROM counted ORDER BY ROW(ROW(j))');
SELECT counters('postgresql');

-- Rows that a LIMIT drops are counted, their bytes are not.
SET gpusort.mode = force;
SELECT gpusort_stat_reset();
SELECT run('SELECT * FROM counted ORDER BY k LIMIT 10');
SELECT rows, bytes BETWEEN 1 AND 1000000 AS few_bytes FROM pg_stat_gpusort WHERE device = 'cpu';

-- Who may look, and who may reset.
CREATE ROLE regress_gpusort_user;
SET ROLE regress_gpusort_user;
SELECT count(*) FROM pg_stat_gpusort;
SELECT count(*) FROM pg_stat_progress_gpusort;
SELECT gpusort_stat_reset();
RESET ROLE;

-- Progress: a row as long as there is a sort.
SET gpusort.mode = force;
CREATE FUNCTION progress() RETURNS SETOF text
LANGUAGE sql SET gpusort.mode = off AS $$
	SELECT concat_ws(' ', device, phase, 'in', rows_in, 'of', rows_expected, 'out', rows_out, 'bytes', bytes_in BETWEEN rows_in * 50 AND rows_in * 300, 'processes', processes,
		'here', datname = current_database(), 'started', started_at <= clock_timestamp())
	FROM pg_stat_progress_gpusort WHERE pid = pg_backend_pid()
$$;
SELECT progress();
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM counted ORDER BY k;
SELECT progress();
FETCH 1 FROM c;
SELECT progress();
MOVE 8191 FROM c;
SELECT progress();
MOVE ALL FROM c;
SELECT progress();
-- The sort that last entered a phase; when it ends, the one begun last.
DECLARE d CURSOR FOR SELECT id FROM counted WHERE id <= 1000 ORDER BY t;
MOVE 1 FROM d;
SELECT progress();
CLOSE d;
SELECT progress();
CLOSE c;
SELECT progress();
COMMIT;
-- Rows that a LIMIT leaves out have been read.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM counted ORDER BY k LIMIT 10;
MOVE 1 FROM c;
SELECT progress();
COMMIT;
-- What the rows of a sort come from sees it reading.
CREATE FUNCTION watch(id int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF id % 10000 = 0 THEN
		RAISE NOTICE '%', (SELECT concat_ws(' ', phase, rows_in BETWEEN 4096 AND id, rows_out) FROM pg_stat_progress_gpusort WHERE pid = pg_backend_pid());
	END IF;
	RETURN true;
END $$;
SELECT count(*) FROM (SELECT * FROM counted WHERE watch(id) ORDER BY k OFFSET 0) s;
-- When runs have been written it reads on.
SET gpusort.work_mem = '512kB';
SELECT count(*) FROM (SELECT * FROM counted WHERE watch(id) ORDER BY k OFFSET 0) s;
SET gpusort.work_mem = '64MB';
-- After errors there is none.
BEGIN;
DECLARE c CURSOR FOR SELECT 1 / (id - 500) FROM (SELECT id FROM counted ORDER BY id OFFSET 0) s;
MOVE 10 FROM c;
SELECT progress();
MOVE ALL FROM c;
ROLLBACK;
SELECT progress();
BEGIN;
SAVEPOINT s;
SELECT 1 / (id - 500) FROM counted ORDER BY id OFFSET 600;
ROLLBACK TO s;
SELECT progress();
COMMIT;
DO $$ BEGIN PERFORM 1 / (id - 500) FROM counted ORDER BY k; EXCEPTION WHEN division_by_zero THEN RAISE NOTICE 'progress: %', (SELECT progress()); END $$;

DROP ROLE regress_gpusort_user;
DROP OPERATOR FAMILY digit_ops USING btree;
DROP OPERATOR <# (int, int);
DROP TABLE counted;
