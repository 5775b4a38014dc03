--
-- GpuWindow: row_number(), rank() and dense_rank() above a GpuSort, without a WindowAgg.
--
CREATE SCHEMA window_ranks;
SET search_path = window_ranks, public;
CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE FUNCTION unknown_ntile(int) RETURNS int LANGUAGE internal WINDOW STRICT IMMUTABLE AS 'window_ntile';
CREATE TYPE window_ranks.pair AS (x int, y numeric);
-- Few values, of many kinds, some of them equal though their bytes differ.
CREATE TABLE r AS
SELECT i AS id, noise(i) AS wide, 7 AS same, CASE WHEN i % 11 > 0 THEN (noise(i, 1) % 40)::int END AS few,
	CASE WHEN i % 13 > 0 THEN left(md5((i % 60)::text), 1 + i % 5) END COLLATE "C" AS t,
	(ARRAY['a', 'A', 'B', 'b', '', NULL, 'ä', 'Ä'])[1 + i % 8] AS letter,
	(ARRAY[1, 1.0, 1.00, 2.5, 2.500, 'NaN', NULL, 0, 0.000, -3, 'Infinity'])[1 + i % 11]::numeric AS scaled,
	(ARRAY['0', '-0', 'NaN', '1', 'Infinity', '-1', NULL])[1 + i % 7]::float8 AS f, (ARRAY['0', '-0', 'NaN', '1'])[1 + i % 4]::float4 AS f4,
	(i % 3 = 0) AS b, date '2000-01-01' + i % 5 AS d, (ARRAY['1 day', '24 hours', '1 mon', '30 days'])[1 + i % 4]::interval AS span,
	md5((i % 9)::text)::uuid AS u, ('name ' || i % 6)::name AS n, (ARRAY['x', 'x ', 'y'])[1 + i % 3]::char(4) AS padded,
	ARRAY[i % 4, NULL] AS arr, ARRAY[(ARRAY[1.0, 1.00, 2])[1 + i % 3]] AS scales, int4range(i % 5, 9) AS span4,
	ROW(i % 3, (ARRAY[5, 5.0])[1 + i % 2])::pair AS p
FROM generate_series(1, 3000) AS i;
ALTER TABLE r ADD COLUMN gone int, ADD COLUMN last text DEFAULT 'last';
ALTER TABLE r DROP COLUMN gone;
-- Long values out of line, compressed and not.
CREATE TABLE long (id int, v text COLLATE "C", w text COLLATE "C");
ALTER TABLE long ALTER COLUMN w SET STORAGE external;
INSERT INTO long SELECT i, repeat(md5((i % 20)::text), 400 + i % 2), repeat(md5((i % 30)::text), 100) FROM generate_series(1, 300) AS i;
ANALYZE r, long;

-- Runs a query with gpusort off and in another mode, and compares the rows, in any order; so many windows are to be taken, and others
-- left; NULL: either will do.
CREATE FUNCTION check_ranks(query text, taken int DEFAULT 1, others int DEFAULT 0, mode text DEFAULT 'force') RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	rows_off text[];
	rows_in_mode text[];
BEGIN
	rows_off := rows_of(query);
	PERFORM set_config('gpusort.mode', mode, true);
	IF nodes(query, '(GpuWindow)') <> taken OR nodes(query, 'WindowAgg') <> others THEN
		RETURN format('%s windows taken, %s left', nodes(query, '(GpuWindow)'), nodes(query, 'WindowAgg'));
	END IF;
	rows_in_mode := rows_of(query);
	PERFORM set_config('gpusort.mode', 'off', true);
	RETURN compare_rows(rows_off, rows_in_mode);
END $$;
-- A check that cannot fail is no check.
SELECT check_ranks('SELECT id, row_number() OVER (ORDER BY wide), current_setting(''gpusort.mode'') FROM r') AS other_rows, check_ranks('SELECT id FROM r ORDER BY id') AS none;

-- What EXPLAIN prints.
SET gpusort.mode = force;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id, row_number() OVER (PARTITION BY t ORDER BY wide DESC) FROM r;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT id, few + id AS s, rank() OVER w - 1, dense_rank() OVER w AS d FROM r WINDOW w AS (PARTITION BY t, b ORDER BY few + id, letter)) s WHERE d <= 3;
SET gpusort.backend = cpu;
SELECT sort_key, taken, regexp_replace(how, '[\d.]+ [kM]B', 'N', 'g') AS how FROM gpusort_check('SELECT id, row_number() OVER (PARTITION BY t ORDER BY wide) FROM r');
SELECT sort_key, taken, regexp_replace(how, '[\d.]+ [kM]B', 'N', 'g') AS how FROM gpusort_check('SELECT id, unknown_ntile(3) OVER (PARTITION BY t ORDER BY wide) FROM r');
RESET gpusort.backend;
RESET gpusort.mode;

-- Partitions and peers by columns of each kind, alone and together, in each direction.
SELECT k, check_ranks(format('SELECT id, rank() OVER w, dense_rank() OVER w FROM r WINDOW w AS (ORDER BY %s)', k)) AS peers,
	check_ranks(format('SELECT id, row_number() OVER w, rank() OVER w FROM r WINDOW w AS (PARTITION BY %s ORDER BY id)', k)) AS partitions,
	check_ranks(format('SELECT b, row_number() OVER w, dense_rank() OVER w FROM r WINDOW w AS (PARTITION BY b ORDER BY %1$s DESC)', k)) AS descending
FROM unnest('{id,wide,same,few,t,letter,"letter COLLATE \"und-x-icu\"","letter COLLATE \"C\"",scaled,f,f4,b,d,span,u,n,padded,arr,scales,span4,p,few + id,lower(t)}'::text[]) AS k;
-- The same where a row begins with the partition's columns.
SELECT k, check_ranks(format('SELECT %1$s, id, row_number() OVER w, rank() OVER w FROM r WINDOW w AS (PARTITION BY %1$s ORDER BY wide)', k)) AS leading
FROM unnest('{same,few,t,letter,scaled,f,f4,b,d,span,u,n,padded,arr,scales,span4,p,"few, t","t, few","scaled, letter, b"}'::text[]) AS k;
SELECT check_ranks('SELECT id, rank() OVER w, row_number() OVER w FROM r WINDOW w AS (PARTITION BY few, t ORDER BY id)') AS two_columns,
	check_ranks('SELECT id, rank() OVER w, dense_rank() OVER w FROM r WINDOW w AS (PARTITION BY few ORDER BY scaled NULLS FIRST, f DESC NULLS LAST, t)') AS three_peers,
	check_ranks('SELECT id, rank() OVER w, dense_rank() OVER w, row_number() OVER w > 0 FROM r WINDOW w AS (PARTITION BY t, letter)') AS no_order,
	check_ranks('SELECT id, row_number() OVER (PARTITION BY few ORDER BY id) FROM r WHERE few IS NULL') AS all_null,
	check_ranks('SELECT id, row_number() OVER (PARTITION BY few ORDER BY id) FROM r WHERE false') AS nothing,
	check_ranks('SELECT id, row_number() OVER (PARTITION BY few ORDER BY id) FROM r WHERE id = 5') AS one_row,
	check_ranks('SELECT id, rank() OVER (ORDER BY v), dense_rank() OVER (ORDER BY v) FROM long') AS compressed,
	check_ranks('SELECT id, v, row_number() OVER (PARTITION BY w ORDER BY id), rank() OVER (PARTITION BY w ORDER BY id) FROM long') AS out_of_line,
	check_ranks('SELECT id, dense_rank() OVER (PARTITION BY v ORDER BY w || v) FROM long') AS computed;
-- Letters that a collation calls equal are one partition.
SELECT check_ranks('SELECT id, rank() OVER (ORDER BY letter COLLATE alike), dense_rank() OVER (ORDER BY letter COLLATE alike) FROM r', NULL, NULL) AS alike;
-- No partition, or no order, or neither; nothing else in the output.
SELECT check_ranks('SELECT id, row_number() OVER (), rank() OVER (), dense_rank() OVER () FROM (SELECT id FROM r WHERE id <= 500 ORDER BY id OFFSET 0) s', few) AS whole_input
FROM (VALUES (NULL::int)) AS v (few);
SELECT check_ranks('SELECT row_number() OVER (ORDER BY id) FROM r') AS nothing_else,
	check_ranks('SELECT dense_rank() OVER w, rank() OVER w FROM r WINDOW w AS (ORDER BY few)') AS ranks_alone;

-- Through temporary files, where a row is gone when the next one is read.
SET gpusort.work_mem = '64kB';
SELECT check_ranks('SELECT id, row_number() OVER w, rank() OVER w FROM r WINDOW w AS (PARTITION BY t ORDER BY id)') AS partitions,
	check_ranks('SELECT id, repeat(t, 20), rank() OVER w, dense_rank() OVER w FROM r WINDOW w AS (ORDER BY n, t, scaled)') AS peers;
RESET gpusort.work_mem;

-- Several windows, and what else may stand around them.
SELECT check_ranks('SELECT id, row_number() OVER (PARTITION BY few ORDER BY id), rank() OVER (ORDER BY wide DESC) FROM r', 2) AS two_sorts,
	check_ranks('SELECT id, row_number() OVER (PARTITION BY few ORDER BY id), rank() OVER (PARTITION BY few) FROM r', 2) AS one_sort,
	check_ranks('SELECT id, row_number() OVER (PARTITION BY few ORDER BY id), unknown_ntile(3) OVER (PARTITION BY few) FROM r', 1, 1) AS below_another,
	check_ranks('SELECT id, unknown_ntile(3) OVER (PARTITION BY few ORDER BY id), rank() OVER (PARTITION BY few) FROM r', 1, 1) AS above_another,
	check_ranks('SELECT id, row_number() OVER w, unknown_ntile(3) OVER w FROM r WINDOW w AS (PARTITION BY few ORDER BY id)', 0, 1) AS with_another,
	check_ranks('SELECT id, percent_rank() OVER w, cume_dist() OVER w, unknown_ntile(5) OVER w FROM r WINDOW w AS (ORDER BY id)', 0, 1) AS others,
	check_ranks('SELECT few, count(*), rank() OVER (ORDER BY count(*)), sum(dense) FROM (SELECT few, dense_rank() OVER (ORDER BY t) AS dense FROM r) s GROUP BY few', 2) AS groups,
	check_ranks('SELECT id, rank() OVER (PARTITION BY few ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM r') AS framed,
	-- From 16 on PostgreSQL knows that these functions look at no frame.
	check_ranks('SELECT id, rank() OVER (PARTITION BY few ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM r', NULL, NULL) AS offsets;
SELECT check_ranks('SELECT r, r.ctid, tableoid::regclass, xmin = cmin::text::xid, row_number() OVER (PARTITION BY few ORDER BY id) FROM r') AS whole_and_system_columns,
	check_ranks('SELECT CASE WHEN row_number() OVER w % 2 = 0 THEN id END, rank() OVER w * 2 + row_number() OVER w, last FROM r WINDOW w AS (PARTITION BY few ORDER BY id)') AS expressions,
	check_ranks('SELECT id, row_number() OVER (PARTITION BY few ORDER BY id) + (SELECT count(*) FROM long), (SELECT max(l.id) FROM long l WHERE l.id < r.id) FROM r WHERE id < 300') AS subplans,
	check_ranks('SELECT row_number() OVER (ORDER BY id), generate_series(1, 2), id FROM r') AS returning_sets,
	check_ranks('WITH c AS MATERIALIZED (SELECT id, row_number() OVER (PARTITION BY few ORDER BY id) AS n FROM r) SELECT a.id, b.n FROM c a JOIN c b USING (n) WHERE a.id < 50', 1) AS common_table,
	check_ranks('SELECT id, row_number() OVER (ORDER BY id) FROM r UNION ALL SELECT id, rank() OVER (ORDER BY v) FROM long', 2) AS appended;

-- Run conditions: at the top they leave rows out, below another window they stop the counting alone.
SELECT condition, check_ranks('SELECT * FROM (SELECT id, few, row_number() OVER (PARTITION BY few ORDER BY id) AS n FROM r) s WHERE ' || condition) AS partitions,
	check_ranks('SELECT * FROM (SELECT id, few, row_number() OVER (ORDER BY id) AS n FROM r) s WHERE ' || condition) AS one_partition,
	check_ranks('SELECT * FROM (SELECT id, few, rank() OVER (ORDER BY few) AS n FROM r) s WHERE ' || condition) AS ranks,
	check_ranks('SELECT * FROM (SELECT id, dense_rank() OVER w AS n, row_number() OVER w, rank() OVER w FROM r WINDOW w AS (PARTITION BY few ORDER BY t, id)) s WHERE ' || condition) AS dense,
	check_ranks('SELECT * FROM (SELECT id, few, row_number() OVER (PARTITION BY few ORDER BY id) AS n, rank() OVER (PARTITION BY few) AS m FROM r) s WHERE ' || condition, 2) AS below,
	check_ranks('SELECT * FROM (SELECT id, few, row_number() OVER (ORDER BY id) AS n, rank() OVER (ORDER BY few, t) AS m FROM r) s WHERE ' || condition, 2) AS below_a_sort
FROM unnest('{n <= 3,n < 1,3 >= n,n = 2,n <= (SELECT 5),n <= 2 AND id % 2 = 0,n <= 1000000,n > 3,n <> 2,n BETWEEN 2 AND 4}'::text[]) AS condition;
SELECT check_ranks('SELECT * FROM (SELECT id, few, row_number() OVER (PARTITION BY few ORDER BY id) AS n, unknown_ntile(3) OVER (PARTITION BY few) AS m FROM r) s WHERE n <= 3', 1, 1) AS below_another,
	check_ranks('SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS n, rank() OVER (PARTITION BY few ORDER BY id) AS m FROM r) s WHERE n <= 30 AND m <= 2', 2) AS two_conditions,
	check_ranks('SELECT o, (SELECT sum(id) FROM (SELECT id, row_number() OVER (PARTITION BY few ORDER BY id) AS n FROM r WHERE id > o) s WHERE n <= o) FROM generate_series(0, 4) AS o') AS in_a_loop;
-- Output that is volatile is computed of each row, as PostgreSQL computes it.
CREATE SEQUENCE calls;
SET gpusort.mode = force;
SELECT nodes('SELECT * FROM (SELECT nextval(''calls'') AS c, row_number() OVER (PARTITION BY few ORDER BY id) AS n FROM r) s WHERE n <= 2', 'WindowAgg') AS left_alone,
	nodes('SELECT nextval(''calls'') AS c, row_number() OVER (PARTITION BY few ORDER BY id) AS n FROM r', '(GpuWindow)') AS taken;
SELECT count(*), min(c), max(c) FROM (SELECT nextval('calls') AS c, row_number() OVER (PARTITION BY few ORDER BY id) AS n FROM r OFFSET 0) s;
DROP SEQUENCE calls;

-- Read in part, again, and by cursors.
SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY few ORDER BY id) FROM r LIMIT 3 OFFSET 100) s;
SELECT id IN (SELECT s.id FROM (SELECT id, row_number() OVER (PARTITION BY b ORDER BY id) AS n FROM r) s WHERE n = 7) AS seventh, count(*) FROM r GROUP BY 1 ORDER BY 1;
RESET gpusort.mode;
SELECT check_ranks('SELECT o, (SELECT sum(n * id) FROM (SELECT id, rank() OVER (PARTITION BY few ORDER BY t) AS n FROM r WHERE few < o) s) FROM generate_series(-2, 6) AS o') AS in_a_loop,
	check_ranks('SELECT o, x.* FROM generate_series(1, 5) AS o, LATERAL (SELECT id, row_number() OVER (PARTITION BY o, few % o ORDER BY id) AS n FROM r WHERE id < 40 * o) x') AS laterally,
	check_ranks('SELECT o, (SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY id) AS n FROM r LIMIT o) s) FROM generate_series(0, 4) AS o') AS limited_in_a_loop,
	check_ranks('SELECT a.id, n FROM long a JOIN (SELECT id, row_number() OVER (PARTITION BY b ORDER BY id) AS n FROM r OFFSET 0) s ON s.n = a.id + 1') AS joined;
SET gpusort.mode = force;
BEGIN;
DECLARE forwards NO SCROLL CURSOR FOR SELECT id, row_number() OVER (ORDER BY id) FROM r;
FETCH 2 FROM forwards;
SAVEPOINT before;
FETCH BACKWARD FROM forwards;
ROLLBACK TO before;
DECLARE both_ways SCROLL CURSOR FOR SELECT id, row_number() OVER (PARTITION BY b ORDER BY id) FROM r;
FETCH LAST FROM both_ways;
FETCH ABSOLUTE 3 FROM both_ways;
FETCH BACKWARD 2 FROM both_ways;
FETCH RELATIVE 2000 FROM both_ways;
COMMIT;
SET plan_cache_mode = force_generic_plan;
PREPARE ranks_of (int, bigint) AS SELECT count(*), sum(id), sum(n) FROM (SELECT id, row_number() OVER (PARTITION BY b ORDER BY id) AS n FROM r WHERE few = $1) s WHERE n <= $2;
SELECT nodes('EXECUTE ranks_of (1, 2)', '(GpuWindow)') AS taken;
EXECUTE ranks_of (1, 2);
EXECUTE ranks_of (5, 100000);
EXECUTE ranks_of (NULL, 2);
EXECUTE ranks_of (1, NULL);
SET gpusort.mode = off;
SELECT nodes('EXECUTE ranks_of (1, 2)', '(GpuWindow)') AS taken;
EXECUTE ranks_of (1, 2);
SET gpusort.mode = force;
EXECUTE ranks_of (1, 2);
DEALLOCATE ranks_of;
RESET plan_cache_mode;
CREATE TABLE kept AS SELECT id, row_number() OVER (PARTITION BY few ORDER BY id) AS n FROM r;
SELECT count(*), sum(n * id) FROM kept;
-- Rows of which nobody has read a column are copied to tables, and to memory.
CREATE TABLE copied AS SELECT *, row_number() OVER (PARTITION BY few ORDER BY id) AS number FROM r;
INSERT INTO copied SELECT *, row_number() OVER (PARTITION BY few ORDER BY id) AS number FROM r;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT *, row_number() OVER (PARTITION BY few ORDER BY id) FROM r WHERE id > 2995;
COMMIT;
FETCH 3 FROM held;
CLOSE held;
SELECT nodes('SELECT *, row_number() OVER (PARTITION BY few ORDER BY id) AS number FROM r', '(GpuWindow)') AS taken;
SET gpusort.mode = off;
SELECT count(*), count(*) FILTER (WHERE line IN (SELECT s::text FROM (SELECT *, row_number() OVER (PARTITION BY few ORDER BY id) FROM r) s)) AS right FROM (SELECT c::text AS line FROM copied c) t;
SET gpusort.mode = force;
-- The fields of EXPLAIN; rows that a filter leaves out are counted as PostgreSQL counts them.
CREATE FUNCTION window_nodes(query text) RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT node FROM jsonb_path_query(plan, 'strict $.**') AS node WHERE node ->> 'Custom Plan Provider' = 'GpuWindow' OR node ->> 'Node Type' = 'WindowAgg';
END $$;
CREATE VIEW filtered AS
SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY few ORDER BY id) AS n, rank() OVER (PARTITION BY few) AS m FROM r) s WHERE n <= 3 AND m <= 5;
SELECT node ->> 'Window Functions' AS functions, node ->> 'Partition Key' AS partition, node ->> 'Order Key' AS "order", node ->> 'Run Condition' AS run_condition,
	node ->> 'Filter' AS filter, node ->> 'Rows Removed by Filter' AS removed
FROM window_nodes('TABLE filtered') AS node;
SET gpusort.mode = off;
SELECT node ->> 'Rows Removed by Filter' AS removed FROM window_nodes('TABLE filtered') AS node;
SET gpusort.mode = force;
-- Above a sort that is PostgreSQL's, too, but of few rows only if that is gpusort's.
SELECT check_ranks('SELECT id, rank() OVER (PARTITION BY few ORDER BY left(t, 1)::text::backwards) FROM r') AS left_to_postgresql,
	nodes('SELECT rank() OVER (ORDER BY left(t, 1)::text::backwards) FROM r', 'Sort Key') AS sorts;
SET gpusort.mode = auto;
SELECT nodes(query, '(GpuWindow)') AS taken, nodes(query, 'WindowAgg') AS windows
FROM unnest(ARRAY['SELECT rank() OVER (ORDER BY left(t, 1)::text::backwards) FROM r', 'SELECT rank() OVER (ORDER BY left(t, 1)::text::backwards) FROM r WHERE id < 100',
	'SELECT rank() OVER (ORDER BY g) FROM generate_series(1, 100) AS g', 'SELECT lag(g) OVER () FROM generate_series(1, 20000) AS g']) AS query;
-- PostgreSQL sorts a column that is alone as values, which are in no row.
SET gpusort.min_rows = 0;
CREATE TABLE alone AS SELECT few, letter COLLATE alike AS letter FROM r WHERE id <= 100;
ANALYZE alone;
SELECT k, check_ranks(query, mode => 'auto') AS ranks, nodes(query, '(GpuSort)') AS sorts
FROM unnest('{few,letter}'::text[]) AS k, format('SELECT %1$s, rank() OVER (ORDER BY %1$s) FROM alone', k) AS query;
RESET gpusort.min_rows;
SET gpusort.mode = force;
-- The functions' and the operators' permissions are asked.
CREATE ROLE regress_gpusort_ranker;
GRANT USAGE ON SCHEMA window_ranks TO regress_gpusort_ranker;
GRANT SELECT ON r TO regress_gpusort_ranker;
BEGIN;
REVOKE EXECUTE ON FUNCTION dense_rank() FROM PUBLIC;
SET ROLE regress_gpusort_ranker;
SAVEPOINT before;
SELECT max(d) FROM (SELECT dense_rank() OVER (ORDER BY few) AS d FROM r) s;
ROLLBACK TO before;
SELECT max(d) FROM (SELECT rank() OVER (ORDER BY few) AS d FROM r) s;
ROLLBACK;
-- Errors in the output, and what comes after.
SELECT sum(1 / (n - 500)) FROM (SELECT row_number() OVER (ORDER BY wide) AS n FROM r) s;
SELECT 1 / (row_number() OVER (ORDER BY wide) - 500) FROM r;
SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY wide) AS n FROM r) s;
RESET gpusort.mode;
SET client_min_messages = warning;
DROP SCHEMA window_ranks CASCADE;
DROP ROLE regress_gpusort_ranker;
