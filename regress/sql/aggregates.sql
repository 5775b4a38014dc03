--
-- Aggregates that PostgreSQL would sort for, over rows in order: DISTINCT, ORDER BY, WITHIN GROUP.  GpuAggInput.
--
CREATE SCHEMA aggregates;
SET search_path = aggregates, public;
-- Few values, with NULLs and NaN; g has groups of one row, of some, and of hundreds; `wide` one of all sizes around 32.
CREATE TABLE r AS
SELECT i AS id, CASE WHEN i % 5 = 0 THEN i WHEN i % 5 < 3 THEN i % 90 ELSE i % 3 END AS g, floor(sqrt(i * 2))::int AS wide, CASE WHEN i % 11 > 0 THEN (noise(i, 1) % 40)::int END AS few,
	CASE WHEN i % 7 > 0 THEN noise(i, 2) END AS big, CASE WHEN i % 13 > 0 THEN md5((noise(i, 3) % 50)::text) END COLLATE "C" AS t, (noise(i, 4) % 20 / 4.0)::numeric(8, 2) AS n,
	CASE i % 17 WHEN 1 THEN 'NaN' WHEN 2 THEN NULL WHEN 3 THEN 'Infinity' ELSE (noise(i, 5) % 1000) / 8.0 END::float8 AS f, (noise(i, 6) % 100) * interval '7 hours' AS iv,
	date '2000-01-01' + (noise(i, 7) % 9)::int AS d, left(md5((noise(i, 8) % 9)::text), 3)::varchar(5) AS v, i % 3 = 0 AS b, ARRAY[(noise(i, 9) % 3)::int, NULL] AS arr
FROM generate_series(1, 2000) AS i;
ALTER TABLE r ADD PRIMARY KEY (id);
VACUUM ANALYZE r;

-- Runs a query with gpusort off and forced, and compares the rows in any order; so many GpuAggInputs are in the plan (NULL: any
-- number, as versions differ).
CREATE FUNCTION check_aggregates(query text, taken int DEFAULT 1) RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	rows_off text[];
	rows_forced text[];
BEGIN
	rows_off := rows_of(query);
	PERFORM set_config('gpusort.mode', 'force', true);
	IF nodes(query, '(GpuAggInput)') <> taken OR nodes(query, '(GpuSort)') < taken THEN
		RETURN format('%s taken', nodes(query, '(GpuAggInput)'));
	END IF;
	rows_forced := rows_of(query);
	PERFORM set_config('gpusort.mode', 'off', true);
	RETURN compare_rows(rows_off, rows_forced);
END $$;
-- A check that cannot fail is no check.
SELECT check_aggregates('SELECT mode() WITHIN GROUP (ORDER BY few), current_setting(''gpusort.mode'') FROM r') AS other_rows, check_aggregates('SELECT count(*) FROM r') AS none;

-- What EXPLAIN prints is what the query says.
SET gpusort.mode = force;
EXPLAIN (VERBOSE, COSTS OFF) SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY f DESC), mode() WITHIN GROUP (ORDER BY f DESC), max(big) FROM r GROUP BY g HAVING percentile_disc(0.1) WITHIN GROUP (ORDER BY f DESC) > 1;
EXPLAIN (COSTS OFF) SELECT count(DISTINCT few), sum(DISTINCT few) FROM r;
EXPLAIN (COSTS OFF, VERBOSE) SELECT g, mode() WITHIN GROUP (ORDER BY few), min(id) FROM r GROUP BY g ORDER BY 2 LIMIT 3;
CREATE FUNCTION plan_of(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan;
END $$;
SELECT jsonb_path_query_array(plan, '$.**.Output') AS output, jsonb_path_query_array(plan, '$.**."Actual Rows".ceiling()') AS rows
FROM plan_of('SELECT percentile_disc(''{0.5,0.9}''::float8[]) WITHIN GROUP (ORDER BY few) FILTER (WHERE id > 5) FROM r') AS plan;
RESET gpusort.mode;

-- Percentiles and modes of every kind of value, alone and beside others, of all rows and of groups of all sizes.
CREATE TABLE calls AS
SELECT c, call, format(call, c) AS of_values
FROM unnest('{few,big,t,n,f,iv,d,v,arr,few + 1,upper(t),(f / 2)}'::text[]) AS c,
	unnest(ARRAY['percentile_disc(0.5) WITHIN GROUP (ORDER BY %s)', 'percentile_disc(0) WITHIN GROUP (ORDER BY %1$s DESC), percentile_disc(1) WITHIN GROUP (ORDER BY %1$s DESC)', 'mode() WITHIN GROUP (ORDER BY %s)',
		'mode() WITHIN GROUP (ORDER BY %1$s DESC), percentile_disc(0.3) WITHIN GROUP (ORDER BY %1$s DESC NULLS LAST)', 'percentile_disc(ARRAY[0.9, 0, 0.25, 1, 0.25]::float8[]) WITHIN GROUP (ORDER BY %s NULLS FIRST)']) AS call
WHERE c <> 'arr' OR call NOT LIKE '%ARRAY%'
UNION ALL
SELECT c, call, format(call, c) FROM unnest('{f,few::float8,n::float8,iv,(f / 2)}'::text[]) AS c,
	unnest(ARRAY['percentile_cont(0.5) WITHIN GROUP (ORDER BY %s)', 'percentile_cont(0.123456) WITHIN GROUP (ORDER BY %1$s DESC), percentile_cont(1) WITHIN GROUP (ORDER BY %1$s DESC), percentile_cont(0) WITHIN GROUP (ORDER BY %1$s DESC)',
		'percentile_cont(ARRAY[0.9, 0.1, 0.5]::float8[]) WITHIN GROUP (ORDER BY %1$s), percentile_disc(0.5) WITHIN GROUP (ORDER BY %1$s)']) AS call;
-- What has no aggregate to be picked by, or is no array of a type, versions treat differently.
SELECT c, string_agg(DISTINCT check_aggregates(format('SELECT %s FROM r', of_values), taken), ',') AS all_rows, string_agg(DISTINCT check_aggregates(format('SELECT g, %s FROM r GROUP BY g', of_values), taken), ',') AS groups,
	string_agg(DISTINCT check_aggregates(format('SELECT wide, %s FROM r GROUP BY wide', of_values), taken), ',') AS wide,
	string_agg(DISTINCT check_aggregates(format('SELECT wide, %s, count(*), max(id), avg(n) FROM r GROUP BY wide', of_values), taken), ',') AS beside,
	string_agg(DISTINCT check_aggregates(format('SELECT d, %s FROM r GROUP BY d', replace(replace(of_values, '),', ') FILTER (WHERE n > 1),'), 'percentile_disc(0.3)', 'sum(id), percentile_disc(0.3)') || ' FILTER (WHERE id % 7 < 3)'), taken * CASE WHEN c IN ('few + 1', 'upper(t)', '(f / 2)', 'n::float8', 'd') THEN 0 ELSE 1 END), ',') AS filters
FROM calls, LATERAL (SELECT CASE WHEN c NOT IN ('v', 'arr') THEN 1 END AS taken) AS l GROUP BY c ORDER BY c COLLATE "C";
-- No rows, no values, one value.
SELECT c, string_agg(DISTINCT check_aggregates(format('SELECT %s FROM r WHERE %s', of_values, condition), NULL), ',') AS all_rows, string_agg(DISTINCT check_aggregates(format('SELECT g, %s, count(*) FROM r WHERE %s GROUP BY g', of_values, condition), NULL), ',') AS groups
FROM calls, unnest('{false,id = 3,big IS NULL AND t IS NULL,id % 13 = 0}'::text[]) AS condition WHERE c IN ('few', 'big', 't', 'f', 'few::float8') GROUP BY c ORDER BY c COLLATE "C";

-- DISTINCT and ORDER BY.
SELECT call, check_aggregates(format('SELECT %s FROM r', call), NULL) AS all_rows, check_aggregates(format('SELECT g, %s FROM r GROUP BY g', call), NULL) AS groups,
	check_aggregates(format('SELECT g, %s, count(*), max(n) FROM r GROUP BY g HAVING count(DISTINCT few) > 1', call), NULL) AS beside, check_aggregates(format('SELECT wide %% 10, d, %s FILTER (WHERE n > 1), percentile_disc(0.5) WITHIN GROUP (ORDER BY few) FROM r GROUP BY 1, d', call), NULL) AS filtered
FROM unnest('{count(DISTINCT few),count(DISTINCT big),count(DISTINCT t),sum(DISTINCT few),"array_agg(DISTINCT few)","array_agg(DISTINCT few ORDER BY few DESC)","string_agg(DISTINCT t, '','')","string_agg(DISTINCT v, '','' ORDER BY v DESC)",
	count(DISTINCT f),"count(DISTINCT (few, d))",count(DISTINCT arr),count(DISTINCT b),count(DISTINCT abs(few)),"array_agg(id ORDER BY few, id)","string_agg(t, '','' ORDER BY t DESC NULLS LAST, id)","string_agg(t, '','' ORDER BY id)",
	"array_agg(few ORDER BY few) || array_agg(DISTINCT few)","count(DISTINCT few) + count(DISTINCT t)","array_agg(b ORDER BY big, id)","max(DISTINCT few)","regr_count(DISTINCT few, n)","jsonb_agg(DISTINCT d)","sum(few ORDER BY n)"}'::text[]) AS call;
-- One of equal rows is enough where only DISTINCT ones are wanted, so others are dropped as they come.
SELECT query, check_aggregates(query) AS result FROM unnest('{SELECT count(DISTINCT few) FROM r,"SELECT count(DISTINCT few), sum(DISTINCT few), max(DISTINCT few) FROM r","SELECT g, count(DISTINCT few) FROM r GROUP BY g","SELECT d, string_agg(DISTINCT t, '','') FROM r GROUP BY d",
	"SELECT b, count(DISTINCT (few + 1)) FROM r GROUP BY b HAVING count(DISTINCT (few + 1)) > 1"}'::text[]) AS query;

-- Numbers of different values, of all kinds of keys: of one and of several words, of strings, guessed ones, those that have different bytes and are equal.
CREATE TABLE counted AS
SELECT id, wide, d, few, big, t, n, f, iv, v, b, arr, id AS in_order, -id AS reversed, CASE WHEN id % 9 > 0 THEN 'value ' || id % 60 END COLLATE "C" AS text_c, CASE WHEN id % 9 > 0 THEN 'a longer value, number ' || id % 60 || ' of many' END AS long,
	CASE WHEN id % 5 > 0 THEN chr(97 + id % 26 - CASE WHEN id % 3 = 0 THEN 32 ELSE 0 END) || id % 7 END COLLATE "en-US-x-icu" AS locale, CASE id % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE 2 END AS scales, CASE id % 4 WHEN 0 THEN '-0' WHEN 1 THEN '0' WHEN 2 THEN 'NaN' END::float8 AS zeros,
	CASE id % 2 WHEN 0 THEN interval '1 month' ELSE interval '30 days' END AS months, NULL::bigint AS nothing, 7 AS same, id::numeric AS num, jsonb_build_object('few', few) AS json FROM r;
SELECT string_agg(DISTINCT check_aggregates(format('SELECT count(DISTINCT %s) FROM counted', c)), ',') AS all_rows, string_agg(DISTINCT check_aggregates(format('SELECT wide, count(DISTINCT %s) FROM counted GROUP BY wide', c)), ',') AS groups,
	string_agg(DISTINCT check_aggregates(format('SELECT d, count(DISTINCT %1$s), count(DISTINCT %1$s) FILTER (WHERE id %% 3 = 0) + 1 FROM counted GROUP BY d', c), NULL), ',') AS filters,
	string_agg(DISTINCT CASE WHEN c NOT IN ('scales', 'zeros', 'months') THEN check_aggregates(format('SELECT count(DISTINCT %1$s), percentile_disc(0.3) WITHIN GROUP (ORDER BY %1$s), mode() WITHIN GROUP (ORDER BY %1$s) FROM counted', c), NULL) END, ',') AS beside,
	string_agg(DISTINCT CASE WHEN c NOT IN ('scales', 'zeros', 'months') THEN check_aggregates(format('SELECT wide %% 3, count(DISTINCT %1$s), percentile_disc(0.3) WITHIN GROUP (ORDER BY %1$s) FROM counted GROUP BY 1 HAVING count(DISTINCT %1$s) > 2', c), NULL) END, ',') AS both,
	string_agg(DISTINCT check_aggregates(format('SELECT count(DISTINCT %s) FROM counted WHERE id < 0', c)), ',') AS no_rows, string_agg(DISTINCT check_aggregates(format('SELECT d, count(DISTINCT %s) FROM counted WHERE %1$s IS NULL GROUP BY d', c), NULL), ',') AS nulls
FROM unnest('{few,big,t,n,f,iv,v,b,arr,in_order,reversed,text_c,long,locale,scales,zeros,months,nothing,same,num,json,few + 1,upper(t)}'::text[]) AS c;
SET gpusort.work_mem = '64MB';
SELECT query, check_aggregates(query, taken) AS result FROM (VALUES ('SELECT count(DISTINCT i) FROM generate_series(1, 150000) AS i', 1), ('SELECT count(DISTINCT noise(i) % 100000) FROM generate_series(1, 150000) AS i', 1), ('SELECT count(DISTINCT md5((i / 2)::text)) FROM generate_series(1, 9000) AS i', 1),
	('SELECT i % 2, count(DISTINCT noise(i)) FROM generate_series(1, 150000) AS i GROUP BY 1', 1), ('SELECT o.d, s.* FROM (SELECT DISTINCT d FROM r) AS o, LATERAL (SELECT count(DISTINCT big) FROM counted AS r WHERE r.d < o.d) AS s', 1), ('SELECT count(DISTINCT few), count(DISTINCT 1) FROM counted', NULL),
	('SELECT count(DISTINCT (few, d)) FROM r', 1), ('SELECT id, count(DISTINCT few) FROM r GROUP BY id ORDER BY count(DISTINCT few), id LIMIT 9', NULL), ('SELECT sum(count(DISTINCT few)) OVER (ORDER BY d) FROM r GROUP BY d', 1), ('SELECT count(DISTINCT few) * 2 + count(DISTINCT few) FROM r GROUP BY ()', NULL)) AS q (query, taken);
RESET gpusort.work_mem;
SET gpusort.mode = force;
EXPLAIN (VERBOSE, COSTS OFF) SELECT d, count(DISTINCT few) + 1 AS more FROM r GROUP BY d HAVING count(DISTINCT few) > 3;
-- A count of keys reads few rows: the first of the group, and the last value.
SET gpusort.backend = cpu;
SELECT jsonb_path_query_array(plan, '$.**."Actual Rows".ceiling()') AS rows FROM plan_of('SELECT count(DISTINCT in_order) FROM counted') AS plan;
SELECT calls, jsonb_path_query_array(plan, '$.**.Results') AS results FROM unnest('{count(DISTINCT few),count(DISTINCT few) FILTER (WHERE big > 0),percentile_disc(0.5) WITHIN GROUP (ORDER BY few),mode() WITHIN GROUP (ORDER BY few),sum(DISTINCT few)}'::text[]) AS calls, plan_of(format('SELECT %s FROM counted', calls)) AS plan;
RESET gpusort.backend;
RESET gpusort.mode;

-- What is left to the Agg.
SELECT call, check_aggregates(format('SELECT %s FROM r', call), 0) AS result
FROM unnest('{"rank(3) WITHIN GROUP (ORDER BY few)","percentile_cont(NULL) WITHIN GROUP (ORDER BY f)","percentile_disc(ARRAY[0.5, NULL]) WITHIN GROUP (ORDER BY f)","percentile_disc(''{{0.5},{0.6}}''::float8[]) WITHIN GROUP (ORDER BY f)","percentile_disc(''{}''::float8[]) WITHIN GROUP (ORDER BY f)","percentile_disc(''[5:6]={0.5,0.6}''::float8[]) WITHIN GROUP (ORDER BY f)",
	"percentile_cont(0.5) WITHIN GROUP (ORDER BY f) FILTER (WHERE random() < 2)","percentile_disc(0.5) WITHIN GROUP (ORDER BY few + 1) FILTER (WHERE n > 1)","percentile_disc(0.5) WITHIN GROUP (ORDER BY few) FILTER (WHERE id = (SELECT max(id) FROM r AS i WHERE i.id <= r.id))",
	"count(*), count(few)"}'::text[]) AS call;
SELECT check_aggregates('SELECT g, d, percentile_disc(0.5) WITHIN GROUP (ORDER BY few) FROM r GROUP BY GROUPING SETS (g, d)', 0) AS sets, check_aggregates('SELECT percentile_disc(x) WITHIN GROUP (ORDER BY few) FROM r, (VALUES (0.1), (0.9)) AS s (x) GROUP BY x', 0) AS fractions;
-- Errors are PostgreSQL's: of fractions, of what is computed for a row that passes the filter, and of no other row.
SET gpusort.mode = force;
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY f) FROM r;
SELECT mode() WITHIN GROUP (ORDER BY 1 / (few - 5)) FROM r;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY few) FILTER (WHERE 1 / (few - 5) < 0) FROM r;
RESET gpusort.mode;
SELECT check_aggregates('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY 100 / few) FILTER (WHERE few <> 0) FROM r', 0) AS filtered_out;
-- A sort in one direction serves calls in this one, and counts; rows that are not the same again are sorted once.
SELECT call, check_aggregates(format('SELECT %s FROM r WHERE random() < 2', call)) AS all_rows, check_aggregates(format('SELECT g, %s FROM r WHERE random() < 2 GROUP BY g', call)) AS groups
FROM unnest('{"percentile_disc(0.2) WITHIN GROUP (ORDER BY few), percentile_disc(0.2) WITHIN GROUP (ORDER BY few DESC)","percentile_disc(0.3) WITHIN GROUP (ORDER BY few DESC), count(DISTINCT few)"}'::text[]) AS call;
-- Columns of GROUP BY that a condition makes constant, of which from 16 on the Agg has none.
SELECT check_aggregates('SELECT few % 3, count(*), mode() WITHIN GROUP (ORDER BY n), mode() WITHIN GROUP (ORDER BY id % 9) FROM r WHERE few % 3 = 0 GROUP BY few % 3', NULL) AS constant,
	check_aggregates('SELECT g, few % 3, mode() WITHIN GROUP (ORDER BY n), mode() WITHIN GROUP (ORDER BY id % 9) FROM r WHERE few % 3 = 0 GROUP BY g, few % 3', NULL) AS one_of_two;

-- Constants; types of the same bytes; columns that are constant, or among the groups.
CREATE DOMAIN share AS float8;
SELECT query, check_aggregates(query, taken) AS result FROM (VALUES ('SELECT g, mode() WITHIN GROUP (ORDER BY ''x''::text), percentile_disc(0.1) WITHIN GROUP (ORDER BY few) FROM r GROUP BY g', 1), ('SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY 7) FROM r GROUP BY g', 0),
	('SELECT count(DISTINCT 1), count(DISTINCT few) FROM r', NULL), ('SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY x) FROM (SELECT f::share AS x FROM r) AS s', 1), ('SELECT percentile_cont(''{0.3,0.5}''::float8[]) WITHIN GROUP (ORDER BY x), percentile_disc(''{1}''::float8[]) WITHIN GROUP (ORDER BY x) FROM (SELECT f::share AS x FROM r OFFSET 0) AS s', 1),
	('SELECT percentile_disc(''{0.5}''::float8[]) WITHIN GROUP (ORDER BY v::text) = ARRAY[''a''::text], percentile_disc(''{0.5}''::float8[]) WITHIN GROUP (ORDER BY v) = ARRAY[''a''::varchar] FROM r', 1), ('SELECT percentile_disc(''{0.5,0.1}''::float8[]) WITHIN GROUP (ORDER BY (few - 100)::oid) FROM r', 1),
	('SELECT g, jsonb_object_agg(DISTINCT id, g), mode() WITHIN GROUP (ORDER BY few) FROM r GROUP BY g', NULL), ('SELECT g, sum(DISTINCT few), regr_count(DISTINCT f, f) FROM r GROUP BY g', NULL)) AS q (query, taken);
-- Groups by a constant, without rows.
SELECT check_aggregates('SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY few), count(*) FROM r WHERE g = -7 GROUP BY g', NULL) AS no_group, check_aggregates('SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY few), count(*) FROM r WHERE g = 7 GROUP BY g', NULL) AS one_group;
-- Workers get the plan of the node below a Gather.
SET max_parallel_workers_per_gather = 2;
SELECT set_config(CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'debug_parallel_query' ELSE 'force_parallel_mode' END, 'on', false) AS debug_parallel;
SET gpusort.mode = force;
SELECT nodes('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY few) FROM r', 'Single Copy: true') AS gathers;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY few) FROM r;
SET gpusort.mode = off;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY few) FROM r;
RESET gpusort.mode;
SELECT set_config(CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'debug_parallel_query' ELSE 'force_parallel_mode' END, 'off', false) AS debug_parallel;
RESET max_parallel_workers_per_gather;
-- Runs in files, and several processes.
SET work_mem = '64kB';
SET gpusort.work_mem = '64kB';
SELECT string_agg(DISTINCT check_aggregates(format('SELECT %s FROM r, generate_series(1, 5)', of_values), NULL), ',') AS all_rows, string_agg(DISTINCT check_aggregates(format('SELECT g %% 4, %s, count(*) FROM r, generate_series(1, 5) GROUP BY 1', of_values), NULL), ',') AS groups,
	string_agg(DISTINCT check_aggregates(format('SELECT g %% 4, %s FROM r, generate_series(1, 5) GROUP BY 1', of_values), NULL), ',') AS groups_alone FROM calls WHERE c IN ('few', 't', 'f', 'iv');
SELECT string_agg(DISTINCT check_aggregates(format('SELECT count(DISTINCT %s) FROM counted, generate_series(1, 5)', c), NULL), ',') AS counts, string_agg(DISTINCT check_aggregates(format('SELECT wide %% 4, count(DISTINCT %s) FROM counted, generate_series(1, 5) GROUP BY 1', c), NULL), ',') AS in_groups FROM unnest('{few,big,t,text_c,long,num}'::text[]) AS c;
RESET work_mem;
RESET gpusort.work_mem;
-- Aggregates that need different orders, apart: so many of them are there, and a GpuAggJoin.
CREATE FUNCTION check_apart(query text, taken int DEFAULT 2) RETURNS text LANGUAGE plpgsql SET gpusort.mode = force AS $$
BEGIN
	RETURN CASE WHEN nodes(query, '(GpuAggJoin)') = 1 THEN check_aggregates(query, taken) ELSE 'together' END;
END $$;
SELECT apart, string_agg(DISTINCT check_apart(format('SELECT %s FROM r', apart), taken), ',') AS all_rows, string_agg(DISTINCT check_apart(format('SELECT %s, count(*) + min(id), avg(n) FROM r HAVING count(DISTINCT few) > 1', apart), NULL), ',') AS beside,
	string_agg(DISTINCT check_apart(format('SELECT g, %s FROM r GROUP BY g', apart), taken), ',') AS groups, string_agg(DISTINCT check_apart(format('SELECT %s, d + 1, sum(id), max(t), wide %% 10 FROM r GROUP BY d, wide %% 10 HAVING max(few) > 3', apart), taken), ',') AS in_groups,
	string_agg(DISTINCT check_apart(format('SELECT t, count(*) FILTER (WHERE few > 2), %s FROM r GROUP BY t', apart), NULL), ',') AS nulls, string_agg(DISTINCT check_apart(format('SELECT d, %s, count(*) FROM r WHERE id < 0 GROUP BY d', apart), taken), ',') AS no_group, string_agg(DISTINCT check_apart(format('SELECT %s, count(*), sum(id) FROM r WHERE id < 0', apart), taken), ',') AS no_rows
FROM (VALUES ('count(DISTINCT few), count(DISTINCT big)', 2), ('count(DISTINCT t) - count(DISTINCT few), sum(DISTINCT f), count(DISTINCT few) * 2', 3), ('string_agg(t, '','' ORDER BY t, id), array_agg(few ORDER BY n, id)', 2), ('percentile_cont(0.5) WITHIN GROUP (ORDER BY f), percentile_disc(0.2) WITHIN GROUP (ORDER BY few), mode() WITHIN GROUP (ORDER BY n)', 3),
	('mode() WITHIN GROUP (ORDER BY few DESC), mode() WITHIN GROUP (ORDER BY few)', 2), ('count(DISTINCT upper(t)), count(DISTINCT few + 1), count(DISTINCT (few, d))', 3), ('count(DISTINCT few) FILTER (WHERE n > 1), percentile_disc(0.5) WITHIN GROUP (ORDER BY f DESC) FILTER (WHERE id % 3 > 0)', 2),
	('count(DISTINCT few), count(DISTINCT few) FILTER (WHERE n > 2), count(DISTINCT big), array_agg(DISTINCT few ORDER BY few), rank(3) WITHIN GROUP (ORDER BY few), sum(DISTINCT n)', 3), ('regr_count(DISTINCT few, n), count(DISTINCT n), count(DISTINCT f)', 3)) AS calls (apart, taken) GROUP BY apart ORDER BY apart COLLATE "C";
SELECT query, check_apart(query, taken) AS result FROM (VALUES ('SELECT g, few, count(DISTINCT n), count(DISTINCT id) FROM r GROUP BY g, few', 2), ('SELECT r.*, count(DISTINCT o.n), count(DISTINCT o.id) FROM r JOIN r AS o USING (g) WHERE r.id < 100 GROUP BY r.id', 2), ('SELECT abs(few), count(DISTINCT n), count(DISTINCT few) FROM r GROUP BY 1', 2),
	('SELECT o.d, s.* FROM (SELECT DISTINCT d FROM r) AS o, LATERAL (SELECT count(DISTINCT few), count(DISTINCT big), sum(id) FROM r WHERE r.d < o.d) AS s', 2), ('SELECT o.d, s.* FROM (SELECT DISTINCT d FROM r) AS o, LATERAL (SELECT b, count(DISTINCT few), count(DISTINCT big), sum(id) FROM r WHERE r.d < o.d GROUP BY b) AS s', 2),
	('SELECT d, sum(count(DISTINCT few)) OVER (ORDER BY d), count(DISTINCT big) FROM r GROUP BY d', 2), ('SELECT d, count(DISTINCT few), count(DISTINCT big) FROM r WHERE few IN (SELECT few FROM r WHERE id < 9) OR id < (SELECT min(g) + 50 FROM r AS i WHERE i.id < r.id) GROUP BY d', 2), ('SELECT count(DISTINCT few), count(DISTINCT big) FROM r WHERE id = (SELECT min(g) FROM r)', 2),
	('SELECT g, count(DISTINCT few), count(DISTINCT big) FROM r GROUP BY g ORDER BY 2, 3, 1', 2), ('SELECT DISTINCT count(DISTINCT few), count(DISTINCT big) FROM r GROUP BY d ORDER BY 1', 2), ('SELECT x, count(DISTINCT few), count(DISTINCT n) FROM r LEFT JOIN (SELECT id AS i, n AS x FROM r WHERE b) AS s ON i = id GROUP BY x', 2),
	('SELECT count(DISTINCT few) FILTER (WHERE id = 9), count(DISTINCT big), count(DISTINCT n) FILTER (WHERE random() < 2), max(id) FROM r', NULL), ('SELECT d, count(DISTINCT few) = (SELECT count(*) FROM r AS i WHERE i.d = r.d), count(DISTINCT n) FROM r GROUP BY d', 2)) AS q (query, taken);
-- Not where rows could be others when they are read again, or where only an Agg knows a part of the output.
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE TABLE partly_foreign (few int) PARTITION BY LIST (few);
CREATE TABLE partly_foreign_1 PARTITION OF partly_foreign FOR VALUES IN (0, 1, 2);
CREATE FOREIGN TABLE partly_foreign_2 PARTITION OF partly_foreign DEFAULT SERVER files OPTIONS (program 'seq 7 12');
INSERT INTO partly_foreign SELECT i % 3 FROM generate_series(1, 2000) AS i;
ANALYZE partly_foreign_1;
SELECT query, nodes(query, '(GpuAggJoin)') AS apart, check_aggregates(query, NULL) AS result FROM unnest(ARRAY['SELECT count(DISTINCT few), count(DISTINCT n) FROM r WHERE id < 100 + random() * 0', 'SELECT count(DISTINCT few), count(DISTINCT n) FROM r TABLESAMPLE system (100)', 'SELECT count(DISTINCT few), count(DISTINCT n) FROM (SELECT few, n FROM r OFFSET 0) AS s',
	'SELECT random() < 2, count(DISTINCT few), count(DISTINCT n) FROM r GROUP BY 1', 'SELECT d, GROUPING(d), count(DISTINCT few), count(DISTINCT n) FROM r GROUP BY d', 'SELECT count(DISTINCT i), count(DISTINCT i % 7) FROM generate_series(1, 2000) AS i', 'SELECT d, count(DISTINCT few), count(DISTINCT n) FROM r GROUP BY ROLLUP (d)',
	'SELECT count(DISTINCT few), count(DISTINCT n) FROM r WHERE few > (SELECT random() * 0 + i.few FROM r AS i WHERE i.id = r.id OFFSET 0) - 1',
	'SELECT count(DISTINCT few), count(DISTINCT few % 4) FROM partly_foreign', 'SELECT count(DISTINCT few), count(DISTINCT n) FROM r WHERE xmax = 0', 'SELECT count(DISTINCT few), count(DISTINCT n), max(id) FILTER (WHERE cmax::text = ''0'') FROM r']) AS query, set_config('gpusort.mode', 'force', true);
SET gpusort.mode = force;
EXPLAIN (VERBOSE, COSTS OFF) SELECT d, count(DISTINCT few) + 1 AS more, percentile_disc(0.5) WITHIN GROUP (ORDER BY n), count(*) FROM r GROUP BY d HAVING count(DISTINCT few) > 3;
SELECT count(DISTINCT few), count(DISTINCT n), sum(1 / (id - 7)) FROM r;
SELECT count(DISTINCT few), count(DISTINCT n) FROM r HAVING 1 / (count(DISTINCT few) - 40) > 0;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT d, count(DISTINCT few), count(DISTINCT big) FROM r GROUP BY d ORDER BY d;
FETCH 2 FROM c;
MOVE LAST FROM c;
FETCH BACKWARD 2 FROM c;
ROLLBACK;
PREPARE p(int) AS SELECT count(DISTINCT few), count(DISTINCT n), sum(few + $1) FROM r WHERE id < $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE p(100);
EXECUTE p(1000);
DEALLOCATE p;
RESET plan_cache_mode;
RESET gpusort.mode;
-- Runs in files, and aggregates that workers compute in part.
SET work_mem = '64kB';
SET gpusort.work_mem = '64kB';
SELECT check_apart('SELECT count(DISTINCT r.few), count(DISTINCT r.big), sum(o.id) FROM r JOIN r AS o USING (d)') AS all_rows, check_apart('SELECT g % 4, count(DISTINCT r.few), count(DISTINCT r.big), sum(o.id) FROM r JOIN r AS o USING (g) GROUP BY 1') AS groups;
RESET work_mem;
RESET gpusort.work_mem;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
CREATE AGGREGATE whole_sum(int) (SFUNC = int4pl, STYPE = int, INITCOND = 0, PARALLEL = SAFE);
SELECT query, nodes(query, 'Partial') AS in_part, check_apart(query) AS result FROM unnest('{"SELECT count(DISTINCT few), count(DISTINCT big), sum(id), avg(n), max(t) FROM r","SELECT d, count(DISTINCT few), count(DISTINCT big), avg(id), count(n) FROM r GROUP BY d","SELECT count(DISTINCT few), count(DISTINCT big), whole_sum(id), sum(n) FROM r","SELECT count(DISTINCT few), count(DISTINCT big), json_agg(id) IS NULL, sum(n) FROM r"}'::text[]) AS query, set_config('gpusort.mode', 'force', true);
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
-- Few positions of all rows: processes put only those rows in order that are read.  Values all different, nearly all the same, few,
-- mostly NULL; numbers and strings; also where all rows are read, and where keys tell the order of none.
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET work_mem = '64MB';
SET parallel_leader_participation = off;
SET gpusort.backend = cpu;
CREATE TABLE positions AS
SELECT noise(i) AS k, abs(noise(i, 1) % 1000)::float8 * (i % 100 = 0)::int AS same, (noise(i, 2) % 5)::int AS few, CASE WHEN i % 50 = 0 THEN noise(i, 3) END AS sparse, md5(i::text) COLLATE "C" AS t,
	(noise(i, 4) % 100000) * interval '1 second' AS iv, 'NaN'::float8 AS nan
FROM generate_series(1, 70000) AS i;
VACUUM ANALYZE positions;
-- With gpusort off, and then forced until several processes have sorted, by this method.  A loop over rows would read them in one process.
CREATE FUNCTION check_positions(calls text, method text) RETURNS text
LANGUAGE plpgsql SET gpusort.mode = off AS $$
DECLARE
	query text := format('SELECT %s FROM positions', calls);
	right_row record;
	forced record;
	seen jsonb;
BEGIN
	EXECUTE query INTO right_row;
	PERFORM set_config('gpusort.mode', 'force', true);
	FOR i IN 1 .. 50 LOOP
		EXECUTE query INTO forced;
		IF forced IS DISTINCT FROM right_row THEN
			RETURN format('%s instead of %s', forced, right_row);
		END IF;
		seen := jsonb_path_query_array(plan_of(query), 'strict $.**."Sort Method"');
		EXIT WHEN i > 1 AND seen @> to_jsonb(ARRAY[method]);
	END LOOP;
	RETURN CASE WHEN seen @> to_jsonb(ARRAY[method]) THEN 'ok' ELSE seen::text END;
END $$;
SELECT c, check_positions(format('percentile_disc(0.5) WITHIN GROUP (ORDER BY %s)', c), method) AS median, check_positions(format('percentile_disc(ARRAY[0, 1, 0.00001, 0.99999, 0.3, 0.5]::float8[]) WITHIN GROUP (ORDER BY %s)', c), method) AS several
FROM (VALUES ('k', 'sample sort of what is read'), ('same DESC', 'sample sort of what is read'), ('few', 'sample sort of what is read'), ('sparse NULLS FIRST', 'sample sort of what is read'), ('sparse DESC NULLS LAST', 'sample sort of what is read'), ('iv', 'sample sort of what is read'),
	('t', 'string sort of what is read'), ('t DESC', 'string sort of what is read'), ('nan', 'already in order')) AS v (c, method);
SELECT calls, check_positions(calls, method) AS result
FROM (VALUES ('percentile_cont(0.25) WITHIN GROUP (ORDER BY k), percentile_cont(0.75) WITHIN GROUP (ORDER BY k)', 'sample sort of what is read'), ('percentile_cont(0.5) WITHIN GROUP (ORDER BY iv)', 'sample sort of what is read'),
	('percentile_disc(0.5) WITHIN GROUP (ORDER BY k), mode() WITHIN GROUP (ORDER BY k)', 'sample sort'), ('percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FILTER (WHERE few > 0)', 'sample sort'), ('percentile_disc(ARRAY[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 0, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65]::float8[]) WITHIN GROUP (ORDER BY k)', 'sample sort')) AS v (calls, method);
SELECT check_aggregates('SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM positions GROUP BY few') AS groups, check_aggregates('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), count(DISTINCT k) FROM positions', NULL) AS beside;
-- So many positions that some are the first ones of what is put in order at once.
SELECT count(*), count(DISTINCT result) AS results, max(result) AS result FROM generate_series(1, 15) AS i, check_positions(format('percentile_disc(ARRAY[%s]::float8[]) WITHIN GROUP (ORDER BY k)', (SELECT string_agg(((noise(n, i) & 65535) / 65535.0)::text, ',') FROM generate_series(1, 16) AS n)), 'sample sort of what is read') AS result;
RESET work_mem;
RESET parallel_leader_participation;
RESET gpusort.backend;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
-- Again with other parameters, in a cursor, in a function's loop, below a window, above one, in a sub-select.
SELECT query, check_aggregates(query, taken) AS result FROM (VALUES ('SELECT o.d, s.* FROM (SELECT DISTINCT d FROM r) AS o, LATERAL (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY few), count(*) FROM r WHERE r.d < o.d) AS s', 1),
	('SELECT o.d, (SELECT mode() WITHIN GROUP (ORDER BY few) FROM r WHERE r.d < o.d) FROM (SELECT DISTINCT d FROM r) AS o', 1), ('SELECT o.d, (SELECT count(DISTINCT few) FROM r WHERE r.d < o.d) FROM (SELECT DISTINCT d FROM r) AS o', 1),
	('SELECT g, sum(percentile_cont(0.5) WITHIN GROUP (ORDER BY few)) OVER (ORDER BY g) FROM r GROUP BY g', 1), ('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY c) FROM (SELECT g, count(DISTINCT few) AS c FROM r GROUP BY g) AS s', 2),
	('SELECT r.*, percentile_disc(0.5) WITHIN GROUP (ORDER BY o.few) FROM r JOIN r AS o USING (g) WHERE r.id < 100 GROUP BY r.id', 1), ('SELECT g, mode() WITHIN GROUP (ORDER BY few) FROM r GROUP BY g ORDER BY 2, 1 LIMIT 7', 1),
	('SELECT DISTINCT percentile_disc(0.5) WITHIN GROUP (ORDER BY few) FROM r GROUP BY g', 1), ('WITH m AS MATERIALIZED (SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY few) AS m FROM r GROUP BY g) SELECT count(*) FROM r JOIN m USING (g) WHERE few > m', 1)) AS q (query, taken);
SET gpusort.mode = force;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT wide, percentile_disc(0.5) WITHIN GROUP (ORDER BY few), count(*) FROM r GROUP BY wide ORDER BY wide;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
MOVE LAST FROM c;
FETCH BACKWARD 2 FROM c;
ROLLBACK;
PREPARE p(int) AS SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY few), mode() WITHIN GROUP (ORDER BY few) FROM r WHERE id < $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE p(100);
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE p(100);
EXECUTE p(1000);
DEALLOCATE p;
RESET plan_cache_mode;
-- Who may not call the aggregate may not here.
BEGIN;
CREATE ROLE regress_aggregates;
GRANT USAGE ON SCHEMA aggregates TO regress_aggregates;
GRANT SELECT ON r TO regress_aggregates;
REVOKE EXECUTE ON FUNCTION percentile_disc(float8, anyelement) FROM PUBLIC;
SET ROLE regress_aggregates;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY few) FROM r;
ROLLBACK;
-- In mode auto it is worth it for many rows.
SET gpusort.mode = auto;
CREATE TABLE many AS SELECT i AS id, noise(i) AS k, noise(i)::numeric AS n, i % 50 AS g FROM generate_series(1, 40000) AS i;
ANALYZE many;
EXPLAIN (COSTS OFF) SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM many GROUP BY g;
EXPLAIN (COSTS OFF) SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM many WHERE id < 100;
-- Not where a filter leaves few of them.
SELECT nodes('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY n) FILTER (WHERE id < 100) FROM many', '(GpuSort)') AS few, nodes('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY n) FILTER (WHERE id > 100) FROM many', '(GpuSort)') AS most;
-- A join that has the rows in the order of the groups sorts small parts: it must cost more, by PostgreSQL's costs.
CREATE TABLE linked AS SELECT (i * 7919) % 10000 AS g, (i * 7) % 50 AS v FROM generate_series(1, 28000) AS i;
CREATE TABLE linked_values AS SELECT i AS v, i * 3 % 50 AS k FROM generate_series(0, 49) AS i;
CREATE INDEX ON linked (g, v);
CREATE UNIQUE INDEX ON linked_values (v);
ANALYZE linked;
ANALYZE linked_values;
SET max_parallel_workers_per_gather = 0;
SET seq_page_cost = 0.1;
SET enable_indexonlyscan = off;
SELECT cost, set_config('random_page_cost', cost, false) = cost AS set, nodes('SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM linked JOIN linked_values USING (v) GROUP BY g', '(GpuAggInput)') = sorts OR current_setting('server_version_num')::int >= 190000 AS as_expected FROM (VALUES ('1', 0), ('6.5', 1)) AS c (cost, sorts);
RESET random_page_cost;
RESET seq_page_cost;
RESET enable_indexonlyscan;
RESET max_parallel_workers_per_gather;
-- Apart where sorts take longer than reading the table again, also beside what needs no sort; a card may take less.
SET max_parallel_workers_per_gather = 0;
SET gpusort.backend = cpu;
-- On 19 the aggregates' own sorts of integers, by radix, take less.
SELECT query, apart, nodes(query, '(GpuAggJoin)') = apart OR current_setting('server_version_num')::int >= 190000 AS as_expected FROM unnest('{"SELECT count(DISTINCT k), count(DISTINCT g) FROM many","SELECT count(DISTINCT g), count(*) FROM many","SELECT mode() WITHIN GROUP (ORDER BY k), count(*), sum(n), sum(k), sum(g), min(n), max(n), stddev(n) FROM many","SELECT count(DISTINCT k), count(DISTINCT g) FROM many WHERE id < 100","SELECT count(DISTINCT many.k), count(DISTINCT o.g) FROM many JOIN many AS o USING (id)","SELECT count(DISTINCT k), count(DISTINCT g) FROM many WHERE id > 0 AND (g = ANY (ARRAY[7, 8]) OR n = 9 OR NOT k IS NULL)","SELECT count(DISTINCT k), count(DISTINCT g) FROM many WHERE id > 0 AND (n < 9 OR NOT k IS NULL)","SELECT count(DISTINCT k), count(DISTINCT g) FROM many WHERE abs(id) <> -1","SELECT count(*), count(g) FROM many"}'::text[], '{1,1,0,0,0,1,0,0,0}'::int[]) AS q (query, apart);
RESET gpusort.backend;
RESET max_parallel_workers_per_gather;
-- An index has the greatest value at once.
CREATE INDEX ON many (md5(k::text));
ANALYZE many;
SELECT nodes('SELECT max(DISTINCT md5(k::text)) FROM many', '(GpuSort)') AS sorts_for_greatest, nodes('SELECT mode() WITHIN GROUP (ORDER BY md5(k::text)) FROM many', '(GpuSort)') AS sorts_for_mode;
SELECT coalesce(reason, 'taken') AS sort FROM gpusort_check('SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), rank(5) WITHIN GROUP (ORDER BY id) FROM many GROUP BY g') ORDER BY 1;
RESET gpusort.mode;

SET client_min_messages = warning;
DROP SCHEMA aggregates CASCADE;
