--
-- Rows that their sort key says all of are not kept: they are made of their keys again.
--
-- Values of every type, their extremes among them, many of them more than once, and NULLs, in other rows of one column than of another.
CREATE FUNCTION seldom(value text, extremes text[], i int) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN noise(i, 3 + length(extremes::text)) % 11 = 0 THEN NULL
		WHEN noise(i, 4 + length(extremes::text)) % 7 = 0 THEN extremes[i % cardinality(extremes) + 1] ELSE value END
$$;
CREATE TABLE alone AS
SELECT seldom((n % 2 = 0)::text, '{t,f}', i)::bool AS bool, seldom(chr(32 + (i % 90)), '{"",a,~}', i)::"char" AS "char",
	seldom((n % 32768)::text, '{-32768,32767,-1,0,1}', i)::int2 AS int2, seldom((n % 2147483648)::text, '{-2147483648,2147483647,-1,0,1}', i)::int4 AS int4,
	seldom(n::text, '{-9223372036854775808,9223372036854775807,-1,0,1}', i)::int8 AS int8, seldom((n & 4294967295)::text, '{0,1,2147483648,4294967295}', i)::oid AS oid,
	seldom((i % 25)::text, '{int4,4294967295,text,0}', i)::regtype AS regtype, seldom((n & 9223372036854775807)::text, '{0,18446744073709551615}', i)::xid8 AS xid8,
	seldom(format('(%s,%s)', abs(n % 100000), i % 300), '{"(0,0)","(4294967295,65535)","(65536,1)"}', i)::tid AS tid,
	seldom((n % 1000007)::text, '{-92233720368547758.08,92233720368547758.07,0,-0.01}', i)::money AS money,
	seldom((date '2000-01-01' + (n % 1000000)::int)::text, '{infinity,-infinity,4713-01-01 BC,5874897-12-31}', i)::date AS date,
	seldom((time '00:00' + (abs(n) % 86400) * interval '1 s')::text, '{00:00,24:00,23:59:59.999999}', i)::time AS time,
	seldom((time '00:00' + (i % 24) * interval '1 h')::text || to_char(n % 13, 'SG00'), '{12:00+00,13:00+01,00:00+15:59:59,24:00-15:59:59}', i)::timetz AS timetz,
	seldom((timestamp '2000-01-01' + (n % 60000000) * interval '1 minute')::text, '{infinity,-infinity,294276-12-31 23:59:59.999999}', i)::timestamp AS timestamp,
	seldom(md5((i % 5000)::text), '{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}', i)::uuid AS uuid,
	seldom(substr(md5(i::text), 1, 12), '{00:00:00:00:00:00,ff:ff:ff:ff:ff:ff}', i)::macaddr AS macaddr,
	seldom(substr(md5(i::text), 1, 16), '{00:00:00:00:00:00:00:00,ff:ff:ff:ff:ff:ff:ff:ff}', i)::macaddr8 AS macaddr8,
	seldom(format('%s/%s', to_hex(i), to_hex(i % 100)), '{0/0,FFFFFFFF/FFFFFFFF}', i)::pg_lsn AS pg_lsn,
	i / 7.0::float8 AS float8, i * interval '1 s' AS interval, md5(i::text) COLLATE "C" AS text
FROM (SELECT i, noise(i) AS n FROM generate_series(1, 20000) AS i) v;
ANALYZE alone;

-- alone: have rows been left out? Keys take 32 bytes at most, a key with a row more.
CREATE FUNCTION check_keys(query text, alone boolean DEFAULT true) RETURNS text
LANGUAGE sql AS $$
	SELECT CASE WHEN result = 'ok' AND current_setting('gpusort.backend') <> 'cuda' AND (bytes <= 32) <> alone
		THEN format('%s bytes a row', bytes) ELSE result END
	FROM check_whole(query)
$$;

SELECT attname, string_agg(DISTINCT result, '; ') AS result
FROM (SELECT attnum, attname, check_keys(format('SELECT %1$I FROM alone ORDER BY %1$I %2$s', attname, options), attnum <= 18) AS result
	  FROM pg_attribute, unnest(ARRAY['', 'NULLS FIRST', 'DESC', 'DESC NULLS LAST']) AS options
	  WHERE attrelid = 'alone'::regclass AND attnum > 0) r
GROUP BY attnum, attname ORDER BY attnum;

-- Several columns, in another order than in the row, with gaps between them; columns that are there for the sort alone.
SELECT check_keys('SELECT bool, int8, "char", int2, tid FROM alone ORDER BY tid DESC, "char", bool NULLS FIRST, int2 DESC, int8') AS five,
	check_keys('SELECT int2, uuid, bool FROM alone ORDER BY bool DESC, uuid, int2') AS by_reference,
	check_keys('SELECT timetz, macaddr FROM alone ORDER BY macaddr, timetz DESC') AS aligned,
	check_keys('SELECT int4 + 1 AS next, int4 IS NULL AS is_null FROM alone WHERE int4 < 0 OR int4 IS NULL ORDER BY is_null, next') AS expressions,
	check_keys('SELECT 1 AS one FROM alone ORDER BY int8') AS nothing_is_kept,
	check_keys('SELECT int8, int8 FROM alone ORDER BY int8') AS twice,
	check_keys('SELECT 5 AS five, int8, 6 AS six, int2 FROM alone ORDER BY int2, int8') AS between_constants,
	check_keys('SELECT 5 AS five, int8, 6 AS six, int2 FROM alone WHERE int8 <> 0 AND int2 <> 0 ORDER BY int2, int8') AS without_nulls,
	check_keys('SELECT int4, text FROM alone ORDER BY int4, text', false) AS not_of_fixed_width,
	check_keys('SELECT int4, text FROM alone WHERE int8 % 3 = 0 ORDER BY text', false) AS not_sorted_by;
CREATE DOMAIN alone_domain AS int2 CHECK (VALUE > -32769);
SELECT check_keys('SELECT int2::alone_domain FROM alone ORDER BY 1') AS domain;

-- In order already, in reverse order, all the same.
CREATE TABLE alone_ordered AS SELECT i::int8 AS i, -i AS j, 7 AS same, noise(i) AS k FROM generate_series(1, 100000) AS i;
ANALYZE alone_ordered;
SELECT check_keys('SELECT i FROM alone_ordered ORDER BY i') AS in_order, check_keys('SELECT i FROM alone_ordered ORDER BY i DESC') AS reversed,
	check_keys('SELECT i, j FROM alone_ordered ORDER BY j, i') AS both, check_keys('SELECT same FROM alone_ordered ORDER BY same') AS same;

-- With a bound, with little memory, by several processes.
SELECT check_keys('SELECT int8 FROM alone ORDER BY int8 LIMIT 100') AS bounded, check_keys('SELECT uuid, int4 FROM alone ORDER BY uuid DESC, int4 LIMIT 9000') AS less_bounded;
SET gpusort.work_mem = '64kB';
SELECT check_keys('SELECT int8, bool FROM alone, generate_series(1, 4) ORDER BY int8, bool') AS spilled,
	check_keys('SELECT int8, bool FROM alone, generate_series(1, 4) ORDER BY int8, bool LIMIT 30000') AS spilled_with_a_bound;
RESET gpusort.work_mem;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT check_keys('SELECT timetz, int8 FROM alone ORDER BY int8 DESC, timetz') AS parallel,
	check_keys('SELECT k, same FROM alone_ordered ORDER BY same, k') AS joint;
SET gpusort.mode = force;
SELECT plan_contains('SELECT timetz, int8 FROM alone ORDER BY int8 DESC, timetz', 'GpuSortFeed') AS parallel,
	plan_contains('SELECT k, same FROM alone_ordered ORDER BY same, k', 'GpuSortFeed') AS joint;
RESET gpusort.mode;
SET gpusort.work_mem = '64kB';
SELECT check_keys('SELECT timetz, int8 FROM alone ORDER BY int8 DESC, timetz') AS parallel_spilled;
RESET gpusort.work_mem;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;

-- Forwards and backwards; again, in a loop.
BEGIN;
SET LOCAL gpusort.mode = force;
DECLARE c SCROLL CURSOR FOR SELECT int2 FROM alone WHERE int2 % 1000 = 0 ORDER BY int2;
FETCH 3 FROM c;
FETCH LAST FROM c;
FETCH BACKWARD 3 FROM c;
FETCH ABSOLUTE 2 FROM c;
FETCH BACKWARD ALL FROM c;
COMMIT;
SET gpusort.mode = force;
SELECT g, (SELECT array_agg(i) FROM (SELECT i FROM alone_ordered WHERE i % 25000 < g ORDER BY i DESC OFFSET 0) s) FROM generate_series(1, 3) AS g;
RESET gpusort.mode;
DROP TABLE alone, alone_ordered;
DROP DOMAIN alone_domain;
DROP FUNCTION check_keys, seldom;
