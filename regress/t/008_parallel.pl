# Sorts that several processes feed, or do each for itself: interrupted in every stage, with workers that
# fail, end or find no room, and many at a time.  Whatever happens, nobody hangs, no process, file, descriptor
# or mapping is left behind, and the next sort is right.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use Test::More;
use Time::HiRes 'usleep';

use constant ROWS => 400000;
use constant POINTS => 5;

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', "gpusort.backend = 'cpu'", 'gpusort.max_kept_memory = 0', 'shared_buffers = 256MB',
	'max_worker_processes = 12', 'max_parallel_workers = 10', 'max_parallel_workers_per_gather = 3',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
create_rows($node, ROWS);
$node->safe_psql('postgres', 'ALTER TABLE r SET (parallel_workers = 3)');
# PostgreSQL takes their word for it that they may run in workers, and before the sort.
$node->safe_psql('postgres', <<'EOT');
CREATE FUNCTION in_worker(leader int) RETURNS int PARALLEL SAFE STABLE COST 1 LANGUAGE plpgsql AS 'BEGIN RETURN (pg_backend_pid() <> leader)::int; END';
CREATE FUNCTION slow_in_worker(leader int, id int) RETURNS int PARALLEL SAFE STABLE COST 1 LANGUAGE plpgsql AS '
	BEGIN
		IF pg_backend_pid() <> leader THEN PERFORM pg_sleep(0.01); END IF;
		RETURN 1;
	END';
CREATE FUNCTION slow_in_leader(leader int, id int) RETURNS int PARALLEL SAFE STABLE COST 1 LANGUAGE plpgsql AS '
	BEGIN
		IF pg_backend_pid() = leader THEN PERFORM pg_sleep(0.01); END IF;
		RETURN 1;
	END';
EOT

my $in_order = 'SELECT count(*), bool_and(k >= before) FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT k FROM r ORDER BY k OFFSET 0) s) s2';
my $right = ROWS . '|t';

# Descriptors and mappings of sorts that a process has, and threads.
sub sort_memory_of
{
	my ($pid) = @_;
	my $maps = -r "/proc/$pid/maps" ? slurp("/proc/$pid/maps") : '';
	my $mappings = () = $maps =~ /memfd:gpusort/g;
	my $descriptors = grep { (readlink $_ // '') =~ /memfd:gpusort/ } glob "/proc/$pid/fd/*";
	my @threads = glob "/proc/$pid/task/*";
	return "$descriptors descriptors, $mappings mappings, " . scalar(@threads) . ' threads';
}

sub slurp
{
	my ($file) = @_;
	open my $in, '<', $file or return '';
	my $text = do { local $/; <$in> };
	close $in;
	return $text;
}

# Waits until no parallel worker is left, and says what is.
sub left_behind
{
	my ($pid) = @_;
	$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'})
	  or return 'parallel workers';
	return sort_memory_of($pid) . ', files: ' . join(' ', temporary_files($node));
}
my $nothing = '0 descriptors, 0 mappings, 1 threads, files: ';

# A session whose errors are kept.
sub open_session
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query('SELECT pg_backend_pid()');
	return ($session, $pid);
}

# Starts a statement without waiting for it.
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

like($session->query("EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM r ORDER BY k"), qr/Workers Launched: 3.*GpuSortFeed/s, 'workers feed a sort');
is($session->query($in_order), $right, 'and it is right');
is(left_behind($pid), $nothing, 'nothing is left of it');

# A merge join in workers, by what only a Sort computes: each process sorts for itself.
my $joined = 'SELECT count(*) FROM r a JOIN r b ON a.k / 2 = b.k / 2 HAVING count(*) < 0';
$session->query_safe('SET enable_hashjoin = off; SET enable_nestloop = off');
like($session->query("EXPLAIN (ANALYZE, COSTS OFF) $joined"), qr/Workers Launched: 3.*Merge Join.*Parallel Custom Scan \(GpuSort\).*Worker \d:  Sort Method/s, 'workers sort for themselves');
is(left_behind($pid), $nothing, 'nothing is left of that');

# The first rows of each group, of which each process drops what others have found to be not among them; with
# memory for all groups, and for few.
my $firsts = 'SELECT * FROM (SELECT id, k, t, row_number() OVER (PARTITION BY id % 4000 ORDER BY k) AS n FROM r) s WHERE n <= 3';
my $digest = "SELECT count(*), sum(hash_record_extended(ROW(id, k, t), 0)) FROM ($firsts) s";
my $firsts_right = $node->safe_psql('postgres', "SET gpusort.mode = off; $digest");
foreach my $memory ('1GB', '1MB')
{
	$session->query_safe("SET gpusort.work_mem = '$memory'");
	my $plan = $session->query("EXPLAIN (ANALYZE, COSTS OFF) $firsts");
	like($plan, qr/Rows of Each Group: 3 .*Rows Dropped: [1-9].*Workers Launched: 3/s, "$memory: workers feed a sort of the first rows of groups");
	# Of 100 rows of a group about 14 are among the first three when they come.
	cmp_ok($plan =~ /Rows Dropped: (\d+)/ ? $1 : 0, '>', ROWS * 0.7, "$memory: most rows are dropped") if $memory eq '1GB';
	is($session->query($digest), $firsts_right, "$memory: right rows") for 1 .. 5;
	is(left_behind($pid), $nothing, "$memory: nothing is left of it");
}

# Timeouts at many points.
my %sorts = (
	'each process for itself, in memory' => [ '1GB', $joined ],
	'each process for itself, through files' => [ '1MB', $joined ],
	'fixed keys in memory' => [ '1GB', "SELECT * FROM r ORDER BY k OFFSET 1000000000" ],
	'variable keys in memory' => [ '1GB', "SELECT * FROM r ORDER BY t OFFSET 1000000000" ],
	'first rows of groups in memory' => [ '1GB', "$firsts OFFSET 1000000000" ],
	'first rows of groups through files' => [ '1MB', "$firsts OFFSET 1000000000" ],
	'a window of which rows are in files' => [ '1MB', "SELECT sum(id) OVER (PARTITION BY id % 3), t FROM r OFFSET 1000000000" ],
	'fixed keys through the Gather and files' => [ '1MB', "SELECT * FROM r ORDER BY k OFFSET 1000000000" ],
);
foreach my $name (sort keys %sorts)
{
	my ($memory, $query) = @{ $sorts{$name} };
	my ($cancelled, @rests) = (0);
	$session->query_safe("SET gpusort.work_mem = '$memory'");
	my $time = $session->query("SELECT clock_timestamp() AS start \\gset\n$query;\nSELECT round(extract(epoch FROM clock_timestamp() - :'start') * 1000)");
	foreach my $point (1 .. POINTS)
	{
		my $timeout = int($time * $point / (POINTS + 1)) || 1;
		$session->query("BEGIN;\nSET LOCAL statement_timeout = $timeout;\n$query;\nROLLBACK");
		# a timeout that comes at the very end cancels the ROLLBACK
		$session->query('ROLLBACK');
		$cancelled++ if error_of($session) =~ /canceling statement due to statement timeout/;
		my $rest = left_behind($pid);
		push @rests, "$timeout ms: $rest" if $rest ne $nothing;
	}
	cmp_ok($cancelled, '>=', 1, "$name: $cancelled of " . POINTS . " timeouts within $time ms took effect");
	is("@rests", '', "$name: nothing is left");
}
$session->query_safe("SET gpusort.work_mem = '1GB'");
is($session->query($in_order), $right, 'after the timeouts sorts are right');

# Cancel while processes wait for one that is slow: the leader for workers, and workers for the leader.
foreach my $slow ('slow_in_worker', 'slow_in_leader')
{
	start_statement($session, "SELECT $slow($pid, id::int), k FROM r ORDER BY k");
	$node->poll_query_until('postgres', "SELECT count(*) > 1 FROM pg_stat_activity WHERE leader_pid = $pid");
	$node->safe_psql('postgres', "SELECT pg_sleep(0.3), pg_cancel_backend($pid)");
	like(error_of($session), qr/canceling statement due to user request/, "$slow: cancelled");
	is(left_behind($pid), $nothing, "$slow: nothing is left");
}

# An error in a worker, and a worker that is terminated.
$session->query("SELECT 1 / (1 - in_worker($pid)), k FROM r ORDER BY k");
like(error_of($session), qr/division by zero/, 'an error in a worker');
is(left_behind($pid), $nothing, 'nothing is left of that');
$session->query("SELECT count(*) FROM r a JOIN r b ON a.k / (1 - in_worker($pid)) = b.k / 2");
like(error_of($session), qr/division by zero/, 'an error in a worker that sorts for itself');
is(left_behind($pid), $nothing, 'nothing is left of that');
foreach my $case (
	[ '1GB', "SELECT slow_in_worker($pid, id::int), k FROM r ORDER BY k" ],
	[ '1MB', "SELECT slow_in_worker($pid, id::int), k FROM r ORDER BY k" ],
	[ '1MB', "SELECT count(*) FROM (SELECT k FROM r WHERE slow_in_worker($pid, id::int) > 0) a JOIN r b ON a.k / 2 = b.k / 2" ])
{
	my ($memory, $statement) = @$case;
	$session->query_safe("SET gpusort.work_mem = '$memory'");
	start_statement($session, $statement);
	$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE leader_pid = $pid");
	$node->safe_psql('postgres', "SELECT pg_sleep(0.3), (SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE leader_pid = $pid LIMIT 1)");
	like(error_of($session), qr/due to administrator command|lost connection to parallel worker/, "$memory: a worker is terminated");
	is(left_behind($pid), $nothing, "$memory: nothing is left of that");
}
$session->query_safe("SET gpusort.work_mem = '1GB'");
is($session->query($in_order), $right, 'sorts are right after it');

# The session itself is terminated, while workers feed a sort, or a window above it holds rows.
foreach my $statement ('SELECT slow_in_worker(%1$d, id::int), k FROM r ORDER BY k', 'SELECT sum(slow_in_leader(%1$d, id::int)) OVER (PARTITION BY id %% 3), t FROM r')
{
	my ($victim, $victim_pid) = open_session();
	start_statement($victim, sprintf($statement, $victim_pid));
	$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND $victim_pid IN (pid, leader_pid)");
	$node->safe_psql('postgres', "SELECT pg_sleep(0.3), pg_terminate_backend($victim_pid, 10000)");
	is(left_behind($victim_pid), $nothing =~ s/1 threads/0 threads/r, 'a terminated session takes its workers along');
	eval { $victim->{run}->finish; };
}

# Cursors, for which PostgreSQL has no parallel plan: the processes that fed the sort, some rows of which are
# costly.  There are several for the user who opened the cursor, whatever he may do by now; one for another
# user, and where other functions than PostgreSQL's own, or a sub-select, are evaluated below the sort.
my $costly = q{CASE WHEN id % 1000 = 0 THEN md5(repeat(id::text, 30000)) <> '' ELSE true END};
$node->safe_psql('postgres', <<"EOT");
CREATE EXTENSION gpusort;
CREATE ROLE reader;
CREATE ROLE other;
GRANT SELECT ON r TO reader;
CREATE FUNCTION lazily() RETURNS SETOF bigint STABLE LANGUAGE sql AS \$\$ SELECT k FROM r WHERE $costly ORDER BY k \$\$;
CREATE FUNCTION lazily_exists() RETURNS SETOF bigint STABLE LANGUAGE sql AS
	\$\$ SELECT k FROM r WHERE $costly AND (EXISTS (SELECT FROM r AS o WHERE o.k <> 0)) = (k <> 0) ORDER BY k \$\$;
EOT
foreach my $cursor (
	[ 'the user who opened it', "SELECT k FROM r WHERE $costly ORDER BY k", '', 1 ],
	[ 'a user who may not read the table any more', "SELECT k FROM r WHERE $costly ORDER BY k", 'RESET ROLE; REVOKE SELECT ON r FROM reader; SET LOCAL ROLE reader', 1 ],
	[ 'another user', "SELECT k FROM r WHERE $costly ORDER BY k", 'SET LOCAL ROLE other', 0 ],
	[ 'a function of PL/pgSQL', "SELECT k FROM r WHERE $costly AND in_worker($pid) >= 0 ORDER BY k", '', 0 ],
	[ 'a lazily read query', 'SELECT lazily()', '', 1 ],
	[ 'a lazily read query with a sub-select', 'SELECT lazily_exists()', '', 0 ])
{
	my ($name, $query, $between, $several) = @$cursor;
	my $processes;
	# Workers may come when the leader has read everything.
	foreach (1 .. 10)
	{
		$processes = $session->query("BEGIN; SET LOCAL ROLE reader; DECLARE c CURSOR FOR $query; $between; MOVE 1 IN c; RESET ROLE; " .
			'SELECT processes FROM pg_stat_progress_gpusort WHERE pid = pg_backend_pid(); ROLLBACK');
		last if $several == ($processes > 1);
	}
	like($processes, $several ? qr/^[2-4]$/ : qr/^1$/, "a cursor, $name: " . ($several ? 'several processes' : 'one process'));
	is(error_of($session), '', 'no error');
}

# Many sorts in one session.
my $before = scalar(my @descriptors = glob "/proc/$pid/fd/*");
$session->query_safe('DO $$ BEGIN FOR i IN 1 .. 100 LOOP PERFORM count(*) FROM (SELECT k FROM r WHERE id < 2000 ORDER BY k OFFSET 0) s; END LOOP; END $$');
is(left_behind($pid), $nothing, 'nothing is left of 100 sorts');
is(scalar(@descriptors = glob "/proc/$pid/fd/*"), $before, 'not a descriptor');

# Many sessions at a time, with fewer workers than they ask for.
my $script = $node->basedir . '/sorts.sql';
open my $out, '>', $script or die;
print $out "SELECT 1 / (count(*) = 50000 AND bool_and(k >= before))::int FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT k FROM r WHERE id <= 50000 ORDER BY k OFFSET 0) s) s2;\n";
print $out "SET gpusort.work_mem = '1MB';\n";
print $out "SELECT 1 / (count(*) = 50000 AND bool_and(k >= before))::int FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT k FROM r WHERE id <= 50000 ORDER BY k OFFSET 0) s) s2;\n";
print $out "RESET gpusort.work_mem;\n";
close $out;
$node->command_ok([ 'pgbench', '-n', '-c', '8', '-t', '5', '-f', $script, 'postgres' ], '8 sessions sort at a time');
is(left_behind($pid), $nothing, 'nothing is left of them');

# A session may have some hundreds of files open besides PostgreSQL's own, a sort has one a process: they are
# counted as closed when they are.
my $explained = 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM r WHERE id <= 2000 ORDER BY k';
$session->query_safe("DO \$\$ BEGIN FOR i IN 1 .. 150 LOOP EXECUTE '$explained'; END LOOP; END \$\$");
like($session->query('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM r ORDER BY k'), qr/Processes: [2-4]/, 'processes still share memory after many sorts');
is(left_behind($pid), $nothing, 'nothing is left of those');

# Workers that come when the first process has written its rows, and the first of them enters and reads
# nothing for a while: meanwhile the other one has next to no memory.  Each row is written once all the same.
$node->safe_psql('postgres', <<'EOT');
CREATE FUNCTION held_up(leader int, id int) RETURNS bool PARALLEL SAFE STABLE LANGUAGE plpgsql AS '
	BEGIN
		IF clock_timestamp() < statement_timestamp() + interval ''0.5 s'' THEN
			PERFORM pg_sleep(extract(epoch FROM statement_timestamp() - clock_timestamp()) +
				CASE WHEN id > 30000 OR pg_backend_pid() = leader THEN 0.5
					WHEN pg_backend_pid() = (SELECT pid FROM pg_stat_activity WHERE leader_pid = leader ORDER BY backend_start LIMIT 1) THEN 0.4
					ELSE 0 END);
		END IF;
		RETURN true;
	END';
EOT
my ($server) = lines_of(slurp($node->data_dir . '/postmaster.pid'));
$session->query_safe("SET gpusort.work_mem = '3500kB'; SET max_parallel_workers_per_gather = 0");
my $held_up = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM r WHERE id <= 250000 AND (id NOT BETWEEN 25000 AND 35000 OR held_up($pid, id)) ORDER BY k";
my ($once) = $session->query($held_up) =~ /Disk: (\d+)kB/;
$session->query_safe('SET max_parallel_workers_per_gather = 2');
foreach my $limit ('', 'LIMIT 240000')
{
	my $bytes;

	# A machine with much else to do lets them come in another order now and then.
	for (1 .. 5)
	{
		kill 'STOP', $server;
		start_statement($session, "$held_up $limit");
		usleep(150000);
		kill 'CONT', $server;
		($bytes) = $session->query('SELECT 1') =~ /Disk: (\d+)kB/;
		last if $bytes < $once * 1.08;
	}
	cmp_ok($bytes, '<', $once * 1.08, "each row is written once: $bytes of $once kB $limit");
}
$session->query_safe("SET gpusort.work_mem = '1GB'; RESET max_parallel_workers_per_gather");
is(left_behind($pid), $nothing, 'nothing is left of those');

# Processes with too little address space for the sort's memory: first the workers alone, then the leader too.
SKIP:
{
	my ($postmaster) = lines_of(slurp($node->data_dir . '/postmaster.pid'));
	skip 'no prlimit', 5 if system("prlimit --pid=$postmaster --as=2147483648 2>/dev/null") != 0;

	foreach my $who ('workers', 'processes')
	{
		$session->query_safe("SET gpusort.work_mem = '100GB'; SET parallel_leader_participation = off");
		my $plan = $session->query('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM r ORDER BY k');
		like($plan, qr/Sort Method: external merge.*Gather \(actual rows=0(?:\.00)? /s, "$who without the sort's memory write runs, no row passes the Gather");
		is($session->query($in_order), $right, 'all of them, in order');
		if ($who eq 'workers')
		{
			unlike($plan, qr/Processes:/, 'the leader merges them alone');
			$session->quit;
			($session, $pid) = open_session();
		}
	}
}

$session->quit;
$node->stop;
done_testing();
