--
-- Cursors: forwards, backwards, held, in memory and out of temporary files.
--
CREATE TABLE c AS SELECT i AS id, noise(i) AS k, md5(i::text) COLLATE "C" AS t FROM generate_series(1, 20000) AS i;

-- Walks through a scrollable cursor in random steps; the rows seen, and how many there are.
CREATE FUNCTION walk(query text, steps int, seed int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	r record;
	seen text := '';
	jump int;
BEGIN
	SELECT NULL::int AS id INTO r;
	OPEN c SCROLL FOR EXECUTE query;
	FOR i IN 1 .. steps LOOP
		jump := (noise(i, 7 + 2 * seed) % 50)::int;
		CASE noise(i, 8 + 2 * seed) & 15
			WHEN 0 THEN FETCH FIRST FROM c INTO r;
			WHEN 1 THEN FETCH LAST FROM c INTO r;
			WHEN 2 THEN FETCH ABSOLUTE jump * 300 FROM c INTO r;
			WHEN 3 THEN FETCH RELATIVE jump * 100 FROM c INTO r;
			WHEN 4 THEN MOVE FORWARD ALL FROM c;
			WHEN 5 THEN MOVE BACKWARD ALL FROM c;
			WHEN 6, 7 THEN FETCH RELATIVE jump FROM c INTO r;
			WHEN 8, 9, 10 THEN FETCH PRIOR FROM c INTO r;
			WHEN 11 THEN FETCH RELATIVE 0 FROM c INTO r;
			ELSE FETCH NEXT FROM c INTO r;
		END CASE;
		seen := seen || coalesce(r.id::text, '-') || ' ';
	END LOOP;
	CLOSE c;
	RETURN seen;
END $$;
CREATE FUNCTION check_walk(query text, steps int DEFAULT 400, seed int DEFAULT 0) RETURNS text LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	off text := walk(query, steps, seed);
BEGIN
	PERFORM set_config('gpusort.mode', 'force', true);
	RETURN CASE WHEN off = '' THEN 'nothing seen' WHEN NOT uses_gpusort(query) THEN 'not taken' WHEN walk(query, steps, seed) = off THEN 'ok' ELSE 'differ' END;
END $$;
SELECT check_walk('SELECT * FROM c ORDER BY k') AS fixed, check_walk('SELECT * FROM c ORDER BY t DESC') AS variable,
	check_walk('SELECT * FROM c WHERE id < 40 ORDER BY k') AS few, check_walk('SELECT * FROM c WHERE id = 1 ORDER BY k') AS one,
	check_walk('SELECT * FROM c WHERE id < 0 ORDER BY k', 50) AS none;
SET gpusort.work_mem = '64kB';
SELECT check_walk('SELECT * FROM c ORDER BY k') AS fixed, check_walk('SELECT * FROM c ORDER BY t DESC') AS variable;
-- What the first steps are makes a difference: rows are merged as they are asked for until the first step back.
SELECT check_walk('SELECT * FROM c WHERE id <= 8000 ORDER BY k', 7, seed) AS result, count(*) FROM generate_series(1, 60) AS seed GROUP BY 1;
RESET gpusort.work_mem;

SET gpusort.mode = force;
BEGIN;
DECLARE forwards CURSOR FOR SELECT id FROM c WHERE id <= 10 ORDER BY k;
FETCH 3 FROM forwards;
MOVE 4 IN forwards;
FETCH ALL FROM forwards;
FETCH 1 FROM forwards;
DECLARE no_scroll NO SCROLL CURSOR FOR SELECT id FROM c WHERE id <= 10 ORDER BY k;
FETCH 2 FROM no_scroll;
SAVEPOINT before_error;
FETCH PRIOR FROM no_scroll;
ROLLBACK TO before_error;
COMMIT;
BEGIN;
DECLARE scrolling SCROLL CURSOR FOR SELECT id FROM c WHERE id <= 10 ORDER BY t DESC;
FETCH BACKWARD 1 FROM scrolling;
FETCH ALL FROM scrolling;
FETCH BACKWARD 3 FROM scrolling;
FETCH ABSOLUTE 2 FROM scrolling;
FETCH ABSOLUTE -2 FROM scrolling;
FETCH BACKWARD ALL FROM scrolling;
FETCH FIRST FROM scrolling;
-- Two cursors at a time, and one that an error in between leaves alone.
DECLARE other CURSOR FOR SELECT id FROM c WHERE id <= 10 ORDER BY id DESC;
FETCH 2 FROM other;
SAVEPOINT s;
SELECT 1 / (id - 1) FROM c ORDER BY k;
ROLLBACK TO s;
FETCH 2 FROM other;
FETCH NEXT FROM scrolling;
COMMIT;
BEGIN;
DECLARE held SCROLL CURSOR WITH HOLD FOR SELECT id FROM c WHERE id <= 10 ORDER BY k;
FETCH 2 FROM held;
COMMIT;
FETCH 2 FROM held;
FETCH BACKWARD 3 FROM held;
CLOSE held;
-- WHERE CURRENT OF finds the row that a sorted cursor has locked.
BEGIN;
DECLARE for_update CURSOR FOR SELECT * FROM c WHERE id <= 10 ORDER BY k FOR UPDATE;
FETCH 1 FROM for_update;
UPDATE c SET t = 'changed' WHERE CURRENT OF for_update RETURNING t;
ROLLBACK;
RESET gpusort.mode;

DROP TABLE c;
DROP FUNCTION walk, check_walk;
