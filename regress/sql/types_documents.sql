--
-- Documents and what is searched in text: jsonb, tsvector; and the types of extensions, known by the functions that compare them.
-- The strings of jsonb are in the order of the database's collation, on the throwaway cluster C.UTF-8; 020_default_collations has others.
--
SET timezone = 'UTC';
SET client_min_messages = warning;

CREATE TYPE document AS (a int, j jsonb, v tsvector);
CREATE TYPE vector_range AS RANGE (subtype = tsvector);
CREATE DOMAIN titled AS jsonb CHECK (VALUE IS NULL OR VALUE::text <> 'title');
SELECT type, check_seams(type) AS result FROM unnest('{jsonb,tsvector,titled,jsonb[],tsvector[],document,document[],vector_range}'::text[]) AS type;

-- What PostgreSQL has for historical reasons: an empty array before any scalar, a scalar before an array of it.
SET gpusort.mode = force;
SELECT string_agg(j::text, ' < ') AS ordered FROM (SELECT j FROM unnest('{1,null,"[]","[null]","[1]","{}","[[]]","[[], 0]","\"b\"",true,"{\"a\": []}","[0, 0]","{\"b\": 1, \"aa\": 0}"}'::jsonb[]) AS j ORDER BY j) s;
RESET gpusort.mode;

-- Equal for PostgreSQL, but not the same bytes: the next column decides.
CREATE TABLE scales AS SELECT i AS id, noise(i) % 50 AS k, to_jsonb(round(((noise(i, 1) & 7) / 10.0)::numeric, (noise(i, 2) & 3)::int + 1)) AS j FROM generate_series(1, 3000) AS i;
SELECT check_sort('SELECT * FROM scales', 'j, k, id') AS scales, check_sort('SELECT * FROM scales', 'j DESC, k DESC') AS scales_descending, check_query('SELECT * FROM scales ORDER BY j, id LIMIT 20') AS few;

-- Compressed documents and ones out of line, with long beginnings that are the same; through temporary files.
CREATE TABLE documents AS SELECT i AS id, noise(i, 3) % 40 AS few,
	CASE WHEN i % 50 = 0 THEN jsonb_build_object('text', repeat('a b ', 3000) || noise(i) % 20) ELSE jsonb_build_object('number', noise(i) % 100 / 10.0, 'text', md5((noise(i, 1) % 100)::text), 'list', jsonb_build_array(i % 3, NULL)) END AS j,
	to_tsvector('simple', md5((noise(i) % 300)::text) || ' ' || repeat('word' || i % 3 || ' ', (noise(i, 1) & 15)::int)) AS v, ARRAY[to_jsonb(noise(i) % 10), to_jsonb((noise(i, 2) % 7)::text)] AS a
FROM generate_series(1, 6000) AS i;
ANALYZE documents;
CREATE FUNCTION check_documents(keys text, memory text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('gpusort.work_mem', memory, true);
	RETURN check_sort('SELECT * FROM documents', keys);
END $$;
SELECT keys, check_documents(keys, '64MB') AS in_memory, check_documents(keys, '512kB') AS in_files FROM unnest('{"j, id","few, j DESC","v DESC, id","few DESC, a, v, j NULLS FIRST"}'::text[]) AS keys;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT keys, check_documents(keys, '64MB') AS in_memory, check_documents(keys, '1MB') AS in_files FROM unnest('{"j, id","v DESC, id"}'::text[]) AS keys;
RESET max_parallel_workers_per_gather;

-- Builds of indexes.
CREATE EXTENSION amcheck;
CREATE FUNCTION check_build(definition text, workers text, memory text) RETURNS text LANGUAGE plpgsql SET gpusort.mode = force AS $$
DECLARE
	before bigint := (SELECT sum(index_builds) FROM pg_stat_gpusort);
BEGIN
	PERFORM set_config('max_parallel_maintenance_workers', workers, true), set_config('maintenance_work_mem', memory, true);
	EXECUTE 'CREATE INDEX documents_index ON documents ' || definition;
	PERFORM bt_index_parent_check('documents_index', true, true);
	DROP INDEX documents_index;
	RETURN CASE (SELECT sum(index_builds) FROM pg_stat_gpusort) - before WHEN 1 THEN 'ok' ELSE 'not by gpusort' END;
END $$;
ALTER TABLE documents SET (parallel_workers = 2);
SELECT definition, check_build(definition, '0', '64MB') AS alone, check_build(definition, '0', '1MB') AS alone_in_files, check_build(definition, '2', '64MB') AS together, check_build(definition, '2', '2MB') AS together_in_files
FROM unnest('{"(j)","(few, j DESC, id)","(a, v)"}'::text[]) AS definition;
DROP EXTENSION amcheck;
CREATE TABLE unique_scales (j jsonb);
INSERT INTO unique_scales SELECT to_jsonb(i) FROM generate_series(1, 2000) AS i UNION ALL VALUES ('7.0'::jsonb);
SET gpusort.mode = force;
\set VERBOSITY terse
CREATE UNIQUE INDEX ON unique_scales (j);
\set VERBOSITY default
RESET gpusort.mode;

-- Types that compare by a function of PostgreSQL's own, and are stored as what that is for.
CREATE TYPE like_text;
CREATE FUNCTION like_text_in(cstring) RETURNS like_text LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION like_text_out(like_text) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE FUNCTION like_text_send(like_text) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT AS 'textsend';
CREATE TYPE like_text (INPUT = like_text_in, OUTPUT = like_text_out, SEND = like_text_send, LIKE = text, COLLATABLE = true);
CREATE TYPE like_number;
CREATE FUNCTION like_number_in(cstring) RETURNS like_number LANGUAGE internal IMMUTABLE STRICT AS 'int8in';
CREATE FUNCTION like_number_out(like_number) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int8out';
CREATE FUNCTION like_number_send(like_number) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT AS 'int8send';
CREATE TYPE like_number (INPUT = like_number_in, OUTPUT = like_number_out, SEND = like_number_send, LIKE = int8);
DO $$
DECLARE
	t text;
	cmp text;
	functions text[];
BEGIN
	FOR t, cmp, functions IN VALUES ('like_text', 'bttextcmp', '{text_lt,texteq,text_gt}'::text[]), ('like_number', 'btint8cmp', '{int8lt,int8eq,int8gt}') LOOP
		EXECUTE format('CREATE FUNCTION %1$s_cmp(%1$s, %1$s) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS %2$L', t, cmp);
		FOR i IN 1 .. 3 LOOP
			EXECUTE format('CREATE FUNCTION %1$s_%3$s(%1$s, %1$s) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS %2$L', t, functions[i], i);
			EXECUTE format('CREATE OPERATOR %2$s (FUNCTION = %1$s_%3$s, LEFTARG = %1$s, RIGHTARG = %1$s)', t, ('{<,=,>}'::text[])[i], i);
		END LOOP;
		EXECUTE format('CREATE OPERATOR CLASS %1$s_ops DEFAULT FOR TYPE %1$s USING btree AS OPERATOR 1 <, OPERATOR 3 =, OPERATOR 5 >, FUNCTION 1 %1$s_cmp(%1$s, %1$s)', t);
	END LOOP;
END $$;
SELECT check_type('like_text', 'md5((n % 100)::text)', '{a,A,"",b,é}') AS like_text, check_type('like_text', 'md5((n % 100)::text)', '{a,A,"",b,é}', collation_name => 'und-x-icu') AS like_text_icu,
	check_type('like_number', 'n::text', '{-1,0,1,9223372036854775807}') AS like_number, check_type('like_number[]', 'ARRAY[n % 3, n]::text[]', '{"{-1,0}"}') AS like_numbers;

SELECT count(*) = 2 AS has_extensions FROM pg_available_extensions WHERE name IN ('citext', 'ltree') \gset
\if :has_extensions
\else
\echo skipped: the extensions citext and ltree are not installed
\quit
\endif
CREATE EXTENSION citext;
CREATE EXTENSION ltree;
CREATE TYPE located AS (p ltree, c citext);
SELECT type, check_seams(type) AS result FROM unnest('{citext,ltree,citext[],ltree[],located}'::text[]) AS type;
SELECT collation_name, check_seams('citext', collation_name) AS result FROM unnest('{C,und-x-icu}'::text[]) AS collation_name;
-- Equal in both cases: the next column decides.
CREATE TABLE cased AS SELECT i AS id, noise(i, 2) % 1000 AS k, (CASE WHEN noise(i) % 2 = 0 THEN upper('Ärger' || (noise(i, 1) & 63)) ELSE 'ärger' || (noise(i, 1) & 63) END)::citext AS c FROM generate_series(1, 5000) AS i;
SELECT keys, check_sort('SELECT * FROM cased', keys) AS result FROM unnest('{"c, k, id","c COLLATE \"C\" DESC, k DESC","c COLLATE \"und-x-icu\", k"}'::text[]) AS keys;
CREATE EXTENSION amcheck;
CREATE INDEX cased_index ON cased (c, id);
SELECT bt_index_parent_check('cased_index', true, true) AS cased_index;
DROP EXTENSION amcheck;
