--
-- gpusort_check of every statement that may sort, and what it says besides the reasons: how a sort is done, and what would change that.
--
CREATE TABLE said (id int, k int8, t text COLLATE "C");
INSERT INTO said SELECT i, noise(i), 'text ' || i % 100 FROM generate_series(1, 5000) AS i;
CREATE INDEX said_t ON said (t DESC, k NULLS FIRST, lower(t)) WHERE id > 0;
CREATE INDEX said_hash ON said USING hash (id);
ANALYZE said;
-- Without numbers of bytes, and names of tables before their columns, which change with the version.
CREATE FUNCTION said_of(statement text, OUT sort_key text, OUT taken boolean, OUT reason text, OUT how text) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT regexp_replace(sort_key, '\ysaid(_large)?(_\d)?\.', '', 'g'), taken, reason, regexp_replace(how, '[\d.]+ [kM]B', 'N', 'g') FROM gpusort_check(statement) $$;
SET gpusort.mode = force;
SET gpusort.backend = cpu;

-- Queries, and statements that contain one.
SELECT statement, c.* FROM unnest(ARRAY['SELECT * FROM said ORDER BY k', 'INSERT INTO said SELECT * FROM said ORDER BY k', 'UPDATE said SET k = 1 WHERE id = (SELECT id FROM said ORDER BY k LIMIT 1)',
	'EXPLAIN (COSTS OFF) SELECT * FROM said ORDER BY k', 'CREATE TABLE made AS SELECT * FROM said ORDER BY k', 'SELECT * INTO made FROM said ORDER BY k',
	'EXPLAIN ANALYZE CREATE TABLE made AS SELECT * FROM said ORDER BY k', 'CREATE MATERIALIZED VIEW made AS SELECT * FROM said ORDER BY k', 'DECLARE c CURSOR FOR SELECT * FROM said ORDER BY k',
	'COPY (SELECT * FROM said ORDER BY k) TO STDOUT', 'COPY (INSERT INTO said SELECT * FROM said ORDER BY k RETURNING id) TO STDOUT']) AS statement, said_of(statement) AS c;
-- Nothing is done where the table is there; the query is planned where it isn't, or is in another schema.
CREATE TEMPORARY TABLE said_there AS SELECT 1 AS id;
SELECT statement, c.sort_key, c.taken, c.reason FROM unnest('{said,pg_temp.said,public.said_there,said_there}'::text[]) AS name,
	format('CREATE TABLE IF NOT EXISTS %s AS SELECT * FROM said ORDER BY k', name) AS statement, said_of(statement) AS c;
SELECT statement, c.sort_key, c.taken, c.reason FROM unnest('{CREATE TEMPORARY TABLE IF NOT EXISTS said,CREATE TEMPORARY TABLE IF NOT EXISTS said_there,CREATE MATERIALIZED VIEW IF NOT EXISTS said,EXPLAIN CREATE TABLE IF NOT EXISTS said}'::text[]) AS name,
	format('%s AS SELECT * FROM said ORDER BY k', name) AS statement, said_of(statement) AS c;
DROP TABLE said_there;
-- A cursor's plan is made for its first rows, that of the query is not.
SET gpusort.mode = auto;
SET cursor_tuple_fraction = 0.00001;
CREATE INDEX said_first ON said ((k % 1000));
ANALYZE said;
SELECT statement, taken FROM unnest('{"DECLARE c CURSOR FOR ",""}'::text[]) AS statement, gpusort_check(statement || 'SELECT * FROM said ORDER BY k % 1000, t') ORDER BY 1 DESC;
DROP INDEX said_first;
RESET cursor_tuple_fraction;
SET gpusort.mode = force;

-- What was prepared is planned with its parameters, as far as nothing is executed for them.
CREATE SEQUENCE said_never;
PREPARE below (int, text) AS SELECT * FROM said WHERE id < $1 AND t <> $2 ORDER BY k;
SET gpusort.mode = auto;
SET gpusort.min_rows = 100000;
CREATE FUNCTION rows_of_execute(statement text) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(substring(reason FROM '(\w+) rows?'), ', ') FROM gpusort_check(statement) $$;
SELECT rows_of_execute('EXECUTE below(1001, NULL)') AS "null", rows_of_execute('EXECUTE below(1000 + 1, ''x'')')::int BETWEEN 950 AND 1050 AS a_thousand,
	rows_of_execute('EXECUTE below(''101'', ''x'')')::int BETWEEN 90 AND 110 AS a_hundred, rows_of_execute('EXECUTE below(nextval(''said_never'')::int, ''x'')')::int BETWEEN 1600 AND 1700 AS not_known,
	rows_of_execute('EXPLAIN EXECUTE below(101, ''x'')')::int BETWEEN 90 AND 110 AS explained, rows_of_execute('CREATE TABLE made AS EXECUTE below(101, ''x'')')::int BETWEEN 90 AND 110 AS made;
SET plan_cache_mode = force_generic_plan;
SELECT rows_of_execute('EXECUTE below(101, ''x'')')::int BETWEEN 1600 AND 1700 AS generic;
RESET plan_cache_mode;
RESET gpusort.min_rows;
SELECT is_called FROM said_never;
SELECT * FROM gpusort_check('EXECUTE below(1)');
SELECT * FROM gpusort_check('EXECUTE below(''{}''::json, ''x'')');
SELECT * FROM gpusort_check('EXECUTE below(1, no_such_column)');
SELECT * FROM gpusort_check('EXECUTE nothing');
-- An error's place is that in the text of the prepared statement.
CREATE TABLE said_gone (id int);
PREPARE gone AS SELECT * FROM said_gone;
DROP TABLE said_gone;
SELECT * FROM gpusort_check('EXECUTE gone');
DEALLOCATE gone;
DEALLOCATE below;
SET gpusort.mode = force;

-- Builds of indexes: new ones, and those that there are.
CREATE TABLE said_parts (a int NOT NULL, t text COLLATE "C") PARTITION BY RANGE (a);
CREATE TABLE said_parts_1 PARTITION OF said_parts FOR VALUES FROM (0) TO (2000);
CREATE TABLE said_parts_2 PARTITION OF said_parts FOR VALUES FROM (2000) TO (9000);
INSERT INTO said_parts SELECT i, 'text ' || i % 100 FROM generate_series(1, 5000) AS i;
CREATE INDEX said_parts_t ON said_parts (t);
CREATE MATERIALIZED VIEW said_view AS SELECT id, t FROM said ORDER BY t;
CREATE INDEX said_view_id ON said_view (id) INCLUDE (t);
ANALYZE said_parts, said_view;
SELECT statement, c.* FROM unnest(ARRAY['CREATE INDEX ON said (k)', 'ALTER TABLE said ADD PRIMARY KEY (id), ADD COLUMN x int, ADD CONSTRAINT u UNIQUE (t, k)',
	'ALTER TABLE said ADD EXCLUDE USING btree (k WITH =)', 'ALTER TABLE said_parts ADD PRIMARY KEY (a)', 'REINDEX TABLE said', 'REINDEX INDEX said_t', 'REINDEX INDEX CONCURRENTLY said_hash', 'REINDEX TABLE said_parts',
	'REINDEX INDEX said_parts_t', 'REFRESH MATERIALIZED VIEW said_view', 'REFRESH MATERIALIZED VIEW CONCURRENTLY said_view', 'VACUUM (FULL) said_parts', 'VACUUM FULL said, said_view', 'REINDEX TABLE pg_depend']) AS statement, said_of(statement) AS c;
-- A table's own sort: because of gpusort; or PostgreSQL's, if nobody may read it by the index.
SELECT 'CLUSTER' AS statement, c.* FROM said_of('CLUSTER said USING said_t') AS c;
SET enable_indexscan = off;
-- REPACK is new in 19: earlier versions are asked for the statement that rebuilds the same.
CREATE FUNCTION repack_of(repack text, before text) RETURNS text LANGUAGE sql AS $$ SELECT CASE WHEN current_setting('server_version_num')::int >= 190000 THEN repack ELSE before END $$;
SELECT s.repack, c.* FROM (VALUES ('REPACK said USING INDEX said_t', 'CLUSTER said USING said_t'), ('REPACK (CONCURRENTLY) said USING INDEX said_t', 'CLUSTER said USING said_t'),
	('REPACK said', 'VACUUM FULL said'), ('REPACK (VERBOSE, ANALYZE) said_parts (a)', 'VACUUM FULL said_parts'),
	('REPACK said_parts USING INDEX said_parts_t', 'CLUSTER said_parts USING said_parts_t')) AS s (repack, before), said_of(repack_of(s.repack, s.before)) AS c;
SELECT 'of partitions' AS statement, c.* FROM said_of('CLUSTER said_parts USING said_parts_t') AS c;
SELECT * FROM gpusort_check('CLUSTER said');
ALTER TABLE said_parts_1 CLUSTER ON said_parts_1_t_idx;
SELECT sort_key, taken FROM gpusort_check('CLUSTER said_parts_1');
SELECT sort_key, taken FROM gpusort_check(repack_of('REPACK said_parts_1 USING INDEX', 'CLUSTER said_parts_1'));
SELECT * FROM gpusort_check('CLUSTER said USING said_nothing');
SELECT * FROM gpusort_check('CLUSTER said USING said_view_id');
RESET enable_indexscan;
-- Those that are left to PostgreSQL.
SET gpusort.mode = off;
SELECT c.* FROM said_of('REINDEX TABLE said') AS c;
SET gpusort.mode = auto;
CREATE TABLE said_few AS SELECT i AS k FROM generate_series(1, 10) AS i;
CREATE INDEX said_few_k ON said_few (k);
ANALYZE said_few;
SELECT c.* FROM said_of('REINDEX TABLE said_few') AS c;
SET gpusort.mode = force;
SELECT c.* FROM said_of('REINDEX TABLE said_few') AS c;

-- Sorts that have no time of their own, and one that has none that is known.
SET enable_hashagg = off;
SELECT sort_key, taken, expected_ms > 0 AS expected, postgresql_ms > 0.01 AS of_postgresql FROM gpusort_check('SELECT count(*) FROM said GROUP BY GROUPING SETS ((id), (k))');
RESET enable_hashagg;
SELECT sort_key, taken, expected_ms, postgresql_ms FROM gpusort_check('SELECT id % 3, string_agg(t, '','' ORDER BY t), array_agg(t ORDER BY t) FROM said GROUP BY 1 HAVING rank(7) WITHIN GROUP (ORDER BY k) > 1') WHERE sort_key LIKE '%BY k)';
-- Windows above the same sort are told of once; so many rows of each group are not dropped that it is no use.
SELECT sort_key, taken, substring(how FROM '; (.*)') AS how FROM gpusort_check('SELECT row_number() OVER (ORDER BY k), lag(id) OVER (ORDER BY k ROWS UNBOUNDED PRECEDING) FROM said');
SELECT places, substring(how FROM '; (only.*)') AS how FROM unnest('{3,1000}'::int[]) AS places, gpusort_check(format('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY t ORDER BY k) AS place FROM said) AS s WHERE place <= %s', places));
-- How many processes do that: what is executed in parallel, and what is not.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 1;
ALTER TABLE said SET (parallel_workers = 1);
CREATE FUNCTION said_unsafe(int) RETURNS boolean IMMUTABLE PARALLEL UNSAFE LANGUAGE plpgsql AS 'BEGIN RETURN $1 > 0; END';
CREATE FUNCTION said_safe(int) RETURNS boolean STABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN $1 > 0; END';
CREATE TEMP TABLE said_temp AS SELECT id, k FROM said;
ALTER TABLE said_temp SET (parallel_workers = 1);
SELECT statement, substring(how FROM '\d process(?:es)?') AS how FROM unnest(ARRAY['SELECT * FROM said WHERE said_safe(id) ORDER BY k, t', 'EXPLAIN SELECT * FROM said WHERE said_safe(id) ORDER BY k, t', 'COPY (SELECT * FROM said WHERE said_safe(id) ORDER BY k, t) TO STDOUT', 'CREATE TABLE made AS SELECT * FROM said WHERE said_safe(id) ORDER BY k, t',
	'DECLARE c CURSOR FOR SELECT * FROM said WHERE said_safe(id) ORDER BY k, t', 'REFRESH MATERIALIZED VIEW said_view', 'CREATE INDEX ON said (k)', 'CREATE INDEX ON said (k) WHERE id > 5', 'CREATE INDEX ON said (k) WHERE said_unsafe(id)', 'CREATE INDEX ON said (said_unsafe(id))', 'CREATE INDEX ON said_temp (k)']) AS statement,
	gpusort_check(statement);
DROP TABLE said_temp;
DROP FUNCTION said_unsafe, said_safe;
ALTER TABLE said RESET (parallel_workers);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

-- Nothing is sorted.
SELECT statement, c.* FROM unnest(ARRAY['SELECT 1', 'SELECT * FROM said', 'SELECT * FROM said WHERE id > 0 ORDER BY t DESC, k NULLS FIRST, lower(t) LIMIT 1', 'COPY said TO STDOUT', 'COPY said FROM STDIN',
	'REFRESH MATERIALIZED VIEW said_view WITH NO DATA']) AS statement, said_of(statement) AS c;
CREATE TABLE bare (a int);
SELECT c.* FROM said_of('REINDEX TABLE bare') AS c;
CREATE UNIQUE INDEX said_id ON said (id);
SELECT statement, c.* FROM unnest(ARRAY['CREATE INDEX ON ONLY said_parts (a)', 'ALTER TABLE ONLY said_parts ADD PRIMARY KEY (a)', 'CREATE INDEX IF NOT EXISTS said_id ON said (k)', 'ALTER TABLE said ADD UNIQUE USING INDEX said_id']) AS statement, said_of(statement) AS c;
SELECT sort_key, taken FROM said_of('CREATE INDEX IF NOT EXISTS said_k ON said (k)');
SELECT sort_key, taken FROM said_of('ALTER TABLE said ADD PRIMARY KEY USING INDEX said_id, ADD UNIQUE (k)');
DROP INDEX said_id;
-- Tables that inherit are maintained each for itself.
CREATE TABLE said_child () INHERITS (said);
CREATE INDEX said_child_k ON said_child (k);
SELECT count(*) AS rows, count(*) FILTER (WHERE sort_key LIKE 'said_child%') AS of_child FROM unnest('{REINDEX TABLE said,VACUUM FULL said,CLUSTER said USING said_t}'::text[]) AS statement, gpusort_check(statement);
DROP TABLE said_child;
-- As many columns as an index may have.
SELECT format('CREATE TABLE said_wide (%s)', string_agg('c' || i || ' int', ', ')) FROM generate_series(1, 33) AS i \gexec
SELECT string_agg('c' || i, ', ') AS columns FROM generate_series(1, 32) AS i \gset
SELECT taken FROM gpusort_check('CREATE INDEX ON said_wide (' || :'columns' || ')');
SELECT taken FROM gpusort_check('CREATE INDEX ON said_wide (' || :'columns' || ', c33)');
DROP TABLE said_wide;
-- Statements that have none, several, and what is not there.
SELECT * FROM gpusort_check('VACUUM said');
SELECT * FROM gpusort_check('VACUUM FULL');
SELECT * FROM gpusort_check(repack_of('REPACK USING INDEX', 'CLUSTER'));
SELECT * FROM gpusort_check(repack_of('REPACK', 'VACUUM FULL'));
SELECT * FROM gpusort_check('REINDEX SCHEMA public');
SELECT * FROM gpusort_check('ALTER TABLE said ADD CHECK (id > 0)');
SELECT * FROM gpusort_check('ALTER VIEW said RENAME TO x');
SELECT * FROM gpusort_check('CREATE TABLE made (id int PRIMARY KEY)');
SELECT * FROM gpusort_check('SELECT 1; SELECT 2');
SELECT * FROM gpusort_check(' -- nothing');
SELECT * FROM gpusort_check('ALTER TABLE said ADD COLUMN x int UNIQUE');
SELECT * FROM gpusort_check('REINDEX INDEX said');
SELECT * FROM gpusort_check('REFRESH MATERIALIZED VIEW said');
-- A rule makes two queries of one statement.
CREATE RULE twice AS ON INSERT TO bare DO ALSO INSERT INTO said_few SELECT k FROM said ORDER BY t;
SELECT sort_key, taken FROM said_of('INSERT INTO bare SELECT id FROM said ORDER BY k');
-- Nothing has happened.
SELECT to_regclass('made') AS made, (SELECT count(*) FROM said) AS said, (SELECT count(*) FROM pg_index WHERE indrelid = 'said'::regclass) AS indexes, (SELECT relispopulated FROM pg_class WHERE relname = 'said_view') AS populated;
DROP TABLE said_parts, bare;

-- Who may.  A materialized view's query is planned with its owner's rights, and what he calls has no more.
CREATE ROLE regress_gpusort_said_owner;
CREATE ROLE regress_gpusort_said_reader;
CREATE SCHEMA said_schema AUTHORIZATION regress_gpusort_said_owner;
GRANT SELECT ON said TO regress_gpusort_said_owner;
SET ROLE regress_gpusort_said_owner;
CREATE FUNCTION said_schema.who() RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'planned by %', current_user; RETURN 'text 1'; END $$;
CREATE MATERIALIZED VIEW said_schema.theirs AS SELECT * FROM public.said WHERE t = said_schema.who() ORDER BY k WITH NO DATA;
RESET ROLE;
SELECT sort_key, taken FROM said_of('REFRESH MATERIALIZED VIEW said_schema.theirs');
SELECT current_user = session_user AS as_before;
-- So are the expressions of an index that is built again.
SET ROLE regress_gpusort_said_owner;
CREATE FUNCTION said_schema.one() RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
CREATE TABLE said_schema.kept AS SELECT id FROM public.said;
CREATE INDEX kept_id ON said_schema.kept ((id + said_schema.one()));
CREATE OR REPLACE FUNCTION said_schema.one() RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
	IF current_user <> 'regress_gpusort_said_owner' THEN
		RAISE EXCEPTION 'evaluated by %', current_user;
	END IF;
	RETURN 1;
END $$;
RESET ROLE;
ALTER INDEX said_schema.kept_id SET (fillfactor = 80); -- what is known of the index is forgotten
SELECT taken FROM gpusort_check('REINDEX TABLE said_schema.kept');
ALTER INDEX said_schema.kept_id SET (fillfactor = 90);
SELECT taken FROM gpusort_check('CLUSTER said_schema.kept USING kept_id');
SELECT current_user = session_user AS as_before;
GRANT USAGE ON SCHEMA said_schema TO regress_gpusort_said_reader;
-- Nobody else has his rights there.
GRANT SELECT ON said_schema.kept TO regress_gpusort_said_reader;
ALTER INDEX said_schema.kept_id SET (fillfactor = 70);
SET ROLE regress_gpusort_said_reader;
DO $$ BEGIN PERFORM * FROM gpusort_check('REINDEX TABLE said_schema.kept'); EXCEPTION WHEN raise_exception THEN RAISE NOTICE '%', sqlerrm; END $$;
SELECT * FROM gpusort_check('REINDEX TABLE said');
SELECT * FROM gpusort_check('REINDEX INDEX said_t');
SELECT * FROM gpusort_check('CLUSTER said USING said_t');
SELECT * FROM gpusort_check('ALTER TABLE said ADD UNIQUE (id)');
SELECT * FROM gpusort_check('COPY (SELECT * FROM said ORDER BY k) TO STDOUT');
DO $$ BEGIN PERFORM * FROM gpusort_check('REFRESH MATERIALIZED VIEW said_schema.theirs'); EXCEPTION WHEN insufficient_privilege THEN RAISE NOTICE 'not allowed'; END $$;
RESET ROLE;
GRANT SELECT ON said TO regress_gpusort_said_reader;
SET ROLE regress_gpusort_said_reader;
SELECT count(*) FROM gpusort_check('REINDEX TABLE said');
RESET ROLE;
PREPARE theirs AS SELECT * FROM said_view ORDER BY id DESC;
SET ROLE regress_gpusort_said_reader;
SELECT * FROM gpusort_check('EXECUTE theirs');
RESET ROLE;
DEALLOCATE theirs;
DROP SCHEMA said_schema CASCADE;
REVOKE ALL ON said FROM regress_gpusort_said_reader, regress_gpusort_said_owner;
DROP ROLE regress_gpusort_said_owner, regress_gpusort_said_reader;
DROP MATERIALIZED VIEW said_view;

-- How: in memory or not, and by how many processes.  Who does as it is advised has no temporary files.
CREATE TABLE said_large AS SELECT i AS id, noise(i) AS k, md5(i::text) COLLATE "C" AS t FROM generate_series(1, 60000) AS i;
ANALYZE said_large;
SET work_mem = '64kB';
CREATE FUNCTION files_of(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || statement LOOP
		IF line ~ 'Disk:' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;
-- Sets what is advised: is it said to be in memory then, and is it?
CREATE FUNCTION follow(statement text, OUT said text, OUT setting text, OUT said_before boolean, OUT before boolean, OUT said_then boolean, OUT then_ boolean) LANGUAGE plpgsql AS $$
DECLARE
	how text := (SELECT c.how FROM gpusort_check(statement) AS c);
	value text;
BEGIN
	said := regexp_replace(regexp_replace(how, '[\d.]+ [kM]B of temp', 'N of temp'), 'mem of about \d+ MB', 'mem of about N');
	setting := substring(how FROM '; a (\S+) of about');
	value := substring(how FROM '; a \S+ of about (\d+ MB)');
	said_before := how ~ 'about \S+ [kM]B of temporary files';
	before := files_of(statement);
	PERFORM set_config(setting, value, true);
	how := (SELECT c.how FROM gpusort_check(statement) AS c);
	said_then := how ~ 'about \S+ [kM]B of temporary files';
	then_ := files_of(statement);
END $$;
BEGIN;
SELECT f.* FROM follow('SELECT * FROM said_large ORDER BY k') AS f;
ROLLBACK;
BEGIN;
SELECT f.* FROM follow('SELECT * FROM said_large ORDER BY t, k') AS f;
ROLLBACK;
BEGIN;
SET LOCAL gpusort.work_mem = '1MB';
SELECT f.* FROM follow('SELECT * FROM said_large ORDER BY k') AS f;
ROLLBACK;
BEGIN;
SET LOCAL gpusort.work_mem = '100MB';
SET LOCAL gpusort.max_work_mem = '1MB';
SELECT f.* FROM follow('SELECT * FROM said_large ORDER BY k') AS f;
ROLLBACK;
-- Memory that is enough for what is expected, and hardly more; and twice as much.
SET work_mem = '100MB';
SELECT substring(how FROM 'about (\d+)[.\d]* MB of memory')::int + 1 AS enough FROM gpusort_check('SELECT * FROM said_large ORDER BY k') \gset
SELECT times, regexp_replace(how, '[\d.]+ [kM]B', 'N', 'g') AS how FROM generate_series(1, 2) AS times,
	gpusort_check('SELECT * FROM said_large ORDER BY k' || left(set_config('work_mem', times * :enough || 'MB', false), 0));
SET maintenance_work_mem = '100MB';
SELECT substring(how FROM 'about (\d+)[.\d]* MB of memory')::int + 1 AS enough FROM gpusort_check('CREATE INDEX ON said_large (t)') \gset
SELECT times, regexp_replace(how, '[\d.]+ [kM]B', 'N', 'g') AS how FROM generate_series(1, 2) AS times,
	gpusort_check('CREATE INDEX ON said_large (t)' || left(set_config('maintenance_work_mem', times * :enough || 'MB', false), 0));
RESET maintenance_work_mem;
SET work_mem = '64kB';
-- Several processes, which have work_mem each, and so need less of it.
CREATE FUNCTION advised_memory(statement text) RETURNS float8 LANGUAGE sql AS $$ SELECT substring(how FROM 'mem of about (\d+) MB')::float8 FROM gpusort_check(statement) $$;
SELECT advised_memory('SELECT * FROM said_large ORDER BY k') AS serial \gset
ALTER TABLE said_large SET (parallel_workers = 2);
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT advised_memory('SELECT * FROM said_large ORDER BY k') < 0.7 * :serial AS less;
BEGIN;
SELECT f.* FROM follow('SELECT * FROM said_large ORDER BY k') AS f;
ROLLBACK;
-- Each of them for itself.
SET work_mem = '2MB';
SET enable_hashjoin = off;
SELECT sort_key, taken, regexp_replace(how, '[\d.]+ [kM]B', 'N', 'g') AS how FROM gpusort_check('SELECT count(*) FROM said_large a JOIN said_large b ON a.k + 1 = b.k + 1');
SET gpusort.mode = off;
SELECT sort_key, taken, reason, regexp_replace(how, '[\d.]+ [kM]B', 'N', 'g') AS how FROM gpusort_check('SELECT count(*) FROM said_large a JOIN said_large b ON a.k + 1 = b.k + 1');
RESET enable_hashjoin;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
-- PostgreSQL's own: in memory, in files, a heap, group by group.
SET work_mem = '64kB';
CREATE INDEX said_large_id ON said_large (id);
SELECT sort, regexp_replace(how, '[\d.]+ [kM]B', 'N', 'g') AS how FROM unnest('{said_large,"said_large WHERE id < 100","said_large LIMIT"}'::text[]) AS sort,
	gpusort_check(CASE WHEN sort LIKE '%LIMIT' THEN 'SELECT * FROM said_large ORDER BY k LIMIT 10' ELSE format('SELECT * FROM %s ORDER BY k', sort) END);
RESET work_mem;
-- Sizes in words.
SELECT mem, substring(how FROM 'about ([\d.]+ [kM]B) of memory') AS memory FROM unnest('{512kB,4MB,300MB}'::text[]) AS mem,
	gpusort_check('SELECT g FROM generate_series(1, 100000000) AS g ORDER BY g::text COLLATE "C"' || left(set_config('work_mem', mem, false), 0)) AS c;
RESET work_mem;

-- What would have a sort taken does.
SET gpusort.mode = auto;
CREATE FUNCTION advised(statement text) RETURNS TABLE (sort_key text, taken boolean, reason text) LANGUAGE sql AS $$
	SELECT sort_key, taken, regexp_replace(reason, '\d+(\.\d+)?', 'N', 'g') FROM gpusort_check(statement) $$;
SELECT c.* FROM unnest(ARRAY['SELECT * FROM said_few ORDER BY k', 'SELECT * FROM said_large ORDER BY k LIMIT 3', 'REINDEX TABLE said_few']) AS statement, advised(statement) AS c;
SET gpusort.mode = force;
SELECT c.* FROM unnest(ARRAY['SELECT * FROM said_few ORDER BY k', 'SELECT * FROM said_large ORDER BY k LIMIT 3', 'REINDEX TABLE said_few']) AS statement, advised(statement) AS c;
SET gpusort.mode = auto;
-- Another plan.
SELECT c.* FROM advised('SELECT left(t, 1), count(*) FROM said_large GROUP BY 1') AS c;
SET enable_hashagg = off;
SELECT c.* FROM advised('SELECT left(t, 1), count(*) FROM said_large GROUP BY 1') AS c;
RESET enable_hashagg;
-- Sorts inside aggregates, which the order of the rows does not spare, are told; others are not.
SET gpusort.mode = force;
SELECT c.sort_key, c.taken, c.reason FROM unnest(ARRAY['percentile_disc(0.5) WITHIN GROUP (ORDER BY k), rank(5) WITHIN GROUP (ORDER BY k) FROM said_large', 'id % 10, mode() WITHIN GROUP (ORDER BY t), percentile_disc(1) WITHIN GROUP (ORDER BY k) FROM said_large GROUP BY 1',
	'percentile_disc(0.5) WITHIN GROUP (ORDER BY k + 1) FILTER (WHERE id > 5) FROM said_large']) AS statement, said_of('SELECT ' || statement) AS c ORDER BY statement, c.taken, c.sort_key COLLATE "C";
-- A sort above is named and judged by the query's aggregates, not by what computes them, though their groups' columns come through it.
SET gpusort.mode = auto;
SET gpusort.min_rows = 100;
SET enable_hashagg = off;
SELECT c.sort_key, c.taken, regexp_replace(c.reason, '[\d.]+ ms', 'N ms', 'g') AS reason FROM said_of('SELECT id % 4000, left(t, 1), count(DISTINCT k) FROM said_large GROUP BY 1, 2 ORDER BY count(DISTINCT k) DESC, 2, 1 LIMIT 5') AS c ORDER BY c.taken;
RESET enable_hashagg;

-- A build that writes temporary files, and one with the memory that is advised.
RESET ALL;
SET gpusort.mode = force;
SET gpusort.backend = cpu;
SET maintenance_work_mem = '1MB';
\set VERBOSITY terse
CREATE INDEX said_large_t ON said_large (t);
SELECT substring(how FROM 'a maintenance_work_mem of about (\d+ MB)') AS advised, regexp_replace(how, '[\d.]+ [kM]B', 'N', 'g') AS how FROM gpusort_check('REINDEX INDEX said_large_t') \gset
\echo :how
-- An index that there is not yet is looked at as one that there is.
SELECT n.how = o.how AS same FROM gpusort_check('CREATE INDEX ON said_large (t)') AS n, gpusort_check('REINDEX INDEX said_large_t') AS o;
SELECT n.how = o.how AS same FROM gpusort_check('CREATE INDEX ON said_large (id)') AS n, gpusort_check('REINDEX INDEX said_large_id') AS o;
SET maintenance_work_mem = :'advised';
SELECT c.* FROM said_of('REINDEX INDEX said_large_t') AS c;
REINDEX INDEX said_large_t;
\set VERBOSITY default
DROP TABLE said, said_few, said_large;
DROP SEQUENCE said_never;
