--
-- Sorts that gpusort leaves to PostgreSQL, and what gpusort_check says about them.
--
SELECT check_type('jsonb', 'jsonb_build_object(''a'', n % 100)', '{1,null,"[]"}', taken => false) AS jsonb;
SELECT check_type('int4[]', 'ARRAY[i % 10, i % 3]', '{"{}"}', taken => false) AS array;
SELECT check_type('int4range', 'int4range(i % 10, i % 10 + i % 5)', '{empty,"(,)"}', taken => false) AS range;
SELECT check_type('tsvector', 'to_tsvector(''simple'', md5(i::text))', '{}', taken => false) AS tsvector;
CREATE TYPE point3 AS (x int, y int, z text);
SELECT check_type('point3', 'ROW(i % 10, i % 7, md5(i::text))::point3', '{}', taken => false) AS composite;

CREATE TABLE kinds (id int, j jsonb, a int4[], r int4range, p point3, t text COLLATE "C.utf8", c text COLLATE "C", i text COLLATE "und-x-icu", n numeric, x xid8);
SET gpusort.mode = force;
SELECT sort_key, taken, reason
FROM unnest('{id,j,a,r,p,t,c,i,n,x,"id, j","t COLLATE \"C\"","c COLLATE \"C.utf8\"","ROW(id, n)","id DESC NULLS LAST, c USING <, n DESC"}'::text[]) AS key,
	gpusort_check('SELECT * FROM kinds ORDER BY ' || key);
SET gpusort.mode = auto;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM generate_series(1, 3000) AS g ORDER BY g LIMIT 3');
-- What OFFSET skips is sorted as well.
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM generate_series(1, 3000) AS g ORDER BY g LIMIT 3 OFFSET 4');
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM generate_series(1, 3000) AS g ORDER BY g OFFSET 2 FETCH FIRST 1 ROW WITH TIES');
SET gpusort.mode = force;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT n, row_number() OVER (ORDER BY x) FROM kinds');
-- A row for every sort of the query's plan; none if there is none.
SELECT sort_key, taken, reason FROM gpusort_check('SELECT 1');
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM (SELECT * FROM kinds ORDER BY j LIMIT 5) s ORDER BY id');
-- The query is planned, never executed.
CREATE SEQUENCE never;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT nextval(''never'') AS n FROM kinds ORDER BY 1');
SELECT sort_key, taken, reason FROM gpusort_check('INSERT INTO kinds (id) SELECT id FROM kinds ORDER BY n');
SELECT count(*) FROM kinds;
SELECT is_called FROM never;
-- What the modes say.
SET gpusort.mode = auto;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM generate_series(1, 20) AS g ORDER BY g');
SET gpusort.mode = off;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM kinds ORDER BY id');
RESET gpusort.mode;

DROP TABLE kinds;
