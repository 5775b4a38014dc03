--
-- What is taken in mode auto, with the defaults: where a GpuSort is expected to be faster than PostgreSQL's own plan.
--
CREATE TABLE c AS SELECT i AS id, noise(i) AS k, (noise(i) % 100)::int AS g, (noise(i) % 1000000000)::numeric / 100 AS n, md5(i::text) COLLATE "C" AS t,
	('/usr/share/doc/packages/group-' || i % 30 || '/component-' || i % 70 || '/README') COLLATE "C" AS path, md5(i::text) COLLATE "und-x-icu" AS icu,
	repeat('x', 50) AS filler
FROM generate_series(1, 100000) AS i;
CREATE INDEX ON c (id);
VACUUM ANALYZE c;
SET work_mem = '256MB';
SHOW gpusort.mode;
SELECT key, uses_gpusort('SELECT * FROM c ORDER BY ' || key) AS taken
FROM unnest('{k,"g, k",n,t,path,icu,"g, path"}'::text[]) AS key;
-- With little memory as well; but not what PostgreSQL sorts by radix, which are integers and abbreviated strings from 19 on.
SET work_mem = '4MB';
SELECT key, uses_gpusort('SELECT * FROM c ORDER BY ' || key) OR (by_radix AND key IN ('k', 't')) AS taken
FROM unnest('{k,n,t,path,icu}'::text[]) AS key, (SELECT current_setting('server_version_num')::int >= 190000) AS version (by_radix);
SET work_mem = '256MB';
-- A few thousand rows are enough, a few hundred are not.
SELECT uses_gpusort('SELECT * FROM c WHERE id <= 10000 ORDER BY n') AS ten_thousand, uses_gpusort('SELECT * FROM c WHERE id <= 300 ORDER BY n') AS three_hundred;

-- One sort is both for the groups and for the order, below the groups.
SET enable_hashagg = off;
SELECT uses_gpusort('SELECT n, count(*) FROM c GROUP BY n ORDER BY n') AS sorted_groups;
RESET enable_hashagg;
SELECT uses_gpusort('SELECT t, count(*) FROM c GROUP BY t ORDER BY t') AS many_groups,
	plan_contains('SELECT t, count(*) FROM c GROUP BY t ORDER BY t', 'HashAggregate') AS hashed,
	uses_gpusort('SELECT t, count(*) FROM c GROUP BY t ORDER BY count(*) DESC') AS by_count;
-- A few strings, each many times, are hashed sooner than they are sorted.
CREATE TABLE files AS SELECT i AS id, ('/usr/share/doc/packages/group-' || i % 10 || '/component-' || i / 10 % 10 || '/README') COLLATE "C" AS path FROM generate_series(1, 10000) AS i;
VACUUM ANALYZE files;
SELECT plan_contains('SELECT path, count(*) FROM files GROUP BY path ORDER BY path', 'HashAggregate') AS hashed,
	plan_contains('SELECT path, count(*) AS n FROM files GROUP BY path ORDER BY n DESC, path', 'HashAggregate') AS hashed_by_count;
DROP TABLE files;
-- Few rows are wanted: the index has them.
SELECT uses_gpusort('SELECT * FROM c ORDER BY id') AS index_order, uses_gpusort('SELECT EXISTS (SELECT * FROM c ORDER BY id OFFSET 10)') AS "exists",
	plan_contains('SELECT EXISTS (SELECT * FROM c ORDER BY id OFFSET 10)', 'Index') AS exists_by_index;
-- A query around it may end before all is read, by an incremental sort over an index; how many rows it reads is not known.
CREATE INDEX c_g ON c (g);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT plan_contains('SELECT id, lag(k) OVER (PARTITION BY g ORDER BY t) FROM c', 'GpuSort') AS all_rows,
	plan_contains('SELECT * FROM (SELECT id, g, lag(k) OVER (PARTITION BY g ORDER BY t) FROM c) s ORDER BY g, id LIMIT 10', 'GpuSort') AS some,
	plan_contains('SELECT * FROM (SELECT id, g, lag(k) OVER (PARTITION BY g ORDER BY t) FROM c) s ORDER BY g, id LIMIT 10', 'Incremental Sort') AS incremental;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP INDEX c_g;
SET random_page_cost = 40;
CREATE INDEX c_n ON c (n);
SELECT uses_gpusort('SELECT * FROM c WHERE g < 50 ORDER BY n, k') AS all_of_it,
	uses_gpusort('SELECT EXISTS (SELECT * FROM c WHERE g < 50 ORDER BY n, k OFFSET 10)') AS some,
	plan_contains('SELECT EXISTS (SELECT * FROM c WHERE g < 50 ORDER BY n, k OFFSET 10)', 'Index') AS some_by_index;
DROP INDEX c_n;
RESET random_page_cost;
-- An index in another order than the table's fetches rows from all over it; few rows it has soon. Clearly more temporary files than
-- PostgreSQL's own plan would write are no gain, unless the sort is 1.5 times as fast.
CREATE INDEX ON c (k);
SELECT uses_gpusort('SELECT * FROM c ORDER BY k') AS all_of_it, uses_gpusort('SELECT * FROM c ORDER BY k LIMIT 100') AS some,
	uses_gpusort('SELECT * FROM c ORDER BY id') AS table_order;
-- In the place of an index scan only where it is expected to take three quarters of the time, of which costs tell: by the least number of rows wanted.
CREATE FUNCTION total_cost(query text, mode text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('gpusort.mode', mode, true);
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	PERFORM set_config('gpusort.mode', 'auto', true);
	RETURN plan -> 0 -> 'Plan' ->> 'Total Cost';
END $$;
SET random_page_cost = 1;
SELECT total_cost(query, 'auto') / total_cost(query, 'off') BETWEEN 0.65 AND 0.76 AS three_quarters
FROM (SELECT 'SELECT * FROM c ORDER BY k LIMIT ' || min(n) AS query FROM generate_series(1000, 100000, 1000) AS n WHERE uses_gpusort('SELECT * FROM c ORDER BY k LIMIT ' || n)) AS least;
RESET random_page_cost;
DROP FUNCTION total_cost;
SET work_mem = '4MB';
SELECT uses_gpusort('SELECT * FROM c ORDER BY k') AS with_files, plan_contains('SELECT * FROM c ORDER BY k', 'Index') AS by_index,
	uses_gpusort('SELECT * FROM c ORDER BY k, id') AS much_faster;
SELECT sort_key, taken, reason, expected_ms > 0 AS expected, postgresql_ms > 0 AS of_postgresql
FROM unnest('{"k, id","id, k"}'::text[]) AS key, gpusort_check('SELECT * FROM c ORDER BY ' || key);
SET work_mem = '256MB';

-- gpusort_check says how long both would take, of sorts that are taken and of others.
CREATE COLLATION digits_behind (provider = icu, locale = 'und-u-kr-latn-digit');
SELECT sort_key, taken, expected_ms > 0 AS expected, expected_ms < postgresql_ms AS faster
FROM unnest('{k,n,t,path,icu,"filler COLLATE digits_behind"}'::text[]) AS key, gpusort_check('SELECT * FROM c ORDER BY ' || key);
SELECT sort_key, taken, reason, expected_ms > 0 AS expected, postgresql_ms > 0 AS of_postgresql
FROM gpusort_check('SELECT t, count(*) OVER (ORDER BY n) FROM c ORDER BY k DESC');
-- The width of a column is that of the column, not of the row.
ALTER TABLE c ADD COLUMN wide text;
UPDATE c SET wide = repeat('y', 1500) WHERE id <= 1000;
DELETE FROM c WHERE id > 1000;
VACUUM ANALYZE c;
SET gpusort.mode = force;
SELECT a.expected_ms / b.expected_ms < 1.5 AS width_of_the_column
FROM gpusort_check('SELECT t, wide FROM c ORDER BY t') a, gpusort_check('SELECT k, wide FROM c ORDER BY k') b;
RESET gpusort.mode;

DROP TABLE c;

-- A worker takes its part of rows that are all equal, which are in order whoever reads them; of others that come in order it would have to sort what
-- one process finds sorted.
CREATE TABLE equal AS SELECT 42::bigint AS k, i AS id, 'padding' AS pad FROM generate_series(1, 300000) AS i;
ALTER TABLE equal SET (parallel_workers = 1);
VACUUM ANALYZE equal;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SELECT key, uses_gpusort('SELECT * FROM equal ORDER BY ' || key) AS taken, plan_contains('SELECT * FROM equal ORDER BY ' || key, 'GpuSortFeed') AS with_a_worker
FROM unnest('{k,id}'::text[]) AS key;
RESET parallel_setup_cost;
RESET max_parallel_workers_per_gather;
DROP TABLE equal;

-- A top-N heapsort copies each row that it looks at.  That takes longer where the row is formed from values, and then a GpuSort is worth it.
CREATE TABLE formed AS SELECT i % 1000 AS a, i * 7919::bigint % 300007 AS b, i AS c FROM generate_series(1, 300000) AS i;
VACUUM ANALYZE formed;
SET max_parallel_workers_per_gather = 0;
SELECT query, uses_gpusort(query) AS taken, s.expected_ms < s.postgresql_ms AS faster, s.postgresql_ms / stored.postgresql_ms > 2 AS formed
FROM unnest(ARRAY['SELECT * FROM formed ORDER BY b, a LIMIT 20', 'SELECT b, a FROM formed ORDER BY b, a LIMIT 20', 'SELECT a, b FROM formed ORDER BY b, a LIMIT 20', 'SELECT b FROM formed ORDER BY b LIMIT 20', 'SELECT a, b, a FROM formed ORDER BY b, a LIMIT 20',
	'SELECT a, b, count(*) FROM formed GROUP BY a, b ORDER BY b, a LIMIT 20']) AS query,
	gpusort_check(query) AS s, gpusort_check('SELECT * FROM formed ORDER BY b, a LIMIT 20') AS stored;
RESET max_parallel_workers_per_gather;
DROP TABLE formed;
