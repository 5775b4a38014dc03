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
