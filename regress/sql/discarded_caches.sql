--
-- Builds of indexes, and sorts, while catalog and relation caches are discarded whenever they may be: the routine of ours in an index's relation cache entry
-- must not be lost in the middle of a build, and no pointer into a cache be kept.  A server without assertions does all this with its caches.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
SET gpusort.mode = force;
CREATE TYPE few_mood AS ENUM ('sad', 'ok');
ALTER TYPE few_mood ADD VALUE 'neutral' BEFORE 'ok';
CREATE TABLE few AS SELECT i AS id, i % 7 AS k, md5((i % 50)::text) COLLATE "C" AS t, i / 7::numeric AS n, ('{sad,neutral,ok}'::few_mood[])[1 + i % 3] AS mood
	FROM generate_series(1, 300) AS i;
CREATE TABLE parted (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (1) TO (100);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (100) TO (200);
INSERT INTO parted SELECT id, k FROM few WHERE id < 200;
ANALYZE few, parted;
CREATE TEMP TABLE builds AS SELECT sum(index_builds) AS n FROM pg_stat_gpusort;
SELECT max_val::int > 0 AS can_discard FROM pg_settings WHERE name = 'debug_discard_caches' \gset
\if :can_discard
SET debug_discard_caches = 1;
\endif
CREATE INDEX few_k ON few (k, id DESC);
CREATE INDEX few_expression ON few (lower(t), (id / 2)) INCLUDE (k) WHERE id > 10;
-- Which of the duplicates is named depends on the sort.
\set VERBOSITY terse
CREATE UNIQUE INDEX few_twice ON few (t);
\set VERBOSITY default
CREATE UNIQUE INDEX CONCURRENTLY few_id ON few (id);
REINDEX INDEX CONCURRENTLY few_k;
REINDEX TABLE few;
CLUSTER few USING few_k;
ALTER TABLE few ADD PRIMARY KEY (id), ALTER k TYPE int8;
VACUUM FULL few;
CREATE INDEX ON parted (k);
BEGIN;
TRUNCATE parted_2;
INSERT INTO parted SELECT i, i FROM generate_series(100, 199) AS i;
REINDEX TABLE parted_2;
COMMIT;
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
ALTER TABLE few SET (parallel_workers = 2);
CREATE INDEX few_together ON few (t, id);
RESET max_parallel_maintenance_workers;
RESET min_parallel_table_scan_size;
-- Sorts by what is looked up in caches: collations, statistics, the order of an enum's values.
CREATE VIEW orders AS SELECT (SELECT array_agg(id) FROM (SELECT id FROM few ORDER BY t, k DESC, id OFFSET 0) s) AS bytewise,
	(SELECT array_agg(id) FROM (SELECT id FROM few ORDER BY lower(t) COLLATE "und-x-icu", n DESC OFFSET 0) s) AS by_icu,
	(SELECT array_agg(id) FROM (SELECT id FROM few ORDER BY mood DESC, id OFFSET 0) s) AS by_enum;
CREATE TEMP TABLE sorted AS SELECT * FROM orders;
SELECT taken, reason FROM gpusort_check('SELECT * FROM few ORDER BY t, n') UNION ALL SELECT taken, reason FROM gpusort_check('CREATE INDEX ON few (t, n)');
\if :can_discard
RESET debug_discard_caches;
\endif
SELECT uses_gpusort('SELECT * FROM orders') AS by_gpusort;
SET gpusort.mode = off;
SELECT s.bytewise = o.bytewise AS bytewise, s.by_icu = o.by_icu AS by_icu, s.by_enum = o.by_enum AS by_enum FROM sorted s, orders o;
-- All builds were gpusort's, and the indexes are what they should be.
SELECT sum(index_builds) - (SELECT n FROM builds) AS builds FROM pg_stat_gpusort;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT (SELECT count(*) FROM few WHERE k = 3) AS by_k, (SELECT count(*) FROM few WHERE lower(t) >= '' AND id > 10) AS by_expression, (SELECT count(*) FROM few WHERE id BETWEEN 1 AND 300) AS by_id,
	(SELECT count(*) FROM few WHERE t >= '') AS by_t, (SELECT count(*) FROM parted WHERE k >= 0) AS by_partition;
SELECT indexrelid::regclass, indisvalid, bt_index_parent_check(indexrelid, true, true) FROM pg_index
	WHERE indrelid IN ('few'::regclass, 'parted_1'::regclass, 'parted_2'::regclass) ORDER BY indexrelid::regclass::text COLLATE "C";
DROP VIEW orders;
DROP TABLE few, parted, builds, sorted;
DROP TYPE few_mood;
