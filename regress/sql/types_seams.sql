--
-- Values on every seam of every type's encoding, with NULLs anywhere among them: alone, after another column and before one.
--
SET timezone = 'UTC';
SET client_min_messages = warning;

CREATE COLLATION case_is_equal (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION capitals_first (provider = icu, locale = 'und-u-kf-upper');
-- Enough values, each put before an earlier one, that numbering between two neighbours needs fractions.
CREATE TYPE shade AS ENUM ('shade 1');
DO $$ BEGIN
	FOR i IN 2 .. 60 LOOP
		EXECUTE format('ALTER TYPE shade ADD VALUE %L BEFORE %L', 'shade ' || i, 'shade ' || abs(noise(i) % (i - 1)) + 1);
	END LOOP;
END $$;

SELECT oid::regtype AS type, check_seams(oid::regtype::text) AS result
FROM pg_type WHERE typtype = 'b' AND typcategory <> 'A' AND typcollation = 0 AND typnamespace = 'pg_catalog'::regnamespace AND seams(oid) IS NOT NULL AND typname NOT IN ('regdatabase', 'oid8') ORDER BY oid;
-- New in 19.
SELECT typname, check_seams(typname) AS result FROM pg_type WHERE typname IN ('regdatabase', 'oid8') AND check_seams(typname) <> 'ok';
SELECT type, collation_name, check_seams(type, collation_name) AS result
FROM unnest('{text,varchar,char(30),name}'::text[]) AS type, unnest('{C,und-x-icu,sv-x-icu,case_is_equal,capitals_first}'::text[]) AS collation_name;
SELECT check_seams('shade') AS enum;

-- The same with many rows, in memory and through runs in temporary files, with short strings that have long sort keys, each some times.
CREATE TABLE many_seams AS
	SELECT i AS id, CASE WHEN noise(i) % 5 <> 0 THEN (seams)[1 + abs(noise(i)) % cardinality(seams)]::numeric END AS n,
		CASE WHEN noise(i, 1) % 5 <> 0 THEN repeat('ﷺ', 1 + i % 4) || left(md5((i % 1500)::text) || 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 5 + i % 1500 % 50) END AS t
	FROM seams('numeric'), generate_series(1, 12000) AS i;
SELECT check_sort('SELECT * FROM many_seams', 'n, id') AS numeric, check_sort('SELECT * FROM many_seams', 't COLLATE "und-x-icu" DESC, n') AS text;
SET gpusort.work_mem = '512kB';
SELECT check_sort('SELECT * FROM many_seams', 'n, id') AS numeric, check_sort('SELECT * FROM many_seams', 't COLLATE "und-x-icu" DESC, n') AS text;

-- Keys of which nothing but the markers of NULLs is left, eight of them and more.
CREATE TABLE nulls AS
	SELECT i AS id, CASE WHEN noise(i) % 3 = 0 THEN 1::smallint END AS a, CASE WHEN noise(i, 1) % 9 = 0 THEN 'b' END AS b, NULL::numeric AS c, CASE WHEN noise(i, 2) % 9 = 0 THEN 'd' END AS d,
		NULL::inet AS e, NULL::bytea AS f, NULL::int8 AS g, NULL::uuid AS h, CASE WHEN noise(i, 3) % 50 = 0 THEN i END AS i, repeat('x', i % 9) AS filler
	FROM generate_series(1, 9000) AS i;
SELECT nulls, check_sort('SELECT * FROM nulls', keys) AS spilled, check_sort('SELECT * FROM nulls WHERE id <= 500', keys) AS in_memory,
	check_sort('SELECT * FROM nulls WHERE a IS NULL AND b IS NULL AND d IS NULL AND i IS NULL AND id <= 2000', keys) AS nothing_else
FROM unnest('{ASC NULLS LAST,ASC NULLS FIRST,DESC NULLS LAST,DESC NULLS FIRST}'::text[]) AS nulls,
	replace('c #, b COLLATE "C" #, d COLLATE "C" #, e #, f #, g #, h #, a #, i #', '#', nulls) AS keys;

CREATE TABLE numeric_nulls AS
	SELECT i AS id, NULL::numeric AS a, NULL::numeric AS b, NULL::numeric AS c, NULL::numeric AS d, NULL::inet AS e, NULL::inet AS f, NULL::inet AS g, NULL::numeric AS h,
		CASE WHEN i % 3 = 0 THEN i::numeric END AS i, repeat('x', 30) AS filler FROM generate_series(1, 15000) AS i;
SELECT nulls, check_sort('SELECT * FROM numeric_nulls', replace('a #, b #, c #, d #, e #, f #, g #, h #, i #', '#', nulls)) AS spilled
FROM unnest('{ASC NULLS LAST,DESC NULLS FIRST,DESC NULLS LAST}'::text[]) AS nulls;

DROP TABLE seam_values, many_seams, nulls, numeric_nulls;

-- Of the types that PostgreSQL orders by default those that are left alone, but for records without a named type; its families of operators for other orders, all
-- of which are taken; and the types for those that users make.
SELECT string_agg(opcintype::regtype::text, ' ') AS declined_types
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod JOIN pg_type t ON t.oid = opcintype
WHERE amname = 'btree' AND opcdefault AND opcnamespace = 'pg_catalog'::regnamespace AND CASE WHEN typtype <> 'p' THEN NOT is_taken_by_type(opcintype) END;
SELECT string_agg(opfname, ' ' ORDER BY opfname) AS other_orders FROM pg_opfamily f JOIN pg_am a ON a.oid = opfmethod
WHERE amname = 'btree' AND opfnamespace = 'pg_catalog'::regnamespace AND NOT EXISTS (SELECT FROM pg_opclass WHERE opcfamily = f.oid AND opcdefault);
SELECT string_agg(opcintype::regtype::text, ' ' ORDER BY opcname) AS made_types FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod JOIN pg_type t ON t.oid = opcintype
WHERE amname = 'btree' AND opcdefault AND typtype = 'p' AND opcnamespace = 'pg_catalog'::regnamespace;
