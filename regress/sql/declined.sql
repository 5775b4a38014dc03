--
-- Sorts that gpusort leaves to PostgreSQL, and what gpusort_check says about them.
--
-- The default order of one composite type, and of one enum, is another one: backwards.
CREATE TYPE turned AS (x int);
CREATE TYPE turned_mood AS ENUM ('sad', 'ok', 'happy');
DO $$
DECLARE
	t text;
BEGIN
	FOREACH t IN ARRAY '{turned,turned_mood}'::text[] LOOP
		EXECUTE format('CREATE FUNCTION backwards_cmp(a %1$s, b %1$s) RETURNS int LANGUAGE sql IMMUTABLE AS ''SELECT bttextcmp(b::text COLLATE "C", a::text COLLATE "C")''', t);
		EXECUTE format('CREATE FUNCTION before(a %1$s, b %1$s) RETURNS bool LANGUAGE sql IMMUTABLE AS ''SELECT backwards_cmp(a, b) < 0''', t);
		EXECUTE format('CREATE FUNCTION same(a %1$s, b %1$s) RETURNS bool LANGUAGE sql IMMUTABLE AS ''SELECT backwards_cmp(a, b) = 0''', t);
		EXECUTE format('CREATE FUNCTION after(a %1$s, b %1$s) RETURNS bool LANGUAGE sql IMMUTABLE AS ''SELECT backwards_cmp(a, b) > 0''', t);
		EXECUTE format('CREATE OPERATOR <<< (FUNCTION = before, LEFTARG = %1$s, RIGHTARG = %1$s)', t);
		EXECUTE format('CREATE OPERATOR === (FUNCTION = same, LEFTARG = %1$s, RIGHTARG = %1$s)', t);
		EXECUTE format('CREATE OPERATOR >>> (FUNCTION = after, LEFTARG = %1$s, RIGHTARG = %1$s)', t);
		EXECUTE format('CREATE OPERATOR CLASS %1$s_ops DEFAULT FOR TYPE %1$s USING btree AS OPERATOR 1 <<<, OPERATOR 3 ===, OPERATOR 5 >>>, FUNCTION 1 backwards_cmp(%1$s, %1$s)', t);
	END LOOP;
END $$;
SELECT check_type('turned', 'ROW(i)::turned', '{}', taken => false) AS composite_turned, check_type('turned[]', 'ARRAY[ROW(i)::turned]', '{}', taken => false) AS array_turned;
SELECT check_type('turned_mood', '(enum_range(NULL::turned_mood))[1 + i % 3]', '{}', taken => false) AS enum_turned;

-- Types that only their functions know, in parts as well.
SELECT check_type('backwards', '(n % 100)::text', '{1,null,""}', taken => false) AS unknown_type;
SELECT check_type('backwards[]', 'ARRAY[(i % 10)::text, (i % 3)::text]::backwards[]', '{"{}"}', taken => false) AS array;
CREATE TYPE backwards_range AS RANGE (subtype = backwards);
SELECT check_type('backwards_range', 'backwards_range((i % 10)::text::backwards, NULL)', '{empty,"(,)"}', taken => false) AS range;
CREATE TYPE point3 AS (x int, y int, z backwards);
SELECT check_type('point3', 'ROW(i % 10, i % 7, i::text)::point3', '{}', taken => false) AS composite;

CREATE TYPE libc_text AS (x int, y text COLLATE "C.utf8");
CREATE TABLE kinds (id int, j backwards, a int4[], aj backwards[], r int4range, p point3, q libc_text, u turned, um turned_mood, t text COLLATE "C.utf8", c text COLLATE "C", i text COLLATE "und-x-icu", n numeric, x xid8);
SET gpusort.mode = force;
SELECT sort_key, taken, reason
FROM unnest('{id,j,a,aj,r,p,q,u,um,t,"array[t]",c,i,n,x,"id, j","t COLLATE \"C\"","c COLLATE \"C.utf8\"","ROW(id, n)","id DESC NULLS LAST, c USING <, n DESC"}'::text[]) AS key,
	gpusort_check('SELECT * FROM kinds ORDER BY ' || key);
SET gpusort.mode = auto;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM generate_series(1, 3000) AS g ORDER BY g LIMIT 3');
-- What OFFSET skips is sorted as well.
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM generate_series(1, 3000) AS g ORDER BY g LIMIT 3 OFFSET 4');
SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM generate_series(1, 3000) AS g ORDER BY g OFFSET 2 FETCH FIRST 1 ROW WITH TIES');
SET gpusort.mode = force;
SELECT sort_key, taken, reason FROM gpusort_check('SELECT n, row_number() OVER (ORDER BY x) FROM kinds');
-- A row for every sort of the query's plan; or one that there is none.
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
