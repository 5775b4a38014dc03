--
-- Few rows a chunk: rows of 300 kB, of which a chunk holds one or a few, so that chunks, rather than rows, differ; and rows of unusual columns.
--
-- In force whatever the number of rows; the keys are made of few bits, which are the same in all rows of many a chunk.
CREATE TABLE narrow AS
	SELECT i AS id, i & 1 AS one_bit, (noise(i) & 3)::int8 << 40 AS two_bits, noise(i, 1) AS random, CASE WHEN i % 3 > 0 THEN i % 5 END AS some_null,
		(noise(i, 2) & 1)::int2 AS b, -i AS down, repeat('prefix', 20) || (noise(i, 3) & 7) AS t
	FROM generate_series(1, 50) AS i;

-- All those sorts of the first so many rows, each made 300 kB wide, with so much memory.
CREATE FUNCTION check_few(rows int, memory text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('gpusort.work_mem', memory, true);
	SELECT string_agg(format('%s: %s', keys, r), '; ') INTO result
	FROM (SELECT keys, check_sort(format('SELECT *, repeat(chr(65 + id %% 26), 300000 + id) AS wide FROM narrow WHERE id <= %s', rows), keys) AS r
		  FROM unnest('{one_bit,two_bits,some_null DESC,"b, random DESC","two_bits, random, some_null, one_bit",down,id,"t COLLATE \"C\", id","wide COLLATE \"und-x-icu\""}'::text[]) AS keys) s
	WHERE r <> 'ok';
	RETURN coalesce(result, 'ok');
END $$;
SELECT rows, memory, check_few(rows, memory) FROM unnest('{10,10,17,17,50}'::int[], '{512kB,64MB,2MB,6MB,6MB}'::text[]) AS cases (rows, memory);

-- Chunks of one row each, in which every bit is constant, and one chunk that has both values of the bit.
CREATE TABLE mixed AS
	SELECT i AS id, (i = 7)::int AS v, i % 2 AS w, CASE WHEN i <= 10 THEN repeat('x', 300000) ELSE 'narrow' END AS wide FROM generate_series(1, 2000) AS i;
SELECT check_sort('SELECT id, v, w, wide || '''' AS wide FROM mixed', 'v, id') AS one_differs, check_sort('SELECT id, v, w, wide || '''' AS wide FROM mixed WHERE id <= 12', 'w') AS alternate,
	check_sort('SELECT id, v, w, wide || '''' AS wide FROM mixed', 'w DESC, v') AS two_keys;

-- Columns that are C strings, among columns of fixed width and alone; composite and array columns.
SELECT check_query('SELECT id, int8out(random), one_bit FROM narrow ORDER BY two_bits, id') AS cstring,
	check_query('SELECT int4out(id) FROM narrow ORDER BY random') AS cstring_alone,
	check_query('SELECT id, byteaout(decode(repeat(''ab'', id), ''hex'')), textout(t), down FROM narrow ORDER BY random DESC') AS cstrings,
	check_query('SELECT id, ROW(id, t), ARRAY[id, down], NULL::record FROM narrow ORDER BY random') AS composite;

-- So many runs that two levels of them are full, with low thresholds (some 254 of them): those below have to be looked at again when the upper one was merged.
SET gpusort.mode = force;
SET gpusort.work_mem = '64kB';
SELECT count(*), sum(length(t)), bool_and(before IS NULL OR before <= k) AS in_order FROM (SELECT k, t, lag(k) OVER () AS before
	FROM (SELECT * FROM (SELECT noise(i) AS k, repeat('x', 1000) AS t FROM generate_series(1, 70000) AS i OFFSET 0) r ORDER BY k OFFSET 0) s) l;
RESET gpusort.work_mem;
RESET gpusort.mode;

DROP TABLE narrow, mixed;
