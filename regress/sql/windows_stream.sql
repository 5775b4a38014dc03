--
-- GpuWindow: functions over a window whose results need few rows at a time.  (window_ranks has row_number() and ranks.)
--
CREATE SCHEMA windows_stream;
SET search_path = windows_stream, public;
CREATE FUNCTION unknown_ntile(int) RETURNS int LANGUAGE internal WINDOW STRICT IMMUTABLE AS 'window_ntile';
-- Few values, with NULLs, peers and NaN; id says every row, in no order of the table.
CREATE TABLE r AS
SELECT (noise(i) & 65535)::int * 4096 + i AS id, CASE WHEN i % 11 > 0 THEN (noise(i, 1) % 40)::int END AS few, (i % 3 = 0) AS b,
	CASE WHEN i % 7 > 0 THEN (noise(i, 2) % 1000)::int END AS x, (noise(i, 3) % 100000)::bigint AS big,
	CASE WHEN i % 13 > 0 THEN repeat(md5((i % 60)::text), i % 5) END COLLATE "C" AS t,
	(ARRAY[1, 1.0, 1.00, 2.5, 2.500, 'NaN', NULL, 0, 0.000, -3])[1 + i % 10]::numeric AS scaled,
	(ARRAY['0', '-0', 'NaN', '1', '-1', NULL])[1 + i % 6]::float8 AS f, date '2000-01-01' + i % 5 AS d, ARRAY[i % 4, NULL] AS arr, ('name ' || i % 6)::name AS n
FROM generate_series(1, 2000) AS i;
ALTER TABLE r ADD PRIMARY KEY (id);
VACUUM ANALYZE r;

-- Runs a query with gpusort off and forced, and compares the rows one by one, in their order; so many windows are to be taken, and
-- others left.
CREATE FUNCTION check_windows(query text, taken int DEFAULT 1, others int DEFAULT 0) RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	rows_off text[];
	rows_forced text[];
	result text;
BEGIN
	rows_off := rows_of(query);
	PERFORM set_config('gpusort.mode', 'force', true);
	IF nodes(query, '(GpuWindow)') <> taken OR nodes(query, 'WindowAgg') <> others THEN
		RETURN format('%s windows taken, %s left', nodes(query, '(GpuWindow)'), nodes(query, 'WindowAgg'));
	END IF;
	rows_forced := rows_of(query);
	PERFORM set_config('gpusort.mode', 'off', true);
	result := compare_rows(rows_off, rows_forced);
	RETURN CASE WHEN rows_off = rows_forced OR result NOT LIKE 'ok%' THEN result ELSE 'another order' END;
END $$;
-- The same of some expressions over a window of r; each row is there with its id.
CREATE FUNCTION check_over(expressions text, over text DEFAULT 'PARTITION BY few ORDER BY id') RETURNS text
LANGUAGE sql AS $$ SELECT check_windows(format('SELECT id, %s FROM r WINDOW w AS (%s)', expressions, over)) $$;
-- A check that cannot fail is no check.
SELECT check_over('lag(id) OVER w, current_setting(''gpusort.mode'')') AS other_rows, check_windows('SELECT id FROM r ORDER BY id') AS none,
	check_windows('SELECT id, lag(id) OVER (ORDER BY id) FROM r ORDER BY current_setting(''gpusort.mode'') <> ''off'', id', 1) AS the_same;

-- What EXPLAIN prints.
SET gpusort.mode = force;
EXPLAIN (VERBOSE, COSTS OFF) SELECT lag(id, 2) OVER w, count(*) OVER w, sum(x) FILTER (WHERE b) OVER w, string_agg(t, ',') OVER w FROM r WINDOW w AS (PARTITION BY few ORDER BY big, id);
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT id, count(*) OVER (ORDER BY big, id) AS c FROM r) s WHERE c <= 3;
-- What is left to PostgreSQL, and why.
SELECT call, (SELECT regexp_replace(how, '.*(a window above the sort copies all rows \(WindowAgg\): |the window above the sort )', '')
	FROM gpusort_check(format('SELECT %s FROM r WINDOW w AS (ORDER BY big, id), rows AS (ORDER BY big, id ROWS UNBOUNDED PRECEDING)', call))) AS window
FROM unnest('{"lag(x) OVER w","lag(x, 100) OVER w, lead(x, -100) OVER w","lag(x, 101) OVER w","lead(x, 101) OVER w","lead(x, few) OVER w","lag(x, NULL) OVER w","lag(x + 1) OVER w",
	"lag(x, 1, few) OVER w","lag(x, 1, 2.5) OVER w","first_value(x + 1) OVER w","nth_value(x, 0) OVER w","nth_value(x, few) OVER w","nth_value(x, NULL) OVER w","last_value(x) OVER w",
	"ntile(4) OVER w","ntile(few) OVER w","ntile(NULL) OVER w","ntile(0) OVER w","percent_rank() OVER w","cume_dist() OVER w","unknown_ntile(4) OVER w","sum(x) OVER (w ROWS 3 PRECEDING)","sum(x) OVER (w RANGE CURRENT ROW)","rank() OVER (w RANGE CURRENT ROW)",
	"sum(x) OVER (w ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)","last_value(x) OVER (w ROWS UNBOUNDED PRECEDING EXCLUDE TIES)","sum(x) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)",
	"sum(random()) OVER w","count(*) FILTER (WHERE random() < 2) OVER w","lag(x) OVER w, unknown_ntile(4) OVER w","sum(x + 1) OVER w, random()"}'::text[]) AS call;
RESET gpusort.mode;

-- lag() and lead(), of columns of every kind.
SELECT c, check_over(format('lag(%1$s) OVER w, lead(%1$s) OVER w', c)) AS one, check_over(format('lag(%1$s, 3) OVER w, lag(%1$s, 0) OVER w, lead(%1$s, 7) OVER w, lead(%1$s, 2) OVER w', c), 'PARTITION BY b ORDER BY few, id') AS more,
	check_over(format('lag(%1$s, 100) OVER w, lead(%1$s, 100) OVER w, lag(%1$s, -5) OVER w, lead(%1$s, -5) OVER w', c), 'ORDER BY big DESC, id') AS no_partitions
FROM unnest('{id,few,b,big,t,scaled,f,d,arr,n}'::text[]) AS c;
SELECT check_over('lag(x, 2, -1) OVER w, lead(x, 2, -2) OVER w, lag(t, 1, ''none'') OVER w, lead(t, 1, NULL) OVER w') AS defaults,
	check_over('lag(x, 1, NULL) OVER w + lead(x, 1, 0) OVER w, CASE WHEN lag(b) OVER w THEN lead(t) OVER w END, row_number() OVER w, rank() OVER w') AS in_expressions,
	check_over('lag(t::varchar) OVER w, lag(n::text) OVER w', 'ORDER BY id') IS NOT NULL AS casts,
	check_over('lag(x) OVER w, lead(x) OVER w', 'PARTITION BY few, b, t ORDER BY id') AS small_partitions, check_over('lag(x) OVER w, lead(x, 3) OVER w', 'PARTITION BY id') AS single_rows,
	check_over('lead(x, 100) OVER w', 'PARTITION BY few, b ORDER BY id') AS smaller_than_lead;
SELECT check_windows('SELECT id, lead(id) OVER (ORDER BY id) FROM r WHERE false') AS nothing, check_windows('SELECT id, lead(id) OVER (ORDER BY id), lag(id) OVER (ORDER BY id) FROM r WHERE id = (SELECT max(id) FROM r)') AS one_row;

-- Functions of the number of a partition's rows, over partitions of any size, with peers and without, beside others, in memory and in
-- a tuplestore.
SELECT over, check_over('ntile(1) OVER w, ntile(2) OVER w, ntile(7) OVER w, ntile(49) OVER w, ntile(50) OVER w, ntile(51) OVER w, ntile(100000) OVER w', over || ', id') AS buckets,
	check_windows(format('SELECT * FROM (SELECT id, percent_rank() OVER w, cume_dist() OVER w, rank() OVER w FROM r WINDOW w AS (%s)) s ORDER BY id', over)) AS ranks,
	check_windows(format('SELECT * FROM (SELECT id, cume_dist() OVER w, sum(x) OVER w, count(*) OVER w, max(few) OVER w FROM r WINDOW w AS (%s)) s ORDER BY id', over)) AS beside_frames,
	check_over('lag(t, 2) OVER w, lead(x, 3) OVER w, ntile(4) OVER w, percent_rank() OVER w, cume_dist() OVER w, sum(x) OVER w', over || ', id') AS beside_others,
	check_over('cume_dist() OVER w, max(t) OVER w, sum(x) OVER w', over || ', id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING') AS beside_partitions
FROM unnest('{"PARTITION BY few ORDER BY d","PARTITION BY few, b, d ORDER BY scaled","PARTITION BY b ORDER BY few DESC","ORDER BY scaled, f","PARTITION BY id ORDER BY few","ORDER BY big"}'::text[]) AS over;
SET work_mem = '64kB';
SELECT check_over('ntile(9) OVER w, percent_rank() OVER w, lead(t, 20) OVER w, t', 'PARTITION BY b ORDER BY id') AS stored,
	check_windows('SELECT * FROM (SELECT id, t, cume_dist() OVER w, percent_rank() OVER w, sum(x) OVER w, count(*) OVER w FROM r WINDOW w AS (ORDER BY few)) s ORDER BY id') AS stored_with_peers,
	check_windows('SELECT g, s.* FROM generate_series(0, 3) AS g, LATERAL (SELECT id, cume_dist() OVER w, ntile(3) OVER w, t FROM r WHERE id % 3 <> g WINDOW w AS (PARTITION BY b ORDER BY id) LIMIT 400 * g) s') AS left_early;
RESET work_mem;
SELECT check_windows('SELECT * FROM (SELECT id, few, ntile(5) OVER (PARTITION BY few ORDER BY id) AS n FROM r) s WHERE n <= 2 ORDER BY id') AS first_buckets,
	check_windows('SELECT * FROM (SELECT id, few, percent_rank() OVER (PARTITION BY few ORDER BY id) AS n, lag(x) OVER (PARTITION BY few ORDER BY id, b) FROM r) s WHERE n < 0.25 ORDER BY id', 2) AS first_quarter,
	check_windows('SELECT id, ntile(3) OVER (), cume_dist() OVER (), percent_rank() OVER () FROM (SELECT * FROM r ORDER BY id OFFSET 0) s') AS no_order, check_windows('SELECT ntile(3) OVER (ORDER BY id), cume_dist() OVER (ORDER BY id) FROM r WHERE false') AS nothing;

-- Frames: rows, peers, groups and the whole partition.
SELECT frame, check_over('first_value(t) OVER w, nth_value(x, 2) OVER w, nth_value(t, 5) OVER w, row_number() OVER w', 'PARTITION BY few ORDER BY id ' || frame) AS first_values,
	check_over('last_value(id) OVER w, last_value(t) OVER w, nth_value(scaled, 1) OVER w', 'PARTITION BY few ORDER BY id ' || frame) AS last_values,
	check_over('sum(x) OVER w, count(*) OVER w, count(t) OVER w, max(t) OVER w, min(scaled) OVER w, avg(big) OVER w', 'PARTITION BY few ORDER BY id ' || frame) AS aggregates,
	check_windows(format('SELECT * FROM (SELECT id, sum(x) OVER w, count(*) OVER w, max(f) OVER w, bool_and(b) OVER w, rank() OVER w, dense_rank() OVER w FROM r WINDOW w AS (PARTITION BY b ORDER BY few %s)) s ORDER BY id', CASE WHEN frame LIKE 'ROWS%' THEN ', id ' ELSE '' END || frame)) AS peers,
	check_over('sum(x) OVER w, lead(x, 2) OVER w, lag(t) OVER w, last_value(x) OVER w, count(*) OVER w', 'PARTITION BY b ORDER BY few, id ' || frame) AS together
FROM unnest('{"",ROWS UNBOUNDED PRECEDING,RANGE UNBOUNDED PRECEDING,GROUPS UNBOUNDED PRECEDING,ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING,RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING}'::text[]) AS frame;
-- Peers by columns that are equal though their bytes differ, by several columns, and without an order.
SELECT k, check_windows(format('SELECT * FROM (SELECT id, count(*) OVER w, sum(x) OVER w, last_value(%1$s) OVER w IS NULL, rank() OVER w FROM r WINDOW w AS (ORDER BY %1$s)) s ORDER BY id', k)) AS peers,
	check_windows(format('SELECT * FROM (SELECT id, count(*) OVER w, sum(x) FILTER (WHERE b) OVER w FROM r WINDOW w AS (PARTITION BY %1$s)) s ORDER BY id', k)) AS no_order
FROM unnest('{few,b,t,scaled,f,d,arr,n}'::text[]) AS k;
SELECT check_windows('SELECT * FROM (SELECT id, count(*) OVER w, sum(x) OVER w FROM r WINDOW w AS (PARTITION BY d ORDER BY few DESC NULLS LAST, scaled)) s ORDER BY id') AS two_columns,
	check_windows('SELECT id, count(*) OVER (), sum(x) OVER (), first_value(id) OVER () FROM (SELECT * FROM r ORDER BY id OFFSET 0) s') AS whole_input,
	check_windows('SELECT id, count(*) OVER (), sum(x) OVER () FROM r WHERE false') AS nothing,
	check_over('sum(x) OVER w, last_value(x) OVER w', 'ROWS UNBOUNDED PRECEDING') IS NOT NULL AS no_order_in_rows;

-- Aggregates of all kinds: by value and by reference, strict and not, with initial values and without, with final functions.
SELECT a, check_over(format('%s OVER w', a), 'PARTITION BY few ORDER BY id ROWS UNBOUNDED PRECEDING') AS rows, check_over(format('%s OVER w, %1$s FILTER (WHERE b) OVER w', a), 'PARTITION BY few ORDER BY id') AS peers,
	check_over(format('%s OVER w, %1$s FILTER (WHERE x > 0) OVER w', a), 'PARTITION BY few ORDER BY d, id ROWS UNBOUNDED PRECEDING') AS filtered
FROM unnest('{sum(x),sum(big),sum(scaled),sum(f),avg(x),avg(scaled),avg(f),count(*),count(t),min(x),max(x),min(t),max(t),max(scaled),max(arr),max(d),bool_or(b),bit_and(x),stddev(x),variance(scaled),corr(f x),regr_slope(f x),
	array_agg(x),array_agg(t),array_agg(arr),"string_agg(t, few::text)",json_agg(x),jsonb_agg(t),"jsonb_object_agg(id, x)",every(b),max(n::text),sum(x + few),sum(length(t))}'::text[]) AS names,
	replace(names, 'f x', 'f, x') AS a;
-- Aggregates made by users: strict without initial value, returning NULL once, in PL/pgSQL and SQL, polymorphic, with arguments for
-- the final function, moving ones that would show, and those that look at where they are called.
CREATE FUNCTION longer(text, text) RETURNS text LANGUAGE plpgsql STRICT AS $$ BEGIN RETURN CASE WHEN length($2) = 32 THEN NULL WHEN length($2) > length($1) THEN $2 ELSE $1 END; END $$;
CREATE AGGREGATE longest(text) (SFUNC = longer, STYPE = text);
CREATE FUNCTION put_first(anyarray, anyelement) RETURNS anyarray LANGUAGE plpgsql AS $$ BEGIN RETURN $2 || $1; END $$;
CREATE FUNCTION put_last(anyarray, anyelement) RETURNS anyarray LANGUAGE plpgsql AS $$ BEGIN $1 := $1 || $2; RETURN $1; END $$;
CREATE AGGREGATE reversed(anyelement) (SFUNC = put_first, STYPE = anyarray, INITCOND = '{}');
CREATE AGGREGATE appended(anyelement) (SFUNC = put_last, STYPE = anyarray, INITCOND = '{}');
-- Changes what it gets, if it may.
CREATE FUNCTION closed(anycompatiblearray) RETURNS anycompatiblearray LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN $1 := array_append($1, NULL); RETURN $1; END $$;
CREATE AGGREGATE closed_list(anycompatible) (SFUNC = array_append, STYPE = anycompatiblearray, INITCOND = '{}', FINALFUNC = closed);
CREATE AGGREGATE collected(anycompatible) (SFUNC = array_append, STYPE = anycompatiblearray, INITCOND = '{}');
CREATE FUNCTION described(int, int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT format('state %s, argument %s', $1, coalesce($2, -1)) $$;
CREATE AGGREGATE described_sum(int) (SFUNC = int4larger, STYPE = int, FINALFUNC = described, FINALFUNC_EXTRA);
CREATE FUNCTION plus(bigint, int) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT coalesce($1, 0) + coalesce($2, 0) $$;
CREATE FUNCTION moving_plus(bigint, int) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'moving'; END $$;
CREATE AGGREGATE moving_sum(int) (SFUNC = plus, STYPE = bigint, INITCOND = '100', MSFUNC = moving_plus, MINVFUNC = moving_plus, MSTYPE = bigint);
CREATE FUNCTION several_add(text, int, text, boolean) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT right(coalesce($1, '') || coalesce($2::text, '?') || coalesce(left($3, 1), '!') || coalesce($4::text, '-'), 30) $$;
CREATE AGGREGATE several(int, text, boolean) (SFUNC = several_add, STYPE = text);
SELECT a, check_over(format('%s OVER w', a), 'PARTITION BY few ORDER BY id ROWS UNBOUNDED PRECEDING') AS rows, check_over(format('%s OVER w, %1$s FILTER (WHERE b) OVER w', a)) AS peers
FROM unnest('{longest(t),reversed(x),reversed(t),appended(x),appended(t),closed_list(x),closed_list(t),collected(x),collected(t),described_sum(x),moving_sum(x),"several(x, t, b)"}'::text[]) AS a;
-- An aggregate whose final function changes the state is PostgreSQL's, with its error.
CREATE AGGREGATE spoiling(int) (SFUNC = int4larger, STYPE = int, FINALFUNC = int4abs, FINALFUNC_MODIFY = READ_WRITE);
SET gpusort.mode = force;
SELECT spoiling(x) OVER (ORDER BY id) FROM r;
-- One whose transition function became strict has no first state.
CREATE FUNCTION weak(bigint, text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT coalesce($1, 0) + 1 $$;
CREATE AGGREGATE weak_count(text) (SFUNC = weak, STYPE = bigint);
ALTER FUNCTION weak(bigint, text) STRICT;
DO $$ BEGIN PERFORM weak_count(t) OVER (ORDER BY id) FROM r; EXCEPTION WHEN invalid_function_definition THEN RAISE NOTICE 'no first state'; END $$;
-- Aggregates that are dropped or altered once the statement is planned: until PostgreSQL 18 an SQL function plans all of its statements first.
CREATE AGGREGATE brief(int) (SFUNC = int4larger, STYPE = int);
CREATE FUNCTION sums_after_drop() RETURNS SETOF int LANGUAGE sql AS $$ DROP AGGREGATE brief(int); SELECT brief(x) OVER (ORDER BY id) FROM r $$;
CREATE FUNCTION sums_after_change() RETURNS SETOF int LANGUAGE sql AS $$
	CREATE OR REPLACE AGGREGATE brief(int) (SFUNC = int4larger, STYPE = int, FINALFUNC = int4abs, FINALFUNC_MODIFY = READ_WRITE);
	SELECT brief(x) OVER (ORDER BY id) FROM r
$$;
DO $$ BEGIN PERFORM sum(n) FROM sums_after_change() AS n; EXCEPTION WHEN feature_not_supported THEN RAISE NOTICE '%', SQLERRM; END $$;
DO $$ BEGIN PERFORM sum(n) FROM sums_after_drop() AS n; EXCEPTION WHEN internal_error OR undefined_function THEN RAISE NOTICE 'no aggregate'; END $$;
RESET gpusort.mode;

-- Errors come at the rows at which PostgreSQL raises them, and arguments are not evaluated at others.
CREATE FUNCTION last_id() RETURNS int LANGUAGE sql STABLE AS $$ SELECT max(id) FROM r $$;
CREATE FUNCTION fails_at(int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN IF $1 = $2 THEN RAISE 'failed'; END IF; RETURN $1; END $$;
-- The rows until the error, and whether there was one.
CREATE FUNCTION until_error(query text, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	line record;
	n int := 0;
BEGIN
	PERFORM set_config('gpusort.mode', mode, true);
	OPEN c NO SCROLL FOR EXECUTE query;
	BEGIN
		LOOP
			FETCH c INTO line;
			EXIT WHEN NOT FOUND;
			n := n + 1;
		END LOOP;
	EXCEPTION WHEN raise_exception OR division_by_zero THEN
		RETURN n || ' rows, ' || SQLERRM;
	END;
	RETURN n || ' rows';
END $$;
SELECT q, until_error(query, 'off') AS off, until_error(query, 'force') AS forced
FROM unnest('{"lag(1 / (id - last)) OVER w","lead(1 / (id - first)) OVER w","sum(fails_at(n, 50)) OVER (w ROWS UNBOUNDED PRECEDING)","sum(fails_at(n, 50)) OVER w","sum(fails_at(n, 50)) OVER p","count(*) FILTER (WHERE fails_at(n, 50) > 0) OVER p, lead(n, 20) OVER p",
	"sum(fails_at(n, 50)) OVER (w ROWS UNBOUNDED PRECEDING), lead(n, 70) OVER (w ROWS UNBOUNDED PRECEDING)","sum(fails_at(n, 1)) OVER w","sum(fails_at(n, 100)) OVER w"}'::text[]) AS q,
	format('SELECT id, %s FROM (SELECT id, row_number() OVER (ORDER BY id)::int AS n, min(id) OVER () AS first, max(id) OVER () AS last FROM (SELECT id FROM r ORDER BY id LIMIT 100) i) s WINDOW w AS (ORDER BY id), p AS (ORDER BY n / 10)', q) AS query;
-- Of the first one some versions evaluate one row more.
SELECT until_error(counted, m) = until_error(counted, 'off') AS run_condition,
	until_error('SELECT id, sum(fails_at(id, last_id())) OVER (ORDER BY id) FROM r LIMIT 1999', m) AS limited,
	until_error('SELECT * FROM (SELECT id, count(*) OVER w AS n, sum(fails_at(id, last_id())) OVER w, rank() OVER (ORDER BY id) FROM r WINDOW w AS (ORDER BY id, x ROWS UNBOUNDED PRECEDING)) s WHERE n <= 5', m) AS below_another
FROM unnest('{off,force}'::text[]) AS m, (VALUES ('SELECT * FROM (SELECT id, count(fails_at(id, last_id())) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS n FROM r) s WHERE n <= 5')) AS v (counted);

-- Run conditions, at the top and below another window.
SELECT condition, check_windows('SELECT * FROM (SELECT id, few, count(*) OVER (PARTITION BY few ORDER BY id) AS n FROM r) s WHERE ' || condition) AS peers,
	check_windows('SELECT * FROM (SELECT id, few, count(x) OVER w AS n, lead(x) OVER w, sum(x) OVER w FROM r WINDOW w AS (PARTITION BY few ORDER BY id ROWS UNBOUNDED PRECEDING)) s WHERE ' || condition) AS rows,
	check_windows('SELECT * FROM (SELECT id, count(*) OVER w AS n, lag(t) OVER w AS t, array_agg(x) OVER w FROM r WINDOW w AS (ORDER BY id)) s WHERE ' || condition) AS one_partition,
	check_windows('SELECT * FROM (SELECT id, few, count(*) OVER (PARTITION BY few) AS n, lag(x) OVER (PARTITION BY few ORDER BY id) FROM r) s WHERE ' || condition || ' ORDER BY id', 2) AS whole_partition,
	check_windows('SELECT * FROM (SELECT id, count(*) OVER w AS n, max(t) OVER w AS t, sum(x) OVER (PARTITION BY few, b ORDER BY id) FROM r WINDOW w AS (PARTITION BY few ORDER BY id)) s WHERE ' || condition || ' ORDER BY id', 2) AS two_windows
FROM unnest('{n <= 3,n < 1,n = 2,n <= 30 AND id % 2 = 0,n > 3,n <= (SELECT 5)}'::text[]) AS condition;

-- Held rows in a tuplestore: units and lead() past work_mem, small ones between, columns of any length.
SET work_mem = '64kB';
SELECT check_windows('SELECT * FROM (SELECT id, t, count(*) OVER w, sum(x) OVER w, last_value(b) OVER w, rank() OVER w FROM r WINDOW w AS (ORDER BY b)) s ORDER BY id') AS large_units,
	check_windows('SELECT * FROM (SELECT id, t, count(*) OVER w, max(t) OVER w FROM r WINDOW w AS (PARTITION BY b ORDER BY CASE WHEN few > 0 THEN few END)) s ORDER BY id') AS one_large_unit,
	check_windows('SELECT id, lead(long, 100) OVER w = long, lead(long) OVER w, lag(long, 50) OVER w FROM (SELECT *, repeat(t, 30) AS long FROM r OFFSET 0) s WINDOW w AS (PARTITION BY b ORDER BY id)') AS large_lead,
	check_windows('SELECT id, sum(x) OVER w, lead(long, 60) OVER w, lead(x, 2) OVER w, count(*) OVER w FROM (SELECT *, repeat(t, 20) AS long FROM r OFFSET 0) s WINDOW w AS (PARTITION BY b ORDER BY id)') AS unit_and_lead,
	check_windows('SELECT id, sum(x) OVER w, count(*) OVER w, lead(t) OVER w FROM r WINDOW w AS (PARTITION BY few ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)') AS partitions,
	check_windows('SELECT * FROM (SELECT id, count(*) OVER w AS n, t, max(big) OVER w FROM r WINDOW w AS (PARTITION BY d ORDER BY b)) s WHERE n <= 300 ORDER BY id') AS run_condition;
RESET work_mem;
-- Ever larger units, while lead() has rows of the next ones.
SELECT check_windows('SELECT k, l, s FROM (SELECT k, lead(k, 2) OVER w AS l, sum(k) OVER w AS s FROM (SELECT sqrt(row_number() OVER (ORDER BY id))::int AS k FROM r) i WINDOW w AS (ORDER BY k)) o ORDER BY k, l, s', 2) AS growing_units;

-- Over a plain sort, an incremental sort, an index scan, a function, a subquery, workers, and other windows.
-- The hash is negative in a row, but not as its function returns it.
CREATE INDEX ON r (hashint4(few), id);
SET enable_seqscan = off;
SET enable_sort = off;
SET gpusort.mode = force;
SELECT nodes(query, 'r_hashint4_id_idx') AS by_index, check_windows(query) AS hashes
FROM (VALUES ('SELECT lead(id) OVER w, count(*) OVER w FROM r WHERE id > 0 WINDOW w AS (PARTITION BY hashint4(few) ORDER BY id)')) AS q (query);
RESET gpusort.mode;
RESET enable_sort;
SELECT check_windows('SELECT id, lag(id) OVER (ORDER BY id), sum(x) OVER (ORDER BY id) FROM r WHERE id > 0') AS index_scan;
RESET enable_seqscan;
SELECT check_windows('SELECT g, lead(g) OVER (), sum(g) OVER (ROWS UNBOUNDED PRECEDING) FROM generate_series(1, 50) AS g', 2) AS function_scan,
	check_windows('SELECT id, sum(x) OVER (PARTITION BY few ORDER BY left(t, 1)::text::backwards, id ROWS UNBOUNDED PRECEDING) FROM r') AS left_to_postgresql,
	check_windows('SELECT id, sum(x) OVER (PARTITION BY few ORDER BY id), unknown_ntile(3) OVER (PARTITION BY few ORDER BY id, b), lag(x) OVER (PARTITION BY few ORDER BY id, b) FROM r', 1, 1) AS below_another,
	check_windows('SELECT id, unknown_ntile(3) OVER (PARTITION BY few ORDER BY id), lag(x) OVER (PARTITION BY few ORDER BY id, b) FROM r ORDER BY id', 1, 1) AS beside_another,
	check_windows('SELECT count(*), sum(l), sum(s) FROM (SELECT lag(x) OVER w AS l, sum(x) OVER w AS s FROM r WINDOW w AS (PARTITION BY few ORDER BY id)) s') AS below_an_aggregate,
	check_windows('SELECT id, sum(sum(x)) OVER (ORDER BY id), lag(sum(x)) OVER (ORDER BY id), lag(max(t)) OVER (ORDER BY id) FROM r GROUP BY id') AS of_aggregates;
-- Sub-selects and parameters in arguments; loops; whole rows.
SELECT check_windows('SELECT id, sum((SELECT count(*) FROM r i WHERE i.id < r.id AND i.few = 3)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) FROM r WHERE few < 3') AS subplan,
	check_windows('SELECT id, sum(x + (SELECT max(few) FROM r)) OVER w, count(*) FILTER (WHERE x IN (SELECT few FROM r)) OVER w FROM r WINDOW w AS (ORDER BY id)') AS initplan,
	check_windows('SELECT o, (SELECT sum(l * s) FROM (SELECT lag(x) OVER w AS l, sum(x + o) OVER w AS s FROM r WHERE few < o WINDOW w AS (PARTITION BY b ORDER BY id)) s) FROM generate_series(-2, 6) AS o') AS in_a_loop,
	check_windows('SELECT o, (SELECT max(n) FROM (SELECT lead(id, 2) OVER (ORDER BY id) AS n FROM r LIMIT o) s) FROM generate_series(0, 4) AS o') AS limited_in_a_loop,
	check_windows('SELECT id, lag(r) OVER w, lead(r, 2) OVER w, r FROM r WINDOW w AS (PARTITION BY few ORDER BY id)') AS whole_rows,
	check_windows('SELECT id, lag(a) OVER w, lead(a) OVER w, last_value(a) OVER w FROM (SELECT id, few, array_append(arr, x) AS a FROM r OFFSET 0) s WINDOW w AS (PARTITION BY few ORDER BY id)') AS arrays,
	check_windows('SELECT lag(a) OVER w, last_value(a) OVER w, nth_value(a, 2) OVER w, a FROM (SELECT array_append(arr, x) AS a FROM (SELECT * FROM r ORDER BY id OFFSET 0) i OFFSET 0) s WINDOW w AS (ROWS UNBOUNDED PRECEDING)') AS arrays_in_memory,
	check_windows('SELECT * FROM (SELECT id, avg(x) OVER w, string_agg(few::text, NULL) OVER w, repeat(md5(id::text), 3) AS t FROM r WINDOW w AS (PARTITION BY d ORDER BY few)) s ORDER BY id') AS beside_others;
-- Outputs: constants, columns and results in any order, some of them twice or not at all; of which a few are wanted.
SELECT check_windows('SELECT 1 AS one, lag(x) OVER w, ''two''::text, NULL::text, id, true, 2.5, 3::bigint, sum(x) OVER w, NULL::int, ''{1}''::int[], t FROM r WINDOW w AS (PARTITION BY few ORDER BY id)') AS constants,
	check_windows('SELECT id, lag(x) OVER w, id, 7, lag(x) OVER w, 7, sum(x) OVER w, lag(x) OVER w FROM r WINDOW w AS (PARTITION BY few ORDER BY id)') AS twice,
	check_windows('SELECT 5, row_number() OVER (ORDER BY id) FROM r') AS no_columns, check_windows('SELECT sum(x) OVER w, lead(t) OVER w, t, b, lag(t) OVER w, few, x + 1 FROM r WINDOW w AS (ORDER BY id)') AS reordered,
	check_windows('SELECT count(*), count(l), sum(s), max(c) FROM (SELECT 1 AS c, t, lag(x) OVER w AS l, big, 2::bigint AS d, sum(big) OVER w AS s, f FROM r WINDOW w AS (PARTITION BY few ORDER BY id)) s') AS below_an_aggregate,
	check_windows('SELECT t, s, c, n FROM (SELECT t, sum(big) OVER w AS s, 8 AS c, count(*) OVER w AS n, id, b FROM r WINDOW w AS (PARTITION BY few ORDER BY id)) s WHERE n <= 9 AND s % 2 = 0 AND b ORDER BY n, s, id') AS conditions,
	check_windows('SELECT max(s.t), min(s.b::text), count(DISTINCT s.l) FROM r, LATERAL (SELECT 1 AS one, x, lag(t) OVER w AS l, b, r.t FROM r i WHERE i.few = r.few WINDOW w AS (ORDER BY i.id)) s WHERE r.id % 50 = 0') AS in_a_loop;
CREATE TABLE changed AS SELECT id, few, x FROM r;
SELECT check_windows('SELECT o.id, (SELECT sum(s) FROM (SELECT sum(x) OVER (PARTITION BY few ORDER BY id) + lead(x) OVER (PARTITION BY few ORDER BY id) AS s FROM r WHERE r.few = o.few) s) FROM changed o WHERE o.few < 5 ORDER BY o.id') AS correlated;

-- Errors of the input and of an argument while rows pass, are held in memory or in a tuplestore.  A WindowAgg reads further ahead.
SET work_mem = '64kB';
SELECT call, over, string_agg(until_error(query, 'force'), '; ' ORDER BY n) AS forced, bool_and(right(until_error(query, 'force'), 6) = right(until_error(query, 'off'), 6)) AS same_errors
FROM unnest('{"PARTITION BY k ORDER BY n ROWS UNBOUNDED PRECEDING","ORDER BY k","PARTITION BY k"}'::text[]) AS over, unnest('{"sum(n) OVER w","lead(n, 100) OVER w, sum(n) OVER w, max(t) OVER w","sum(fails_at(n, 1500)) OVER w, lag(t) OVER w"}'::text[]) AS call,
	unnest('{0,1,99,100,1000,1500,1999,2000,2500}'::int[]) AS n,
	format('SELECT n, t, %s FROM (SELECT i / 1000 AS k, i AS n, repeat(md5(i::text), 3) AS t FROM generate_series(1, 2500) AS i ORDER BY 1, 2 OFFSET 0) s WHERE fails_at(n, %s) > 0 WINDOW w AS (%s)', call, n, over) AS query
GROUP BY call, over ORDER BY call, over;
-- The same window again with other parameters, left early or read to the end, from memory and from a tuplestore; and a merge join that goes back above two.
SELECT check_windows('SELECT g, s.* FROM generate_series(0, 5) AS g, LATERAL (SELECT id, sum(x + g) OVER w, lead(t, 3) OVER w, count(*) OVER w FROM r WHERE id % 3 <> g WINDOW w AS (PARTITION BY b ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) LIMIT 400 * (g % 3)) s') AS left_early,
	check_windows('SELECT g, s.* FROM generate_series(0, 5) AS g, LATERAL (SELECT id, sum(x + g) OVER w, lead(t, 3) OVER w, count(*) OVER w FROM r WHERE id % 3 <> g WINDOW w AS (PARTITION BY b ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) OFFSET 0) s') AS to_the_end;
-- A sort above a run condition with a parameter, which is no parameter of the plan as far as PostgreSQL says.
SELECT check_windows(format('SELECT o, (SELECT string_agg(concat_ws('' '', id, m), '','') FROM (SELECT id, m FROM (SELECT id, x, row_number() OVER (PARTITION BY few ORDER BY id) AS n, %s AS m FROM r) s WHERE n <= o ORDER BY x, id OFFSET 0) z) FROM unnest(ARRAY[1, 3, NULL, 2, 40, 0]) AS o', more), taken, 1 - taken)
FROM (VALUES ('b', 1), ('unknown_ntile(2) OVER (PARTITION BY few ORDER BY id)', 0)) AS v (more, taken);
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET gpusort.mode = force;
SELECT nodes(query, 'Materialize') AS materialized, nodes(query, 'Merge Join') AS joins, check_windows(query, 2) AS merge_join
FROM (VALUES ('SELECT count(*), sum(a.s), sum(b.l), sum(a.s * b.l) FROM (SELECT few, sum(x) OVER (ORDER BY few) AS s FROM r) a JOIN (SELECT few, lead(x) OVER (ORDER BY few, id) AS l, id FROM r) b ON a.few = b.few')) AS q (query);
RESET gpusort.mode;
RESET enable_nestloop;
RESET enable_hashjoin;
RESET work_mem;

-- Cursors: forwards alone, both ways, held; prepared statements; tables.
SET gpusort.mode = force;
BEGIN;
DECLARE forwards NO SCROLL CURSOR FOR SELECT row_number() OVER w, lead(n) OVER w, sum(n) OVER w FROM (SELECT id, (id % 10) AS n FROM r) s WINDOW w AS (ORDER BY id);
FETCH 2 FROM forwards;
SAVEPOINT before;
FETCH BACKWARD FROM forwards;
ROLLBACK TO before;
DECLARE both_ways SCROLL CURSOR FOR SELECT row_number() OVER w, lead(n) OVER w, sum(n) OVER w FROM (SELECT id, (id % 10) AS n FROM r) s WINDOW w AS (ORDER BY id);
FETCH LAST FROM both_ways;
FETCH ABSOLUTE 3 FROM both_ways;
FETCH BACKWARD 2 FROM both_ways;
MOVE BACKWARD ALL IN both_ways;
FETCH RELATIVE 1500 FROM both_ways;
FETCH RELATIVE -2 FROM both_ways;
FETCH PRIOR FROM both_ways;
FETCH LAST FROM both_ways;
FETCH NEXT FROM both_ways;
FETCH PRIOR FROM both_ways;
COMMIT;
SET plan_cache_mode = force_generic_plan;
PREPARE sums_of (int, int) AS SELECT count(*), sum(s), sum(l) FROM (SELECT sum(x + $2) OVER w AS s, lead(x) OVER w AS l FROM r WHERE few = $1 WINDOW w AS (ORDER BY id)) s;
EXECUTE sums_of (1, 2);
EXECUTE sums_of (5, 0);
EXECUTE sums_of (5, NULL);
SET gpusort.mode = off;
EXECUTE sums_of (1, 2);
EXECUTE sums_of (5, 0);
SET gpusort.mode = force;
DEALLOCATE sums_of;
RESET plan_cache_mode;
CREATE TABLE kept AS SELECT *, lag(t) OVER w AS before, 7 AS seven, sum(big) OVER w AS total, NULL::text AS nothing FROM r WINDOW w AS (PARTITION BY few ORDER BY id);
SET gpusort.mode = off;
SELECT count(*) FROM (TABLE kept EXCEPT SELECT *, lag(t) OVER w, 7, sum(big) OVER w, NULL FROM r WINDOW w AS (PARTITION BY few ORDER BY id)) s;
RESET gpusort.mode;

-- In a parallel worker.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
CREATE FUNCTION in_worker(int) RETURNS numeric LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT sum(s * l) FROM (SELECT sum(x) OVER w AS s, lag(x) OVER w AS l FROM r WHERE few = $1 WINDOW w AS (ORDER BY id)) s $$;
SELECT check_windows('SELECT id, in_worker(few) FROM r WHERE few < 4 AND id % 4 = 0 ORDER BY id', 0) AS in_workers,
	check_windows('SELECT id, few, (SELECT max(s) FROM (SELECT sum(x) OVER (ORDER BY r.id) AS s FROM r WHERE r.few = changed.few) s) FROM changed WHERE few < 2 ORDER BY id') AS subplan;
RESET parallel_leader_participation;
RESET min_parallel_table_scan_size;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;

-- Permissions: of the functions by the user, of the aggregates' functions by the aggregates' owners.
SET client_min_messages = warning;
CREATE ROLE regress_gpusort_streamer;
CREATE ROLE regress_gpusort_owner;
RESET client_min_messages;
GRANT ALL ON SCHEMA windows_stream TO regress_gpusort_streamer, regress_gpusort_owner;
GRANT SELECT ON r TO regress_gpusort_streamer;
CREATE FUNCTION added(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT $1 + coalesce($2, 0) $$;
CREATE FUNCTION doubled(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT 2 * $1 $$;
CREATE AGGREGATE owned(int) (SFUNC = added, STYPE = int, INITCOND = '0', FINALFUNC = doubled);
ALTER AGGREGATE owned(int) OWNER TO regress_gpusort_owner;
REVOKE EXECUTE ON FUNCTION added(int, int), doubled(int), owned(int) FROM PUBLIC;
CREATE FUNCTION try_owned() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT max(o) FROM (SELECT owned(few) OVER (ORDER BY id) AS o FROM r) s);
EXCEPTION WHEN insufficient_privilege THEN
	RETURN SQLERRM;
END $$;
SET gpusort.mode = force;
SET ROLE regress_gpusort_streamer;
SELECT nodes('SELECT owned(few) OVER (ORDER BY id) FROM r', '(GpuWindow)');
RESET ROLE;
GRANT EXECUTE ON FUNCTION owned(int) TO regress_gpusort_streamer;
SET ROLE regress_gpusort_streamer;
SELECT try_owned();
RESET ROLE;
GRANT EXECUTE ON FUNCTION added(int, int) TO regress_gpusort_owner;
SET ROLE regress_gpusort_streamer;
SELECT try_owned();
RESET ROLE;
GRANT EXECUTE ON FUNCTION doubled(int) TO regress_gpusort_owner;
SET ROLE regress_gpusort_streamer;
SELECT try_owned(), nodes('SELECT owned(few) OVER (ORDER BY id) FROM r', '(GpuWindow)') AS taken;
RESET ROLE;
BEGIN;
REVOKE EXECUTE ON FUNCTION lag(anyelement) FROM PUBLIC;
SET ROLE regress_gpusort_streamer;
SELECT max(l) FROM (SELECT lag(id) OVER (ORDER BY id) AS l FROM r) s;
ROLLBACK;
RESET gpusort.mode;
SET client_min_messages = warning;
DROP SCHEMA windows_stream CASCADE;
DROP ROLE regress_gpusort_streamer, regress_gpusort_owner;
