--
-- Types, operators, functions and settings that are changed between the start of a query and its first row: what PostgreSQL makes of it, its rows or its error.
--
-- What a cursor's query returns that has begun, and returned so many rows, when these commands are executed; they are undone afterwards.
CREATE FUNCTION ids_after(query text, changes text, fetched int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	r int;
	ids text := '';
	n int := 0;
BEGIN
	OPEN c FOR EXECUTE query;
	LOOP
		IF n = fetched THEN
			EXECUTE changes;
		END IF;
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		ids := ids || r || ' ';
		n := n + 1;
	END LOOP;
	RAISE EXCEPTION USING MESSAGE = ids, ERRCODE = 'UNDO1';
EXCEPTION
	WHEN SQLSTATE 'UNDO1' THEN
		RETURN n || ' rows ' || md5(sqlerrm);
	WHEN OTHERS THEN
		RETURN regexp_replace(sqlerrm, '(cache lookup failed|operator) .*', '\1');
END $$;
-- The same with gpusort off and forced.
CREATE FUNCTION check_change(query text, changes text, fetched int DEFAULT 0) RETURNS text LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	off text := ids_after(query, changes, fetched);
	forced text;
BEGIN
	PERFORM set_config('gpusort.mode', 'force', true);
	IF NOT uses_gpusort('DECLARE c CURSOR FOR ' || query) THEN
		RETURN 'not taken';
	END IF;
	forced := ids_after(query, changes, fetched);
	RETURN CASE WHEN off <> forced THEN format('off: %s, forced: %s', off, forced) WHEN off ~ ' rows |^row type of datum tuple was altered' THEN 'ok' ELSE off END;
END $$;

SET client_min_messages = warning;
CREATE TYPE pair AS (a int, b text COLLATE "C");
CREATE TYPE outer_pair AS (p pair, i int);
CREATE DOMAIN pair_domain AS pair;
CREATE TYPE pair_range AS RANGE (subtype = pair);
CREATE TABLE pair_row (a int, b text COLLATE "C");
CREATE TYPE colour AS ENUM ('red', 'green', 'blue');
CREATE TYPE with_colour AS (c colour, i int);
CREATE FUNCTION make_colour(label text) RETURNS colour LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN label; END';
CREATE FUNCTION is_wanted(i int) RETURNS boolean LANGUAGE plpgsql STRICT PARALLEL SAFE AS 'BEGIN RETURN true; END';
CREATE TABLE stored AS
SELECT i AS id, s.p, ROW(s.p, i % 3)::outer_pair AS o, ARRAY[s.p, (i, i % 7)::pair] AS ps, s.p::pair_domain AS d, ROW((s.p).a, (s.p).b)::pair_row AS r, c, ROW(c, i)::with_colour AS wc, nullif(i, 77) AS k, label
FROM (SELECT i, (i * 37 % 11, i * 7919 % 1000)::pair AS p, (ARRAY['red', 'blue', 'green'])[1 + i % 3]::colour AS c, (ARRAY['red', 'blue', 'green'])[1 + i % 3] AS label FROM generate_series(1, 1000) AS i) s;
ANALYZE stored;
-- Of a type that no table has even the types of attributes can be changed.
CREATE TYPE made AS (a int, b text COLLATE "C");
CREATE FUNCTION make(i int) RETURNS made LANGUAGE plpgsql PARALLEL SAFE AS 'DECLARE m made; BEGIN m.a := i % 10; m.b := i * 7919 % 1000; RETURN m; END';
-- One that compares as int4 does, until its function is another one.
CREATE TYPE count_of;
CREATE FUNCTION count_in(cstring) RETURNS count_of LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION count_out(count_of) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE count_of (INPUT = count_in, OUTPUT = count_out, LIKE = int4);
CREATE CAST (int AS count_of) WITHOUT FUNCTION;
CREATE CAST (count_of AS int) WITHOUT FUNCTION;
CREATE FUNCTION count_lt(count_of, count_of) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4lt';
CREATE FUNCTION count_gt(count_of, count_of) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4gt';
CREATE FUNCTION count_cmp(count_of, count_of) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'btint4cmp';
CREATE OPERATOR < (LEFTARG = count_of, RIGHTARG = count_of, FUNCTION = count_lt);
CREATE OPERATOR > (LEFTARG = count_of, RIGHTARG = count_of, FUNCTION = count_gt);
CREATE FUNCTION count_eq(count_of, count_of) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE OPERATOR = (LEFTARG = count_of, RIGHTARG = count_of, FUNCTION = count_eq);
CREATE OPERATOR CLASS count_ops DEFAULT FOR TYPE count_of USING btree AS OPERATOR 1 <, OPERATOR 3 =, OPERATOR 5 >, FUNCTION 1 count_cmp(count_of, count_of);
-- An order of one enum's own: by the labels.
CREATE FUNCTION label_cmp(colour, colour) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT bttextcmp($1::text COLLATE "C", $2::text COLLATE "C") $$;
CREATE FUNCTION label_lt(colour, colour) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT label_cmp($1, $2) < 0 $$;
CREATE OPERATOR <<< (LEFTARG = colour, RIGHTARG = colour, FUNCTION = label_lt);
CREATE COLLATION some_collation (provider = icu, locale = 'de');

-- A text of ROW that is read as an int has bytes enough for one: what is behind it in memory is nobody's.
CREATE TABLE changes (n int GENERATED ALWAYS AS IDENTITY, query text, change text, fetched int DEFAULT 0);
INSERT INTO changes (query, change) VALUES
	('SELECT id FROM stored ORDER BY make(id), id', 'ALTER TYPE made ALTER ATTRIBUTE b TYPE int'),
	('SELECT id FROM stored ORDER BY make(id) DESC, id', 'ALTER TYPE made DROP ATTRIBUTE a'),
	('SELECT id FROM stored ORDER BY ARRAY[make(id), make(id / 2)], id', 'ALTER TYPE made ALTER ATTRIBUTE a TYPE bigint, ALTER ATTRIBUTE b TYPE int'),
	('SELECT id FROM stored ORDER BY ROW(id % 10, (id % 7) || '' of 7'')::made, id', 'ALTER TYPE made ALTER ATTRIBUTE b TYPE int'),
	('SELECT id FROM stored ORDER BY p, id', 'ALTER TYPE pair DROP ATTRIBUTE a'),
	('SELECT id FROM stored ORDER BY p DESC, id', 'ALTER TYPE pair ADD ATTRIBUTE c int'),
	('SELECT id FROM stored ORDER BY p, id', 'ALTER TYPE pair DROP ATTRIBUTE b, ADD ATTRIBUTE b bigint'),
	('SELECT id FROM stored ORDER BY p, id', 'ALTER TYPE pair DROP ATTRIBUTE a, DROP ATTRIBUTE b'),
	('SELECT id FROM stored ORDER BY p, id', 'ALTER TYPE pair ADD ATTRIBUTE c json'),
	('SELECT id FROM stored ORDER BY p USING *<, id', 'ALTER TYPE pair ADD ATTRIBUTE c json'),
	('SELECT id FROM stored ORDER BY p USING *>, id', 'ALTER TYPE pair DROP ATTRIBUTE a'),
	('SELECT id FROM stored ORDER BY jsonb_populate_record(NULL::pair, jsonb_build_object(''a'', id % 3, ''c'', id)), id', 'ALTER TYPE pair ADD ATTRIBUTE c json'),
	('SELECT id FROM stored ORDER BY jsonb_populate_record(NULL::pair, jsonb_build_object(''a'', id % 3, ''c'', label)), id', 'ALTER TYPE pair ADD ATTRIBUTE c colour'),
	('SELECT id FROM stored ORDER BY (id % 3, '''')::pair, id', 'ALTER TYPE pair ADD ATTRIBUTE c colour'),
	('SELECT id FROM stored ORDER BY p, id', 'ALTER TYPE pair ADD ATTRIBUTE c colour'),
	('SELECT id FROM stored ORDER BY o, id', 'ALTER TYPE pair DROP ATTRIBUTE a'),
	('SELECT id FROM stored ORDER BY ps, id', 'ALTER TYPE pair DROP ATTRIBUTE a'),
	('SELECT id FROM stored ORDER BY d, id', 'ALTER TYPE pair DROP ATTRIBUTE a'),
	('SELECT id FROM stored ORDER BY pair_range(p, (11, '''')::pair), id', 'ALTER TYPE pair DROP ATTRIBUTE b'),
	('SELECT id FROM stored ORDER BY r, id', 'ALTER TABLE pair_row DROP COLUMN a'),
	('SELECT id FROM stored ORDER BY r, id', 'ALTER TABLE pair_row ADD COLUMN c int'),
	('SELECT id FROM stored ORDER BY r, id', 'ANALYZE pair_row'),
	('SELECT id FROM stored ORDER BY stored, id', 'ALTER TABLE stored DROP COLUMN p'),
	('SELECT id FROM stored ORDER BY p, id', 'ALTER TYPE pair RENAME ATTRIBUTE a TO b2'),
	('SELECT id FROM stored ORDER BY make(id), id', 'DROP TYPE made CASCADE'),
	('SELECT id FROM stored ORDER BY d, id', 'ALTER DOMAIN pair_domain ADD CHECK ((VALUE).a < 100); ALTER DOMAIN pair_domain SET NOT NULL'),
	('SELECT id FROM stored ORDER BY c, id', 'CREATE OPERATOR CLASS label_ops DEFAULT FOR TYPE colour USING btree AS OPERATOR 1 <<<, FUNCTION 1 label_cmp(colour, colour)'),
	('SELECT id FROM stored ORDER BY wc, id', 'CREATE OPERATOR CLASS label_ops DEFAULT FOR TYPE colour USING btree AS OPERATOR 1 <<<, FUNCTION 1 label_cmp(colour, colour)'),
	('SELECT id FROM stored ORDER BY ARRAY[c] DESC, id DESC', 'CREATE OPERATOR CLASS label_ops DEFAULT FOR TYPE colour USING btree AS OPERATOR 1 <<<, FUNCTION 1 label_cmp(colour, colour)'),
	('SELECT id FROM stored ORDER BY c, id', 'ALTER TYPE colour ADD VALUE ''first'' BEFORE ''red'''),
	('SELECT id FROM stored ORDER BY make_colour(CASE WHEN id % 3 = 0 THEN ''first'' ELSE label END), id', 'ALTER TYPE colour ADD VALUE ''first'' BEFORE ''red'''),
	('SELECT id FROM stored ORDER BY c, id', 'ALTER TYPE colour RENAME VALUE ''red'' TO ''scarlet'''),
	('SELECT id FROM stored ORDER BY (id % 100)::count_of DESC, id', 'CREATE OR REPLACE FUNCTION count_cmp(count_of, count_of) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS ''SELECT btint4cmp($2::int, $1::int)'''),
	('SELECT id FROM stored ORDER BY ARRAY[(id % 100)::count_of], id', 'CREATE OR REPLACE FUNCTION count_cmp(count_of, count_of) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS ''SELECT btint4cmp($2::int, $1::int)'''),
	('SELECT id FROM stored ORDER BY (id % 100)::count_of, id', 'DROP OPERATOR CLASS count_ops USING btree; DROP OPERATOR FAMILY count_ops USING btree'),
	('SELECT id FROM stored ORDER BY label COLLATE some_collation, id', 'ALTER COLLATION some_collation REFRESH VERSION; ALTER COLLATION some_collation RENAME TO another'),
	('SELECT k FROM stored WHERE is_wanted(k) ORDER BY k', 'CREATE OR REPLACE FUNCTION is_wanted(i int) RETURNS boolean LANGUAGE plpgsql CALLED ON NULL INPUT PARALLEL SAFE AS ''BEGIN RETURN true; END'''),
	('SELECT id FROM stored ORDER BY k, id', 'ALTER TABLE stored ALTER k SET NOT NULL'),
	('SELECT id FROM stored ORDER BY p, id', 'SET LOCAL gpusort.work_mem = ''64kB'''),
	('SELECT id FROM stored ORDER BY p, label, id', 'SET LOCAL gpusort.work_mem = ''256kB''; SET LOCAL gpusort.backend = cpu; SET LOCAL gpusort.mode = off'),
	('SELECT id FROM stored ORDER BY p, id', 'SET LOCAL max_parallel_workers = 0; SET LOCAL default_text_search_config = ''pg_catalog.german'''),
	('SELECT id FROM stored ORDER BY p, id', 'SELECT');
-- The first sort is over when the type is altered; the ones that come after it are not.
INSERT INTO changes (query, change, fetched)
SELECT 'SELECT s.id FROM generate_series(0, 2) AS g, LATERAL (SELECT id FROM stored WHERE id % 3 = g ORDER BY p, id OFFSET 0) s', change, 1
FROM unnest(ARRAY['ALTER TYPE pair DROP ATTRIBUTE a', 'ALTER TYPE pair ADD ATTRIBUTE c json', 'ANALYZE pair_row']) AS change;

SELECT change, query, check_change(query, change, fetched) AS result FROM changes ORDER BY n;
-- By several processes.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE stored SET (parallel_workers = 2);
SELECT change, query, check_change(query, change, fetched) AS result FROM changes ORDER BY n;
RESET max_parallel_workers_per_gather;

-- Plans that are kept.
SET plan_cache_mode = force_generic_plan;
SET gpusort.mode = force;
PREPARE ids AS SELECT string_agg(id::text, ' ') AS ids, string_agg(id::text, ' ') = (SELECT string_agg(id::text, ' ' ORDER BY p, id) FROM stored WHERE id < 12) AS right FROM (SELECT id FROM stored WHERE id < 12 ORDER BY p, id OFFSET 0) s;
EXECUTE ids;
ALTER TYPE pair DROP ATTRIBUTE a;
EXECUTE ids;
ALTER TYPE pair ADD ATTRIBUTE c colour;
EXECUTE ids;
CREATE OPERATOR CLASS label_ops DEFAULT FOR TYPE colour USING btree AS OPERATOR 1 <<<, FUNCTION 1 label_cmp(colour, colour);
EXECUTE ids;
UPDATE stored SET p.b = '', p.c = c WHERE id < 12;
EXECUTE ids;
DEALLOCATE ids;

DROP TABLE stored, changes, pair_row CASCADE;
DROP TYPE pair, outer_pair, with_colour, colour, made, count_of CASCADE;
DROP FUNCTION ids_after, check_change, is_wanted;
DROP COLLATION some_collation;
