--
-- Text in bytewise and in ICU collations.
--
SELECT check_text('text', 'C') AS text_c;
SELECT check_text('text', 'POSIX') AS text_posix;
SELECT check_text('varchar(40)', 'C') AS varchar_c;
SELECT check_text('varchar', 'C') AS varchar_without_limit_c;
SELECT check_text('char(30)', 'C') AS char_c;
SELECT check_text('text', 'und-x-icu') AS text_icu;
SELECT check_text('text', 'en-US-x-icu') AS text_english;
SELECT check_text('text', 'de-AT-x-icu') AS text_german;
SELECT check_text('text', 'sv-x-icu') AS text_swedish;
SELECT check_text('text', 'ja-x-icu') AS text_japanese;
SELECT check_text('varchar(40)', 'und-x-icu') AS varchar_icu;
SELECT check_text('char(30)', 'und-x-icu') AS char_icu;
SELECT check_text('text', 'ignore_case') AS text_ignore_case;
SELECT check_text('text', 'ignore_accents') AS text_ignore_accents;
SELECT check_text('text', 'by_number') AS text_by_number;
SELECT check_text('text', 'upper_first') AS text_upper_first;
SELECT check_text('text', 'es-x-icu') AS text_spanish;
SELECT check_text('text', 'ko-x-icu') AS text_korean;
SELECT check_text('char(30)', 'ignore_case') AS char_ignore_case;
-- The collation of the column, and one of the database's own provider.
SELECT check_text('text COLLATE "C"', NULL) AS column_c;
SELECT check_text('text COLLATE "und-x-icu"', NULL) AS column_icu;
SELECT check_text('name', 'und-x-icu') AS name_icu;

CREATE DOMAIN label AS text COLLATE "C";
CREATE DOMAIN short_label AS varchar(30) COLLATE "C" CHECK (VALUE <> 'never');
SELECT check_text('label', NULL) AS domain_over_text;
SELECT check_text('short_label', NULL) AS domain_over_varchar;

-- The same words in several collations give several orders: the check above is not one of byte order by accident.
CREATE TABLE words (id int GENERATED ALWAYS AS IDENTITY, w text);
INSERT INTO words (w) VALUES ('b'), ('a'), ('B'), ('A'), ('10'), ('9'), ('z'), ('ä');
SET gpusort.mode = force;
SELECT string_agg(w, ' ') AS c FROM (SELECT w FROM words ORDER BY w COLLATE "C") s;
SELECT string_agg(w, ' ') AS icu FROM (SELECT w FROM words ORDER BY w COLLATE "und-x-icu") s;
SELECT string_agg(w, ' ') AS swedish FROM (SELECT w FROM words ORDER BY w COLLATE "sv-x-icu") s;
SELECT string_agg(w, ' ') AS by_number FROM (SELECT w FROM words ORDER BY w COLLATE by_number) s;
RESET gpusort.mode;

-- Long common prefixes, which differ at every offset around the 8 bytes that are compared at a time.
CREATE TABLE prefixes AS
	SELECT row_number() OVER ()::int AS id, repeat('p', length) || coalesce(tail, '') AS v
	FROM generate_series(0, 40) AS length, unnest(ARRAY[NULL, 'a', 'z', 'aa', 'za', E'\001', 'é']) AS tail;
SELECT check_options('SELECT * FROM prefixes', 'v COLLATE "C"') AS prefixes_c,
	check_options('SELECT * FROM prefixes', 'v COLLATE "und-x-icu"') AS prefixes_icu;
INSERT INTO prefixes SELECT id + 1000, repeat('q', 3000) || v FROM prefixes;
INSERT INTO prefixes SELECT id + 2000, v FROM prefixes;
SELECT check_options('SELECT * FROM prefixes', 'v COLLATE "C"') AS long_prefixes_c,
	check_options('SELECT * FROM prefixes', 'v COLLATE "und-x-icu"') AS long_prefixes_icu;

-- Two text columns: no value runs over into the next column.
CREATE TABLE pairs AS
	SELECT row_number() OVER ()::int AS id, a, b
	FROM unnest(ARRAY['', 'a', 'ab', 'abc', 'b', E'a\001', NULL]) AS a, unnest(ARRAY['', 'a', 'b', 'bc', 'c', E'\001', NULL]) AS b;
SELECT check_sort('SELECT * FROM pairs', 'a COLLATE "C", b COLLATE "C"') AS c_c,
	check_sort('SELECT * FROM pairs', 'a COLLATE "C" DESC, b COLLATE "und-x-icu"') AS c_desc_icu,
	check_sort('SELECT * FROM pairs', 'a COLLATE "und-x-icu" NULLS FIRST, b COLLATE "C" DESC NULLS LAST') AS icu_c_desc,
	check_sort('SELECT * FROM pairs', 'a COLLATE ignore_case DESC, b COLLATE ignore_case DESC, id') AS ignore_case;

DROP TABLE sorted_values, words, prefixes, pairs;
