--
-- Sorts that several processes feed in queries for which PostgreSQL has no parallel plan: cursors, loops, INSERT ... SELECT, FOR UPDATE.
--
CREATE TABLE w AS SELECT i AS id, noise(i) AS k, (noise(i, 1) & 63)::int AS g, md5(i::text) COLLATE "C" AS t, repeat('x', (i % 100)::int) AS filler FROM generate_series(1, 30000) AS i;
CREATE TABLE w_copy (id bigint, k bigint, r bigint);
CREATE SEQUENCE w_calls;
VACUUM ANALYZE w;
ALTER TABLE w SET (parallel_workers = 3);
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpusort.work_mem = '64MB';
SET gpusort.mode = force;

-- The processes wait for each other here and there, so that all of them have rows.
CREATE FUNCTION dawdle(id bigint) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
	IF id % 6000 = 1 THEN
		PERFORM pg_sleep(0.02);
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION writes(id bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO w_copy VALUES (id);
	RETURN id;
END $$;

-- Which queries have a feed, and that its workers come.
CREATE FUNCTION is_fed(query text) RETURNS boolean LANGUAGE sql AS $$ SELECT plan_contains(query, 'Parallel Custom Scan (GpuSortFeed)') $$;
SELECT is_fed(query), query FROM unnest(ARRAY[
	'DECLARE c CURSOR FOR SELECT * FROM w ORDER BY t',
	'DECLARE c SCROLL CURSOR FOR SELECT * FROM w WHERE g < 40 ORDER BY t, k',
	'INSERT INTO w_copy SELECT id, k FROM w ORDER BY t',
	'INSERT INTO w_copy SELECT id, k, row_number() OVER (PARTITION BY g, t ORDER BY k) FROM w',
	'INSERT INTO w_copy SELECT DISTINCT ON (t) id, k FROM w ORDER BY t, k',
	'SELECT * FROM w ORDER BY t FOR UPDATE',
	'SELECT nextval(''w_calls''), id FROM w ORDER BY t',
	'SELECT writes(id) FROM w ORDER BY t',
	'WITH i AS (INSERT INTO w_copy VALUES (0)) SELECT * FROM w ORDER BY t',
	'UPDATE w_copy SET r = 0 FROM (SELECT id FROM w ORDER BY t OFFSET 5) s WHERE s.id = w_copy.id']) AS query;
-- And which have none: what workers may not read or evaluate, or would have to be evaluated for them in parallel mode.
CREATE TEMP TABLE w_temp AS SELECT * FROM w;
CREATE FUNCTION restricted(id bigint) RETURNS bigint LANGUAGE plpgsql PARALLEL RESTRICTED AS 'BEGIN RETURN id; END';
ANALYZE w_temp;
SELECT is_fed(query), query FROM unnest(ARRAY[
	'DECLARE c CURSOR FOR SELECT * FROM w_temp ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w WHERE restricted(id) > 0 ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w WHERE writes(id) > 0 ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w ORDER BY t, restricted(id)',
	'INSERT INTO w_copy SELECT id, k FROM w WHERE id > (SELECT nextval(''w_calls'') % 2) ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w WHERE EXISTS (SELECT FROM w_copy c WHERE c.id = -w.id OR c.r = w.g) ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w TABLESAMPLE SYSTEM (50) ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w WHERE now() > ''2000-01-01'' ORDER BY t',
	'SELECT generate_series(1, 2), nextval(''w_calls'') FROM w ORDER BY restricted(id)']) AS query;
SET max_parallel_workers_per_gather = 0;
SELECT is_fed('DECLARE c CURSOR FOR SELECT * FROM w ORDER BY t');
SET max_parallel_workers_per_gather = 3;
SET gpusort.mode = off;
SELECT is_fed('DECLARE c CURSOR FOR SELECT * FROM w ORDER BY t'), plan_contains('DECLARE c CURSOR FOR SELECT * FROM w ORDER BY t', 'Gather');
SET gpusort.mode = force;
CREATE FUNCTION workers_of(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF) ' || query LOOP
		IF line ~ 'Workers Launched' THEN
			RETURN substring(line FROM 'Launched: (\d+)');
		END IF;
	END LOOP;
END $$;
SELECT max(workers_of('DECLARE c CURSOR FOR SELECT * FROM w ORDER BY t')) > 0 AS cursor, max(workers_of('INSERT INTO w_copy SELECT id, k FROM w ORDER BY t')) > 0 AS insert,
	max(workers_of('SELECT * FROM w ORDER BY t FOR UPDATE')) > 0 AS for_update
FROM generate_series(1, 3);
TRUNCATE w_copy;

-- Rows by loops of PL/pgSQL, compared with those without gpusort.
SELECT check_query('SELECT * FROM w ORDER BY t') AS text, check_query('SELECT id, k FROM w WHERE dawdle(id) ORDER BY k') AS all_feed,
	check_query('SELECT id, row_number() OVER (PARTITION BY g ORDER BY t) FROM w ORDER BY g, t') AS windows,
	check_query('SELECT t, k, count(*) FROM w GROUP BY t, k ORDER BY t, k') AS grouped,
	check_query('SELECT DISTINCT ON (g) g, id FROM w ORDER BY g, t DESC') AS distinct_on,
	check_query('SELECT id FROM w WHERE dawdle(id) ORDER BY left(t, 3) COLLATE "und-x-icu", k') AS icu,
	check_query('SELECT id FROM w ORDER BY t LIMIT 10 OFFSET 20000') AS bounded,
	check_query('SELECT id FROM w WHERE id < 0 ORDER BY t') AS empty;
SET gpusort.work_mem = '256kB';
SELECT check_query('SELECT * FROM w ORDER BY t') AS through_files, check_query('SELECT * FROM w WHERE dawdle(id) ORDER BY k') AS through_files_too;

-- Cursors: some rows, all of them backwards, and writing in between; in memory, and through files.
CREATE FUNCTION check_cursor(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	r record;
	forward text[] := '{}';
	backward text[] := '{}';
BEGIN
	IF NOT is_fed('DECLARE c SCROLL CURSOR FOR ' || query) THEN
		RETURN 'not fed';
	END IF;
	OPEN c SCROLL FOR EXECUTE query;
	LOOP
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		forward := forward || r::text;
		IF cardinality(forward) % 10000 = 1 THEN
			INSERT INTO w_copy VALUES (r.id);
		END IF;
	END LOOP;
	LOOP
		FETCH PRIOR FROM c INTO r;
		EXIT WHEN NOT FOUND;
		backward := r::text || backward;
	END LOOP;
	CLOSE c;
	PERFORM set_config('gpusort.mode', 'off', true);
	RETURN CASE WHEN forward <> backward THEN 'backwards other rows than forwards' WHEN forward <> rows_of(query) THEN 'other rows than PostgreSQL' ELSE 'ok' END;
END $$;
SELECT check_cursor('SELECT id, k, t FROM w WHERE g < 20 ORDER BY k') AS through_files;
SET gpusort.work_mem = '64MB';
SELECT check_cursor('SELECT id, k, t FROM w WHERE g < 20 AND dawdle(id) ORDER BY k') AS in_memory;
SELECT count(*) AS written FROM w_copy;
TRUNCATE w_copy;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT id, k FROM w ORDER BY t;
FETCH 2 FROM held;
INSERT INTO w_copy SELECT id, k FROM w WHERE id <= 3 ORDER BY t;
COMMIT;
FETCH 2 FROM held;
MOVE ALL IN held;
CLOSE held;
SELECT id FROM w_copy;

-- What is written before, above and after the sort; sorts in a transaction that has written to the table, in savepoints, at other isolation levels.
SELECT count(*), min(n), max(n), bool_and(n > before) AS in_order FROM (SELECT n, lag(n) OVER () AS before FROM (SELECT nextval('w_calls') AS n, id FROM w ORDER BY t) s) s;
SELECT sum(writes(id)) FROM (SELECT id FROM w WHERE g = 3 ORDER BY t OFFSET 0) s;
SELECT count(*) FROM (SELECT writes(id) FROM w WHERE g = 4 ORDER BY t) s;
SELECT count(*) FROM w_copy;
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE w SET filler = 'new' WHERE id % 3000 = 0;
DELETE FROM w WHERE id % 3000 = 1;
INSERT INTO w SELECT 30000 + id, k, g, 'f' || t, 'inserted' FROM w WHERE id <= 10 ORDER BY t;
SAVEPOINT s;
UPDATE w SET filler = 'newer' WHERE id % 6000 = 0;
SELECT check_query('SELECT * FROM w ORDER BY t') AS written_here;
ROLLBACK TO s;
SELECT check_query('SELECT * FROM w WHERE dawdle(id) ORDER BY t') AS rolled_back, count(*) FILTER (WHERE filler = 'new') AS new, count(*) FILTER (WHERE filler = 'newer') AS newer FROM w;
DECLARE c CURSOR FOR SELECT id, filler FROM w WHERE length(filler) < 9 AND filler <> repeat('x', length(filler)) ORDER BY t;
DELETE FROM w WHERE filler = 'inserted';
FETCH ALL FROM c;
ROLLBACK;

-- Errors in any process, above the sort, and limits of time; what is caught leaves nothing behind, and the next sort is as ever.
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END $$;
SELECT i, outcome('INSERT INTO w_copy SELECT id, k FROM w WHERE dawdle(id) AND 1 / (id - 20000) < 2 ORDER BY t') AS below,
	outcome('INSERT INTO w_copy SELECT id, 1 / (id - 20000) FROM w ORDER BY t') AS above,
	outcome('INSERT INTO w_copy SELECT id, k FROM w WHERE g = 5 ORDER BY t') AS none
FROM generate_series(1, 3) AS i;
SELECT count(*) FROM w_copy;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM w WHERE pg_sleep(0.001) IS NOT NULL ORDER BY t;
SET LOCAL statement_timeout = 200;
FETCH c;
ROLLBACK;
BEGIN;
INSERT INTO w_copy SELECT id, k FROM w WHERE g = 5 ORDER BY t;
SELECT count(*) FROM w_copy;
ROLLBACK;

-- The sort runs again and again; a function's lazily read query, which PostgreSQL does not run in parallel either.
SELECT count(*), sum(n) FROM (SELECT g AS o FROM w WHERE id <= 5) s, LATERAL (SELECT nextval('w_calls') * 0 + row_number() OVER (ORDER BY t) AS n FROM w WHERE g < 10 OFFSET 0) l WHERE o > -1;
INSERT INTO w_copy SELECT id, 0, o FROM generate_series(1, 5) AS o, LATERAL (SELECT id FROM w ORDER BY t LIMIT o * 10) s;
SELECT r, count(*), sum(id) FROM w_copy WHERE k = 0 GROUP BY r ORDER BY r;
CREATE FUNCTION first_of(gs int) RETURNS SETOF text LANGUAGE sql AS $$ SELECT t FROM w WHERE g < gs ORDER BY t $$;
SELECT first_of(30) LIMIT 3;
PREPARE into_copy(int) AS INSERT INTO w_copy SELECT id, k FROM w WHERE g < $1 ORDER BY t;
SET plan_cache_mode = force_generic_plan;
SELECT is_fed('EXECUTE into_copy(3)');
TRUNCATE w_copy;
EXECUTE into_copy(3);
EXECUTE into_copy(5);
SELECT count(*) = (SELECT count(*) FILTER (WHERE g < 3) + count(*) FILTER (WHERE g < 5) FROM w) AS all_rows FROM w_copy;

DROP TABLE w, w_copy, w_temp;
DROP SEQUENCE w_calls;
DROP FUNCTION dawdle, writes, is_fed, restricted, workers_of, check_cursor, outcome, first_of;
