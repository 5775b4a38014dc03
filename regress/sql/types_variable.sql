--
-- Types of variable width, every direction and place of the nulls, with their extreme values.
--
SELECT check_type('numeric', '(n % 1000003)::numeric / power(10::numeric, i % 13)',
	'{NaN,Infinity,-Infinity,0,0.0,0.000,1,1.0,1.00,-1,-1.0,9999,10000,10001,9999.9999,0.0001,0.00001,-0.0001,-0.00001,
	  99999999,100000000,1e100,-1e100,1e-100,-1e-100,123456789012345678901234567890.123456789,123456789012345678901234567890.1234567891}') AS numeric;
SELECT check_type('numeric', '(n % 1000003)::numeric * power(10::numeric, i % 400 - 200)',
	ARRAY['1e131071', '-1e131071', '9' || repeat('9', 131071), '0.' || repeat('0', 16382) || '1', '-0.' || repeat('0', 16382) || '1']) AS numeric_extremes;
SELECT check_type('numeric(10,2)', 'n % 1000003 / 7.0', '{NaN,0,-0.01,0.01,99999999.99,-99999999.99}') AS numeric_10_2;
SELECT check_type('numeric(18,0)', 'n % 1000000000000000000', '{NaN,0,999999999999999999,-999999999999999999}') AS numeric_18_0;
SELECT check_type('numeric(19,19)', 'n::numeric / 10000000000000000000', '{NaN,0,0.9999999999999999999,-0.9999999999999999999}') AS numeric_19_19;
SELECT check_type('numeric(38,10)', 'n::numeric * 12345.6789', '{NaN,0,9999999999999999999999999999.9999999999}') AS numeric_38_10;
SELECT check_type('numeric(5,-3)', 'n % 100000000', '{NaN,0,99999000,-99999000,1000}') AS numeric_negative_scale;
SELECT check_type('numeric(3,6)', 'u / 1001', '{NaN,0,0.000999,-0.000999,0.000001}') AS numeric_scale_over_precision;

SELECT check_type('bytea', 'decode(substr(md5(i::text), 1, (i % 16) * 2), ''hex'')',
	'{\\x,\\x00,\\x0000,\\x0001,\\x01,\\x00ff,\\xff,\\xff00,\\xffff,\\xfffe,\\x0000000000000000,\\x000000000000000000,\\xffffffffffffffff,\\xffffffffffffffff00}') AS bytea;
SELECT check_type('bytea', 'decode(repeat(''00'', (n & 15)::int) || repeat(''ff'', (i % 5)) || repeat(''01'', (n >> 8 & 3)::int), ''hex'')', '{}') AS bytea_zeros;
SELECT check_type('name', 'substr(md5(i::text), 1, i % 33)', ARRAY['', 'a', 'aa', 'é', repeat('x', 63)]) AS name;

SELECT check_type('inet', 'set_masklen(''10.0.0.0''::inet + (n & 16777215), i % 33)',
	'{0.0.0.0/0,0.0.0.0,10.0.0.0/8,10.0.0.0/9,10.0.0.1/8,10.0.0.0/32,10.0.0.1,255.255.255.255,128.0.0.0/1,::/0,::,::1,::1/64,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff,10::/16}') AS inet;
SELECT check_type('inet', 'set_masklen(''2001:db8::''::inet + (n & 9223372036854775807), i % 129)', '{::,1.2.3.4}') AS inet_v6;
SELECT check_type('cidr', 'network(set_masklen(''10.0.0.0''::inet + (n & 16777215), i % 33))',
	'{0.0.0.0/0,10.0.0.0/8,10.0.0.0/9,10.0.0.0/32,10.0.0.1/32,255.255.255.255/32,::/0,::1/128,10::/16}') AS cidr;

SELECT check_type('bit(10)', '(n & 1023)::int::bit(10)', '{0000000000,1111111111,0000000001,1000000000}') AS bit_10;
SELECT check_type('bit(70)', 'n::bit(64)::text || ''000001''', ARRAY[repeat('0', 70), repeat('1', 70), repeat('0', 69) || '1']) AS bit_70;
-- A shorter one sorts before its own continuation, also by zeros.
SELECT check_type('varbit', 'substring(n::bit(64) FOR i % 65)',
	ARRAY['', '0', '00', '000', '1', '10', '11', '01', '00000000', '000000000', '0000000', '11111111', '111111111', repeat('0', 64), repeat('0', 65)]) AS varbit;
SELECT check_type('varbit', 'repeat(''0'', i % 40) || repeat(''1'', i % 3)', '{}') AS varbit_zeros;

DROP TABLE sorted_values;
