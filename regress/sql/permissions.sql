--
-- gpusort_check tells the planner's estimates, so it checks the permissions that EXPLAIN checks.
--
CREATE ROLE regress_gpusort_reader;
CREATE TABLE staff (id int, name text, salary int, department int);
INSERT INTO staff SELECT i, md5(i::text), (noise(i) % 5000)::int + 5000, i % 10 FROM generate_series(1, 10000) AS i;
CREATE TABLE notes (LIKE staff);
INSERT INTO notes SELECT * FROM staff;
CREATE VIEW names AS SELECT id, name FROM staff;
CREATE VIEW invoked WITH (security_invoker) AS SELECT id, name FROM staff;
CREATE VIEW guarded WITH (security_barrier) AS SELECT * FROM staff WHERE department = 1;
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON notes USING (department = 1);
CREATE TABLE inbox (id int, name text);
ANALYZE staff, notes;
GRANT SELECT (id, department) ON staff TO regress_gpusort_reader;
GRANT SELECT ON names, invoked, guarded, notes TO regress_gpusort_reader;

-- What EXPLAIN and gpusort_check say to a query with one sort: the rows that are expected there, or an error.
CREATE FUNCTION explained(query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN 'about ' || jsonb_path_query_first(plan, '$.** ? (@."Node Type" == "Sort")."Plan Rows"')::text || ' rows';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ' ' || sqlerrm;
END $$;
CREATE FUNCTION checked(query text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT substring(reason, 'about \d+ rows') FROM gpusort_check(query));
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ' ' || sqlerrm;
END $$;
CREATE FUNCTION compared(query text) RETURNS text
LANGUAGE sql AS $$
	SELECT CASE WHEN e IS DISTINCT FROM c THEN format('EXPLAIN: %s, gpusort_check: %s', e, c)
		ELSE 'same: ' || regexp_replace(e, '\d+ rows$', 'N rows') END
	FROM (SELECT explained(query) AS e, checked(query) AS c) s
$$;

-- All sorts are left alone, with the estimate as the reason.
SET gpusort.min_rows = 100000000;
SELECT compared('SELECT * FROM staff WHERE salary < 5000 ORDER BY id') AS owner;
SET ROLE regress_gpusort_reader;
SELECT query, compared(query)
FROM unnest(ARRAY[
	'SELECT * FROM staff WHERE salary < 5000 ORDER BY id',
	'SELECT id FROM staff WHERE salary < 5000 ORDER BY id',
	'SELECT id FROM staff WHERE department < 5 ORDER BY id',
	'SELECT name FROM names WHERE id < 500 ORDER BY id',
	'SELECT name FROM invoked WHERE id < 500 ORDER BY id',
	'SELECT * FROM guarded WHERE name LIKE ''a%'' ORDER BY id',
	'SELECT * FROM guarded WHERE salary < 5000 ORDER BY id',
	'SELECT * FROM notes WHERE name LIKE ''a%'' ORDER BY id',
	'SELECT * FROM notes WHERE salary < 5000 ORDER BY id',
	'SELECT n.id FROM names n JOIN (SELECT id FROM staff WHERE salary < 5000 OFFSET 0) s USING (id) ORDER BY n.name',
	'SELECT id, (SELECT max(salary) FROM staff) FROM notes ORDER BY id',
	'INSERT INTO inbox SELECT id, name FROM names ORDER BY name',
	'SELECT * FROM notes ORDER BY id FOR UPDATE']) AS query;
-- The statements inside others, too.
SELECT query, checked(query)
FROM unnest(ARRAY['EXPLAIN %s', 'DECLARE c CURSOR FOR %s', 'CREATE TABLE copied AS %s', 'WITH s AS MATERIALIZED (%s) SELECT * FROM s']) AS statement,
	format(statement, 'SELECT * FROM staff WHERE salary < 5000 ORDER BY id') AS query;
RESET ROLE;
RESET gpusort.min_rows;

--
-- What the extension has: nothing that runs with somebody else's rights, or looks names up by a search_path of
-- its own; and who may use it.
--
CREATE VIEW parts AS SELECT classid, objid FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'gpusort');
SELECT proname, lanname = 'c' AND NOT prosecdef AND proconfig IS NULL AND proowner = extowner AS safe, has_function_privilege('regress_gpusort_reader', p.oid, 'EXECUTE') AS everybody
FROM parts JOIN pg_proc p ON classid = 'pg_proc'::regclass AND p.oid = objid JOIN pg_language l ON l.oid = prolang, pg_extension WHERE extname = 'gpusort' ORDER BY 1;
SELECT relname, relkind, relowner = extowner AS safe, has_table_privilege('regress_gpusort_reader', c.oid, 'SELECT') AS everybody,
	has_table_privilege('regress_gpusort_reader', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') AS changes
FROM parts JOIN pg_class c ON classid = 'pg_class'::regclass AND c.oid = objid, pg_extension WHERE extname = 'gpusort' ORDER BY 1;
SELECT string_agg(DISTINCT classid::regclass::text, ', ') AS kinds FROM parts WHERE classid <> 'pg_type'::regclass;
-- Every column of a view has a comment.
SELECT count(*) > 25 AS columns, string_agg(relname || '.' || attname, ', ') FILTER (WHERE col_description(c.oid, attnum) IS NULL) AS without_comment
FROM parts JOIN pg_class c ON classid = 'pg_class'::regclass AND c.oid = objid JOIN pg_attribute ON attrelid = c.oid AND attnum > 0;
DROP VIEW parts;

DROP FUNCTION compared, explained, checked;
DROP VIEW names, invoked, guarded;
DROP TABLE staff, notes, inbox;
DROP ROLE regress_gpusort_reader;
