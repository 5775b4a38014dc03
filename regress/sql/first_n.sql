--
-- The first rows of each group: rows that cannot be among them are dropped before they are sorted.
--
CREATE SCHEMA first_n;
SET search_path = first_n, public;
-- Groups of many kinds, all with ties; u orders the rows of each without ties.
CREATE TABLE f AS
SELECT i::int AS id, noise(i) AS u, (noise(i, 1) % 50)::int AS g, CASE WHEN i % 9 > 0 THEN (noise(i, 2) % 40)::int END AS few,
	(noise(i, 3) % 4)::int AS v, CASE WHEN i % 7 > 0 THEN noise(i, 4) % 6 END AS ties,
	('group ' || noise(i, 1) % 30) COLLATE "C" AS t, left(md5((i % 60)::text), 1 + i % 5) COLLATE "en-US-x-icu" AS icu,
	(repeat('long', 10 + i % 3) || noise(i, 5) % 20) COLLATE "C" AS long, (i % 2 = 0) AS b,
	(ARRAY[1, 1.0, 2.5, 2.50, NULL, 'NaN', 0])[1 + i % 7]::numeric AS scaled, (ARRAY['0', '-0', 'NaN', NULL, '1'])[1 + i % 5]::float8 AS fl,
	repeat('f', i % 60) AS filler
FROM generate_series(1, 6000) AS i;
ALTER TABLE f ALTER g SET NOT NULL, ALTER b SET NOT NULL, ALTER u SET NOT NULL;
-- All ones, which look like no group.
INSERT INTO f (id, u, g, v, b) SELECT i, noise(i), 2147483647, i % 4, true FROM generate_series(6001, 6100) AS i;
ANALYZE f;
-- Groups whose rows look like the places that no row has taken: all ones.
CREATE TABLE ones AS SELECT i % 20 AS g, CASE WHEN i % 3 > 0 THEN 9223372036854775807 ELSE i END AS k FROM generate_series(1::bigint, 1000) AS i;
ALTER TABLE ones ALTER g SET NOT NULL, ALTER k SET NOT NULL;

-- What EXPLAIN ANALYZE says of the sort: a property of the GpuSort, or of the GpuSortRanges.
CREATE FUNCTION of_sort(query text, property text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
	RETURN jsonb_path_query_first(plan::jsonb, ('$.** ? (@."Custom Plan Provider" like_regex "^GpuSort(Ranges)?$")."' || property || '"')::jsonpath) #>> '{}';
END $$;
-- The same plan as text, without what differs from run to run.
CREATE FUNCTION analyzed_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'GpuSort|Sort Key|Rows of' THEN
			RETURN NEXT regexp_replace(regexp_replace(line, ' \(actual.*', ''), '(Groups|Dropped): \d+', '\1: N', 'g');
		END IF;
	END LOOP;
END $$;
-- Compares a query's rows, in any order, with gpusort off and in force; the sort wants so many rows of each group and drops others, or (0)
-- all of them.  drops: is it certain that it drops rows?
CREATE FUNCTION check_first(query text, n int, drops boolean DEFAULT true) RETURNS text LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	rows_off text[];
	rows_forced text[];
	wanted int;
BEGIN
	rows_off := rows_of(query);
	PERFORM set_config('gpusort.mode', 'force', true);
	IF NOT uses_gpusort(query) THEN
		RETURN 'not taken';
	END IF;
	wanted := coalesce(of_sort(query, 'Rows of Each Group'), '0')::int;
	IF wanted <> n THEN
		RETURN format('wants %s rows of each group', wanted);
	ELSIF n > 0 AND drops AND of_sort(query, 'Rows Dropped')::int = 0 THEN
		RETURN 'drops no row';
	END IF;
	rows_forced := rows_of(query);
	PERFORM set_config('gpusort.mode', 'off', true);
	RETURN compare_rows(rows_off, rows_forced);
END $$;
-- The first rows of each group by a window function.
CREATE FUNCTION first_by(func text, groups text, orders text, condition text) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT * FROM (SELECT *, %s OVER (PARTITION BY %s ORDER BY %s) AS r FROM f) s WHERE %s', func, groups, orders, condition)
$$;
-- A check that cannot fail is no check.
SELECT check_first(first_by('row_number()', 'g', 'u', 'r <= 2'), 3) AS another_n, check_first('SELECT DISTINCT ON (g) g, u, current_setting(''gpusort.mode'') FROM f ORDER BY g, u', 1) AS other_rows;

-- What EXPLAIN prints.
SET gpusort.mode = force;
SELECT line FROM analyzed_lines('SELECT DISTINCT ON (g) * FROM f ORDER BY g, u') AS line;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT *, rank() OVER (PARTITION BY g ORDER BY u) AS r FROM f) s WHERE r <= 3;
-- Plans say how many, if they know; not where all rows are kept.
CREATE FUNCTION planned_line(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Rows of' THEN
			RETURN btrim(line);
		END IF;
	END LOOP;
	RETURN 'all';
END $$;
PREPARE below(bigint) AS SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY u) AS r FROM f) s WHERE r < $1;
SET plan_cache_mode = force_generic_plan;
SELECT planned_line('SELECT DISTINCT ON (g) * FROM f ORDER BY g, u') AS one, planned_line(first_by('row_number()', 'g', 'u', '65 > r')) AS many,
	planned_line(first_by('row_number()', 'g', 'u', 'r <= 65')) AS too_many, planned_line('EXECUTE below(3)') AS parameter,
	planned_line('SELECT DISTINCT ON (g) t FROM f ORDER BY g, t COLLATE "fr-CA-x-icu"') AS guessed,
	planned_line('SELECT DISTINCT ON (t COLLATE "fr-CA-x-icu") t FROM f ORDER BY t COLLATE "fr-CA-x-icu", u') AS coded;
RESET plan_cache_mode;
CREATE FUNCTION planned_number(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN jsonb_path_query_first(plan::jsonb, '$.**."Rows of Each Group"');
END $$;
SELECT planned_number('SELECT DISTINCT ON (g) g, u FROM f ORDER BY g, u') AS in_json;
RESET gpusort.mode;

-- Row numbers, ranks, and dense ranks: each condition, keys with and without NULLs, ascending and not, fixed and variable.
SELECT condition, check_first(first_by('row_number()', 'g', 'u', condition), n) AS fixed, check_first(first_by('row_number()', 'few', 'v DESC, u', condition), n) AS nulls,
	check_first(first_by('row_number()', 't', 'u DESC', condition), n) AS text_c, check_first(first_by('row_number()', 'g % 9, icu', 'ties NULLS FIRST, u', condition), n) AS several,
	check_first(first_by('row_number()', 'long', 'u', condition), n) AS long_keys, check_first(first_by('row_number()', 'v', 'long DESC, u', condition), n) AS long_orders
FROM (VALUES ('r <= 1', 1), ('r = 1', 1), ('r < 2', 1), ('r <= 3', 3), ('3 > r', 2), ('r = 2', 2), ('r <= 64', 64), ('r <= 65', 0), ('r <= 0', 1), ('r BETWEEN 2 AND 5', 5), ('r <= 2::smallint AND v > 1', 2)) AS c (condition, n);
SELECT func, condition, check_first(first_by(func, 'g', 'ties', condition), n) AS fixed, check_first(first_by(func, 'few', 'v DESC', condition), n) AS nulls,
	check_first(first_by(func, 't', 'ties DESC NULLS LAST, v', condition), n) AS text_c, check_first(first_by(func, 'v', 'scaled DESC NULLS LAST', condition), n) AS scaled,
	check_first(first_by(func, 'b', 'fl, long', condition), n) AS floats
FROM (VALUES ('rank()'), ('dense_rank()')) AS f (func), (VALUES ('r <= 1', 1), ('r = 1', 1), ('r < 3', 2), ('r <= 4', 4)) AS c (condition, n);
-- The groups themselves of every kind, NULL, equal though not the same, all ones.
SELECT check_first(first_by('row_number()', 'scaled', 'u', 'r <= 2'), 2) AS scaled, check_first(first_by('row_number()', 'fl', 'u', 'r <= 2'), 2) AS floats,
	check_first(first_by('row_number()', 'b', 'u', 'r <= 2'), 2) AS booleans, check_first(first_by('rank()', 'b, few', 'g, v', 'r <= 2'), 2) AS two;
SELECT check_first('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY k) AS r FROM ones WHERE k > 1000) s WHERE r <= 3', 3) AS ones,
	check_first('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY k) AS r FROM ones) s WHERE r <= 20', 20) AS some_ones;
-- Several functions, of which any may have the condition, and columns that are computed.
SELECT check_first('SELECT * FROM (SELECT id, g, u, rank() OVER w, row_number() OVER w, dense_rank() OVER w FROM f WINDOW w AS (PARTITION BY g ORDER BY u)) s WHERE row_number <= 3', 3) AS functions,
	check_first('SELECT * FROM (SELECT id, g, ties, rank() OVER w, dense_rank() OVER w FROM f WINDOW w AS (PARTITION BY g ORDER BY ties)) s WHERE rank < 1000 AND dense_rank <= 2', 2) AS conditions,
	check_first('SELECT x, upper(t), r * 2 FROM (SELECT id + 1 AS x, t, u, row_number() OVER (PARTITION BY t ORDER BY u) AS r FROM f) s WHERE r <= 2', 2) AS computed;
-- All rows as one group.
SELECT check_first('SELECT * FROM (SELECT *, row_number() OVER (ORDER BY u) AS r FROM f) s WHERE r <= 20', 0) AS row_numbers, of_sort('SELECT * FROM (SELECT *, row_number() OVER (ORDER BY u) AS r FROM f) s WHERE r <= 20', 'Bound') AS none
FROM set_config('gpusort.mode', 'force', false);
SELECT of_sort('SELECT * FROM (SELECT *, rank() OVER (ORDER BY ties) AS r FROM f) s WHERE r <= 20', 'Bound') AS bound, check_first('SELECT * FROM (SELECT *, rank() OVER (ORDER BY ties) AS r FROM f) s WHERE r <= 20', 0) AS ranks,
	check_first('SELECT * FROM (SELECT *, dense_rank() OVER (ORDER BY ties) AS r FROM f) s WHERE r <= 2', 0) AS dense_ranks;
RESET gpusort.mode;

-- DISTINCT ON, DISTINCT, UNION, GROUP BY.
SET enable_hashagg = off;
SELECT check_first('SELECT DISTINCT ON (g) * FROM f ORDER BY g, u', 1) AS fixed, check_first('SELECT DISTINCT ON (few, b) * FROM f ORDER BY few DESC NULLS LAST, b, u DESC', 1) AS two,
	check_first('SELECT DISTINCT ON (lower(t), g % 3) *, u + 1 FROM f ORDER BY g % 3, lower(t), u', 1) AS expressions, check_first('SELECT DISTINCT ON (long) * FROM f ORDER BY long, u', 1) AS long_keys,
	check_first('SELECT DISTINCT ON (v) id FROM f WHERE v = 2 ORDER BY v, u', 0) AS constant;
SELECT check_first('SELECT DISTINCT g, few FROM f', 1) AS two, check_first('SELECT DISTINCT t, v FROM f', 1) AS text_c, check_first('SELECT DISTINCT long FROM f', 1) AS long,
	check_first('SELECT DISTINCT fl IS NULL, b FROM f', 1) AS expressions, check_first('SELECT g, t FROM f UNION SELECT v, long FROM f', CASE WHEN current_setting('server_version_num')::int < 170000 THEN 1 END) AS unions, check_first('SELECT few, v FROM f GROUP BY few, v HAVING v > 1', 1) AS groups;
RESET enable_hashagg;

-- Others need the rows: another function, another window, an aggregate of the window, a condition that is no run condition.
SELECT check_first('SELECT * FROM (SELECT id, row_number() OVER w, count(*) OVER w AS n, sum(v) OVER (PARTITION BY g ORDER BY u ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM f WINDOW w AS (PARTITION BY g ORDER BY u)) s WHERE row_number <= 2', 0) AS functions,
	check_first('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY u) AS r, rank() OVER (PARTITION BY v ORDER BY ties) FROM f) s WHERE r <= 2', 2) AS lower_window,
	check_first('SELECT g, count(*), sum(r) FROM (SELECT g, row_number() OVER (PARTITION BY g ORDER BY u) AS r FROM f) s GROUP BY g', 0) AS aggregated,
	check_first('SELECT * FROM (SELECT id, u, row_number() OVER (PARTITION BY g ORDER BY u) AS r FROM f) s WHERE r <= 2 OR id = 17', 0) AS alternatives,
	check_first('SELECT DISTINCT g, v, row_number() OVER (PARTITION BY g ORDER BY u) AS r FROM f', 0) AS numbers,
	check_first('SELECT * FROM (SELECT id, few, rank() OVER (PARTITION BY g ORDER BY few) AS r, row_number() OVER (PARTITION BY g ORDER BY few, u) AS n FROM f) s WHERE r <= 2', 0) AS more_columns;
-- One of two windows has the condition, or both; a frame that has all rows; a column of the groups that is constant.
SELECT check_first('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY u) AS r, rank() OVER (PARTITION BY v ORDER BY ties) AS other FROM f) s WHERE r <= 2', NULL) AS one,
	check_first('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY u) AS r, rank() OVER (PARTITION BY v ORDER BY ties) AS other FROM f) s WHERE other <= 20', NULL) AS other,
	check_first('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY u) AS r, rank() OVER (PARTITION BY v ORDER BY ties) AS other FROM f) s WHERE other <= 20 AND r <= 9', NULL) AS both,
	check_first('SELECT * FROM (SELECT id, row_number() OVER w AS r, sum(v) OVER w FROM f WINDOW w AS (PARTITION BY g ORDER BY u ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) s WHERE r <= 2', 0) AS frame,
	check_first('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g, v ORDER BY u) AS r FROM f WHERE v = 2) s WHERE r <= 2', CASE WHEN current_setting('server_version_num')::int < 170000 THEN 0 ELSE 2 END) AS constant;
-- A condition that is wrong must not fail before there is a row.
SELECT check_first('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY u) AS r FROM f WHERE v > 100) s WHERE r <= (SELECT 1 / min(few - few) FROM f)', 0) AS no_row;

-- Limits that change from scan to scan, of prepared statements, and of sub-selects.
SET plan_cache_mode = force_generic_plan;
PREPARE firsts (bigint) AS SELECT count(*), sum(id), sum(r) FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY u) AS r FROM f) s WHERE r <= $1;
PREPARE first_ranks (int) AS SELECT count(*), sum(id), sum(r) FROM (SELECT id, dense_rank() OVER (PARTITION BY t ORDER BY ties) AS r FROM f) s WHERE r < $1;
SET gpusort.mode = force;
SELECT uses_gpusort('EXECUTE firsts (2)'), of_sort('EXECUTE firsts (2)', 'Rows of Each Group'), of_sort('EXECUTE first_ranks (5)', 'Rows of Each Group') AS ranks, of_sort('EXECUTE firsts (NULL)', 'Rows of Each Group') AS nothing;
EXECUTE firsts (2);
EXECUTE firsts (7);
EXECUTE firsts (NULL);
EXECUTE first_ranks (3);
DEALLOCATE ALL;
RESET gpusort.mode;
RESET plan_cache_mode;
SELECT check_query('SELECT o, (SELECT string_agg(concat_ws('','', id, r), '' '' ORDER BY id) FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY u) AS r FROM f) s WHERE r <= o) FROM unnest(ARRAY[1, 3, 2, 3, 0, NULL, 40, 2]) WITH ORDINALITY AS a (o, n) ORDER BY n') AS row_numbers,
	check_query('SELECT o, (SELECT string_agg(concat_ws('','', id, r), '' '' ORDER BY id) FROM (SELECT id, rank() OVER (PARTITION BY t ORDER BY ties) AS r FROM f WHERE v <> o) s WHERE r < o) FROM unnest(ARRAY[2, 4, 3, 1]) WITH ORDINALITY AS a (o, n) ORDER BY n') AS ranks;

-- In part, backwards, below a LIMIT.
SELECT check_first('SELECT * FROM (SELECT DISTINCT ON (g) * FROM f ORDER BY g, u) s LIMIT 10', 1) AS limited, check_first('SELECT sum(id), max(r) FROM (' || first_by('rank()', 'g', 'ties', 'r <= 2') || ') s', 2) AS summed;
SET gpusort.mode = force;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT DISTINCT ON (v) v, id FROM f ORDER BY v, u;
FETCH 2 FROM c;
FETCH PRIOR FROM c;
FETCH LAST FROM c;
FETCH BACKWARD 2 FROM c;
COMMIT;
RESET gpusort.mode;

-- Rows that come in order, so that each is better than those before, and rows of which none is dropped; and the same through temporary files, where the cpu device cuts them out.
CREATE TABLE readings AS SELECT i AS at, (i % 700)::int AS device, i % 1500 AS other, repeat('f', 100 + i % 200) AS filler FROM generate_series(1, 40000) AS i;
ALTER TABLE readings ALTER at SET NOT NULL, ALTER device SET NOT NULL, ALTER other SET NOT NULL;
ANALYZE readings;
SELECT check_first('SELECT DISTINCT ON (device) device, at, filler FROM readings ORDER BY device, at DESC', 1, false) AS newest, check_first('SELECT DISTINCT ON (device) device, at, filler FROM readings ORDER BY device, at', 1) AS oldest,
	check_first('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY device ORDER BY at DESC) AS r FROM readings) s WHERE r <= 3', 3, false) AS three_newest;
SET enable_hashagg = off;
SELECT count(*), of_sort('SELECT DISTINCT at, device FROM readings', 'Looking for Groups') FROM (SELECT DISTINCT at, device FROM readings) s, set_config('gpusort.mode', 'force', false);
RESET gpusort.mode;
RESET enable_hashagg;
SET gpusort.work_mem = '64kB';
SET gpusort.backend = cpu;
SELECT check_first('SELECT DISTINCT ON (device) device, at, filler FROM readings ORDER BY device, at DESC', 1) AS newest, check_first('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY other ORDER BY at) AS r FROM readings) s WHERE r <= 5', 5) AS five_oldest,
	check_first('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY other::text COLLATE "C" ORDER BY at) AS r FROM readings) s WHERE r <= 2', 2) AS by_text;
RESET gpusort.work_mem;
RESET gpusort.backend;

-- In several processes.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT check_first('SELECT DISTINCT ON (device) device, at, filler FROM readings ORDER BY device, at DESC', 1, false) AS newest, check_first('SELECT * FROM (SELECT *, rank() OVER (PARTITION BY other ORDER BY at / 7) AS r FROM readings) s WHERE r <= 2', 2) AS ranks,
	check_first('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY other::text COLLATE "C" ORDER BY at) AS r FROM readings) s WHERE r <= 2', 2) AS by_text;
SET gpusort.work_mem = '256kB';
SELECT check_first('SELECT DISTINCT ON (device) device, at, filler FROM readings ORDER BY device, at DESC', 1, false) AS newest, check_first('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY other ORDER BY at) AS r FROM readings) s WHERE r <= 5', 5, false) AS five_oldest;
SET client_min_messages = warning;
DROP SCHEMA first_n CASCADE;

