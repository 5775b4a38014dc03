-- revenue_by_quarter: a report of finance
SELECT i.currency, date_trunc('quarter', i.issued_at) AS quarter, count(*) AS invoices, sum(i.total) AS total, avg(i.total) AS mean
FROM invoice i GROUP BY i.currency, date_trunc('quarter', i.issued_at) ORDER BY 1, 2;

-- scans_by_depot_and_month: the load of depots
SELECT depot_id, date_trunc('month', scanned_at) AS month, count(*), count(DISTINCT employee) AS employees
FROM scan GROUP BY depot_id, date_trunc('month', scanned_at) ORDER BY depot_id, month;

-- scans_by_hour: a dashboard's histogram
SELECT kind, extract(hour FROM scanned_at) AS hour, count(*) FROM scan GROUP BY kind, extract(hour FROM scanned_at) ORDER BY kind, hour;

-- parcels_by_weight_class: weight classes of whole kilograms by service
SELECT service, floor(weight) AS kilograms, count(*), sum(declared) FROM parcel GROUP BY service, floor(weight) ORDER BY service, kilograms;

-- teams_of_depots: employees' numbers say which team they are of
SELECT depot_id, employee / 1000 AS team, count(*) FROM scan GROUP BY depot_id, employee / 1000 ORDER BY depot_id, team;

-- devices: what the handhelds report
SELECT payload->>'device' AS device, count(*), avg((payload->>'battery')::int) AS battery, min(scanned_at), max(scanned_at)
FROM scan WHERE payload IS NOT NULL GROUP BY payload->>'device' ORDER BY count(*) DESC, device;

-- dropoff_options: a count by two of the options, with those that have none
SELECT coalesce(options->>'dropoff', 'none') AS dropoff, coalesce((options->>'insured')::boolean, false) AS insured, count(*), avg(weight)
FROM parcel GROUP BY 1, 2 ORDER BY 1, 2;

-- parcels_by_customer: the customers with the most parcels
SELECT customer_id, count(*) AS parcels, sum(declared) AS declared FROM parcel GROUP BY customer_id ORDER BY parcels DESC, customer_id LIMIT 100;

-- employee_days: how many scans each employee had a day
SELECT employee, scanned_at::date AS day, count(*) FROM scan GROUP BY employee, scanned_at::date ORDER BY 3 DESC, 1, 2 LIMIT 50;

-- customers_by_first_letter: an index of names
SELECT upper(left(name, 1)) AS letter, segment, count(*) FROM customer GROUP BY upper(left(name, 1)), segment ORDER BY letter, segment;

-- mail_domains: by the domain of the address
SELECT lower(split_part(email, '@', 2)) AS domain, count(*) FROM customer WHERE email IS NOT NULL GROUP BY 1 HAVING count(*) > 10 ORDER BY 2 DESC, 1 LIMIT 200;

-- routes: pairs of depots
SELECT origin, destination, count(*) AS parcels, avg(delivered_at - created_at) AS lasting
FROM parcel GROUP BY origin, destination ORDER BY parcels DESC, origin, destination LIMIT 20;

-- last_scan: where each parcel is
SELECT DISTINCT ON (parcel_id) parcel_id, scanned_at, depot_id, kind FROM scan ORDER BY parcel_id, scanned_at DESC, id DESC;

-- last_scan_of_recent: the same of one month
SELECT DISTINCT ON (s.parcel_id) s.parcel_id, p.tracking, s.kind, s.scanned_at
FROM scan s JOIN parcel p ON p.id = s.parcel_id
WHERE p.created_at >= timestamptz '2024-03-01 00:00+00' AND p.created_at < timestamptz '2024-04-01 00:00+00'
ORDER BY s.parcel_id, s.scanned_at DESC, s.id DESC;

-- never_scanned: parcels without any scan
SELECT p.id, p.tracking, p.created_at FROM parcel p WHERE NOT EXISTS (SELECT FROM scan s WHERE s.parcel_id = p.id) ORDER BY p.created_at DESC;

-- superseded_scans: the last scan of each parcel, by an anti join
SELECT s.parcel_id, s.depot_id, s.kind FROM scan s
WHERE NOT EXISTS (SELECT FROM scan t WHERE t.parcel_id = s.parcel_id AND t.scanned_at > s.scanned_at) AND s.kind <> 'delivered';

-- charged_twice: lines of the same invoice, kind and parcel
SELECT count(*) FROM invoice_line a
WHERE NOT EXISTS (SELECT FROM invoice_line b WHERE b.invoice_id = a.invoice_id AND b.kind = a.kind AND b.id <> a.id);

-- customers_without_invoice: an anti join of two large tables
SELECT c.id, c.name, c.created_at FROM customer c LEFT JOIN invoice i ON i.customer_id = c.id WHERE i.id IS NULL ORDER BY c.name, c.id;

-- scan_steps: how long each parcel stays anywhere
SELECT parcel_id, depot_id, scanned_at, scanned_at - lag(scanned_at) OVER (PARTITION BY parcel_id ORDER BY scanned_at, id) AS since
FROM scan WHERE scanned_at >= timestamptz '2023-06-01 00:00+00';

-- slowest_steps: the same, the slowest of each depot
SELECT * FROM (
	SELECT depot_id, parcel_id, since, rank() OVER (PARTITION BY depot_id ORDER BY since DESC) AS place
	FROM (SELECT depot_id, parcel_id, scanned_at - lag(scanned_at) OVER (PARTITION BY parcel_id ORDER BY scanned_at, id) AS since FROM scan) s
	WHERE since IS NOT NULL) r
WHERE place <= 3 ORDER BY depot_id, place;

-- running_total: of each customer's invoices
SELECT customer_id, issued_at, total, sum(total) OVER (PARTITION BY customer_id ORDER BY issued_at, id) AS running FROM invoice ORDER BY customer_id, issued_at, id;

-- export_parcels: all of them, by customer and time
SELECT customer_id, created_at, tracking, service, weight, declared FROM parcel ORDER BY customer_id, created_at;

-- export_scans_by_parcel: each parcel's way
SELECT parcel_id, scanned_at, kind, depot_id, note FROM scan ORDER BY parcel_id, scanned_at;

-- export_by_month: by month, then by reference
SELECT date_trunc('month', created_at) AS month, reference, tracking, weight FROM parcel WHERE reference IS NOT NULL ORDER BY date_trunc('month', created_at), reference;

-- address_book: by city and name, in the language's order
SELECT city, name, number, email FROM customer ORDER BY city, name, number;

-- address_book_case: without regard to case
SELECT lower(name) AS key, id, country FROM customer ORDER BY lower(name), id;

-- page_of_customers: a page far behind
SELECT id, name, city, segment FROM customer ORDER BY segment, name, id LIMIT 50 OFFSET 60000;

-- itineraries: the depots of a parcel in order, as one text
SELECT parcel_id, string_agg(depot_id::text, '>' ORDER BY scanned_at, id) AS way FROM scan WHERE parcel_id % 4 = 0 GROUP BY parcel_id;

-- depots_of_parcel: how many different ones
SELECT parcel_id, count(DISTINCT depot_id) AS depots, min(scanned_at), max(scanned_at) FROM scan GROUP BY parcel_id HAVING count(DISTINCT depot_id) > 7;

-- delivery_percentiles: days by service and month
SELECT service, date_trunc('month', created_at) AS month, percentile_cont(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM delivered_at - created_at)) AS seconds
FROM parcel WHERE delivered_at IS NOT NULL GROUP BY service, date_trunc('month', created_at) ORDER BY service, month;

-- all_parties: whoever occurs
SELECT customer_id FROM parcel UNION SELECT customer_id FROM invoice ORDER BY 1;

-- parcels_without_line: by EXCEPT
SELECT id FROM parcel EXCEPT SELECT parcel_id FROM invoice_line WHERE parcel_id IS NOT NULL;

-- depots_below: the tree of depots by its path
WITH RECURSIVE tree AS (
	SELECT id, name AS path, 0 AS depth FROM depot WHERE id = 1
	UNION ALL
	SELECT d.id, t.path || ' / ' || d.name, t.depth + 1 FROM depot d JOIN tree t ON d.parent = t.id)
SELECT * FROM tree ORDER BY path;

-- volume_below: parcels of all depots below each, by the tree
WITH RECURSIVE above AS (
	SELECT id, id AS top FROM depot
	UNION ALL
	SELECT a.id, d.parent FROM above a JOIN depot d ON d.id = a.top WHERE d.parent IS NOT NULL)
SELECT a.top, date_trunc('month', p.created_at) AS month, count(*), sum(p.weight)
FROM parcel p JOIN above a ON a.id = p.destination WHERE a.top <= 21 GROUP BY a.top, date_trunc('month', p.created_at) ORDER BY 1, 2;

-- track: one parcel by its number
SELECT p.tracking, s.scanned_at, s.kind, d.name FROM parcel p JOIN scan s ON s.parcel_id = p.id JOIN depot d ON d.id = s.depot_id
WHERE p.tracking = 'P000000079190' ORDER BY s.scanned_at DESC;

-- customer_by_mail: one customer
SELECT * FROM customer WHERE lower(email) = 'nobody@nowhere.example' ORDER BY created_at DESC LIMIT 1;

-- recent_of_depot: what comes to a depot
SELECT p.id, p.tracking, p.service, c.name FROM parcel p JOIN customer c ON c.id = p.customer_id
WHERE p.destination = 900 AND p.created_at >= timestamptz '2024-10-01 00:00+00' ORDER BY p.created_at DESC LIMIT 20;

-- open_invoices_of_customer: small, with an aggregate
SELECT date_trunc('month', issued_at) AS month, currency, count(*), sum(total), max(due) FROM invoice
WHERE customer_id = 17 AND NOT paid GROUP BY date_trunc('month', issued_at), currency ORDER BY month DESC, currency;

-- depot_overview: a join of small tables, in order
SELECT c.name AS country, d.name, d.capacity, rank() OVER (PARTITION BY c.code ORDER BY d.capacity DESC) FROM depot d JOIN country c ON c.code = d.country
WHERE d.opened > date '2015-01-01' ORDER BY c.name, d.capacity DESC LIMIT 30;

-- invoice_with_lines: one invoice
SELECT i.id, i.issued_at, l.kind, l.amount, l.tax, p.tracking FROM invoice i JOIN invoice_line l ON l.invoice_id = i.id LEFT JOIN parcel p ON p.id = l.parcel_id
WHERE i.id = 4711 ORDER BY l.kind, l.amount DESC;
