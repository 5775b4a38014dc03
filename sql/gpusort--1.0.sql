/* sql/gpusort--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION gpusort" to load this file. \quit

CREATE FUNCTION gpusort_check(query text, OUT sort_key text, OUT taken boolean, OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION gpusort_check(text) IS
'one row a sort in the query''s plan: is it taken by gpusort, and why not; plans the query, does not run it';
