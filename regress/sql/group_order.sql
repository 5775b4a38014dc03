--
-- Groups, partitions and distinct rows whose order nobody asks for: text is sorted by its bytes, which bring equal values together, too.
--
CREATE SCHEMA group_order;
SET search_path = group_order, public;
SET client_min_messages = warning;
DO $$ BEGIN
	CREATE COLLATION english (provider = libc, locale = 'en_US.UTF-8');
EXCEPTION WHEN OTHERS THEN
	CREATE COLLATION english (provider = icu, locale = 'en-US');
END $$;
RESET client_min_messages;
CREATE DOMAIN label AS varchar(40) COLLATE english;
-- The orders of the columns are others than those of their bytes: large and small letters, accents, blanks at the end, signs between letters.
CREATE TABLE o AS SELECT i::int AS id, (noise(i) & 63)::int AS g, noise(i, 1) AS k, ((ARRAY['a', 'A', 'b', 'B', 'é', 'e', '_a', 'a-b', 'ab', 'aB'])[1 + (noise(i, 2) & 7)::int + i % 3] || (noise(i, 3) & 31)) COLLATE english AS t,
	(ARRAY['x', 'X', 'x ', 'x  ', 'Y', 'y', NULL])[1 + i % 7]::char(3) COLLATE english AS c, (ARRAY['ä', 'Z', 'z', 'a'])[1 + i % 4]::label AS l, CASE WHEN i % 11 > 0 THEN (noise(i, 4) & 15) || 'k' END COLLATE "en-US-x-icu" AS n,
	(ARRAY['one', 'ONE', 'Two', 'two', 'öne'])[1 + i % 5] COLLATE ignore_case AS ignored
FROM generate_series(1, 4000) AS i;
CREATE INDEX ON o (id);
VACUUM ANALYZE o;
SET max_parallel_workers_per_gather = 0;
SET enable_hashagg = off;

-- Which columns a query's sorts sort by.
CREATE FUNCTION sort_keys(query text) RETURNS text LANGUAGE plpgsql SET gpusort.mode = force AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT json) ' || query INTO plan;
	RETURN (SELECT string_agg(array_to_string(ARRAY(SELECT jsonb_array_elements_text(keys)), ', '), '; ') FROM jsonb_path_query(plan, 'strict $.**."Sort Key"') AS keys);
END $$;
-- Compares the rows with those of PostgreSQL, in any order.
CREATE FUNCTION check_unordered(query text) RETURNS text LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	rows_off text[] := rows_of(query);
BEGIN
	PERFORM set_config('gpusort.mode', 'force', true);
	RETURN compare_rows(rows_off, rows_of(query));
END $$;
CREATE TABLE queries (name text, query text);
INSERT INTO queries VALUES
	('GROUP BY', 'SELECT t, count(*), sum(k) FROM o GROUP BY t'),
	('groups alone', 'SELECT t, g FROM o GROUP BY t, g'),
	('HAVING', 'SELECT g, t FROM o GROUP BY g, t HAVING count(*) > 1'),
	('DISTINCT', 'SELECT DISTINCT t, l FROM o'),
	('an expression', 'SELECT DISTINCT upper(t), c FROM o'),
	('char(n)', 'SELECT c = ''x'', count(*) FROM o GROUP BY c'),
	('a domain', 'SELECT l, count(*) FROM o GROUP BY l'),
	('ICU, NULLs', 'SELECT n, count(*) FROM o GROUP BY n'),
	('case is ignored', 'SELECT lower(ignored), count(*) FROM o GROUP BY ignored'),
	('both', 'SELECT t, lower(ignored), count(*) FROM o GROUP BY t, ignored'),
	('partitions', 'SELECT id, lag(id) OVER (PARTITION BY t ORDER BY id) FROM o'),
	('ordered by text', 'SELECT id, rank() OVER (PARTITION BY l ORDER BY t) FROM o'),
	('two windows', 'SELECT id, lag(id) OVER (PARTITION BY t, l ORDER BY id), count(*) OVER (PARTITION BY t) FROM o'),
	('text that groups and orders', 'SELECT id, lag(id) OVER (PARTITION BY g, t ORDER BY id), rank() OVER (PARTITION BY g ORDER BY t) FROM o'),
	('the first of each', 'SELECT * FROM (SELECT t, id, row_number() OVER (PARTITION BY t ORDER BY id) AS r FROM o) s WHERE r <= 2'),
	('windows of groups', 'SELECT t, n, rank() OVER (PARTITION BY t ORDER BY n) FROM o GROUP BY t, n'),
	('distinct windows', 'SELECT DISTINCT t, count(*) OVER (PARTITION BY t) FROM o'),
	('ordered aggregates', 'SELECT t, string_agg(n, '','' ORDER BY n, id), count(DISTINCT l) FROM o GROUP BY t'),
	('an aggregate that shows the order', 'SELECT g, string_agg(DISTINCT t, '','') FROM o GROUP BY g'),
	('ORDER BY groups', 'SELECT row_number() OVER (), * FROM (SELECT t, count(*) FROM o GROUP BY t ORDER BY t OFFSET 0) s'),
	('ORDER BY distinct rows', 'SELECT row_number() OVER (), * FROM (SELECT DISTINCT t, l FROM o ORDER BY t, l OFFSET 0) s'),
	('ORDER BY partitions', 'SELECT row_number() OVER (), * FROM (SELECT t, id, lag(id) OVER (PARTITION BY t ORDER BY id) FROM o ORDER BY t, id OFFSET 0) s'),
	('ORDER BY something else', 'SELECT row_number() OVER (), * FROM (SELECT t, count(*) AS n, min(id) FROM o GROUP BY t ORDER BY count(*) DESC, min(id) OFFSET 0) s'),
	('ORDER BY one of the columns', 'SELECT row_number() OVER (), * FROM (SELECT g, t, count(*) AS n FROM o GROUP BY g, t ORDER BY g, t OFFSET 0) s'),
	('windows in another order', 'SELECT t, n, rank() OVER (ORDER BY n, t) FROM o GROUP BY t, n'),
	('ORDER BY in the query around', 'SELECT row_number() OVER (), * FROM (SELECT * FROM (SELECT t, count(*) FROM o GROUP BY t) s ORDER BY t OFFSET 0) r'),
	('a window in the query around', 'SELECT *, row_number() OVER (ORDER BY t) FROM (SELECT t, count(*) FROM o GROUP BY t OFFSET 0) s'),
	('DISTINCT ON', 'SELECT row_number() OVER (), * FROM (SELECT DISTINCT ON (t) t, l, id FROM o ORDER BY t, l DESC, id OFFSET 0) s'),
	('DISTINCT ON any row', 'SELECT count(*), count(DISTINCT t) AS n FROM (SELECT DISTINCT ON (t) t, id FROM o) s'),
	('a merge join of groups', 'SELECT a.t, a.n, b.n AS o FROM (SELECT t, count(*) AS n FROM o GROUP BY t) a JOIN (SELECT t, sum(id) AS n FROM o WHERE g < 40 GROUP BY t) b USING (t)'),
	('counts', 'SELECT count(DISTINCT t), max(k) FROM o'),
	('counts in groups', 'SELECT g, count(DISTINCT t) AS different, count(*) FROM o GROUP BY g'),
	('counts in ordered groups', 'SELECT row_number() OVER (), * FROM (SELECT g, count(DISTINCT t) FROM o GROUP BY g ORDER BY g OFFSET 0) s'),
	('counts in groups of text', 'SELECT t, count(DISTINCT l) FROM o GROUP BY t'),
	('the same in order', 'SELECT row_number() OVER (), * FROM (SELECT t, count(DISTINCT l) FROM o GROUP BY t ORDER BY t OFFSET 0) s'),
	('some are counted', 'SELECT g, count(DISTINCT t) FILTER (WHERE id % 3 = 0) AS some, count(DISTINCT t COLLATE english) + 1 FROM o GROUP BY g'),
	('counts beside the values', 'SELECT count(DISTINCT t), string_agg(DISTINCT t, '','') FROM o'),
	('several orders', 'SELECT count(DISTINCT c) AS c, count(DISTINCT n) AS n, string_agg(t, '','' ORDER BY t, id) FROM o'),
	('counts where case is ignored', 'SELECT count(DISTINCT ignored) FROM o'),
	('grouping sets', 'SELECT t, l, count(*) FROM o GROUP BY GROUPING SETS ((t, l), (t), ())'),
	('UNION', 'SELECT t FROM o UNION SELECT l FROM o'),
	('a sub-select', 'SELECT g, (SELECT string_agg(t, '','') FROM (SELECT t FROM o i WHERE i.g = u.g GROUP BY t ORDER BY t) s) FROM o u WHERE id < 50');
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT name, sort_keys(query) FROM queries;
SELECT name, check_unordered(query) AS result FROM queries;
-- A collation that compares bytes stays, and the query around uses its order.
SELECT sort_keys('SELECT * FROM (SELECT t COLLATE "POSIX" AS p, count(*) FROM o GROUP BY 1) s ORDER BY p') AS bytes;
-- Groups by bytes are the groups above: of each its first rows are wanted.
SELECT name, nodes(query, 'Rows of Each Group') AS of_each FROM (VALUES ('DISTINCT', 'SELECT DISTINCT t, l FROM o'), ('window', 'SELECT * FROM (SELECT t, id, row_number() OVER (PARTITION BY t ORDER BY id) AS r FROM o) s WHERE r <= 2')) AS q (name, query), set_config('gpusort.mode', 'force', true);
-- A type whose values are equal though their bytes differ, by functions that look at the collation.
CREATE FUNCTION check_citext() RETURNS boolean LANGUAGE plpgsql SET client_min_messages = warning AS $$
DECLARE
	result text := 'ok';
BEGIN
	IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'citext') THEN
		CREATE EXTENSION IF NOT EXISTS citext SCHEMA public;
		CREATE TABLE folded AS SELECT (ARRAY['É', 'Ê', 'é', 'ê', 'e', 'E'])[1 + i % 6]::citext COLLATE english AS c FROM generate_series(1, 600) AS i;
		result := check_unordered('SELECT count(*) FROM folded GROUP BY c');
		DROP TABLE folded;
	END IF;
	RETURN result ~ '^ok';
END $$;
SELECT check_citext() AS citext;
SET work_mem = '64kB';
SELECT name, check_unordered(query) AS through_files FROM queries WHERE name !~ 'sub-select';
RESET work_mem;
-- Several processes.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE o SET (parallel_workers = 2);
SELECT name, check_ranges(query) ~ '^ok' AS of_several_processes FROM queries WHERE name !~ 'sub-select';
-- Not the order of the C library, but that of the bytes: no comparison of it is made for GROUP BY.
SELECT check_ranges('SELECT t, count(*) FROM o GROUP BY t') AS groups, sort_keys('SELECT t, count(*) FROM o GROUP BY t');
-- A UNION within another set operation returns a column more, or columns of other types.
SET enable_hashagg = on;
SET work_mem = '64MB';
SELECT query, check_ranges(query) ~ '^ok' AS result FROM unnest('{(SELECT id FROM o UNION SELECT g FROM o) INTERSECT SELECT id FROM o WHERE id < 900,SELECT t FROM o EXCEPT ALL (SELECT t FROM o WHERE g < 9 UNION SELECT l FROM o),
	"(SELECT id, t FROM o UNION SELECT g, l FROM o) EXCEPT (SELECT id, t FROM o WHERE id > 99 UNION SELECT g, l FROM o)",(SELECT id FROM o UNION SELECT g FROM o) UNION ALL SELECT 1.5}'::text[]) AS query;
RESET work_mem;

DROP TABLE o, queries;
DROP DOMAIN label;
DROP FUNCTION sort_keys, check_citext, check_unordered;
DROP COLLATION english;
DROP SCHEMA group_order;
