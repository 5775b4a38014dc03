-- Issues of software projects: what is said about them, what happens to them, and the hours that they take.
CREATE TABLE member (id int NOT NULL, login text NOT NULL, display_name text NOT NULL, email text, joined timestamptz NOT NULL, country char(2),
	reputation int NOT NULL, settings jsonb NOT NULL);
CREATE TABLE project (id int NOT NULL, key char(5) NOT NULL, name text NOT NULL, owner int NOT NULL, created date NOT NULL, archived boolean NOT NULL);
CREATE TABLE component (id int NOT NULL, parent int, project_id int NOT NULL, name text NOT NULL);
CREATE TABLE issue (id bigint NOT NULL, project_id int NOT NULL, number int NOT NULL, title text NOT NULL, author int NOT NULL, assignee int, component_id int,
	state text NOT NULL, priority smallint NOT NULL, created_at timestamptz NOT NULL, closed_at timestamptz, estimate numeric(6, 2), fields jsonb NOT NULL);
CREATE TABLE remark (id bigint NOT NULL, issue_id bigint NOT NULL, reply_to bigint, author int NOT NULL, written_at timestamptz NOT NULL,
	internal boolean NOT NULL, body text NOT NULL);
CREATE TABLE label (id int NOT NULL, name text NOT NULL, colour char(6) NOT NULL);
CREATE TABLE issue_label (issue_id bigint NOT NULL, label_id int NOT NULL, added_by int NOT NULL);
CREATE TABLE activity (id bigint NOT NULL, issue_id bigint NOT NULL, actor int NOT NULL, kind text NOT NULL, happened_at timestamp NOT NULL, payload jsonb NOT NULL);
CREATE TABLE worklog (id bigint NOT NULL, issue_id bigint NOT NULL, member_id int NOT NULL, day date NOT NULL, hours numeric(5, 2) NOT NULL,
	billable boolean NOT NULL, note text);
