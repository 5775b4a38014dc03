# What the server keeps of the memory of joint sorts: one sort's, within its setting; the next sort takes it,
# in whichever session; it is freed when none comes, whatever happens in the session that left it; sorts in it
# return what they return in new memory.  And, first, that some of it is on huge pages.
use strict;
use warnings;

use FindBin;
use POSIX ();
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant ROWS => 300000;

# Sessions that take turns.
use constant SESSIONS => 10;

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", "gpusort.devices = 'none'", 'gpusort.mode = force', 'gpusort.work_mem = 128MB', 'shared_buffers = 128MB',
	'max_parallel_workers_per_gather = 2', 'max_parallel_workers = 3', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0', 'max_connections = 30');
create_rows($node, ROWS);
create_gate($node, ROWS);

my $joint = 'SELECT count(t) FROM (SELECT * FROM r ORDER BY k OFFSET 0) s';
my $serial = "SET max_parallel_workers_per_gather = 0; $joint; RESET max_parallel_workers_per_gather";

# Processes that may have something.
my @pids;

sub new_session
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query('SELECT pg_backend_pid()');
	push @pids, $pid;
	return ($session, $pid);
}

# Megabytes of each file without a name that one of these processes has open, by the file's number; those that
# have none are left out.
sub files_of
{
	my @owners = @_;
	my %megabytes;
	foreach my $file (map { glob "/proc/$_/fd/*" } @owners)
	{
		next if (readlink($file) // '') !~ /^\/memfd:gpusort/;
		my @status = stat $file;
		$megabytes{ $status[1] } = $status[12] / 2048 if @status && $status[12];
	}
	return \%megabytes;
}

# How many of them a process has open, with memory or without.
sub nameless_files
{
	my ($pid) = @_;
	my @files = grep { (readlink($_) // '') =~ /^\/memfd:gpusort/ } glob "/proc/$pid/fd/*";
	return scalar @files;
}

sub kept
{
	my $megabytes = 0;
	$megabytes += $_ foreach values %{ files_of(@pids) };
	return $megabytes;
}

sub kept_files
{
	return join ' ', sort { $a <=> $b } keys %{ files_of(@pids) };
}

# Does what is kept come to be no more than so much?
sub becomes
{
	my ($megabytes) = @_;
	foreach (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if kept() <= $megabytes;
		usleep(10000);
	}
	return 0;
}

sub set_limit
{
	my ($limit) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET gpusort.max_kept_memory = '$limit'");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('gpusort.max_kept_memory') = '$limit'") or die 'the setting has not arrived';
	return;
}

sub open_files
{
	my ($pid) = @_;
	my @files = glob "/proc/$pid/fd/*";
	return scalar @files;
}

# ---- huge pages ----

use constant { X86_64_MMAP => 9, X86_64_MADVISE => 28, X86_64_MEMFD_CREATE => 319 };
use constant { HUGE_PAGE => 2 << 20, MADV_POPULATE_WRITE => 23, MADV_COLLAPSE => 25, MAP_SHARED_AT => 0x100001, ANY_FREE_ADDRESS => 0x2000 << 32 };

sub setting_of_huge_pages
{
	my ($name) = @_;
	my $file = "/sys/kernel/mm/transparent_hugepage/$name";
	return -r $file ? slurp_file($file) : '';
}

# Does the kernel give small pages for memory that processes share, but a huge one to who asks for just that?
# It is tried, with memory of the test's own.
sub collapses_pages
{
	return 0 if (POSIX::uname())[4] ne 'x86_64' || setting_of_huge_pages('enabled') =~ /\[never\]/ || setting_of_huge_pages('shmem_enabled') !~ /\[never\]/ || setting_of_huge_pages('hpage_pmd_size') != HUGE_PAGE;
	my $name = 'gpusort test'; # no constant: the kernel might write to it, for all that perl knows
	my $fd = syscall(X86_64_MEMFD_CREATE, $name, 0);
	return 0 if $fd < 0;
	open(my $file, '+<&=', $fd) or die "cannot use a file without a name: $!";
	truncate($file, HUGE_PAGE) or die "cannot extend a file without a name: $!";
	my $address = syscall(X86_64_MMAP, ANY_FREE_ADDRESS, HUGE_PAGE, 3, MAP_SHARED_AT, $fd, 0);
	close($file) or die "cannot close a file without a name: $!";
	return $address == ANY_FREE_ADDRESS && syscall(X86_64_MADVISE, $address, 4096, MADV_POPULATE_WRITE) == 0 && syscall(X86_64_MADVISE, $address, HUGE_PAGE, MADV_COLLAPSE) == 0;
}

# Megabytes of a process on huge pages of files without names, by smaps.
sub huge_memory_of
{
	my ($pid) = @_;
	my ($kb, $in_file) = (0, 0);
	foreach (split /\n/, slurp_file("/proc/$pid/smaps"))
	{
		$in_file = /memfd:/ if /^[0-9a-f]+-[0-9a-f]+ /;
		$kb += $1 if $in_file && /^ShmemPmdMapped:\s+(\d+) kB/;
	}
	return $kb / 1024;
}

# Then a sort of several processes has some, before it is known that they don't pay, where they don't.
SKIP:
{
	skip 'no huge page is to be had by asking for it', 1 if !collapses_pages();
	my ($session, $pid) = new_session();
	$session->query('BEGIN; DECLARE c CURSOR FOR SELECT * FROM r ORDER BY k; FETCH 1 FROM c');
	my $huge = huge_memory_of($pid);
	cmp_ok($huge, '>=', 2, "megabytes on huge pages where the setting gives small ones: $huge");
	$session->quit;
}

# ---- how much, and whose ----

# Nothing is freed for being idle meanwhile, however slow the machine is.
my ($server) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
# A process of the session above may end while it is looked at.
my ($launcher) = grep { (eval { slurp_file("/proc/$_/cmdline") } // '') =~ /gpusort launcher/ } split ' ', slurp_file("/proc/$server/task/$server/children");
kill 'STOP', $launcher;

my ($machine_kb) = slurp_file('/proc/meminfo') =~ /^MemTotal:\s+(\d+) kB/m;
my $default_kb = $node->safe_psql('postgres', "SELECT setting FROM pg_settings WHERE name = 'gpusort.max_kept_memory'");
cmp_ok($default_kb, '<=', $machine_kb / 32, "by default a 32nd of the machine's memory, or of what a cgroup may have: $default_kb kB");
cmp_ok($default_kb, '>', 0, 'and not nothing');
set_limit('256MB');
my ($first, $first_pid) = new_session();
$first->query($joint);
my ($one, $files) = (kept(), kept_files());
cmp_ok($one, '>', 20, sprintf('a sort of three processes leaves its memory, %.1f MB', $one));
cmp_ok($one, '<', 130, 'no more than it might use');
my $of_one = nameless_files($first_pid);
$first->query($joint) for 1 .. 3;
cmp_ok(kept(), '<', 2 * $one, 'more sorts don\'t add to it');
is(kept_files(), $files, 'for they are in it');

my @sessions = map { [new_session()] } 1 .. SESSIONS;
my ($most, $wrong) = (0, 0);
foreach my $session (@sessions)
{
	$wrong++ if $session->[0]->query($joint) != ROWS;
	$most = kept() if kept() > $most;
}
is($wrong, 0, SESSIONS . ' sessions sort, one after the other');
cmp_ok($most, '<', 2 * $one, sprintf('and leave no more than one, %.1f MB', $most));
is(kept_files(), $files, 'for each takes what another one left');

$first->query("SET gpusort.work_mem = '8MB'; SELECT count(t) FROM (SELECT * FROM r WHERE id < 1000 ORDER BY k OFFSET 0) s; RESET gpusort.work_mem");
is(kept_files(), $files, 'a sort that may use less than there is takes none of it');
$first->query("BEGIN; DECLARE c CURSOR FOR SELECT * FROM r ORDER BY k; MOVE 10 IN c; $joint; COMMIT");
cmp_ok(kept(), '<', 2 * $one, 'of two sorts at a time one leaves its memory');
$first->query("BEGIN; DECLARE c CURSOR FOR SELECT * FROM r ORDER BY k; MOVE 10 IN c; $joint");
$sessions[0][0]->query('BEGIN; DECLARE c CURSOR FOR SELECT * FROM r ORDER BY k; MOVE 10 IN c');
$first->query('COMMIT');
is(nameless_files($first_pid), $of_one, 'the other one too, if that was taken meanwhile: what was is closed');
$sessions[0][0]->query('COMMIT');
$first->query("SET gpusort.work_mem = -1; SET work_mem = '20MB'; $joint");
cmp_ok(kept(), '>', 22, sprintf('a sort of three processes with 20 MB each leaves %.1f MB', kept()));
$first->query('SET max_parallel_workers = 0; SELECT count(t) FROM (SELECT * FROM r WHERE id < 1000 ORDER BY k OFFSET 0) s; RESET gpusort.work_mem; RESET work_mem; RESET max_parallel_workers');
cmp_ok(kept(), '<=', 20, sprintf('and one to which no worker comes no more than 20 MB, %.1f MB', kept()));
$first->query($serial);
is(kept(), 0, 'one process that needs memory frees it');

$_->[0]->query($joint) for @sessions[ 0, 1 ];
$sessions[1][0]->quit;
ok(becomes(0), 'a session that ends frees it, though another one had it before');
$sessions[0][0]->query($joint);
while_feeding($node, 'SELECT count(t) FROM (SELECT * FROM r WHERE gate(id) ORDER BY k OFFSET 0) s', sub { my ($pid) = @_; push @pids, $pid; kill 'TERM', $pid; });
ok(becomes(0), 'so does one that is terminated while it sorts');

$first->query($joint);
cmp_ok(kept(), '>', 20, 'it is kept again');
$files = kept_files();
foreach my $memory ('100MB', '200MB')
{
	like($first->query("SET gpusort.work_mem = '$memory'; EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM r ORDER BY k; RESET gpusort.work_mem"), qr/Processes: [23]/, "and sorts of $memory are of several processes, which have it in files of another size");
}
is(kept_files(), $files, 'the same files');
kill 'CONT', $launcher;
ok(becomes(0), 'until nobody has sorted for a while');
$_->query($joint) for $sessions[0][0], $first;
set_limit('16MB');
$_->query($joint) for $sessions[0][0], $first;
is(kept(), 0, 'and none that is more is kept');
is(nameless_files($sessions[0][1]), 0, 'nor do files stay open that another one has taken');
is($first->query('SELECT count(*) FROM (SELECT * FROM (SELECT t FROM r WHERE id <= 30000 ORDER BY k OFFSET 0) a UNION ALL SELECT * FROM (SELECT t FROM r ORDER BY k OFFSET 0) b) s'), ROWS + 30000, 'a small sort and a large one at a time');
cmp_ok(kept(), '>', 0, 'of which the small one leaves its memory');
set_limit('0');
$first->query("SELECT count(t) FROM (SELECT * FROM r WHERE id < 1000 ORDER BY k OFFSET 0) s");
is(kept(), 0, 'with 0 nothing is');
set_limit('256MB');

# ---- until when ----

# PostgreSQL stops all of a session's timeouts when a statement fails.
$first->query("BEGIN; $joint; SAVEPOINT s");
cmp_ok(kept(), '>', 20, 'kept in a transaction');
$first->query('SELECT 1 / 0');
ok(becomes(0), 'until it is idle for a while, after an error inside a savepoint, too');
is($first->query("ROLLBACK TO s; $joint; COMMIT"), ROWS, 'and the session sorts on');
$first->query_until(qr/started/, "$joint;\n\\echo started\nSELECT pg_sleep(1000) IS NOT NULL;\n");
ok(becomes(0), 'or busy with something else');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($first_pid)");
$first->quit;

# The launcher, which frees it, may have found that there is no gpusortd any more just before: this one ends,
# as if it had been asked to, when its program is removed.
{
	my $program = $node->basedir . '/gpusortd';
	append_to_file($program, "#!/bin/sh\ntouch '$program.started'\nwhile test -e '$program'; do sleep 0.1; done\n");
	chmod 0755, $program;
	$node->safe_psql('postgres', $_) foreach "ALTER SYSTEM SET gpusort.gpusortd_path = '$program'", "ALTER SYSTEM SET gpusort.devices = ''";
	$node->reload;
	foreach (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last if -e "$program.started";
		usleep(10000);
	}
	my ($session, $pid) = new_session();
	$session->query($joint);
	cmp_ok(kept(), '>', 20, 'kept while there is a gpusortd');
	unlink $program;
	ok(becomes(0), 'until it is idle for a while, though there is none any more');
	like(slurp_file($node->logfile), qr/gpusort has no GPU: there is no program/, 'for it was looked for meanwhile');
	$session->quit;
}

# ---- what is in it ----

# Sorts of all kinds and sizes, in turns, in memory that others have left, return the rows that they return
# with gpusort off.
my @sorts = map { "SELECT md5(string_agg(record_send(s), '')) FROM ($_ OFFSET 0) s" } (
	'SELECT * FROM r WHERE id % 3 = 0 ORDER BY k', 'SELECT k FROM r ORDER BY k', 'SELECT * FROM r WHERE id < 150000 ORDER BY t, id', 'SELECT * FROM r WHERE id > 100000 ORDER BY t COLLATE "und-x-icu", id',
	'SELECT * FROM (SELECT * FROM r ORDER BY k LIMIT 5000) s2', 'SELECT id FROM r ORDER BY id % 7, id', 'SELECT DISTINCT k % 5000 AS d FROM r ORDER BY d', 'SELECT * FROM r WHERE id < 40000 ORDER BY k::numeric');
my %right = map { $_ => $node->safe_psql('postgres', "SET gpusort.mode = off; $_") } @sorts;
{
	my @both = map { [new_session()] } 1 .. 2;
	($wrong, $most) = (0, 0);
	foreach my $round (0 .. 3)
	{
		my $session = $both[ $round % 2 ][0];
		my $workers = (0, 1, 3, 2)[ $round % 4 ];
		my $memory = ('128MB', '128MB', '6MB', '64MB', '128MB')[ $round % 5 ];
		foreach my $sort (@sorts[ map { ($_ * 3 + $round) % @sorts } 0 .. $#sorts ])
		{
			my $result = $session->query("SET max_parallel_workers_per_gather = $workers; SET gpusort.work_mem = '$memory'; $sort");
			$wrong++ if $result ne $right{$sort};
		}
		$most = kept() if kept() > $most;
	}
	is($wrong, 0, 'all of them are right');
	cmp_ok($most, '<', 130, sprintf('and never was more kept than %.1f MB', $most));
	$_->[0]->quit for @both;
}

# Dozens of sorts of several processes.
{
	my ($session, $pid) = new_session();
	$session->query('CREATE TABLE few AS SELECT * FROM r WHERE id <= 2000; ANALYZE few; ALTER TABLE few SET (parallel_workers = 2)');
	my $few = 'SELECT sum(id) FROM (SELECT * FROM few ORDER BY k OFFSET 0) s';
	like($session->query("EXPLAIN $few"), qr/GpuSortFeed/, 'a sort of several processes');
	$session->query($few) for 1 .. 5;
	my ($memory, $files_now) = (kept(), open_files($pid));
	$wrong = 0;
	foreach (1 .. 60) { $wrong++ if $session->query($few) ne '2001000'; }
	is($wrong, 0, 'dozens of them are right');
	cmp_ok(kept() - $memory, '<', 2, 'memory does not grow');
	cmp_ok(open_files($pid), '<=', $files_now + 4, 'nor do files');
	$session->quit;
}

# Sorts that are cancelled, at any time, leave nothing that another one stumbles over.
{
	my ($session, $pid) = new_session();
	my $cancelled = 0;
	$wrong = 0;
	foreach my $i (1 .. 24)
	{
		$session->query("SET max_parallel_workers_per_gather = " . $i % 3 . "; SET statement_timeout = " . (5 + $i * 5));
		$session->query($sorts[ $i % @sorts ]);
		$cancelled++ if $session->{stderr} =~ /canceling statement/;
		# The timeout may end this statement as well.
		do
		{
			$session->{stderr} = '';
			$session->query('SET statement_timeout = 0');
		} while ($session->{stderr} =~ /canceling statement/);
		my $sort = $sorts[ ($i + 1) % @sorts ];
		my $result = $session->query($sort);
		next if $result eq $right{$sort};
		$wrong++;
		diag("$i: $sort: $result $session->{stderr}");
	}
	cmp_ok($cancelled, '>', 5, "cancelled: $cancelled of 24");
	is($wrong, 0, 'the sort after each is right');
	ok(becomes(0), 'and nothing stays');
	$session->quit;
}

# ---- without the server's shared memory ----

$_->[0]->quit for @sessions[ 0, 2 .. $#sessions ];
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nsession_preload_libraries = 'gpusort'");
$node->restart;
{
	my ($session, $pid) = new_session();
	is($session->query($joint), ROWS, 'a sort where the library is not in shared_preload_libraries');
	is(kept(), 0, 'leaves nothing');
	$session->quit;
}

$node->stop;
done_testing();
