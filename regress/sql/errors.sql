--
-- Wrong input gets a clear error, and the session works on.
--
\set VERBOSITY default
-- The cpu device, also on a server whose default is another one: it has the files and the memory.
SET gpusort.backend = cpu;
SET gpusort.mode = sometimes;
SET gpusort.backend = quantum;
SET gpusort.min_rows = -5;
SET gpusort.min_rows = many;
SET gpusort.work_mem = 0;
SET gpusort.work_mem = '1kB';
SET gpusort.work_mem = banana;
SET gpusort.no_such_setting = 1;
SELECT name, vartype, context, enumvals FROM pg_settings WHERE name LIKE 'gpusort.%' AND context = 'user' ORDER BY name COLLATE "C";

-- Queries that gpusort_check cannot plan get PostgreSQL's own errors.
SELECT * FROM gpusort_check('SELEKT 1');
SELECT * FROM gpusort_check('SELECT * FROM no_such_table ORDER BY 1');
SELECT * FROM gpusort_check('SELECT 1 ORDER BY 2');
SELECT * FROM gpusort_check('');
SELECT * FROM gpusort_check('SELECT 1; SELECT 2');
SELECT * FROM gpusort_check('VACUUM');
SELECT * FROM gpusort_check('SELECT $1 ORDER BY 1');
SELECT * FROM gpusort_check(NULL);

-- An error anywhere in the query ends the sort; the next one is right.
SET gpusort.mode = force;
CREATE TABLE rows AS SELECT i AS id, noise(i) AS k, md5(i::text) COLLATE "C" AS t FROM generate_series(1, 20000) AS i;
SELECT 1 / (id - 15000) FROM rows ORDER BY k OFFSET 30000;
SELECT * FROM rows ORDER BY 1 / (id - 15000);
SELECT 1 / (id - 15000), t FROM rows ORDER BY t OFFSET 30000;
SELECT id FROM (SELECT * FROM rows ORDER BY k OFFSET 0) s WHERE 1 / (id - 7) > 0;
SELECT check_sort('SELECT * FROM rows', 'k') AS after_errors, check_sort('SELECT * FROM rows', 't') AS after_errors_text;

-- Errors that are caught: many sorts are abandoned in every stage in one transaction.
CREATE FUNCTION abandon(query text, times int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	caught int := 0;
	r record;
BEGIN
	FOR i IN 1 .. times LOOP
		BEGIN
			FOR r IN EXECUTE format(query, i) LOOP
				NULL;
			END LOOP;
		EXCEPTION WHEN division_by_zero THEN
			caught := caught + 1;
		END;
	END LOOP;
	RETURN caught;
END $$;
CREATE FUNCTION memory_of_gpusort() RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(sum(total_bytes), 0)::bigint FROM pg_backend_memory_contexts WHERE name ILIKE '%gpusort%'
$$;
CREATE FUNCTION temporary_files() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_ls_tmpdir() WHERE name LIKE 'pgsql_tmp' || pg_backend_pid() || '.%'
$$;
BEGIN;
SELECT abandon('SELECT 1 / (id - 19999 + 0 * %s) FROM rows ORDER BY k', 20) AS while_feeding,
	abandon('SELECT 1 / (id - 4) FROM (SELECT * FROM rows ORDER BY t OFFSET %s) s', 20) AS while_returning;
SET LOCAL gpusort.work_mem = '64kB';
SELECT abandon('SELECT 1 / (id - 19999 + 0 * %s) FROM rows ORDER BY t', 20) AS while_spilling,
	abandon('SELECT 1 / (id - 4) FROM (SELECT * FROM rows ORDER BY k OFFSET %s) s', 20) AS while_merging;
SELECT temporary_files() AS temporary_files, memory_of_gpusort() AS memory;
-- Both would be seen.
DECLARE open CURSOR FOR SELECT * FROM rows ORDER BY k;
FETCH 1 FROM open;
SELECT temporary_files() > 0 AS temporary_files, memory_of_gpusort() > 0 AS memory;
COMMIT;
SELECT temporary_files() AS temporary_files, memory_of_gpusort() AS memory;

-- Disk full, as temp_file_limit has it.
SET gpusort.work_mem = '64kB';
SET temp_file_limit = '200kB';
-- The words of the message are not the same in all versions.
CREATE FUNCTION fill_disk(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
	RETURN 'no error';
EXCEPTION WHEN configuration_limit_exceeded THEN
	RETURN CASE WHEN SQLERRM ~ '^temporary file size exceeds "?temp_file_limit"? \(200kB\)$' THEN 'disk full' ELSE SQLERRM END;
END $$;
SELECT fill_disk('SELECT id FROM rows ORDER BY k OFFSET 30000') AS fixed, fill_disk('SELECT id FROM rows ORDER BY t OFFSET 30000') AS variable;
\set VERBOSITY sqlstate
SELECT id FROM rows ORDER BY k OFFSET 30000;
\set VERBOSITY default
SELECT temporary_files() AS temporary_files;
RESET temp_file_limit;
SELECT check_sort('SELECT * FROM rows', 'k') AS after_full_disk;
RESET gpusort.work_mem;

-- The error of a function that is called by the sort's input while another sort of the same session runs.
CREATE FUNCTION sorted_sum(g int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	s bigint := 0;
	r record;
BEGIN
	FOR r IN SELECT * FROM rows WHERE id % 100 = g ORDER BY t LOOP
		s := s + r.id;
	END LOOP;
	RETURN s / (g - 50);
END $$;
SELECT g, sorted_sum(g) FROM generate_series(1, 100) AS g ORDER BY sorted_sum(g);
SELECT sum(s) FROM (SELECT g, sorted_sum(g) AS s FROM generate_series(1, 49) AS g ORDER BY sorted_sum(g) OFFSET 0) q;

DROP TABLE rows;
DROP FUNCTION abandon, memory_of_gpusort, temporary_files, fill_disk, sorted_sum;
