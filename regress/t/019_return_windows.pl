# Rows that several processes put in order for the one that returns them: all are there and in order, whether
# they are read to the end, not all of them, again or to and fro; whoever helps goes when nobody reads on, and
# nothing is left behind by errors and cancels.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use Test::More;

use constant ROWS => 600000;

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', "gpusort.backend = 'cpu'", "gpusort.work_mem = '1GB'", 'shared_buffers = 256MB',
	'max_worker_processes = 12', 'max_parallel_workers = 10', 'max_parallel_workers_per_gather = 3',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
create_rows($node, ROWS);
# input: rows of r, with v, whose lengths make some windows fuller than others.  Whoever reads the table waits
# here and there, so that all workers take part.  pausing: whoever reads what was sorted is slow here and
# there.
$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION gpusort;
CREATE TABLE s AS SELECT id, k, t, repeat('x', CASE WHEN k > 8000000000000000000 THEN 1000 ELSE (id % 20)::int END) AS v FROM r;
ALTER TABLE s SET (parallel_workers = 3);
VACUUM ANALYZE s;
CREATE FUNCTION waits() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS 'BEGIN PERFORM pg_sleep(0.02); RETURN true; END';
CREATE VIEW input AS SELECT * FROM s WHERE id % 20000 <> 1 OR waits();
CREATE FUNCTION pausing(id bigint, seconds float8, every bigint) RETURNS boolean LANGUAGE plpgsql PARALLEL RESTRICTED AS $$
BEGIN
	IF id % every = 0 THEN PERFORM pg_sleep(seconds); END IF;
	RETURN true;
END $$;
CREATE FUNCTION put_ahead(query text, OUT ahead bigint, OUT fed bigint, OUT passed bigint, OUT kb bigint) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	node jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
	FOR node IN SELECT jsonb_path_query(plan, 'strict $.**?(@."Custom Plan Provider" == "GpuSort")') LOOP
		ahead := node->'Rows Put In Order Ahead';
		kb := node->'Peak Memory';
	END LOOP;
	SELECT (n->>'Actual Rows')::numeric * (n->>'Actual Loops')::int INTO fed FROM jsonb_path_query(plan, 'strict $.**?(@."Custom Plan Provider" == "GpuSortFeed")') n;
	SELECT (n->>'Actual Rows')::numeric INTO passed FROM jsonb_path_query(plan, 'strict $.**?(@."Node Type" == "Gather")') n;
END $$;
EOT

sub query { return $node->safe_psql('postgres', join(";\n", @_)) }

# Workers of a session, none of which help any more.
sub workers_of
{
	my ($pid) = @_;
	return "SELECT count(*) FROM pg_stat_activity WHERE leader_pid = $pid";
}

# Waits until no worker is left; says what temporary files there are.
sub left_behind
{
	$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'})
	  or return 'parallel workers';
	return join(' ', temporary_files($node));
}

my $slow_reader = 'SELECT count(*) FROM (SELECT id, k, t FROM input ORDER BY k OFFSET 0) q WHERE pausing(id, 0.005, 10000)';

# ---- what is said of it ----

my ($ahead, $fed, $passed) = split /\|/, query("SELECT ahead > 100000, round(fed, -2), passed FROM put_ahead('$slow_reader')");
is($ahead, 't', 'rows are put in order ahead of a reader that is slow');
is($fed, ROWS, 'each row is counted once where it is fed');
is($passed, 0, 'none passes through the Gather');
is(query("SELECT ahead FROM put_ahead('SELECT * FROM (SELECT * FROM input WHERE id <= 1000 ORDER BY k OFFSET 0) q WHERE pausing(id, 0.001, 100)')"), 0, 'nobody helps with few rows');

# ---- the rows ----

# All rows of a sorted query are those of the table, and keys are in order, whoever reads slowly or not.
sub check_order
{
	my ($name, $columns, $key) = @_;
	my $sum = 'sum(hashtextextended((' . $columns . ')::text, 0))';
	my $right = query('SET gpusort.mode = off', "SELECT count(*), $sum, true FROM s");
	foreach my $where ('true', 'pausing(id, 0.002, 10000)')
	{
		is(query("SELECT count(*), $sum, bool_and(key >= before) FROM (SELECT *, $key AS key, lag($key) OVER () AS before FROM (SELECT $columns FROM input ORDER BY $key OFFSET 0) a) b WHERE $where"),
			$right, "$name, where $where");
	}
	return;
}
check_order('fixed keys', 'id, k, t', 'k');
check_order('variable keys', 'id, k, t', 't');
check_order('windows that are fuller than others', 'id, k, t, v', 'k');
is(query('SELECT count(*), bool_and(t >= before) FROM (SELECT t, lag(t) OVER () AS before FROM (SELECT t FROM input ORDER BY t OFFSET 0) a) b'), ROWS . '|t', 'rows made of their keys');

# Again: from the beginning after all was read, and after some of it was.
my @loop = ('SET enable_material = off', 'SET enable_hashjoin = off', 'SET enable_mergejoin = off');
is(query(@loop, 'SELECT count(*), sum(n * (k % 1000003)) FROM (VALUES (1), (2), (3)) g (g), LATERAL (SELECT k, row_number() OVER () AS n FROM (SELECT k, t FROM input ORDER BY k OFFSET 0) a) b'),
	query('SET gpusort.mode = off', @loop, 'SELECT count(*), sum(n * (k % 1000003)) FROM (VALUES (1), (2), (3)) g (g), LATERAL (SELECT k, row_number() OVER () AS n FROM (SELECT k, t FROM input ORDER BY k OFFSET 0) a) b'),
	'rows are read three times');
my $again = 'SELECT g, (SELECT string_agg(id::text, $$ $$) FROM (SELECT id FROM (SELECT id, row_number() OVER (ORDER BY k) AS n FROM input) a WHERE n > g LIMIT 3) b) FROM generate_series(200001, 1, -100000) g';
is(query($again), query('SET gpusort.mode = off', $again), 'some rows are read, for different parameters');

# ---- memory ----

# Whatever the limit is: it is kept.  The quick run tries each second one.
my %kinds;
foreach my $limit (map { $_ * 500 } runs_all() ? (200 .. 220) : map { 200 + 2 * $_ } 0 .. 10)
{
	my ($kept, $kind) = split /\|/, query("SET gpusort.work_mem = '${limit}kB'",
		"SELECT kb <= $limit, CASE WHEN passed > 0 THEN 'files' WHEN ahead > 0 THEN 'help' ELSE 'no help' END FROM put_ahead('$slow_reader AND t <> \$\$\$\$')");
	is($kept, 't', "$limit kB suffice, with $kind");
	$kinds{$kind}++;
}
is(join(', ', sort grep { $_ ne 'files' } keys %kinds), 'help, no help', 'some of these limits are too small for help, and some large enough');

# ---- ends ----

my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query('SELECT pg_backend_pid()');

# A reader that does something else for long: the workers go, and the rows come nevertheless.
$session->query_until(qr/started/, "\\echo started\nSELECT count(*), bool_and(k >= before) FROM (SELECT id, k, lag(k) OVER () AS before FROM (SELECT id, k, t FROM input ORDER BY k OFFSET 0) a) b WHERE CASE WHEN k > 0 AND before <= 0 THEN pausing(id, 1000, 1) ELSE true END;\n");
ok($node->poll_query_until('postgres', workers_of($pid), '3'), 'workers feed');
ok($node->poll_query_until('postgres', workers_of($pid), '0'), 'and leave a reader that does not come on');
ok($node->poll_query_until('postgres', "SELECT wait_event FROM pg_stat_activity WHERE pid = $pid", 'PgSleep'), 'which goes on with what it does');
query("SELECT pg_cancel_backend($pid)");
$session->query('SELECT 1');
like($session->{stderr}, qr/canceling statement due to user request/, 'until it is cancelled');
$session->{stderr} = '';
is(left_behind(), '', 'nothing is left');

# Helpers that are waiting when the statement is cancelled, or one of them is terminated.  They wait a fifth
# of a second and leave, so the server itself looks for one.  Where none is seen, or they are about to end by
# themselves, all rows are there, and it is tried again.
$node->safe_psql('postgres', <<'EOT');
CREATE FUNCTION strike(leader int, whom text, OUT helper_waits boolean) LANGUAGE plpgsql AS $$
DECLARE
	reading boolean;
	workers int;
	helper int;
BEGIN
	LOOP
		PERFORM pg_stat_clear_snapshot();
		SELECT coalesce(bool_or(pid = leader AND wait_event = 'PgSleep'), false), count(*) FILTER (WHERE leader_pid = leader),
			max(pid) FILTER (WHERE leader_pid = leader AND wait_event IN ('GpuSortReader', 'Extension'))
			INTO reading, workers, helper FROM pg_stat_activity;
		EXIT WHEN reading AND (workers = 0 OR helper IS NOT NULL);
		PERFORM pg_sleep(0.002);
	END LOOP;
	IF whom = 'helper' AND helper IS NOT NULL THEN
		PERFORM pg_terminate_backend(helper, 10000);
	ELSE
		PERFORM pg_cancel_backend(leader);
	END IF;
	helper_waits := helper IS NOT NULL;
END $$;
CREATE FUNCTION resting(id bigint) RETURNS int LANGUAGE sql STABLE PARALLEL RESTRICTED AS 'SELECT pausing(id, 0.1, 5000)::int';
EOT
# Above them is a filter, or a window that holds rows in memory and in a file.
$session->query_safe("SET work_mem = '512kB'");
my $filter = 'SELECT count(*) FROM (SELECT id, k, t FROM input ORDER BY k OFFSET 0) q WHERE pausing(id, 0.1, 5000)';
my $window = 'SELECT count(*) FROM (SELECT t, sum(resting(id)) OVER (PARTITION BY k / 1000000000000000000) AS s FROM input) q WHERE s > 0';
like($session->query("EXPLAIN $window"), qr/GpuWindow.*GpuSort/s, 'a window');
foreach my $case ([ 'reader', $filter ], [ 'helper', $filter ], [ 'reader', $window ], [ 'helper', $window ])
{
	my ($whom, $statement) = @$case;
	my $error = $whom eq 'reader' ? qr/canceling statement due to user request/ : qr/due to administrator command|lost connection to parallel worker/;
	my $met;

	foreach my $attempt (1 .. 5)
	{
		$session->{stderr} = '';
		$session->query_until(qr/started/, "\\echo started\n$statement;\n");
		$met = query("SET statement_timeout = '60s'", "SELECT strike($pid, '$whom')");
		my $out = $session->query('SELECT 1');
		last if $met eq 't' && $session->{stderr} ne '';
		is($out, ROWS . "\n1", "the $whom is struck too late: all rows") if $session->{stderr} eq '';
	}
	is($met, 't', "the $whom is struck while a helper waits");
	like($session->{stderr}, $error, "the $whom is struck: one error");
	$session->{stderr} = '';
	is(left_behind(), '', "the $whom is struck: nothing is left");
}

# A reader that wants no more.
is($session->query('SELECT count(*) FROM (SELECT n FROM (SELECT k, row_number() OVER (ORDER BY k) AS n FROM input) a WHERE n > 1000 LIMIT 10) b'), 10, 'a reader that wants few rows');
is(left_behind(), '', 'nothing is left of its sort');
is($session->query('SELECT count(*), bool_and(k >= before) FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT k, t FROM input ORDER BY k OFFSET 0) a) b'), ROWS . '|t', 'the session sorts on');

$session->quit;
$node->stop;
done_testing();
