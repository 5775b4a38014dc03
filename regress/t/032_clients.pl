# Clients that read a sort as drivers do: some rows of a portal at a time, two portals in turn, statements
# that are sent ahead, COPY, results that are left half read, connections that are gone.  Whatever the mode,
# they are answered the same, and nothing stays behind.
use strict;
use warnings;

use Digest::MD5 qw(md5_hex);
use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use GpusortProtocol;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant ROWS => runs_all() ? 50000 : 10000;

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", 'gpusort.max_kept_memory = 0', 'min_parallel_table_scan_size = 0', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'max_prepared_transactions = 1', 'max_parallel_workers = 8', 'max_worker_processes = 16');
create_rows($node, ROWS);
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort; ALTER TABLE r SET (parallel_workers = 2); CREATE TABLE copied (id bigint, k bigint)');

# More than the socket between the two takes.
my $by_text = 'SELECT id, k, repeat(t, 5) AS t FROM r ORDER BY r.t, id';
my $by_number = 'SELECT k, id FROM r WHERE id % 3 > 0 ORDER BY k DESC, id';
my $inserted = 'INSERT INTO copied SELECT id, k FROM r WHERE id % 5 = 0 ORDER BY k RETURNING *';

# ---- what clients do ----

sub read_to_the_end
{
	my ($client, $portal, $rows) = @_;
	my @answers;

	# A portal that begins again and again is left.
	push @answers, $client->fetch($portal, $rows) while !@answers || ($answers[-1] eq 's' && @answers < 2 * ROWS);
	return @answers;
}

sub reads_some_at_a_time
{
	my ($client) = @_;
	my @answers = $client->query('BEGIN');

	$client->open_portal('a', $by_text);
	push @answers, map { $client->fetch('a', $_) } 1, 7, 100;
	# Drivers end each of them by a Sync.
	foreach my $rows (2000, 500)
	{
		$client->execute('a', $rows);
		push @answers, $client->sync;
	}
	return (@answers, read_to_the_end($client, 'a', 3000), $client->fetch('a', 10), $client->sync, $client->query('COMMIT'));
}

sub reads_two_in_turn
{
	my ($client) = @_;
	my @answers = $client->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my %rows = (a => 700, b => 900);

	$client->open_portal('a', $by_text, 'binary');
	$client->open_portal('b', $by_number);
	while (%rows && @answers < 4 * ROWS)
	{
		foreach my $portal (sort keys %rows)
		{
			push @answers, $client->fetch($portal, $rows{$portal});
			delete $rows{$portal} if $answers[-1] ne 's';
		}
	}
	return (@answers, $client->sync, $client->query('COMMIT'));
}

# The end of the transaction is that of the portal.
sub leaves_a_portal_half_read
{
	my ($client) = @_;
	my @answers;

	$client->open_portal('a', $by_text);
	push @answers, $client->fetch('a', 10), $client->fetch('a', 10), $client->sync, $client->fetch('a', 10), $client->sync;
	foreach my $end ('COMMIT', 'ROLLBACK', q(PREPARE TRANSACTION 't'), 'SELECT 1 / 0')
	{
		push @answers, $client->query('BEGIN');
		$client->open_portal('a', $by_text);
		push @answers, $client->fetch('a', 10), $client->query($end), $client->query('ROLLBACK');
	}
	return (@answers, $client->query(q(ROLLBACK PREPARED 't')));
}

sub closes_one_and_reads_the_other
{
	my ($client) = @_;
	my @answers = $client->query('BEGIN');

	$client->open_portal('a', $by_text);
	$client->open_portal('b', $by_number);
	push @answers, $client->fetch('a', 10), $client->fetch('b', 10);
	$client->close_portal('a');
	push @answers, $client->fetch('b', 1000), $client->fetch('a', 10), $client->sync;
	return (@answers, $client->query('ROLLBACK'));
}

# A portal outlives an error in a savepoint that is younger, even if its first rows were asked for there.
sub goes_on_after_an_error
{
	my ($client) = @_;
	my @answers = $client->query('BEGIN');

	$client->open_portal('a', $by_text);
	$client->open_portal('b', $by_number);
	push @answers, $client->fetch('a', 10), $client->sync, $client->query('SAVEPOINT s');
	$client->open_portal('c', $by_number);
	push @answers, $client->fetch('b', 10), $client->fetch('c', 10);
	$client->open_portal('d', "SELECT 1 / (id - 77) FROM ($by_text) s");
	push @answers, $client->fetch('d', 0), $client->sync, $client->query('ROLLBACK TO s');
	push @answers, $client->fetch('a', 1000), $client->fetch('b', 1000), $client->query('RELEASE s'), read_to_the_end($client, 'b', 3000);
	return (@answers, $client->fetch('c', 10), $client->sync, $client->query('ROLLBACK'));
}

sub sends_ahead
{
	my ($client) = @_;

	$client->open_portal('', 'BEGIN');
	$client->execute('', 0);
	$client->open_portal('a', $by_text);
	$client->open_portal('b', $by_number);
	foreach my $rows (5, 50, 500)
	{
		$client->execute($_, $rows) foreach 'a', 'b';
	}
	my @answers = $client->sync;
	$client->execute($_, 0) foreach 'a', 'b';
	push @answers, $client->sync;
	# What comes after an error is passed over.
	$client->open_portal('c', $by_number);
	$client->execute('c', 10);
	$client->open_portal('', 'SELECT 1 / 0');
	$client->execute('', 0);
	$client->execute('c', 10);
	return (@answers, $client->sync, $client->query('ROLLBACK'));
}

# What returns rows without being a SELECT is done when the first of them is asked for.
sub reads_what_is_no_select
{
	my ($client) = @_;
	my @answers = $client->query("BEGIN; DECLARE c SCROLL CURSOR FOR $by_text");

	$client->open_portal('a', 'FETCH 1000 FROM c');
	$client->open_portal('b', $inserted);
	push @answers, $client->fetch('a', 10), $client->fetch('b', 10), $client->fetch('a', 100), $client->sync;
	push @answers, $client->query('FETCH BACKWARD 10 FROM c'), $client->query('SELECT count(*) FROM copied');
	return (@answers, $client->query('ROLLBACK'));
}

# Poolers reset a session; and what an open portal has must not go with it.
sub discards
{
	my ($client) = @_;
	my @answers = $client->query('BEGIN');

	$client->open_portal('a', $by_text);
	$client->open_portal('b', $by_number);
	push @answers, $client->fetch('a', 10), $client->sync;
	foreach my $statement ('DISCARD PLANS', 'DISCARD TEMP', 'SET work_mem = 64', 'RESET ALL', 'DEALLOCATE ALL', 'ANALYZE r')
	{
		push @answers, $client->query($statement), $client->fetch('a', 500), $client->fetch('b', 10), $client->sync;
	}
	push @answers, $client->query('CLOSE ALL'), $client->fetch('a', 10), $client->sync, $client->query('ROLLBACK');
	push @answers, $client->query("BEGIN; DECLARE held SCROLL CURSOR WITH HOLD FOR $by_text; FETCH 10 FROM held; COMMIT; FETCH 10 FROM held");
	push @answers, $client->query('DISCARD ALL'), $client->query('FETCH 10 FROM held');
	# Without a transaction block, beside a portal that is half read.
	$client->open_portal('a', $by_text);
	$client->execute('a', 10);
	$client->open_portal('', 'DISCARD ALL');
	$client->execute('', 0);
	$client->execute('a', 10);
	return (@answers, $client->sync);
}

sub copies
{
	my ($client) = @_;

	return ($client->query("COPY ($by_text) TO STDOUT"), $client->query("COPY (SELECT 1 / (id - 77) FROM ($by_number) s) TO STDOUT"));
}

# A client that takes rows one by one has the server wait for it, and cancels then.
sub cancels_half_read
{
	my ($client) = @_;
	my @answers;

	foreach my $statement ($by_text, "COPY ($by_text) TO STDOUT")
	{
		$client->begin_query($statement);
		push @answers, $client->answer('', 50);
		$client->cancel;
		push @answers, grep { !/^d/i } $client->answer('Z');
	}
	return (@answers, $client->query('SELECT 1'));
}

# ---- whether they are answered the same ----

my @scenarios = (
	[ 'some rows at a time', \&reads_some_at_a_time ],
	[ 'two portals in turn', \&reads_two_in_turn ],
	[ 'a portal that is left half read', \&leaves_a_portal_half_read ],
	[ 'a portal that is closed', \&closes_one_and_reads_the_other ],
	[ 'an error in a savepoint', \&goes_on_after_an_error ],
	[ 'statements that are sent ahead', \&sends_ahead ],
	[ 'rows of other statements', \&reads_what_is_no_select ],
	[ 'DISCARD', \&discards ],
	[ 'COPY', \&copies ],
	[ 'cancelled, half read', \&cancels_half_read ]);
my %off = ('gpusort.mode' => 'off');
my ($memory, $files) = map { { 'gpusort.mode' => 'force', 'gpusort.work_mem' => $_ } } '64MB', '256kB';
my %forced = (
	'one process' => $memory,
	'one process, through files' => $files,
	'several processes' => { %$memory, 'max_parallel_workers_per_gather' => 2 },
	'several processes, through files' => { %$files, 'max_parallel_workers_per_gather' => 2 });

# The answers in few words: of rows one after the other, how many there are and what they are.
sub summary
{
	my (@answers) = @_;
	my (@summary, @rows);

	foreach my $answer (@answers, '')
	{
		if ($answer =~ /^d/i) { push @rows, $answer }
		else
		{
			push @summary, scalar(@rows) . ' rows ' . md5_hex(join "\n", @rows) if @rows;
			push @summary, $answer;
			@rows = ();
		}
	}
	return join "\n", @summary;
}

my $monitor = GpusortProtocol->new($node);

# Waits until a query says true.
sub wait_until
{
	my ($query) = @_;

	foreach (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if ($monitor->query($query))[0] eq 'D|t';
		usleep(10_000);
	}
	die "timed out: $query";
}

# What there is of a session when its workers are gone: files, mappings, temporary files.
sub held
{
	my ($session) = @_;

	wait_until('SELECT count(*) = 0 FROM pg_stat_activity WHERE leader_pid = ' . $session->pid);
	return join ' ', held_by($node, $session->pid), temporary_files($node);
}

# How many sorts there were: all, those of several processes, those through files.
sub sorts
{
	my ($answer) = $monitor->query("SELECT sorts, parallel_sorts, spills FROM pg_stat_gpusort WHERE device = 'cpu'");

	return $answer =~ /(\d+)/g;
}

# PostgreSQL has planned workers for a portal, and launches none when some of its rows are asked for.  Does
# gpusort do that?  They may come late.
sub comes_together
{
	my ($client, $tries) = @_;

	foreach (1 .. $tries)
	{
		my $before = (sorts())[1];

		$client->query('BEGIN');
		$client->open_portal('a', 'SELECT id, k FROM r WHERE CASE WHEN id % 2000 = 1 THEN md5(repeat(id::text, 300000)) <> \'\' ELSE true END ORDER BY t');
		$client->fetch('a', 1);
		$client->sync;
		$client->query('COMMIT');
		return 1 if (sorts())[1] > $before;
	}
	return 0;
}

my %right;
my $client = GpusortProtocol->new($node, %off);
$right{ $_->[0] } = summary($_->[1]->($client)) foreach @scenarios;
$client->drop;

foreach my $how (sort keys %forced)
{
	my @before = sorts();

	$client = GpusortProtocol->new($node, %{ $forced{$how} });
	# Whatever a session opens for good.
	$client->query($by_text);
	my $held = held($client);
	foreach my $scenario (@scenarios)
	{
		my ($what, $function) = @$scenario;

		is(summary($function->($client)), $right{$what}, "$what, $how");
		is(held($client), $held, 'leaves nothing behind');
	}
	my @now = sorts();
	my ($sorts, $joint, $spills) = map { $now[$_] - $before[$_] } 0 .. 2;
	cmp_ok($sorts, '>=', 20, "$how: gpusort has sorted");
	cmp_ok($joint, $how =~ /several/ ? '>=' : '==', $how =~ /several/ ? 1 : 0, 'by so many processes'); 
	cmp_ok($spills, $how =~ /files/ ? '>=' : '==', $how =~ /files/ ? 20 : 0, 'there');
	is(comes_together($client, $how =~ /several/ ? 20 : 1), $how =~ /several/ ? 1 : 0, "whose workers come though a part of the rows is asked for, $how");
	$client->drop;
}

# ---- psql reads by cursors of its own, or chunks ----

sub read_by_psql
{
	my (%settings) = @_;

	return md5_hex($node->safe_psql('postgres', join '', (map { "SET $_ = '$settings{$_}';\n" } sort keys %settings), "\\set FETCH_COUNT 70\n$by_text;\n$by_number;\n"));
}

my $by_psql = read_by_psql(%off);
is(read_by_psql(%{ $forced{$_} }), $by_psql, "FETCH_COUNT of psql, $_") foreach sort keys %forced;

# ---- clients that are gone ----

# What a session has left, when it has ended.
sub left_by
{
	my ($session) = @_;

	wait_until('SELECT count(*) = 0 FROM pg_stat_activity WHERE ' . $session->pid . ' IN (pid, leader_pid)');
	return join ' ', temporary_files($node);
}

foreach my $how (sort keys %forced)
{
	my @left;

	foreach my $portals (1, 0)
	{
		my $gone = GpusortProtocol->new($node, %{ $forced{$how} });

		if ($portals)
		{
			$gone->open_portal('a', $by_text);
			$gone->open_portal('b', $by_number);
			$gone->fetch($_, 10) foreach 'a', 'b';
		}
		else
		{
			# The server waits until somebody takes the next rows.
			$gone->begin_query($by_text);
			$gone->answer('', 10);
		}
		$gone->drop;
		push @left, left_by($gone);
	}
	my $ended = GpusortProtocol->new($node, %{ $forced{$how} });
	$ended->query('BEGIN');
	$ended->open_portal('a', $by_text);
	$ended->fetch('a', 10);
	$ended->sync;
	$monitor->query('SELECT pg_terminate_backend(' . $ended->pid . ')');
	is(join(' ', $ended->answer('E')), 'E 57P01 terminating connection due to administrator command', "$how: a session that is ended says so once");
	push @left, left_by($ended);
	is(join('', @left), '', "$how: nothing is left of clients that are gone");
}
is(join("\n", grep { /TRAP|terminated by signal|PANIC|WARNING:  (?!there is no transaction)/ } lines_of(slurp_file($node->logfile))), '', 'no process has crashed, no resource was leaked');
$node->stop;

done_testing();
