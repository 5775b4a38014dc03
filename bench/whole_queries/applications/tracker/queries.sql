-- opened_by_month: a report of a project's issues
SELECT project_id, date_trunc('month', created_at) AS month, count(*), count(closed_at) AS closed FROM issue
GROUP BY project_id, date_trunc('month', created_at) ORDER BY project_id, month;

-- activity_by_kind: a dashboard, by an attribute and the day
SELECT payload->>'kind' AS kind, date_trunc('day', happened_at) AS day, count(*) FROM activity GROUP BY payload->>'kind', date_trunc('day', happened_at) ORDER BY 1, 2;

-- clients_by_hour: what people use, when
SELECT payload->>'client' AS client, extract(hour FROM happened_at) AS hour, count(*), avg((payload->>'ms')::int) FROM activity
GROUP BY payload->>'client', extract(hour FROM happened_at) ORDER BY 1, 2;

-- actions_by_weekday: names without regard to case
SELECT lower(kind) AS kind, extract(dow FROM happened_at) AS weekday, count(*) FROM activity GROUP BY lower(kind), extract(dow FROM happened_at) ORDER BY 1, 2;

-- response_times: milliseconds in steps of ten
SELECT (payload->>'ms')::int / 10 * 10 AS step, count(*) FROM activity GROUP BY (payload->>'ms')::int / 10 * 10 ORDER BY 1;

-- issues_by_thousand: numbers of issues in thousands, by state
SELECT number / 1000 AS thousand, state, count(*) FROM issue GROUP BY number / 1000, state ORDER BY 1, 2;

-- severity: a cross table of attributes
SELECT fields->>'severity' AS severity, fields->>'kind' AS kind, state = 'closed' AS closed, count(*), avg(estimate) FROM issue
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- urgency: what CASE says
SELECT CASE WHEN priority = 1 AND state <> 'closed' THEN 'now' WHEN priority <= 2 THEN 'soon' ELSE 'later' END AS urgency, project_id, count(*)
FROM issue GROUP BY 1, 2 ORDER BY 1, 2;

-- hours_by_quarter: what each member has worked
SELECT member_id, date_trunc('quarter', day) AS quarter, billable, sum(hours) FROM worklog GROUP BY member_id, date_trunc('quarter', day), billable ORDER BY 1, 2, 3;

-- efforts_by_quarter: how long pieces of work are
SELECT hours, date_trunc('quarter', day) AS quarter, count(*), sum(hours) AS total FROM worklog GROUP BY hours, date_trunc('quarter', day) ORDER BY hours, quarter;

-- first_words: what titles begin with
SELECT split_part(lower(title), ' ', 1) AS word, count(*) FROM issue GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 100;

-- members_by_domain: where people are
SELECT split_part(lower(email), '@', 2) AS domain, coalesce(country, '??') AS country, count(*) FROM member WHERE email IS NOT NULL GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 50;

-- active_members: by actions a year
SELECT actor, extract(year FROM happened_at) AS year, count(*) FROM activity GROUP BY actor, extract(year FROM happened_at) ORDER BY 3 DESC, 1 LIMIT 100;

-- remarks_by_author: how much each has written
SELECT author, count(*) AS remarks, sum(length(body)) AS characters, max(written_at) AS latest FROM remark GROUP BY author ORDER BY remarks DESC, author LIMIT 200;

-- remarks_by_issue: how much there is on each issue
SELECT issue_id, count(*), count(DISTINCT author) AS authors, max(written_at) FROM remark GROUP BY issue_id;

-- conversation: who answers on an issue, in order
SELECT r.issue_id, string_agg(m.login, ', ' ORDER BY r.written_at) AS conversation FROM remark r JOIN member m ON m.id = r.author
WHERE r.internal GROUP BY r.issue_id;

-- labels_of_issues: labels in alphabetical order
SELECT il.issue_id, string_agg(l.name, ', ' ORDER BY l.name) AS labels FROM issue_label il JOIN label l ON l.id = il.label_id GROUP BY il.issue_id;

-- latest_remark: of each issue
SELECT DISTINCT ON (issue_id) issue_id, author, written_at, body FROM remark ORDER BY issue_id, written_at DESC;

-- latest_activity: of each issue and kind
SELECT DISTINCT ON (issue_id, kind) issue_id, kind, actor, happened_at FROM activity ORDER BY issue_id, kind, happened_at DESC, id DESC;

-- first_answer: how long until somebody else answers
SELECT i.id, i.created_at, min(r.written_at) - i.created_at AS waited FROM issue i JOIN remark r ON r.issue_id = i.id AND r.author <> i.author
WHERE i.created_at >= timestamptz '2023-01-01 00:00+00' GROUP BY i.id ORDER BY waited DESC LIMIT 100;

-- unanswered: issues that nobody has said anything about
SELECT i.id, i.project_id, i.title FROM issue i WHERE NOT EXISTS (SELECT FROM remark r WHERE r.issue_id = i.id) ORDER BY i.project_id, i.created_at;

-- last_words: remarks that nobody has replied to on an issue, by an anti join
SELECT count(*) FROM remark a WHERE NOT EXISTS (SELECT FROM remark b WHERE b.issue_id = a.issue_id AND b.author = a.author AND b.written_at > a.written_at);

-- no_reply: remarks without a reply
SELECT count(*), count(DISTINCT r.author) FROM remark r LEFT JOIN remark a ON a.reply_to = r.id WHERE a.id IS NULL;

-- idle_members: who has never done anything
SELECT m.id, m.login, m.joined FROM member m WHERE NOT EXISTS (SELECT FROM activity a WHERE a.actor = m.id) ORDER BY m.joined;

-- pauses: between two actions on an issue
SELECT issue_id, happened_at, happened_at - lag(happened_at) OVER (PARTITION BY issue_id ORDER BY happened_at) AS pause FROM activity;

-- sessions: actions less than half an hour apart belong together
SELECT actor, count(*) FILTER (WHERE gap IS NULL OR gap > interval '30 minutes') AS sessions, count(*) AS actions
FROM (SELECT actor, happened_at - lag(happened_at) OVER (PARTITION BY actor ORDER BY happened_at) AS gap FROM activity) a GROUP BY actor ORDER BY 2 DESC, 1 LIMIT 50;

-- newest_of_project: three newest issues of each project
SELECT * FROM (SELECT project_id, id, title, row_number() OVER (PARTITION BY project_id ORDER BY created_at DESC, id) AS place FROM issue WHERE state <> 'closed') i
WHERE place <= 3 ORDER BY project_id, place;

-- backlog: opened and closed, summed up
SELECT day, sum(sum(change)) OVER (ORDER BY day) AS backlog
FROM (SELECT created_at::date AS day, 1 AS change FROM issue UNION ALL SELECT closed_at::date, -1 FROM issue WHERE closed_at IS NOT NULL) c GROUP BY day ORDER BY day;

-- export_issues: by project and title, in the language's order
SELECT project_id, title, number, state FROM issue ORDER BY project_id, title;

-- export_by_title: titles alone
SELECT title, id FROM issue ORDER BY title, id;

-- export_activity: of each issue in order
SELECT issue_id, happened_at, kind, actor FROM activity ORDER BY issue_id, happened_at;

-- export_worklog: by month and note
SELECT date_trunc('month', day) AS month, note, member_id, hours FROM worklog ORDER BY date_trunc('month', day), note, id;

-- component_paths: the tree of components by its path
WITH RECURSIVE tree AS (
	SELECT id, name AS path, 0 AS depth FROM component WHERE id = 1
	UNION ALL
	SELECT c.id, t.path || ' / ' || c.name, t.depth + 1 FROM component c JOIN tree t ON c.parent = t.id)
SELECT * FROM tree ORDER BY path;

-- threads: replies below the remarks of one day, by depth
WITH RECURSIVE thread AS (
	SELECT id, id AS top, 0 AS depth FROM remark WHERE reply_to IS NULL AND written_at >= timestamptz '2023-05-01 00:00+00' AND written_at < timestamptz '2023-05-15 00:00+00'
	UNION ALL
	SELECT r.id, t.top, t.depth + 1 FROM remark r JOIN thread t ON r.reply_to = t.id)
SELECT top, max(depth) AS deepest, count(*) AS remarks FROM thread GROUP BY top ORDER BY deepest DESC, remarks DESC, top LIMIT 40;

-- issue_page: one issue's remarks
SELECT r.id, m.display_name, r.written_at, left(r.body, 80) FROM remark r JOIN member m ON m.id = r.author WHERE r.issue_id = 123456 ORDER BY r.written_at;

-- my_issues: what a member has to do
SELECT p.key, i.number, i.title, i.priority FROM issue i JOIN project p ON p.id = i.project_id WHERE i.assignee = 4242 AND i.state <> 'closed' ORDER BY i.priority, i.created_at LIMIT 25;

-- my_week: a member's hours by day
SELECT day, billable, sum(hours) FROM worklog WHERE member_id = 1234 AND day BETWEEN date '2023-03-01' AND date '2023-05-31' GROUP BY day, billable ORDER BY day, billable;

-- recent_actions: of one member
SELECT happened_at, kind, issue_id, payload->>'client' AS client FROM activity WHERE actor = 99 ORDER BY happened_at DESC LIMIT 20;

-- label_counts: of a project's issues
SELECT l.name, count(*) FROM issue i JOIN issue_label il ON il.issue_id = i.id JOIN label l ON l.id = il.label_id
WHERE i.project_id = 700 AND i.state <> 'closed' GROUP BY l.name ORDER BY count(*) DESC, l.name LIMIT 10;

-- member_by_mail: one member
SELECT id, login, display_name FROM member WHERE lower(email) = 'nobody@nowhere.example' ORDER BY joined DESC LIMIT 1;
