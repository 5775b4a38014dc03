--
-- Values on every seam of an encoding: where a type's sort key changes its form, its length, a byte that counts, or lies beside a marker.
-- The tests of types and the random test (regress/random_sorts) take their data from here.
--

-- Whole numbers beside every power of two within the bounds.
CREATE FUNCTION integer_seams(low numeric, high numeric) RETURNS numeric[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(DISTINCT v) FROM (
		SELECT sign * trunc(2::numeric ^ k) + d AS v FROM generate_series(0, 64) AS k, unnest('{-1,1}'::int[]) AS sign, unnest('{-1,0,1}'::int[]) AS d
	) s WHERE v BETWEEN low AND high
$$;

-- Powers of two of both signs, and what is no number.
CREATE FUNCTION float_seams(low int, high int) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(sign * 2::float8 ^ k)::text[] || '{0,-0,NaN,Infinity,-Infinity}' FROM generate_series(low, high, 7) AS k, unnest('{-1,1}'::float8[]) AS sign
$$;

-- The weight of the first digit, to base 10000, takes one byte from -40 to 81, three beyond; on disk it has a short form from -64 to 63.
-- Digits go four at a time: values of one to ten digits, each of which continues the one before.  The scale does not count.
CREATE FUNCTION numeric_seams() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(sign || mantissa || 'e' || 4 * weight) ||
		'{0,0.0000,NaN,Infinity,-Infinity,1e131068,-1e131068,1e-16383,-1e-16383,1.00000000000000000000000000000000000000000000000000000000000000000000}'
	FROM unnest('{-66,-65,-64,-63,-62,-42,-41,-40,-39,-2,-1,0,1,2,3,62,63,64,65,80,81,82,83}'::int[]) AS weight,
		unnest('{"",-}'::text[]) AS sign,
		(SELECT '2.' || left('000100020003000400050006000700080009', 4 * n) FROM generate_series(0, 9) AS n UNION ALL VALUES ('1'), ('9999'), ('9999.9999')) AS m (mantissa)
$$;

-- Strings that end at, before and behind every eighth byte, in several ways; short ones with long ICU sort keys; in both cases.
CREATE FUNCTION text_seams() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(v) FROM (
		SELECT repeat('a', length) || tail AS v FROM generate_series(0, 17) AS length, unnest(ARRAY['', ' ', E'\001', E'\177', 'é', 'A', 'b  ']) AS tail
		UNION ALL SELECT repeat(c, CASE WHEN n > 100 THEN n / octet_length(c) ELSE n END) FROM unnest(ARRAY['ﷺ', E'a\u0301\u0323', '㌫', '😀', E'\uffff', 'ß', 'Z', '-']) AS c, unnest('{1,2,3,7,8,9,20,21,300}'::int[]) AS n
	) s
$$;

CREATE FUNCTION bytea_seams() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg('\x' || repeat(a, m) || repeat(b, n)) FROM unnest('{00,01,ff}'::text[]) AS a, unnest('{00,01,fe,ff}'::text[]) AS b,
		unnest('{0,1,2,7,8}'::int[]) AS m, unnest('{0,1,2,8}'::int[]) AS n
$$;

-- Bytes of which all are the same but one.
CREATE FUNCTION hex_seams(bytes int) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(repeat(a, i) || b || repeat(a, bytes - 1 - i)) FROM unnest('{00,ff}'::text[]) AS a, unnest('{00,01,7f,80,ff}'::text[]) AS b, generate_series(0, bytes - 1) AS i
$$;

CREATE FUNCTION bit_seams() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(repeat(a, m) || repeat(b, n)) FROM unnest('{0,1}'::text[]) AS a, unnest('{0,1}'::text[]) AS b,
		unnest('{0,1,6,7,8,9,16,63,64}'::int[]) AS m, unnest('{0,1,2,8}'::int[]) AS n
$$;

CREATE FUNCTION inet_seams() RETURNS inet[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(set_masklen(address::inet, mask)) FROM unnest('{0.0.0.0,0.0.0.1,127.255.255.255,128.0.0.0,255.255.255.255,::,::1,7fff::,8000::,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff}'::text[]) AS address,
		unnest('{0,1,7,8,9,15,16,17,31,32,33,63,64,65,127,128}'::int[]) AS mask WHERE mask <= 32 OR address LIKE '%:%'
$$;

-- Days are 24 hours, months 30 days, and the lower 16 bits of the microseconds stand apart.
CREATE FUNCTION interval_seams() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(format('%s mons %s days %s us', m, d, us)) FROM unnest('{0,1,-1,2147483647,-2147483648}'::int[]) AS m, unnest('{0,1,-1,30,-30}'::int[]) AS d,
		unnest('{0,1,-1,65535,65536,65537,-65536,86399999999,86400000000,86400000001,-86400000000,-86400000001,2592000000000}'::bigint[]) AS us
$$;

-- So many values of a list, at equal distances.
CREATE FUNCTION sample_of(list text[], n int) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(DISTINCT list[1 + i * (cardinality(list) - 1) / greatest(n - 1, 1)]) FROM generate_series(0, n - 1) AS i
$$;

-- Documents: all kinds of scalars, by themselves and in arrays and objects of up to two; containers whose size takes a byte, or five; empty ones within others.
CREATE FUNCTION jsonb_seams() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
	WITH scalars AS (
		SELECT to_jsonb(v) AS v FROM unnest(sample_of(text_seams(), 30)) AS v UNION ALL SELECT to_jsonb(v::numeric) FROM unnest(sample_of(numeric_seams(), 30)) AS v WHERE v !~ '[NI]'
		UNION ALL VALUES ('null'::jsonb), ('true'), ('false'), ('1'), ('1.00'), ('"1"')
	), parts AS (SELECT * FROM (VALUES ('null'::jsonb), ('true'), ('false'), ('0'), ('1.0'), ('""'), ('"a"'), ('"b"'), ('[]'), ('{}'), ('[null]'), ('[[]]'), ('{"a": 1}'), ('[1, "b"]')) AS p (v))
	SELECT array_agg(v::text) FROM (
		SELECT v FROM scalars UNION ALL SELECT jsonb_build_array(v) FROM scalars UNION ALL SELECT v FROM parts
		UNION ALL SELECT jsonb_build_array(a.v, b.v) FROM parts AS a, parts AS b
		UNION ALL SELECT jsonb_build_object(name, v) FROM unnest('{a,b,ab,c,""}'::text[]) AS name, parts
		UNION ALL SELECT jsonb_build_object('b', a.v, name, b.v) FROM unnest('{a,aa,c}'::text[]) AS name, parts AS a, parts AS b WHERE a.v <= b.v
		UNION ALL SELECT to_jsonb(array_fill(n, ARRAY[count])) FROM unnest('{253,254,255,256,300}'::int[]) AS count, unnest('{0,1}'::int[]) AS n
		UNION ALL SELECT (SELECT jsonb_object_agg('k' || i, n) FROM generate_series(1, count) AS i) FROM unnest('{253,254,255,256,300}'::int[]) AS count, unnest('{0,1}'::int[]) AS n
	) s
$$;

-- One word or two, with all kinds of places, the longest one, and none.
CREATE FUNCTION tsvector_seams() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
	WITH words AS (SELECT quote_literal(word) || place AS v FROM unnest('{a,b,ab,aa,é}'::text[]) AS word, unnest('{"",:1,:1A,:1B,":1,2",":1,2A",":1,3",:2,:255,:256,:16383,:16383D}'::text[]) AS place)
	SELECT array_agg(v) || (repeat('x', 2046) || '{"",:1}'::text[]) || ARRAY[''] FROM (SELECT v FROM words UNION ALL SELECT concat(a.v, ' ', b.v) FROM words AS a, unnest(ARRAY['x', 'x:1', 'xy:2A', 'y']) AS b (v)) s
$$;

-- Paths of labels that begin with each other, long ones, many.
CREATE FUNCTION ltree_seams() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
	WITH labels AS (SELECT v FROM unnest('{a,b,A,Z,aa,ab,_,0,9,a_}'::text[]) AS v UNION ALL SELECT repeat('x', n) FROM unnest('{6,7,8,254,255}'::int[]) AS n)
	SELECT array_agg(v) || ARRAY[''] FROM (
		SELECT v FROM labels UNION ALL SELECT a.v || '.' || b.v FROM labels AS a, labels AS b UNION ALL SELECT concat_ws('.', 'a', v, 'b') FROM labels
		UNION ALL SELECT repeat('a.', n) || v FROM labels, unnest('{100,255,256}'::int[]) AS n
	) s
$$;

-- Arrays of up to three elements, NULLs among them, and of a few elements in all kinds of dimensions.
CREATE FUNCTION array_seams(elements text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT AS $$
	WITH e AS (SELECT v FROM unnest(sample_of(elements, 5) || NULL::text) AS v)
	SELECT array_agg(a::text) || '{}' FROM (
		SELECT ARRAY[v] AS a FROM e UNION ALL SELECT ARRAY[a.v, b.v] FROM e AS a, e AS b UNION ALL SELECT ARRAY[a.v, b.v, c.v] FROM e AS a, e AS b, e AS c
		UNION ALL SELECT array_fill(v, dimensions, bounds) FROM unnest(sample_of(elements, 2) || NULL::text) AS v, (VALUES
			(ARRAY[1], ARRAY[0]), ('{1}', '{-2147483648}'), ('{1}', '{2}'), ('{1}', '{256}'), ('{3}', '{2147483640}'), ('{9}', '{1}'), ('{300}', '{1}'), ('{1,1}', '{1,1}'), ('{1,3}', '{1,1}'), ('{3,1}', '{1,1}'),
			('{3,1}', '{0,1}'), ('{3,1}', '{1,0}'), ('{2,2}', '{1,1}'), ('{1,1,1}', '{1,1,1}'), ('{1,3,1}', '{1,1,1}'), ('{1,1,3}', '{1,1,1}'), ('{1,1,1,1,1,3}', '{1,1,1,1,1,1}'), ('{1,1,1,1,1,3}', '{1,1,1,1,1,7}')
		) AS s (dimensions, bounds)
	) s
$$;

-- Ranges between two of some values, with all kinds of bounds.
CREATE FUNCTION range_seams(range regtype, bounds text[]) RETURNS text[]
LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
	result text[];
	literal text;
	lower text;
	upper text;
BEGIN
	result := '{empty,"(,)"}';
	FOR literal IN SELECT DISTINCT format(kind, to_json(low), to_json(high)) FROM unnest(sample_of(bounds, 7)) AS low, unnest(sample_of(bounds, 7)) AS high, unnest('{"[%s,%s]","[%s,%s)","(%s,%s]","(%s,%s)","[%s,)","(%s,)","(,%2$s)","(,%2$s]"}'::text[]) AS kind LOOP
		BEGIN
			EXECUTE format('SELECT %L::%s', literal, range);
			result := result || literal;
		EXCEPTION WHEN data_exception THEN -- the bounds are the other way round, or there is nothing beyond
		END;
	END LOOP;
	RETURN result;
END $$;

-- Two ranges side by side, or one, or none.
CREATE FUNCTION multirange_seams(ranges text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT AS $$
	SELECT array_agg(DISTINCT format(kind, a, b)) || '{}' FROM unnest(array_remove(ranges, 'empty')) WITH ORDINALITY AS a (a, i), unnest(sample_of(array_remove(ranges, 'empty'), 9)) AS b, unnest(ARRAY['{%s}', '{%s,%s}']) AS kind
	WHERE i % 5 = 1
$$;

-- Rows in which any column is one of some values or NULL; of the last ones, often.
CREATE FUNCTION row_seams(type regtype) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
	columns text;
	result text[];
BEGIN
	SELECT string_agg(format('CASE WHEN noise(i, %1$s) %% 4 <> 0 THEN (%2$L::text[])[1 + abs(noise(i, %1$s + 50)) %% 5]::%3$s END', attnum, sample_of(seams(a.atttypid), 5), format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY attnum)
		INTO columns FROM pg_attribute a, pg_class c WHERE c.reltype = row_seams.type AND c.relkind = 'c' AND a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped;
	IF columns IS NULL THEN -- of a table
		RETURN NULL;
	END IF;
	EXECUTE format('SELECT array_agg(ROW(%s)::%s::text) FROM generate_series(1, 200) AS i', columns, type) INTO result;
	RETURN result;
END $$;

-- The literals of a type, which may be one that users make; NULL: nothing is known of it.
CREATE FUNCTION seams(type regtype) RETURNS text[]
LANGUAGE sql STABLE AS $$
	SELECT CASE type::text
		WHEN 'boolean' THEN '{t,f}'
		WHEN '"char"' THEN ARRAY['', 'a', '~', E'\001', E'\177', 'é', '€', '😀']
		WHEN 'smallint' THEN integer_seams(-32768, 32767)::text[]
		WHEN 'integer' THEN integer_seams(-2147483648, 2147483647)::text[]
		WHEN 'bigint' THEN integer_seams(-9223372036854775808, 9223372036854775807)::text[]
		WHEN 'oid8' THEN integer_seams(0, 18446744073709551615)::text[]
		WHEN 'oidvector' THEN (SELECT array_agg(array_to_string(array_fill(v, ARRAY[n]), ' ') || w) FROM unnest('{0,1,255,256,2147483648,4294967295}'::text[]) AS v, generate_series(0, 3) AS n, unnest('{""," 0"," 1"," 4294967295"}'::text[]) AS w)
		WHEN 'int2vector' THEN (SELECT array_agg(array_to_string(array_fill(v, ARRAY[n]), ' ') || w) FROM unnest('{-32768,-1,0,1,255,32767}'::text[]) AS v, generate_series(0, 3) AS n, unnest('{""," 0"," -1"," 32767"}'::text[]) AS w)
		WHEN 'xid8' THEN integer_seams(0, 18446744073709551615)::text[]
		WHEN 'money' THEN (SELECT array_agg(v / 100)::text[] FROM unnest(integer_seams(-9223372036854775808, 9223372036854775807)) AS v)
		WHEN 'tid' THEN (SELECT array_agg(format('(%s,%s)', block, line)) FROM unnest(integer_seams(0, 4294967295)) AS block, unnest('{0,1,255,256,65535}'::int[]) AS line)
		WHEN 'pg_lsn' THEN (SELECT array_agg(to_hex(high::bigint) || '/' || low) FROM unnest(integer_seams(0, 4294967295)) AS high, unnest('{0,1,80000000,FFFFFFFF}'::text[]) AS low)
		WHEN 'real' THEN float_seams(-149, 127)
		WHEN 'double precision' THEN float_seams(-1074, 1023)
		WHEN 'date' THEN (SELECT array_agg(date '2000-01-01' + d::int)::text[] || '{infinity,-infinity,4713-01-01 BC,5874897-12-31}' FROM unnest(integer_seams(-2400000, 2000000000)) AS d)
		WHEN 'time without time zone' THEN (SELECT array_agg(time '00:00' + us::float8 * interval '1 us')::text[] || '{24:00}' FROM unnest(integer_seams(0, 86399999999)) AS us)
		WHEN 'time with time zone' THEN (SELECT array_agg(t || z) FROM unnest('{00:00,00:00:00.000001,12:00,13:00,23:59:59.999999,24:00}'::text[]) AS t, unnest('{+00,+01,-01,+15:59:59,-15:59:59}'::text[]) AS z)
		WHEN 'timestamp without time zone' THEN (SELECT array_agg(timestamp '2000-01-01' + us::float8 * interval '1 us')::text[] || '{infinity,-infinity,4713-01-01 BC,294276-12-31 23:59:59.999999}'
			FROM unnest(integer_seams(-200000000000000000, 9000000000000000000)) AS us)
		WHEN 'timestamp with time zone' THEN (SELECT array_agg(timestamp '2000-01-01' + us::float8 * interval '1 us')::text[] || '{infinity,-infinity,4713-01-01 BC,294276-12-31}'
			FROM unnest(integer_seams(-200000000000000000, 9000000000000000000)) AS us)
		WHEN 'interval' THEN interval_seams()
		WHEN 'uuid' THEN hex_seams(16)
		WHEN 'macaddr' THEN hex_seams(6)
		WHEN 'macaddr8' THEN hex_seams(8)
		WHEN 'text' THEN text_seams()
		WHEN 'character varying' THEN text_seams()
		WHEN 'character' THEN text_seams()
		WHEN 'name' THEN (SELECT array_agg(left(v, 20)) || repeat('x', 63) FROM unnest(text_seams()) AS v)
		WHEN 'bytea' THEN bytea_seams()
		WHEN 'bit' THEN bit_seams()
		WHEN 'bit varying' THEN bit_seams()
		WHEN 'numeric' THEN numeric_seams()
		WHEN 'inet' THEN inet_seams()::text[]
		WHEN 'jsonb' THEN jsonb_seams()
		WHEN 'tsvector' THEN tsvector_seams()
		WHEN 'citext' THEN text_seams()
		WHEN 'ltree' THEN ltree_seams()
		WHEN 'cidr' THEN (SELECT array_agg(network(a))::text[] FROM unnest(inet_seams()) AS a)
		ELSE CASE
			WHEN type = 'oid'::regtype THEN integer_seams(0, 4294967295)::text[]
			-- An OID that an object has shows as its name: leave out those that tables of the tests, which come and go, can get.
			WHEN type::text ~ '^reg\w+$' THEN ARRAY(SELECT i::text FROM unnest(integer_seams(0, 4294967295)) AS i WHERE i NOT BETWEEN 16384 AND 16777215)
			ELSE (SELECT CASE t.typtype
				WHEN 'b' THEN CASE WHEN t.typcategory = 'A' THEN array_seams(seams(t.typelem)) END
				WHEN 'e' THEN (SELECT array_agg(enumlabel::text) FROM pg_enum WHERE enumtypid = type)
				WHEN 'd' THEN seams(t.typbasetype)
				WHEN 'r' THEN (SELECT range_seams(type, seams(rngsubtype)) FROM pg_range WHERE rngtypid = type)
				WHEN 'm' THEN (SELECT multirange_seams(seams(rngtypid)) FROM pg_range WHERE rngmultitypid = type)
				WHEN 'c' THEN row_seams(type)
			END FROM pg_type t WHERE t.oid = type)
		END
	END
$$;

-- The table of supported types (src/key/describe.c), as it shows: gpusort takes a sort by a column of the type.
CREATE FUNCTION is_taken_by_type(type regtype) RETURNS boolean
LANGUAGE plpgsql SET gpusort.mode = force SET client_min_messages = warning AS $$
DECLARE
	taken boolean;
BEGIN
	EXECUTE format('CREATE TEMP TABLE of_type (v %s)', type);
	BEGIN
		taken := uses_gpusort('SELECT * FROM of_type ORDER BY v');
	EXCEPTION WHEN undefined_function OR indeterminate_collation THEN
		taken := false;
	END;
	DROP TABLE of_type;
	RETURN taken;
END $$;
-- Every seam three times, one value in seven NULL, in no order.  In the quick run two of the four orders by several columns, which by the type's name.
CREATE FUNCTION check_seams(type text, collation_name text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	number int := hashtext(type || coalesce(collation_name, ''));
	key text := 'v' || coalesce(' COLLATE ' || quote_ident(collation_name), '');
	result text;
BEGIN
	DROP TABLE IF EXISTS seam_values;
	EXECUTE format('CREATE TEMP TABLE seam_values (id int, v %s, g int, t text)', type);
	EXECUTE format('INSERT INTO seam_values
		SELECT i, CASE WHEN noise(i, 1) %% 7 <> 0 THEN ($1[1 + i %% cardinality($1)])::%s END, nullif((noise(i, 2) & 3)::int, 0), CASE WHEN noise(i, 3) %% 3 <> 0 THEN ''t'' || i %% 5 END
		FROM generate_series(1, 3 * cardinality($1)) AS i ORDER BY noise(i, 4)',
		-- text is cast to regclass as a name, not as a number
		CASE type WHEN 'regclass' THEN 'oid' ELSE type END) USING seams(regexp_replace(type, '\(\d+\)', '')::regtype);
	result := check_options('SELECT * FROM seam_values', key);
	IF result <> 'ok' THEN
		RETURN result;
	END IF;
	SELECT string_agg(format('%s: %s', keys, r), '; ') INTO result
	FROM (SELECT keys, check_sort('SELECT * FROM seam_values', keys) AS r
		  FROM unnest(ARRAY[key || ', id DESC', 'g NULLS FIRST, ' || key || ' DESC', key || ' NULLS FIRST, t COLLATE "C" DESC, id', 't COLLATE "C" NULLS FIRST, ' || key || ', g']) WITH ORDINALITY AS k (keys, place)
		  WHERE whole_run() OR (place > 2) = (number % 2 = 0)) s
	WHERE r <> 'ok';
	RETURN coalesce(result, 'ok');
END $$;

-- Arrays have the seams of their elements; those for the server's own use (category Z) are not for others to make.
SELECT count(*) > 30 AS many, string_agg(oid::regtype::text, ' ') FILTER (WHERE seams(oid) IS NULL) AS without_seams
FROM (SELECT oid FROM pg_type WHERE typtype IN ('b', 'r', 'm') AND (typcategory <> 'A' OR typname ~ 'vector') AND (typcategory <> 'Z' OR typname = 'char') AND typnamespace = 'pg_catalog'::regnamespace AND is_taken_by_type(oid)) t;
SELECT seams('xml') AS nothing_is_known, cardinality(seams('numeric')) > 200 AS many_of_numeric;
