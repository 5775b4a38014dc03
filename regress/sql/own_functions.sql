--
-- Which functions workers of a sort's own may call: of each function in pg_proc, called with columns of its types, whether a cursor's sort has such workers.
--
CREATE TYPE f_mood AS ENUM ('down', 'up');
CREATE TYPE f_pair AS (a int, b int);
-- A column of each type that a function of PostgreSQL's own takes, but for pseudo-types.
DO $$ BEGIN
	EXECUTE (SELECT format('CREATE TABLE f (k bigint, pair f_pair, mood f_mood, %s)', string_agg(format('c%s %s', oid, oid::regtype), ', ' ORDER BY oid))
			 FROM pg_type WHERE typtype <> 'p' AND oid <> 'cstring[]'::regtype AND oid IN (SELECT unnest(proargtypes) FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace));
END $$;
ALTER TABLE f SET (parallel_workers = 3);
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET gpusort.mode = force;
-- What a function is called with.
CREATE FUNCTION argument(type oid) RETURNS text LANGUAGE sql AS $$
	SELECT CASE type::regtype::text
		WHEN 'cstring' THEN 'textout(c25)'
		WHEN 'anyarray' THEN 'c1007' WHEN 'anycompatiblearray' THEN 'c1007'
		WHEN 'anyenum' THEN 'mood'
		WHEN 'anyrange' THEN 'c3904' WHEN 'anycompatiblerange' THEN 'c3904'
		WHEN 'anymultirange' THEN 'c4451' WHEN 'anycompatiblemultirange' THEN 'c4451'
		WHEN 'record' THEN 'pair' WHEN 'record[]' THEN 'ARRAY[pair]'
		WHEN '"any"' THEN 'c1007' WHEN 'anyelement' THEN 'c23' WHEN 'anynonarray' THEN 'c23' WHEN 'anycompatible' THEN 'c23' WHEN 'anycompatiblenonarray' THEN 'c23'
		ELSE 'c' || type END $$;
CREATE FUNCTION call(function pg_proc) RETURNS text LANGUAGE sql AS $$
	SELECT format('pg_catalog.%I(%s)', function.proname, string_agg(CASE WHEN n = function.pronargs AND function.provariadic <> 0 THEN 'VARIADIC ' ELSE '' END || argument(type), ', ' ORDER BY n))
	FROM unnest(function.proargtypes::oid[]) WITH ORDINALITY AS a (type, n) $$;
CREATE FUNCTION is_called_in_workers(function pg_proc) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RETURN plan_contains(format('DECLARE c CURSOR FOR SELECT k FROM f ORDER BY (%s IS NULL), k', call(function)), 'Parallel Custom Scan (GpuSortFeed)');
EXCEPTION WHEN OTHERS THEN -- it can't be called like this
	RETURN false;
END $$;

-- All but those in SQL, whose body stands in the place of a call, and constants.
CREATE TABLE f_called AS SELECT p.* FROM pg_proc p WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND prolang <> 14 AND NOT (pronargs = 0 AND provolatile = 'i') AND is_called_in_workers(p);

-- What is wrong with any of them: they must run in PostgreSQL's own code alone, and there must not be a type behind theirs that a user has made, but for enums.
SELECT oid::regprocedure, provolatile, proparallel, proretset FROM f_called
WHERE prolang <> (SELECT oid FROM pg_language WHERE lanname = 'internal') OR provolatile = 'v' OR proparallel <> 's' OR proretset OR prosecdef
	OR EXISTS (SELECT FROM unnest(proargtypes::oid[] || prorettype) AS type JOIN pg_type t ON t.oid = type LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typsubscript = 'array_subscript_handler'::regproc
			   WHERE t.typtype <> 'b' AND type NOT IN ('cstring'::regtype, 'anyenum'::regtype) OR e.typtype <> 'b' OR t.typnamespace <> 'pg_catalog'::regnamespace);
-- There are as many in every version: one that is new has to be looked at first, and written into src/plan/own_functions.c.
SELECT count(*) FROM f_called;
-- Those that read more than their arguments.  Workers must have what they read: the transaction's time, and settings.  (date_trunc with a time zone is immutable from 19 on.)
SELECT oid::regprocedure AS stable FROM f_called WHERE provolatile = 's' AND oid <> 'date_trunc(text, timestamptz, text)'::regprocedure ORDER BY proname COLLATE "C", oid;

-- A function that is declared otherwise since.
BEGIN;
SELECT is_called_in_workers(p) FROM pg_proc p WHERE oid = 'reverse(text)'::regprocedure;
ALTER FUNCTION reverse(text) VOLATILE;
SELECT is_called_in_workers(p) FROM pg_proc p WHERE oid = 'reverse(text)'::regprocedure;
ALTER FUNCTION reverse(text) IMMUTABLE PARALLEL RESTRICTED;
SELECT is_called_in_workers(p) FROM pg_proc p WHERE oid = 'reverse(text)'::regprocedure;
ROLLBACK;

DROP TABLE f, f_called;
DROP FUNCTION argument, call, is_called_in_workers;
DROP TYPE f_mood, f_pair;
