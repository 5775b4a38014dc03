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

our @EXPORT = qw(start_node copy_installation create_rows create_gate create_checked create_phase_waiters temporary_files lines_of gpusortd_is_installed gpusortd_pids freeze_gpusortd);

# For those who only want to know whether there is a failure: the first one ends the test.
if ($ENV{GPUSORT_STOP_AT_FAILURE})
{
	test2_stack()->top->listen(sub { my ($hub, $event) = @_; Test::More::BAIL_OUT('a failure') if $event->facet_data->{assert} && $event->causes_fail });
}

# Starts a server; the arguments are lines of postgresql.conf.  It has a card of the machine if these name a
# setting of gpusortd.
sub start_node
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	push @settings, "gpusort.devices = 'none'" if -e '/dev/nvidiactl' && !grep { /^gpusort\.(gpusortd_|devices)/ } @settings;

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

sub lines_of
{
	return split /\n/, $_[0];
}

1;
