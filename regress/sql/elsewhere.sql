--
-- What sorts elsewhere, on GPUs and in other extensions, have got wrong: one test of each.  006_cuda_device runs them on its device.
--
SET timezone = 'UTC';
SET client_min_messages = warning;

-- ---- DESC, NULLS FIRST and NULLS LAST, top-k, LIMIT and OFFSET beyond the end: of every type ----

-- Sorts by the one key alone, in all four orders, with limits and offsets within the rows, at their end and beyond it.  A row that comes at
-- a place must have the rank that this place has in PostgreSQL's order, and come once.  In the quick run two of the four orders, in turn.
CREATE SEQUENCE checks_of_tops;
CREATE FUNCTION check_tops(source text, key text) RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	number bigint := nextval('checks_of_tops');
	orders text[] := ARRAY['ASC NULLS LAST', 'ASC NULLS FIRST', 'DESC NULLS LAST', 'DESC NULLS FIRST'];
	options text;
	bounds bigint[];
	query text;
	ids int[];
	n bigint;
BEGIN
	IF NOT whole_run() THEN
		orders := CASE WHEN number % 2 = 0 THEN orders[2:3] ELSE orders[1:1] || orders[4:4] END;
	END IF;
	FOREACH options IN ARRAY orders LOOP
		DROP TABLE IF EXISTS ranked;
		EXECUTE format('CREATE TEMP TABLE ranked AS SELECT id, rank() OVER w, row_number() OVER w AS place FROM %s WINDOW w AS (ORDER BY %s %s)', source, key, options);
		n := (SELECT count(*) FROM ranked);
		FOREACH bounds SLICE 1 IN ARRAY ARRAY[[1, 0], [n / 3, n / 5], [n + 1000, 1], [10, n - 3], [10, n + 7], [0, 3], [9223372036854775807, n / 2]] LOOP
			query := format('SELECT id FROM %s ORDER BY %s %s LIMIT %s OFFSET %s', source, key, options, bounds[1], bounds[2]);
			PERFORM set_config('gpusort.mode', 'force', true);
			IF NOT uses_gpusort(query) THEN
				RETURN 'not taken: ' || query;
			END IF;
			EXECUTE format('SELECT coalesce(array_agg(id), ''{}'') FROM (%s) s', query) INTO ids;
			PERFORM set_config('gpusort.mode', 'off', true);
			IF (SELECT count(DISTINCT id) FROM unnest(ids) AS id) <> greatest(0, least(bounds[1], n - bounds[2])) OR
				(SELECT array_agg(rank ORDER BY o) FROM unnest(ids) WITH ORDINALITY AS i (id, o) LEFT JOIN ranked USING (id)) IS DISTINCT FROM
				(SELECT array_agg(rank ORDER BY place) FROM ranked WHERE place > bounds[2] AND place - bounds[2] <= bounds[1]) THEN
				RETURN 'wrong rows: ' || query;
			END IF;
		END LOOP;
	END LOOP;
	RETURN 'ok';
END $$;
-- Values on the seams of the type's encoding, some several times, one in seven NULL.
CREATE FUNCTION check_tops_of(type regtype, collation_name text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS top_values;
	EXECUTE format('CREATE TEMP TABLE top_values AS SELECT i AS id, CASE WHEN noise(i, 1) %% 7 <> 0 THEN (s[1 + abs(noise(i, 5)) %% cardinality(s)])::%s::%s END AS v
		FROM seams(%L) AS s, generate_series(1, least(3 * cardinality(s), 400)) AS i ORDER BY noise(i, 4)', CASE type WHEN 'regclass'::regtype THEN 'oid' ELSE 'text' END, type, type);
	RETURN check_tops('top_values', 'v' || coalesce(' COLLATE ' || quote_ident(collation_name), ''));
END $$;
SELECT count(*) > 35 AS many, string_agg(type || ': ' || result, '; ') FILTER (WHERE result <> 'ok') AS wrong
FROM (SELECT oid::regtype AS type, check_tops_of(oid) AS result FROM pg_type WHERE typcollation = 0 AND typcategory <> 'A' AND typtype <> 'c' AND typnamespace = 'pg_catalog'::regnamespace AND seams(oid) IS NOT NULL ORDER BY oid) t;
SELECT type, collation_name, check_tops_of(type, collation_name) AS result
FROM unnest('{text,varchar,bpchar,name}'::regtype[]) AS type, unnest('{C,und-x-icu}'::text[]) AS collation_name;
-- Many rows: a bound far within values that are all alike, and one of values that hardly are.
CREATE TABLE some_rows AS SELECT i::int AS id, CASE WHEN i % 50 > 0 THEN noise(i) % 3 > 0 END AS b, CASE WHEN i % 50 > 0 THEN (noise(i, 1) % 1000000007)::numeric / 1000 END AS n,
	CASE WHEN i % 50 > 0 THEN noise(i, 1) % 5 / 2.0 END AS few, noise(i, 2) AS k, md5(i::text) COLLATE "C" AS t
FROM generate_series(1, 6000) AS i;
ANALYZE some_rows;
SELECT check_tops('some_rows', 'b') AS bool, check_tops('some_rows', 'n') AS numeric, check_tops('some_rows', 'few') AS few_numerics, check_tops('some_rows', 'b, n') AS both, check_tops('some_rows', 'id') AS in_order;

-- ---- NaN ----

CREATE TABLE nans AS SELECT i AS id, v::float4 AS f4, v::float8 AS f8, v::numeric AS n
FROM generate_series(1, 1500) AS i, LATERAL (SELECT (ARRAY['NaN', 'Infinity', '-Infinity', '0', '-0', '1', '-1', NULL])[1 + (noise(i) & 7)] AS v) s;
ANALYZE nans;
SET enable_hashagg = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT f, check_sort('SELECT * FROM nans', f) AS sorted, check_sort('SELECT * FROM nans', f || ' DESC, id') AS descending,
	check_query(format('SELECT id, rank() OVER (ORDER BY %1$s), count(*) OVER (PARTITION BY %1$s) FROM nans ORDER BY id', f)) AS windows,
	check_query(format('SELECT count(*), min(id) FROM nans GROUP BY %s ORDER BY 2', f)) AS grouped,
	check_query(format('SELECT count(*) FROM (SELECT DISTINCT %s FROM nans) s', f)) AS "distinct",
	check_query(format('SELECT a.id, b.id FROM nans a FULL JOIN (SELECT * FROM nans WHERE id < 40) b ON a.%1$s = b.%1$s WHERE a.id < 300 OR a.id IS NULL ORDER BY a.id, b.id', f)) AS joined
FROM unnest('{f4,f8,n}'::text[]) AS f;
RESET enable_hashagg;
RESET enable_hashjoin;
RESET enable_nestloop;

-- ---- toasted values: keys and other columns, out of line and compressed ----

CREATE TABLE toasted (id int, plain text COLLATE "C", external text COLLATE "C", compressed text, digits numeric, bytes bytea);
ALTER TABLE toasted ALTER plain SET STORAGE plain, ALTER external SET STORAGE external;
INSERT INTO toasted SELECT i, repeat('p', i % 90), repeat(md5((i % 40)::text), 80) || i % 7, repeat('c' || i % 3, 2500) || (noise(i) & 31), (10::numeric ^ 3000 + noise(i) % 100), decode(repeat(md5((i % 40)::text), 150), 'hex')
FROM generate_series(1, 350) AS i;
INSERT INTO toasted SELECT i FROM generate_series(351, 360) AS i;
ANALYZE toasted;
SELECT pg_column_size(external) > 2560 AS external, pg_column_size(compressed) < 2000 AS compressed, (SELECT pg_table_size(reltoastrelid) > 500000 FROM pg_class WHERE oid = 'toasted'::regclass) AS out_of_line
FROM toasted WHERE id = 1;
SELECT key, check_options('SELECT * FROM toasted', key) AS sorted, check_tops('toasted', key) AS first_ones, check_query(format('SELECT id, rank() OVER (ORDER BY %s) FROM toasted ORDER BY id', key)) AS windows
FROM unnest('{external,"compressed COLLATE \"C\"","compressed COLLATE \"und-x-icu\"",digits,bytes,plain}'::text[]) AS key;
-- What is returned can be read when the rows it came from are gone.
SET gpusort.mode = force;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT id, length(external), external = repeat(md5((id % 40)::text), 80) || id % 7 AS same FROM (SELECT * FROM toasted ORDER BY compressed COLLATE "C", id OFFSET 0) s WHERE id % 170 = 1;
DELETE FROM toasted WHERE id % 170 = 1;
COMMIT;
FETCH ALL FROM held;
CLOSE held;
RESET gpusort.mode;

-- ---- results that are returned in several batches ----

CREATE TABLE batches AS SELECT i AS id, noise(i) AS k, md5(i::text) COLLATE "C" AS t, repeat(chr(97 + (i % 26)::int), 300 + (noise(i, 1) & 1023)::int) AS filler FROM generate_series(1, 40000) AS i;
ANALYZE batches;
CREATE FUNCTION digest(query text, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('gpusort.mode', mode, true);
	IF uses_gpusort(query) <> (mode = 'force') THEN
		RETURN mode || ': wrong plan';
	END IF;
	EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(record_send(s), '''')) FROM (%s) s', query) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION check_digest(query text) RETURNS text LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	off text := digest(query, 'off');
BEGIN
	RETURN CASE WHEN digest(query, 'force') = off THEN 'ok: ' || split_part(off, ' ', 1) || ' rows' ELSE 'differ' END;
END $$;
SELECT check_digest('SELECT * FROM batches ORDER BY k') AS fixed, check_digest('SELECT * FROM batches ORDER BY t DESC') AS variable,
	check_digest('SELECT id, k FROM batches ORDER BY k DESC') AS narrow, check_digest('SELECT k FROM batches ORDER BY k') AS key_alone,
	check_digest('SELECT * FROM batches ORDER BY k LIMIT 39999 OFFSET 1') AS limited;
-- Two of them, read in turns, each some rows at a time.
CREATE FUNCTION in_turns(mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a refcursor;
	b refcursor;
	r record;
	s record;
	seen text := '';
BEGIN
	PERFORM set_config('gpusort.mode', mode, true);
	OPEN a SCROLL FOR EXECUTE 'SELECT id, filler FROM batches ORDER BY k';
	OPEN b SCROLL FOR EXECUTE 'SELECT id, filler FROM batches ORDER BY t';
	FOR i IN 1 .. 300 LOOP
		FETCH RELATIVE 1 + (noise(i) & 255) FROM a INTO r;
		FETCH RELATIVE 1 + (noise(i, 1) & 255) - (noise(i, 2) & 127) FROM b INTO s;
		seen := seen || ' ' || coalesce(r::text, '-') || coalesce(s::text, '-');
	END LOOP;
	RETURN md5(seen) || length(seen);
END $$;
SELECT in_turns('off') = in_turns('force') AS in_turns;
RESET gpusort.mode;

-- ---- ORDER BY twice in one query ----

SELECT check_digest('SELECT id FROM (SELECT * FROM some_rows ORDER BY k OFFSET 0) s ORDER BY t') AS other_order,
	check_digest('SELECT id FROM (SELECT * FROM some_rows ORDER BY k DESC OFFSET 0) s ORDER BY k') AS reversed,
	check_digest('SELECT id FROM (SELECT * FROM some_rows ORDER BY t LIMIT 4000) s ORDER BY k LIMIT 3000') AS limited,
	check_digest('SELECT id FROM some_rows ORDER BY k, k DESC, t, k') AS same_key,
	check_digest('(SELECT id, t FROM some_rows ORDER BY k) UNION ALL (SELECT id, t FROM some_rows ORDER BY t DESC)') AS one_after_the_other,
	check_digest('SELECT a.id, b.id FROM (SELECT id, row_number() OVER () AS n FROM (SELECT * FROM some_rows ORDER BY k OFFSET 0) s) a JOIN (SELECT id, row_number() OVER () AS n FROM (SELECT * FROM some_rows ORDER BY t OFFSET 0) s) b USING (n) ORDER BY n') AS side_by_side;
SELECT check_query('SELECT (SELECT id FROM some_rows ORDER BY k LIMIT 1), (SELECT id FROM some_rows ORDER BY k DESC LIMIT 1), (SELECT id FROM some_rows ORDER BY t OFFSET 777 LIMIT 1)') AS subqueries,
	check_query('SELECT o.id, s.id FROM (SELECT * FROM some_rows WHERE id < 40 ORDER BY k OFFSET 0) o, LATERAL (SELECT id FROM some_rows WHERE id % 40 = o.id ORDER BY t LIMIT 3) s') AS within_each_other;

-- ---- a sort of which nothing is read ----

SELECT check_query('SELECT * FROM some_rows ORDER BY k LIMIT 0') AS limit_0, check_query('SELECT * FROM some_rows ORDER BY t OFFSET 6000') AS offset_all,
	check_query('SELECT EXISTS (SELECT FROM some_rows ORDER BY k OFFSET 100)') AS only_whether,
	check_query('SELECT s.id FROM (SELECT * FROM some_rows WHERE id < 0) o, LATERAL (SELECT * FROM some_rows WHERE id > o.id ORDER BY k OFFSET 0) s') AS never_begun,
	check_query('SELECT * FROM (SELECT id FROM some_rows WHERE id < 0 ORDER BY id) o CROSS JOIN (SELECT id AS other FROM some_rows ORDER BY k OFFSET 0) s') AS no_partner,
	check_query('SELECT id FROM some_rows WHERE (SELECT false) ORDER BY k') AS one_time_filter;
SET gpusort.mode = force;
BEGIN;
DECLARE unread CURSOR FOR SELECT * FROM some_rows ORDER BY k;
DECLARE unread_too SCROLL CURSOR FOR SELECT id, row_number() OVER (ORDER BY t) FROM some_rows;
FETCH 0 FROM unread;
FETCH BACKWARD 1 FROM unread_too;
MOVE 1 IN unread;
CLOSE unread;
CLOSE unread_too;
SELECT count(*) AS sorting FROM pg_stat_progress_gpusort;
COMMIT;
BEGIN;
DECLARE begun CURSOR FOR SELECT id FROM batches ORDER BY k;
MOVE 1 IN begun;
ROLLBACK;
SELECT 1 / (id - id) FROM some_rows ORDER BY k;
RESET gpusort.mode;
-- And nothing of them is left; a device is told so at once, but not asked to wait.
DO $$ BEGIN
	FOR i IN 1 .. 500 LOOP
		EXIT WHEN NOT EXISTS (SELECT FROM gpusort_devices() WHERE jobs > 0);
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;
SELECT (SELECT count(*) FROM pg_stat_progress_gpusort) AS sorting, (SELECT coalesce(sum(jobs), 0) FROM gpusort_devices()) AS jobs, (SELECT count(*) FROM pg_ls_tmpdir()) AS files;

DROP TABLE top_values, ranked, some_rows, nans, toasted, batches;
DROP SEQUENCE checks_of_tops;
DROP FUNCTION check_tops, check_tops_of, digest(text, text), check_digest, in_turns;
