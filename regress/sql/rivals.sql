--
-- What a grouping or a window does instead of sorting, where that is expected to take longer than a GpuSort: it fetches rows by an index.
--
CREATE TABLE fetched AS SELECT i AS id, (noise(i) % 20000)::int AS device, noise(i, 1) % 1000000000 AS at, repeat('x', 100) AS filler FROM generate_series(1, 60000) AS i;
CREATE INDEX ON fetched (device);
CREATE TABLE fetched_in_order AS SELECT * FROM fetched ORDER BY device;
CREATE INDEX ON fetched_in_order (device);
VACUUM ANALYZE fetched, fetched_in_order;
SET max_parallel_workers_per_gather = 0;
SET gpusort.mode = auto;
SET gpusort.backend = cpu;
SET enable_hashagg = off;
SET random_page_cost = 1.1;
SET work_mem = '64MB';

-- A sum of the rows' hashes.
CREATE FUNCTION of_mode(mode text, query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	sum numeric;
BEGIN
	PERFORM set_config('gpusort.mode', mode, true);
	EXECUTE format('SELECT sum(hashtextextended(r::text, 0)::numeric) FROM (%s) AS r', query) INTO sum;
	PERFORM set_config('gpusort.mode', 'auto', true);
	RETURN sum;
END $$;
CREATE FUNCTION explain_json(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan;
END $$;
-- Does every node cost at least as much as its input, and nothing less than nothing?
CREATE FUNCTION costs_rise(query text, with_input boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RETURN (WITH RECURSIVE nodes AS (SELECT explain_json(query) -> 0 -> 'Plan' AS node UNION ALL SELECT jsonb_array_elements(node -> 'Plans') FROM nodes)
		SELECT bool_and((node ->> 'Startup Cost')::float8 >= 0 AND (node ->> 'Total Cost')::float8 >= (node ->> 'Startup Cost')::float8)
			AND (NOT with_input OR bool_and( (node ->> 'Total Cost')::float8 >= coalesce((node -> 'Plans' -> 0 ->> 'Total Cost')::float8, 0))) FROM nodes);
END $$;
-- Where the rows are nowhere near the index's order; not where the table has them in order, nor where few are wanted.
CREATE FUNCTION taken(query text, OUT random boolean, OUT in_order boolean) LANGUAGE sql AS $$
	SELECT uses_gpusort(format(query, 'fetched')), uses_gpusort(format(query, 'fetched_in_order'))
$$;
SELECT query, t.* FROM unnest(ARRAY['SELECT device, sum(at) FROM %s GROUP BY device', 'SELECT device, sum(at), max(filler) FROM %s GROUP BY device HAVING count(*) > 1 ORDER BY device', 'SELECT DISTINCT ON (device) device, at FROM %s ORDER BY device',
	'SELECT id, filler, count(*) OVER (PARTITION BY device) FROM %s', 'SELECT id, filler, lag(at) OVER (PARTITION BY device ORDER BY at) FROM %s',
	'SELECT device, sum(at) FROM %s GROUP BY device ORDER BY device LIMIT 10', 'SELECT id, filler, count(*) OVER (PARTITION BY device) FROM %s LIMIT 10']) AS query, taken(query) AS t;
-- The rows are those of PostgreSQL's plan.
SELECT of_mode('auto', 'SELECT device, count(*), sum(at), min(id) FROM fetched GROUP BY device') = of_mode('off', 'SELECT device, count(*), sum(at), min(id) FROM fetched GROUP BY device') AS groups,
	of_mode('auto', 'SELECT id, at - lag(at) OVER (PARTITION BY device ORDER BY at) FROM fetched') = of_mode('off', 'SELECT id, at - lag(at) OVER (PARTITION BY device ORDER BY at) FROM fetched') AS windows;
-- gpusort_check says so.
SELECT sort_key, taken, reason, expected_ms < postgresql_ms AS faster FROM unnest(ARRAY['SELECT device, sum(at) FROM fetched GROUP BY device', 'SELECT id, filler, lag(at) OVER (PARTITION BY device ORDER BY at) FROM fetched']) AS query, gpusort_check(query);

-- Groups that are sorted by what they count are all wanted, however few rows the query returns.
SELECT query, plan_contains(query, 'Index Scan') AS fetches FROM unnest(ARRAY['SELECT device, max(filler) FROM fetched GROUP BY device ORDER BY 2 DESC', 'SELECT device, max(filler) FROM fetched GROUP BY device ORDER BY 2 DESC LIMIT 10', 'SELECT device, max(filler) FROM fetched GROUP BY device ORDER BY 1 LIMIT 10']) AS query;
-- A node costs no less than its input, but for an ORDER BY, which costs what it takes beside an index scan.
SELECT query, costs_rise(query, query NOT LIKE '%ORDER BY device, at') FROM unnest(ARRAY['SELECT device, count(*) FROM fetched GROUP BY device', 'SELECT id, lag(at) OVER (PARTITION BY device ORDER BY at) FROM fetched', 'SELECT * FROM fetched ORDER BY device, at']) AS query;

-- Where workers form groups in part, a sort of all rows whose comparisons are dear costs what it takes, not what PostgreSQL charges.  A card would take less, and so may three processors; and so do ranges, which are not offered for few groups.
CREATE TABLE posted AS SELECT i AS id, ('C' || (noise(i) & 127))::char(6) COLLATE "und-x-icu" AS center, noise(i, 1) & 15 AS kind, noise(i, 2) AS account FROM generate_series(1, 60000) AS i;
ALTER TABLE posted SET (parallel_workers = 2);
VACUUM ANALYZE posted;
BEGIN;
SET LOCAL gpusort.backend = cpu;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL gpusort.dictionary = off;
SELECT query, plan_contains(query, 'Partial') OR query LIKE '%center%' AND (SELECT count(*) FROM regexp_matches(pg_read_file('/proc/cpuinfo'), '^processor', 'gn')) > 2 AS in_part FROM unnest(ARRAY['SELECT center, kind, count(*) FROM posted GROUP BY center, kind HAVING count(*) > 0 AND min(id) > 0 AND max(id) > 0 AND sum(id) > 0 AND avg(id) > 0 ORDER BY center, kind', 'SELECT account, count(*) FROM posted GROUP BY account']) AS query;
-- With codes each value is compared once, and the sort is taken.
SET LOCAL gpusort.dictionary = auto;
SELECT plan_contains(query, 'Partial') AS in_part FROM unnest(ARRAY['SELECT center, kind, count(*) FROM posted GROUP BY center, kind']) AS query;
COMMIT;
RESET enable_hashagg;

-- Of a join that workers share each sorts all of the inner input: one process alone reads it sooner.
CREATE TABLE asked AS SELECT noise(i) % 100000 AS k, noise(i, 1) AS n FROM generate_series(1, 5000) AS i;
CREATE TABLE held AS SELECT noise(i, 2) % 100000000 AS k FROM generate_series(1, 60000) AS i;
ALTER TABLE asked SET (parallel_workers = 2);
ALTER TABLE held SET (parallel_workers = 0);
VACUUM ANALYZE asked, held;
SET gpusort.mode = force;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT query, jsonb_path_query_first(explain_json(query), '$[0].Plan.Plans[0]."Node Type"') = '"Gather"' AS workers_feed FROM unnest(ARRAY['SELECT * FROM asked f WHERE NOT EXISTS (SELECT FROM held m WHERE m.k = f.k) ORDER BY n', 'SELECT * FROM asked f ORDER BY n']) AS query;

DROP TABLE fetched, fetched_in_order, posted, asked, held;
DROP FUNCTION taken, of_mode, costs_rise, explain_json;
