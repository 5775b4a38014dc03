--
-- Sort keys of ASCII strings in ICU collations are put together by gpusort itself once some thousand rows have gone by; so
-- these tables have more, and keys of both makings meet in one sort.
--
CREATE FUNCTION random_character(characters text, random bigint) RETURNS text
LANGUAGE sql AS $$ SELECT substr(characters, (1 + abs(random) % length(characters))::int, 1) $$;
CREATE TABLE ascii_strings (id bigint, s text);
-- short ones over a few letters in both cases, digits and punctuation; letters that some languages contract
INSERT INTO ascii_strings
	SELECT i, (SELECT string_agg(random_character('abcABCzZ019 -_./chCHdzDZllLLaaAAnyijIJ~!?"''()[]{}$%&*+,:;<=>@\^`|', noise(i, j)), '' ORDER BY j)
			   FROM generate_series(1, 1 + (abs(noise(i)) % 12)::int) AS j)
	FROM generate_series(1, 7000) AS i;
-- any ASCII characters, those that ICU ignores too
INSERT INTO ascii_strings
	SELECT i, (SELECT string_agg(chr((1 + abs(noise(i, j)) % 127)::int), '' ORDER BY j) FROM generate_series(1, 1 + (abs(noise(i)) % 6)::int) AS j)
	FROM generate_series(10001, 14000) AS i;
-- long runs of equal weights
INSERT INTO ascii_strings
	SELECT i, (SELECT string_agg(random_character(left('aAb', (1 + i % 3)::int), noise(i, j)), '' ORDER BY j) FROM generate_series(1, 1 + (abs(noise(i)) % 250)::int) AS j)
	FROM generate_series(20001, 21000) AS i;
-- and others among them
INSERT INTO ascii_strings
	SELECT i, (SELECT string_agg(random_character(E'aAéçñößÄcch日本ñДжжЖ中😀\u00ad\u0301', noise(i, j)), '' ORDER BY j)
			   FROM generate_series(1, 1 + (abs(noise(i)) % 6)::int) AS j)
	FROM generate_series(30001, 32000) AS i;
INSERT INTO ascii_strings SELECT id + 100000, s FROM ascii_strings WHERE id % 7 = 0;
INSERT INTO ascii_strings VALUES (1000001, ''), (1000002, NULL), (1000003, repeat('a', 70000));
ANALYZE ascii_strings;

-- plain ones; with contractions of ASCII letters (cs, hu, hr); others that tailor letters; nondeterministic; other levels
SELECT locale, check_sort('SELECT * FROM ascii_strings', format('s COLLATE %I', locale)) AS ascending,
	check_sort('SELECT * FROM ascii_strings', format('s COLLATE %I DESC NULLS LAST, id', locale)) AS descending
FROM unnest(ARRAY['und-x-icu', 'en-US-x-icu', 'de-AT-x-icu', 'fr-x-icu', 'sv-x-icu', 'cs-x-icu', 'hu-x-icu', 'hr-x-icu', 'da-x-icu', 'et-x-icu', 'lt-x-icu',
	'zh-x-icu', 'ja-x-icu', 'ignore_case', 'ignore_accents', 'by_number', 'upper_first']) AS locale;

-- through temporary files
SET gpusort.work_mem = '512kB';
SELECT check_sort('SELECT * FROM ascii_strings', 's COLLATE "en-US-x-icu", id') AS spilled;
RESET gpusort.work_mem;

-- Which way keys are made: how often ICU is asked of 20,000 ASCII strings, all different, and of 20,000 others, of which there are two.
CREATE TABLE counted AS SELECT i AS id, md5(i::text) AS ascii, (ARRAY['é', 'ﷺﷺﷺﷺ'])[1 + i % 2] AS few FROM generate_series(1, 20000) AS i;
ANALYZE counted;
CREATE FUNCTION asked_icu(query text) RETURNS bigint LANGUAGE plpgsql SET gpusort.mode = force AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Sort Keys by ICU')::bigint;
END $$;
SELECT locale, asked <= 5000 AS few_questions, asked = 20000 AS all_of_them
FROM unnest(ARRAY['und-x-icu', 'en-US-x-icu', 'de-AT-x-icu', 'fr-x-icu', 'zh-x-icu', 'cs-x-icu', 'by_number', 'upper_first', 'ignore_case']) AS locale,
	asked_icu(format('SELECT * FROM counted ORDER BY ascii COLLATE %I', locale)) AS asked;
SELECT asked_icu('SELECT * FROM counted ORDER BY few COLLATE "und-x-icu"') < 10000 AS remembered, asked_icu('SELECT * FROM counted ORDER BY few COLLATE "C"') AS not_icu;

DROP TABLE ascii_strings, counted;
DROP FUNCTION random_character, asked_icu;
