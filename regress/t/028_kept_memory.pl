# What a session keeps of its sorts' memory for the next one: within its setting, the superuser's and the
# sort's own; given back when it is idle, or busy with something else, and at an error; and sorts in it return
# what they return in new memory.  And, first, that some of it is on huge pages.
use strict;
use warnings;

use FindBin;
use POSIX ();
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use constant ROWS => 300000;
use constant KEPT_SECONDS => 5;

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", "gpusort.devices = 'none'", 'gpusort.mode = force', 'gpusort.work_mem = 128MB', 'shared_buffers = 128MB',
	'max_parallel_workers_per_gather = 0', 'max_parallel_workers = 3', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0', 'max_connections = 20');
create_rows($node, ROWS);

my $serial = 'SELECT count(t) FROM (SELECT * FROM r ORDER BY k OFFSET 0) s';
my $joint = "SET max_parallel_workers_per_gather = 2; $serial; SET max_parallel_workers_per_gather = 0";

sub new_session
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query('SELECT pg_backend_pid()');
	$session->query('SELECT count(k + length(t)) FROM r');
	return ($session, $pid);
}

# Megabytes of a process in files without names: of this kind, by smaps.
sub file_memory_of
{
	my ($pid, $kind) = @_;
	my ($kb, $in_file) = (0, 0);
	foreach (split /\n/, slurp_file("/proc/$pid/smaps"))
	{
		$in_file = /memfd:/ if /^[0-9a-f]+-[0-9a-f]+ /;
		$kb += $1 if $in_file && /^$kind:\s+(\d+) kB/;
	}
	return $kb / 1024;
}

# Megabytes of a process that are its own, and of files without names.
sub memory_of
{
	my ($pid) = @_;
	my ($own) = slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+) kB/m;
	return $own / 1024 + file_memory_of($pid, 'Rss');
}

sub peak_of
{
	my ($pid) = @_;
	my ($kb) = slurp_file("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB/m;
	return $kb / 1024;
}

sub open_files
{
	my ($pid) = @_;
	my @files = glob "/proc/$pid/fd/*";
	return scalar @files;
}

# Megabytes that the session has more than before, after these statements.
sub kept_after
{
	my ($session, $pid, $statements) = @_;
	$session->query('SET gpusort.kept_memory = 0; RESET gpusort.kept_memory');
	my $before = memory_of($pid);
	$session->query($statements);
	return memory_of($pid) - $before;
}

# A server with assertions writes over what it frees, so that pages which gpusort gave back to the kernel
# before are there again.
my $writes_when_freeing = $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';

sub megabytes_are
{
	my ($megabytes, $operator, $limit, $name) = @_;
	SKIP:
	{
		skip "$name: with assertions what is freed is written to", 1 if $writes_when_freeing;
		cmp_ok($megabytes, $operator, $limit, $name);
	}
	return;
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

# Then a sort of several processes has some, before it is known that they don't pay, where they don't.
SKIP:
{
	skip 'no huge page is to be had by asking for it', 1 if !collapses_pages();
	my ($session, $pid) = new_session();
	$session->query($joint);
	my $huge = file_memory_of($pid, 'ShmemPmdMapped');
	cmp_ok($huge, '>=', 2, "megabytes on huge pages where the setting gives small ones: $huge");
	$session->quit;
}

# ---- how much ----

foreach my $case ([ 'one process', $serial ], [ 'three processes', $joint ])
{
	my ($name, $sort) = @$case;
	my ($session, $pid) = new_session();
	$session->query("SET gpusort.kept_memory = 0; $sort; RESET gpusort.kept_memory");
	my $all = kept_after($session, $pid, $sort);

	megabytes_are($all, '>', 30, sprintf('%s: a sort leaves its memory, %.1f MB', $name, $all));
	megabytes_are($all, '<', 130, 'no more than it might use');
	my $again = memory_of($pid);
	$session->query($sort) for 1 .. 5;
	megabytes_are(memory_of($pid) - $again, '<', 4, 'more sorts don\'t add to it');
	my $none = kept_after($session, $pid, "SET gpusort.kept_memory = 0; $sort");
	megabytes_are($none, '<', 4, sprintf('with gpusort.kept_memory = 0 none: %.1f MB', $none));
	my $some = kept_after($session, $pid, "SET gpusort.kept_memory = '16MB'; $sort");
	megabytes_are($some, '<', 20, sprintf('with 16 MB no more: %.1f MB', $some));
	megabytes_are($some, '>', 10, 'but that');
	$some = kept_after($session, $pid, "SET gpusort.max_kept_memory = '16MB'; $sort; RESET gpusort.max_kept_memory");
	megabytes_are($some, '<', 20, sprintf('nor where superusers say so: %.1f MB', $some));
	$some = kept_after($session, $pid, "$sort; SET gpusort.kept_memory = '16MB'");
	megabytes_are($some, '<', 20, sprintf('nor when it is set later: %.1f MB', $some));

	# A sort that may use less has less, with what is kept.
	$some = kept_after($session, $pid, "$sort; SET gpusort.work_mem = '8MB'; SELECT count(*) FROM (SELECT k FROM r WHERE id < 1000 ORDER BY k OFFSET 0) s; RESET gpusort.work_mem");
	megabytes_are($some, '<', 12, sprintf('a sort that may use 8 MB leaves no more: %.1f MB', $some));
	$some = kept_after($session, $pid, "$sort; SET gpusort.work_mem = '8MB'; $serial; RESET gpusort.work_mem");
	megabytes_are($some, '<', 12, sprintf('nor one with temporary files: %.1f MB', $some));

	# What gives it back.
	foreach my $statement ('DISCARD ALL', 'SET gpusort.mode = off', 'SELECT 1 / 0', 'BEGIN; SELECT 1 / 0; ROLLBACK')
	{
		my $left = kept_after($session, $pid, "$sort; $statement");
		megabytes_are($left, '<', 4, sprintf('%s gives it back: %.1f MB', $statement, $left));
		$session->query('RESET gpusort.mode');
	}

	# Idle, or busy with something else.
	megabytes_are(kept_after($session, $pid, $sort), '>', 30, 'it is kept');
	sleep(KEPT_SECONDS - 2);
	megabytes_are(memory_of($pid), '>', 30, 'for a while');
	sleep(4);
	megabytes_are(memory_of($pid) - $again + $all, '<', 4, 'but not by an idle session');
	is($session->query($serial), ROWS, 'which sorts on');
	$session->query_until(qr/started/, "$sort;\n\\echo started\nSELECT pg_sleep(" . (KEPT_SECONDS + 3) . ") IS NOT NULL;\n");
	sleep(KEPT_SECONDS + 1.5);
	megabytes_are(memory_of($pid) - $again + $all, '<', 4, 'nor by one that does something else');
	$session->query('SELECT 1');
	megabytes_are(kept_after($session, $pid, $sort), '>', 30, 'it keeps it again');
	$session->quit;
}

# A sort with little memory, in blocks that are smaller than half of those that are kept, has no more with
# them.
{
	my ($session, $pid) = new_session();
	$session->query("SET gpusort.kept_memory = 0; $serial; RESET gpusort.kept_memory");
	my $before = memory_of($pid);
	$session->query("$serial; SET gpusort.work_mem = '20MB'; SELECT count(*) FROM (SELECT k FROM r WHERE id < 1000 ORDER BY k OFFSET 0) s");
	my $kept = memory_of($pid) - $before;
	# Sets the high-water mark to what is resident now.
	append_to_file("/proc/$pid/clear_refs", '5');
	my $resident = peak_of($pid);
	$session->query($serial);
	my $all = peak_of($pid) - $resident + $kept;
	megabytes_are($kept, '>', 15, sprintf('kept for a sort of 20 MB: %.1f MB', $kept));
	megabytes_are($all, '<', 25, sprintf('with which it has %.1f MB at its peak', $all));
	$session->quit;
}

# ---- what is in it ----

# Sorts of all kinds and sizes, in turns, in memory that others have left, return the rows that they return
# with gpusort off.
my @sorts = map { "SELECT md5(string_agg(s::text, ',')) FROM ($_ OFFSET 0) s" } (
	'SELECT * FROM r WHERE id % 3 = 0 ORDER BY k', 'SELECT k FROM r ORDER BY k', 'SELECT * FROM r WHERE id < 150000 ORDER BY t, id', 'SELECT * FROM r WHERE id > 100000 ORDER BY t COLLATE "und-x-icu", id',
	'SELECT * FROM (SELECT * FROM r ORDER BY k LIMIT 5000) s2', 'SELECT id FROM r ORDER BY id % 7, id', 'SELECT DISTINCT k % 5000 AS d FROM r ORDER BY d', 'SELECT * FROM r WHERE id < 40000 ORDER BY k::numeric');
my %right = map { $_ => $node->safe_psql('postgres', "SET gpusort.mode = off; $_") } @sorts;
{
	my ($session, $pid) = new_session();
	my ($wrong, $most, $files) = (0, 0, 0);
	foreach my $round (0 .. 15)
	{
		my $workers = (0, 1, 3, 2)[ $round % 4 ];
		my $memory = ('128MB', '128MB', '6MB', '64MB', '128MB')[ $round % 5 ];
		foreach my $sort (@sorts[ map { ($_ * 3 + $round) % @sorts } 0 .. $#sorts ])
		{
			my $result = $session->query("SET max_parallel_workers_per_gather = $workers; SET gpusort.work_mem = '$memory'; $sort");
			$wrong++ if $result ne $right{$sort};
		}
		$session->query("BEGIN; DECLARE c CURSOR FOR SELECT * FROM r ORDER BY k; MOVE 100 IN c; $serial; COMMIT") if $round % 4 == 3;
		$files = open_files($pid) if $round == 3;
		my $memory_now = memory_of($pid);
		$most = $memory_now if $memory_now > $most;
	}
	is($wrong, 0, 'all of them are right');
	megabytes_are($most, '<', 160, sprintf('and the session had never more than %.1f MB', $most));
	cmp_ok(open_files($pid), '<=', $files + 8, "with no more files: $files");
	$session->quit;
}

# A thousand sorts of several processes.
{
	my ($session, $pid) = new_session();
	$session->query('CREATE TABLE few AS SELECT * FROM r WHERE id <= 2000; ANALYZE few; SET max_parallel_workers_per_gather = 2; ALTER TABLE few SET (parallel_workers = 2)');
	my $few = 'SELECT sum(id) FROM (SELECT * FROM few ORDER BY k OFFSET 0) s';
	like($session->query("EXPLAIN $few"), qr/GpuSortFeed/, 'a sort of several processes');
	$session->query("DO \$\$ BEGIN FOR i IN 1 .. 100 LOOP PERFORM sum(id) FROM (SELECT * FROM few ORDER BY k OFFSET 0) s; END LOOP; END \$\$");
	$session->query($few) for 1 .. 20;
	my ($memory, $files) = (memory_of($pid), open_files($pid));
	my $wrong = 0;
	foreach (1 .. 300) { $wrong++ if $session->query($few) ne '2001000'; }
	is($wrong, 0, 'hundreds of them are right');
	cmp_ok(memory_of($pid) - $memory, '<', 2, 'memory does not grow');
	cmp_ok(open_files($pid), '<=', $files + 4, 'nor do files');
	$session->quit;
}

# Sorts that are cancelled, at any time, leave nothing that another one stumbles over.
{
	my ($session, $pid) = new_session();
	my ($cancelled, $wrong) = (0, 0);
	foreach my $i (1 .. 40)
	{
		$session->query("SET max_parallel_workers_per_gather = " . $i % 3 . "; SET statement_timeout = " . (5 + $i * 3));
		$session->query($sorts[ $i % @sorts ]);
		$cancelled++ if $session->{stderr} =~ /canceling statement/;
		$session->{stderr} = '';
		$session->query('SET statement_timeout = 0');
		$wrong++ if $session->query($sorts[ ($i + 1) % @sorts ]) ne $right{ $sorts[ ($i + 1) % @sorts ] };
	}
	cmp_ok($cancelled, '>', 10, "cancelled: $cancelled of 40");
	is($wrong, 0, 'the sort after each is right');
	$session->quit;
}

$node->stop;
done_testing();
