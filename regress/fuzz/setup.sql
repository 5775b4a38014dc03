-- What the targets of the fuzzer need in a database of encoding UTF8: types, collations, a table of what keys
-- are made of, and a temporary table with the indexes that pages are written for.
--
-- Cases name columns and indexes by their place, so what is new comes at the end.
CREATE EXTENSION IF NOT EXISTS citext;
CREATE EXTENSION IF NOT EXISTS ltree;

-- Values that are added in between have oids out of order.
CREATE TYPE fuzz_enum AS ENUM ('e0', 'e2', 'e4', 'e6', 'e8', 'e10', 'e12', 'e14');
ALTER TYPE fuzz_enum ADD VALUE 'e1' BEFORE 'e2';
ALTER TYPE fuzz_enum ADD VALUE 'e3' BEFORE 'e4';
ALTER TYPE fuzz_enum ADD VALUE 'e5' BEFORE 'e0';
ALTER TYPE fuzz_enum ADD VALUE 'e7' BEFORE 'e5';
ALTER TYPE fuzz_enum ADD VALUE 'e9' AFTER 'e7';
ALTER TYPE fuzz_enum ADD VALUE 'e11' AFTER 'e14';
ALTER TYPE fuzz_enum ADD VALUE 'e13' AFTER 'e2';
ALTER TYPE fuzz_enum ADD VALUE 'e15' AFTER 'e4';

-- A collation that this machine or this server does not have is C.
CREATE FUNCTION fuzz_collation(name text, options text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE COLLATION %I (%s)', name, options);
EXCEPTION WHEN OTHERS THEN
	EXECUTE format('CREATE COLLATION %I FROM "C"', name);
END $$;
SELECT fuzz_collation('fuzz_english', $$provider = libc, locale = 'en_US.UTF-8'$$);
SELECT fuzz_collation('fuzz_german', $$provider = libc, locale = 'de_DE.UTF-8'$$);
SELECT fuzz_collation('fuzz_czech', $$provider = libc, locale = 'cs_CZ.UTF-8'$$);
SELECT fuzz_collation('fuzz_c_utf8', $$provider = libc, locale = 'C.UTF-8'$$);
SELECT fuzz_collation('fuzz_root', $$provider = icu, locale = 'und'$$);
SELECT fuzz_collation('fuzz_swedish', $$provider = icu, locale = 'sv'$$);
SELECT fuzz_collation('fuzz_shifted', $$provider = icu, locale = 'und-u-ka-shifted'$$);
SELECT fuzz_collation('fuzz_numbers', $$provider = icu, locale = 'und-u-kn-true'$$);
SELECT fuzz_collation('fuzz_insensitive', $$provider = icu, locale = 'und-u-ks-level2', deterministic = false$$);
SELECT fuzz_collation('fuzz_french', $$provider = icu, locale = 'fr-CA'$$);
SELECT fuzz_collation('fuzz_builtin', $$provider = builtin, locale = 'C.UTF-8'$$);

CREATE DOMAIN fuzz_domain AS numeric;
CREATE TYPE fuzz_record AS (i int, t text COLLATE "C", n numeric);
CREATE TYPE fuzz_nested AS (a int[], r fuzz_record, e fuzz_enum);
CREATE TYPE fuzz_textrange AS RANGE (subtype = text, collation = "C");
CREATE TYPE fuzz_english_record AS (i int, t text COLLATE fuzz_english);
CREATE TYPE fuzz_image AS (b bool, c "char", s int2, f float4, d float8, m macaddr, u uuid, i interval, n name, y bytea);

CREATE TABLE fuzz_columns (number int GENERATED ALWAYS AS IDENTITY, type regtype, ordered_by regcollation, less regoperator, greater regoperator);
INSERT INTO fuzz_columns (type)
	SELECT t::regtype FROM unnest('{bool,"\"char\"",int2,int4,int8,oid,regclass,xid8,tid,pg_lsn,float4,float8,money,date,time,timetz,timestamp,timestamptz,
		interval,uuid,macaddr,macaddr8,bytea,bit,varbit,numeric,inet,cidr,oidvector,tsvector,jsonb,fuzz_enum,fuzz_domain,ltree}'::text[]) AS t;
INSERT INTO fuzz_columns (type, ordered_by)
	SELECT t::regtype, c::regcollation FROM unnest('{text,varchar,bpchar,name,citext}'::text[]) AS t,
		unnest('{"\"C\"",fuzz_c_utf8,fuzz_english,fuzz_root}'::text[]) AS c;
INSERT INTO fuzz_columns (type, ordered_by)
	SELECT 'text'::regtype, c::regcollation FROM unnest('{fuzz_german,fuzz_czech,fuzz_swedish,fuzz_shifted,fuzz_numbers,fuzz_insensitive,fuzz_french,fuzz_builtin}'::text[]) AS c;
INSERT INTO fuzz_columns (type, ordered_by, less, greater) VALUES
	('text', 'fuzz_english', '~<~(text,text)', '~>~(text,text)'), ('bpchar', 'fuzz_english', '~<~(bpchar,bpchar)', '~>~(bpchar,bpchar)');
INSERT INTO fuzz_columns (type)
	SELECT t::regtype FROM unnest('{int4[],numeric[],text[],fuzz_record,fuzz_nested,fuzz_enum[],int4range,numrange,tsrange,daterange,fuzz_textrange,
		int4multirange,nummultirange,fuzz_english_record,jsonb[],fuzz_record[],bytea[],timetz[],interval[]}'::text[]) AS t;
INSERT INTO fuzz_columns (type, ordered_by) VALUES ('text[]', 'fuzz_english'), ('text[]', 'fuzz_root');
INSERT INTO fuzz_columns (type, less, greater)
	SELECT t::regtype, '*<(record,record)', '*>(record,record)' FROM unnest('{fuzz_record,fuzz_nested,fuzz_english_record,fuzz_image}'::text[]) AS t;

CREATE TEMPORARY TABLE fuzz_pages (number int, string text COLLATE "C");
ALTER TABLE fuzz_pages ALTER string SET STORAGE PLAIN;
CREATE INDEX fuzz_pages_1 ON fuzz_pages (string) WITH (fillfactor = 90);
CREATE INDEX fuzz_pages_2 ON fuzz_pages (number) WITH (fillfactor = 90);
CREATE INDEX fuzz_pages_3 ON fuzz_pages (string, number) WITH (fillfactor = 90);
CREATE INDEX fuzz_pages_4 ON fuzz_pages (number, string) WITH (fillfactor = 90);
CREATE INDEX fuzz_pages_5 ON fuzz_pages (number) INCLUDE (string) WITH (fillfactor = 90);
CREATE INDEX fuzz_pages_6 ON fuzz_pages (string DESC NULLS LAST) WITH (fillfactor = 90, deduplicate_items = off);
CREATE INDEX fuzz_pages_7 ON fuzz_pages (number DESC, string) WITH (fillfactor = 90, deduplicate_items = off);
