--
-- CLUSTER sorts a table's rows where gpusort expects that to be faster than an index scan; the result is PostgreSQL's.
--
SET client_min_messages = warning;
SET gpusort.create_index = off;
-- PostgreSQL by itself reads each of these tables by the index.
SET cpu_operator_cost = 1;
-- How many tables were sorted because of gpusort, in this session.
CREATE FUNCTION cluster_sorts() RETURNS bigint LANGUAGE sql AS $$ SELECT cluster_sorts FROM pg_stat_gpusort WHERE device = 'postgresql' $$;
CREATE TABLE cl (gone int, id int, k int, t text COLLATE "C", n numeric, wide text);
ALTER TABLE cl ALTER wide SET STORAGE EXTERNAL;
CREATE FUNCTION fill_cl() RETURNS void LANGUAGE sql AS $$
	TRUNCATE cl;
	INSERT INTO cl (id, k, t, n, wide) SELECT i, nullif(noise(i) % 200, 7), 't' || noise(i, 1) % 1000, noise(i, 2) / 1000.0, CASE WHEN i % 50 = 0 THEN repeat(md5(i::text), 100) END FROM generate_series(1, 3000) AS i;
	DELETE FROM cl WHERE id % 10 = 3;
$$;
SELECT fill_cl();
ALTER TABLE cl DROP gone;
CREATE OR REPLACE FUNCTION fill_cl() RETURNS void LANGUAGE sql AS $$
	TRUNCATE cl;
	INSERT INTO cl SELECT i, nullif(noise(i) % 200, 7), 't' || noise(i, 1) % 1000, noise(i, 2) / 1000.0, CASE WHEN i % 50 = 0 THEN repeat(md5(i::text), 100) END FROM generate_series(1, 3000) AS i;
	DELETE FROM cl WHERE id % 10 = 3;
$$;
-- Clusters the table by an index in the order: was it sorted because of gpusort, how many rows are out of order, and are the rows the same?
CREATE FUNCTION clustered(mode text, ordering text, OUT sorts bigint, OUT misplaced bigint, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	before numeric;
	sorted bigint := cluster_sorts();
BEGIN
	PERFORM fill_cl();
	SELECT sum(hashtextextended(cl::text, 0)) INTO before FROM cl;
	EXECUTE format('CREATE INDEX cl_index ON cl (%s)', ordering);
	PERFORM set_config('gpusort.mode', mode, true);
	CLUSTER cl USING cl_index;
	PERFORM set_config('gpusort.mode', 'off', true);
	EXECUTE format('SELECT count(*) FROM (SELECT rank < lag(rank) OVER (ORDER BY place) AS wrong FROM (SELECT ctid AS place, rank() OVER (ORDER BY %s) FROM cl) r) s WHERE wrong', ordering) INTO misplaced;
	same := (SELECT sum(hashtextextended(cl::text, 0)) = before FROM cl);
	DROP INDEX cl_index;
	sorts := cluster_sorts() - sorted;
END $$;
SELECT ordering, mode, c.* FROM unnest('{k,"k DESC, t",t,"t DESC NULLS LAST, k NULLS FIRST",n,"(k % 10), lower(t)"}'::text[]) AS ordering, unnest('{off,force}'::text[]) AS mode, clustered(mode, ordering) AS c ORDER BY ordering COLLATE "C", mode COLLATE "C";

-- Rows that are dead for this transaction alone.
SET gpusort.mode = force;
SELECT fill_cl();
CREATE INDEX cl_k ON cl (k);
SELECT cluster_sorts() AS sorts_before \gset
BEGIN;
DELETE FROM cl WHERE id % 10 = 4;
CLUSTER cl USING cl_k;
SELECT count(*), min(k), cluster_sorts() - :sorts_before AS sorts FROM cl;
COMMIT;
SELECT count(*), count(*) FILTER (WHERE wide = repeat(md5(id::text), 100)) AS wide FROM cl;
-- Indexes that no table can be clustered by.
CREATE INDEX cl_part ON cl (t) WHERE k > 3;
CREATE INDEX cl_hash ON cl USING hash (k);
CLUSTER cl USING cl_part;
CLUSTER cl USING cl_hash;
DROP INDEX cl_part, cl_hash;

-- An error, and a timeout, while the rows are sorted: the table stays, and the next statement sorts.
CREATE FUNCTION cl_key(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 % 10; END';
CREATE INDEX cl_made ON cl (cl_key(id));
SELECT relfilenode AS before FROM pg_class WHERE relname = 'cl' \gset
CREATE OR REPLACE FUNCTION cl_key(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 1 / ($1 - 2500); END';
\set VERBOSITY terse
CLUSTER cl USING cl_made;
CREATE OR REPLACE FUNCTION cl_key(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN $1 % 10; END';
SET statement_timeout = 100;
CLUSTER cl USING cl_made;
RESET statement_timeout;
\set VERBOSITY default
SELECT relfilenode = :before AS stays, (SELECT count(*) FROM cl), cluster_sorts() - :sorts_before AS sorts FROM pg_class WHERE relname = 'cl';
CREATE OR REPLACE FUNCTION cl_key(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 % 10; END';
CLUSTER cl USING cl_made;
SELECT relfilenode = :before AS stays, (SELECT array_agg(DISTINCT id % 10) FROM (SELECT id FROM cl ORDER BY ctid LIMIT 500) s) AS first, cluster_sorts() - :sorts_before AS sorts FROM pg_class WHERE relname = 'cl';
DROP INDEX cl_made;
CLUSTER cl USING cl_k;

-- Each partition; then all tables that were clustered before.
CREATE TABLE cl_parts (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE cl_parts_1 PARTITION OF cl_parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE cl_parts_2 PARTITION OF cl_parts FOR VALUES FROM (1000) TO (9000);
CREATE INDEX cl_parts_k ON cl_parts (k);
INSERT INTO cl_parts SELECT i, noise(i) % 1000 FROM generate_series(1, 3000) AS i;
CREATE VIEW cl_parts_misplaced AS SELECT count(*) FILTER (WHERE k < before) FROM (SELECT k, lag(k) OVER (PARTITION BY tableoid ORDER BY ctid) AS before FROM cl_parts) s;
SELECT cluster_sorts() AS before \gset
CLUSTER cl_parts USING cl_parts_k;
SELECT cluster_sorts() - :before AS sorts, misplaced.* FROM cl_parts_misplaced AS misplaced;
INSERT INTO cl_parts SELECT i, noise(i) % 1000 FROM generate_series(3001, 4000) AS i;
INSERT INTO cl SELECT i, noise(i) % 200 FROM generate_series(3001, 4000) AS i;
SELECT cluster_sorts() AS before \gset
CLUSTER;
SELECT cluster_sorts() - :before >= 3 AS sorts, (SELECT count(*) FROM cl) AS rows, (SELECT count(*) FILTER (WHERE k < before) FROM (SELECT k, lag(k) OVER (ORDER BY ctid) AS before FROM cl) s) AS misplaced;

-- By their costs. The statistics say that there are ten million rows.
CREATE TABLE cl_large (k int, u int);
INSERT INTO cl_large SELECT i, noise(i) % 100000 FROM generate_series(1, 1000) AS i;
CREATE INDEX cl_large_k ON cl_large (k);
CREATE INDEX cl_large_u ON cl_large (u);
CREATE INDEX cl_large_made ON cl_large ((u % 10), k);
ANALYZE cl_large;
UPDATE pg_class SET reltuples = 1e7 WHERE relname = 'cl_large';
SET maintenance_work_mem = '2GB';
SET gpusort.mode = auto;
CREATE FUNCTION said_of_cluster(index text) RETURNS TABLE (sort_key text, taken boolean, expected boolean, of_index boolean, reason text, how text) LANGUAGE sql AS $$
	SELECT sort_key, taken, expected_ms > 0, postgresql_ms > 0, regexp_replace(reason, '\d+ MB', 'N MB'), how FROM gpusort_check('CLUSTER cl_large USING ' || index) WHERE sort_key LIKE 'cl_large:%' $$;
SELECT cluster_sorts() AS before \gset
SELECT * FROM said_of_cluster('cl_large_u');
SELECT cluster_sorts() - :before AS counted;
SELECT * FROM said_of_cluster('cl_large_k');
SELECT * FROM said_of_cluster('cl_large_made');
SET maintenance_work_mem = '1MB';
SELECT * FROM said_of_cluster('cl_large_u');
SET maintenance_work_mem = '4MB';
SELECT * FROM said_of_cluster('cl_large_u');
SET maintenance_work_mem = '2GB';
SET enable_sort = off;
SELECT * FROM said_of_cluster('cl_large_u');
RESET enable_sort;
SET enable_indexscan = off;
SELECT * FROM said_of_cluster('cl_large_u');
RESET enable_indexscan;
SET gpusort.min_rows = 100000000;
SELECT taken, reason FROM said_of_cluster('cl_large_u');
RESET gpusort.min_rows;
SET gpusort.mode = force;
SET cpu_operator_cost = 0;
SELECT taken, reason FROM said_of_cluster('cl_large_u');
SET cpu_operator_cost = 1;
SELECT taken, reason FROM said_of_cluster('cl_large_made');
SET gpusort.mode = off;
SELECT * FROM said_of_cluster('cl_large_u');
-- Two values are two passes over the table.
SET gpusort.mode = auto;
CREATE TABLE cl_flags AS SELECT noise(i) % 2 AS flag FROM generate_series(1, 1000) AS i;
CREATE INDEX cl_flags_flag ON cl_flags (flag);
ANALYZE cl_flags;
UPDATE pg_class SET reltuples = 1e7 WHERE relname = 'cl_flags';
SELECT taken, reason FROM gpusort_check('CLUSTER cl_flags USING cl_flags_flag') WHERE sort_key LIKE 'cl_flags:%';
-- What is done is counted.
SELECT cluster_sorts() AS before \gset
CLUSTER cl_large USING cl_large_k;
SELECT cluster_sorts() - :before AS sorts;
UPDATE pg_class SET reltuples = 1e7 WHERE relname = 'cl_large';
CLUSTER cl_large USING cl_large_u;
SELECT cluster_sorts() - :before AS sorts, count(*) FILTER (WHERE u < last) AS misplaced FROM (SELECT u, lag(u) OVER (ORDER BY ctid) AS last FROM cl_large) s;
-- The system's own tables are left alone.
SET gpusort.mode = force;
SELECT taken, reason FROM gpusort_check('CLUSTER pg_index USING pg_index_indexrelid_index') WHERE sort_key LIKE 'pg_index:%';
DROP TABLE cl, cl_parts, cl_large, cl_flags CASCADE;
DROP FUNCTION cluster_sorts, fill_cl, clustered, cl_key, said_of_cluster;
