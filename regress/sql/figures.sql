--
-- What EXPLAIN ANALYZE counts of one process's sort: its method, memory, files, runs and merges, and the rows that a LIMIT drops.  Only a change of
-- what a sort keeps, writes or leaves out changes these figures.
--
-- Of the cpu device, also on a server whose default is another one.
SET gpusort.backend = cpu;
SET gpusort.mode = force;
-- Not more rows than ANALYZE looks at, so that widths are expected to be the same in each run.
CREATE TABLE counted AS
	SELECT i AS id, noise(i) AS k, (noise(i, 1) & 15)::int AS g, md5(i::text) COLLATE "C" AS t, noise(i)::numeric / 1000 AS n,
		CASE WHEN i % 7 > 0 THEN 'word ' || (noise(i, 1) & 1023) || ' of ' || i % 10 END COLLATE "C" AS w, i / 3 AS thirds
	FROM generate_series(1, 25000) AS i;
VACUUM ANALYZE counted;
CREATE FUNCTION figures(query text, limit_kb int) RETURNS TABLE (figures text) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	PERFORM set_config('gpusort.work_mem', limit_kb || 'kB', true);
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT concat_ws(', ', node ->> 'Sort Method', (node ->> 'Peak Memory') || ' kB', 'files ' || nullif((node ->> 'Disk Usage'), '0') || ' kB',
		'runs ' || nullif((node ->> 'Runs'), '0') || ' merges ' || (node ->> 'Merge Passes'), 'bound ' || (node ->> 'Bound'),
		'groups ' || (node ->> 'Groups') || ' of ' || (node ->> 'Rows of Each Group'), 'dropped ' || (node ->> 'Rows Dropped'), node ->> 'Looking for Groups',
		'verified, corrections ' || CASE WHEN (node -> 'Order Verified')::bool THEN node ->> 'Corrections' END,
		-- what is the same for all of them
		'processes ' || nullif((node ->> 'Processes'), '1'), 'put in order ahead ' || nullif((node ->> 'Rows Put In Order Ahead'), '0'), 'on ' || nullif((node ->> 'Device'), 'cpu'),
		'space ' || nullif((node ->> 'Sort Space Type') || ' ' || (node ->> 'Sort Space Used'), CASE WHEN node ->> 'Disk Usage' > '0' THEN 'Disk ' || (node ->> 'Disk Usage') ELSE 'Memory ' || (node ->> 'Peak Memory') END))
	FROM jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "GpuSort")') AS node;
END $$;
-- In memory, in files that are merged once, and in such that are merged several times.
SELECT keys, limit_kb, f.figures
FROM unnest(ARRAY['k', 'g', 'g, k DESC', 't', 'n', 'w', 'w DESC, t', 'id', 'id DESC', 'thirds']) WITH ORDINALITY AS q (keys, number), unnest(ARRAY[512, 2048, 65536]) AS limit_kb,
	figures('SELECT counted.* FROM counted, generate_series(1, CASE WHEN ' || limit_kb || ' = 512 THEN 4 ELSE 1 END) ORDER BY ' || keys, limit_kb) AS f ORDER BY number, limit_kb;
-- The last runs that can be merged at once, and one more.
SELECT rows, f.figures FROM unnest('{21200,21400}'::int[]) AS rows, figures('SELECT counted.* FROM counted, generate_series(1, 6) WHERE id <= ' || rows || ' ORDER BY k', 512) AS f;
-- Rows that are their keys, and rows without columns that nothing needs above.
SELECT query, limit_kb, f.figures
FROM unnest(ARRAY['SELECT id FROM counted ORDER BY id', 'SELECT k FROM counted ORDER BY k', 'SELECT g, k FROM counted ORDER BY k, g', 'SELECT t FROM counted ORDER BY t', 'SELECT w, g FROM counted ORDER BY g, w',
	'SELECT id FROM counted ORDER BY n', 'SELECT id, k FROM counted ORDER BY lower(t)', 'SELECT g FROM counted ORDER BY k + g', 'SELECT id, t FROM counted ORDER BY lower(w), k + 1', 'SELECT w FROM counted ORDER BY t || g, n']) WITH ORDINALITY AS q (query, number), unnest(ARRAY[512, 65536]) AS limit_kb,
	figures(query, limit_kb) AS f ORDER BY number, limit_kb;
-- What a LIMIT wants, with ties, and of each group; and where it wants more than there is room for.
SELECT query, limit_kb, f.figures
FROM unnest(ARRAY['SELECT * FROM counted ORDER BY k LIMIT 1', 'SELECT * FROM counted ORDER BY k LIMIT 1000 OFFSET 10', 'SELECT * FROM counted ORDER BY t LIMIT 100', 'SELECT k FROM counted ORDER BY k DESC LIMIT 100',
	'SELECT * FROM counted ORDER BY g LIMIT 10', 'SELECT * FROM counted ORDER BY g FETCH FIRST 10 ROWS WITH TIES', 'SELECT * FROM counted ORDER BY thirds FETCH FIRST 10 ROWS WITH TIES', 'SELECT * FROM counted ORDER BY id LIMIT 10',
	'SELECT * FROM counted ORDER BY id DESC LIMIT 10', 'SELECT * FROM counted ORDER BY k LIMIT 20000', 'SELECT DISTINCT ON (g) * FROM counted ORDER BY g, k', 'SELECT DISTINCT ON (w) w, t FROM counted ORDER BY w, t',
	'SELECT DISTINCT ON (t) * FROM counted ORDER BY t, k', 'SELECT DISTINCT ON (g) * FROM counted ORDER BY g, k LIMIT 3',
	'SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY n) AS place FROM counted) AS s WHERE place <= 3']) WITH ORDINALITY AS q (query, number), unnest(ARRAY[512, 65536]) AS limit_kb,
	figures(query, limit_kb) AS f ORDER BY number, limit_kb;
-- First rows of each group: of few groups and of many, of groups by two columns and by long strings, with ranks, and of rows that come in order.
SELECT query, limit_kb, f.figures
FROM unnest(ARRAY['SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY id % 3000 ORDER BY k) AS place FROM counted) AS s WHERE place <= 2',
	'SELECT * FROM (SELECT *, rank() OVER (PARTITION BY id % 500 ORDER BY g) AS place FROM counted) AS s WHERE place <= 4', 'SELECT * FROM (SELECT *, dense_rank() OVER (PARTITION BY id % 500 ORDER BY g DESC) AS place FROM counted) AS s WHERE place <= 3',
	'SELECT * FROM (SELECT *, dense_rank() OVER (PARTITION BY g ORDER BY n) AS place FROM counted) AS s WHERE place <= 40', 'SELECT DISTINCT ON (g, id % 100) * FROM counted ORDER BY g, id % 100, k DESC',
	'SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY w, g ORDER BY t) AS place FROM counted) AS s WHERE place <= 3', 'SELECT * FROM (SELECT *, rank() OVER (PARTITION BY left(t, 2) ORDER BY t DESC) AS place FROM counted) AS s WHERE place <= 5',
	'SELECT DISTINCT ON (left(t, 3), repeat(left(t, 1), 30)) * FROM counted ORDER BY left(t, 3), repeat(left(t, 1), 30), id', 'SELECT DISTINCT ON (thirds) * FROM counted ORDER BY thirds, id', 'SELECT DISTINCT ON (id % 20000) * FROM counted ORDER BY id % 20000, id DESC',
	'SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY id % 7000 ORDER BY id DESC) AS place FROM counted) AS s WHERE place <= 2',
	'SELECT DISTINCT ON (g) * FROM counted ORDER BY g, repeat(''x'', 80) || t',
	'SELECT DISTINCT ON (CASE WHEN id <= 9000 THEN id % 100 ELSE id * 4 + r END) * FROM counted, generate_series(1, 4) AS r ORDER BY CASE WHEN id <= 9000 THEN id % 100 ELSE id * 4 + r END, k']) WITH ORDINALITY AS q (query, number), unnest(ARRAY[512, 65536]) AS limit_kb,
	figures(query, limit_kb) AS f ORDER BY number, limit_kb;
-- Several sorts; rows that are read again, backwards or from a mark; a sort of each group of another; and one that is begun several times.
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT query, limit_kb, f.figures
FROM unnest(ARRAY['SELECT count(*) FROM counted AS a JOIN counted AS b USING (k)', 'SELECT count(*) FROM counted AS a JOIN counted AS b USING (g) WHERE a.id <= 100',
	'SELECT *, rank() OVER (PARTITION BY g ORDER BY k) FROM counted ORDER BY t',
	'SELECT id, (SELECT string_agg(s.t, '''') FROM (SELECT t FROM counted AS inner_one WHERE inner_one.id BETWEEN 1 AND outer_one.id * 1000 ORDER BY k) AS s) FROM counted AS outer_one WHERE id <= 3']) WITH ORDINALITY AS q (query, number),
	unnest(ARRAY[512, 65536]) AS limit_kb, figures(query, limit_kb) AS f ORDER BY number, limit_kb, f.figures;
RESET enable_hashjoin;
RESET enable_nestloop;
-- Text that ICU compares, whose keys are ICU's, and text whose order is verified: roughly, for keys are as long as ICU makes them.
SET client_min_messages = warning;
CREATE COLLATION shifted_here (provider = icu, locale = 'und-u-ka-shifted');
RESET client_min_messages;
SELECT keys, limit_kb, regexp_replace(f.figures, '(\d\d)\d* kB', '\1.. kB', 'g') AS figures
FROM unnest(ARRAY['w COLLATE "und-x-icu"', 'w COLLATE "und-x-icu" DESC, id', 'w COLLATE shifted_here', 'w COLLATE shifted_here, k']) WITH ORDINALITY AS q (keys, number), unnest(ARRAY[512, 65536]) AS limit_kb,
	figures('SELECT counted.* FROM counted, generate_series(1, CASE WHEN ' || limit_kb || ' = 512 THEN 4 ELSE 1 END) ORDER BY ' || keys, limit_kb) AS f ORDER BY number, limit_kb;

DROP TABLE counted;
DROP FUNCTION figures;
DROP COLLATION shifted_here;
