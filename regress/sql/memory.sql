--
-- The memory of a sort: what EXPLAIN says against every limit, and what grows while one sort runs.
--
SET client_min_messages = warning;
-- Of the cpu device, also on a server whose default is another one.
SET gpusort.backend = cpu;
CREATE TABLE m AS SELECT i AS id, noise(i) AS k, md5(i::text) COLLATE "C" AS t, repeat('f', 20) AS filler FROM generate_series(1, 40000) AS i;
VACUUM ANALYZE m;
ALTER TABLE m SET (parallel_workers = 2);

-- What EXPLAIN ANALYZE tells of the sort, and a property of it as a number.
CREATE FUNCTION explained(query text) RETURNS json
LANGUAGE plpgsql SET gpusort.mode = force AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan';
END $$;
CREATE FUNCTION explained(query text, property text) RETURNS bigint LANGUAGE sql AS $$ SELECT (explained(query) ->> property)::bigint $$;

-- The limits in steps of 256 kB at which a sort's peak is above its limit, or below half of it although it went to files; how many go to files.
CREATE FUNCTION check_limits(query text, most_kb int, least_kb int DEFAULT 512, half_is_used boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	peak bigint;
	spilled int := 0;
	wrong text := '';
	n int := 0;
BEGIN
	FOR kb IN least_kb .. most_kb BY 256 LOOP
		PERFORM set_config('gpusort.work_mem', kb || 'kB', true);
		plan := explained(query);
		peak := plan ->> 'Peak Memory';
		IF (plan ->> 'Disk Usage')::bigint > 0 THEN
			spilled := spilled + 1;
			IF half_is_used AND peak < kb / 2 THEN
				wrong := wrong || format(' %s: unused, %s', kb, peak);
			END IF;
		END IF;
		IF peak > kb THEN
			wrong := wrong || format(' %s: %s', kb, peak);
		END IF;
		n := n + 1;
	END LOOP;
	RETURN CASE WHEN wrong = '' THEN 'ok, ' || CASE WHEN spilled = 0 THEN 'none' WHEN spilled = n THEN 'all' ELSE 'some' END || ' through files' ELSE wrong END;
END $$;
-- Where runs are merged each holds its longest row, whatever the limit; so wide rows need more.
SELECT check_limits('SELECT * FROM m ORDER BY k', 5632) AS fixed, check_limits('SELECT * FROM m ORDER BY t', 8192) AS variable,
	check_limits('SELECT * FROM m WHERE id <= 1000 ORDER BY k', 1024) AS few,
	check_limits('SELECT k, repeat(t, 1000 + id) FROM m WHERE id <= 200 ORDER BY k', 4096, 1024) AS wide,
	check_limits('SELECT k, t, CASE WHEN id % 5000 = 0 THEN repeat(t, 8000) END FROM m WHERE id <= 20000 ORDER BY k', 5120, 2560) AS some_wide;
-- One row as large as half of the limit, when there are runs already: other chunks make room for it, and it is one of the runs' alone.
SELECT check_limits('SELECT k, t, CASE WHEN id = 10000 THEN repeat(t, 32000) END FROM m WHERE id <= 20000 ORDER BY k', 5120, 2304) AS one_wide,
	check_limits('SELECT k, t, CASE WHEN id = 30000 THEN repeat(t, 64000) END FROM m ORDER BY k', 6144, 4352) AS one_wider;
-- When the first row is returned, whatever was sorted, written and merged before, there is no more than that and a few small things, as blocks are
-- allocated: by how many kilobytes more.
CREATE FUNCTION more_kb(query text, scroll text DEFAULT '') RETURNS text LANGUAGE plpgsql SET gpusort.mode = force AS $$
DECLARE
	peak bigint := explained(query, 'Peak Memory');
	kb bigint;
BEGIN
	EXECUTE format('DECLARE c %s CURSOR FOR %s', scroll, query);
	EXECUTE 'MOVE 1 FROM c';
	SELECT sum(total_bytes) / 1024 INTO kb FROM pg_backend_memory_contexts WHERE name ILIKE 'gpusort%';
	EXECUTE 'CLOSE c';
	RETURN CASE WHEN kb < peak + 128 THEN 'ok' ELSE format('%s instead of %s', kb, peak) END;
END $$;
SET gpusort.work_mem = '512kB';
CREATE COLLATION shifted_here (provider = icu, locale = 'und-u-ka-shifted');
SELECT keys, more_kb('SELECT m.* FROM m, generate_series(1, 4) ORDER BY ' || keys) AS once, more_kb('SELECT m.* FROM m, generate_series(1, 4) ORDER BY ' || keys, 'SCROLL') AS scroll FROM unnest('{k,t,id,"t COLLATE \"und-x-icu\"","t COLLATE shifted_here"}'::text[]) AS keys;
SET gpusort.work_mem = '64MB';
SELECT keys, more_kb('SELECT * FROM m ORDER BY ' || keys) AS once FROM unnest('{k,t,id}'::text[]) AS keys;
RESET gpusort.work_mem;
DROP FUNCTION more_kb;
DROP COLLATION shifted_here;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT check_limits('SELECT * FROM m ORDER BY k', 12288) AS fixed_in_parallel, check_limits('SELECT * FROM m ORDER BY t', 14336) AS variable_in_parallel;
-- So many rows that all processes sort them.
CREATE TABLE joint AS SELECT i AS id, noise(i) AS k FROM generate_series(1, 80000) AS i;
VACUUM ANALYZE joint;
ALTER TABLE joint SET (parallel_workers = 2);
SELECT check_limits('SELECT * FROM joint ORDER BY k', 12288, 4864) AS sorted_together, check_limits('SELECT * FROM joint ORDER BY id', 4864) AS narrow_in_parallel;
-- Of keys alone the sort itself takes more than the chunks: those that are being filled when the limit comes near count, too.  How much is used then
-- depends on how many processes come in time.
CREATE TABLE ordered AS SELECT i AS id FROM generate_series(1, 300000) AS i;
VACUUM ANALYZE ordered;
ALTER TABLE ordered SET (parallel_workers = 4);
SET max_parallel_workers_per_gather = 4;
SELECT check_limits('SELECT id FROM ordered ORDER BY id', 6144, 2048, false) LIKE 'ok%' AS keys_alone_in_parallel;
SET max_parallel_workers_per_gather = 2;
RESET gpusort.work_mem;
-- Without a setting of its own a sort may have work_mem for each process that comes, as PostgreSQL's own sorts, of which there is one in each; for
-- those that don't come there is none.
SET work_mem = '1MB';
SELECT explained('SELECT * FROM m ORDER BY k', 'Peak Memory') BETWEEN 1025 AND 3072 AS of_three;
SET max_parallel_workers = 0;
SELECT explained('SELECT * FROM m ORDER BY k', 'Peak Memory') BETWEEN 512 AND 1024 AS of_one;
RESET max_parallel_workers;
RESET work_mem;
SET max_parallel_workers_per_gather = 0;

-- Kilobytes of all memory contexts of this session but the sort's own, when the function is called for the 1000th and the 9000th row: in the sort's
-- input, where keys have been made, and above it, where rows are projected.
CREATE FUNCTION memory_kb() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT sum(total_bytes)::bigint / 1024 FROM pg_backend_memory_contexts WHERE name NOT IN ('GpuSort cpu device', 'GpuSort memory')
$$;
-- Not volatile, as far as the planner knows: so it may be computed above the sort, by the sort's node.
CREATE FUNCTION note_memory(n int) RETURNS boolean LANGUAGE plpgsql STABLE COST 1000 AS $$
BEGIN
	IF n IN (1000, 9000) THEN
		PERFORM set_config('noted.kb_' || n, memory_kb()::text, false);
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION noted_reverse(t text) RETURNS text LANGUAGE plpgsql STABLE COST 1000 AS 'BEGIN RETURN reverse(t); END';
CREATE FUNCTION growth_kb(query text) RETURNS text LANGUAGE plpgsql SET gpusort.mode = force SET gpusort.work_mem = '4MB' AS $$
DECLARE
	r record;
	grown bigint;
BEGIN
	IF NOT uses_gpusort(query) THEN
		RETURN 'not taken';
	END IF;
	PERFORM set_config('noted.kb_1000', '', false), set_config('noted.kb_9000', '', false);
	FOR r IN EXECUTE query LOOP
		NULL;
	END LOOP;
	grown := nullif(current_setting('noted.kb_9000'), '')::bigint - nullif(current_setting('noted.kb_1000'), '')::bigint;
	RETURN CASE WHEN grown < 1024 THEN 'ok' ELSE coalesce(grown || ' kB', 'not noted') END;
END $$;
-- Values that are compressed, and others that stand elsewhere: 3 kB each.
CREATE TABLE toasted (id int, compressed text COLLATE "C", external text);
ALTER TABLE toasted ALTER external SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT i, repeat(i::text || ' ', 3000 / length(i || ' ')), repeat(md5(i::text), 100) FROM generate_series(1, 10000) AS i;
VACUUM ANALYZE toasted;
SELECT growth_kb('SELECT id FROM (SELECT * FROM toasted WHERE note_memory(id) OFFSET 0) s ORDER BY compressed') AS compressed_keys,
	growth_kb('SELECT id FROM (SELECT * FROM toasted WHERE note_memory(id) OFFSET 0) s ORDER BY external COLLATE "und-x-icu"') AS external_keys,
	growth_kb('SELECT id FROM (SELECT id, upper(compressed) AS u FROM toasted WHERE note_memory(id) OFFSET 0) s ORDER BY u COLLATE "C" DESC') AS projected_keys,
	growth_kb('SELECT note_memory(id), noted_reverse(external) FROM toasted ORDER BY id LIMIT 9500') AS projected_rows;
-- Rows that a window holds, each longer than the one before: their places are used again; past work_mem they are in a store.
SET work_mem = '512kB';
SET gpusort.mode = force;
SELECT growth_kb('SELECT note_memory(id), lead(long, 10) OVER (ORDER BY id) FROM (SELECT id, repeat(''x'', id) AS long FROM toasted OFFSET 0) AS s') AS longer_rows;
CREATE FUNCTION held_kb() RETURNS bigint VOLATILE LANGUAGE sql AS $$ SELECT sum(total_bytes)::bigint / 1024 FROM pg_backend_memory_contexts WHERE name = 'gpusort held rows' $$;
SELECT held_kb() BETWEEN 90 AND 256 AS ten_rows FROM (SELECT id, lead(long, 10) OVER (ORDER BY id) AS later FROM (SELECT id, repeat('x', 9000) AS long FROM toasted OFFSET 0) AS s OFFSET 0) AS held WHERE id = 5000 AND later <> '';
SELECT held_kb() BETWEEN 400 AND 640 AS a_hundred FROM (SELECT id, lead(long, 100) OVER (ORDER BY id) AS later FROM (SELECT id, repeat('x', 9000) AS long FROM toasted OFFSET 0) AS s OFFSET 0) AS held WHERE id = 5000 AND later <> '';
RESET gpusort.mode;
RESET work_mem;
DROP FUNCTION held_kb;
-- That is the node's own projection: no other node computes it.
SET gpusort.mode = force;
EXPLAIN (COSTS OFF, VERBOSE) SELECT note_memory(id), noted_reverse(external) FROM toasted ORDER BY id LIMIT 9500;

DROP TABLE m, joint, ordered, toasted;
DROP FUNCTION memory_kb, note_memory, noted_reverse, growth_kb, check_limits, explained(text, text), explained(text);
