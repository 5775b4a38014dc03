--
-- Queries of every shape around a sort.
--
CREATE TABLE q AS
	SELECT i AS id, (noise(i) % 50)::int AS g, noise(i, 1) AS k, md5(i::text) COLLATE "C" AS t, CASE WHEN i % 9 > 0 THEN i % 100 END AS x
	FROM generate_series(1, 3000) AS i;
CREATE UNIQUE INDEX ON q (id);
CREATE TABLE d AS SELECT g, 'group ' || g AS name FROM generate_series(-49, 49) AS g;
ANALYZE q, d;

-- Joins, groups, aggregates, windows, set operations.
SELECT check_query('SELECT q.*, name FROM q JOIN d USING (g) ORDER BY name COLLATE "C", id') AS "join",
	check_query('SELECT name, count(*), sum(k) FROM q JOIN d USING (g) GROUP BY name ORDER BY count(*) DESC, name COLLATE "C"') AS join_group,
	check_query('SELECT g, count(*) AS n FROM q GROUP BY g HAVING count(*) > 20 ORDER BY n, g DESC') AS group_having,
	check_query('SELECT g, x, sum(k) FROM q GROUP BY ROLLUP (g, x) ORDER BY sum(k), g, x') AS rollup,
	check_query('SELECT DISTINCT g, x FROM q ORDER BY x DESC, g') AS "distinct",
	check_query('SELECT g, id FROM (SELECT DISTINCT ON (g) * FROM q ORDER BY g, k) s ORDER BY k') AS distinct_on,
	check_query('SELECT *, rank() OVER (PARTITION BY g ORDER BY k) FROM q ORDER BY t') AS over_a_window,
	check_query('SELECT id, row_number() OVER () FROM (SELECT * FROM q ORDER BY t OFFSET 0) s') AS window_over_it,
	check_query('SELECT id, sum(id) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM (SELECT * FROM q ORDER BY k OFFSET 0) s') AS frame_over_it,
	check_query('SELECT array_agg(id) FROM (SELECT * FROM q ORDER BY t OFFSET 0) s') AS aggregate_over_it,
	check_query('SELECT id FROM q WHERE g > 0 UNION SELECT k FROM q WHERE g < 0 ORDER BY 1 DESC') AS "union",
	check_query('(SELECT id, k FROM q ORDER BY k LIMIT 2500) UNION ALL (SELECT id, k FROM q ORDER BY t LIMIT 2500)') AS sorted_union_all,
	check_query('SELECT id FROM q EXCEPT SELECT x FROM q ORDER BY 1') AS "except",
	check_query('SELECT g FROM q INTERSECT SELECT x FROM q ORDER BY 1 DESC') AS "intersect";
-- Expressions, functions that return sets, and volatile ones in the target list.
CREATE SEQUENCE n;
SELECT check_query('SELECT id, generate_series(1, id % 3) FROM q ORDER BY k') AS set_after_the_sort,
	check_query('SELECT id, generate_series(1, id % 3) AS s FROM q ORDER BY s, k') AS set_as_a_key,
	check_query('SELECT * FROM (SELECT id, unnest(ARRAY[t, name]) AS u FROM q JOIN d USING (g)) s ORDER BY u COLLATE "C", id') AS unnested,
	check_query('SELECT id, setval(''n'', id), random() < 2 FROM q ORDER BY t') AS volatile,
	check_query('SELECT random() < 2 AS r, id FROM q ORDER BY r, k') AS volatile_as_a_key,
	check_query('SELECT (SELECT name FROM d WHERE d.g = q.g), id FROM q ORDER BY k') AS subquery,
	check_query('SELECT id FROM q ORDER BY (SELECT name FROM d WHERE d.g = q.g) COLLATE "C", id') AS subquery_as_a_key,
	check_query('SELECT id FROM q WHERE id IN (SELECT x FROM q r WHERE r.g = q.g ORDER BY k) ORDER BY k') AS sublink,
	check_query('SELECT q FROM q ORDER BY k') AS whole_row,
	check_query('SELECT ctid, tableoid::regclass, xmin IS NULL, id FROM q ORDER BY k') AS system_columns,
	check_query('SELECT ROW(id, t), ARRAY[id, g], t || name FROM q JOIN d USING (g) ORDER BY k') AS computed,
	check_query('SELECT FROM q ORDER BY k') AS no_column,
	check_query('SELECT 1 FROM q ORDER BY k') AS constant,
	check_query('SELECT id FROM q ORDER BY k FETCH FIRST 2000 ROWS WITH TIES') AS with_ties,
	check_query('SELECT id FROM q ORDER BY k LIMIT NULL OFFSET 5') AS limit_null;
SELECT setval('n', 1);
SET gpusort.mode = force;
-- A volatile expression that is there twice has values of its own in either place.
SELECT count(*) FILTER (WHERE a = b) AS the_same FROM (SELECT random() AS a, random() AS b FROM q ORDER BY a, b OFFSET 0) s;
-- A volatile function is called in the order of the rows that come out.
SELECT count(*) AS calls, bool_and(v = place) AS in_order
FROM (SELECT v - min(v) OVER () + 1 AS v, row_number() OVER (ORDER BY k) AS place FROM (SELECT nextval('n') AS v, k FROM q ORDER BY k OFFSET 0) s) s2;
RESET gpusort.mode;

-- Sources: views, CTEs, functions, VALUES, partitions, inheritance, sampling, no table at all.
CREATE VIEW v AS SELECT * FROM q WHERE g > 0 ORDER BY t;
CREATE VIEW v2 AS SELECT g, max(k) AS m FROM v GROUP BY g ORDER BY m;
CREATE FUNCTION inlined(int) RETURNS SETOF q LANGUAGE sql STABLE AS $$ SELECT * FROM q WHERE g = $1 ORDER BY k $$;
CREATE TABLE parts (id int, k bigint, t text COLLATE "C") PARTITION BY RANGE (id);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (1) TO (1000);
CREATE TABLE parts2 (t text COLLATE "C", dropped int, k bigint, id int);
ALTER TABLE parts2 DROP COLUMN dropped;
ALTER TABLE parts ATTACH PARTITION parts2 FOR VALUES FROM (1000) TO (5000);
INSERT INTO parts SELECT id, k, t FROM q;
ANALYZE parts;
SELECT check_query('SELECT * FROM v') AS view, check_query('SELECT * FROM v2') AS view_of_view, check_query('SELECT * FROM v WHERE x = 5') AS view_filtered,
	check_query('SELECT * FROM inlined(7)') AS sql_function,
	check_query('WITH w AS MATERIALIZED (SELECT * FROM q ORDER BY k) SELECT a.id, b.id FROM w a JOIN w b ON a.id = b.x ORDER BY a.id, b.id') AS cte,
	check_query('WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 100) SELECT * FROM r ORDER BY n % 10, n') AS recursive,
	check_query('SELECT * FROM generate_series(1, 1000) WITH ORDINALITY AS g (v, o) ORDER BY v % 10, o DESC') AS function_scan,
	check_query('SELECT * FROM (VALUES (3, ''c''), (1, ''a''), (2, NULL)) AS v (a, b) ORDER BY a') AS "values",
	check_query('SELECT * FROM parts ORDER BY k') AS partitions, check_query('SELECT tableoid::regclass, * FROM parts ORDER BY t DESC') AS partitions_text,
	check_query('SELECT * FROM q TABLESAMPLE SYSTEM (100) ORDER BY k') AS sample,
	left(check_query('SELECT relname FROM pg_class WHERE relkind = ''r'' AND relnamespace = ''pg_catalog''::regnamespace ORDER BY relname'), 2) AS catalog;

-- Prepared statements with custom and generic plans.
PREPARE p (int, bigint) AS SELECT id, k FROM q WHERE g >= $1 AND k > $2 ORDER BY k;
CREATE FUNCTION prepared(a int, b bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	result text := '';
BEGIN
	FOR r IN EXECUTE format('EXECUTE p (%s, %s)', a, b) LOOP
		result := result || r.id || ' ';
	END LOOP;
	RETURN md5(result);
END $$;
CREATE TABLE answers (plan text, mode text, answer text);
SET gpusort.mode = off;
SET plan_cache_mode = force_custom_plan;
INSERT INTO answers SELECT 'custom', 'off', string_agg(prepared(a, a * 100000000000000), ' ' ORDER BY a) FROM generate_series(-50, 50, 10) AS a;
SET gpusort.mode = force;
INSERT INTO answers SELECT 'custom', 'force', string_agg(prepared(a, a * 100000000000000), ' ' ORDER BY a) FROM generate_series(-50, 50, 10) AS a;
SET plan_cache_mode = force_generic_plan;
SELECT uses_gpusort('EXECUTE p (1, 1)') AS generic_plan;
INSERT INTO answers SELECT 'generic', 'force', string_agg(prepared(a, a * 100000000000000), ' ' ORDER BY a) FROM generate_series(-50, 50, 10) AS a;
-- A plan that was made with gpusort stays when it is switched off, until it is made again.
SET gpusort.mode = off;
INSERT INTO answers SELECT 'generic', 'off', string_agg(prepared(a, a * 100000000000000), ' ' ORDER BY a) FROM generate_series(-50, 50, 10) AS a;
DISCARD PLANS;
SELECT uses_gpusort('EXECUTE p (1, 1)') AS replanned;
RESET plan_cache_mode;
RESET gpusort.mode;
SELECT count(*) AS runs, count(DISTINCT answer) AS answers FROM answers;

-- Statements that write.
SET gpusort.mode = force;
CREATE TABLE sorted AS SELECT * FROM q ORDER BY t;
SELECT count(*) AS rows, bool_and(t > before) AS sorted FROM (SELECT t, lag(t) OVER (ORDER BY ctid) AS before FROM sorted) s;
TRUNCATE sorted;
INSERT INTO sorted SELECT * FROM q ORDER BY k DESC;
SELECT count(*) AS rows, bool_and(k < before) AS sorted FROM (SELECT k, lag(k) OVER (ORDER BY ctid) AS before FROM sorted) s;
CREATE MATERIALIZED VIEW m AS SELECT * FROM q ORDER BY k;
SELECT count(*) AS rows, bool_and(k > before) AS sorted FROM (SELECT k, lag(k) OVER (ORDER BY ctid) AS before FROM m) s;
REFRESH MATERIALIZED VIEW m;
UPDATE sorted SET x = s.place FROM (SELECT id, row_number() OVER () AS place FROM (SELECT id FROM q ORDER BY k OFFSET 0) o) s WHERE s.id = sorted.id;
SELECT count(*) AS rows, bool_and(k > before) AS right_places FROM (SELECT k, lag(k) OVER (ORDER BY x) AS before FROM sorted) s;
DELETE FROM sorted WHERE id IN (SELECT id FROM q ORDER BY k LIMIT 2900);
SELECT count(*) AS rows FROM sorted;
MERGE INTO sorted USING (SELECT * FROM q ORDER BY k OFFSET 0) s ON s.id = sorted.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.g, s.k, s.t, s.x);
SELECT count(*) AS rows FROM sorted;
SELECT id FROM q WHERE id < 10 ORDER BY k FOR UPDATE;
SELECT id FROM q WHERE id < 10 ORDER BY t FOR SHARE SKIP LOCKED;
COPY (SELECT id, g FROM q WHERE id < 10 ORDER BY k) TO STDOUT;
RESET gpusort.mode;

-- Loops in PL/pgSQL; a sort inside a sort's input, deeper and deeper.
CREATE FUNCTION loop_over_sort() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	s record;
	result text := '';
BEGIN
	FOR r IN SELECT * FROM q WHERE id <= 300 ORDER BY k LOOP
		FOR s IN SELECT * FROM q WHERE g = r.g ORDER BY t LIMIT 20 LOOP
			result := result || r.id || ':' || s.id || ' ';
			EXIT WHEN s.id % 10 = 0;
		END LOOP;
	END LOOP;
	RETURN md5(result);
END $$;
CREATE FUNCTION nested_sorts(depth int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	IF depth = 0 THEN
		RETURN 1;
	END IF;
	RETURN (SELECT sum(v * place) FROM (SELECT nested_sorts(depth - 1) + id AS v, row_number() OVER () AS place FROM (SELECT id FROM q WHERE id <= 3 ORDER BY k OFFSET 0) s) s2);
END $$;
SET gpusort.mode = off;
SELECT loop_over_sort() AS loops, nested_sorts(5) AS nested \gset off_
SET gpusort.mode = force;
SELECT loop_over_sort() = :'off_loops' AS same_loops, nested_sorts(5) = :off_nested AS same_nested;

DROP TABLE q, d, parts, answers, sorted CASCADE;
