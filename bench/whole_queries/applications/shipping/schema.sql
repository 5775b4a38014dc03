-- Parcels of customers, on their way between depots, and what is charged for them.
CREATE TABLE country (code char(2) NOT NULL, name text NOT NULL);
CREATE TABLE depot (id int NOT NULL, code char(6) NOT NULL, parent int, country char(2) NOT NULL, name text NOT NULL, opened date NOT NULL,
	capacity numeric(10, 2));
CREATE TABLE customer (id int NOT NULL, number char(10) NOT NULL, name text NOT NULL, email text, country char(2) NOT NULL, city text,
	segment text NOT NULL, created_at timestamptz NOT NULL, attributes jsonb NOT NULL);
CREATE TABLE parcel (id bigint NOT NULL, tracking char(13) NOT NULL, customer_id int NOT NULL, origin int NOT NULL, destination int NOT NULL,
	service char(3) NOT NULL, weight numeric(8, 3) NOT NULL, declared numeric(12, 2), created_at timestamptz NOT NULL,
	delivered_at timestamptz, reference text, options jsonb);
CREATE TABLE scan (id bigint NOT NULL, parcel_id bigint NOT NULL, depot_id int NOT NULL, scanned_at timestamptz NOT NULL, kind text NOT NULL,
	employee int NOT NULL, note text, payload jsonb);
CREATE TABLE invoice (id int NOT NULL, customer_id int NOT NULL, period date NOT NULL, issued_at timestamp NOT NULL, currency char(3) NOT NULL,
	total numeric(14, 2) NOT NULL, paid boolean NOT NULL, due date);
CREATE TABLE invoice_line (id bigint NOT NULL, invoice_id int NOT NULL, parcel_id bigint, kind text NOT NULL, amount numeric(12, 2) NOT NULL,
	tax numeric(12, 2) NOT NULL, description text NOT NULL);
