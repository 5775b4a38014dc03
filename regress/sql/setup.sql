--
-- What the other tests use: the extension in every session of this database, and the differential
-- check of one sort.
--
DO $$ BEGIN
	EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = gpusort', current_database());
	-- Serial plans, unless a test asks for others.
	EXECUTE format('ALTER DATABASE %I SET max_parallel_workers_per_gather = 0', current_database());
END $$;
-- A session that has it: CREATE EXTENSION has nothing to say of that.
\c -
CREATE EXTENSION gpusort;
SELECT setting IS NOT NULL AS preloaded, hint FROM gpusort_preloaded();

-- Is there a node of that name in the plan of the query?
CREATE FUNCTION plan_contains(query text, node text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF position(node IN line) > 0 THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;

CREATE FUNCTION uses_gpusort(query text) RETURNS boolean
LANGUAGE sql AS $$ SELECT plan_contains(query, 'Custom Scan (GpuSort') $$;

-- The mode that is compared with off; regress/random_sorts has others, too.
CREATE FUNCTION compared_mode() RETURNS text
LANGUAGE sql STABLE AS $$ SELECT coalesce(nullif(current_setting('regress.mode', true), ''), 'force') $$;

-- Compares the rows of two sorts of the same query: expected has each row's rank in PostgreSQL's own order,
-- actual its place in gpusort's, and both a hash of the row's bytes, as they are sent, which takes less than to write them as
-- text.  Rows of equal rank may come in any order.  Sums of hashes tell whether the rows are the same; which are not is
-- looked for only then.  The comparison itself is to be fast whatever the session's settings.  reversed: the order is PostgreSQL's
-- backwards.
CREATE FUNCTION compare_sorts(reversed boolean DEFAULT false) RETURNS text
LANGUAGE plpgsql SET enable_hashjoin = on AS $$
DECLARE
	missing bigint;
	added bigint;
	misplaced bigint;
BEGIN
	missing := 0;
	added := 0;
	IF (SELECT ROW(count(*), sum(hashtextextended(id::text, line))) FROM expected) <> (SELECT ROW(count(*), sum(hashtextextended(id::text, line))) FROM actual) THEN
		SELECT count(*) INTO missing FROM (SELECT id, line FROM expected EXCEPT ALL SELECT id, line FROM actual) d;
		SELECT count(*) INTO added FROM (SELECT id, line FROM actual EXCEPT ALL SELECT id, line FROM expected) d;
	END IF;
	SELECT count(*) INTO misplaced
	FROM (SELECT rank < lag(rank) OVER (ORDER BY place) AS wrong
		  FROM (SELECT place, CASE WHEN reversed THEN -rank ELSE rank END AS rank FROM actual JOIN expected USING (id)) r) d WHERE wrong;
	IF missing + added + misplaced > 0 THEN
		RETURN format('%s rows missing, %s rows added, %s rows out of order', missing, added, misplaced);
	END IF;
	RETURN 'ok';
END $$;

-- The table expected of a query that has a unique column id, sorted by keys with gpusort off.
CREATE FUNCTION expect_sort(query text, keys text) RETURNS void
LANGUAGE plpgsql SET gpusort.mode = off SET client_min_messages = warning AS $$
BEGIN
	DROP TABLE IF EXISTS expected;
	EXECUTE format('CREATE TEMP TABLE expected AS SELECT id, rank() OVER (ORDER BY %s), hash_record_extended(ROW(record_send(q)), 0) AS line FROM (%s) q', keys, query);
END $$;

-- Compares with it the query with gpusort forced.  taken: whether gpusort is to sort it; NULL: either will do.  (CREATE
-- TABLE AS may be executed in parallel, INSERT is not.)
CREATE FUNCTION check_expected_sort(query text, keys text, taken boolean DEFAULT true, reversed boolean DEFAULT false) RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off SET client_min_messages = warning AS $$
DECLARE
	sorted text := format('SELECT * FROM (%s) q ORDER BY %s', query, keys);
BEGIN
	DROP TABLE IF EXISTS actual;
	IF uses_gpusort(sorted) THEN
		RETURN 'gpusort is in the plan although it is off';
	END IF;
	PERFORM set_config('gpusort.mode', compared_mode(), true);
	IF uses_gpusort(sorted) <> taken THEN
		RETURN format('gpusort is %sin the plan', CASE WHEN taken THEN 'not ' END);
	END IF;
	EXECUTE format('CREATE TEMP TABLE actual AS SELECT id, row_number() OVER () AS place, hash_record_extended(ROW(record_send(q)), 0) AS line FROM (%s) q', sorted);
	PERFORM set_config('gpusort.mode', 'off', true);
	RETURN compare_sorts(reversed);
END $$;

-- Both.
CREATE FUNCTION check_sort(query text, keys text, taken boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM expect_sort(query, keys);
	RETURN check_expected_sort(query, keys, taken);
END $$;

-- The same of a query whose order says all of its rows, so that there is one right result; and the bytes that were
-- taken for each row, key and all.
CREATE FUNCTION check_whole(query text, OUT result text, OUT bytes float8)
LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	digest text := format('SELECT count(*) || md5(string_agg(record_send(q), '''')) FROM (%s OFFSET 0) q', query);
	expected text;
	actual text;
	before record;
	after record;
BEGIN
	EXECUTE digest INTO expected;
	SELECT sum(s.rows) AS rows, sum(s.bytes) AS bytes INTO before FROM pg_stat_gpusort s;
	PERFORM set_config('gpusort.mode', 'force', true);
	EXECUTE digest INTO actual;
	PERFORM set_config('gpusort.mode', 'off', true);
	SELECT sum(s.rows) - before.rows AS rows, sum(s.bytes) - before.bytes AS bytes INTO after FROM pg_stat_gpusort s;
	bytes := round(after.bytes / nullif(after.rows, 0), 2);
	result := CASE WHEN after.rows = 0 THEN 'gpusort is not in the plan' WHEN actual <> expected THEN 'other rows, or another order' ELSE 'ok' END;
END $$;

-- The same for every direction and place of the nulls of one sort key.  PostgreSQL sorts in one direction: the other is that backwards.
CREATE FUNCTION check_options(query text, key text, taken boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	options text[];
	result text;
	wrong text[] := '{}';
BEGIN
	FOREACH options SLICE 1 IN ARRAY ARRAY[['ASC NULLS LAST', 'DESC NULLS FIRST'], ['ASC NULLS FIRST', 'DESC NULLS LAST']] LOOP
		PERFORM expect_sort(query, key || ' ' || options[1]);
		FOR i IN 1 .. 2 LOOP
			result := check_expected_sort(query, key || ' ' || options[i], taken, reversed => i = 2);
			IF result <> 'ok' THEN
				wrong := wrong || (options[i] || ': ' || result);
			END IF;
		END LOOP;
	END LOOP;
	RETURN coalesce(nullif(array_to_string(wrong, '; '), ''), 'ok');
END $$;

-- Is the whole run wanted (tools/test --all), not the quick one?
CREATE FUNCTION whole_run() RETURNS boolean
LANGUAGE sql STABLE AS $$ SELECT coalesce(current_setting('tests.whole', true) = 'on', false) $$;

-- Random numbers that are the same in every run: about uniform over all 64-bit integers.
CREATE FUNCTION noise(i bigint, seed int DEFAULT 0) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT hashint8extended(i, seed) $$;

-- How many rows of a query were put right, as EXPLAIN says.
CREATE FUNCTION corrections(query text) RETURNS bigint LANGUAGE plpgsql SET gpusort.mode = force AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Order Verified' THEN
			RETURN substring(line FROM 'Corrections: (\d+)');
		END IF;
	END LOOP;
	RETURN NULL; -- nothing was verified
END $$;

-- A type that gpusort does not take: only its own function knows how its values, which are texts, compare: backwards.
SET client_min_messages = warning;
CREATE TYPE backwards;
CREATE FUNCTION backwards_in(cstring) RETURNS backwards LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION backwards_out(backwards) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE FUNCTION backwards_send(backwards) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT AS 'textsend';
CREATE TYPE backwards (INPUT = backwards_in, OUTPUT = backwards_out, SEND = backwards_send, LIKE = text);
CREATE CAST (text AS backwards) WITHOUT FUNCTION;
CREATE CAST (backwards AS text) WITHOUT FUNCTION;
CREATE FUNCTION compare_backwards(a backwards, b backwards) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT bttextcmp(b::text COLLATE "C", a::text COLLATE "C") $$;
CREATE FUNCTION is_before(a backwards, b backwards) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT compare_backwards(a, b) < 0 $$;
CREATE FUNCTION is_same(a backwards, b backwards) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT compare_backwards(a, b) = 0 $$;
CREATE FUNCTION is_after(a backwards, b backwards) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT compare_backwards(a, b) > 0 $$;
CREATE OPERATOR < (FUNCTION = is_before, LEFTARG = backwards, RIGHTARG = backwards);
CREATE OPERATOR = (FUNCTION = is_same, LEFTARG = backwards, RIGHTARG = backwards);
CREATE OPERATOR > (FUNCTION = is_after, LEFTARG = backwards, RIGHTARG = backwards);
CREATE OPERATOR CLASS backwards_ops DEFAULT FOR TYPE backwards USING btree AS OPERATOR 1 <, OPERATOR 3 =, OPERATOR 5 >, FUNCTION 1 compare_backwards(backwards, backwards);
RESET client_min_messages;

-- Makes the table sorted_values of 1000 random values, the edges twice each, and some nulls; checks all sorts of it.
-- The expression for a random value may use i (1, 2, ...), n (any 64-bit integer) and u (0 <= u < 1).
CREATE FUNCTION check_type(type text, expression text, edges text[], taken boolean DEFAULT true, collation_name text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql SET client_min_messages = warning AS $$
DECLARE
	key text := 'v' || coalesce(' COLLATE ' || quote_ident(collation_name), '');
	result text;
BEGIN
	DROP TABLE IF EXISTS sorted_values;
	EXECUTE format('CREATE TEMP TABLE sorted_values (id int GENERATED ALWAYS AS IDENTITY, v %s, filler text)', type);
	EXECUTE format('INSERT INTO sorted_values (v, filler)
		SELECT (%s)::%s, repeat(''x'', i %% 7)
		FROM (SELECT i, noise(i) AS n, (noise(i, 1) & ((1::bigint << 52) - 1)) / (2::float8 ^ 52) AS u
			  FROM generate_series(1, 1000) AS i) s', expression, type);
	EXECUTE format('INSERT INTO sorted_values (v) SELECT e::%s FROM unnest($1) AS e, generate_series(1, 2)', type) USING edges;
	INSERT INTO sorted_values (filler) SELECT 'null' FROM generate_series(1, 5);
	ANALYZE sorted_values;
	result := check_options('SELECT * FROM sorted_values', key, taken);
	IF result <> 'ok' THEN
		RETURN result;
	END IF;
	result := check_sort('SELECT * FROM sorted_values', key || ' DESC, id DESC', taken);
	IF result <> 'ok' THEN
		RETURN 'with a second column: ' || result;
	END IF;
	result := check_sort('SELECT * FROM sorted_values WHERE v IS NOT NULL', 'length(filler), ' || key || ', id', taken);
	IF result <> 'ok' THEN
		RETURN 'without NULLs: ' || result;
	END IF;
	DELETE FROM sorted_values WHERE v IS NULL;
	ALTER TABLE sorted_values ALTER v SET NOT NULL;
	result := check_options('SELECT * FROM sorted_values', key, taken);
	IF result <> 'ok' THEN
		RETURN 'NOT NULL: ' || result;
	END IF;
	RETURN check_sort('SELECT * FROM sorted_values', key || ' DESC, filler DESC, id', taken);
END $$;

-- The rows of a query, as they come, one by one through a cursor.
CREATE FUNCTION rows_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	r record;
	rows text[] := '{}';
BEGIN
	FOR r IN EXECUTE query LOOP
		rows := rows || r::text;
	END LOOP;
	RETURN rows;
END $$;
-- Are two sets of rows the same, in any order?
CREATE FUNCTION compare_rows(rows_off text[], rows_forced text[]) RETURNS text LANGUAGE sql AS $$
SELECT CASE WHEN array_agg(line ORDER BY line COLLATE "C") IS DISTINCT FROM (SELECT array_agg(line ORDER BY line COLLATE "C") FROM unnest(rows_forced) AS line)
	THEN format('%s rows off, %s rows forced, differ', cardinality(rows_off), cardinality(rows_forced)) ELSE 'ok: ' || cardinality(rows_off) || ' rows' END
FROM unnest(rows_off) AS line
$$;
-- Runs a query whose order is total with gpusort off and forced, row by row through a cursor, and compares the two.
CREATE FUNCTION check_query(query text, taken boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	rows_off text[];
	rows_forced text[];
BEGIN
	IF uses_gpusort(query) THEN
		RETURN 'gpusort is in the plan although it is off';
	END IF;
	rows_off := rows_of(query);
	PERFORM set_config('gpusort.mode', compared_mode(), true);
	IF uses_gpusort(query) <> taken THEN
		RETURN format('gpusort is %sin the plan', CASE WHEN taken THEN 'not ' END);
	END IF;
	rows_forced := rows_of(query);
	IF rows_off <> rows_forced THEN
		RETURN format('%s rows off, %s rows forced, differ', cardinality(rows_off), cardinality(rows_forced));
	END IF;
	RETURN 'ok: ' || cardinality(rows_off) || ' rows';
END $$;

-- How many nodes of a name are in a query's plan?
CREATE FUNCTION nodes(query text, node text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
	n int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		n := n + (position(node IN line) > 0)::int;
	END LOOP;
	RETURN n;
END $$;

-- Runs a query with gpusort off, and in a mode, and compares the rows, in any order.  CREATE TABLE AS is executed in parallel.
CREATE FUNCTION check_ranges(query text, mode text DEFAULT 'force') RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off SET client_min_messages = warning AS $$
DECLARE
	workers text := current_setting('max_parallel_workers_per_gather');
	ranges int := nodes(query, 'GpuSortRanges');
	result text;
BEGIN
	-- PostgreSQL's own answer is asked for once, of one process.
	CREATE TEMP TABLE IF NOT EXISTS own_answers (query text, rows text[]);
	IF NOT EXISTS (SELECT FROM own_answers o WHERE o.query = check_ranges.query) THEN
		PERFORM set_config('max_parallel_workers_per_gather', '0', true);
		EXECUTE 'CREATE TEMP TABLE own_rows AS ' || query;
		PERFORM set_config('max_parallel_workers_per_gather', workers, true);
		INSERT INTO own_answers SELECT check_ranges.query, array_agg(own_rows::text) FROM own_rows;
		DROP TABLE own_rows;
	END IF;
	PERFORM set_config('gpusort.mode', mode, true);
	ranges := nodes(query, 'Parallel Custom Scan (GpuSortRanges)') + 1000 * ranges;
	EXECUTE 'CREATE TEMP TABLE forced_rows AS ' || query;
	PERFORM set_config('gpusort.mode', 'off', true);
	SELECT compare_rows(o.rows, (SELECT array_agg(forced_rows::text) FROM forced_rows)) INTO result FROM own_answers o WHERE o.query = check_ranges.query;
	DROP TABLE forced_rows;
	RETURN concat_ws(', ', result, CASE WHEN ranges = 0 THEN 'no ranges' WHEN ranges > 1 THEN ranges || ' nodes' END);
END $$;
-- One row that says which rows a query returns, in a plan of several processes.
CREATE FUNCTION digest(query text) RETURNS text LANGUAGE sql AS $$ SELECT format('SELECT count(*), sum(hashtext(s::text)::bigint) FROM (%s) s', query) $$;
-- The tables of the tests of ranges, and a collation of the C library, or of ICU where there is none.
CREATE FUNCTION make_range_tables() RETURNS void LANGUAGE plpgsql SET client_min_messages = warning AS $$
BEGIN
	BEGIN
		CREATE COLLATION english (provider = libc, locale = 'en_US.UTF-8');
	EXCEPTION WHEN OTHERS THEN
		CREATE COLLATION english (provider = icu, locale = 'en-US');
	END;
	CREATE TABLE r AS SELECT i AS id, (noise(i) & 1023)::int AS g, (noise(i, 1) & 7)::int AS few, (noise(i, 2) >> 16)::bigint AS k, CASE WHEN i % 9 > 0 THEN (noise(i, 4) & 511)::int END AS n,
		repeat(chr(97 + (i % 2)), 9) || (noise(i, 3) & 511) AS t, upper(left(md5((noise(i, 5) & 255)::text), (i % 3) * 9)) || 'x' || (noise(i, 5) & 255) AS folded,
		(ARRAY['NaN', '-0', '0', '1.5', '-Infinity', 'Infinity', '1e-300', '-1e-300'])[(noise(i, 6) & 7) + 1]::float8 AS f,
		((noise(i, 7) & 255)::text || (ARRAY['', '.0', '.00', '.5', '.50'])[i % 5 + 1])::numeric AS scaled, 1 AS one, repeat('z', (i % 50)) AS filler
	FROM generate_series(1, 20000) AS i;
	ALTER TABLE r SET (parallel_workers = 3);
	-- Two thirds of the rows are one group, in the middle.
	CREATE TABLE uneven AS SELECT i AS id, CASE WHEN i % 3 = 0 THEN (noise(i) & 31)::int - 16 ELSE 0 END AS g, noise(i, 1) AS k, repeat('z', (i % 50)) AS filler FROM generate_series(1, 20000) AS i;
	ALTER TABLE uneven SET (parallel_workers = 3);
END $$;
-- Waits, so that other processes do what this one would have done.
CREATE FUNCTION waits() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1 AS $$
BEGIN
	IF current_setting('gpusort.mode') <> 'off' THEN
		PERFORM pg_sleep(0.004);
	END IF;
	RETURN true;
END $$;
-- Collations, and text in all of its orders.
SET client_min_messages = warning;
-- Upper and lower case are equal; so are letters with and without accents; digits sort by value; upper case first.
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION ignore_accents (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE COLLATION by_number (provider = icu, locale = 'und-u-kn');
CREATE COLLATION upper_first (provider = icu, locale = 'und-u-kf-upper');
RESET client_min_messages;

CREATE FUNCTION check_text(type text, collation_name text, taken boolean DEFAULT true) RETURNS text
LANGUAGE sql AS $$
	SELECT check_type(type,
		'CASE i % 5 WHEN 0 THEN substr(md5(i::text), 1, i % 20) WHEN 1 THEN (ARRAY[''cote'', ''coté'', ''côte'', ''côté'', ''COTE'', ''Côté''])[i % 6 + 1] || i % 10
			WHEN 2 THEN ''file-'' || i % 100 WHEN 3 THEN repeat(''ab'', i % 9) || chr((i % 1000) + 32) ELSE ''Ünï'' || substr(md5(i::text), 1, 2) END',
		ARRAY['', ' ', '  ', 'a', 'A', 'aa', 'a ', 'a  ', E'a\001', E'a\t', E'\177', 'é', 'e', E'e\u0301', 'É', 'ß', 'ss', 'SS', '€', '😀', '日本', E'\uffff',
			'abcdefg', 'abcdefgh', 'abcdefghi', 'abcdefgh ', 'co-op', 'coop', 'co op', '1', '2', '10', '01', 'ﬁ', 'fi',
			'fifteen letters', 'sixteen letters!', 'seventeen letters', 'ǅ', 'ǆ', 'ＡＢＣ', 'abc'],
		taken, collation_name)
$$;

-- A check that cannot fail is no check.
CREATE TABLE numbers AS SELECT i AS id, noise(i) % 100 AS v FROM generate_series(1, 200) AS i;
SELECT check_sort('SELECT * FROM numbers', 'v', taken => false) AS not_to_be_taken, check_query('SELECT * FROM numbers ORDER BY v, id', taken => false) AS query;
SELECT check_query('SELECT *, current_setting(''gpusort.mode'') FROM numbers ORDER BY v, id') AS other_rows;
SELECT check_sort('SELECT * FROM numbers', 'v') AS right_order;
UPDATE actual SET place = 201 WHERE place = 1;
SELECT compare_sorts() AS first_row_last;
UPDATE actual SET place = 1 WHERE place = 201;
SELECT compare_sorts() AS right_again;
DELETE FROM actual WHERE place = 100;
SELECT compare_sorts() AS row_lost;
INSERT INTO actual SELECT * FROM actual WHERE place IN (99, 101);
SELECT compare_sorts() AS rows_doubled;
DROP TABLE numbers;
