--
-- Composite values in the order of record_image_ops, which is that of their columns' bytes: what REFRESH MATERIALIZED VIEW CONCURRENTLY sorts by.
--
SET timezone = 'UTC';
SET client_min_messages = warning;

-- A query with the columns id and r, in both directions, with NULLs first and last, and among other columns.
CREATE FUNCTION check_images(query text, taken boolean DEFAULT true) RETURNS text
LANGUAGE sql AS $$
	SELECT coalesce(string_agg(keys || ': ' || result, '; ') FILTER (WHERE result <> 'ok'), 'ok')
	FROM unnest('{r USING *<,r USING *> NULLS FIRST,"r USING *< NULLS FIRST, id","id % 3, r USING *> NULLS LAST, id DESC"}'::text[]) AS keys, check_sort(query, keys, taken) AS result
$$;
-- Values on the seams of a type, and as many alike, in a composite type that has lost a column.
CREATE FUNCTION check_images_of(type text, seams text[]) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('CREATE TYPE imaged AS (a %s, gone int, b int2)', type);
	ALTER TYPE imaged DROP ATTRIBUTE gone;
	CREATE TABLE images (id int, r imaged);
	EXECUTE format('INSERT INTO images SELECT i, CASE WHEN noise(i, 1) %% 9 <> 0 THEN ROW(CASE WHEN noise(i, 2) %% 7 <> 0 THEN ($1[1 + i %% cardinality($1)])::%s END, nullif(noise(i, 3) %% 3, 0))::imaged END
		FROM generate_series(1, 3 * cardinality($1)) AS i ORDER BY noise(i, 4)', CASE type WHEN 'regclass' THEN 'oid' ELSE type END) USING seams;
	result := check_images('SELECT * FROM images');
	DROP TABLE images;
	DROP TYPE imaged;
	RETURN result;
END $$;
CREATE TYPE image_hue AS ENUM ('red', 'green', 'blue');
ALTER TYPE image_hue ADD VALUE 'yellow' BEFORE 'green';
CREATE TYPE image_pair AS (n int, t text COLLATE "und-x-icu", b bool);
CREATE DOMAIN image_domain AS numeric;
-- Whatever is stored, however it is stored: types without an order too.
SELECT type, check_images_of(type, seams(type::regtype)) AS result
FROM unnest('{boolean,\"char\",int2,int4,int8,oid,regclass,xid8,tid,pg_lsn,float4,float8,money,date,time,timetz,timestamp,timestamptz,interval,uuid,macaddr,macaddr8,
	text,char,name,bytea,varbit,numeric,inet,oidvector,jsonb,tsvector,image_hue,int4[],numeric[],text[],numrange,int4multirange,image_pair,image_pair[]}'::text[]) AS type;
SELECT type, check_images_of(type, seams) AS result
FROM (VALUES ('point', '{"(0,0)","(-0,0)","(1,-1)","(-1,NaN)","(Infinity,1e-300)"}'::text[]), ('box', '{"(1,1),(0,0)","(1,-1),(0,-2)"}'), ('json', '{"{}","{ }","[1]",null}'), ('xid', '{0,1,256,4294967295}'),
	('polygon', '{"((0,0),(1,1))","((0,0),(1,1),(2,0))","((-1,0))"}'), ('image_domain', '{1,1.0,1.00,-1,NaN}'), ('text COLLATE "und-x-icu"', '{a,A,ä,á,"",aa}')) AS t (type, seams);
-- Text whose order would have to be verified has bytes too, and no columns are none.
CREATE TYPE no_images AS ();
CREATE TABLE images AS SELECT i AS id, CASE WHEN i % 3 > 0 THEN ROW()::no_images END AS r FROM generate_series(1, 50) AS i;
SELECT check_images('SELECT * FROM images') AS of_no_columns;
DROP TABLE images;

-- Strings with zero bytes that begin with each other, short and long, compressed and out of line.
CREATE TYPE image_bytes AS (b bytea, t text, n int);
CREATE TABLE images AS SELECT i AS id, ROW(CASE WHEN i % 11 > 0 THEN decode(repeat('00', i % 4) || left('01ff0000ff', i % 6 * 2), 'hex') END,
	CASE i % 4 WHEN 1 THEN repeat('c', 20000) || i % 13 WHEN 2 THEN (SELECT string_agg(md5((i % 5 + j)::text), '') FROM generate_series(1, 150) AS j) WHEN 3 THEN 'c' END, noise(i) % 3)::image_bytes AS r FROM generate_series(1, 600) AS i;
SELECT check_images('SELECT * FROM images') AS of_all_lengths;
DROP TABLE images;

-- Whole rows: of a table that has lost a column and got two, one of them with a value for the rows from before; through runs in temporary files; the first of them.
CREATE TABLE images (id int, gone text, a int2, b float8, c text COLLATE "und-x-icu", d image_hue, e image_pair);
INSERT INTO images SELECT i, 'gone', noise(i) % 3, noise(i, 1) % 3, CASE WHEN noise(i, 2) % 4 > 0 THEN 'text ' || noise(i, 3) % 9 END, 'red', CASE WHEN i % 5 = 0 THEN ROW(i % 3, NULL, i % 2 = 0)::image_pair END FROM generate_series(1, 3000) AS i;
ALTER TABLE images DROP gone, ADD f numeric DEFAULT 1.5, ADD g int4[];
INSERT INTO images SELECT i, noise(i) % 3, -noise(i, 1) % 3, NULL, 'yellow', NULL, nullif(noise(i, 2) % 3, 0), CASE WHEN i % 3 > 0 THEN ARRAY[i % 2, NULL] END FROM generate_series(3001, 6000) AS i;
SELECT check_images('SELECT id, s AS r FROM images s') AS whole_rows, check_images('SELECT i.id, s AS r FROM images i, LATERAL (SELECT a, b, c, d, e, f, g FROM images j WHERE j.id = i.id OFFSET 0) s WHERE i.id < 50', taken => false) AS without_a_type;
CREATE VIEW image_rows AS SELECT a, b, c, d, e, f, g FROM images;
CREATE TABLE stored_images AS SELECT id, ROW(a, b, c, d, e, f, g)::image_rows AS r FROM images;
ANALYZE stored_images;
SELECT check_images('SELECT * FROM stored_images') AS stored;
SET gpusort.work_mem = '512kB';
SELECT check_images('SELECT * FROM stored_images') AS spilled;
RESET gpusort.work_mem;
SELECT check_query('SELECT id, r FROM stored_images ORDER BY r USING *>, id LIMIT 100 OFFSET 20') AS bounded;
SELECT check_query('SELECT DISTINCT ON (r) id, r FROM stored_images ORDER BY r USING *<, id DESC') AS first_of_groups;
SET gpusort.mode = force;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT check_query('SELECT x.id, y.id FROM images x JOIN images y ON x *= y ORDER BY 1, 2') AS merge_join, nodes('SELECT x.id, y.id FROM images x JOIN images y ON x *= y', 'GpuSort') AS sorts;
RESET enable_hashjoin;
RESET enable_nestloop;
RESET gpusort.mode;

-- An index, and columns after it; an operator class of a user's own that compares in this way, in arrays and composite types as well.
CREATE TABLE indexed_images AS SELECT * FROM stored_images;
SET gpusort.mode = off;
CREATE TEMP TABLE by_postgres AS SELECT array_agg(id) AS ids FROM (SELECT id FROM indexed_images ORDER BY r USING *>, id) s;
SET gpusort.mode = force;
SELECT taken FROM gpusort_check('CREATE INDEX image_index ON indexed_images (r record_image_ops DESC, id)');
CREATE INDEX image_index ON indexed_images (r record_image_ops DESC, id);
SET gpusort.mode = off;
SET enable_seqscan = off;
SET enable_sort = off;
SELECT plan_contains('SELECT id FROM indexed_images ORDER BY r USING *>, id', 'using image_index') AS index_scan,
	(SELECT array_agg(id) FROM (SELECT id FROM indexed_images ORDER BY r USING *>, id) s) = (SELECT ids FROM by_postgres) AS same_order;
RESET enable_seqscan;
RESET enable_sort;
RESET gpusort.mode;
CREATE FUNCTION pair_lt(image_pair, image_pair) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'record_image_lt';
CREATE FUNCTION pair_eq(image_pair, image_pair) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'record_image_eq';
CREATE FUNCTION pair_gt(image_pair, image_pair) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'record_image_gt';
CREATE FUNCTION pair_cmp(image_pair, image_pair) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'btrecordimagecmp';
CREATE OPERATOR <<< (FUNCTION = pair_lt, LEFTARG = image_pair, RIGHTARG = image_pair);
CREATE OPERATOR === (FUNCTION = pair_eq, LEFTARG = image_pair, RIGHTARG = image_pair);
CREATE OPERATOR >>> (FUNCTION = pair_gt, LEFTARG = image_pair, RIGHTARG = image_pair);
CREATE OPERATOR CLASS pair_ops DEFAULT FOR TYPE image_pair USING btree AS OPERATOR 1 <<<, OPERATOR 3 ===, OPERATOR 5 >>>, FUNCTION 1 pair_cmp(image_pair, image_pair);
CREATE TYPE holds_pair AS (p image_pair, n int);
SELECT key, check_options('SELECT id, e, ARRAY[e] AS es, ROW(e, a)::holds_pair AS h FROM images', key) AS result FROM unnest('{e,es,h}'::text[]) AS key;

-- REFRESH: duplicates are the same error, and afterwards there is the same, of rows that are new, gone and changed, with NULLs and without.
CREATE TABLE view_base AS SELECT * FROM images;
CREATE MATERIALIZED VIEW image_view AS SELECT * FROM view_base;
CREATE UNIQUE INDEX ON image_view (id);
CREATE FUNCTION refresh_view(mode text) RETURNS TABLE (result text, digest text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('gpusort.mode', mode, true);
	BEGIN
		REFRESH MATERIALIZED VIEW CONCURRENTLY image_view;
		result := 'refreshed';
	EXCEPTION WHEN cardinality_violation THEN
		GET STACKED DIAGNOSTICS result = PG_EXCEPTION_DETAIL;
	END;
	PERFORM set_config('gpusort.mode', 'off', true);
	digest := (SELECT count(*) || md5(string_agg(v::text, '' ORDER BY v::text COLLATE "C")) FROM image_view v);
	RETURN NEXT;
END $$;
-- Goes back to before, so that the second one has the same to do.
CREATE FUNCTION check_refresh() RETURNS TABLE (same boolean, as_base boolean, result text, rows_sorted boolean) LANGUAGE plpgsql AS $$
DECLARE
	expected record;
	actual record;
	before numeric := (SELECT sum(s.rows) FROM pg_stat_gpusort s);
BEGIN
	BEGIN
		SELECT * INTO expected FROM refresh_view('off');
		RAISE EXCEPTION 'goes back';
	EXCEPTION WHEN raise_exception THEN
	END;
	SELECT * INTO actual FROM refresh_view('force');
	same := actual = expected;
	as_base := actual.digest = (SELECT count(*) || md5(string_agg(v::text, '' ORDER BY v::text COLLATE "C")) FROM view_base v);
	result := actual.result;
	rows_sorted := (SELECT sum(s.rows) FROM pg_stat_gpusort s) - before > 5000;
	RETURN NEXT;
END $$;
UPDATE view_base SET g = ARRAY[1] WHERE g IS NULL;
UPDATE view_base SET e = ROW(1, 'e', false) WHERE id > 200;
UPDATE view_base SET c = 'c' WHERE id > 200;
SELECT * FROM check_refresh();
UPDATE view_base SET b = -b WHERE id % 5 = 0;
UPDATE view_base SET f = f + 0.00 WHERE id % 5 = 1;
UPDATE view_base SET e = NULL WHERE id % 5 = 2;
DELETE FROM view_base WHERE id % 97 = 0;
INSERT INTO view_base (id, c, f) SELECT i, 'new', 1.50 FROM generate_series(7001, 7100) AS i;
SELECT * FROM check_refresh();
INSERT INTO view_base SELECT * FROM view_base WHERE id = 3001 OR id = 3002;
SELECT * FROM check_refresh();

DROP TABLE images, stored_images, indexed_images, view_base CASCADE;
