--
-- EXPLAIN: the sort key as Sort prints it, in every format, and what ANALYZE adds.
--
-- Of the cpu device, also on a server whose default is another one.
SET gpusort.backend = cpu;
CREATE TABLE e AS SELECT i AS id, i % 10 AS a, i::numeric AS n, 'text ' || i AS t, i::float8 AS f FROM generate_series(1, 1000) AS i;
ALTER TABLE e ADD COLUMN c text COLLATE "C", ADD COLUMN u text COLLATE "und-x-icu";
ANALYZE e;

-- The line of a plan that starts so, without its indentation.
CREATE FUNCTION plan_line(query text, options text, start text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		IF starts_with(ltrim(line), start) THEN
			RETURN ltrim(line);
		END IF;
	END LOOP;
	RETURN 'none';
END $$;

-- Sort prints the very same key.
CREATE FUNCTION same_sort_key(query text, options text DEFAULT 'COSTS OFF') RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	key_of_sort text := plan_line(query, options, 'Sort Key: ');
	key_of_gpusort text;
BEGIN
	PERFORM set_config('gpusort.mode', 'force', true);
	key_of_gpusort := plan_line(query, options, 'Sort Key: ');
	IF NOT uses_gpusort(query) THEN
		RETURN 'not taken';
	ELSIF key_of_gpusort <> key_of_sort OR key_of_sort = 'none' THEN
		RETURN format('%s instead of %s', key_of_gpusort, key_of_sort);
	END IF;
	RETURN 'same';
END $$;
SELECT key, same_sort_key('SELECT * FROM e ORDER BY ' || key)
FROM unnest(ARRAY['id', 'a DESC', 'a NULLS FIRST', 'a DESC NULLS LAST', 'a ASC NULLS LAST, id DESC NULLS FIRST', 'id + a, -id', 't COLLATE "C"',
	't COLLATE "und-x-icu" DESC NULLS LAST', 'c', 'u', 'u COLLATE "C"', 'a USING >', 'a USING <, n USING >', 'lower(c)', 'abs(a), n * 2 DESC',
	'(SELECT 1 + e.a)', 'CASE WHEN a > 5 THEN c END', 'a IS NULL']) AS key;
SELECT same_sort_key('SELECT x.id FROM e x JOIN e y USING (id) ORDER BY x.a, y.n DESC') AS join,
	same_sort_key('SELECT a, count(*) FROM e GROUP BY a ORDER BY count(*), a DESC') AS aggregate,
	same_sort_key('SELECT id AS "Odd Name" FROM e ORDER BY "Odd Name"') AS quoted,
	same_sort_key('SELECT * FROM (VALUES (1, ''x''), (2, ''y'')) AS v (p, q) ORDER BY p DESC') AS "values",
	same_sort_key('SELECT * FROM generate_series(1, 5) AS g ORDER BY g') AS function,
	same_sort_key('SELECT id FROM e UNION ALL SELECT a FROM e ORDER BY 1') AS append,
	same_sort_key('SELECT *, sum(id) OVER (PARTITION BY a ORDER BY id ROWS 2 PRECEDING) AS r FROM e ORDER BY sum(id) OVER (PARTITION BY a ORDER BY id ROWS 2 PRECEDING), n') AS window,
	same_sort_key('SELECT * FROM e ORDER BY a, c', 'VERBOSE, COSTS OFF') AS "verbose";

-- And so is all the rest of the plan, but for the name of the node.
CREATE FUNCTION whole_plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		plan := plan || replace(line, 'Custom Scan (GpuSort)', 'Sort') || E'\n';
	END LOOP;
	RETURN plan;
END $$;
CREATE FUNCTION same_plan(query text) RETURNS text LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	off text := whole_plan(query);
	forced text;
BEGIN
	PERFORM set_config('gpusort.mode', 'force', true);
	forced := whole_plan(query);
	RETURN CASE WHEN NOT uses_gpusort(query) THEN 'not taken' WHEN forced = off THEN 'same' ELSE forced || 'instead of' || E'\n' || off END;
END $$;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT same_plan('SELECT * FROM e ORDER BY a DESC, c') AS plain, same_plan('SELECT id + 1, lower(t) FROM e x ORDER BY a, id % 2') AS expressions,
	same_plan('SELECT x.id, y.t FROM e x JOIN e y USING (id) WHERE x.a = 3 ORDER BY x.f, y.n DESC') AS "join",
	same_plan('SELECT a, count(*), sum(f) + 1 FROM e GROUP BY a HAVING count(*) > 5 ORDER BY count(*), a DESC') AS aggregate,
	same_plan('SELECT *, sum(id) OVER (PARTITION BY a ORDER BY id ROWS 2 PRECEDING) AS r FROM e ORDER BY r, n') AS "window",
	same_plan('SELECT id, (SELECT max(y.id) FROM e y WHERE y.a = x.a ORDER BY 1) FROM e x WHERE id = (SELECT max(id) FROM e) ORDER BY n') AS subqueries,
	same_plan('SELECT generate_series(1, 3), random(), id FROM e ORDER BY n') AS postponed, same_plan('SELECT random() AS a, random() AS b FROM e ORDER BY a') AS volatile_twice,
	same_plan('SELECT id FROM e UNION ALL SELECT a FROM e ORDER BY 1') AS append,
	same_plan('SELECT * FROM (SELECT id, n FROM e ORDER BY f OFFSET 3) s WHERE id % 2 = 0') AS subquery,
	same_plan('INSERT INTO e (id) SELECT id FROM e ORDER BY n') AS "insert",
	same_plan('SELECT * FROM e ORDER BY n FOR UPDATE') AS for_update;
SET max_parallel_workers_per_gather = 2;
SET parallel_tuple_cost = 0;
SELECT same_plan('SELECT a, count(*) FROM e GROUP BY a ORDER BY count(*)') AS parallel_aggregate;
RESET max_parallel_workers_per_gather;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;

SET gpusort.mode = force;
-- Fields that only some versions print are left out, and the commas between fields.
CREATE FUNCTION explain(query text, options text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan text;
	line text;
BEGIN
	FOR plan IN EXECUTE format('EXPLAIN (COSTS OFF, %s) %s', options, query) LOOP
		FOREACH line IN ARRAY string_to_array(plan, E'\n') LOOP
			IF line !~ 'Disabled|Async' THEN
				RETURN NEXT rtrim(line, ',');
			END IF;
		END LOOP;
	END LOOP;
END $$;
\pset format unaligned
\pset tuples_only on
SELECT explain('SELECT * FROM e ORDER BY a DESC, c', 'FORMAT TEXT');
SELECT explain('SELECT id, a FROM e ORDER BY a DESC, c', 'VERBOSE');
SELECT explain('SELECT id FROM e ORDER BY a DESC, c', 'FORMAT JSON');
SELECT explain('SELECT id FROM e ORDER BY a DESC, c', 'FORMAT YAML');
SELECT explain('SELECT id FROM e ORDER BY a DESC, c', 'FORMAT XML');
\pset tuples_only off
\pset format aligned

-- With ANALYZE, in text and as fields of the other formats, and how many rows there were.
CREATE FUNCTION analyzed(query text, options text DEFAULT '') RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, FORMAT JSON%s) %s', options, query) INTO plan;
	RETURN plan -> 0 -> 'Plan';
END $$;
CREATE FUNCTION analyzed_text(query text, timing text DEFAULT 'TIMING OFF') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF, BUFFERS OFF, %s) %s', timing, query) LOOP
		line := regexp_replace(line, '(rows=[0-9]+)\.00', '\1');
		line := regexp_replace(line, 'Sort Method: .*  Device', 'Sort Method: M  Device');
		RETURN NEXT regexp_replace(line, '([0-9.]+)(\.\.[0-9.]+| ?kB| ?ms)', 'N\2', 'g');
	END LOOP;
END $$;
SELECT * FROM analyzed_text('SELECT * FROM e ORDER BY a, c');
SELECT * FROM analyzed_text('SELECT * FROM e ORDER BY c');
SELECT * FROM analyzed_text('SELECT * FROM e WHERE a < 0 ORDER BY c');
SELECT * FROM analyzed_text('SELECT * FROM e ORDER BY c', 'TIMING ON') AS line WHERE line LIKE '%Stages%';
SET gpusort.work_mem = '64kB';
SELECT regexp_replace(line, 'Runs: [0-9]+', 'Runs: N') FROM analyzed_text('SELECT e.* FROM e, generate_series(1, 20) ORDER BY a, id', 'TIMING ON') AS line WHERE line ~ 'Sort Method|Stages';
RESET gpusort.work_mem;
-- Times are those of all loops, however short the last one is.
CREATE TABLE looped AS SELECT i AS id, noise(i) AS k FROM generate_series(1, 20000) AS i;
SET gpusort.work_mem = '512kB';
SELECT (node ->> 'Feed Time')::float8 > 0.5 AS feed, (node ->> 'Sort Time')::float8 > 0.1 AS sort, (node ->> 'Spill Time')::float8 > 0.1 AS spill, (node ->> 'Merge Time')::float8 > 0 AS merge, node ->> 'Runs' AS runs_of_the_last
FROM analyzed('SELECT (SELECT sum(s.id) FROM (SELECT * FROM looped WHERE id <= most ORDER BY k, -id OFFSET 0) AS s) FROM unnest(''{20000,1}''::int[]) AS most') AS plan, jsonb_path_query(plan::jsonb, 'strict $.** ? (@."Custom Plan Provider" == "GpuSort")') AS node;
RESET gpusort.work_mem;
DROP TABLE looped;
-- Rows that come in order, or in reverse, are not sorted, whatever the key, in one chunk and in several.
CREATE TABLE in_order AS SELECT i AS id, i / 2 AS twice, (i / 2)::numeric AS twice_n, i::numeric AS n, i % 10 AS a FROM generate_series(1, 20000) AS i;
SELECT key, plan ->> 'Sort Method' AS method FROM unnest(ARRAY['id', 'twice', 'n', 'twice_n', 'id DESC', 'n DESC', 'a, id', 'a::numeric, id']) AS key, analyzed('SELECT * FROM in_order ORDER BY ' || key) AS plan;
SELECT key, plan ->> 'Sort Method' AS method FROM unnest(ARRAY['id', 'n', 'id DESC', 'n DESC']) AS key, analyzed('SELECT * FROM e ORDER BY ' || key) AS plan;
DROP TABLE in_order;
SELECT plan ->> 'Node Type' AS node_type, plan ->> 'Custom Plan Provider' AS provider, (plan ->> 'Actual Rows')::numeric::int AS rows, plan -> 'Sort Key' AS sort_key
FROM analyzed('SELECT * FROM e ORDER BY a, c') AS plan;
SELECT key FROM analyzed('SELECT * FROM e ORDER BY a, c') AS plan, json_object_keys(plan) AS key
WHERE key NOT IN ('Plans', 'Async Capable', 'Disabled') AND key NOT LIKE '%Blocks' AND key NOT LIKE 'Actual%' AND key NOT LIKE '%Cost' AND key NOT LIKE 'Plan %';
-- What programs that draw plans divide by: no node is expected to return less than a row, nor to end before it begins.
CREATE FUNCTION odd_estimates(query text, OUT nodes text, OUT odd text) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	SELECT string_agg(DISTINCT coalesce(node ->> 'Custom Plan Provider', node ->> 'Node Type'), ' ') FILTER (WHERE node ? 'Custom Plan Provider' OR node ->> 'Node Type' LIKE 'Gather%'),
		string_agg(node::text, ' ') FILTER (WHERE ((node ->> 'Plan Rows')::numeric >= 1 AND (node ->> 'Plan Width')::int >= 0 AND (node ->> 'Startup Cost')::numeric <= (node ->> 'Total Cost')::numeric) IS NOT TRUE)
	INTO nodes, odd FROM (SELECT jsonb_path_query(plan, 'strict $.** ? (exists(@."Node Type"))') - 'Plans' AS node) AS n;
END $$;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT what, (odd_estimates(query)).* FROM (VALUES ('several processes', 'SELECT * FROM e ORDER BY c, id'), ('a cursor', 'DECLARE d CURSOR FOR SELECT * FROM e ORDER BY c, id'),
	('ranks', 'SELECT id, rank() OVER (PARTITION BY a ORDER BY n) FROM e'), ('no row', 'SELECT * FROM e WHERE id < 0 ORDER BY c'), ('a LIMIT', 'SELECT * FROM e ORDER BY c LIMIT 1')) AS q (what, query);
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
-- A plan that is only explained is not executed.
SELECT plan_contains('SELECT 1 / (a - a) FROM e ORDER BY 1', 'GpuSort') AS explained;

DROP TABLE e;
DROP FUNCTION plan_line, same_sort_key, whole_plan, same_plan, explain, analyzed, analyzed_text, odd_estimates;
