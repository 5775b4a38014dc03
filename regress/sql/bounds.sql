--
-- LIMIT and OFFSET over a sort: which rows come out, of every kind of bound, and of one that changes from scan to scan.
--
CREATE TABLE b AS SELECT i::int AS id, noise(i) AS k, CASE WHEN i % 20 > 0 THEN (noise(i, 1) % 40)::int END AS v, substr(md5(i::text), 1, 2) COLLATE "C" AS t,
	substr(md5(i::text), 1, 1 + (i % 5)::int) COLLATE "en-US-x-icu" AS u, (noise(i, 2) & 7)::int AS part, repeat('f', (i % 60)::int) AS filler
FROM generate_series(1, 3000) AS i;
ANALYZE b;

-- A random limit or offset: some beside powers of two, some beside the number of rows, some far beyond it, some none.
CREATE FUNCTION bound(number int, seed int, n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE noise(number, seed) & 15
		WHEN 0 THEN 0
		WHEN 1 THEN 1
		WHEN 2 THEN NULL
		WHEN 3 THEN n + (x & 3) - 2
		WHEN 4 THEN 9223372036854775807 - (x & 1)
		WHEN 5 THEN n * (1 + (x & 1023))
		WHEN 6 THEN (1 << (x & 11)::int) + (x >> 8 & 3) - 1
		WHEN 7 THEN (1 << (x & 11)::int) + (x >> 8 & 3) - 1
		WHEN 8 THEN x & 15
		WHEN 9 THEN n / 10 + (x & 3) - 2
		WHEN 10 THEN 500 + (x & 1023)
		ELSE (x & 1048575) % n
	END FROM (SELECT noise(number, seed + 1) & 9223372036854775807 AS x) r
$$;

-- In PostgreSQL's own order of table b, or of each of its parts: ranked has each row's rank and content, places the rank at each place.
CREATE FUNCTION rank_rows(keys text, groups text DEFAULT '0') RETURNS void
LANGUAGE plpgsql SET gpusort.mode = off SET client_min_messages = warning AS $$
BEGIN
	DROP TABLE IF EXISTS ranked, places;
	EXECUTE format('CREATE TEMP TABLE ranked AS SELECT id, %1$s AS part, rank() OVER (PARTITION BY %1$s ORDER BY %2$s),
		hash_record_extended(ROW(record_send(b)), 0) AS line FROM b', groups, keys);
	CREATE TEMP TABLE places AS SELECT part, row_number() OVER (PARTITION BY part ORDER BY rank) AS place, rank FROM ranked;
	ANALYZE ranked, places;
END $$;

-- How many rows a query with a limit returns, how many different ones, and how many that have the content they should have, and the rank of
-- their place: then keys come in order, groups of equal keys that are returned whole are right, and of the last one come some of its rows.
CREATE FUNCTION summary(query text, skip text) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT count(*), count(DISTINCT a.id), count(*) FILTER (WHERE r.rank = p.rank AND r.line = a.line)
		FROM (SELECT id, row_number() OVER () AS place, hash_record_extended(ROW(record_send(q)), 0) AS line FROM (%s) q) a
		LEFT JOIN ranked r USING (id) LEFT JOIN places p ON p.place = a.place + coalesce(%s, 0)', query, skip)
$$;

-- How many rows there should be.
CREATE FUNCTION expected_rows(count bigint, skip bigint, ties boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint := (SELECT count(*) FROM ranked);
BEGIN
	IF count IS NULL OR count >= n - skip THEN
		RETURN greatest(0, n - skip);
	ELSIF ties AND count > 0 THEN
		RETURN (SELECT count(*) - skip FROM places WHERE rank <= (SELECT rank FROM places WHERE place = skip + expected_rows.count));
	END IF;
	RETURN count;
END $$;

-- Runs a query, in which %1$s stands for the limit and %2$s for the offset, with so many random pairs of them: as constants, as subqueries that
-- the planner knows nothing of, and as parameters of a generic plan.
CREATE FUNCTION check_bounds(keys text, query text, pairs int, seed int, ties boolean DEFAULT false) RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	nothing text := CASE WHEN ties THEN '(SELECT NULL::bigint)' ELSE 'NULL' END;
	n bigint := (SELECT count(*) FROM b);
	count bigint;
	skip bigint;
	returned bigint;
	different bigint;
	right_ones bigint;
	expected bigint;
	call text;
BEGIN
	PERFORM rank_rows(keys);
	PERFORM set_config('gpusort.mode', 'force', true);
	IF NOT uses_gpusort(format(query, n - 500, 100)) OR NOT uses_gpusort(format(query, '(SELECT 5)', '(SELECT 5)')) THEN
		RETURN 'not taken';
	END IF;
	EXECUTE 'PREPARE bounded (bigint, bigint) AS ' || summary(format(query, '$1', '$2'), '$2');
	IF NOT uses_gpusort('EXECUTE bounded (5, 5)') THEN
		RETURN 'not taken as a prepared statement';
	END IF;
	FOR i IN 1 .. pairs LOOP
		count := bound(i, seed, n);
		skip := CASE WHEN i % 3 > 0 THEN bound(i, seed + 7, n) END;
		call := CASE i % 5
			WHEN 0 THEN summary(format(query, coalesce(count::text, nothing), coalesce(skip::text, 'NULL')), coalesce(skip::text, 'NULL'))
			WHEN 1 THEN summary(format(query, format('(SELECT %L::bigint)', count), format('(SELECT %L::bigint)', skip)), coalesce(skip::text, 'NULL'))
			ELSE format('EXECUTE bounded (%L, %L)', count, skip) END;
		EXECUTE call INTO returned, different, right_ones;
		expected := expected_rows(count, coalesce(skip, 0), ties);
		IF (returned, different, right_ones) <> (expected, expected, expected) THEN
			DEALLOCATE bounded;
			RETURN format('LIMIT %s OFFSET %s: %s rows, %s different, %s right, instead of %s', count, skip, returned, different, right_ones, expected);
		END IF;
	END LOOP;
	DEALLOCATE bounded;
	RETURN format('ok: %s pairs', pairs);
END $$;

-- 500 pairs, one sort each: keys of one and of several columns, unique and not, in order already (then the first rows to come are those
-- wanted, and nothing makes up for one that is lost), without and with WITH TIES, and through a subquery.
SELECT check_bounds('k', 'SELECT * FROM b ORDER BY k LIMIT %1$s OFFSET %2$s', 50, 100) AS int8,
	check_bounds('id', 'SELECT * FROM b ORDER BY id LIMIT %1$s OFFSET %2$s', 75, 150) AS sorted,
	check_bounds('v NULLS FIRST', 'SELECT * FROM b ORDER BY v NULLS FIRST OFFSET %2$s LIMIT %1$s', 50, 200) AS few_values,
	check_bounds('t DESC', 'SELECT * FROM b ORDER BY t DESC LIMIT %1$s OFFSET %2$s', 75, 300) AS text_c,
	check_bounds('u', 'SELECT * FROM b ORDER BY u LIMIT %1$s OFFSET %2$s', 50, 400) AS text_icu;
SELECT check_bounds('v DESC, t', 'SELECT * FROM b ORDER BY v DESC, t LIMIT %1$s OFFSET %2$s', 50, 500) AS two_columns,
	check_bounds('t, part, k DESC', 'SELECT * FROM (SELECT * FROM b ORDER BY t, part, k DESC OFFSET 0) s LIMIT %1$s OFFSET %2$s', 50, 600) AS subquery,
	check_bounds('v', 'SELECT * FROM b ORDER BY v OFFSET %2$s FETCH FIRST %1$s ROWS WITH TIES', 50, 700, ties => true) AS with_ties,
	check_bounds('v, t', 'SELECT * FROM b ORDER BY v, t OFFSET %2$s FETCH FIRST %1$s ROWS WITH TIES', 50, 800, ties => true) AS with_ties_two_columns;
-- A limit of a limit, and one above what a filter leaves of the sorted rows: no bound of the sort.
SELECT check_query('SELECT id FROM (SELECT * FROM b ORDER BY k LIMIT (SELECT 700)) s LIMIT (SELECT 20) OFFSET 690') AS limit_of_limit,
	check_query('SELECT id FROM (SELECT * FROM b ORDER BY k OFFSET 0) s WHERE part = 1 LIMIT 50') AS filtered,
	check_query('SELECT id, generate_series(1, part & 1) FROM (SELECT * FROM b ORDER BY k OFFSET 0) s LIMIT 200') AS sets_of_rows,
	check_query('SELECT s.id, x FROM (SELECT * FROM b ORDER BY k OFFSET 0) s, generate_series(1, part & 1) AS x LIMIT 200') AS joined,
	check_query('SELECT sum(id) OVER (ROWS BETWEEN CURRENT ROW AND 100 FOLLOWING) FROM (SELECT * FROM b ORDER BY k OFFSET 0) s LIMIT 10') AS looked_ahead,
	check_query('SELECT id FROM (SELECT * FROM b ORDER BY k OFFSET 0) s UNION ALL SELECT part FROM b WHERE id < 0 LIMIT 50') AS appended;

-- A bound that changes from scan to scan: of an input that stays the same, and of one that changes as well.
CREATE TABLE bounds AS SELECT i AS number, bound(i, 900, CASE WHEN i % 2 = 0 THEN 3000 ELSE 370 END) AS count, CASE WHEN i % 3 > 0 THEN bound(i, 907, 370) END AS skip,
	(noise(i, 3) & 7)::int AS part FROM generate_series(1, 70) AS i;
ANALYZE bounds;
CREATE FUNCTION check_rescans(keys text, correlated boolean) RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off SET enable_memoize = off SET client_min_messages = warning AS $$
DECLARE
	query text := format('SELECT l.number, s.* FROM bounds l, LATERAL (SELECT id, row_number() OVER () AS place, hash_record_extended(ROW(record_send(q)), 0) AS line
		FROM (SELECT * FROM b %s ORDER BY %s LIMIT l.count OFFSET l.skip) q) s', CASE WHEN correlated THEN 'WHERE b.part = l.part' END, keys);
	bad record;
BEGIN
	PERFORM rank_rows(keys, CASE WHEN correlated THEN 'part' ELSE '0' END);
	PERFORM set_config('gpusort.mode', 'force', true);
	IF NOT uses_gpusort(query) OR NOT plan_contains(query, 'Nested Loop') THEN
		RETURN 'not taken';
	END IF;
	DROP TABLE IF EXISTS returned;
	EXECUTE 'CREATE TEMP TABLE returned AS ' || query;
	ANALYZE returned;
	SELECT l.number, l.count, l.skip, a.rows, a.different, a.right_ones, e.expected INTO bad
	FROM bounds l
		JOIN (SELECT CASE WHEN correlated THEN part ELSE 0 END AS part, count(*) AS n FROM b GROUP BY 1) sizes ON NOT correlated OR sizes.part = l.part
		CROSS JOIN LATERAL (SELECT greatest(0, least(l.count, n - coalesce(l.skip, 0))) AS expected) e
		LEFT JOIN (SELECT number, count(*) AS rows, count(DISTINCT x.id) AS different,
				count(*) FILTER (WHERE r.rank = p.rank AND r.line = x.line AND (NOT correlated OR r.part = o.part)) AS right_ones
			FROM returned x JOIN bounds o USING (number) LEFT JOIN ranked r USING (id)
				LEFT JOIN places p ON p.part = r.part AND p.place = x.place + coalesce(o.skip, 0)
			GROUP BY number) a USING (number)
	WHERE (coalesce(a.rows, 0), coalesce(a.different, 0), coalesce(a.right_ones, 0)) <> (e.expected, e.expected, e.expected)
	ORDER BY number LIMIT 1;
	IF FOUND THEN
		RETURN 'differs: ' || bad;
	END IF;
	RETURN format('ok: %s scans', (SELECT count(*) FROM bounds));
END $$;
SELECT check_rescans('k', false) AS int8, check_rescans('t', false) AS text_c, check_rescans('v DESC, u', false) AS two_columns,
	check_rescans('k', true) AS int8_part, check_rescans('t', true) AS text_part, check_rescans('v DESC, u', true) AS two_columns_part;
SELECT check_query('SELECT number, ARRAY(SELECT id FROM b ORDER BY k LIMIT l.count OFFSET l.skip) FROM bounds l') AS array_of,
	check_query('SELECT number, ARRAY(SELECT id FROM b WHERE b.part = l.part ORDER BY t, id LIMIT l.count) FROM bounds l') AS array_of_part,
	check_query('SELECT number, (SELECT id FROM b ORDER BY k DESC LIMIT 1 OFFSET l.skip) FROM bounds l') AS nth,
	check_query('SELECT number, EXISTS (SELECT * FROM b ORDER BY k OFFSET l.count) FROM bounds l') AS any_beyond,
	check_query('SELECT number, s.* FROM bounds l, LATERAL (SELECT count(*), sum(v) FROM (SELECT * FROM b ORDER BY v OFFSET l.skip FETCH FIRST (l.count) ROWS WITH TIES) t) s') AS ties;

-- Cursors: forwards, backwards and about.
CREATE FUNCTION walk(query text, seed int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	r record;
	seen text := '';
	jump int;
BEGIN
	SELECT NULL::int AS id INTO r;
	OPEN c SCROLL FOR EXECUTE query;
	FOR i IN 1 .. 150 LOOP
		jump := (noise(i, seed) % 50)::int;
		CASE noise(i, seed + 1) & 7
			WHEN 0 THEN FETCH LAST FROM c INTO r;
			WHEN 1 THEN FETCH ABSOLUTE jump * 30 FROM c INTO r;
			WHEN 2 THEN MOVE FORWARD ALL FROM c;
			WHEN 3 THEN FETCH RELATIVE jump FROM c INTO r;
			WHEN 4, 5 THEN FETCH PRIOR FROM c INTO r;
			ELSE FETCH NEXT FROM c INTO r;
		END CASE;
		seen := seen || coalesce(r.id::text, '-') || ' ';
	END LOOP;
	CLOSE c;
	RETURN seen;
END $$;
CREATE FUNCTION check_walks(query text, walks int) RETURNS text LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	bounded text;
	off text;
BEGIN
	FOR i IN 1 .. walks LOOP
		bounded := format(query, format('(SELECT %L::bigint)', bound(i, 1000, 3000)), format('(SELECT %L::bigint)', bound(i, 1001, 400)));
		PERFORM set_config('gpusort.mode', 'off', true);
		off := walk(bounded, i);
		PERFORM set_config('gpusort.mode', 'force', true);
		IF NOT uses_gpusort(bounded) OR off <> walk(bounded, i) THEN
			RETURN 'not taken, or differs: ' || bounded;
		END IF;
	END LOOP;
	RETURN format('ok: %s cursors', walks);
END $$;
SELECT check_walks('SELECT * FROM b ORDER BY k LIMIT %s OFFSET %s', 40) AS int8, check_walks('SELECT * FROM b ORDER BY t, v, id LIMIT %s OFFSET %s', 40) AS text;
SET gpusort.mode = force;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT place FROM (SELECT k, row_number() OVER (ORDER BY k) AS place FROM b OFFSET 0) s ORDER BY k LIMIT (SELECT 5) OFFSET 1000;
FETCH ALL FROM c;
FETCH BACKWARD ALL FROM c;
FETCH LAST FROM c;
FETCH RELATIVE 1 FROM c;
FETCH PRIOR FROM c;
COMMIT;
RESET gpusort.mode;

-- Ties by fewer columns than the sort has: those of a subquery, which is no node of the plan, and where one of the columns compared is a constant.
CREATE TABLE tied AS SELECT i % 50 AS g, i % 5 AS h, i AS id FROM generate_series(1, 20000) AS i;
ANALYZE tied;
CREATE VIEW tied_rows AS
	SELECT (SELECT sum(id) FROM (SELECT * FROM (SELECT * FROM tied ORDER BY g, id DESC OFFSET 0) s ORDER BY g FETCH FIRST 5 ROWS WITH TIES) t) AS fewer,
		(SELECT sum(id) FROM (SELECT * FROM (SELECT * FROM tied WHERE h = 3 ORDER BY g, id DESC OFFSET 0) s WHERE h = 3 ORDER BY h, g FETCH FIRST 5 ROWS WITH TIES) t) AS constant,
		(SELECT sum(id) FROM (SELECT * FROM tied WHERE h = 3 ORDER BY h, g FETCH FIRST 5 ROWS WITH TIES) t) AS same,
		(SELECT sum(id) FROM (SELECT g + 1 AS g, id FROM (SELECT * FROM tied ORDER BY g, id DESC OFFSET 0) s ORDER BY s.g FETCH FIRST 5 ROWS WITH TIES) t) AS computed;
SET gpusort.mode = off;
CREATE TEMP TABLE tied_rows_off AS SELECT * FROM tied_rows;
SET gpusort.mode = force;
SELECT plan_contains('SELECT * FROM (SELECT * FROM tied ORDER BY g, id DESC OFFSET 0) s ORDER BY g FETCH FIRST 5 ROWS WITH TIES', 'GpuSort') AS taken,
	plan_contains('SELECT * FROM (SELECT * FROM tied ORDER BY g, id DESC OFFSET 0) s ORDER BY g FETCH FIRST 5 ROWS WITH TIES', 'Subquery Scan') AS subquery_scan;
SELECT o.fewer = f.fewer AS fewer, o.constant = f.constant AS constant, o.same = f.same AS same, o.computed = f.computed AS computed
FROM tied_rows_off o, tied_rows f;
RESET gpusort.mode;
DROP VIEW tied_rows;
DROP TABLE tied, tied_rows_off;

-- With little memory, and by several processes.
INSERT INTO b SELECT id + 3000 * i, noise(id, 10 + i), v, t, u, part, filler FROM b, generate_series(1, 3) AS i;
ANALYZE b;
SET gpusort.work_mem = '64kB';
SELECT check_bounds('k', 'SELECT * FROM b ORDER BY k LIMIT %1$s OFFSET %2$s', 12, 1100) AS int8,
	check_bounds('t', 'SELECT * FROM b ORDER BY t LIMIT %1$s OFFSET %2$s', 12, 1200) AS text_c;
SELECT check_query('SELECT number, ARRAY(SELECT id FROM b ORDER BY k LIMIT l.count OFFSET l.skip) FROM bounds l WHERE number <= 20') AS array_of;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT check_bounds('k', 'SELECT * FROM b ORDER BY k LIMIT %1$s OFFSET %2$s', 12, 1300) AS int8_little_memory;
RESET gpusort.work_mem;
SELECT check_bounds('v', 'SELECT * FROM b ORDER BY v LIMIT %1$s OFFSET %2$s', 12, 1400) AS few_values,
	check_bounds('t, v', 'SELECT * FROM b ORDER BY t, v OFFSET %2$s FETCH FIRST %1$s ROWS WITH TIES', 12, 1500, ties => true) AS ties;
-- Several processes cut their chunks back and fill them further: many times, in little memory, and where what is wanted doesn't fit.
-- (PL/pgSQL's EXECUTE ... INTO would leave the workers out.)
CREATE TABLE crowd AS SELECT i AS id, noise(i, 20) AS k, md5(i::text) COLLATE "C" AS t FROM generate_series(1, 100000) AS i;
ANALYZE crowd;
CREATE VIEW first_rows AS
	SELECT (SELECT md5(string_agg(id::text, ',')) FROM (SELECT * FROM crowd ORDER BY k LIMIT 300) s) AS few,
		(SELECT md5(string_agg(id::text, ',')) FROM (SELECT * FROM crowd ORDER BY k DESC LIMIT 3000) s) AS some,
		(SELECT md5(string_agg(id::text, ',')) FROM (SELECT * FROM crowd ORDER BY t LIMIT 2000) s) AS some_text,
		(SELECT md5(string_agg(id::text, ',')) FROM (SELECT * FROM crowd ORDER BY t LIMIT 30000) s) AS much_text;
SET gpusort.mode = off;
CREATE TEMP TABLE first_rows_off AS SELECT * FROM first_rows;
SET gpusort.mode = force;
CREATE TEMP TABLE first_rows_force AS SELECT * FROM first_rows;
SET gpusort.work_mem = '64kB';
CREATE TEMP TABLE first_rows_little AS SELECT * FROM first_rows;
SELECT o.* IS NOT DISTINCT FROM f.* AS same, o.* IS NOT DISTINCT FROM l.* AS same_with_little
FROM first_rows_off o, first_rows_force f, first_rows_little l;
RESET gpusort.work_mem;
-- What EXPLAIN says of it, in two formats.
CREATE FUNCTION bound_lines(query text, format text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (ANALYZE, VERBOSE, TIMING OFF, COSTS OFF, FORMAT %s) %s', format, query) LOOP
		RETURN QUERY SELECT regexp_replace(part, 'Dropped(.*) [1-9]\d*', 'Dropped\1 N') FROM regexp_split_to_table(line, '\n') AS part
			WHERE part ~ 'Bound|Dropped';
	END LOOP;
END $$;
SELECT bound_lines('SELECT * FROM crowd ORDER BY k LIMIT 3000', 'text');
SELECT bound_lines('SELECT * FROM crowd ORDER BY k LIMIT 3000', 'json');
-- Of rows that equal the last one that is wanted no more are kept than are wanted.
CREATE TABLE ties AS SELECT i, ('key ' || i % 3) COLLATE "C" AS t FROM generate_series(1, 20000) AS i;
CREATE FUNCTION rows_dropped(query text) RETURNS bigint LANGUAGE plpgsql SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
	RETURN jsonb_path_query_first(plan, 'strict $.**."Rows Dropped"');
END $$;
SELECT rows_dropped('SELECT * FROM ties ORDER BY t LIMIT 100') > 15000 AS equal_rows_are_dropped;
DROP TABLE ties;
DROP FUNCTION bound_lines, rows_dropped;
DROP VIEW first_rows;
DROP TABLE crowd, first_rows_off, first_rows_force, first_rows_little;
SET gpusort.mode = force;
SELECT plan_contains('SELECT * FROM b ORDER BY k LIMIT (SELECT 10)', 'Parallel Custom Scan (GpuSortFeed)') AS feed;
RESET gpusort.mode;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

DROP TABLE b, bounds;
DROP FUNCTION bound, rank_rows, summary, expected_rows, check_bounds, check_rescans, walk, check_walks;
