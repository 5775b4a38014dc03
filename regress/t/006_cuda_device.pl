# The cuda device with a gpusortd that sorts in host memory: all regression tests, device memory that is full,
# and a service that fails at any stage of a query: right rows or one clear error, and nothing left behind.
# Each sort is on one of the two devices; 027_several_cards has those that are on both.  With
# GPUSORT_TEST_CARD=1 the regression tests and random sorts are on the machine's first GPU, and nothing else
# is tested: the rest is in host memory on any machine.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

plan skip_all => 'gpusortd is not installed (make gpusortd)' unless gpusortd_is_installed();

use constant ROWS => 200000;

# Of each session whose service is killed.
use constant SORTS => runs_all() ? 8 : 4;

# Small chunks: many of them are exchanged, and few rows are under way when something happens.
use constant SMALL_CHUNKS => '--host-memory-layer --chunk-size 128k --chunks 4';

# Several processes feed one sort.
use constant PARALLEL => 'SET max_parallel_workers_per_gather = 3; SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0';

my $node = start_node(
	'main', "shared_preload_libraries = 'gpusort'", "gpusort.gpusortd_options = '--host-memory-layer'",
	'gpusort.staging_memory = 512MB', 'gpusort.service_timeout = 0', 'gpusort.backend = cuda', 'gpusort.max_kept_memory = 0',
	'shared_buffers = 32MB', 'max_connections = 30');
create_rows($node, ROWS);
create_gate($node, 150000);
$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION gpusort;
ALTER DATABASE postgres SET gpusort.mode = force;
CREATE SEQUENCE calls;
CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(id::text, '','')) FROM (%s OFFSET 0) s', query) INTO result;
	RETURN result;
END $$;
EOT

my %queries = (
	'fixed keys' => 'SELECT id FROM r ORDER BY k, id',
	'variable keys' => 'SELECT id, t FROM r ORDER BY t DESC, id',
	'wide rows' => q(SELECT id, repeat(t, id % 20) FROM r ORDER BY k % 1000, id));
my %right = map { $_ => $node->safe_psql('postgres', "SET gpusort.mode = off; SELECT digest('" . ($queries{$_} =~ s/'/''/gr) . "')") } keys %queries;

# ---- helpers ----

# The digests of all queries, right or not, and where they were sorted.
sub check_queries
{
	my ($what, $pattern, $set) = @_;
	$set = '' unless defined $set;

	foreach my $name (sort keys %queries)
	{
		my $query = $queries{$name} =~ s/'/''/gr;
		is($node->safe_psql('postgres', "$set; SELECT digest('$query')"), $right{$name}, "$what: $name");
		like($node->safe_psql('postgres', "$set; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $queries{$name}"), $pattern, "$what: $name, plan");
	}
	return;
}

# What the session printed, and its errors; ends it.
sub outcome
{
	my ($session) = @_;
	my $output = $session->query('SELECT 1');
	my $errors = $session->{stderr};

	$session->{stderr} = '';
	$session->quit;
	return ($output, $errors);
}

# What a backend has of the service: sockets, its own one to the client among them, files of shared memory,
# mapped chunks.
sub holdings
{
	my ($pid) = @_;
	my $files = grep { defined && /^(socket:|\/memfd:)/ } map { readlink } glob "/proc/$pid/fd/*";
	my $chunks = grep { /gpusortd chunks/ } split /\n/, slurp_file("/proc/$pid/maps");

	return "$files files, $chunks chunk mappings";
}

# ---- it sorts ----

my $before;

wait_for_gpusortd($node);
check_queries('in device memory', qr/Device: cuda(?!.*Disk)/);
check_queries('fed by several processes', qr/Device: cuda(?!.*Disk).*Processes: [2-4]/, PARALLEL);

my $output_folder = PostgreSQL::Test::Utils::tempdir();
symlink Cwd::getcwd() . '/expected', "$output_folder/expected" or die "symlink: $!";

sub regression_tests
{
	my ($what, @tests) = @_;
	my @command = ($ENV{PG_REGRESS}, '--inputdir=regress', "--outputdir=$output_folder", '--dbname=gpusort_cuda',
		'--bindir=', '--host=' . $node->host, '--port=' . $node->port, '--encoding=UTF8', @tests);

	my $before = $node->safe_psql('postgres', "SELECT sorts FROM pg_stat_gpusort WHERE device = 'cuda'");
	my ($out, $err) = ('', '');
	local $ENV{PGOPTIONS} = ($ENV{PGOPTIONS} // '') . (runs_all() ? ' -c tests.whole=on' : '');
	my $passed = IPC::Run::run \@command, '>', \$out, '2>', \$err;
	ok($passed, "regression tests $what") or diag("$out$err" . (-e "$output_folder/regression.diffs" ? slurp_file("$output_folder/regression.diffs") : ''));
	cmp_ok($node->safe_psql('postgres', "SELECT sorts FROM pg_stat_gpusort WHERE device = 'cuda'") - $before, '>', 100, 'which sort on the device');
	return;
}
# Those that notice something there (docs/testing.md).  In the whole run, and on a card, all but three that
# reset the counters of sorts, one that begins without the library, and two of the cpu device alone.
my @tests = qw(setup seams queries cursors rescan pages elsewhere parallel);
my %others = map { $_ => 1 } qw(stats sorts_in_workers index_statements plans spill costs);
@tests = grep { !$others{$_} } map { /^test:\s*(.*)/ ? split(' ', $1) : () } split /\n/, slurp_file('regress/schedule')
  if runs_all() || $ENV{GPUSORT_TEST_CARD};
# With one device: of two, gpusort_check has something to say.
my %on_card = $ENV{GPUSORT_TEST_CARD} ? ('gpusortd_options' => '') : ();
serve($node, 'devices' => '0', %on_card);
regression_tests('in device memory', @tests);

sub random_sorts
{
	my ($what) = @_;
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port);
	my ($out, $err) = ('', '');
	my $passed = IPC::Run::run [ $^X, 'regress/random_sorts', '--seconds', runs_all() ? 5 : 3, '--backend', 'cuda' ], '>', \$out, '2>', \$err;
	ok($passed, "random sorts $what") or diag("$out$err");
	return;
}
random_sorts('in device memory');

sub finish
{
	is(join(' ', temporary_files($node)), '', 'no temporary files are left');
	unlike(slurp_file($node->logfile), qr/was terminated by signal (?!9)|PANIC|TRAP/, 'the server never crashed');
	$node->stop;
	done_testing();
	exit;
}
finish() if $ENV{GPUSORT_TEST_CARD};

serve($node, 'devices' => '', 'gpusortd_options' => '--host-memory-layer');

# ---- a backend holds little, and nothing in the end ----

my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query('SELECT pg_backend_pid()');
$session->query_safe("SET gpusort.work_mem = '64MB'");
create_rows($node, 1000000, 'million');
is($session->query(q(SELECT count(*) FROM (SELECT id, k, t, t AS u FROM million ORDER BY t, id OFFSET 0) s)), '1000000', '150 MB of rows');
my ($peak_kb) = slurp_file("/proc/$pid/status") =~ /VmHWM:\s+(\d+) kB/;
cmp_ok($peak_kb, '<', 200 * 1024, "took $peak_kb kB of the backend, shared buffers and chunks included");
my $held = holdings($pid);
is($session->query(q(DO $$ BEGIN FOR i IN 1 .. 1000 LOOP PERFORM id FROM (SELECT * FROM r LIMIT 4) s ORDER BY k; END LOOP; END $$; SELECT 'done')), 'done', 'a thousand sorts');
is(holdings($pid), $held, 'leave the backend as it was');
like($held, qr/, 0 chunk mappings/, 'without chunks');
is($session->query(q(DO $$ BEGIN FOR i IN 1 .. 100 LOOP BEGIN PERFORM 1 / (10000 - id) FROM r ORDER BY k; EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$; SELECT 'done')), 'done', 'a hundred sorts that end with an error');
is(holdings($pid), $held, 'leave the backend as it was');
is($session->query("SELECT count(*) FROM pg_backend_memory_contexts WHERE name ILIKE 'gpusort%device'"), '0', 'and no memory');

# Cursors keep their sort, and read it in all directions.
$session->query_safe('BEGIN; DECLARE c SCROLL CURSOR FOR SELECT id FROM r ORDER BY k');
my @forward = lines_of($session->query('FETCH ALL FROM c'));
my @backward = lines_of($session->query('FETCH BACKWARD ALL FROM c'));
is(scalar(@forward), ROWS, 'a cursor');
is("@backward", join(' ', reverse @forward), 'backwards');
is($session->query('FETCH ABSOLUTE 77777 FROM c'), $forward[77776], 'a row in the middle');
is($session->query('FETCH PRIOR FROM c'), $forward[77775], 'and the one before');
is($session->query('FETCH RELATIVE -50000 FROM c'), $forward[27775], 'and one far before');
isnt(holdings($pid), $held, 'an open cursor holds its connection');
$session->query_safe('COMMIT');
is(holdings($pid), $held, 'and a closed one none');

# ---- device memory that is full ----

# Without statistics nobody knows where to cut the rows into parts that take turns (029), and there are runs.
serve($node, 'gpusortd_options' => '--host-memory-layer --chunk-size 256k', 'max_device_memory' => '8MB');
$node->safe_psql('postgres', "DELETE FROM pg_statistic WHERE starelid = 'r'::regclass");
check_queries('with 8 MB of device memory', qr/Method: external merge  Device: cuda .*Disk: \d+kB  Runs: ([2-9]|\d\d)/);
check_queries('with 1 MB for merging', qr/Device: cuda .*Disk/, "SET gpusort.work_mem = '1MB'");
# What finds no room passes the Gather, which the costs know of.
check_queries('with 8 MB, fed by several processes', qr/Device: cuda .*Disk.*Processes: [2-4]/, PARALLEL . '; SET parallel_tuple_cost = 0');
regression_tests('with 8 MB of device memory', qw(setup types_text rescan cursors), runs_all() ? qw(queries sort_nodes) : ());
random_sorts('with 8 MB of device memory');
is(join(' ', temporary_files($node)), '', 'no temporary files are left');

# Rows and keys that are longer than a chunk.
my $long = q(SELECT id, CASE WHEN id % 20 = 0 THEN repeat(t, 10000 + id::int) END FROM r WHERE id <= 400);
foreach my $order ('k', 't', "CASE WHEN id % 20 = 0 THEN repeat(t, 10000) ELSE t END, id")
{
	my $query = "$long ORDER BY $order" =~ s/'/''/gr;
	is($node->safe_psql('postgres', "SELECT digest('$query')"), $node->safe_psql('postgres', "SET gpusort.mode = off; SELECT digest('$query')"),
		"rows longer than a chunk by $order");
}
like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF) $long ORDER BY k"), qr/Device: cuda .*Runs: [1-9]\d*/, 'go to runs');

my ($status, $out, $err) = $node->psql('postgres', "SET temp_file_limit = '2MB'; $queries{'fixed keys'}; SELECT count(*) FROM pg_ls_tmpdir()", on_error_stop => 0);
like($err, qr/ERROR:  temporary file size exceeds "?temp_file_limit"?/, 'temp_file_limit is obeyed');
is($out, '0', 'and leaves no file');

# ---- device memory that others have ----

# There are two devices; each has room for one sort, whose result can't leave it (012_fairness has those that
# can).
$node->safe_psql('postgres', 'ANALYZE r');
serve($node, 'gpusortd_options' => '--host-memory-layer', 'max_device_memory' => '38MB', 'idle_memory' => 0);
my @holders = map { $node->background_psql('postgres') } 1 .. 2;
$_->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT * FROM r ORDER BY k; MOVE 10 IN c') foreach @holders;
$node->poll_query_until('postgres', q(SELECT sum(jobs) = 2 FROM gpusort_devices())) or die 'the cursors have no jobs';
$before = fallbacks($node);
is($node->safe_psql('postgres', "SELECT digest('$queries{'variable keys'}')"), $right{'variable keys'}, 'a sort that finds no device memory');
is(fallbacks($node), $before + 1, 'falls back');
unlike(slurp_file($node->logfile), qr/is done by device "cpu" instead/, 'and nobody has asked for a message');
$node->safe_psql('postgres', "SET gpusort.log_fallbacks = on; $queries{'variable keys'}");
like(slurp_file($node->logfile), qr/LOG:  the sort on device "cuda" falls back to device "cpu"\n.*DETAIL:  Reason: (?:other|idle) sorts (?:have|use) the device's memory\.\n.*HINT:  gpusort\.max_sort_device_memory .*\n.*STATEMENT:  /, 'whoever has asked finds reason and statement in the log');
$before++;
# Nothing of its input was read, so that need not be read again.
is($node->safe_psql('postgres', "SELECT digest('$queries{'variable keys'}, random()')"), $right{'variable keys'}, 'the same of an input with volatile functions');
is(fallbacks($node), $before + 2, 'falls back, too');
$_->quit foreach @holders;
$node->poll_query_until('postgres', q(SELECT sum(jobs) = 0 FROM gpusort_devices())) or die 'the cursors are not gone';
is($node->safe_psql('postgres', "SELECT digest('$queries{'variable keys'}')"), $right{'variable keys'}, 'and one that does');
is(fallbacks($node), $before + 2, 'is done there');
serve($node, 'idle_memory' => '1GB');

# ---- a service that fails ----

serve($node, 'gpusortd_options' => SMALL_CHUNKS, 'max_device_memory' => '80%');
check_queries('with small chunks', qr/Device: cuda(?!.*Disk)/);
check_queries('with small chunks, fed by several processes', qr/Device: cuda(?!.*Disk).*Processes: [2-4]/, PARALLEL);

my $gated = 'SELECT id FROM r WHERE gate(id) ORDER BY k, id';
$before = fallbacks($node);
my ($output, $errors) = outcome(while_feeding($node, "SELECT digest('$gated')", sub { kill_gpusortd($node) }));
like($output, qr/^\Q$right{'fixed keys'}\E$/m, 'killed while the input is read: right rows');
is($errors, '', 'and no error');
is(fallbacks($node), $before + 1, 'which counts as a fallback');

$before = fallbacks($node);
wait_for_gpusortd($node);
($output, $errors) = outcome(while_feeding($node,
	'SELECT count(*), sum(n - id) FROM (SELECT id, row_number() OVER (ORDER BY id + k - k) AS n FROM r WHERE gate(id)) s', sub { kill_gpusortd($node) }));
like($output, qr/^@{[ROWS]}\|0$/m, 'the same of a window function: right rows');
is($errors, '', 'and no error');
is(fallbacks($node), $before + 1, 'which counts as a fallback');

# What is volatile above the sort is evaluated for rows that are returned, and none was.
$before = fallbacks($node);
wait_for_gpusortd($node);
($output, $errors) = outcome(while_feeding($node,
	q(SELECT count(*), max(n), min(n) FROM (SELECT nextval('calls') AS n FROM r WHERE gate(id) ORDER BY k, id LIMIT ceil(random()) * 1000) s), sub { kill_gpusortd($node) }));
like($output, qr/^1000\|1000\|1$/m, 'the same with volatile functions above the sort: right rows');
is($errors, '', 'and no error');
is(fallbacks($node), $before + 1, 'which counts as a fallback');

foreach my $volatile (
	'SELECT id FROM r WHERE gate(id) AND random() >= 0 ORDER BY k, id', 'SELECT id, (SELECT random() + id) FROM r WHERE gate(id) ORDER BY k, id',
	'SELECT id FROM r WHERE gate(id) ORDER BY k, random()', 'SELECT count(*) FROM r WHERE gate(id) GROUP BY k, floor(random()) ORDER BY 1',
	'SELECT row_number() OVER (ORDER BY k, random()) FROM r WHERE gate(id)', 'SELECT row_number() OVER (ORDER BY (SELECT random() + id)) FROM r WHERE gate(id)',
	'SELECT row_number() OVER (ORDER BY k) FROM r WHERE gate(id) AND random() >= 0',
	# Bits have no hash: PostgreSQL plans a sort below the EXCEPT, which is taken from the finished plan.
	'SELECT id::bit(64) FROM r WHERE gate(id) AND random() >= 0 EXCEPT SELECT 1::bit(64)')
{
	wait_for_gpusortd($node);
	($output, $errors) = outcome(while_feeding($node, $volatile, sub { kill_gpusortd($node) }));
	is($output, '1', "the same of $volatile: no rows");
	like($errors, qr/ERROR:  the sort on device "cuda" could not be completed\nDETAIL:  Reason: .+\.\nHINT:  The query has volatile functions/, 'but one error');
	unlike($errors, qr/ERROR.*ERROR/s, 'and no more than one');
}

# A service that isn't there is no failure of a query with volatile functions.
$node->safe_psql('postgres', "ALTER SYSTEM SET gpusort.devices = 'none'; SELECT pg_reload_conf()");
ok($node->poll_query_until('postgres', q(SELECT count(*) = 0 FROM gpusort_devices() WHERE device LIKE 'cuda%' AND state = 'ready')), 'no service');
is($node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT id, random() FROM r ORDER BY k OFFSET 0) s'), ROWS, 'volatile functions without a service');
check_queries('without a service', qr/Device: cpu/);
serve($node, 'devices' => '');

$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT id FROM r ORDER BY k, id');
like($session->query('FETCH 10 FROM c'), qr/^\d+(\n\d+){9}$/, 'the first rows');
kill_gpusortd($node);
is($session->query('FETCH ALL FROM c') =~ /ERROR/, '', 'killed after the first rows');
like($session->{stderr}, qr/ERROR:  the sort on device "cuda" could not be completed\nDETAIL:  Reason: .+\.\nHINT:  Some rows were already returned/, 'one clear error');
$session->{stderr} = '';
$session->query_safe('ROLLBACK');
is($session->query("SELECT digest('$queries{'fixed keys'}')"), $right{'fixed keys'}, 'and the session works on');
$pid = $session->query('SELECT pg_backend_pid()');
like(holdings($pid), qr/, 0 chunk mappings/, 'without what the sort held');
$session->quit;

# A service that is frozen: who waits for it can be cancelled.
my $frozen;
END { kill 'CONT', $frozen if defined $frozen }

sub freeze
{
	$frozen = freeze_gpusortd($node);
	return;
}

sub thaw
{
	kill 'CONT', $frozen;
	undef $frozen;
	return;
}

sub cancel_once_it_waits
{
	my ($query) = @_;
	my $who = "FROM pg_stat_activity WHERE query LIKE '$query%' AND state = 'active' AND wait_event_type = 'Extension'";

	ok($node->poll_query_until('postgres', "SELECT EXISTS (SELECT $who)"), 'a frozen service: the session waits');
	is($node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $who"), 't', 'and is cancelled');
	return;
}

wait_for_gpusortd($node);
$session = while_feeding($node, "SELECT digest('$gated')", \&freeze);
cancel_once_it_waits('SELECT digest');
($output, $errors) = outcome($session);
is($output, '1', 'while the input was read');
like($errors, qr/ERROR:  canceling statement due to user request/, 'by an error');

# Who comes anew waits for a moment, once.
$before = fallbacks($node);
is($node->safe_psql('postgres', "SELECT digest('$queries{'fixed keys'}'); SELECT digest('$queries{'fixed keys'}')"),
	"$right{'fixed keys'}\n$right{'fixed keys'}", 'new sorts are done without a frozen service');
is(fallbacks($node), $before + 2, 'which counts');
thaw();

$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT id FROM r ORDER BY k, id');
like($session->query('FETCH 10 FROM c'), qr/^\d+(\n\d+){9}$/, 'the first rows');
freeze();
$session->query_until(qr/started/, "\\echo started\nFETCH ALL FROM c;\n");
cancel_once_it_waits('FETCH ALL');
($output, $errors) = outcome($session);
like($errors, qr/ERROR:  canceling statement due to user request/, 'while rows came back');
thaw();
check_queries('after all that', qr/Device: cuda/);

# A device that is lost, a service that crashes, memory that can't be had, at one call after another.
foreach my $fault ('lost', 'crash', 'alloc')
{
	foreach my $call (12, 25, 301, runs_all() ? (61, 150, 500) : ())
	{
		serve($node, 'gpusortd_options' => SMALL_CHUNKS . " --fault $fault:$call");
		foreach my $name (sort keys %queries)
		{
			my $query = $queries{$name} =~ s/'/''/gr;
			my $set = $call % 2 ? PARALLEL : '';
			my ($status, $out, $err) = $node->psql('postgres', "$set; SELECT digest('$query')");
			my $clear = $err =~ /^psql:<stdin>:1: ERROR:  the sort on device "cuda" could not be completed\nDETAIL:  Reason: .+\.\nHINT:  Some rows were already returned/;
			ok(($status == 0 && $out eq $right{$name}) || ($status != 0 && $clear), "$fault at call $call: $name") or diag("$out\n$err");
		}
	}
}

# Sessions that sort at the same time while the service is killed again and again.
serve($node, 'gpusortd_options' => SMALL_CHUNKS);
my @sessions;
foreach my $number (1 .. 6)
{
	my %of = (output => '', errors => '');
	my $name = (sort keys %queries)[ $number % 3 ];
	my $query = $queries{$name} =~ s/'/''/gr;
	my @command = ('psql', '-X', '-A', '-t', '-q', '-d', $node->connstr('postgres'), '-c', $number > 3 ? PARALLEL : 'RESET ALL', map { ('-c', "SELECT digest('$query')") } 1 .. SORTS);

	@of{ 'right', 'run' } = ($right{$name}, IPC::Run::start(\@command, '>', \$of{output}, '2>', \$of{errors}));
	push @sessions, \%of;
}
foreach (1 .. 4)
{
	wait_for_gpusortd($node);
	usleep(200_000);
	kill_gpusortd($node);
}
my ($right_results, $wrong_results, $clear_errors, $other_errors) = (0, 0, 0, 0);
foreach my $of (@sessions)
{
	$of->{run}->finish;
	foreach my $line (lines_of($of->{output}))
	{
		if ($line eq $of->{right}) { $right_results++ }
		else { $wrong_results++ }
	}
	foreach my $line (grep { /ERROR|FATAL|PANIC/ } lines_of($of->{errors}))
	{
		if ($line =~ /ERROR:  the sort on device "cuda" could not be completed/) { $clear_errors++ }
		else { $other_errors++ }
	}
}
is($wrong_results + $other_errors, 0, 'no wrong result and no other error in sessions whose service is killed');
is($right_results + $clear_errors, 6 * SORTS, "$right_results right results and $clear_errors clear errors");
wait_for_gpusortd($node);
check_queries('after all that', qr/Device: cuda/);
finish();
