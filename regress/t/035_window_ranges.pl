# Windows that the processes of a parallel plan compute for ranges of one sort: interrupted while they feed,
# sort and return, with processes that fail or end.  Nobody hangs, nothing is left behind, and the next query
# is right.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;

use constant ROWS => 400000;

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', "gpusort.backend = 'cpu'", 'gpusort.max_kept_memory = 0', 'shared_buffers = 256MB',
	'max_worker_processes = 12', 'max_parallel_workers = 10', 'max_parallel_workers_per_gather = 3', 'restart_after_crash = on',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
create_rows($node, ROWS);
$node->safe_psql('postgres', 'ALTER TABLE r SET (parallel_workers = 3)');
# PostgreSQL takes their word for it that workers may call them, below the sort and above.
$node->safe_psql('postgres', <<'EOT');
CREATE FUNCTION fails_in(worker bool, leader int) RETURNS int PARALLEL SAFE STABLE COST 1 LANGUAGE plpgsql AS 'BEGIN RETURN 1 / ((pg_backend_pid() <> leader) <> worker)::int; END';
CREATE FUNCTION slow_in(worker bool, leader int, id int) RETURNS int PARALLEL SAFE STABLE COST 1 LANGUAGE plpgsql AS '
	BEGIN
		IF (pg_backend_pid() <> leader) = worker THEN PERFORM pg_sleep(0.01); END IF;
		RETURN 1;
	END';
EOT

# Windows of rows of the table, and what they say.
sub windows { return "SELECT id, k, lag(k) OVER (PARTITION BY id % 5000 ORDER BY k) AS before FROM r WHERE $_[0]" }
sub digest { return 'SELECT count(*), sum(hashtextextended(s::text, 0)) FROM (' . windows($_[0] // 'true') . ') s WHERE ' . ($_[1] // 'true') }

# What is left of a session's query, when its workers have ended: descriptors and mappings of sorts, threads
# and files.
sub left_behind
{
	my ($pid) = @_;
	$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'})
	  or return 'parallel workers';
	my $descriptors = grep { (readlink $_ // '') =~ /memfd:gpusort/ } glob "/proc/$pid/fd/*";
	my $mappings = -e "/proc/$pid" ? () = slurp_file("/proc/$pid/maps") =~ /memfd:gpusort/g : 0;
	my $threads = -e "/proc/$pid" ? () = glob "/proc/$pid/task/*" : 1;
	return "$descriptors descriptors, $mappings mappings, $threads threads, files: " . join(' ', temporary_files($node));
}
my $nothing = '0 descriptors, 0 mappings, 1 threads, files: ';

# A session whose errors are kept.
sub open_session
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query('SELECT pg_backend_pid()');
	return ($session, $pid);
}

sub start_statement
{
	my ($session, $statement) = @_;
	$session->query_until(qr/started/, "\\echo started\n$statement;\n");
	return;
}

sub error_of
{
	my ($session) = @_;
	$session->query('SELECT 1');
	my $error = $session->{stderr};
	$session->{stderr} = '';
	return $error;
}

my ($session, $pid) = open_session();
my $right = $node->safe_psql('postgres', 'SET gpusort.mode = off; ' . digest());
my @memory = ('1GB', '1MB');

# ---- nothing fails ----

foreach my $memory (@memory)
{
	foreach my $leader ('on', 'off')
	{
		my $name = "$memory, leader $leader";
		$session->query_safe("SET gpusort.work_mem = '$memory'; SET parallel_leader_participation = $leader");
		like($session->query('EXPLAIN (ANALYZE, COSTS OFF) ' . digest()), qr/Workers Launched: 3.*Parallel Custom Scan \(GpuSortRanges\)/s, "$name: ranges");
		is($session->query(digest()), $right, "$name: all windows") for 1 .. 5;
		is(left_behind($pid), $nothing, "$name: nothing is left");
	}
}
$session->query_safe('RESET parallel_leader_participation');

# ---- timeouts at many points ----

foreach my $memory (@memory)
{
	my @rests;
	timeouts_take_effect($node, "SET gpusort.work_mem = '$memory';", digest());
	$session->query_safe("SET gpusort.work_mem = '$memory'");
	foreach my $timeout (5, 20, 40, 80, 120, 200, 300)
	{
		$session->query("BEGIN;\nSET LOCAL statement_timeout = $timeout;\n" . digest() . ";\nROLLBACK");
		$session->query('ROLLBACK');
		my $error = error_of($session);
		my $rest = left_behind($pid);
		push @rests, "$timeout ms: $error$rest" if $rest ne $nothing || $error =~ /ERROR(?!:  canceling statement)/;
	}
	is("@rests", '', "$memory: nothing is left of timeouts");
	is($session->query(digest()), $right, "$memory: all windows after them");
}

# ---- processes that wait for one that is slow are canceled, and terminated ----

my %slow = (
	'the leader is slow below the sort' => sub { return digest("slow_in(false, $_[0], id) > 0") },
	'workers are slow below the sort' => sub { return digest("slow_in(true, $_[0], id) > 0") },
	'the leader is slow above' => sub { return digest('true', "slow_in(false, $_[0], id) > 0") },
	'workers are slow above' => sub { return digest('true', "slow_in(true, $_[0], id) > 0") });
my $sleeps = sub { return "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND $_[0] IN (pid, leader_pid)" };
foreach my $memory (@memory)
{
	$session->query_safe("SET gpusort.work_mem = '$memory'");
	foreach my $name (sort keys %slow)
	{
		start_statement($session, $slow{$name}->($pid));
		$node->poll_query_until('postgres', $sleeps->($pid)) or die "$name: nobody is slow";
		$node->safe_psql('postgres', "SELECT pg_sleep(0.2), pg_cancel_backend($pid)");
		like(error_of($session), qr/canceling statement due to user request/, "$memory, $name: canceled");
		is(left_behind($pid), $nothing, "$memory, $name: nothing is left");

		# beside a leader that is slow above the sort all workers may have ended
		next if $name eq 'the leader is slow above';
		start_statement($session, $slow{$name}->($pid));
		$node->poll_query_until('postgres', $sleeps->($pid)) or die "$name: nobody is slow";
		$node->safe_psql('postgres', "SELECT pg_sleep(0.2), (SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE leader_pid = $pid LIMIT 1)");
		like(error_of($session), qr/due to administrator command|lost connection to parallel worker/, "$memory, $name: a worker is terminated");
		is(left_behind($pid), $nothing, "$memory, $name: nothing is left of that");

		my ($victim, $victim_pid) = open_session();
		$victim->query_safe("SET gpusort.work_mem = '$memory'");
		start_statement($victim, $slow{$name}->($victim_pid));
		$node->poll_query_until('postgres', $sleeps->($victim_pid)) or die "$name: nobody is slow";
		$node->safe_psql('postgres', "SELECT pg_sleep(0.2), pg_terminate_backend($victim_pid, 10000)");
		is(left_behind($victim_pid), $nothing, "$memory, $name: a terminated session takes its workers along");
		eval { $victim->{run}->finish; };
	}
	is($session->query(digest()), $right, "$memory: all windows after these");
}

# ---- errors ----

foreach my $worker ('true', 'false')
{
	foreach my $query (digest("fails_in($worker, $pid) > 0"), digest('true', "fails_in($worker, $pid) > 0"))
	{
		my $error;
		# a process may come when no row is left
		foreach (1 .. 20)
		{
			$session->query($query);
			$error = error_of($session);
			last if $error ne '';
		}
		like($error, qr/division by zero/, "an error in a process, workers $worker");
		is(left_behind($pid), $nothing, 'nothing is left of that');
	}
}

# ---- a reader that leaves early, again and again ----

$session->query_safe('DO $$ BEGIN FOR i IN 1 .. 60 LOOP EXECUTE \'CREATE TEMP TABLE t AS SELECT * FROM (' . windows('id < 5000') . ') s WHERE before IS NOT NULL LIMIT \' || i; DROP TABLE t; END LOOP; END $$');
is(error_of($session), '', '60 queries end early');
is(left_behind($pid), $nothing, 'nothing is left of them');

# ---- many sessions, with fewer workers than they ask for ----

my $some = digest('id <= 50000');
my $right_of_some = $node->safe_psql('postgres', "SET gpusort.mode = off; $some");
my ($rows, $sum) = split /\|/, $right_of_some;
my $script = $node->basedir . '/windows.sql';
open my $out, '>', $script or die;
foreach my $memory ('1GB', '1MB', '256kB')
{
	print $out "SET gpusort.work_mem = '$memory';\n", 'SELECT 1 / (count = ', $rows, ' AND sum = ', $sum, ")::int FROM ($some) AS d;\n";
}
close $out;
$node->command_ok([ 'pgbench', '-n', '-c', '8', '-t', runs_all() ? 20 : 5, '-f', $script, 'postgres' ], '8 sessions compute windows at a time');
is(left_behind($pid), $nothing, 'nothing is left of them');

# ---- a worker is killed: the server restarts, as always, and has nothing of it ----

start_statement($session, $slow{'workers are slow above'}->($pid));
$node->poll_query_until('postgres', $sleeps->($pid));
kill 'KILL', $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE leader_pid = $pid LIMIT 1");
eval { $session->{run}->finish; };
$node->poll_query_until('postgres', 'SELECT true') or die 'the server did not restart';
is(join(' ', temporary_files($node)), '', 'no temporary files are left of a killed worker');
is($node->safe_psql('postgres', digest()), $right, 'all windows after the restart');

$node->stop;
done_testing();
