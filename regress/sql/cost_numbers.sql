--
-- Costs and expected times as numbers, to two digits: that a term is missing or counted twice shows.  They are what the formulas of src/plan give
-- for this table, of which ANALYZE looks at every row; a change of a formula or of its constants changes them, and nothing else should.
--
CREATE TABLE costed AS SELECT i AS id, noise(i) AS k, (i % 10)::int AS few, noise(i, 1)::numeric / 1000 AS n, md5(i::text) COLLATE "C" AS t,
	'/usr/share/doc/' || i % 50 || '/' || md5(i::text) AS path, repeat('x', 200) AS filler
FROM generate_series(1, 20000) AS i;
-- How many pages a table has that has grown differs between versions.
VACUUM (FULL, ANALYZE) costed;
SET gpusort.mode = force;
SET gpusort.backend = cpu;

-- To two digits.
CREATE FUNCTION short(x float8) RETURNS float8 LANGUAGE sql AS $$
	SELECT CASE WHEN x > 0 THEN round(x::numeric, 1 - floor(log(x))::int)::float8 ELSE x END
$$;
CREATE FUNCTION costs(query text) RETURNS TABLE (startup float8, total float8)
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT short((plan -> 0 -> 'Plan' ->> 'Startup Cost')::float8), short((plan -> 0 -> 'Plan' ->> 'Total Cost')::float8);
END $$;
-- With another value of a setting, for this query alone.
CREATE FUNCTION numbers(query text, setting text DEFAULT 'work_mem', value text DEFAULT '64MB') RETURNS TABLE (ours float8, theirs float8, startup float8, total float8)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('work_mem', '64MB', true), set_config(setting, value, true);
	RETURN QUERY SELECT short(expected_ms), short(postgresql_ms), c.startup, c.total FROM gpusort_check(query), costs(query) AS c;
END $$;

-- Kinds of keys; rows; columns that are kept.
SELECT key, n.* FROM unnest('{k,few,"few, k","n DESC",t,"path COLLATE \"C\"","path COLLATE \"und-x-icu\"","id","k DESC, t, n"}'::text[]) AS key, numbers('SELECT * FROM costed ORDER BY ' || key) AS n;
SELECT rows, n.* FROM unnest('{100,2000,20000}'::int[]) AS rows, numbers(format('SELECT * FROM costed WHERE id <= %s ORDER BY k', rows)) AS n;
SELECT columns, n.* FROM unnest('{k,"k, id","k, filler"}'::text[]) AS columns, numbers(format('SELECT %s FROM costed ORDER BY k', columns)) AS n;
-- Memory: with little of it both go to files.
SELECT memory, n.* FROM unnest('{512kB,1MB,4MB,64MB}'::text[]) AS memory, numbers('SELECT * FROM costed ORDER BY k', 'work_mem', memory) AS n;
SELECT memory, n.* FROM unnest('{512kB,4MB}'::text[]) AS memory, numbers('SELECT costed.* FROM costed, generate_series(1, 20) ORDER BY k', 'work_mem', memory) AS n;
-- Several columns of strings: those before the one that decides are compared, too; of char(n) the blanks at the end are looked at.
CREATE TABLE costed_groups AS SELECT (i % 10)::text COLLATE "C" AS a, (noise(i) % 100)::text COLLATE "C" AS b, noise(i, 1) AS k, (noise(i) % 100)::char(50) COLLATE "C" AS padded
FROM generate_series(1, 20000) AS i;
VACUUM (FULL, ANALYZE) costed_groups;
SELECT key, n.* FROM unnest('{a,b,"a, b","a, b, k",padded}'::text[]) AS key, numbers('SELECT * FROM costed_groups ORDER BY ' || key) AS n;
SELECT key, n.* FROM unnest('{b,"a, b, k"}'::text[]) AS key, numbers('SELECT * FROM costed_groups ORDER BY ' || key, 'work_mem', '512kB') AS n;
CREATE TABLE costed_half AS SELECT (noise(k) % 14000)::text COLLATE "C" AS half, a, b FROM costed_groups;
VACUUM (FULL, ANALYZE) costed_half;
SELECT n.* FROM numbers('SELECT * FROM costed_half ORDER BY half, a, b', 'work_mem', '512kB') AS n;
DROP TABLE costed_groups, costed_half;
-- How many beginnings strings have, as their histogram tells: a few, as many as bounds and more, all; of a domain as well; beside a second column.
CREATE DOMAIN costed_path AS text COLLATE "C";
CREATE TABLE costed_strings AS SELECT md5(i::text) COLLATE "C" AS all_of_them, (lpad((noise(i) & 63)::text, 8, '0') || md5(i::text)) COLLATE "C" AS several, ('/usr/share/doc/' || md5(i::text))::costed_path AS one,
	left(md5(i::text), (noise(i, 1) & 7)::int) COLLATE "C" AS short, lpad((noise(i) & 63)::text, 8, '0')::bytea || decode(md5(i::text), 'hex') AS bytes
FROM generate_series(1, 20000) AS i;
VACUUM (FULL, ANALYZE) costed_strings;
SELECT key, n.* FROM unnest('{all_of_them,several,one,short,bytes,several::costed_path}'::text[]) AS key, numbers('SELECT * FROM costed_strings ORDER BY ' || key || ', all_of_them') AS n;
-- The same of a plan that is finished, of which no sort is taken.
SET gpusort.mode = auto;
SET gpusort.min_rows = 1000000;
SELECT key, n.ours, n.theirs FROM unnest('{all_of_them,several,one,short,bytes}'::text[]) AS key, numbers('SELECT * FROM costed_strings ORDER BY ' || key || ', all_of_them') AS n;
SELECT key, n.ours, n.theirs FROM unnest('{k,"few, k","n DESC",t,"path COLLATE \"und-x-icu\"","k LIMIT 10"}'::text[]) AS key, numbers('SELECT * FROM costed ORDER BY ' || key) AS n;
RESET gpusort.min_rows;
SET gpusort.mode = force;
DROP TABLE costed_strings;
DROP DOMAIN costed_path;
-- How many rows are wanted.
SELECT bound, n.* FROM unnest('{LIMIT 1,LIMIT 1000,LIMIT 1000 OFFSET 5000,LIMIT 15000,OFFSET 100}'::text[]) AS bound, numbers('SELECT * FROM costed ORDER BY k ' || bound) AS n;
-- Beside what an index has in order.  What its scan costs differs between versions.
SET random_page_cost = 1;
CREATE INDEX costed_few ON costed (few);
SET gpusort.mode = auto;
SET gpusort.min_rows = 0;
CREATE FUNCTION beside_index(memory text) RETURNS TABLE (key text, ours float8, theirs float8) LANGUAGE sql AS $$
	SELECT k.key, n.ours, n.theirs FROM unnest('{"few, k LIMIT 1","few, t LIMIT 10000","few, k FETCH FIRST 15000 ROWS WITH TIES"}'::text[]) WITH ORDINALITY AS k (key, number), numbers('SELECT * FROM costed ORDER BY ' || key, 'work_mem', memory) AS n ORDER BY number $$;
SELECT memory, b.* FROM unnest('{1MB,64MB}'::text[]) AS memory, beside_index(memory) AS b;
-- Groups of as few rows as are sorted by themselves.
CREATE TABLE costed_64 AS SELECT (id % 100)::int AS g, k, t FROM costed WHERE id <= 6400;
CREATE INDEX ON costed_64 (g);
VACUUM (FULL, ANALYZE) costed_64;
SELECT key, n.ours, n.theirs FROM unnest('{"g, k","g, t"}'::text[]) AS key, numbers('SELECT * FROM costed_64 ORDER BY ' || key || ' LIMIT 100') AS n;
DROP TABLE costed_64;
SET gpusort.mode = force;
SELECT memory, b.* FROM unnest('{1MB,64MB}'::text[]) AS memory, beside_index(memory) AS b;
DROP FUNCTION beside_index;
DROP INDEX costed_few;
-- A merge of an index's rows and of a few that are sorted has its first row long before a sort of all has.
CREATE TABLE costed_parts (LIKE costed) PARTITION BY RANGE (id);
CREATE TABLE costed_part_1 PARTITION OF costed_parts FOR VALUES FROM (MINVALUE) TO (18001);
CREATE TABLE costed_part_2 PARTITION OF costed_parts DEFAULT;
INSERT INTO costed_parts SELECT * FROM costed;
CREATE INDEX ON costed_part_1 (k);
VACUUM (FULL, ANALYZE) costed_parts;
CREATE FUNCTION first_row(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Startup Cost')::float8 / (plan -> 0 -> 'Plan' ->> 'Total Cost')::float8;
END $$;
SELECT first_row('SELECT * FROM costed_parts ORDER BY k') BETWEEN 0.5 AND 0.99 AS late;
SET gpusort.mode = off;
SELECT first_row('SELECT * FROM costed_parts ORDER BY k') < 0.5 AS early;
SET gpusort.mode = force;
DROP TABLE costed_parts;
DROP FUNCTION first_row;
-- An index in another order than that of a table that is larger than a processor's cache.
SET gpusort.mode = auto;
CREATE TABLE costed_wide AS SELECT noise(id) AS k, id, repeat('x', 500) AS filler FROM costed;
CREATE INDEX costed_wide_k ON costed_wide (k);
VACUUM (FULL, ANALYZE) costed_wide;
SELECT bound, n.* FROM unnest('{1000,15000,18000,19000,20000}'::int[]) AS bound, numbers('SELECT id FROM costed_wide ORDER BY k LIMIT ' || bound) AS n;
SET gpusort.mode = force;
-- In the middle of a plan.
SET enable_hashagg = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
CREATE FUNCTION in_the_middle() RETURNS TABLE (query text, ours float8, theirs float8, startup float8, total float8) LANGUAGE sql AS $$
	SELECT q.query, n.* FROM unnest(ARRAY['SELECT DISTINCT k FROM costed', 'SELECT few, count(*) FROM costed GROUP BY few', 'SELECT t, sum(id) FROM costed GROUP BY t', 'SELECT rank() OVER (ORDER BY k) FROM costed',
		'SELECT sum(id) OVER (PARTITION BY few ORDER BY t) FROM costed', 'SELECT count(*) FROM costed AS a JOIN costed AS b USING (k)', 'SELECT DISTINCT ON (few) * FROM costed ORDER BY few, k',
		'SELECT max(k) FROM (SELECT k FROM costed ORDER BY t OFFSET 0) AS s', 'SELECT * FROM (SELECT * FROM costed ORDER BY t OFFSET 0) AS s LIMIT 5']) WITH ORDINALITY AS q (query, number), numbers(q.query) AS n ORDER BY q.number, ours $$;
SELECT * FROM in_the_middle();
SET gpusort.mode = auto;
SELECT * FROM in_the_middle();
SET gpusort.mode = force;
RESET enable_hashagg;
-- Beside groups that are hashed, in files where there is little memory.
SET gpusort.mode = auto;
SET hash_mem_multiplier = 1;
SELECT memory, n.* FROM unnest('{512kB,1MB,4MB,64MB}'::text[]) AS memory, numbers('SELECT t, path, sum(id) FROM costed GROUP BY t, path', 'work_mem', memory) AS n;
SELECT memory, n.* FROM unnest('{512kB,1MB,4MB,64MB}'::text[]) AS memory, numbers('SELECT DISTINCT k, filler FROM costed', 'work_mem', memory) AS n;
RESET hash_mem_multiplier;
SET gpusort.mode = force;
-- What gpusort_check says of memory and files.
SELECT memory, how FROM unnest('{512kB,2MB,5MB,8MB,64MB}'::text[]) AS memory, set_config('work_mem', memory, true) AS setting, gpusort_check('SELECT * FROM costed ORDER BY t' || left(setting, 0));
SET gpusort.mode = auto;
SET gpusort.min_rows = 1000000;
SELECT memory, how FROM unnest('{512kB,2MB,5MB,64MB}'::text[]) AS memory, set_config('work_mem', memory, true) AS setting, gpusort_check('SELECT * FROM costed ORDER BY t' || left(setting, 0));
SET gpusort.mode = force;
SELECT query, how FROM unnest(ARRAY['SELECT * FROM costed ORDER BY t LIMIT 1000', 'SELECT * FROM costed ORDER BY t LIMIT 8000', 'SELECT DISTINCT ON (t) * FROM costed ORDER BY t, k', 'SELECT DISTINCT ON (few) * FROM costed ORDER BY few, k']) AS query,
	set_config('work_mem', '1MB', true) AS setting, gpusort_check(query || left(setting, 0));
RESET gpusort.min_rows;
SET gpusort.mode = force;
-- And of builds: of an index that is not there the columns' types say how wide it is, of one that is its statistics.  A process has 32 MB at least.
CREATE INDEX costed_1 ON costed (few DESC, n NULLS FIRST);
CREATE INDEX costed_2 ON costed (t) INCLUDE (id);
CREATE INDEX costed_3 ON costed (lower(path) COLLATE "und-x-icu" DESC NULLS LAST);
CREATE FUNCTION builds(memory text, workers text) RETURNS TABLE (statement text, sort_key text, how text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('maintenance_work_mem', memory, true), set_config('max_parallel_maintenance_workers', workers, true);
	RETURN QUERY SELECT s.statement, c.sort_key, c.how
		FROM unnest('{"(few DESC, n NULLS FIRST)",(t) INCLUDE (id),(k),(n),(id) WHERE few > 3,(lower(path)),(int8(few)),REINDEX TABLE costed}'::text[]) WITH ORDINALITY AS s (statement, number),
			gpusort_check(CASE WHEN s.statement LIKE '(%' THEN 'CREATE INDEX ON costed ' ELSE '' END || s.statement) AS c ORDER BY number;
END $$;
SELECT memory, b.* FROM unnest('{1MB,2500kB,64MB}'::text[]) AS memory, builds(memory, '0') AS b;
ALTER TABLE costed SET (parallel_workers = 2);
SELECT memory, b.* FROM unnest('{1MB,64MB}'::text[]) AS memory, builds(memory, '8') AS b;
SELECT workers, how FROM unnest('{0,1,2}'::text[]) AS workers, builds('200MB', workers) WHERE statement = '(k)';
ALTER TABLE costed RESET (parallel_workers);
SET min_parallel_table_scan_size = '1MB';
SELECT memory, how FROM unnest('{1MB,64MB,96MB,200MB}'::text[]) AS memory, builds(memory, '8') WHERE statement = '(k)';
RESET min_parallel_table_scan_size;
DROP INDEX costed_1, costed_2, costed_3;
-- Several processes, as many as the planner takes any machine to have.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE costed SET (parallel_workers = 1);
SELECT workers, n.* FROM unnest('{0,1}'::text[]) AS workers, numbers('SELECT * FROM costed ORDER BY few, t', 'max_parallel_workers_per_gather', workers) AS n;

-- So much of a join is done by each process, and so much is shared.  What joins cost differs between versions, the more where they sort.
SET max_parallel_workers_per_gather = 1;
CREATE FUNCTION joined(setting text DEFAULT 'enable_parallel_hash', value text DEFAULT 'on') RETURNS TABLE (key text, ours float8, theirs float8) LANGUAGE sql AS $$
	SELECT k.key, n.ours, n.theirs FROM unnest('{a.t,b.k}'::text[]) WITH ORDINALITY AS k (key, number), numbers('SELECT a.t, b.k FROM costed AS a JOIN costed AS b USING (id) ORDER BY ' || key, setting, value) AS n ORDER BY number, ours $$;
SELECT * FROM joined();
SET enable_hashjoin = on;
SELECT * FROM joined();
SELECT * FROM joined(value => 'off');
DROP FUNCTION joined;
SET random_page_cost = 1;
CREATE INDEX costed_k ON costed (k);
SET gpusort.mode = auto;
SELECT key, n.* FROM unnest('{k,k DESC,k LIMIT 10000}'::text[]) AS key, numbers('SELECT * FROM costed ORDER BY ' || key) AS n;
DROP INDEX costed_k;
SET min_parallel_index_scan_size = 0;
SELECT bound, n.* FROM unnest('{18000,20000}'::int[]) AS bound, numbers('SELECT id FROM costed_wide ORDER BY k LIMIT ' || bound) AS n;
SELECT memory, how FROM unnest('{512kB,2MB,5MB,64MB}'::text[]) AS memory, set_config('work_mem', memory, true) AS setting, gpusort_check('SELECT * FROM costed ORDER BY t' || left(setting, 0));
-- A plan that one process would read is shared by several, the more where pages are dear.
RESET parallel_tuple_cost;
SELECT query, n.* FROM unnest(ARRAY['SELECT * FROM costed ORDER BY t', 'SELECT id FROM costed_wide ORDER BY k', 'SELECT id FROM costed_wide ORDER BY k LIMIT 15000', 'SELECT a.t, b.k FROM costed AS a JOIN costed AS b USING (id) ORDER BY a.t, b.k']) AS query, numbers(query) AS n;
SET seq_page_cost = 10;
SELECT query, n.* FROM unnest(ARRAY['SELECT * FROM costed ORDER BY t', 'SELECT a.t, b.k FROM costed AS a JOIN costed AS b USING (id) ORDER BY a.t, b.k']) AS query, numbers(query) AS n;
SELECT n.* FROM numbers('SELECT a.t, b.k FROM costed AS a JOIN costed AS b USING (id) ORDER BY a.t, b.k', 'enable_parallel_hash', 'off') AS n;
-- Workers read the rows for less than the process does that would hash the groups; how many depends on the machine.
RESET seq_page_cost;
SET gpusort.mode = auto;
SET cpu_tuple_cost = 0.12;
ALTER TABLE costed SET (parallel_workers = 4);
SELECT n.startup BETWEEN 2500 AND 3500 AS startup, n.total BETWEEN 3000 AND 4500 AS total FROM (SELECT string_agg(format('jsonb_agg(id + %s)', number), ', ') FROM generate_series(1, 20) AS number) AS a (aggregates), numbers(format('SELECT few, %s FROM costed GROUP BY few', aggregates), 'max_parallel_workers_per_gather', '4') AS n;

DROP TABLE costed, costed_wide;
DROP FUNCTION short, costs, numbers, in_the_middle, builds;
