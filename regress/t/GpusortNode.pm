# GpusortNode: a throwaway server for TAP tests, with gpusort loaded and a table to sort.
package GpusortNode;

use strict;
use warnings;

use Cwd ();
use Exporter 'import';
use File::Basename qw(dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test2::API qw(test2_stack);
use Test::More ();
use Time::HiRes qw(usleep);

our @EXPORT = qw(runs_all start_node copy_installation create_rows create_many_types create_gate create_checked create_phase_waiters temporary_files held_by lines_of
	gpusortd_is_installed gpusortd_pids kill_gpusortd freeze_gpusortd wait_for_gpusortd serve executed fallbacks while_feeding timeouts_take_effect nothing_is_left);

# For those who only want to know whether there is a failure: the first one ends the test.
if ($ENV{GPUSORT_STOP_AT_FAILURE})
{
	test2_stack()->top->listen(sub { my ($hub, $event) = @_; Test::More::BAIL_OUT('a failure') if $event->facet_data->{assert} && $event->causes_fail });
}

# Is the whole run wanted (tools/test --all), not the quick one?
sub runs_all
{
	return $ENV{GPUSORT_TEST_ALL};
}

# Starts a server; the arguments are lines of postgresql.conf.  It has a card, of the machine or of the CUDA
# runtime in host memory, if these name a setting of gpusortd.
sub start_node
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	push @settings, "gpusort.devices = 'none'" unless grep { /^gpusort\.(gpusortd_|devices)/ } @settings;

	$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
	$node->append_conf('postgresql.conf', join("\n", 'jit = off', 'fsync = off', 'max_parallel_workers_per_gather = 0', @settings, ''));
	$node->start;
	return $node;
}

# A copy of the installation, for a server that is to have other files of gpusort; what a node's install_path
# is to be.  Its files are the same ones, so none may be written to: they are to be replaced.
sub copy_installation
{
	my ($folder) = @_;
	my @folders = map { my $path = `pg_config --$_`; chomp $path; Cwd::realpath($path) } qw(bindir pkglibdir sharedir);
	my $root = $folders[0];

	$root =~ s!/[^/]*$!! while grep { index($_, "$root/") != 0 } @folders;
	foreach my $path (@folders)
	{
		my $copy = $folder . substr($path, length $root);
		my $parent = $copy =~ s!/[^/]*$!!r;
		system("mkdir -p '$parent' && cp -al '$path' '$copy'") == 0 or die "could not copy $path";
	}
	return dirname($folder . substr($folders[0], length $root));
}

# Makes the table r (or another): id, a random int8, a text of 32 bytes with many duplicates of its first
# half.
sub create_rows
{
	my ($node, $rows, $table) = @_;
	$table = 'r' unless defined $table;

	$node->safe_psql('postgres', <<"EOT");
CREATE TABLE $table AS
	SELECT i AS id, hashint8extended(i, 0) AS k, md5((i % 1000)::text) || md5(i::text) COLLATE "C" AS t FROM generate_series(1, $rows) AS i;
VACUUM ANALYZE $table;
EOT
	return;
}

# Makes the table s of so many rows, values of many types: few and many, NULLs, long strings that begin alike,
# and one value in the middle that a third of the rows have.  `more`: further columns, as SQL has them of i,
# with a comma before each.  And digest(rows, keys, sort): what an order says of a query's rows, their keys in
# order, and the rows in any.
sub create_many_types
{
	my ($node, $rows, $more) = @_;
	$more //= '';

	$node->safe_psql('postgres', <<"EOT");
CREATE TABLE s AS
	SELECT i AS id, i % 7 AS few, nullif(i % 5, 2) AS five, CASE WHEN i % 3 = 0 THEN 500000 ELSE (hashint4(i) & 1048575) END AS most,
		hashint8extended(i, 1) AS i8, hashint4(i) AS i4, (hashint4(i) >> 16)::int2 AS i2,
		CASE i % 100 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' WHEN 2 THEN NULL ELSE hashint8extended(i, 2) / 1e9 END::float8 AS f8,
		CASE WHEN i % 50 = 0 THEN 'NaN' WHEN i % 50 = 1 THEN NULL ELSE hashint8extended(i, 3)::numeric / 10 ^ (i % 30) END AS n,
		nullif(md5((i % 1000)::text), md5('5')) || md5(i::text) COLLATE "C" AS t, repeat('x', 70) || (i % 3000)::text COLLATE "C" AS alike,
		initcap(md5(i::text)) COLLATE "en-x-icu" AS icu, md5(i::text)::uuid AS u, timestamptz '2000-01-01 00:00 UTC' + hashint4(i) * interval '1 s' AS ts,
		ARRAY[i % 100, hashint4(i)] AS a$more
	FROM generate_series(1, $rows) AS i;
ALTER TABLE s SET (parallel_workers = 3);
VACUUM ANALYZE s;
CREATE FUNCTION digest(rows text, keys text, sort text) RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(record_send(key), '''')) || '' '' || sum(hash_record_extended(ROW(record_send(v)), 0)) FROM (SELECT v, ROW(%s) AS key FROM (%s) AS v ORDER BY %s OFFSET 0) s',
		keys, rows, sort) INTO result;
	RETURN result;
END \$\$;
EOT
	return;
}

# Makes the function checked, which says ok, or fails, of an index that amcheck compares with its table.
sub create_checked
{
	my ($node) = @_;

	$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION amcheck;
CREATE FUNCTION checked(name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM bt_index_parent_check(name::regclass, true, true);
	RETURN 'ok';
END $$;
EOT
	return;
}

# Makes the functions wait_for_phase and cancel_in_phase, the latter of which says when it cancelled; they
# need the extension.
sub create_phase_waiters
{
	my ($node) = @_;

	$node->safe_psql('postgres', <<"EOT");
-- Waits until a process is in a phase of its sort and then so many milliseconds longer; false: it was not for some time, or is no more.
CREATE FUNCTION wait_for_phase(process int, name text, ms float8) RETURNS boolean LANGUAGE plpgsql AS \$\$
DECLARE
	now_in text;
	before text;
BEGIN
	FOR i IN 1 .. 20000 LOOP
		SELECT phase INTO now_in FROM pg_stat_progress_gpusort WHERE pid = process;
		IF now_in = name THEN
			PERFORM pg_sleep(ms / 1000);
			RETURN ms = 0 OR EXISTS (SELECT FROM pg_stat_progress_gpusort WHERE pid = process AND phase = name);
		END IF;
		IF now_in IS NULL AND before IS NOT NULL THEN
			RETURN false;
		END IF;
		before := now_in;
		PERFORM pg_sleep(0.001);
	END LOOP;
	RETURN false;
END \$\$;
CREATE FUNCTION cancel_in_phase(process int, name text, ms float8) RETURNS timestamptz LANGUAGE sql AS
	\$\$ SELECT CASE WHEN wait_for_phase(process, name, ms) THEN CASE WHEN pg_cancel_backend(process) THEN clock_timestamp() END END \$\$;
EOT
	return;
}

# Makes the function gate, which waits at the row with this id for whoever has the advisory lock 1; not
# volatile, as far as the planner knows.
sub create_gate
{
	my ($node, $id) = @_;

	$node->safe_psql('postgres', <<"EOT");
CREATE FUNCTION gate(id bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS \$\$
BEGIN
	IF id = $id THEN
		PERFORM pg_advisory_xact_lock_shared(1);
	END IF;
	RETURN true;
END \$\$;
EOT
	return;
}

# The names of all temporary files and folders of the server.
sub temporary_files
{
	my ($node) = @_;
	my $folder = $node->data_dir . '/base/pgsql_tmp';

	my @names = -d $folder ? sort grep { !/^\./ } slurp_dir($folder) : ();
	return @names;
}

# What a backend has open besides files of the data directory, and mappings of gpusort's.
sub held_by
{
	my ($node, $pid) = @_;
	my $data = $node->data_dir;
	my %count;

	foreach my $file (grep { defined && !/^(\Q$data\E|base|global|pg_)/ } map { readlink } glob "/proc/$pid/fd/*")
	{
		$count{ $file =~ s/:.*//r }++;
	}
	$count{mappings} = grep { /gpusort/ && !/\.so/ } split /\n/, slurp_file("/proc/$pid/maps");
	return join ' ', map { "$_=$count{$_}" } sort keys %count;
}

# Was gpusortd built?
sub gpusortd_is_installed
{
	my $folder = `pg_config --bindir`;

	chomp $folder;
	return -x "$folder/gpusortd" || grep { -x "$_/gpusortd" } split /:/, $ENV{PATH};
}

# The processes that a server's launcher has started, gpusortd or whatever stands for it; those alone that are
# not about to be reaped.
sub gpusortd_pids
{
	my ($node) = @_;
	my $folder = Cwd::realpath($node->data_dir);
	my @pids;

	foreach my $process (glob '/proc/[0-9]*')
	{
		my $cwd = readlink "$process/cwd";
		next unless defined $cwd && $cwd eq $folder;
		my $command = eval { slurp_file("$process/cmdline") } // '';
		push @pids, $process =~ s!.*/!!r if $command =~ /\0--socket\0pg_stat_tmp\/gpusort\.sock\0/;
	}
	return @pids;
}

# Kills a server's gpusortd, and waits until it is gone.
sub kill_gpusortd
{
	my ($node) = @_;
	my ($pid) = gpusortd_pids($node);

	kill 'KILL', $pid;
	foreach (1 .. 1000 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return unless grep { $_ == $pid } gpusortd_pids($node);
		usleep(1000);
	}
	die "gpusortd $pid does not end";
}

# Has the process no thread that still runs?
sub is_frozen
{
	my ($pid) = @_;

	foreach my $stat (glob "/proc/$pid/task/*/stat")
	{
		my $line = eval { slurp_file($stat) } // next;
		return 0 if $line !~ /\) T /;
	}
	return 1;
}

# Stops a server's gpusortd, and returns its pid.  The signal alone leaves it time for an answer or two: on a
# busy machine the thread that shall stop the others has to wait for its turn.
sub freeze_gpusortd
{
	my ($node) = @_;
	my ($pid) = gpusortd_pids($node);

	kill 'STOP', $pid;
	foreach (1 .. 1000 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return $pid if is_frozen($pid);
		usleep(1000);
	}
	die "gpusortd $pid did not stop";
}

# Waits until gpusortd serves on all of its devices.
sub wait_for_gpusortd
{
	my ($node) = @_;

	$node->poll_query_until('postgres', q(SELECT bool_and(state = 'ready') AND count(*) > 1 FROM gpusort_devices()))
	  or die "gpusortd did not start:\n" . $node->safe_psql('postgres', 'SELECT * FROM gpusort_devices()');
	return;
}

# Starts the server anew, and gpusortd, with these settings of gpusort's.
sub serve
{
	my ($node, %settings) = @_;

	foreach my $name (sort keys %settings)
	{
		$node->safe_psql('postgres', "ALTER SYSTEM SET gpusort.$name = '$settings{$name}'");
	}
	$node->restart;
	wait_for_gpusortd($node);
	return;
}

# The plan of a sort as it was executed, after the statements `set`.
sub executed
{
	my ($node, $set, $of) = @_;

	return $node->safe_psql('postgres', "$set EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, SUMMARY OFF) $of");
}

# How many sorts have left the cards for the cpu device.
sub fallbacks
{
	my ($node) = @_;

	return $node->safe_psql('postgres', "SELECT coalesce(sum(fallbacks), 0) FROM pg_stat_gpusort WHERE device = 'cuda'");
}

# Has a session wait in the middle of reading its input, which has a gate (create_gate); does something with
# its process number, and lets it go on.  Returns the session.
sub while_feeding
{
	my ($node, $sql, $action) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $locker = $node->background_psql('postgres');

	$locker->query_safe('SELECT pg_advisory_lock(1)');
	my $pid = $session->query('SELECT pg_backend_pid()');
	# From the first row on, not from where another scan has been.
	$session->query_safe('SET synchronize_seqscans = off');
	$session->query_until(qr/started/, "\\echo started\n$sql;\n");
	$node->poll_query_until('postgres', q(SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)))
	  or die 'the session did not come to the gate';
	$action->($pid);
	$locker->query_safe('SELECT pg_advisory_unlock(1)');
	$locker->quit;
	return $session;
}

# Tests that a query, after the statements `set`, ends at timeouts all over the time that it takes, with no
# other error.
sub timeouts_take_effect
{
	my ($node, $set, $query) = @_;
	my $cancelled = 0;
	my $ms = $node->safe_psql('postgres', "$set SELECT clock_timestamp() AS start \\gset\n$query \\g /dev/null\nSELECT round(extract(epoch FROM clock_timestamp() - :'start') * 1000)");

	foreach my $point (1 .. 6)
	{
		my $timeout = int($ms * $point / 7) || 1;
		my (undef, undef, $error) = $node->psql('postgres', "$set SET statement_timeout = $timeout; $query", on_error_stop => 0);
		$cancelled++ if $error =~ /canceling statement due to statement timeout/;
		Test::More::unlike($error, qr/ERROR(?!:  canceling statement)/, "$set cancelled after $timeout ms, or not");
	}
	Test::More::cmp_ok($cancelled, '>', 0, "$set $cancelled of 6 timeouts within $ms ms took effect");
	return;
}

# Tests that no card has a job or memory of one, and that there are no temporary files.
sub nothing_is_left
{
	my ($node, $what) = @_;

	Test::More::ok($node->poll_query_until('postgres', q(SELECT sum(jobs) = 0 AND bool_and(free_memory = max_memory) FROM gpusort_devices() WHERE device LIKE 'cuda%')), "$what: no card has a job");
	# A session that its client has left removes its files a moment later.
	my $left;
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$left = join ' ', temporary_files($node);
		last if $left eq '';
		usleep(100_000);
	}
	Test::More::is($left, '', "$what: no temporary files");
	return;
}

sub lines_of
{
	return split /\n/, $_[0];
}

1;
