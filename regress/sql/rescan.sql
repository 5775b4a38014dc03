--
-- Sorts that are executed more than once in a query, with the same and with other parameters.
--
CREATE TABLE o AS SELECT i AS g FROM generate_series(0, 30) AS i;
CREATE TABLE i AS SELECT id, (noise(id) & 31)::int AS g, noise(id, 1) AS k, md5(id::text) COLLATE "C" AS t FROM generate_series(1, 3000) AS id;
ANALYZE o, i;

-- Changed parameters.
SELECT check_query('SELECT o.g, id FROM o, LATERAL (SELECT * FROM i WHERE i.g = o.g ORDER BY k OFFSET 1) s') AS lateral,
	check_query('SELECT o.g, id FROM o, LATERAL (SELECT * FROM i WHERE i.g = o.g ORDER BY t DESC LIMIT 50 OFFSET 1) s') AS lateral_limit,
	check_query('SELECT g, id FROM o LEFT JOIN LATERAL (SELECT * FROM i WHERE i.g = o.g AND i.id > 2900 ORDER BY k OFFSET 0) s USING (g) ORDER BY g, k') AS lateral_left,
	check_query('SELECT g, (SELECT array_agg(id) FROM (SELECT id FROM i WHERE i.g = o.g ORDER BY k OFFSET 0) s) FROM o') AS correlated,
	check_query('SELECT g, ARRAY(SELECT id FROM i WHERE i.g = o.g ORDER BY t) FROM o') AS array_of,
	check_query('SELECT g, ARRAY(SELECT id FROM i ORDER BY (k + o.g) % 100, id) FROM o WHERE g < 5') AS parameter_in_the_key,
	check_query('SELECT g, ARRAY(SELECT (SELECT max(x) FROM (SELECT id AS x FROM i j WHERE j.g = i.g AND j.id < o.g * 50 ORDER BY k OFFSET 3) s) FROM i WHERE i.g = o.g ORDER BY k) FROM o') AS nested;
-- Sorts with no rows, and rescans with and without rows in turn.
SELECT check_query('SELECT o.g, id FROM o, LATERAL (SELECT * FROM i WHERE i.g = o.g AND o.g % 2 = 0 ORDER BY k OFFSET 1) s') AS every_other_empty;

-- Unchanged parameters below a node whose parameters change: the sort was not told that it would be rescanned.
SELECT check_query('SELECT o.g, s.id FROM o, LATERAL (SELECT * FROM (SELECT * FROM i WHERE id < 300 ORDER BY k OFFSET 2) t WHERE t.g < o.g OFFSET 0) s') AS filtered,
	check_query('SELECT o.g, s.id FROM o, LATERAL (SELECT * FROM (SELECT * FROM i WHERE id < 300 ORDER BY t OFFSET 2) t WHERE t.g < o.g LIMIT 5) s') AS limited;
SET gpusort.work_mem = '64kB';
SELECT check_query('SELECT o.g, s.id FROM o, LATERAL (SELECT * FROM (SELECT * FROM i ORDER BY k OFFSET 2) t WHERE t.g < o.g LIMIT 1000) s') AS spilled;
RESET gpusort.work_mem;

-- Unchanged parameters: the rows are returned again, and the sort's input is read once.
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
SELECT check_query('SELECT o.g, s.id FROM o, (SELECT * FROM i WHERE id < 200 ORDER BY k OFFSET 2) s') AS unchanged,
	check_query('SELECT o.g, s.id FROM o LEFT JOIN (SELECT * FROM i WHERE id < 200 ORDER BY t OFFSET 2) s ON s.g = o.g') AS unchanged_text,
	check_query('SELECT g FROM o WHERE g < ALL (SELECT id + g FROM i ORDER BY k OFFSET 5)') AS abandoned_early,
	check_query('SELECT o.g, x.g, s.id FROM o, LATERAL (SELECT g FROM o p WHERE p.g > o.g OFFSET 0) x, LATERAL (SELECT * FROM i WHERE i.g = o.g ORDER BY k OFFSET 2) s') AS changed_and_unchanged;
-- How often rows were asked for of the sort and of its input.
CREATE FUNCTION loops(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	node text[];
	result text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		node := regexp_match(line, '(Sort|Scan on i)\W.*loops=(\d+)');
		result := result || CASE WHEN node IS NOT NULL THEN format('%s: %s ', node[1], node[2]) WHEN line ~ 'Disk' THEN 'from files ' ELSE '' END;
	END LOOP;
	RETURN result;
END $$;
\set few '\'SELECT count(s.wide) FROM o LEFT JOIN (SELECT g, repeat(t, 10) AS wide FROM i WHERE id < 200 ORDER BY k OFFSET 2) s ON s.g <> o.g\''
\set many '\'SELECT count(s.wide) FROM o LEFT JOIN (SELECT g, repeat(t, 10) AS wide FROM i ORDER BY k OFFSET 2) s ON s.g <> o.g\''
-- Of the cpu device, also on a server whose default is another one: a card's memory is not so small.
SET gpusort.backend = cpu;
SET work_mem = '256kB';
SET gpusort.work_mem = '64kB';
SET gpusort.mode = off;
SELECT loops(:few) AS few_off, loops(:many) AS many_off;
SET gpusort.mode = force;
SELECT loops(:few) AS few_forced, loops(:many) AS many_forced;
RESET gpusort.mode;
RESET gpusort.backend;
SELECT check_query('SELECT o.g, wide FROM o LEFT JOIN (SELECT g, repeat(t, 10) AS wide FROM i ORDER BY k OFFSET 2) s ON s.g <> o.g') AS unchanged_spilled,
	check_query('SELECT o.g, wide FROM o, LATERAL (SELECT g, repeat(t, 10) AS wide FROM i WHERE i.g <> o.g ORDER BY k OFFSET 2) s') AS changed_spilled;
RESET gpusort.work_mem;
RESET work_mem;

-- Merge joins go back to a mark.
RESET enable_mergejoin;
SET enable_nestloop = off;
SELECT check_query('SELECT a.id, b.id FROM (SELECT * FROM i WHERE id < 500 ORDER BY g, id OFFSET 0) a JOIN (SELECT * FROM i ORDER BY g, id OFFSET 0) b USING (g)') AS merge_join;

DROP TABLE o, i;
DROP FUNCTION loops;
