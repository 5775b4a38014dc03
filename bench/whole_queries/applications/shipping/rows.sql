-- :scale 1 is 1.5 million scans.
SELECT ceil(200000 * :scale) AS customers, ceil(500000 * :scale) AS parcels, ceil(1500000 * :scale) AS scans, ceil(200000 * :scale) AS invoices,
	ceil(700000 * :scale) AS lines \gset

INSERT INTO country
	SELECT chr(65 + i / 8) || chr(65 + i % 8 * 3), initcap(word(i, 1)) || 'land' FROM generate_series(0, 59) i;

INSERT INTO depot
	SELECT i, 'D' || lpad(i::text, 5, '0'), CASE WHEN i > 1 THEN (i + 2) / 4 END, chr(65 + i * 7 % 60 / 8) || chr(65 + i * 7 % 60 % 8 * 3),
		   initcap(word(i, 11)) || ' ' || initcap(word(i, 12)), date '1995-01-01' + pick(i, 13, 10000)::int, pick(i, 14, 10000000) / 100.0
	FROM generate_series(1, 1200) i;

INSERT INTO customer
	SELECT i, 'C' || lpad(i::text, 9, '0'), initcap(word(i, 21)) || ' ' || initcap(word(i, 22)) || ' ' || (ARRAY['GmbH', 'Ltd.', 'S.A.', 'Inc.', 'é Filhos'])[1 + pick(i, 23, 5)],
		   CASE WHEN pick(i, 24, 20) > 0 THEN initcap(word(i, 21)) || '.' || i || '@' || word(i, 25) || '.example' END,
		   chr(65 + few(i, 26, 60) / 8) || chr(65 + few(i, 26, 60) % 8 * 3), initcap(word(few(i, 27, 800), 28)),
		   (ARRAY['retail', 'Wholesale', 'online', 'Public sector'])[1 + few(i, 29, 4)], timestamptz '2012-01-01 00:00+00' + pick(i, 30, 300000000) * interval '1 second',
		   jsonb_build_object('tier', 'T' || few(i, 31, 5), 'discount', pick(i, 32, 30), 'language', (ARRAY['en', 'de', 'fr', 'cs', 'pt'])[1 + few(i, 33, 5)])
	FROM generate_series(1, :customers) i;

INSERT INTO parcel
	SELECT i, 'P' || lpad((i::bigint * 7919 % 999999999989)::text, 12, '0'), 1 + few(i, 41, :customers), 1 + pick(i, 42, 1200), 1 + few(i, 43, 1200),
		   (ARRAY['STD', 'EXP', 'ECO', 'INT', 'BLK'])[1 + few(i, 44, 5)], 0.05 + few(i, 45, 30000) / 1000.0,
		   CASE WHEN pick(i, 46, 3) > 0 THEN pick(i, 47, 10000000) / 100.0 END,
		   timestamptz '2023-01-01 00:00+00' + i * (interval '730 days' / :parcels) + pick(i, 48, 7200) * interval '1 second',
		   CASE WHEN pick(i, 49, 12) > 0 THEN timestamptz '2023-01-02 00:00+00' + i * (interval '730 days' / :parcels) + pick(i, 50, 800000) * interval '1 second' END,
		   CASE WHEN pick(i, 51, 4) > 0 THEN upper(left(word(i, 52), 3)) || '-' || pick(i, 53, 100000) END,
		   CASE WHEN pick(i, 54, 2) > 0 THEN jsonb_build_object('insured', pick(i, 55, 5) = 0, 'dropoff', (ARRAY['door', 'shop', 'locker'])[1 + pick(i, 56, 3)]) END
	FROM generate_series(1, :parcels) i;

-- In the order of time: what belongs to a parcel is spread over the table.
INSERT INTO scan
	SELECT i, 1 + ((i::numeric / :scans * (:parcels - 1))::bigint + pick(i, 61, 60000)) % :parcels, 1 + few(i, 62, 1200),
		   timestamptz '2023-01-01 00:00+00' + i * (interval '732 days' / :scans) + pick(i, 63, 900) * interval '1 second',
		   (ARRAY['arrived', 'departed', 'sorted', 'Out for delivery', 'delivered', 'damaged', 'returned', 'held'])[1 + few(i, 64, 8)], 1 + pick(i, 65, 9000),
		   CASE WHEN pick(i, 66, 10) = 0 THEN word(i, 67) || ' ' || word(i, 68) END,
		   CASE WHEN pick(i, 69, 3) > 0 THEN jsonb_build_object('device', 'H' || pick(i, 70, 700), 'battery', pick(i, 71, 101)) END
	FROM generate_series(1, :scans) i;

INSERT INTO invoice
	SELECT i, 1 + few(i, 81, :customers), date '2023-01-01' + 30 * pick(i, 82, 24)::int, timestamp '2023-01-01' + pick(i, 83, 63000000) * interval '1 second',
		   (ARRAY['EUR', 'USD', 'CZK'])[1 + few(i, 84, 3)], few(i, 85, 100000000) / 100.0, pick(i, 86, 5) > 0,
		   CASE WHEN pick(i, 87, 9) > 0 THEN date '2023-02-01' + pick(i, 88, 760)::int END
	FROM generate_series(1, :invoices) i;

INSERT INTO invoice_line
	SELECT i, 1 + pick(i, 91, :invoices), CASE WHEN pick(i, 92, 10) > 0 THEN 1 + pick(i, 93, :parcels) END,
		   (ARRAY['carriage', 'Fuel surcharge', 'customs', 'insurance', 'Storage'])[1 + few(i, 94, 5)], few(i, 95, 2000000) / 100.0, few(i, 96, 400000) / 100.0,
		   'Line ' || word(i, 97) || ', ' || word(i, 98) || ' ' || pick(i, 99, 1000)
	FROM generate_series(1, :lines) i;
