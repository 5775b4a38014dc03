--
-- Sorts of a plain scan, whose rows are taken from the page at hand: what rows, pages and scans there may be.
--
CREATE TABLE paged (id int NOT NULL, gone int8, k int8, few int2, uneven text COLLATE "C", behind int4, external text COLLATE "C");
ALTER TABLE paged ALTER external SET STORAGE EXTERNAL;
INSERT INTO paged
	SELECT i, i, CASE WHEN i % 5 > 0 THEN noise(i) END, noise(i, 1) & 7, repeat('u', (i % 20)::int), CASE WHEN i % 3 > 0 THEN (noise(i, 2) & 1023) END,
		CASE WHEN i % 100 = 0 THEN repeat(md5(i::text), 100) WHEN i % 4 > 0 THEN md5(i::text) END
	FROM generate_series(1, 4000) AS i;
ALTER TABLE paged DROP COLUMN gone;
-- Rows that end before the last columns; which were never NULL in them, and of another value than in those that come later.
ALTER TABLE paged ADD COLUMN missing int4 NOT NULL DEFAULT 7, ADD COLUMN missing_text text COLLATE "C" DEFAULT 'missing', ADD COLUMN empty int8;
INSERT INTO paged
	SELECT i, noise(i), noise(i, 1) & 7, 'v', noise(i, 2) & 1023, md5(i::text), noise(i, 3) & 15, 'm' || (i % 10), i % 7 FROM generate_series(4001, 6000) AS i;
-- Rows that are gone, several versions of some, and versions that never came to be.
DELETE FROM paged WHERE id % 9 = 0;
UPDATE paged SET few = few + 1 WHERE id % 8 = 0;
UPDATE paged SET k = k + 1, uneven = 'updated' WHERE id % 16 = 0;
BEGIN;
INSERT INTO paged (id, k) SELECT i, i FROM generate_series(10000, 10500) AS i;
UPDATE paged SET k = 0 WHERE id % 7 = 0;
DELETE FROM paged WHERE id % 5 = 0;
ROLLBACK;
ANALYZE paged;
SELECT count(*), count(DISTINCT (ctid::text::point)[0]) > 50 AS many_pages FROM paged;

-- Keys that have one place in all rows, or have not; whole rows, and some columns.
SELECT key, check_sort('SELECT * FROM paged', key) AS rows, check_sort('SELECT * FROM paged WHERE few > 2', key || ' DESC') AS filtered,
	check_sort(format('SELECT id, %s AS key FROM paged', key), 'key') AS column, check_sort('SELECT id, external, behind FROM paged WHERE behind % 2 = 0', 'behind, id') AS columns
FROM unnest('{id,k,few,uneven,behind,external,missing,missing_text,empty}'::text[]) AS key;
SELECT keys, check_sort('SELECT * FROM paged', keys) AS rows, check_sort('SELECT * FROM paged WHERE missing < 9', keys) AS filtered
FROM unnest(ARRAY['few, id', 'few DESC, k, id', 'k NULLS FIRST, uneven', 'uneven, behind, k', 'missing, few, id', 'few, missing_text DESC', 'external NULLS FIRST, id']) AS keys;
-- Rows that are all alike: none has a NULL, and each key one place.
CREATE TABLE plain AS SELECT i AS id, noise(i) AS k, (noise(i, 1) & 255)::int2 AS few, md5(i::text) COLLATE "C" AS t, noise(i, 2)::float8 AS f FROM generate_series(1, 5000) AS i;
VACUUM ANALYZE plain;
SELECT keys, check_sort('SELECT * FROM plain', keys) AS rows, check_sort('SELECT * FROM plain WHERE few < 50', keys) AS filtered, check_sort('SELECT id, t, few, k, f FROM plain', keys) AS columns
FROM unnest(ARRAY['k', 'few, k', 'id DESC', 't', 'few, t DESC', 'f', 't, f']) AS keys;
-- Rows with NULLs, and rows that end before a column that has one place in those that have it.
CREATE TABLE nulls AS SELECT i AS id, CASE WHEN noise(i) & 3 > 0 THEN noise(i, 1) END AS k, (noise(i, 2) & 3)::int2 AS few FROM generate_series(1, 1000) AS i;
ALTER TABLE nulls ADD COLUMN later int8;
INSERT INTO nulls SELECT i, CASE WHEN noise(i) & 3 > 0 THEN noise(i, 1) END, noise(i, 2) & 3, noise(i, 3) FROM generate_series(1001, 2000) AS i;
SELECT keys, check_sort('SELECT * FROM nulls', keys) AS rows, check_sort('SELECT * FROM nulls WHERE few > 1', keys) AS filtered
FROM unnest(ARRAY['k', 'k DESC NULLS LAST, few', 'few, k, id', 'later', 'later NULLS FIRST, id', 'few, later', 'k']) AS keys;
CREATE TABLE short AS SELECT i AS id, noise(i) & 3 AS few FROM generate_series(1, 500) AS i;
ALTER TABLE short ADD COLUMN missing int8 NOT NULL DEFAULT 5;
INSERT INTO short SELECT i, noise(i) & 3, i % 9 FROM generate_series(501, 900) AS i;
SELECT keys, check_sort('SELECT * FROM short', keys) AS rows, check_sort('SELECT * FROM short WHERE few > 1', keys) AS filtered
FROM unnest(ARRAY['missing', 'missing DESC, id', 'few, missing, id', 'missing']) AS keys;
-- Conditions that leave no row, the first, the last of a page, or all.
SELECT condition, check_sort('SELECT * FROM plain WHERE ' || condition, 'k')
FROM unnest(ARRAY['few < 0', 'few >= 0', 'id = 1', 'id = 5000', 'id < 10 OR id > 4990', 'plain IS NOT NULL', 't > ''f'' AND length(t || k) > 40']) AS condition;
-- A table without rows, one with an empty page, and one with a row a page.
CREATE TABLE sparse (id int, k int8, filler text);
ALTER TABLE sparse ALTER filler SET STORAGE PLAIN;
SELECT check_sort('SELECT * FROM sparse', 'k') AS empty;
INSERT INTO sparse SELECT i, noise(i), repeat('f', 5000) FROM generate_series(1, 30) AS i;
SELECT check_sort('SELECT * FROM sparse', 'k') AS one_a_page;
DELETE FROM sparse WHERE id BETWEEN 10 AND 20;
SELECT check_sort('SELECT * FROM sparse', 'k') AS some_empty;

-- What a row is called, and where it stands.
SELECT check_query('SELECT ctid, tableoid::regclass, id FROM paged ORDER BY k, id') AS places,
	check_query('SELECT ctid, xmin, few FROM plain WHERE few < 200 ORDER BY few, ctid') AS by_places,
	check_query('SELECT paged, id FROM paged ORDER BY few, id') AS whole_rows,
	check_query('SELECT p, p IS NULL FROM paged p WHERE p.* IS DISTINCT FROM NULL ORDER BY external, id') AS whole_rows_filtered,
	check_query('SELECT count(*) FROM (SELECT FROM plain ORDER BY k OFFSET 1) s') AS no_columns;
-- A LIMIT: rows that it leaves out stay in their pages.
SELECT key, string_agg(check_query(format('SELECT * FROM paged ORDER BY %s, id LIMIT %s', key, n)), ' ' ORDER BY n) AS limits
FROM unnest('{k,few,uneven,behind,external,missing,missing_text,empty}'::text[]) AS key, unnest('{1,50,700,3000,5000}'::int[]) AS n GROUP BY key ORDER BY key;
SELECT string_agg(check_query(format('SELECT * FROM paged ORDER BY id DESC LIMIT %s', n)), ' ' ORDER BY n) AS late, string_agg(check_query(format('SELECT * FROM paged ORDER BY id LIMIT %s', n)), ' ' ORDER BY n) AS early
FROM unnest('{1,50,700,3000,5000}'::int[]) AS n;
-- Read more than once, from the beginning and before the end.
SELECT check_query('SELECT f.few, s.id FROM (SELECT DISTINCT few FROM paged) f, LATERAL (SELECT * FROM paged p WHERE p.few = f.few ORDER BY k, id OFFSET 1) s ORDER BY f.few, s.id') AS lateral,
	check_query('SELECT f.few, s.id FROM (SELECT DISTINCT few FROM paged) f, LATERAL (SELECT * FROM plain p WHERE p.few > f.few ORDER BY k LIMIT 20) s ORDER BY f.few, s.id') AS lateral_limit,
	check_query('SELECT few, ARRAY(SELECT id FROM plain WHERE plain.few = paged.few ORDER BY k) FROM paged WHERE id < 300 ORDER BY id') AS array_of;
SET gpusort.work_mem = '64kB';
SELECT check_sort('SELECT * FROM paged', 'k') AS spilled, check_sort('SELECT * FROM plain WHERE few % 2 = 0', 't') AS spilled_filtered;
RESET gpusort.work_mem;
-- Rows that are changed while others are returned, and after a cursor was opened.
CREATE FUNCTION change_as_read() RETURNS text LANGUAGE plpgsql SET gpusort.mode = force AS $$
DECLARE
	r record;
	seen int := 0;
BEGIN
	FOR r IN SELECT * FROM plain WHERE few < 10 ORDER BY k LOOP
		UPDATE plain SET k = r.k - 1 WHERE id = r.id;
		INSERT INTO plain SELECT r.id + 100000, r.k, r.few, r.t, r.f;
		seen := seen + 1;
	END LOOP;
	RETURN format('%s seen, %s there', seen, (SELECT count(*) FROM plain WHERE few < 10));
END $$;
SELECT (SELECT count(*) FROM plain WHERE few < 10) AS before, change_as_read();
SELECT check_sort('SELECT * FROM plain', 'k') AS after;
BEGIN;
SET LOCAL gpusort.mode = force;
DECLARE c CURSOR FOR SELECT count(*), sum(id), bool_and(k >= before) AS in_order FROM (SELECT *, lag(k) OVER (ORDER BY k) AS before FROM plain) s;
DELETE FROM plain WHERE id % 2 = 0;
UPDATE plain SET k = 0 WHERE id % 3 = 0;
FETCH c;
SELECT count(*), sum(id), bool_and(k >= before) AS in_order FROM (SELECT *, lag(k) OVER (ORDER BY k) AS before FROM plain) s;
SAVEPOINT s;
DELETE FROM plain;
SELECT count(*) FROM (SELECT * FROM plain ORDER BY k OFFSET 0) s;
ROLLBACK TO s;
SELECT check_sort('SELECT * FROM plain', 'k') AS of_this_transaction;
ROLLBACK;

-- What EXPLAIN ANALYZE says of the scan: rows, those that the condition left out, and how often it was begun.
CREATE FUNCTION scanned(query text, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	PERFORM set_config('gpusort.mode', mode, true);
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (SELECT string_agg(format('%s rows, %s left out, %s loops', round((node ->> 'Actual Rows')::numeric), coalesce(node ->> 'Rows Removed by Filter', '0'), node ->> 'Actual Loops'), '; ')
			FROM jsonb_path_query(plan, 'strict $.** ? (@."Node Type" == "Seq Scan" && @."Relation Name" == "paged")') AS node);
END $$;
SELECT scanned(query, 'off') AS off, scanned(query, 'force') AS forced, query
FROM unnest(ARRAY['SELECT * FROM paged ORDER BY k', 'SELECT id FROM paged WHERE few > 3 ORDER BY k',
	'SELECT s.id FROM generate_series(1, 3) AS g, LATERAL (SELECT * FROM paged WHERE few > g ORDER BY k OFFSET 1) s']) AS query;
-- What the statistics count of it.
CREATE FUNCTION counted(query text, relation regclass, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before bigint := pg_stat_get_xact_tuples_returned(relation);
BEGIN
	PERFORM set_config('gpusort.mode', mode, true);
	PERFORM rows_of(query);
	RETURN pg_stat_get_xact_tuples_returned(relation) - before;
END $$;
SELECT counted(query, relation, 'off') AS off, counted(query, relation, 'force') AS forced
FROM (VALUES ('SELECT id FROM paged ORDER BY k', 'paged'::regclass), ('SELECT * FROM paged WHERE few > 3 ORDER BY k', 'paged'), ('SELECT * FROM plain ORDER BY k', 'plain'), ('SELECT * FROM plain ORDER BY t', 'plain')) AS q (query, relation);

DROP TABLE paged, plain, nulls, short, sparse;
DROP FUNCTION change_as_read, scanned, counted;
