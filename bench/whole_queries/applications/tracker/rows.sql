-- :scale 1 is 400,000 issues.
SELECT ceil(120000 * :scale) AS members, ceil(30000 * :scale) AS components, ceil(400000 * :scale) AS issues, ceil(900000 * :scale) AS remarks,
	ceil(1300000 * :scale) AS activities, ceil(600000 * :scale) AS worklogs \gset

INSERT INTO member
	SELECT i, word(i, 1) || pick(i, 2, 1000) || '_' || i, initcap(word(i, 1)) || ' ' || initcap(word(i, 3)),
		   CASE WHEN pick(i, 4, 15) > 0 THEN initcap(word(i, 1)) || i || '@' || word(few(i, 5, 300), 6) || '.example' END,
		   timestamptz '2014-01-01 00:00+00' + few(i, 7, 300000000) * interval '1 second', CASE WHEN pick(i, 8, 6) > 0 THEN (ARRAY['US', 'DE', 'IN', 'FR', 'BR', 'CZ', 'JP'])[1 + few(i, 8, 7)] END,
		   few(i, 9, 50000), jsonb_build_object('theme', (ARRAY['dark', 'Light', 'auto'])[1 + few(i, 10, 3)], 'zone', few(i, 11, 24), 'digest', pick(i, 12, 2) = 0)
	FROM generate_series(1, :members) i;

INSERT INTO project
	SELECT i, chr(65 + i / 676 % 26) || chr(65 + i / 26 % 26) || chr(65 + i % 26) || 'X', initcap(word(i, 21)) || ' ' || word(i, 22), 1 + few(i, 23, :members),
		   date '2015-01-01' + pick(i, 24, 3000)::int, pick(i, 25, 6) = 0
	FROM generate_series(1, 1500) i;

-- A tree, four to a parent.
INSERT INTO component
	SELECT i, CASE WHEN i > 1 THEN (i + 2) / 4 END, 1 + pick(i, 31, 1500), initcap(word(i, 32)) || ' ' || word(i, 33)
	FROM generate_series(1, :components) i;

INSERT INTO issue
	SELECT i, 1 + few(i, 41, 1500), i, initcap(word(i, 42)) || ' ' || word(i, 43) || ' ' || word(few(i, 44, 500), 45) || CASE WHEN pick(i, 46, 3) > 0 THEN ' ' || word(i, 47) ELSE '' END,
		   1 + few(i, 48, :members), CASE WHEN pick(i, 49, 4) > 0 THEN 1 + few(i, 50, :members / 20) END, CASE WHEN pick(i, 51, 5) > 0 THEN 1 + pick(i, 51, :components) END,
		   (ARRAY['closed', 'open', 'In progress', 'Review', 'blocked', 'duplicate'])[1 + few(i, 52, 6)], 1 + few(i, 53, 5),
		   timestamptz '2020-01-01 00:00+00' + i * (interval '1800 days' / :issues) + pick(i, 54, 3600) * interval '1 second',
		   CASE WHEN few(i, 52, 6) IN (0, 5) THEN timestamptz '2020-01-01 06:00+00' + i * (interval '1800 days' / :issues) + few(i, 55, 20000000) * interval '1 second' END,
		   CASE WHEN pick(i, 56, 3) > 0 THEN few(i, 57, 20000) / 100.0 END,
		   jsonb_build_object('kind', (ARRAY['Bug', 'feature', 'Task', 'question', 'docs'])[1 + few(i, 58, 5)], 'severity', 'S' || few(i, 59, 4), 'version', few(i, 60, 12) || '.' || pick(i, 61, 10))
	FROM generate_series(1, :issues) i;

-- In the order of time: what is said of an issue is spread over the table.  A third are replies to one shortly before.
INSERT INTO remark
	SELECT i, 1 + ((i::numeric / :remarks * (:issues - 1))::bigint + few(i, 71, 40000)) % :issues, CASE WHEN i > 50 AND pick(i, 72, 3) = 0 THEN i - 1 - pick(i, 73, 50) END, 1 + few(i, 74, :members),
		   timestamptz '2020-01-01 00:00+00' + i * (interval '1825 days' / :remarks), pick(i, 75, 8) = 0,
		   initcap(word(i, 76)) || ' ' || word(i, 77) || ' ' || word(i, 78) || repeat(' ' || word(i, 79), pick(i, 80, 12))
	FROM generate_series(1, :remarks) i;

INSERT INTO label
	SELECT i, CASE i % 3 WHEN 0 THEN initcap(word(i, 81)) ELSE word(i, 81) END || '/' || i, lpad(to_hex(pick(i, 82, 16777216)), 6, '0')
	FROM generate_series(1, 300) i;

INSERT INTO issue_label
	SELECT DISTINCT ON (issue, label) issue, label, 1 + few(i, 93, :members)
	FROM (SELECT i, 1 + pick(i, 91, :issues) AS issue, 1 + few(i, 92, 300) AS label FROM generate_series(1, (2 * :issues)::bigint) i) s;

INSERT INTO activity
	SELECT i, 1 + ((i::numeric / :activities * (:issues - 1))::bigint + few(i, 101, 60000)) % :issues, 1 + few(i, 102, :members),
		   (ARRAY['viewed', 'Assigned', 'commented', 'labelled', 'Closed', 'reopened', 'mentioned', 'Moved', 'linked'])[1 + few(i, 103, 9)],
		   timestamp '2020-01-01' + i * (interval '1825 days' / :activities) + pick(i, 104, 600) * interval '1 second',
		   jsonb_build_object('kind', 'k' || few(i, 105, 25), 'client', (ARRAY['web', 'Mobile', 'api', 'mail'])[1 + few(i, 106, 4)], 'ms', pick(i, 107, 4000))
	FROM generate_series(1, :activities) i;

INSERT INTO worklog
	SELECT i, 1 + pick(i, 111, :issues), 1 + few(i, 112, :members / 20), date '2020-01-01' + pick(i, 113, 1825)::int, (1 + few(i, 114, 32)) / 4.0, pick(i, 115, 3) > 0,
		   CASE WHEN pick(i, 116, 2) = 0 THEN word(i, 117) || ' ' || word(i, 118) END
	FROM generate_series(1, :worklogs) i;
