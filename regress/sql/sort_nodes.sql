--
-- Sorts that are not for an ORDER BY: each Sort node of a finished plan.
--
CREATE SCHEMA sort_nodes;
SET search_path = sort_nodes, public;
CREATE TABLE n AS SELECT i AS id, (noise(i) % 500)::int AS k, noise(i, 1) AS wide, CASE WHEN i % 17 > 0 THEN md5((i % 700)::text) END COLLATE "C" AS t, (noise(i, 2) & 7)::int AS g, repeat('x', 150) AS filler
FROM generate_series(1, 8000) AS i;
CREATE TABLE m AS SELECT i AS id, CASE WHEN i % 20 > 0 THEN (noise(i, 3) % 600)::int END AS k, md5((i % 900)::text) COLLATE "C" AS t, (noise(i, 4) & 7)::int AS g, repeat('y', 150) AS filler
FROM generate_series(1, 6000) AS i;
ANALYZE n, m;

-- Runs a query with gpusort off and forced, and compares the rows, in any order.  All sorts of the plan are to be taken, or some.
CREATE FUNCTION check_rows(query text, all_taken boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	rows_off text[];
	rows_forced text[];
	left_alone text;
BEGIN
	rows_off := rows_of(query);
	PERFORM set_config('gpusort.mode', 'force', true);
	IF NOT uses_gpusort(query) THEN
		RETURN 'gpusort is not in the plan';
	END IF;
	SELECT string_agg(concat_ws(': ', sort_key, reason), '; ') INTO left_alone FROM gpusort_check(query) WHERE NOT taken;
	IF all_taken AND left_alone IS NOT NULL THEN
		RETURN 'not taken: ' || left_alone;
	END IF;
	rows_forced := rows_of(query);
	PERFORM set_config('gpusort.mode', 'off', true);
	RETURN compare_rows(rows_off, rows_forced);
END $$;
-- Does a GpuSort of the query write temporary files?
CREATE FUNCTION spills(query text) RETURNS boolean
LANGUAGE plpgsql SET gpusort.mode = force SET gpusort.backend = cpu AS $$
DECLARE
	plan text;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan ~ '"Disk Usage": [1-9]';
END $$;
-- A check that cannot fail is no check.
SELECT check_rows('SELECT id, current_setting(''gpusort.mode'') FROM n ORDER BY id') AS other_rows, check_rows('SELECT id FROM n') AS no_sort;

SET enable_hashagg = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_material = off;
SET enable_incremental_sort = off;

-- What plans look like: a GpuSort stands where the Sort would.
SET gpusort.mode = force;
EXPLAIN (VERBOSE, COSTS OFF) SELECT n.id, m.t FROM n LEFT JOIN m ON n.k = m.k AND n.t = m.t;
SELECT sort_key, taken FROM gpusort_check('SELECT g, count(*) FROM n GROUP BY g ORDER BY count(*) DESC');
RESET gpusort.mode;

-- Window functions: one window and several, one sort for two of them, all rows in one partition, frames.
SELECT check_rows('SELECT id, row_number() OVER (PARTITION BY t ORDER BY wide) FROM n') AS partitions,
	check_rows('SELECT id, rank() OVER (ORDER BY k DESC NULLS LAST), dense_rank() OVER (PARTITION BY g ORDER BY t NULLS FIRST) FROM n') AS two_windows,
	check_rows('SELECT id, lag(id) OVER w, lead(filler, 2) OVER w, sum(k) OVER (w ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM n WINDOW w AS (PARTITION BY g ORDER BY t, id)') AS frames,
	check_rows('SELECT id, sum(id) OVER (ORDER BY k RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) FROM n') AS ranges,
	check_rows('SELECT g, count(*), sum(count(*)) OVER (ORDER BY g) FROM n GROUP BY g') AS over_groups,
	check_rows('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY wide DESC) AS r FROM n) s WHERE r <= 2') AS first_of_each,
	check_rows('SELECT id, ntile(7) OVER (ORDER BY wide) FROM n WHERE false') AS nothing,
	check_query('SELECT id, row_number() OVER (ORDER BY wide) FROM n ORDER BY t DESC, id LIMIT 100') AS below_a_limit,
	check_query('SELECT id, row_number() OVER (ORDER BY wide) FROM n LIMIT 50 OFFSET 1000') AS limited;

-- What is in order by its first columns already, where PostgreSQL has an Incremental Sort.
SET enable_incremental_sort = on;
SET gpusort.mode = off;
SELECT plan_contains('SELECT id, sum(id) OVER (PARTITION BY g ORDER BY t, id), rank() OVER (PARTITION BY g ORDER BY wide) FROM n', 'Incremental Sort') AS off;
RESET gpusort.mode;
SELECT check_rows('SELECT id, sum(id) OVER (PARTITION BY g ORDER BY t, id), rank() OVER (PARTITION BY g ORDER BY wide) FROM n') AS two_orders,
	check_rows('SELECT g, k, min(id), rank() OVER (PARTITION BY g ORDER BY min(id)) FROM n GROUP BY g, k') AS over_groups,
	check_rows('SELECT o, (SELECT sum(r * id) FROM (SELECT id, sum(id) OVER (PARTITION BY g ORDER BY t, id) AS r, rank() OVER (PARTITION BY g ORDER BY wide) FROM n WHERE k < o) s) FROM generate_series(1, 5) AS o') AS rescanned;
SET enable_incremental_sort = off;

-- Merge joins: duplicates on both sides, so that the inner one goes back to marks; NULLs; several columns; keys alone.
SELECT check_rows('SELECT n.id, m.id, n.filler, m.t FROM n JOIN m USING (k)') AS inner_join,
	check_rows('SELECT n.id, m.id, n.t FROM n LEFT JOIN m ON n.k = m.k AND n.t = m.t') AS left_join,
	check_rows('SELECT n.id, m.id, m.filler FROM n RIGHT JOIN m ON n.k = m.k AND n.id % 2 = 0') AS right_join,
	check_rows('SELECT n.id, m.id FROM (SELECT * FROM n WHERE k > 0) n FULL JOIN m ON n.t = m.t AND n.k = m.k') AS full_join,
	check_rows('SELECT n.id FROM n WHERE EXISTS (SELECT FROM m WHERE m.k = n.k)') AS semi_join,
	check_rows('SELECT n.id FROM n WHERE NOT EXISTS (SELECT FROM m WHERE m.k = n.k AND m.g < n.g)') AS anti_join,
	check_rows('SELECT n.k FROM (SELECT k FROM n) n JOIN (SELECT k FROM m) m USING (k)') AS keys_alone,
	check_rows('SELECT count(*), sum(a.id * b.id) FROM n a JOIN n b ON a.g = b.g WHERE a.id < 2000 AND b.id < 2000') AS many_of_each,
	check_rows('SELECT a.id, c.id FROM n a JOIN m b USING (t) JOIN n c ON c.wide = a.wide') AS several;
-- The same through temporary files; what is marked lies in windows of merged runs, and between them.
SET gpusort.work_mem = '64kB';
SELECT spills('SELECT * FROM n JOIN m USING (k)') AS through_files,
	check_rows('SELECT n.id, m.id, n.filler, m.t FROM n JOIN m USING (k)') AS inner_join,
	check_rows('SELECT m.id, n.id, n.t, m.filler FROM m FULL JOIN n ON m.t = n.t AND m.k = n.k') AS full_join,
	check_rows('SELECT n.id, m.id, m.filler FROM n RIGHT JOIN m ON n.k = m.k AND n.id % 2 = 0') AS right_join,
	check_rows('SELECT count(*), sum(a.id * b.id), sum(length(a.filler || b.filler)) FROM n a JOIN n b ON a.g = b.g WHERE a.id < 100') AS groups_larger_than_windows,
	check_rows('SELECT id, filler, row_number() OVER (PARTITION BY t ORDER BY wide) FROM n') AS a_window,
	check_rows('SELECT DISTINCT filler COLLATE "C", k, wide FROM n') AS "distinct";
RESET gpusort.work_mem;
-- A merge join whose inner side is rescanned as well.
SELECT check_rows('SELECT o, s.id FROM generate_series(1, 5) AS o, LATERAL (SELECT n.id FROM n JOIN m USING (k) WHERE n.g = o AND m.g = o OFFSET 0) s') AS rescanned;

-- GROUP BY, DISTINCT, DISTINCT ON, set operations.
SELECT check_rows('SELECT k, t, count(*), min(id) FROM n GROUP BY k, t') AS grouped,
	check_rows('SELECT t, array_length(array_agg(id), 1) FROM n GROUP BY t HAVING count(*) > 11') AS having,
	check_rows('SELECT DISTINCT t, g FROM n') AS "distinct",
	check_query('SELECT DISTINCT ON (k) k, id FROM n ORDER BY k, wide DESC') AS distinct_on,
	check_rows('SELECT k, t FROM n UNION SELECT k, t FROM m') AS "union",
	check_rows('SELECT g, k FROM n INTERSECT SELECT g, k FROM m') AS "intersect",
	check_rows('SELECT g, k FROM n INTERSECT ALL SELECT g, k FROM m') AS intersect_all,
	check_rows('SELECT t FROM n EXCEPT SELECT t FROM m') AS "except",
	check_rows('SELECT k FROM n EXCEPT ALL SELECT k FROM m') AS except_all,
	check_rows('SELECT DISTINCT k FROM n LIMIT 10') AS limited;

-- Sub-selects, with and without parameters; CTEs; tables that are written.
SELECT check_rows('SELECT g, (SELECT count(*) FROM (SELECT DISTINCT t FROM m WHERE m.g < o.g) s) FROM n o WHERE id < 200') AS correlated,
	check_rows('SELECT g, (SELECT sum(r) FROM (SELECT rank() OVER (ORDER BY t) AS r FROM m WHERE m.g = o.g) s) FROM n o WHERE id < 100') AS window_in_a_loop,
	check_rows('SELECT id FROM n WHERE k IN (SELECT k FROM m GROUP BY k HAVING count(*) > 12)') AS hashed,
	check_rows('SELECT id FROM n WHERE k = (SELECT max(k) FROM (SELECT DISTINCT k FROM m) s)') AS once,
	check_rows('WITH w AS MATERIALIZED (SELECT DISTINCT k, g FROM n) SELECT * FROM w a JOIN w b USING (k)') AS cte,
	check_rows('WITH RECURSIVE w AS (SELECT 1 AS i UNION ALL SELECT s.i::int FROM w, LATERAL (SELECT 1 + max(w.i * r) AS i FROM (SELECT dense_rank() OVER (ORDER BY k) AS r FROM n WHERE g = w.i) r) s WHERE w.i < 400) SELECT * FROM w') AS recursive;
CREATE TABLE written (id int, r bigint);
SET gpusort.mode = force;
INSERT INTO written SELECT id, row_number() OVER (PARTITION BY t ORDER BY wide) FROM n;
UPDATE written SET r = r + m.s FROM (SELECT id, sum(k) OVER (ORDER BY id) AS s FROM m) m WHERE m.id = written.id;
DELETE FROM written USING m WHERE m.id = written.id AND m.g = 0;
CREATE TABLE written_anew AS SELECT DISTINCT ON (r % 1000) id, r FROM written ORDER BY r % 1000, id;
CREATE MATERIALIZED VIEW seen AS SELECT id, row_number() OVER (ORDER BY r, id) AS place FROM written;
SET gpusort.mode = off;
SELECT count(*), sum(id), sum(r) FROM written;
SELECT count(*) AS wrong FROM seen JOIN (SELECT id, row_number() OVER (ORDER BY r, id) AS place FROM written) w USING (id) WHERE w.place <> seen.place;
SELECT count(*), count(*) FILTER (WHERE a.id = (SELECT min(b.id) FROM written b WHERE b.r % 1000 = a.r % 1000)) AS first_ones FROM written_anew a WHERE r % 1000 < 20;
RESET gpusort.mode;
DROP MATERIALIZED VIEW seen;
-- A table with partitions that is written: its rows' identities are columns of what is joined.
CREATE TABLE written_parts (LIKE written) PARTITION BY HASH (id);
CREATE TABLE written_part_0 PARTITION OF written_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE written_part_1 PARTITION OF written_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO written_parts SELECT * FROM written;
ANALYZE written_parts;
SET gpusort.mode = force;
SELECT taken FROM gpusort_check('UPDATE written_parts p SET r = p.r + w.r FROM written w WHERE w.id = p.id');
UPDATE written_parts p SET r = p.r + w.r FROM written w WHERE w.id = p.id;
DELETE FROM written_parts p USING m WHERE m.id = p.id AND m.g = 1;
SET gpusort.mode = off;
SELECT count(*), count(*) FILTER (WHERE p.r <> 2 * w.r) AS wrong FROM written_parts p JOIN written w USING (id);
RESET gpusort.mode;
DROP TABLE written, written_anew, written_parts;

-- Inputs of a merge that are sorted each by itself, and a LIMIT that bounds each of them.
CREATE TABLE parts (a int, b int, c text COLLATE "C") PARTITION BY LIST (b);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES IN (3);
INSERT INTO parts SELECT (noise(i) % 5000)::int, 1 + i % 3, md5(i::text) FROM generate_series(1, 3000) AS i;
CREATE INDEX ON parts_1 (a);
ANALYZE parts;
SET enable_sort = off;
SELECT check_query('SELECT a, c FROM parts ORDER BY a, c') AS merged;
RESET enable_sort;
SELECT check_rows('SELECT a, b, count(*) FROM parts GROUP BY a, b') AS grouped,
	check_query('SELECT a, c FROM (SELECT * FROM parts_1 UNION ALL (SELECT * FROM parts_2 ORDER BY c LIMIT 100)) s ORDER BY c, a LIMIT 50') AS limits;
DROP TABLE parts;

-- Cursors that go backwards over them.
CREATE FUNCTION walk_nodes(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	r record;
	seen text := '';
BEGIN
	SELECT NULL::int AS id INTO r;
	OPEN c SCROLL FOR EXECUTE query;
	FOR i IN 1 .. 60 LOOP
		CASE noise(i, 9) & 7
			WHEN 0 THEN FETCH LAST FROM c INTO r;
			WHEN 1 THEN FETCH ABSOLUTE noise(i, 10) % 3000 FROM c INTO r;
			WHEN 2, 3, 4 THEN FETCH PRIOR FROM c INTO r;
			WHEN 5 THEN FETCH RELATIVE -70 FROM c INTO r;
			ELSE FETCH NEXT FROM c INTO r;
		END CASE;
		seen := seen || coalesce(r::text, '-') || ' ';
	END LOOP;
	RETURN seen;
END $$;
CREATE FUNCTION same_walk(query text) RETURNS boolean LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	off text := walk_nodes(query);
BEGIN
	PERFORM set_config('gpusort.mode', 'force', true);
	RETURN uses_gpusort(query) AND walk_nodes(query) = off;
END $$;
SELECT same_walk('SELECT id, row_number() OVER (ORDER BY wide) FROM n') AS window_function,
	same_walk('SELECT DISTINCT wide FROM n') AS "distinct",
	same_walk('SELECT n.id, m.id AS other FROM (SELECT * FROM n ORDER BY k, id) n JOIN m ON m.k = n.k AND m.id = n.id') AS merge_join;
SET gpusort.work_mem = '64kB';
SELECT same_walk('SELECT id, filler, row_number() OVER (ORDER BY wide) FROM n') AS through_files;
RESET gpusort.work_mem;

-- Cached plans follow the mode.
PREPARE ranks AS SELECT id, rank() OVER (ORDER BY wide) FROM n;
SET gpusort.mode = force;
SELECT uses_gpusort('EXECUTE ranks') AS forced;
SET gpusort.mode = off;
SELECT uses_gpusort('EXECUTE ranks') AS off;
SET plan_cache_mode = force_generic_plan;
SET gpusort.mode = force;
PREPARE ranks_of (int) AS SELECT id, rank() OVER (ORDER BY wide) FROM n WHERE g = $1;
SELECT uses_gpusort('EXECUTE ranks_of (1)') AS forced, plan_contains('EXECUTE ranks_of (1)', '$1') AS generic;
SET gpusort.mode = off;
SELECT uses_gpusort('EXECUTE ranks_of (1)') AS off;
RESET gpusort.mode;
RESET plan_cache_mode;
DEALLOCATE ALL;

-- Volatile expressions: columns that are alike are two columns; and each is computed once.
SET gpusort.mode = force;
SELECT uses_gpusort('SELECT random() AS a, random() AS b FROM n ORDER BY 1, 2') AS alike,
	(SELECT count(*) > 7000 FROM (SELECT random() AS a, random() AS b FROM n ORDER BY 1, 2) s WHERE a <> b) AS differ;
CREATE SEQUENCE calls;
SELECT count(*) FROM (SELECT nextval('calls') AS c, id, row_number() OVER (PARTITION BY k ORDER BY nextval('calls')) FROM n) s;
SELECT last_value FROM calls;
DROP SEQUENCE calls;
-- Errors below, above and in the comparison of what was sorted; and the next query.
SELECT count(*) FROM (SELECT rank() OVER (ORDER BY 1 / (id - 500)) FROM n) s;
SELECT sum(1 / (r - 500)) FROM (SELECT row_number() OVER (ORDER BY wide) AS r FROM n) s;
SELECT count(*) FROM n JOIN m USING (k) WHERE 1 / (n.id - m.id) = 1;
SELECT count(*) FROM (SELECT rank() OVER (ORDER BY wide) FROM n) s;

-- What is left alone: a grouping's own sorts, an aggregate's if the order of its input does not spare it.
SELECT sort_key, taken, reason FROM gpusort_check('SELECT k, g, count(*) FROM n GROUP BY GROUPING SETS ((k), (g))') ORDER BY taken;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), rank(1::bigint) WITHIN GROUP (ORDER BY k) FROM n GROUP BY g') ORDER BY taken;
-- An aggregate's order is that of a sort below the grouping; each order has its own.
SELECT bool_and(taken) AS presorted, count(*) FILTER (WHERE taken) AS taken
FROM gpusort_check('SELECT g, string_agg(t, '','' ORDER BY id DESC) FROM n GROUP BY g');
SELECT count(*) FILTER (WHERE taken) AS taken, count(*) FILTER (WHERE NOT taken) >= 1 AS others
FROM gpusort_check('SELECT g, string_agg(t, '','' ORDER BY id DESC), array_agg(k ORDER BY k, t) FROM n GROUP BY g');
RESET gpusort.mode;
SELECT check_rows('SELECT g, string_agg(t, '','' ORDER BY id DESC) FROM n GROUP BY g', all_taken => false) AS presorted,
	check_rows('SELECT g, string_agg(t, '','' ORDER BY wide), array_agg(k ORDER BY t, id) FROM n GROUP BY g', all_taken => false) AS two_orders;
SELECT check_rows('SELECT k, g, t, count(*) FROM n GROUP BY ROLLUP (k, g), CUBE (t)', all_taken => false) AS grouping_sets,
	check_rows('SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), string_agg(t, '','' ORDER BY id DESC) FROM n GROUP BY g', all_taken => false) AS aggregates;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpusort.mode = force;
SELECT DISTINCT taken, reason FROM gpusort_check('SELECT count(*) FROM n a JOIN n b ON a.wide + 1 = b.wide + 1');
-- Below window functions, groupings and DISTINCT several processes feed the sort; expressions, sort columns that are not returned.
-- PostgreSQL 18 has a line more, of what the window is.
CREATE FUNCTION plan_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line !~ 'Window:' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;
SELECT plan_lines('SELECT id, row_number() OVER (PARTITION BY t ORDER BY wide) FROM n');
RESET gpusort.mode;
CREATE FUNCTION check_fed(query text) RETURNS text LANGUAGE plpgsql SET gpusort.mode = force AS $$
BEGIN
	RETURN concat_ws(', ', CASE WHEN plan_contains(query, 'GpuSortFeed') THEN 'fed' END, check_rows(query, all_taken => false));
END $$;
SELECT check_fed('SELECT id, row_number() OVER (PARTITION BY t ORDER BY wide) FROM n') AS partitions,
	check_fed('SELECT id, rank() OVER (ORDER BY k, id), count(*) OVER (PARTITION BY g, t) FROM n') AS two_windows,
	check_fed('SELECT filler, sum(k) OVER (PARTITION BY id % 7 ORDER BY wide) FROM n WHERE g > 0') AS expressions,
	check_fed('SELECT t, array_agg(id ORDER BY id) FROM n GROUP BY t ORDER BY t') AS grouped,
	check_fed('SELECT g, count(DISTINCT k), rank() OVER (ORDER BY g) FROM n GROUP BY g') AS groups_in_windows,
	check_fed('SELECT DISTINCT ON (k) k, id, t FROM n ORDER BY k, wide DESC') AS distinct_on,
	check_fed('SELECT DISTINCT ON (g, k) id FROM n ORDER BY g, k DESC, wide') AS junk,
	check_fed('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY wide DESC) AS r FROM n) s WHERE r <= 2') AS first_of_each;
-- Where the planner keeps no sort of all rows, as workers that group a part of them cost less; UNION, whose duplicates it would hash as well.
SELECT check_fed('SELECT t, g, count(*), sum(id) FROM n GROUP BY t, g ORDER BY t, g') AS grouped_in_part,
	check_fed('SELECT t, g, max(id) FROM n GROUP BY t, g HAVING count(*) > 1 ORDER BY t DESC') AS having,
	check_fed('SELECT t, k FROM n GROUP BY t, k ORDER BY t, k') AS groups_alone,
	check_fed('SELECT DISTINCT t, k FROM n ORDER BY t, k') AS "distinct",
	check_fed('SELECT k, t FROM n UNION SELECT wide, t FROM n ORDER BY k, t') AS "union",
	check_rows('(SELECT k, t, g FROM n UNION SELECT k, t, 1 FROM m UNION SELECT id, t, g FROM m) EXCEPT SELECT k, t, 1 FROM n ORDER BY t, k', all_taken => false) AS several;
SET enable_hashagg = on;
SELECT check_rows('SELECT k, t FROM n UNION ALL SELECT k, t FROM m UNION SELECT k, t FROM n ORDER BY t, k', all_taken => false) AS "union";
SET enable_hashagg = off;
SET gpusort.work_mem = '64kB';
SELECT check_fed('SELECT id, filler, row_number() OVER (PARTITION BY t ORDER BY wide) FROM n') AS through_files;
RESET gpusort.work_mem;
SELECT check_rows('SELECT o, (SELECT sum(r * n.id) FROM (SELECT id, row_number() OVER (ORDER BY wide) AS r FROM n WHERE g <> o) n) FROM generate_series(1, 3) AS o', all_taken => false) AS rescanned;
-- Mode auto: the feed competes with workers that sort and a Gather Merge above them.
SET gpusort.backend = cpu;
SET work_mem = '64MB';
CREATE TABLE many AS SELECT i AS id, noise(i)::numeric AS k, '/usr/share/' || md5(i::text) COLLATE "C" AS t FROM generate_series(1, 100000) AS i;
ANALYZE many;
SELECT mode, plan_contains(query, 'GpuSortFeed') AS fed, plan_contains(query, 'Gather Merge') AS gather_merge
FROM (VALUES ('off'), ('auto')) AS v (mode), LATERAL (SELECT set_config('gpusort.mode', mode, false) AS set, 'SELECT id, row_number() OVER (PARTITION BY t ORDER BY k) FROM many' AS query OFFSET 0) s;
-- Merge joins, as PostgreSQL plans them: with workers; by several columns, of joins, semi and anti joins, empty inputs; an input that is in order already.
SELECT mode, uses_gpusort('SELECT count(*), sum(a.id::bigint * b.id) FROM many a JOIN many b USING (t)') AS merge_join
FROM (VALUES ('off'), ('auto')) AS v (mode), LATERAL (SELECT set_config('gpusort.mode', mode, false) OFFSET 0) s;
RESET gpusort.mode;
SELECT check_rows('SELECT count(*), sum(a.id::bigint * b.id) FROM many a JOIN many b USING (t)') AS one_column,
	check_rows('SELECT count(*), sum(a.id::bigint * b.id) FROM many a LEFT JOIN many b ON b.t = a.t AND b.k = a.k AND b.id > 1000') AS left_join,
	check_rows('SELECT count(*), sum(a.id) FROM many a JOIN many b USING (t) JOIN n ON n.wide = a.k') AS of_a_join,
	check_rows('SELECT count(*), sum(id) FROM many a WHERE EXISTS (SELECT FROM many b WHERE b.t = a.t AND b.id % 3 = 0)') AS semi_join,
	check_rows('SELECT count(*), sum(id) FROM many a WHERE NOT EXISTS (SELECT FROM many b WHERE b.t = a.t AND b.id % 3 = 0)') AS anti_join,
	check_rows('SELECT count(*), sum(a.id), sum(b.id) FROM many a FULL JOIN (SELECT * FROM many WHERE id % 3 > 0 OFFSET 0) b ON a.t = b.t AND a.k = b.k') AS full_join,
	check_rows('SELECT count(*), sum(a.id), sum(b.id) FROM many a FULL JOIN (SELECT * FROM many WHERE id < 0) b USING (t)') AS with_none,
	check_rows('SELECT count(*), sum(a.id), sum(b.id) FROM (SELECT * FROM many WHERE id < 0) a FULL JOIN many b USING (t)') AS none_with_all,
	check_rows('SELECT sum(r * id) FROM (SELECT a.id, rank() OVER (ORDER BY a.id % 100, b.id) AS r FROM many a JOIN many b USING (k)) s') AS below_a_window;
-- A merge join goes back in its inner input: where PostgreSQL has no Materialize above, its own Sort stays if a GpuSort would be in files; it is the other memory that counts.
SET gpusort.work_mem = '200kB';
SET gpusort.mode = auto;
SELECT sort_key, taken, regexp_replace(reason, '\d+', 'N', 'g') AS reason FROM gpusort_check('SELECT count(*) FROM many a JOIN many b ON a.id % 64 = b.id % 64');
RESET gpusort.mode;
RESET gpusort.work_mem;
CREATE INDEX ON many (t);
SELECT check_rows('SELECT count(*), sum(a.id::bigint * m.id) FROM many a JOIN m USING (t)', all_taken => false) AS with_an_index;
-- What competes with other plans than sorts costs its input, the start of workers, and a part of PostgreSQL's own sort of all rows.
CREATE FUNCTION cost_of(plan jsonb, provider text) RETURNS float8 LANGUAGE sql AS
	$$SELECT jsonb_path_query_first(plan, '$.** ? (@."Custom Plan Provider" == $name)."Total Cost"', jsonb_build_object('name', provider))::float8$$;
CREATE FUNCTION plan_of(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan;
END $$;
SELECT cost_of(plan, 'GpuSort') - cost_of(plan, 'GpuSortFeed') AS without_start FROM plan_of('SELECT id, row_number() OVER (PARTITION BY t ORDER BY k) FROM many') AS plan \gset
SET parallel_setup_cost = 500;
SELECT :without_start BETWEEN 100 AND 9000 AS of_all_rows, cost_of(plan, 'GpuSort') - cost_of(plan, 'GpuSortFeed') - :without_start BETWEEN 499 AND 501 AS of_start
FROM plan_of('SELECT id, row_number() OVER (PARTITION BY t ORDER BY k) FROM many') AS plan;
SET parallel_setup_cost = 0;
DROP FUNCTION cost_of, plan_of;
-- Partitions that are grouped each for itself, or joined each with its counterpart.
CREATE TABLE pieces (id int, k numeric, t text COLLATE "C") PARTITION BY HASH (id);
SELECT format('CREATE TABLE pieces_%s PARTITION OF pieces FOR VALUES WITH (MODULUS 3, REMAINDER %s)', i, i) FROM generate_series(0, 2) AS i \gexec
INSERT INTO pieces SELECT id % 40000, k, t FROM many;
ANALYZE pieces;
BEGIN;
SET LOCAL enable_partitionwise_aggregate = on;
SET LOCAL enable_hashagg = on;
SET LOCAL max_parallel_workers_per_gather = 0;
SET LOCAL gpusort.mode = auto;
SELECT plan_contains(query, 'Append') AS each_for_itself, uses_gpusort(query), check_rows(query, all_taken => false) FROM (VALUES ('SELECT id, t, count(*) FROM pieces GROUP BY id, t')) AS v (query);
COMMIT;
SET enable_partitionwise_join = on;
SELECT check_rows('SELECT a.id, a.t, b.k FROM pieces a FULL JOIN pieces b ON a.id = b.id AND a.k = b.k') AS full_join,
	check_rows('UPDATE pieces SET k = length(b.t) FROM pieces b WHERE pieces.id = b.id AND pieces.t = b.t RETURNING pieces.t, pieces.k, b.id') AS written;
SET max_parallel_workers_per_gather = 0;
SELECT check_rows('SELECT a.id, a.t, b.k FROM pieces a LEFT JOIN (SELECT * FROM pieces WHERE k > 0) b USING (id)') AS left_join;
RESET enable_partitionwise_join;
DROP TABLE many, pieces;
RESET gpusort.backend;
RESET work_mem;
RESET max_parallel_workers_per_gather;

-- Mode auto goes by the times, here of the cpu device: of many rows, not of few; and keeps to min_rows.
SET gpusort.backend = cpu;
SET gpusort.mode = auto;
SET work_mem = '64MB';
CREATE TABLE many AS SELECT i AS id, noise(i)::numeric AS k, md5(i::text) COLLATE "C" AS t, i % 5 AS few FROM generate_series(1, 100000) AS i;
ANALYZE many;
SELECT sort_key, taken, reason, expected_ms < postgresql_ms AS faster FROM gpusort_check('SELECT id, row_number() OVER (ORDER BY t) FROM many');
SELECT sort_key, taken, expected_ms < postgresql_ms AS faster FROM gpusort_check('SELECT * FROM many a JOIN many b ON a.k = b.k');
SELECT sort_key, taken, reason FROM gpusort_check('SELECT id, row_number() OVER (ORDER BY t) FROM n WHERE g = 100');
SET gpusort.min_rows = 1000000;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT id, row_number() OVER (ORDER BY t) FROM many');
RESET gpusort.min_rows;
-- Many groups are sorted, where a hash table would be larger than a cache, few are hashed; many of an expression may be few.
SET enable_hashagg = on;
SELECT query, uses_gpusort(query) AS sorted
FROM unnest(ARRAY['SELECT DISTINCT k FROM many', 'SELECT DISTINCT id FROM many', 'SELECT id, count(*) FROM many GROUP BY id', 'SELECT k, max(t) FROM many GROUP BY k ORDER BY 2',
	'SELECT few, k, count(*) FROM many GROUP BY few, k', 'SELECT DISTINCT few FROM many', 'SELECT few, count(*) FROM many GROUP BY few', 'SELECT id % 1000, sum(id) FROM many GROUP BY 1', 'SELECT DISTINCT few, few + 1, id % 100 FROM many']) AS query;
SET enable_hashagg = off;
-- Of what is in order by its first columns already, where groups are large; not where they are small, nor if few rows may be read.
SET enable_incremental_sort = on;
SELECT sort_key, taken, reason, expected_ms < postgresql_ms AS faster
FROM gpusort_check('SELECT id, rank() OVER (PARTITION BY few ORDER BY k), rank() OVER (PARTITION BY few ORDER BY t) FROM many') LIMIT 1;
SELECT sort_key, taken, reason, expected_ms < postgresql_ms AS faster
FROM gpusort_check('SELECT id, rank() OVER (PARTITION BY t ORDER BY k), rank() OVER (PARTITION BY t ORDER BY few) FROM many') LIMIT 1;
SELECT sort_key, taken, reason
FROM gpusort_check('SELECT id, rank() OVER (PARTITION BY few ORDER BY k), rank() OVER (PARTITION BY few ORDER BY t) FROM many LIMIT 10') LIMIT 1;
-- An index gives groups of ten, or of a thousand, one after the other, as they are in the table: an incremental sort of these stays in a cache.
CREATE TABLE in_groups AS SELECT i / 10 AS ten, i / 1000 AS thousand, noise(i) AS k, md5(i::text) COLLATE "C" AS t FROM generate_series(1, 100000) AS i;
CREATE INDEX ON in_groups (ten);
CREATE INDEX ON in_groups (thousand);
ANALYZE in_groups;
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL max_parallel_workers_per_gather = 0;
SET LOCAL work_mem = '4MB';
SET LOCAL gpusort.work_mem = '64MB';
SELECT query, plan_contains(query, 'Incremental Sort') AS incremental
FROM unnest(ARRAY['SELECT * FROM in_groups ORDER BY ten, k', 'SELECT * FROM in_groups ORDER BY thousand, t', 'SELECT * FROM in_groups ORDER BY k, t']) AS query;
COMMIT;
DROP TABLE in_groups;
SET enable_incremental_sort = off;
-- The costs of one that is taken from the finished plan: less than those of the Sort by as much, the input's included.
CREATE FUNCTION cost_above_input(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	plan := plan->0->'Plan'->'Plans'->0;
	RETURN (plan->>'Total Cost')::float8 - (plan->'Plans'->0->>'Total Cost')::float8;
END $$;
CREATE TABLE measured AS SELECT 'auto' AS mode, cost_above_input('SELECT id, row_number() OVER (ORDER BY k), rank() OVER (ORDER BY t) FROM many') AS cost;
SET gpusort.mode = off;
INSERT INTO measured SELECT 'off', cost_above_input('SELECT id, row_number() OVER (ORDER BY k), rank() OVER (ORDER BY t) FROM many');
RESET gpusort.mode;
SELECT abs(a.cost / b.cost - c.expected_ms / c.postgresql_ms) < 0.01 AS in_proportion
FROM measured a, measured b, gpusort_check('SELECT id, row_number() OVER (ORDER BY k), rank() OVER (ORDER BY t) FROM many') c WHERE a.mode = 'auto' AND b.mode = 'off' LIMIT 1;

DROP TABLE n, m, many, measured CASCADE;
DROP FUNCTION check_rows, check_fed, plan_lines, spills, walk_nodes, same_walk, cost_above_input;
DROP SCHEMA sort_nodes;
