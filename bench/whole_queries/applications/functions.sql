-- What rows.sql of the folders here makes values of: the same at each run.  Dropped after loading.

-- 0 .. n - 1, each as often.
CREATE FUNCTION pick(i bigint, seed int, n bigint) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT ((hashint8extended(i, seed) & 9223372036854775807) % n)::int $$;

-- 0 .. n - 1, the small ones much more often: the first tenth has 46 percent of all.
CREATE FUNCTION few(i bigint, seed int, n bigint) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT floor(n * power(pick(i, seed, 1000000000) / 1e9::float8, 3))::int $$;

-- A word of two to four syllables, of 8,000.
CREATE FUNCTION word(i bigint, seed int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT substr('babecidafelogumihonajakelopamirosutavewyzoxe', 1 + 2 * (h % 20), 2) || substr('lmnrstrkndstllérßngütäñ', 1 + 2 * (h / 20 % 10), 2)
		|| substr('anerinolumioasetikea', 1 + 2 * (h / 200 % 10), CASE h / 2000 WHEN 0 THEN 2 WHEN 1 THEN 4 ELSE 3 END)
		FROM (SELECT pick(i, seed, 8000) AS h) s $$;
