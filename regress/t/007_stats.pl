# What a DBA sees: counters of all sessions, the progress of others' sorts, and who may look.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant ROWS => 400000;

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", "gpusort.devices = 'none'", 'gpusort.mode = force', 'gpusort.backend = cpu',
	'gpusort.work_mem = 1GB', 'shared_buffers = 256MB', 'max_connections = 30');
create_rows($node, ROWS);
# Blocks at row n of what it is called for, as long as somebody holds the lock of that number.
$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION gpusort;
CREATE FUNCTION stop_at(id bigint, n int) RETURNS boolean LANGUAGE plpgsql STABLE COST 1 AS $$
BEGIN
	IF id = n THEN
		PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1);
	END IF;
	RETURN true;
END $$;
CREATE ROLE plain LOGIN;
CREATE ROLE monitor LOGIN IN ROLE pg_read_all_stats;
EOT

sub counters
{
	my ($columns, $device) = @_;
	return $node->safe_psql('postgres', "SELECT concat_ws(' ', $columns) FROM pg_stat_gpusort WHERE device = '$device'");
}

sub progress
{
	my ($columns, @more) = @_;
	return $node->safe_psql('postgres', "SELECT concat_ws(' ', $columns) FROM pg_stat_progress_gpusort", @more);
}

# ---- counters ----

my $drain = 'OFFSET 1000000000';
is(counters('sorts, rows', 'cpu'), '0 0', 'a new server has counted nothing');
my $since = counters('stats_reset', 'cpu');
$node->safe_psql('postgres', "SELECT * FROM r ORDER BY k $drain") for 1 .. 2;
$node->safe_psql('postgres', "SET gpusort.work_mem = '1MB'; SELECT * FROM r ORDER BY t $drain");
is(counters('sorts, rows, spills, temp_bytes > rows', 'cpu'), '3 ' . 3 * ROWS . ' 1 t', 'sorts of three sessions, one of them through files');
is(counters('stats_reset', 'cpu'), $since, 'since the server started');
$node->safe_psql('postgres', "GRANT SELECT ON r TO plain");
$node->safe_psql('postgres', "SELECT ROW(ROW(id)) AS a FROM r ORDER BY a $drain", extra_params => [ '-U', 'plain' ]);
is(counters('declined, declined_reasons', 'postgresql'), '1 {"type": 1}', 'any user\'s sorts count');

# A sort in a parallel worker.
my $in_worker = $node->safe_psql('postgres', "SHOW server_version_num") >= 160000 ? 'debug_parallel_query' : 'force_parallel_mode';
like($node->safe_psql('postgres', "SET $in_worker = on; SET max_parallel_workers_per_gather = 1; EXPLAIN (ANALYZE, COSTS OFF, BUFFERS OFF) SELECT * FROM generate_series(1, 5000) AS g ORDER BY -g"),
	qr/Workers Launched: 1\n\s+Single Copy: true\n\s+->\s+Custom Scan \(GpuSort\)/, 'a sort in a parallel worker');
is(counters('sorts, rows', 'cpu'), '4 ' . (3 * ROWS + 5000), 'counts');

# A device that isn't there.
$node->safe_psql('postgres', "SET gpusort.backend = cuda; SELECT * FROM r ORDER BY k $drain");
is(counters('sorts, fallbacks, fallback_reasons', 'cuda'), '0 1 {"no service": 1}', 'a fallback, by reason');
is(counters('sorts, fallbacks', 'cpu'), '5 0', 'and the sort is that of the device that did it');
like($node->safe_psql('postgres', "SET gpusort.backend = cuda; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM r ORDER BY k $drain"),
	qr/Device: cpu .*\n\s+Fallback: cuda: \S/, 'EXPLAIN ANALYZE has the reason in words');

# Many sessions at once lose no count.
$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
is(counters('sorts, rows, bytes, device_time, spills, temp_bytes, fallbacks, fallback_reasons', 'cpu'), '0 0 0 0 0 0 0 {}', 'reset');
is(counters('sorts, fallbacks, fallback_reasons', 'cuda'), '0 0 {}', 'of all devices');
is($node->safe_psql('postgres', 'SELECT * FROM pg_stat_gpusort_queue'), 'cuda|0|0|0', 'and of the queue');
is($node->safe_psql('postgres', "SELECT min(stats_reset) = max(stats_reset) AND min(stats_reset) > '$since' FROM pg_stat_gpusort"), 't', 'at the time of the reset');
my @sessions = map { $node->background_psql('postgres') } 1 .. 4;
$_->query_until(qr/started/, "\\echo started\n" . "SELECT count(*) FROM (SELECT * FROM generate_series(1, 10) AS g ORDER BY -g OFFSET 0) s;\n" x 100) foreach @sessions;
$_->quit foreach @sessions;
is(counters('sorts, rows', 'cpu'), '400 4000', 'four sessions with a hundred sorts each');

# Who may reset.
my ($status, $out, $err) = $node->psql('postgres', 'SELECT gpusort_stat_reset()', extra_params => [ '-U', 'plain' ]);
like($err, qr/permission denied for function gpusort_stat_reset/, 'not everybody may reset');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_gpusort', extra_params => [ '-U', 'plain' ]), '3', 'but look');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION gpusort_stat_reset() TO monitor');
$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()', extra_params => [ '-U', 'monitor' ]);
is(counters('sorts', 'cpu'), '0', 'who is granted to, may');

# ---- progress ----

is(progress('pid'), '', 'no sort, no row');
my $gate = $node->background_psql('postgres');
my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query('SELECT pg_backend_pid()');

# Starts a query that will stand still, and waits until it does.
sub start_query
{
	my ($query) = @_;
	$gate->query_safe('SELECT pg_advisory_lock(1)');
	$session->query_until(qr/started/, "\\echo started\n$query;\n");
	$node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' AND wait_event = 'advisory' FROM pg_stat_activity WHERE pid = $pid")
		or die "the query does not wait";
	return;
}

sub open_gate
{
	$gate->query_safe('SELECT pg_advisory_unlock(1)');
	return;
}

start_query("SELECT * FROM r WHERE stop_at(id, 300000) ORDER BY k $drain");
is(progress('pid, datname, device, phase, rows_out, processes'), "$pid postgres cpu reading input 0 1", 'a sort that reads');
is(progress("rows_in BETWEEN 299999 - 4096 AND 299999, rows_expected > 0, bytes_in BETWEEN rows_in * 80 AND rows_in * 160, started_at < now()"),
	't t t t', 'how far it is');
is(progress('phase, rows_in'), progress('phase, rows_in'), 'it stands still');
is(progress("pid = $pid, datname, device, phase, rows_in, rows_expected, rows_out, bytes_in, processes, started_at", extra_params => [ '-U', 'plain' ]),
	't postgres', 'another user sees that there is a sort, no more');
is(progress('device, phase', extra_params => [ '-U', 'monitor' ]), 'cpu reading input', 'pg_read_all_stats sees all');
open_gate();
$session->query('SELECT 1');
is(progress('pid'), '', 'gone when done');

start_query("SELECT count(*) FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM r ORDER BY k OFFSET 0) s) s2 WHERE stop_at(n, 200000)");
is(progress('device, phase, rows_in, rows_out BETWEEN 200000 - 4096 AND 200000'), 'cpu returning rows ' . ROWS . ' t', 'a sort that returns rows');
open_gate();
$session->query('SELECT 1');
is(progress('pid'), '', 'gone when done');

# Nothing is left of a sort that ends in any other way.
start_query("SELECT * FROM r WHERE stop_at(id, 300000) ORDER BY t $drain");
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
$session->query('SELECT 1');
is(progress('pid'), '', 'none after a cancel');
$session->query('BEGIN');
start_query("SELECT * FROM r WHERE stop_at(id, 300000) ORDER BY t $drain");
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
$session->query('SELECT 1');
is(progress('pid'), '', 'none in a transaction that has failed');
$session->query('ROLLBACK');
start_query("SELECT * FROM r WHERE stop_at(id, 300000) ORDER BY t $drain");
is(progress('pid'), $pid, 'a sort');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 10000)");
is(progress('pid'), '', 'none after a termination');
eval { $session->{run}->finish; };

# A sort that workers feed: their rows are those of the leader's sort.  Workers can't wait for locks, but for
# a file to go.
$session = $node->background_psql('postgres');
$pid = $session->query('SELECT pg_backend_pid()');
$node->safe_psql('postgres', <<'EOT');
CREATE FUNCTION stop_at_file(id bigint, n int) RETURNS boolean LANGUAGE plpgsql PARALLEL SAFE COST 1 AS $$
BEGIN
	WHILE id = n AND (pg_stat_file('gate', true)).size IS NOT NULL LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN true;
END $$;
EOT
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;';
my $gate_file = $node->data_dir . '/gate';
append_to_file($gate_file, 'closed');
$session->query_until(qr/started/, "\\echo started\n$parallel SELECT * FROM r WHERE stop_at_file(id, 300000) ORDER BY k $drain;\n");
ok($node->poll_query_until('postgres', 'SELECT rows_in > ' . ROWS / 2 . ' FROM pg_stat_progress_gpusort'), 'rows of parallel workers');
is(progress('pid, phase, processes, bytes_in > rows_in * 80'), "$pid reading input 3 t", 'count for their leader\'s sort');
unlink($gate_file);
$session->query('SELECT 1');
$session->quit;
is(progress('pid'), '', 'gone when done');
like(counters('parallel_sorts', 'cpu'), qr/^1$/, 'a parallel sort');
my $explained = $node->safe_psql('postgres', "$parallel EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) SELECT * FROM r ORDER BY k $drain");
like($explained, qr/Memory: \d+kB  Processes: [123]\n/, 'EXPLAIN ANALYZE has the number of processes');
my $fed = 0;
$fed += $1 while $explained =~ /^ {8,}Fed by (?:leader|worker \d): rows=(\d+)  feed=[\d.]+ ms(?:  sort=[\d.]+ ms)?\n/mg;
is($fed, ROWS, 'VERBOSE what each of them fed');

# The phases that don't stand still are looked for until they were seen.
my $watcher = $node->background_psql('postgres');
$session = $node->background_psql('postgres');
my %seen;
foreach my $round (1 .. 20)
{
	$session->query_until(qr/started/, "\\echo started\nSET gpusort.work_mem = '512kB'; SELECT count(*) FROM (SELECT * FROM r ORDER BY t OFFSET 0) s;\n\\echo finished\n");
	while ($session->{stdout} !~ /finished/)
	{
		my $phase = $watcher->query('SELECT phase FROM pg_stat_progress_gpusort');
		$seen{$phase}++ if $phase ne '';
		usleep(5000);
		$session->{run}->pump_nb;
	}
	$session->{stdout} = '';
	last if keys %seen == 5;
}
is(join(', ', sort keys %seen), 'merging, reading input, returning rows, sorting, writing runs', 'all phases of a sort through files');
$session->quit;

# ---- a device with memory of its own ----

# What a sort on the device shows as long as it runs: a hash of phases, and one of wait events.
sub watch_sort
{
	my (%phases, %waits);
	my $sorting = $node->background_psql('postgres');
	my $sorter = $sorting->query('SELECT pg_backend_pid()');

	$sorting->query_until(qr/started/, "\\echo started\nSELECT count(*) FROM (SELECT * FROM r ORDER BY k OFFSET 0) s;\n\\echo finished\n");
	while ($sorting->{stdout} !~ /finished/)
	{
		$phases{$_}++ foreach lines_of($watcher->query("SELECT phase FROM pg_stat_progress_gpusort WHERE device = 'cuda'"));
		$waits{$_}++ foreach lines_of($watcher->query("SELECT wait_event FROM pg_stat_activity WHERE pid = $sorter AND state = 'active' AND wait_event_type = 'Extension'"));
		usleep(5000);
		$sorting->{run}->pump_nb;
	}
	$sorting->quit;
	return (\%phases, \%waits);
}

SKIP:
{
	skip 'gpusortd is not installed (make gpusortd)', 9 unless gpusortd_is_installed();
	$_->quit foreach $gate, $watcher;
	# Slow, so that there is something to be seen.
	$node->append_conf('postgresql.conf', "gpusort.devices = ''\ngpusort.backend = cuda\ngpusort.staging_memory = 64MB\n"
		. "gpusort.gpusortd_options = '--host-memory-layer --fault slow:20'");
	$node->restart;
	ok($node->poll_query_until('postgres', q{SELECT bool_and(state = 'ready') AND count(*) > 1 FROM gpusort_devices()}), 'gpusortd is there');
	($gate, $watcher) = map { $node->background_psql('postgres') } 1 .. 2;

	my ($phases, $waits) = watch_sort();
	ok($phases->{'reading input'} && $phases->{sorting} && $phases->{'returning rows'}, 'phases on a device: ' . join(', ', sort keys %$phases));
	my $names = join(', ', sort keys %$waits);
	my $pattern = $node->safe_psql('postgres', 'SHOW server_version_num') >= 170000 ? qr/^GpuSort\w+(, GpuSort\w+)*$/ : qr/^Extension$/;
	like($names, $pattern, "wait events: $names");
	is(counters('sorts, rows, bytes / rows BETWEEN 32 AND 64, device_time > 0, spills, fallbacks', 'cuda'), '1 ' . ROWS . ' t t 0 0', 'counters of a device');
	like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM r ORDER BY k $drain"),
		qr/Device: cuda  Memory: \d+kB\n\s+Device Memory: [1-9]\d*kB  In: [1-9]\d*kB  Out: [1-9]\d*kB\n\s+Stages: (queue=.* )?feed=.* transfer=.* sort=.* gather=.* return=/,
		'EXPLAIN ANALYZE of a device');

	# The service ends while the input is read.
	$session = $node->background_psql('postgres');
	$pid = $session->query('SELECT pg_backend_pid()');
	start_query("EXPLAIN (ANALYZE, FORMAT JSON) SELECT count(*) FROM (SELECT * FROM r WHERE stop_at(id, 300000) ORDER BY k OFFSET 0) s");
	is(progress('device, phase'), 'cuda reading input', 'a sort on the device');
	kill 'KILL', gpusortd_pids($node);
	open_gate();
	like($session->query('SELECT 1'), qr/"Device": "cpu",.*"Transferred In": 0,/s, 'EXPLAIN ANALYZE has nothing of what the device did');
	is(counters('fallbacks, fallback_reasons', 'cuda'), '1 {"disconnected": 1}', 'its service ends: a fallback');
	is(counters('sorts, rows', 'cpu'), '1 ' . ROWS, 'to the cpu device');
	is(progress('pid'), '', 'gone when done');
	$session->quit;
}

# ---- without shared memory ----

$_->quit foreach $gate, $watcher;
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nsession_preload_libraries = 'gpusort'");
$node->restart;
$node->safe_psql('postgres', "SELECT * FROM r ORDER BY k $drain");
is(counters('sorts', 'cpu'), '0', 'not preloaded, a session does not see what others did');
is($node->safe_psql('postgres', "SELECT count(*) FROM (SELECT * FROM r ORDER BY k OFFSET 0) s; SELECT sorts FROM pg_stat_gpusort WHERE device = 'cpu'"),
	ROWS . "\n1", 'but what it did itself');
is($node->safe_psql('postgres', "BEGIN; DECLARE c CURSOR FOR SELECT id FROM r ORDER BY k; MOVE 5000 FROM c; SELECT phase FROM pg_stat_progress_gpusort"),
	'returning rows', 'and its own sort');

$node->stop;
done_testing();
