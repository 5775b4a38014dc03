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

-- Here and there it takes a process a while, so that all of them have rows.  Its body stands in the place of a call, and calls PostgreSQL's own functions alone.
CREATE FUNCTION dawdle(id bigint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE WHEN id % 6000 = 1 THEN md5(repeat(id::text, 1000000)) <> '' ELSE true END $$;
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
	'INSERT INTO w_copy SELECT id, k FROM w WHERE dawdle(id) AND g IN (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31) ORDER BY left(t, 3), k',
	'SELECT nextval(''w_calls''), id FROM w ORDER BY t',
	'SELECT writes(id) FROM w ORDER BY t',
	'WITH i AS (INSERT INTO w_copy VALUES (0)) SELECT * FROM w ORDER BY t',
	'UPDATE w_copy SET r = 0 FROM (SELECT id FROM w ORDER BY t OFFSET 5) s WHERE s.id = w_copy.id']) AS query;
-- And which have none: what workers may not read or evaluate, or would have to be evaluated for them in parallel mode.
CREATE TEMP TABLE w_temp AS SELECT * FROM w;
CREATE FUNCTION restricted(id bigint) RETURNS bigint LANGUAGE plpgsql PARALLEL RESTRICTED AS 'BEGIN RETURN id; END';
-- PostgreSQL takes their word for it that they are safe.  A volatile one begins a command for its expression, one that isn't may call that one, and an exception block is a subtransaction.
CREATE FUNCTION ticks(id bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS 'BEGIN RETURN id + 0 * (clock_timestamp() > now())::int; END';
CREATE FUNCTION calls_ticks(id bigint) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE AS 'BEGIN RETURN ticks(id); END';
CREATE FUNCTION catches(id bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN id; EXCEPTION WHEN OTHERS THEN RETURN 0; END';
CREATE FUNCTION reads(id bigint) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT id + count(*) FROM pg_class WHERE relname = ''no such name''';
ANALYZE w_temp;
SELECT is_fed(query), query FROM unnest(ARRAY[
	'DECLARE c CURSOR FOR SELECT * FROM w_temp ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w WHERE restricted(id) > 0 ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w WHERE writes(id) > 0 ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w ORDER BY t, restricted(id)',
	'INSERT INTO w_copy SELECT id, k FROM w WHERE ticks(id) > 0 ORDER BY t',
	'DECLARE c CURSOR FOR SELECT * FROM w ORDER BY calls_ticks(id)',
	'DECLARE c CURSOR FOR SELECT * FROM w WHERE catches(id) > 0 ORDER BY t',
	'DECLARE c CURSOR FOR SELECT * FROM w WHERE reads(id) > 0 ORDER BY t',
	'DECLARE c CURSOR FOR SELECT * FROM w WHERE k <> extract(epoch FROM clock_timestamp()) ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w WHERE id > (SELECT nextval(''w_calls'') % 2) ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w WHERE EXISTS (SELECT FROM w_copy c WHERE c.id = -w.id OR c.r = w.g) ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w TABLESAMPLE SYSTEM (50) ORDER BY t',
	'INSERT INTO w_copy SELECT id, k FROM w WHERE now() > ''2000-01-01'' ORDER BY t',
	'SELECT generate_series(1, 2), nextval(''w_calls'') FROM w ORDER BY restricted(id)']) AS query;
-- What workers evaluate is listed (src/plan/own_expressions.c): columns, constants and parameters of any type, and PostgreSQL's functions that take and return its own types and read nothing of the session; own_functions tests these.
CREATE FUNCTION accepts(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN $1 >= 0; EXCEPTION WHEN OTHERS THEN RETURN false; END';
CREATE FUNCTION accepts_and_writes(int) RETURNS boolean LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN INSERT INTO w_copy VALUES (-$1); RETURN true; END';
CREATE DOMAIN w_checked AS int CHECK (accepts(VALUE));
CREATE DOMAIN w_written AS int CHECK (accepts_and_writes(VALUE));
CREATE TYPE w_pair AS (a int, b w_checked);
CREATE TYPE w_side AS ENUM ('left', 'right');
CREATE FUNCTION side_to_json(w_side) RETURNS json LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN to_json($1::text); EXCEPTION WHEN OTHERS THEN RETURN NULL; END';
CREATE CAST (w_side AS json) WITH FUNCTION side_to_json;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE w_typed AS SELECT id, t, g AS i, g::w_checked AS d, ROW(g, g)::w_pair AS p, ARRAY[g]::w_checked[] AS ds, (ARRAY['left', 'right'])[1 + g % 2]::w_side AS side, jsonb_build_object('i', g) AS j, ARRAY[g, g] AS a, ARRAY[t] AS texts, '2020-01-01'::timestamptz + make_interval(hours => id::int) AS at, t::varchar(40) AS v FROM w;
SET max_parallel_workers_per_gather = 3;
ALTER TABLE w_typed SET (parallel_workers = 3);
ANALYZE w_typed;
SELECT expression AS not_fed FROM unnest(ARRAY['d', 'p', 'ds', 'tableoid', 'd + 1', 'ds[1]', 'ds[1:2]', 'j[''i'']', 'j ->> ''i''', '(j -> ''i'')::int', 'j @> ''{"i": 1}''', 'j #>> ''{i}''', 'lower(t)', 't || i', 't LIKE ''a%''', 't ~* ''^a''', 't COLLATE "und-x-icu" < ''b''', 'left(t, 3)', 'md5(t)',
	'date_trunc(''month'', at)', 'at::date', 'extract(hour FROM at)', 'to_char(at, ''YYYY'')', 'at > now() - interval ''1 year''', 'at AT TIME ZONE ''UTC''', 'current_date', 'localtimestamp(0)', 'current_user', 'i::text', 'v::int8', 'i IN (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29)', 'i NOT IN (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29)', 't = ANY (texts)',
	'v IN (''a'', ''b'')', 'i = ANY (ARRAY[i, 2])', 'i = ANY (ARRAY[i, 2]::bigint[])', 'CASE i WHEN 1 THEN 2 ELSE 3 END', 'coalesce(d, 1)', 'nullif(i, 1)', 'i IS DISTINCT FROM 1', 'greatest(i, 5)', 'least(t, ''b'')', 'greatest(side, ''left'')', '(i, t) > (1, ''a'')', 'side = ''left''', 'side > ''left''', 'side IN (''left'', ''right'')', '(i > 1) IS TRUE AND NOT i = 2 OR t IS NULL']) AS expression
WHERE NOT is_fed(format('DECLARE c CURSOR FOR SELECT %s FROM w_typed ORDER BY t', expression));
-- And nothing else.  Some of these differ between processes, and some call functions of types, which may begin commands and subtransactions: a loop, INSERT ... SELECT and a cursor do as without gpusort.
CREATE FUNCTION looped(query text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN md5(array_to_string(rows_of(query), ',')); EXCEPTION WHEN OTHERS THEN RETURN sqlerrm; END $$;
CREATE FUNCTION inserted(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO w_copy SELECT id, hashtext(s::text), row_number() OVER () FROM (%s OFFSET 0) s', query);
	RETURN (SELECT md5(string_agg(w_copy::text, ',' ORDER BY r)) FROM w_copy WHERE id > 0);
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END $$;
CREATE FUNCTION fetched_by_two(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	r record;
	digest text := '';
BEGIN
	OPEN c FOR EXECUTE query;
	LOOP
		MOVE c;
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		digest := md5(digest || r::text);
	END LOOP;
	RETURN digest;
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END $$;
CREATE FUNCTION alike(way text, expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id, %s AS e FROM w_typed WHERE id %% 20 = 1 AND dawdle(id) ORDER BY t', expression);
	off text;
	forced text;
BEGIN
	PERFORM set_config('gpusort.mode', 'off', true);
	EXECUTE format('SELECT %I($1)', way) INTO off USING query;
	TRUNCATE w_copy;
	PERFORM set_config('gpusort.mode', 'force', true);
	EXECUTE format('SELECT %I($1)', way) INTO forced USING query;
	TRUNCATE w_copy;
	RETURN CASE WHEN off <> forced THEN format('off: %s, forced: %s', off, forced) WHEN off ~ '^[0-9a-f]{32}$' THEN 'ok' ELSE off END;
END $$;
BEGIN;
SET LOCAL client_encoding = LATIN1;
SELECT expression, alike('looped', expression) AS loop, alike('inserted', expression) AS insert, alike('fetched_by_two', expression) AS cursor FROM unnest(ARRAY[
	'i::w_checked', 'i::w_written', '(''{'' || i || ''}'')::w_checked[]', '(''{'' || i || ''}'')::w_written[]', 'a::w_checked[]', '(''(1,'' || i || '')'')::w_pair', 'jsonb_populate_record(NULL::w_pair, jsonb_set(''{"a": 1}'', ''{b}'', j -> ''i''))',
	'to_json(side)', 'to_jsonb(side)', 'row_to_json(ROW(side))', 'json_build_object(i, side)', 'array_to_json(ARRAY[side])', 'pg_client_encoding()']) AS expression;
ROLLBACK;
SELECT is_fed(format('DECLARE c CURSOR FOR SELECT %s FROM w_typed ORDER BY t', expression)), string_agg(expression, '; ' ORDER BY n) FROM unnest(ARRAY['inet_server_addr()', 'inet_client_port()', 'pg_backend_pid()', 'current_schema', 'session_user', 'current_catalog', 'current_schemas(true)', 'current_setting(''client_encoding'')', 'txid_current_if_assigned()', 'pg_stat_get_numscans(tableoid)',
	'has_table_privilege(''w'', ''select'')', 'to_regclass(t)', 'convert_from(t::bytea, ''LATIN1'')', 'ROW(i, t)', 'ROW(i, i)::w_pair', 'w_typed', '(p).a', 'p = p', 'p IS NULL', 'ds = ds', 'ds::text', 'p::text', 'a = a', 'a || 1', 'a @> a', 'greatest(a, a)', 'greatest(p, p)', '(i, a) > (1, a)', 'nullif(a, a)', 'a IN (a, ARRAY[1])', 'ARRAY[i]::w_checked[]',
	'concat(t, side)', 'format(''%s'', side)', 'int4range(i, i + 1) @> 5', 'side::text', 't::w_side']) WITH ORDINALITY AS e (expression, n) GROUP BY 1;
-- Rows that an operator class compares by a function of its own.
CREATE FUNCTION compare_nets(inet, inet) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN network_cmp($1, $2); END';
CREATE OPERATOR CLASS w_nets FOR TYPE inet USING btree AS OPERATOR 1 << (inet, inet), FUNCTION 1 compare_nets(inet, inet);
SELECT is_fed(format('DECLARE c CURSOR FOR SELECT (inet ''10.0.0.0'' + i, inet ''10.0.0.0'' + i) %s (inet ''10.0.0.9'', inet ''10.0.0.9'') FROM w_typed ORDER BY t', op)), op FROM unnest(ARRAY['<', '<<']) AS op;
DROP OPERATOR FAMILY w_nets USING btree;
DROP FUNCTION compare_nets;
-- PostgreSQL 15 has no such function.
SELECT count(*) FROM pg_proc WHERE proname = 'pg_input_is_valid' AND is_fed('DECLARE c CURSOR FOR SELECT pg_input_is_valid(t, ''w_pair'') FROM w_typed ORDER BY t');
DROP TABLE w_typed;
DROP CAST (w_side AS json);
DROP FUNCTION side_to_json, looped, inserted, fetched_by_two, alike;
DROP TYPE w_pair, w_side, w_checked, w_written;
DROP FUNCTION accepts, accepts_and_writes;
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
DECLARE c CURSOR FOR SELECT * FROM w WHERE md5(repeat(t, 20000)) <> '' ORDER BY t;
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


-- What PostgreSQL relies on where it plans nothing in parallel (src/exec/README.md, "Workers of its own"), one after the other; compared with what it does without gpusort.
TRUNCATE w_copy;
SET plan_cache_mode = auto;
CREATE FUNCTION in_modes(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	off text;
	forced text;
BEGIN
	PERFORM set_config('gpusort.mode', 'off', true);
	off := outcome(query);
	PERFORM set_config('gpusort.mode', 'force', true);
	forced := outcome(query);
	RETURN CASE WHEN off = forced THEN off ELSE format('off: %s, forced: %s', off, forced) END;
END $$;

-- Commands and subtransactions begin in functions that are called below the sort.
SELECT c, w, in_modes(format(query, w)) FROM (VALUES
	(1, 'INSERT INTO w_copy SELECT id, k FROM w WHERE %s > 0 ORDER BY t'),
	(2, 'SELECT id, k FROM w WHERE %s > 0 ORDER BY t FOR UPDATE'),
	(3, 'WITH i AS (INSERT INTO w_copy VALUES (0)) SELECT id, k FROM w WHERE g < 9 ORDER BY %s')) AS q (c, query),
	unnest(ARRAY['ticks(id)', 'calls_ticks(id)', 'catches(id)', 'reads(id)']) AS w ORDER BY 1, 2;
-- PostgreSQL has a parallel plan, which runs without workers where rows are read one after the other: with such functions, and with a sub-select whose own Gather stays open.
CREATE FUNCTION lazily(gs int) RETURNS SETOF text LANGUAGE sql STABLE AS $$ SELECT t FROM w WHERE g < gs AND calls_ticks(id) > 0 ORDER BY t $$;
CREATE FUNCTION lazily_exists(gs int) RETURNS SETOF text LANGUAGE sql STABLE AS $$ SELECT t FROM w WHERE (g < gs) = (EXISTS (SELECT FROM w AS o WHERE o.k <> 0)) ORDER BY t $$;
CREATE FUNCTION lazily_greatest(gs int) RETURNS SETOF text LANGUAGE sql STABLE AS $$ SELECT t FROM w WHERE g < (SELECT gs + min(o.id) FROM w AS o) ORDER BY t $$;
INSERT INTO w_copy SELECT length(lazily(5)) LIMIT 3;
INSERT INTO w_copy SELECT length(lazily_exists(5)) LIMIT 3;
INSERT INTO w_copy SELECT length(lazily_greatest(5)) LIMIT 3;
SELECT lazily(5), lazily_exists(5), lazily_greatest(4) LIMIT 2;
BEGIN;
DECLARE c CURSOR FOR SELECT lazily(5), lazily_exists(5), lazily_greatest(4);
FETCH 1 FROM c;
INSERT INTO w_copy VALUES (1);
FETCH 1 FROM c;
COMMIT;

-- What the transaction has done before: rows inserted, changed and deleted, also by the query itself, in savepoints; tables whose files are new; locks.
TRUNCATE w_copy;
BEGIN;
INSERT INTO w SELECT 50000 + id, k, g, 'n' || t, 'new' FROM w WHERE id <= 40;
SAVEPOINT s;
UPDATE w SET filler = 'changed' WHERE id BETWEEN 50001 AND 50020;
DELETE FROM w WHERE id BETWEEN 50011 AND 50030;
SAVEPOINT s2;
DELETE FROM w WHERE id > 50000;
ROLLBACK TO s2;
RELEASE s;
SELECT check_query('SELECT * FROM w WHERE dawdle(id) ORDER BY t') AS changed_here, count(*) FILTER (WHERE filler = 'new') AS new, count(*) FILTER (WHERE filler = 'changed') AS changed FROM w;
WITH u AS (UPDATE w SET filler = 'again' WHERE id > 50000 RETURNING id), s AS (SELECT id, filler FROM w WHERE id > 50000 AND dawdle(id) ORDER BY t)
SELECT u.count AS updated, s.filler, count(*) FROM (SELECT count(*) FROM u) u, s GROUP BY 1, 2 ORDER BY 2;
LOCK TABLE w IN ACCESS EXCLUSIVE MODE;
INSERT INTO w_copy SELECT id, k FROM w WHERE filler = 'again' ORDER BY t;
SELECT count(*) FROM w_copy;
CREATE TABLE w_new AS SELECT * FROM w WHERE id > 20000;
ALTER TABLE w_new SET (parallel_workers = 3);
SELECT is_fed('DECLARE c CURSOR FOR SELECT id, k FROM w_new ORDER BY t'), check_query('SELECT id, k FROM w_new WHERE dawdle(id) ORDER BY t') AS new_file;
TRUNCATE w_new;
INSERT INTO w_new SELECT * FROM w WHERE id > 25000 ORDER BY t;
SELECT check_query('SELECT id, k FROM w_new WHERE dawdle(id) ORDER BY t') AS another_file;
ROLLBACK;

-- The snapshot is the query's: a function that isn't volatile sees what the query that calls it sees; one that is sees what it has written itself.
CREATE FUNCTION rows_seen(above bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
	n bigint := 0;
	r record;
BEGIN
	FOR r IN SELECT id FROM w WHERE w.id > above ORDER BY t LOOP
		n := n + 1;
	END LOOP;
	RETURN n;
END $$;
CREATE FUNCTION write_and_see(above bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO w VALUES (60001, 0, 0, 'seen', 'new');
	RETURN rows_seen(above);
END $$;
BEGIN;
WITH i AS (INSERT INTO w VALUES (60000, 0, 0, 'unseen', 'new') RETURNING id) SELECT id, rows_seen(29990) FROM i;
SELECT rows_seen(29990), write_and_see(29990), rows_seen(29990) AS afterwards FROM generate_series(1, 2);
ROLLBACK;

-- Settings are those of the moment, not those of the executor's start.
BEGIN;
SET LOCAL TimeZone = 'UTC';
DECLARE c CURSOR FOR SELECT id, (timestamptz '2020-01-01 UTC' + make_interval(secs => id))::text FROM w WHERE id > 29990 AND dawdle(id) ORDER BY t;
SET LOCAL TimeZone = 'Asia/Tokyo';
FETCH 3 FROM c;
ROLLBACK;

-- Triggers write for each row, before and after, and at the transaction's end; a procedure commits while it reads.
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	n bigint := 0;
	r record;
BEGIN
	IF TG_WHEN = 'AFTER' AND new.id % 400 = 0 THEN
		FOR r IN SELECT id FROM w WHERE g = 3 ORDER BY t LOOP
			n := n + r.id;
		END LOOP;
		INSERT INTO w_noted VALUES (new.id, n);
	ELSIF TG_WHEN = 'BEFORE' THEN
		INSERT INTO w_noted VALUES (-new.id, 0);
	END IF;
	RETURN new;
END $$;
CREATE TABLE w_noted (id bigint, n bigint);
CREATE TRIGGER before BEFORE INSERT ON w_copy FOR EACH ROW EXECUTE FUNCTION note();
CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON w_copy DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO w_copy SELECT id, k FROM w WHERE id <= 1000 ORDER BY t;
SELECT count(*) AS inserted, count(*) FILTER (WHERE n.id < 0) AS before, count(*) FILTER (WHERE n.n = s.sum) AS deferred FROM w_noted n, (SELECT sum(id) FROM w WHERE g = 3) s;
DROP TRIGGER before ON w_copy;
DROP TRIGGER deferred ON w_copy;
TRUNCATE w_copy;
CREATE PROCEDURE commit_each() LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT id, t FROM w WHERE g = 3 AND dawdle(id) ORDER BY t LOOP
		INSERT INTO w_copy VALUES (r.id);
		COMMIT;
		EXIT WHEN r.id % 10 = 0;
	END LOOP;
END $$;
CALL commit_each();
SELECT max(rank) = count(*) AS first_ones FROM w_copy JOIN (SELECT id, rank() OVER (ORDER BY t) FROM w WHERE g = 3) s USING (id);

-- Queries within queries that run in parallel: in the leader, above and below the Gather, and in workers.
CREATE FUNCTION loops(gs bigint) RETURNS bigint LANGUAGE plpgsql PARALLEL RESTRICTED AS $$ BEGIN RETURN rows_seen(30000 - gs); END $$;
CREATE FUNCTION loops_safely(gs bigint) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$ BEGIN RETURN rows_seen(30000 - gs); END $$;
SELECT plan_contains('SELECT loops(count(*)) FROM w WHERE g = 1', 'Gather') AS above, plan_contains('SELECT id FROM w WHERE id % 3000 = 1 AND loops_safely(g) = g', 'Gather') AS below;
SELECT loops(count(*)) = count(*) FROM w WHERE g = 1;
SELECT count(*) FROM w WHERE id % 6000 = 1 AND loops_safely(g) = g;
SELECT min(loops(g)) FROM w WHERE id % 6000 = 1 AND g > (SELECT 0 * count(*) FROM w) AND EXISTS (SELECT FROM w AS o WHERE o.k <> 0);

-- Who may read is decided when a cursor is opened.  Rows of a cursor that one user opens and another one reads, with something in between that is undone at last.
CREATE ROLE regress_gpusort_opener;
CREATE ROLE regress_gpusort_fetcher;
CREATE ROLE regress_gpusort_viewer;
REVOKE EXECUTE ON FUNCTION abs(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION abs(bigint) TO regress_gpusort_opener;
CREATE VIEW w_view AS SELECT id, k, g, t FROM w;
ALTER VIEW w_view OWNER TO regress_gpusort_viewer;
GRANT SELECT ON w TO regress_gpusort_viewer;
CREATE TABLE w_guarded AS SELECT * FROM w;
ALTER TABLE w_guarded ENABLE ROW LEVEL SECURITY;
ALTER TABLE w_guarded SET (parallel_workers = 3);
CREATE POLICY by_user ON w_guarded USING (g < CASE current_user WHEN 'regress_gpusort_opener' THEN 20 ELSE 30 END);
GRANT SELECT ON w, w_view, w_guarded TO regress_gpusort_opener;
CREATE FUNCTION fetched(query text, fetcher text, meanwhile text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	r record;
	rows int := 0;
	digest bigint := 0;
BEGIN
	SET LOCAL ROLE regress_gpusort_opener;
	OPEN c FOR EXECUTE query;
	RESET ROLE;
	EXECUTE meanwhile;
	PERFORM set_config('role', fetcher, true);
	LOOP
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		rows := rows + 1;
		digest := hashtextextended(r::text, digest);
	END LOOP;
	RAISE EXCEPTION '% rows: %', rows, digest;
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END $$;
CREATE FUNCTION fetched_alike(query text, fetcher text, meanwhile text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	off text;
	forced text;
BEGIN
	PERFORM set_config('gpusort.mode', 'off', true);
	off := fetched(query, fetcher, meanwhile);
	PERFORM set_config('gpusort.mode', 'force', true);
	IF NOT is_fed('DECLARE c CURSOR FOR ' || query) THEN
		RETURN 'not fed';
	END IF;
	forced := fetched(query, fetcher, meanwhile);
	RETURN CASE WHEN off = forced THEN regexp_replace(off, 'rows: .*', 'rows') ELSE format('off: %s, forced: %s', off, forced) END;
END $$;
SELECT fetcher, query, meanwhile, fetched_alike('SELECT id, t FROM ' || query || ' ORDER BY t, k', fetcher, meanwhile) FROM (VALUES
	('w WHERE g < 10', 'SELECT 1'),
	('w WHERE abs(id) < 5000', 'SELECT 1'),
	('w WHERE g < 10', 'REVOKE SELECT ON w FROM regress_gpusort_opener'),
	('w WHERE abs(id) < 5000', 'REVOKE EXECUTE ON FUNCTION abs(bigint) FROM regress_gpusort_opener'),
	('w WHERE g IN (1, 2, 3, 5, 7, 11, 13, 17, 19, 23)', 'REVOKE EXECUTE ON FUNCTION hashint4(int) FROM PUBLIC'),
	('w_view WHERE g < 10', 'DROP VIEW w_view'),
	('w_view WHERE g < 10', 'REVOKE SELECT ON w FROM regress_gpusort_viewer'),
	('w_guarded WHERE id % 2 = 0', 'DROP POLICY by_user ON w_guarded'),
	('w WHERE g < CASE current_user WHEN ''regress_gpusort_opener'' THEN 20 ELSE 30 END', 'SELECT 1'),
	('w WHERE g < 10', 'ALTER ROLE regress_gpusort_opener NOLOGIN')) AS v (query, meanwhile),
	unnest(ARRAY['regress_gpusort_opener', 'regress_gpusort_fetcher']) AS fetcher ORDER BY 1, 2, 3;
-- By a function that runs as another user; held open, at the transaction's end; a function that may read what its caller may not, by a loop.
CREATE FUNCTION opens(query text) RETURNS refcursor LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	c refcursor := 'opened';
BEGIN
	OPEN c FOR EXECUTE query;
	RETURN c;
END $$;
CREATE FUNCTION loops_for_others() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN cardinality(rows_of('SELECT id, t FROM w WHERE dawdle(id) ORDER BY t')) || ' rows'; END $$;
BEGIN;
SET LOCAL ROLE regress_gpusort_fetcher;
SELECT opens('SELECT id, abs(k) >= 0 AS ok FROM w WHERE g < 50 AND dawdle(id) ORDER BY t');
FETCH 2 FROM opened;
MOVE ALL IN opened;
SELECT loops_for_others();
COMMIT;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT id, k FROM w WHERE dawdle(id) ORDER BY t;
SET LOCAL ROLE regress_gpusort_fetcher;
COMMIT;
FETCH 1 FROM held;
MOVE ALL IN held;
CLOSE held;
DROP VIEW w_view;
DROP TABLE w_guarded, w_noted;
REVOKE ALL ON w FROM regress_gpusort_opener, regress_gpusort_viewer;
REVOKE ALL ON FUNCTION abs(bigint) FROM regress_gpusort_opener;
GRANT EXECUTE ON FUNCTION abs(bigint) TO PUBLIC;
DROP ROLE regress_gpusort_opener, regress_gpusort_fetcher, regress_gpusort_viewer;

DROP TABLE w, w_copy, w_temp;
DROP SEQUENCE w_calls;
DROP PROCEDURE commit_each;
DROP FUNCTION dawdle, writes, is_fed, restricted, ticks, calls_ticks, catches, reads, workers_of, check_cursor, outcome, first_of, in_modes, lazily, lazily_exists, lazily_greatest, rows_seen, write_and_see, note, loops, loops_safely, fetched, fetched_alike, opens, loops_for_others;
