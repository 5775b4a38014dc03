/* sql/gpusort--1.1.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION gpusort" to load this file. \quit

-- First what the library of 1.0 has not: the server may have that one loaded still.
DO $$
BEGIN
	CREATE FUNCTION gpusort_version() RETURNS text
	AS 'MODULE_PATHNAME'
	LANGUAGE C STRICT STABLE PARALLEL SAFE;
EXCEPTION WHEN undefined_function THEN
	RAISE EXCEPTION USING ERRCODE = SQLSTATE,
		MESSAGE = 'the library of gpusort is older than its SQL, version 1.1',
		DETAIL = SQLERRM,
		HINT = 'Install the library of version 1.1 as well, and try a new session; if gpusort is in shared_preload_libraries, restart the server.';
END $$;

COMMENT ON FUNCTION gpusort_version() IS
'version of the library in this session; pg_extension has the version of the SQL objects';

CREATE FUNCTION gpusort_preloaded(OUT setting text, OUT hint text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1;

COMMENT ON FUNCTION gpusort_preloaded() IS
'the setting that loads gpusort into new sessions of this role in this database; if there is none, what to do. Without such a setting only sessions that have called a function of the extension, as this one has now, use gpusort';

CREATE FUNCTION gpusort_check(query text, OUT sort_key text, OUT taken boolean, OUT reason text,
	OUT expected_ms double precision, OUT postgresql_ms double precision, OUT how text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION gpusort_check(text) IS
'one row for each sort in the plan of the statement, or for each index that it builds: whether gpusort takes it, and why not; the expected milliseconds of gpusort''s and of PostgreSQL''s sort, without the input; how the sort would be done. Plans the statement, and does not execute it';

CREATE FUNCTION gpusort_devices(OUT device text, OUT name text, OUT memory bigint, OUT max_memory bigint,
	OUT free_memory bigint, OUT jobs integer, OUT state text, OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE;

COMMENT ON FUNCTION gpusort_devices() IS
'one row for each device that can sort: its memory in bytes, the part that sorts may use, the free part of that, the number of present sorts; or why the device is unavailable';

CREATE FUNCTION gpusort_stat_get(OUT device text, OUT sorts bigint, OUT parallel_sorts bigint, OUT index_builds bigint, OUT rows bigint, OUT bytes bigint,
	OUT device_time double precision, OUT spills bigint, OUT temp_bytes bigint, OUT corrections bigint, OUT fallbacks bigint, OUT fallback_reasons jsonb,
	OUT declined bigint, OUT declined_reasons jsonb, OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 3;

CREATE FUNCTION gpusort_stat_get_cluster_sorts() RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW pg_stat_gpusort AS
SELECT s.*, p.setting IS NOT NULL AS preloaded,
	CASE WHEN s.device OPERATOR(pg_catalog.=) 'postgresql' THEN gpusort_stat_get_cluster_sorts() END AS cluster_sorts
FROM gpusort_stat_get() AS s, gpusort_preloaded() AS p;
GRANT SELECT ON pg_stat_gpusort TO PUBLIC;

COMMENT ON VIEW pg_stat_gpusort IS
'counters of sorts: one row for each device, and one row for sorts that were left to PostgreSQL';
COMMENT ON COLUMN pg_stat_gpusort.device IS 'cpu or cuda; postgresql: sorts that were left to PostgreSQL';
COMMENT ON COLUMN pg_stat_gpusort.sorts IS 'completed sorts';
COMMENT ON COLUMN pg_stat_gpusort.parallel_sorts IS 'sorts that several processes fed';
COMMENT ON COLUMN pg_stat_gpusort.index_builds IS 'sorts for index builds';
COMMENT ON COLUMN pg_stat_gpusort.rows IS 'rows to be sorted';
COMMENT ON COLUMN pg_stat_gpusort.bytes IS 'bytes of keys and rows';
COMMENT ON COLUMN pg_stat_gpusort.device_time IS 'total time of sorting, in milliseconds, without reading the input, transfers, temporary files and returning rows';
COMMENT ON COLUMN pg_stat_gpusort.spills IS 'sorts that wrote temporary files';
COMMENT ON COLUMN pg_stat_gpusort.temp_bytes IS 'bytes written to temporary files';
COMMENT ON COLUMN pg_stat_gpusort.corrections IS 'rows that were moved because their keys guessed wrongly how the C library compares text';
COMMENT ON COLUMN pg_stat_gpusort.fallbacks IS 'sorts that the device could not complete';
COMMENT ON COLUMN pg_stat_gpusort.fallback_reasons IS 'number of fallbacks for each reason';
COMMENT ON COLUMN pg_stat_gpusort.declined IS 'sorts in plans that are left to PostgreSQL';
COMMENT ON COLUMN pg_stat_gpusort.declined_reasons IS 'number of declined sorts for each reason';
COMMENT ON COLUMN pg_stat_gpusort.stats_reset IS 'time at which the counters were last reset';
COMMENT ON COLUMN pg_stat_gpusort.preloaded IS 'whether a setting loads gpusort into new sessions of this role in this database (gpusort_preloaded())';
COMMENT ON COLUMN pg_stat_gpusort.cluster_sorts IS 'tables whose rows CLUSTER or REPACK sorts because of gpusort, instead of fetching them by the index';

CREATE FUNCTION gpusort_stat_reset() RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE;
REVOKE ALL ON FUNCTION gpusort_stat_reset() FROM PUBLIC;

COMMENT ON FUNCTION gpusort_stat_reset() IS 'resets all counters of pg_stat_gpusort to zero';

CREATE FUNCTION gpusort_stat_get_progress(OUT pid integer, OUT datid oid, OUT device text, OUT phase text, OUT rows_in bigint,
	OUT rows_expected bigint, OUT rows_out bigint, OUT bytes_in bigint, OUT processes integer, OUT started_at timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 10;

CREATE VIEW pg_stat_progress_gpusort AS
SELECT s.pid, s.datid, d.datname, s.device, s.phase, s.rows_in, s.rows_expected, s.rows_out, s.bytes_in, s.processes, s.started_at
FROM gpusort_stat_get_progress() AS s LEFT JOIN pg_catalog.pg_database AS d ON d.oid OPERATOR(pg_catalog.=) s.datid;
GRANT SELECT ON pg_stat_progress_gpusort TO PUBLIC;

COMMENT ON VIEW pg_stat_progress_gpusort IS 'progress of sorts: one row for each process that is sorting';
COMMENT ON COLUMN pg_stat_progress_gpusort.pid IS 'process ID of the process that sorts';
COMMENT ON COLUMN pg_stat_progress_gpusort.datid IS 'OID of the database of the process';
COMMENT ON COLUMN pg_stat_progress_gpusort.datname IS 'name of the database of the process';
COMMENT ON COLUMN pg_stat_progress_gpusort.device IS 'cpu or cuda';
COMMENT ON COLUMN pg_stat_progress_gpusort.phase IS 'phase of the sort';
COMMENT ON COLUMN pg_stat_progress_gpusort.rows_in IS 'rows read, in all processes that feed the sort';
COMMENT ON COLUMN pg_stat_progress_gpusort.rows_expected IS 'rows that the planner expected';
COMMENT ON COLUMN pg_stat_progress_gpusort.rows_out IS 'rows returned';
COMMENT ON COLUMN pg_stat_progress_gpusort.bytes_in IS 'bytes of the keys and rows read';
COMMENT ON COLUMN pg_stat_progress_gpusort.processes IS 'processes that feed the sort';
COMMENT ON COLUMN pg_stat_progress_gpusort.started_at IS 'time at which the sort began';

CREATE FUNCTION gpusort_stat_get_queue(OUT device text, OUT waits bigint, OUT given_up bigint, OUT wait_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1;

CREATE VIEW pg_stat_gpusort_queue AS SELECT * FROM gpusort_stat_get_queue();
GRANT SELECT ON pg_stat_gpusort_queue TO PUBLIC;

COMMENT ON VIEW pg_stat_gpusort_queue IS
'waits of sorts for memory of a device';
COMMENT ON COLUMN pg_stat_gpusort_queue.device IS 'device that sorts wait for';
COMMENT ON COLUMN pg_stat_gpusort_queue.waits IS 'sorts that waited in the queue';
COMMENT ON COLUMN pg_stat_gpusort_queue.given_up IS 'sorts that waited without getting memory; the CPU did them';
COMMENT ON COLUMN pg_stat_gpusort_queue.wait_time IS 'total waiting time, in milliseconds';

-- The library is in this session now, and all looks well here.  Messages below WARNING are kept back in scripts.
DO $$
DECLARE
	to_do text := (SELECT hint FROM gpusort_preloaded());
BEGIN
	IF to_do IS NOT NULL THEN
		IF pg_catalog.current_setting('client_min_messages') OPERATOR(pg_catalog.=) 'warning' THEN
			PERFORM pg_catalog.set_config('client_min_messages', 'notice', true);
		END IF;
		RAISE NOTICE 'new sessions sort without gpusort'
			USING DETAIL = 'It is not in shared_preload_libraries, session_preload_libraries or local_preload_libraries; its functions load it into the session that calls them alone.',
			HINT = to_do;
	END IF;
END $$;
