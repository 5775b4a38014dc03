--
-- Columns in which no row has a NULL: their keys say nothing of NULLs.
--
CREATE TABLE never_null (id int8 NOT NULL, maybe int8, small int2 NOT NULL, flag bool NOT NULL, uuid uuid NOT NULL, text text COLLATE "C" NOT NULL, filler text);
INSERT INTO never_null
SELECT CASE i % 1000 WHEN 0 THEN -9223372036854775808 WHEN 1 THEN 9223372036854775807 WHEN 2 THEN -1 WHEN 3 THEN 0 WHEN 4 THEN 255 ELSE noise(i) END,
	CASE WHEN i % 13 > 0 THEN noise(i, 1) END, noise(i, 2) % 32768, i % 3 = 0, md5((i % 5000)::text)::uuid, md5((i % 7000)::text), repeat('x', i % 5)
FROM generate_series(1, 30000) AS i;
ANALYZE never_null;

-- Has the result been sorted by keys of so many bytes?  On a card rows are always there as well.
CREATE FUNCTION check_key(query text, expected_bytes int) RETURNS text
LANGUAGE sql AS $$
	SELECT CASE WHEN result = 'ok' AND current_setting('gpusort.backend') <> 'cuda' AND bytes <> expected_bytes
		THEN format('%s bytes a row', bytes) ELSE result END
	FROM check_whole(query)
$$;

SELECT columns, options, check_key(format('SELECT %s FROM never_null ORDER BY %s', columns, (SELECT string_agg(c || ' ' || options, ', ') FROM unnest(string_to_array(columns, ', ')) AS c)), bytes) AS result
FROM (VALUES ('id', 8), ('maybe', 16), ('small', 8), ('flag', 8), ('uuid', 16), ('id, small, flag', 16), ('flag, id', 16), ('uuid, id, small', 32), ('maybe, id', 24), ('id, maybe', 24),
	('uuid, id, flag, small', 32), ('flag, uuid, maybe', 32)) AS c (columns, bytes),
	unnest(ARRAY['', 'NULLS FIRST', 'DESC', 'DESC NULLS LAST']) AS options;

-- Where the condition leaves no NULLs there are none; where it may, there are.
SELECT condition, check_key(format('SELECT maybe FROM never_null WHERE %s ORDER BY maybe', condition), bytes) AS result
FROM (VALUES ('maybe IS NOT NULL', 8), ('maybe > -5 AND flag', 8), ('maybe = ANY (ARRAY(SELECT n.maybe FROM never_null n LIMIT 5000))', 8), ('maybe + id % 2 < 0 AND id % 2 = maybe % 2', 8),
	('maybe > 0 OR flag', 16), ('maybe IS DISTINCT FROM 5', 16), ('coalesce(maybe, 1) > 0', 16), ('(maybe > 0) IS NOT FALSE', 16), ('id > 0', 16)) AS c (condition, bytes);

-- Expressions, and rows that come from elsewhere than a table's scan, may be NULL.
SELECT check_key('SELECT nullif(id, 0) AS id FROM never_null ORDER BY 1', 16) AS expression,
	check_key('SELECT n.id FROM generate_series(1, 20000) AS i LEFT JOIN never_null n ON n.small = i ORDER BY n.id', 16) AS outer_join,
	check_key('SELECT id FROM (SELECT id FROM never_null UNION ALL SELECT maybe FROM never_null) u ORDER BY id', 16) AS append,
	check_key('SELECT id FROM never_null TABLESAMPLE BERNOULLI (60) REPEATABLE (1) ORDER BY id', 8) AS sample;

-- With the rows' other columns, all of them in the order that PostgreSQL has.
ALTER TABLE never_null ADD row_id int GENERATED ALWAYS AS IDENTITY;
CREATE VIEW rows_of_never_null AS SELECT row_id AS id, n.id AS n, maybe, small, flag, uuid, text, filler FROM never_null n;
SELECT keys, check_sort('SELECT * FROM rows_of_never_null', keys) AS result
FROM unnest(ARRAY['n', 'n DESC, small', 'flag, small DESC, n', 'text, n', 'n, text', 'flag DESC, text DESC, n', 'small, maybe NULLS FIRST, n', 'uuid DESC, flag, filler']) AS keys;

-- Several processes, and files.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT check_key('SELECT id FROM never_null ORDER BY id', 8) AS id, check_key('SELECT maybe FROM never_null WHERE maybe <> 0 ORDER BY maybe DESC', 8) AS maybe,
	check_sort('SELECT * FROM rows_of_never_null', 'n, small') AS rows;
SET gpusort.work_mem = '1MB';
SELECT check_key('SELECT id FROM never_null ORDER BY id', 8) AS id, check_key('SELECT maybe FROM never_null WHERE maybe <> 0 ORDER BY maybe DESC', 8) AS maybe,
	check_sort('SELECT * FROM rows_of_never_null', 'n, small') AS rows;
SET gpusort.work_mem = '256kB';
SELECT check_key('SELECT id FROM never_null ORDER BY id', 8) AS id, check_key('SELECT maybe FROM never_null WHERE maybe <> 0 ORDER BY maybe DESC', 8) AS maybe,
	check_sort('SELECT * FROM rows_of_never_null', 'n, small') AS rows;
RESET gpusort.work_mem;
RESET max_parallel_workers_per_gather;

-- A prepared statement follows the table.
SET gpusort.mode = force;
SET plan_cache_mode = force_generic_plan;
PREPARE ids AS SELECT count(*), count(id), md5(string_agg(id::text, ',')) = (SELECT md5(string_agg(id::text, ',' ORDER BY id + 0)) FROM never_null) AS right FROM (SELECT id FROM never_null ORDER BY id OFFSET 0) n;
EXECUTE ids;
ALTER TABLE never_null ALTER id DROP NOT NULL;
INSERT INTO never_null (small, flag, uuid, text) SELECT 1, true, md5('1')::uuid, '1' FROM generate_series(1, 3);
EXECUTE ids;
DEALLOCATE ids;
RESET plan_cache_mode;

-- A constraint that nobody has checked yet, from 18 on, says nothing.
DO $$ BEGIN
	IF current_setting('server_version_num')::int >= 180000 THEN
		EXECUTE 'ALTER TABLE never_null ADD CONSTRAINT unchecked NOT NULL id NOT VALID';
	END IF;
END $$;
SELECT count(*), count(id) FROM (SELECT id FROM never_null ORDER BY id OFFSET 0) n;

-- A table that was made by the same transaction is no older than what its queries see.
BEGIN;
CREATE TABLE made_here (i int8 NOT NULL);
INSERT INTO made_here SELECT noise(i) FROM generate_series(1, 20000) AS i;
SELECT check_key('SELECT i FROM made_here ORDER BY i', 8);
ROLLBACK;

-- A damaged table is found out, and can be sorted without gpusort.  (The column stands behind one that may be NULL: in
-- those that stand first and may not 19 reads a value, whatever is there, so that nothing can be found out.)
CREATE TABLE damaged AS SELECT NULL::text AS may_be_null, nullif(i, 777) AS i, i AS j FROM generate_series(1, 3000) AS i;
DO $$ BEGIN
	IF current_setting('server_version_num')::int >= 180000 THEN
		EXECUTE 'ALTER TABLE damaged ADD CONSTRAINT never_checked NOT NULL i NOT VALID';
		UPDATE pg_constraint SET convalidated = true WHERE conname = 'never_checked';
		ALTER TABLE damaged ALTER j SET STATISTICS 50; -- for others to see that
	ELSE
		UPDATE pg_attribute SET attnotnull = true WHERE attrelid = 'damaged'::regclass AND attname = 'i';
	END IF;
END $$;
CREATE FUNCTION what_is_said(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE query;
	RETURN 'nothing';
EXCEPTION WHEN data_corrupted THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN CASE format('%s. %s %s', SQLERRM, detail, hint)
		WHEN 'a sort column that is NOT NULL contains a NULL. The column is number 1 of the rows to be sorted, and has type integer. The table or its catalog entries are damaged. Set gpusort.mode to off to sort the rows nevertheless.'
		THEN 'it is damaged' ELSE SQLERRM END;
END $$;
SELECT what_is_said('SELECT count(*) FROM (SELECT i FROM damaged ORDER BY i OFFSET 0) d') AS alone,
	what_is_said('SELECT count(*) FROM (SELECT i, j FROM damaged ORDER BY j, i OFFSET 0) d') AS second;
SET gpusort.mode = off;
SELECT count(*) FROM (SELECT i FROM damaged ORDER BY i OFFSET 0) d;
RESET gpusort.mode;
DROP FUNCTION what_is_said;
DROP TABLE damaged;
DROP VIEW rows_of_never_null;
DROP TABLE never_null;
