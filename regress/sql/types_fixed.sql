--
-- Types of fixed width, every direction and place of the nulls, with their extreme values.
--
SET timezone = 'UTC';
SELECT check_type('bool', 'n % 2 = 0', '{t,f}') AS bool;
SELECT check_type('"char"', '((n & 255) - 128)::int::"char"', '{"",a,~}') AS "char";
SELECT check_type('int2', 'n % 32768', '{-32768,32767,-1,0,1}') AS int2;
SELECT check_type('int4', 'n % 2147483648', '{-2147483648,2147483647,-1,0,1}') AS int4;
SELECT check_type('int8', 'n', '{-9223372036854775808,9223372036854775807,-1,0,1}') AS int8;
SELECT check_type('oid', 'n & 4294967295', '{0,1,2147483647,2147483648,4294967295}') AS oid;
SELECT check_type('float4', '(u - 0.5) * 10 ^ (i % 70 - 35)',
	'{NaN,Infinity,-Infinity,0,-0,1e-45,-1e-45,1.17549435e-38,3.4028235e38,-3.4028235e38}') AS float4;
SELECT check_type('float8', '(u - 0.5) * 10 ^ (i % 600 - 300)',
	'{NaN,Infinity,-Infinity,0,-0,5e-324,-5e-324,2.2250738585072014e-308,1.7976931348623157e308,-1.7976931348623157e308}') AS float8;
SELECT check_type('money', '(n % 1000000007)::bigint', '{-92233720368547758.08,92233720368547758.07,0,-0.01,0.01}') AS money;
SELECT check_type('date', 'date ''2000-01-01'' + (n % 1000000)::int',
	'{infinity,-infinity,4713-01-01 BC,5874897-12-31,2000-01-01,1999-12-31}') AS date;
SELECT check_type('time', 'time ''00:00'' + u * interval ''86399 s''', '{00:00,24:00,23:59:59.999999,00:00:00.000001}') AS "time";
-- The same instant in two zones is not the same timetz.
SELECT check_type('timetz', '((time ''00:00'' + (i % 24) * interval ''1 h'')::text || to_char(n % 13, ''SG00''))::timetz',
	'{12:00+00,13:00+01,11:00-01,00:00+15:59:59,24:00-15:59:59,00:00+00,24:00+00}') AS timetz;
SELECT check_type('timestamp', 'timestamp ''2000-01-01'' + (u - 0.5) * interval ''4000 years''',
	'{infinity,-infinity,4713-01-01 00:00 BC,294276-12-31 23:59:59.999999,2000-01-01,1999-12-31 23:59:59.999999}') AS "timestamp";
SELECT check_type('timestamptz', 'timestamptz ''2000-01-01'' + (u - 0.5) * interval ''4000 years''',
	'{infinity,-infinity,4714-11-24 00:00 BC,294276-12-31 23:59:59.999999,2000-01-01}') AS timestamptz;
-- A month is 30 days, a day 24 hours: values that print differently are equal.
SELECT check_type('interval', 'make_interval(months => (n % 3)::int, days => (i % 61 - 30)::int, secs => 86400 * (i % 7 - 3) + i % 2)',
	'{1 mon,30 days,720 hours,29 days 24:00,-1 mon,1 mon -30 days,0,178000000 years,-178000000 years,
	  2147483647 mons 2147483647 days,-2147483648 mons -2147483648 days,00:00:00.000001,-00:00:00.000001}') AS interval;
SELECT check_type('uuid', 'md5(i::text)', '{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,
	00000000-0000-0001-0000-000000000000,00000000-0000-0000-8000-000000000000}') AS uuid;
SELECT check_type('macaddr', 'substr(md5(i::text), 1, 12)', '{00:00:00:00:00:00,ff:ff:ff:ff:ff:ff,00:00:00:00:00:01,80:00:00:00:00:00}') AS macaddr;
SELECT check_type('macaddr8', 'substr(md5(i::text), 1, 16)',
	'{00:00:00:00:00:00:00:00,ff:ff:ff:ff:ff:ff:ff:ff,00:00:00:00:00:00:00:01,80:00:00:00:00:00:00:00}') AS macaddr8;
SELECT check_type('pg_lsn', '''0/0''::pg_lsn + (n & 9223372036854775807)::numeric', '{0/0,0/1,FFFFFFFF/FFFFFFFF,80000000/0,7FFFFFFF/FFFFFFFF}') AS pg_lsn;

-- What a Datum has beside a value of fewer bytes depends on where that comes from: a stored oid is extended by its
-- sign, a computed one by zeros.  Each value is there in both kinds; the oracle sorts wide ones.
CREATE TABLE narrow AS SELECT i AS id, (noise(i) & 4294967295)::oid AS o, (noise(i) % 32768)::int2 AS i2, (noise(i) % 2147483648)::int4 AS i4,
	date '2000-01-01' + (noise(i) % 1000000)::int AS d, noise(i)::float4 AS f4
FROM generate_series(1, 3000) AS i;
CREATE FUNCTION check_narrow(stored text, computed text, widened text) RETURNS text
LANGUAGE plpgsql SET gpusort.mode = force AS $$
DECLARE
	narrow_and_wide text := format('SELECT v, id, %s AS wide FROM (SELECT id, %s AS v FROM narrow UNION ALL SELECT id, %s FROM narrow) u',
		widened, stored, computed);
	by_value text[];
	by_wide_value text[];
BEGIN
	IF NOT uses_gpusort(narrow_and_wide || ' ORDER BY v, id DESC') THEN
		RETURN 'gpusort is not in the plan';
	END IF;
	EXECUTE format('SELECT array_agg(v || '' '' || id) FROM (%s ORDER BY v, id DESC) s', narrow_and_wide) INTO by_value;
	EXECUTE format('SELECT array_agg(v || '' '' || id) FROM (%s ORDER BY wide, id DESC) s', narrow_and_wide) INTO by_wide_value;
	RETURN CASE WHEN by_value = by_wide_value THEN 'ok' ELSE 'out of order' END;
END $$;
SELECT stored, check_narrow(stored, computed, widened) FROM (VALUES
	('o', '(noise(id) & 4294967295)::oid', 'v::int8'),
	('i2', '(noise(id) % 32768)::int2', 'v::int8'),
	('i4', '(noise(id) % 2147483648)::int4', 'v::int8'),
	('d', 'date ''2000-01-01'' + (noise(id) % 1000000)::int', '(v - date ''2000-01-01'')::int8'),
	('f4', 'noise(id)::float4', 'v::float8')) AS columns (stored, computed, widened);
DROP FUNCTION check_narrow;
DROP TABLE narrow;

-- Enums sort by the order of their declaration, which is not that of their OIDs once a value was added in between.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE mood ADD VALUE 'glum' BEFORE 'ok';
ALTER TYPE mood ADD VALUE 'furious' BEFORE 'sad';
ALTER TYPE mood ADD VALUE 'ecstatic';
SELECT check_type('mood', '(enum_range(NULL::mood))[i % 6 + 1]', '{sad,ecstatic}') AS enum;
-- Values added while a session has sorted by the type.
ALTER TYPE mood ADD VALUE 'calm' AFTER 'ok';
SELECT check_type('mood', '(enum_range(NULL::mood))[i % 7 + 1]', '{sad,ecstatic}') AS enum_with_more_values;
CREATE TYPE many AS ENUM ();
-- Enough of them that numbering between two neighbours needs fractions.
DO $$ BEGIN
	FOR i IN 1 .. 300 LOOP
		EXECUTE format('ALTER TYPE many ADD VALUE %L %s', 'v' || i,
			CASE WHEN i > 1 THEN format('BEFORE %L', 'v' || (abs(noise(i) % (i - 1)) + 1)) END);
	END LOOP;
END $$;
SELECT check_type('many', '''v'' || i % 300 + 1', '{v1,v300}') AS enum_of_many_values;

-- Domains sort as their base types.
CREATE DOMAIN positive AS int4 CHECK (VALUE > 0);
CREATE DOMAIN small_positive AS positive CHECK (VALUE < 1000);
SELECT check_type('positive', '(n & 2147483646) + 1', '{1,2147483647}') AS domain;
SELECT check_type('small_positive', 'i % 999 + 1', '{1,999}') AS domain_over_domain;

DROP TABLE sorted_values;
