--
-- Groups that processes of a parallel plan form, each of ranges of one sort (GpuSortRanges).
--
CREATE SCHEMA group_ranges;
SET search_path = group_ranges, public;
SELECT make_range_tables();
VACUUM ANALYZE r, uneven;

SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET enable_hashagg = off;
SET gpusort.backend = cpu;

-- The plans: a Gather of the groups, or of what is above them.
SET gpusort.mode = force;
EXPLAIN (COSTS OFF) SELECT g, n, count(*), sum(k) FROM r GROUP BY g, n;
EXPLAIN (COSTS OFF) SELECT g, n FROM r GROUP BY g, n;
EXPLAIN (COSTS OFF) SELECT DISTINCT g, n FROM r;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (g) g, n, id FROM r ORDER BY g, n DESC;
EXPLAIN (COSTS OFF) SELECT count(*), sum(c) FROM (SELECT g, count(*) AS c FROM r GROUP BY g) s;
EXPLAIN (COSTS OFF) SELECT count(*), sum(m) FROM (SELECT t COLLATE english AS t, max(k) + 1 AS m FROM r WHERE few > 0 GROUP BY 1 HAVING count(*) > 1) s;
EXPLAIN (COSTS OFF) SELECT few, count(*) FROM (SELECT g % 128 AS g, few, min(k) FROM r GROUP BY 1, 2) s GROUP BY few;
-- No Gather Merge of ranges: all processes but one would wait.
EXPLAIN (COSTS OFF) SELECT g, n, count(*), sum(k) FROM r GROUP BY g, n ORDER BY g, n;
EXPLAIN (COSTS OFF) SELECT g, n, count(*), sum(k) FROM r GROUP BY g, n ORDER BY count(*) DESC, g, n;
RESET gpusort.mode;

CREATE TABLE queries (name text, query text);
INSERT INTO queries VALUES
	('aggregates', digest('SELECT g, count(*), sum(k), max(id) - min(id), avg(n) FROM r GROUP BY g')),
	('two columns', digest('SELECT g, few, count(*), sum(k) FILTER (WHERE id % 3 = 0) FROM r GROUP BY g, few')),
	('of the query itself', 'SELECT g, few, count(*), sum(k) FROM r GROUP BY g, few'),
	('HAVING', 'SELECT g, few, count(*), sum(k) FROM r GROUP BY g, few HAVING count(*) > 2'),
	('groups alone', digest('SELECT g, n FROM r GROUP BY g, n')),
	('DISTINCT', digest('SELECT DISTINCT n, few FROM r')),
	('DISTINCT, all differ', digest('SELECT DISTINCT id, k FROM r')),
	('DISTINCT, few differ', digest('SELECT DISTINCT few FROM r')),
	('DISTINCT, each twice', digest('SELECT DISTINCT id % 8000 AS m FROM r')),
	('DISTINCT ON', digest('SELECT DISTINCT ON (n) n, g, id FROM r ORDER BY n, g DESC, id')),
	('groups of groups', 'SELECT few, count(*), sum(c) FROM (SELECT g, few, count(*) AS c FROM r GROUP BY g, few) s GROUP BY few'),
	('filter', 'SELECT * FROM (SELECT g, sum(k) AS b FROM r GROUP BY g) s WHERE b % 10 = 5'),
	('join', 'SELECT count(*), sum(c), sum(u.k) AS k FROM (SELECT n, count(*) AS c FROM r GROUP BY n) s JOIN uneven u ON n = u.id'),
	('constant column', digest('SELECT g, n, one, count(*) FROM r WHERE one = 1 GROUP BY g, one, n')),
	('order within', digest('SELECT g, string_agg(t, '' '' ORDER BY id DESC), count(DISTINCT few), count(DISTINCT n) FROM r GROUP BY g')),
	('NULLs', digest('SELECT n, count(*), sum(k) FROM r GROUP BY n')),
	('text, C', digest('SELECT t COLLATE "C", count(*), sum(k) FROM r GROUP BY 1')),
	('text, libc', digest('SELECT t COLLATE english, count(*), sum(k) FROM r GROUP BY 1')),
	('text, ICU', digest('SELECT t COLLATE "en-x-icu", count(*), sum(k) FROM r GROUP BY 1')),
	('text, case ignored', digest('SELECT count(*), sum(k) FROM r GROUP BY folded COLLATE ignore_case')),
	('DISTINCT, case ignored', digest('SELECT lower(f) FROM (SELECT DISTINCT folded COLLATE ignore_case AS f FROM r) d')),
	('floats', digest('SELECT f + 0.0, count(*), sum(k) FROM r GROUP BY f')),
	('numerics', digest('SELECT trim_scale(scaled), count(*), sum(k) FROM r GROUP BY scaled')),
	('one group', digest('SELECT one, count(*), sum(k) FROM r GROUP BY one')),
	('two groups', digest('SELECT few > 1, count(*), sum(k) FROM r GROUP BY 1')),
	('few groups', digest('SELECT few, count(*), sum(k) FROM r GROUP BY few')),
	('a large one', digest('SELECT g, count(*), sum(k), max(filler) FROM uneven GROUP BY g')),
	('of one row each', digest('SELECT id, count(*), sum(k) FROM r GROUP BY id')),
	('of two rows each', digest('SELECT id / 2, count(*), sum(k) FROM r GROUP BY 1')),
	('as long as ranges', digest('SELECT (id - 1) / 1200, count(*), sum(k) FROM r WHERE id <= 19200 GROUP BY 1')),
	('no rows', digest('SELECT g, count(*) FROM r WHERE abs(id) < 1 GROUP BY g')),
	('one row', digest('SELECT g, count(*) FROM r WHERE abs(id - 777) < 1 GROUP BY g')),
	('three rows', digest('SELECT g, count(*) FROM r WHERE abs(id - 777) < 2 GROUP BY g')),
	('windows', digest('SELECT g, lag(c) OVER (PARTITION BY g / 4 ORDER BY g) FROM (SELECT g, count(*) AS c FROM r GROUP BY g) o')),
	('sorted by the groups', 'SELECT row_number() OVER () AS place, o.* FROM (SELECT g, few, sum(k) FROM r GROUP BY g, few ORDER BY g, few OFFSET 0) o'),
	('sorted by a count', 'SELECT row_number() OVER () AS place, o.* FROM (SELECT g, few, count(*) FROM r GROUP BY g, few ORDER BY 3 DESC, g, few OFFSET 0) o'),
	('rows of a function', digest('SELECT g, few, generate_series(1, few) FROM r GROUP BY g, few')),
	('two sorts', 'SELECT count(*), sum(a.b - o.b) FROM (SELECT g, sum(k) AS b FROM r GROUP BY g) a JOIN (SELECT n, sum(k) AS b FROM r GROUP BY n) o ON g = n'),
	('UNION ALL', digest('SELECT g, sum(k) AS b FROM r GROUP BY g UNION ALL SELECT g, sum(k) FROM uneven GROUP BY g'));
-- Who reads rows waits here and there, so that several processes take part.
CREATE VIEW input AS SELECT * FROM r WHERE id % 2000 <> 1 OR waits();
UPDATE queries SET query = regexp_replace(query, 'FROM r\M', 'FROM input', 'g');
SELECT name, check_ranges(query) FROM queries;
SET parallel_leader_participation = off;
SELECT name, check_ranges(query) AS without_leader FROM queries WHERE name <> 'DISTINCT ON' AND name ~ 'aggregates|itself|DISTINCT|NULLs|libc|ignored|few|large|each|no rows|one row|two sorts';
-- All to runs in files: ranges of runs, or one process returns the rows whose keys guess.
SET work_mem = '64kB';
SELECT name, check_ranges(query) AS through_files FROM queries;
RESET parallel_leader_participation;
SELECT name, check_ranges(query) AS through_files FROM queries WHERE name ~ 'aggregates|itself|DISTINCT|NULLs|ICU|floats|two groups|large|two rows|no rows|one row|two sorts';
RESET work_mem;

-- Planned workers that do not come.
SET max_parallel_workers = 0;
SELECT name, check_ranges(query) AS no_worker_comes FROM queries WHERE name ~ 'aggregates|DISTINCT|libc|large|no rows';
SET parallel_leader_participation = off;
SELECT name, check_ranges(query) AS no_worker_though_the_leader_leaves_it_to_them FROM queries WHERE name ~ 'aggregates|libc|large|no rows';
RESET parallel_leader_participation;
SET max_parallel_workers = 1;
SELECT name, check_ranges(query) AS one_worker FROM queries WHERE name ~ 'aggregates|itself|NULLs|libc|large|no rows|two sorts';
RESET max_parallel_workers;

-- Read again, and nobody reads to the end.
SET enable_material = off;
SELECT check_ranges('SELECT o, s.* FROM (VALUES (1), (2), (3)) AS v (o) LEFT JOIN (SELECT count(*), sum(b) FROM (SELECT g, sum(k) AS b FROM r GROUP BY g) w) s ON s.count > o') AS rescanned,
	check_ranges('SELECT o, (SELECT count(b) + sum(b) FROM (SELECT g, sum(k) AS b FROM r GROUP BY g) w WHERE b > o) FROM generate_series(-3, 3) AS o') AS with_a_parameter,
	check_ranges('SELECT o, s.c FROM generate_series(1, 3) AS o, LATERAL (SELECT count(*) AS c FROM (SELECT g, n FROM r WHERE few < o GROUP BY g, n) w) s') AS with_a_parameter_below,
	check_ranges('SELECT count(*) FROM (SELECT FROM (SELECT id, sum(k) AS b FROM r GROUP BY id) w WHERE b IS NOT NULL LIMIT 10) s') AS limited,
	check_ranges('SELECT o FROM generate_series(1, 3) AS o WHERE EXISTS (SELECT FROM (SELECT id, sum(k) AS b FROM r GROUP BY id) w WHERE b > 0)') AS first_row;
RESET enable_material;
SET gpusort.mode = force;
BEGIN;
DECLARE c CURSOR FOR SELECT g, n, count(*), sum(id) FROM r WHERE few = 1 GROUP BY g, n;
MOVE FORWARD 1000 FROM c;
MOVE FORWARD ALL FROM c;
COMMIT;
RESET gpusort.mode;
SELECT check_query('SELECT g, n, count(*), sum(id) FROM r GROUP BY g, n ORDER BY g, n', NULL) AS cursor;

-- What is not offered.
CREATE FUNCTION add_unsafe(bigint, int) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT $1 + $2';
CREATE AGGREGATE sum_restricted(int) (SFUNC = add_unsafe, STYPE = bigint, INITCOND = 0, PARALLEL = RESTRICTED);
CREATE AGGREGATE sum_safe(int) (SFUNC = add_unsafe, STYPE = bigint, INITCOND = 0, PARALLEL = SAFE);
CREATE FUNCTION leaders(bigint) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL RESTRICTED AS 'BEGIN RETURN $1; END';
SELECT name, check_ranges(query) FROM (VALUES
	('safe, without a combining function', digest('SELECT g, sum_safe(few) FROM r GROUP BY g')),
	('restricted', digest('SELECT g, sum_restricted(few) FROM r GROUP BY g')),
	('restricted argument', digest('SELECT g, sum(leaders(few)) FROM r GROUP BY g')),
	('restricted HAVING', digest('SELECT g, n FROM r GROUP BY g, n HAVING leaders(count(*)) > 1')),
	('restricted key', digest('SELECT count(*) FROM r GROUP BY leaders(g)')),
	('restricted output', digest('SELECT leaders(count(*)) FROM r GROUP BY g')),
	('restricted in the query around', 'SELECT count(*), sum(leaders(c)) FROM (SELECT g, count(*) AS c FROM r GROUP BY g) s'),
	('grouping sets', digest('SELECT g, n, count(*) FROM r GROUP BY GROUPING SETS ((g, n), (g), ())')),
	('no parallel mode', 'WITH i AS (DELETE FROM uneven WHERE false RETURNING id) SELECT count(*), sum(b) FROM (SELECT sum(k) AS b FROM r GROUP BY g) s'),
	('rows locked', 'SELECT count(*) FROM (SELECT id FROM r FOR UPDATE) l JOIN (SELECT id, sum(k) AS b FROM r GROUP BY id) s USING (id)')) AS q (name, query);
SET gpusort.mode = force;
SET gpusort.backend = cuda;
SELECT nodes(query, 'GpuSortRanges') AS cuda FROM queries WHERE name = 'aggregates';
SET gpusort.backend = cpu;
SET max_parallel_workers_per_gather = 0;
SELECT nodes(query, 'GpuSortRanges') AS no_workers FROM queries WHERE name = 'aggregates';
SET max_parallel_workers_per_gather = 3;
SET gpusort.mode = off;
SELECT nodes(query, 'GpuSortRanges') AS off FROM queries WHERE name = 'aggregates';
RESET gpusort.mode;
-- In mode auto there must be groups enough: eight for each process.
CREATE TABLE many AS SELECT noise(i) AS k, (noise(i) & 7)::int AS few FROM generate_series(1, 200000) AS i;
ALTER TABLE many SET (parallel_workers = 3);
VACUUM ANALYZE many;
-- PostgreSQL 19 sorts integers sooner.
SELECT check_ranges(digest('SELECT k, count(*) FROM many GROUP BY k'), 'auto') = 'ok: 1 rows' OR current_setting('server_version_num')::int >= 190000 AS many, check_ranges(digest('SELECT few, max(k) FROM many GROUP BY few'), 'auto') AS few;
-- Where PostgreSQL hashes, only what is expected to be faster than that: not few groups of many rows.
SET enable_hashagg = on;
SELECT check_ranges(digest('SELECT k, count(*) FROM many GROUP BY k'), 'auto') = 'ok: 1 rows' OR current_setting('server_version_num')::int >= 190000 AS beside_hashing, check_ranges(digest('SELECT k % 100, max(k) FROM many GROUP BY 1'), 'auto') AS few_beside_hashing;

-- PostgreSQL takes what aggregates return to have few values, and would group those in part.
SELECT check_ranges('SELECT count(*), sum(n) FROM (SELECT c, count(*) AS n FROM (SELECT k, min(few) + max(k) AS c FROM many GROUP BY k) s GROUP BY c) t', 'auto') ~ '^ok' AS by_results, nodes('SELECT c, count(*) FROM (SELECT k, min(few) + max(k) AS c FROM many GROUP BY k) s GROUP BY c', 'Partial') AS in_part;
-- Few groups, by an expression that PostgreSQL takes to have as many values as its column: its workers form these in part.
CREATE TABLE days AS SELECT date '2024-01-01' + (noise(i) & 1023)::int AS day, (noise(i, 1) & 63)::int AS hours FROM generate_series(1, 400000) AS i;
ALTER TABLE days SET (parallel_workers = 3);
VACUUM ANALYZE days;
SET work_mem = '1MB';
SELECT check_ranges(digest('SELECT hours, date_trunc(''quarter'', day), count(*), sum(hours) FROM days GROUP BY 1, 2'), 'auto') AS few_by_an_expression;
RESET work_mem;
-- gpusort_check names it.
SET gpusort.mode = auto;
SELECT sort_key, (taken AND how ~ 'each process returns whole groups \(GpuSortRanges\)') OR current_setting('server_version_num')::int >= 190000 AS ranges FROM gpusort_check('SELECT k, count(*) FROM many GROUP BY k');
RESET gpusort.mode;

-- What EXPLAIN ANALYZE says of rows that are dropped.
CREATE FUNCTION explained(query text) RETURNS jsonb LANGUAGE plpgsql SET gpusort.mode = force AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) ' || query INTO plan;
	RETURN jsonb_path_query_first(plan, 'strict $.** ? (@."Custom Plan Provider" == "GpuSortRanges")');
END $$;
SET enable_hashagg = off;
SELECT e->'Group Key' AS group_key, e->'Rows of Each Group' AS of_each, (e->>'Rows Dropped')::int > 1000 AS dropped, round((e->>'Actual Rows')::numeric * (e->>'Actual Loops')::numeric) < 19000 AS kept FROM explained('SELECT DISTINCT id % 8000 AS m FROM r') AS e;
SELECT e ? 'Rows of Each Group' AS of_each, round((e->>'Actual Rows')::numeric * (e->>'Actual Loops')::numeric, -2) AS rows FROM explained('SELECT few, n, count(*) FROM r GROUP BY few, n') AS e;
SELECT e->'Rows of Each Group' AS of_each, e->'Actual Loops' AS never FROM explained('SELECT count(*) FROM (SELECT DISTINCT id % 8000 AS m FROM r) s WHERE now() < ''2000-01-01''') AS e;
-- An error in one of the processes, below and above, and the next query.
SET gpusort.mode = force;
\set VERBOSITY terse
SELECT count(*), sum(b) FROM (SELECT g, sum(k) AS b FROM r WHERE 10 / (id - 777) < 11 GROUP BY g) s;
SELECT count(*) FROM (SELECT id, sum(k) AS b FROM r GROUP BY id) s WHERE 10 / (id - 777) < 11 AND b <> 0;
\set VERBOSITY default
SELECT check_ranges(query) AS next FROM queries WHERE name = 'aggregates';
RESET gpusort.mode;

DROP FUNCTION leaders, explained;
DROP AGGREGATE sum_restricted(int), sum_safe(int);
DROP FUNCTION add_unsafe;
DROP VIEW input;
DROP TABLE r, uneven, many, days, queries;
DROP COLLATION english;
DROP SCHEMA group_ranges;
