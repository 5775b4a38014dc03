# Builds of indexes that are cancelled in each of their phases, that find no room on the disk or little
# memory, whose gpusortd is killed in one of its, or whose device is lost: a right index or one clear error,
# nothing left behind, and the next build succeeds.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# An index of more than 64 MB is loaded by several processes, one of more than 20 MB finds no room below.
use constant { ROWS => 340000, FILE_LIMIT => 20 * 1024 * 1024, ATTEMPTS => 10 };

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', 'gpusort.backend = cpu', 'autovacuum = off', 'shared_buffers = 256MB',
	'min_parallel_table_scan_size = 0', 'max_parallel_maintenance_workers = 2', "gpusort.gpusortd_options = '--host-memory-layer'", 'max_wal_size = 4GB', 'checkpoint_timeout = 1h');
create_rows($node, ROWS, 'narrow');
create_checked($node);
create_phase_waiters($node);
$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION gpusort;
-- Wide keys: that large an index takes fewer rows.
CREATE TABLE r WITH (parallel_workers = 2) AS SELECT id, k, t || repeat('x', 136) AS t FROM narrow;
DROP TABLE narrow;
VACUUM ANALYZE r;
CHECKPOINT;
EOT

# The files of tables and indexes.
sub relation_files
{
	$node->safe_psql('postgres', 'CHECKPOINT');
	my $folder = $node->data_dir . '/base/' . $node->safe_psql('postgres', q(SELECT oid FROM pg_database WHERE datname = 'postgres'));
	return join ' ', sort grep { /^\d+(\.\d+)?$/ } slurp_dir($folder);
}
my $files = relation_files();
my $builder;
my $pid;

sub start_builder
{
	$builder = $node->background_psql('postgres', on_error_stop => 0);
	$builder->set_query_timer_restart;
	$pid = $builder->query('SELECT pg_backend_pid()');
	return;
}

# Begins a build, with such settings.
sub start_build
{
	my ($settings, $statement) = @_;

	$builder->query("RESET ALL; SET client_min_messages = warning; $settings");
	$builder->{stderr} = '';
	$builder->query_until(qr/started/, "\\echo started\n$statement;\n");
	return;
}

# Waits for it: what errors it had, and when it was over.
sub end_build
{
	my $over = $builder->query('SELECT clock_timestamp()');
	my $errors = $builder->{stderr};

	$builder->{stderr} = '';
	return ($errors, $over);
}

# What builds that have failed have left, in this session or elsewhere; nothing.  (An empty result is a line
# for psql in the background of PostgreSQL 16's betas.)
sub leavings
{
	my @left = grep { /\S/ } join(' ', temporary_files($node)), scalar $builder->query(q(SELECT string_agg(name, ' ') FROM pg_backend_memory_contexts WHERE name ILIKE '%gpusort%')),
		$node->safe_psql('postgres', q(SELECT string_agg(relname, ' ') FROM pg_class WHERE relname ~ '^r_'));
	push @left, 'files of relations' if relation_files() ne $files;
	return join ', ', @left;
}

# ---- cancel ----

my $serial = 'SET max_parallel_maintenance_workers = 0';
my $large = q(SET maintenance_work_mem = '1GB');
my @cases = (
	[ 'one process', "$serial; $large", 'reading input', 'sorting', 'returning rows' ],
	[ 'several processes', $large, 'reading input', 'sorting', 'returning rows' ],
	[ 'through files', "$serial; SET maintenance_work_mem = '1MB'", 'reading input', 'writing runs', 'returning rows' ]);

start_builder();
foreach my $case (@cases)
{
	my ($name, $settings, @phases) = @$case;

	foreach my $phase (@phases)
	{
		my ($errors, $cancelled_at, $over, $late) = ('', '', '', '?');
		foreach my $attempt (1 .. ATTEMPTS)
		{
			start_build($settings, 'CREATE UNIQUE INDEX r_index ON r (t, id)');
			$cancelled_at = $node->safe_psql('postgres', "SELECT cancel_in_phase($pid, '$phase', 7 * ($attempt - 1))");
			($errors, $over) = end_build();
			last if $errors ne '';
			$node->safe_psql('postgres', 'DROP INDEX r_index');
		}
		like($errors, qr/^psql:<stdin>:\d+: ERROR:  canceling statement due to user request\n?$/, "$name: cancelled, $phase");
		is(leavings(), '', "$name: nothing is left of it, $phase");
		# No test, for it depends on what else the machine does.
		$late = $node->safe_psql('postgres', "SELECT round(extract(epoch FROM timestamptz '$over' - '$cancelled_at') * 1000)") if $cancelled_at ne '';
		note("$name, $phase: over after $late ms");
	}
}

# ---- workers that load longer than the first process ----

my @stopped;
END { kill 'CONT', @stopped }
my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
my $watcher = $node->background_psql('postgres');
$node->safe_psql('postgres', <<'EOT');
-- Waits until several processes load an index, and have loaded so many tuples; which of them are workers?
CREATE FUNCTION loading_workers(leader int, tuples bigint) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 20000 LOOP
		EXIT WHEN EXISTS (SELECT FROM pg_stat_progress_gpusort WHERE pid = leader AND phase = 'returning rows' AND rows_out >= tuples);
		PERFORM pg_sleep(0.001);
	END LOOP;
	RETURN QUERY SELECT pid FROM pg_stat_activity WHERE leader_pid = leader;
END $$;
EOT

# Begins a build that all three processes load, with so large an index; its workers.
sub start_load
{
	my ($tuples) = @_;
	start_build($large, 'CREATE INDEX r_index ON r (t, id) INCLUDE (t)');
	return lines_of($watcher->query("SELECT loading_workers($pid, $tuples)"));
}

# Waits without a new connection.
sub watch_until
{
	my ($query) = @_;
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if $watcher->query($query) eq 't';
		usleep(100_000);
	}
	die "timed out: $query";
}

# How many tuples are loaded, as the first process tells; 0: it has ended.
sub loaded
{
	return $watcher->query("SELECT coalesce(sum(rows_out), 0) FROM pg_stat_progress_gpusort WHERE pid = $pid");
}

# The first process has loaded what it can, and tells what workers load meanwhile: one, and then the other.
{
	my ($before, $after, $errors) = (0, 0);
	foreach my $attempt (1 .. ATTEMPTS)
	{
		@stopped = start_load(20000);
		kill 'STOP', @stopped;
		wait_for_rest("SELECT coalesce(wait_event_type IN ('Extension', 'IPC'), false) FROM pg_stat_activity WHERE pid = $pid");
		$before = loaded();
		kill 'CONT', shift @stopped;
		foreach (1 .. 30)
		{
			$after = loaded();
			last if $after > $before;
			usleep(100_000);
		}
		kill 'CONT', splice @stopped;
		($errors) = end_build();
		last if $errors ne '' || $after > $before;
		$node->safe_psql('postgres', 'DROP INDEX r_index');
	}
	cmp_ok($after, '>', $before, 'the first process tells what workers load after it');
	is($errors, '', 'no error');
	is($node->safe_psql('postgres', q(SELECT checked('r_index'); DROP INDEX r_index)), 'ok', 'the index is right');
}

# The first process is cancelled, and the server does not hear yet that workers are to end, which load on.
{
	my @workers = start_load(0);
	my $workers = join ',', @workers;
	@stopped = ($pid, @workers, $postmaster);
	kill 'STOP', @stopped;
	$watcher->query("SELECT pg_cancel_backend($pid)");
	kill 'CONT', $pid;
	watch_until("SELECT wait_event ILIKE 'BgWorkerShutdown' FROM pg_stat_activity WHERE pid = $pid");
	kill 'CONT', @workers;
	watch_until("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid IN ($workers)");
	kill 'CONT', splice @stopped;
	like((end_build())[0], qr/ERROR:  canceling statement due to user request/, 'cancelled while workers load on');
	is(leavings(), '', 'nothing is left of what they load');
}
$watcher->quit;

# VACUUM FULL may have a cost limit, which builds do not obey, as PostgreSQL's do not: with a pause for each
# so many pages this one would take more than a minute.
$node->safe_psql('postgres', 'CREATE TABLE v AS SELECT i AS id FROM generate_series(1, 200000) AS i; CREATE INDEX v_id ON v (id) WITH (fillfactor = 10)');
is( $node->safe_psql('postgres', "SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1; SET max_parallel_maintenance_workers = 0; SET statement_timeout = '30s'; VACUUM FULL v; SELECT checked('v_id')"),
	'ok', 'no cost limit holds up a build');
$files = relation_files();

# ---- no room on the disk: files may not grow ----

SKIP:
{
	skip 'no prlimit here', 1 if system_log('prlimit', '--version') != 0;
	my $index_file = qr/could not extend file "base\/\d+\/\d+": File too large\nHINT:  Check free disk space\./;
	my $temporary_file = qr/could not write to (temporary )?file.*: File too large/;
	# Temporary files of several processes may be small enough, and the index is not.  The limit is one of the
	# memory that processes share as well: where it grows above, workers sort into temporary files.
	my %cases = (
		'one process' => [ "$serial; $large", $index_file ],
		'several processes' => [ $large, qr/$temporary_file|$index_file/ ],
		'through files' => [ "$serial; SET maintenance_work_mem = '1MB'", $temporary_file ],
		'several processes through files' => [ q(SET maintenance_work_mem = '2MB'), qr/$temporary_file|$index_file/ ]);

	# Of processes that begin from now on, so not of the checkpointer, who may have to write more of the
	# table.
	$builder->quit;
	system_or_bail('prlimit', '--pid', $postmaster, '--fsize=' . FILE_LIMIT . ':');
	start_builder();
	foreach my $name (sort keys %cases)
	{
		my ($settings, $error) = @{ $cases{$name} };

		start_build($settings, 'CREATE INDEX r_index ON r (t, id)');
		like((end_build())[0], $error, "$name: no room");
		is(leavings(), '', "$name: nothing is left of it");
	}
	# What is small enough is built meanwhile, and all is when there is room.
	is($node->safe_psql('postgres', q(CREATE INDEX r_small ON r (id) WHERE id < 1000; SELECT checked('r_small'); DROP INDEX r_small)), 'ok', 'a small index is built');
	$builder->quit;
	system_or_bail('prlimit', '--pid', $postmaster, '--fsize=unlimited:');
	start_builder();
	foreach my $name (sort keys %cases)
	{
		is($node->safe_psql('postgres', "$cases{$name}[0]; SET client_min_messages = warning; CREATE INDEX r_index ON r (t, id); SELECT checked('r_index'); DROP INDEX r_index"), 'ok', "$name: built where there is room");
	}
}

# ---- little memory ----

# Each process that has spilled writes more runs than can be read at once, and each that loads reads all of
# them.  Of many narrow rows, for what a reader has in memory of a run is more with them.
{
	create_rows($node, 900000, 'many');
	$node->safe_psql('postgres', 'ALTER TABLE many SET (parallel_workers = 2)');
	my ($status, $out, $err) = $node->psql('postgres', q(SET maintenance_work_mem = '1MB'; SET client_min_messages = debug1; CREATE INDEX many_index ON many (t, id); DROP TABLE many));
	my ($processes, $loaders, $memory, $files) = $err =~ /(\d+) processes, loaded by (\d+),.* (\d+) kB of memory, (\d+) kB of temporary files/ or die "no message of the build: $err";

	cmp_ok($processes, '>', 1, 'several processes');
	cmp_ok($files, '>', 64 * 1024, "$processes processes spill");
	cmp_ok($memory, '<=', 1024 + ($processes - 1) * 128, "and have little memory while $loaders load");
	cmp_ok($loaders, '>', 1, 'more than one of them');
}

# ---- gpusortd ----

my $is_ready = q(SELECT count(*) > 0 FROM gpusort_devices() WHERE device <> 'cpu' AND state = 'ready');

# How many builds a device has done.
sub builds
{
	my ($device) = @_;

	return $node->safe_psql('postgres', "SELECT index_builds FROM pg_stat_gpusort WHERE device = '$device'");
}

SKIP:
{
	skip 'gpusortd is not installed (make gpusortd)', 1 unless gpusortd_is_installed();
	foreach my $how ($serial, 'SET max_parallel_maintenance_workers = 2')
	{
		foreach my $phase ('reading input', 'sorting', 'returning rows')
		{
			my ($what, $errors, $met) = ($phase . ($how eq $serial ? ', one process' : ', several processes'), '', '');
			my $by_cpu;

			foreach my $attempt (1 .. ATTEMPTS)
			{
				$node->poll_query_until('postgres', $is_ready) or die 'gpusortd does not get ready';
				$by_cpu = builds('cpu');
				start_build("$how; $large; SET gpusort.backend = cuda", 'CREATE INDEX r_gpu ON r (t, id)');
				$met = $node->safe_psql('postgres', "SELECT wait_for_phase($pid, '$phase', 5 * $attempt)");
				kill 'KILL', $_ foreach gpusortd_pids($node);
				($errors) = end_build();
				last if $met eq 't';
				$node->safe_psql('postgres', 'DROP INDEX IF EXISTS r_gpu');
			}
			is($met, 't', "gpusortd killed, $what: in that phase");
			if ($errors eq '')
			{
				is($node->safe_psql('postgres', q(SELECT checked('r_gpu'))), 'ok', "gpusortd killed, $what: the index is right");
				is(builds('cpu') - $by_cpu, 1, "gpusortd killed, $what: built by the cpu device") unless $phase eq 'returning rows';
			}
			else
			{
				like( $errors, qr/^psql:<stdin>:\d+: ERROR:  the sort for index "r_gpu" on device "cuda" could not be completed\nDETAIL:  Reason: [^\n]+\.\nHINT:  [^\n]+(\nCONTEXT:  parallel worker)?\n?$/,
					"gpusortd killed, $what: one clear error");
				is($phase, 'returning rows', "gpusortd killed, $what: with tuples that were loaded already");
			}
			$node->safe_psql('postgres', 'DROP INDEX IF EXISTS r_gpu');
			is(leavings(), '', "gpusortd killed, $what: nothing is left");
		}
	}
}

# ---- a device that is lost, and workers that are late ----

# Has gpusortd started with such options.
sub serve_with
{
	my ($options) = @_;
	my ($before) = gpusortd_pids($node);

	$node->safe_psql('postgres', "ALTER SYSTEM SET gpusort.gpusortd_options = '$options'");
	foreach (1 .. $PostgreSQL::Test::Utils::timeout_default)
	{
		# Whoever loads settings doesn't sit out the delay before another start.
		$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
		foreach (1 .. 10)
		{
			my @now = gpusortd_pids($node);
			return if @now == 1 && $now[0] != ($before // 0) && $node->safe_psql('postgres', $is_ready) eq 't';
			usleep(100_000);
		}
	}
	die "gpusortd does not get ready with $options";
}

# Waits until a query has said true three times, a moment in between.
sub wait_for_rest
{
	my ($query) = @_;

	foreach (1 .. 3)
	{
		$node->poll_query_until('postgres', $query) or die "timed out: $query";
		usleep(50_000);
	}
	return;
}

# Begins to build an index on the device.  The first process waits with some rows to read, until the gate is
# closed that is returned; by then the workers are through with the table.
sub start_gated_build
{
	my $waits = q(wait_event_type IN ('Extension', 'IPC'));

	$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
	my $gate = $node->background_psql('postgres');
	$gate->query_safe('SELECT pg_advisory_lock(1)');
	start_build("SET tests.leader = $pid; SET gpusort.backend = cuda; SET statement_timeout = '90s'", 'CREATE INDEX few_gpu ON few (leader_waits(id))');
	wait_for_rest("SELECT bool_and(CASE WHEN pid = $pid THEN coalesce(wait_event = 'advisory', false) ELSE coalesce($waits, false) END) FROM pg_stat_activity WHERE $pid IN (pid, leader_pid)");
	return $gate;
}

# What became of it: ok, or what is wrong.
sub end_gated_build
{
	my ($errors) = end_build();
	my $result = $errors eq '' ? $node->safe_psql('postgres', q(SELECT checked('few_gpu'))) : $errors;
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS few_gpu');
	return $result;
}

# Builds an index by a device that is lost at its so many-th call.  The workers are stopped until the first
# process has gone on as far as it can without them.
sub build_with_late_workers
{
	my ($call) = @_;

	serve_with("--host-memory-layer --fault lost:$call");
	my $gate = start_gated_build();
	@stopped = lines_of($node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE leader_pid = $pid"));
	kill 'STOP', @stopped;
	$gate->quit;
	wait_for_rest("SELECT state = 'idle' OR coalesce(wait_event_type IN ('Extension', 'IPC'), false) FROM pg_stat_activity WHERE pid = $pid");
	kill 'CONT', splice @stopped;
	return end_gated_build();
}

SKIP:
{
	skip 'gpusortd is not installed (make gpusortd)', 1 unless gpusortd_is_installed();
	$node->safe_psql('postgres', <<'EOT');
CREATE TABLE few AS SELECT id FROM r WHERE id <= 20000;
ALTER TABLE few SET (parallel_workers = 2);
CREATE FUNCTION leader_waits(id bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF pg_backend_pid()::text = current_setting('tests.leader', true) THEN
		PERFORM pg_advisory_xact_lock_shared(1);
	ELSIF id % 100 = 0 AND current_setting('tests.leader', true) <> '' THEN
		-- Whoever is faster leaves the first process something to read.
		WHILE NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = current_setting('tests.leader')::int) LOOP
			PERFORM pg_sleep(0.001);
		END LOOP;
	END IF;
	RETURN id;
END $$;
EOT
	my ($wrong, $call) = ('', 1);
	do
	{
		my $result = build_with_late_workers($call);
		$wrong .= " at call $call: $result" if $result ne 'ok';
		note("lost at call $call: $result, builds by the device: " . builds('cuda'));
	} while (builds('cuda') == 0 && $call++ < 20);
	is($wrong, '', 'with a device that is lost at any call and late workers all indexes are built');
	cmp_ok($call, '>', 3, "of $call calls");

	# All chunks but one are the first process's: rows of a worker are not on the device, where processes
	# would read them together.
	$node->safe_psql('postgres', q(ALTER SYSTEM SET gpusort.staging_memory = '32MB'));
	serve_with('--host-memory-layer --chunk-size 16M --chunks 2');
	start_gated_build()->quit;
	is(end_gated_build(), 'ok', 'an index of rows for which workers have no chunks');
	is(builds('cuda'), 1, 'is built on the device');

	# The same of rows that are longer than a chunk.
	serve_with('--host-memory-layer --chunk-size 4k --chunks 4');
	$node->safe_psql('postgres', <<'EOT');
CREATE TABLE long AS SELECT i AS id, (SELECT string_agg(md5(i || ' ' || j), '') FROM generate_series(1, CASE WHEN i % 10 = 0 THEN 70 ELSE 2 END) AS j) COLLATE "C" AS t FROM generate_series(1, 20000) AS i;
ALTER TABLE long SET (parallel_workers = 2);
SELECT gpusort_stat_reset();
EOT
	is($node->safe_psql('postgres', q(SET gpusort.backend = cuda; CREATE INDEX long_gpu ON long (t); SELECT checked('long_gpu'))), 'ok', 'an index of rows that are longer than a chunk');
	is(builds('cuda'), 1, 'is built on the device');
}

$builder->quit;
unlike(slurp_file($node->logfile), qr/TRAP|terminated by signal 11|PANIC/, 'no process has crashed');
$node->stop;
done_testing();
