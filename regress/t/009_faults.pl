# gpusortd fails while eight sessions sort: killed, frozen, without its socket, its device lost, at every
# stage of a query.  Each gets right rows or one clear error, that only where rows were returned already or
# can't be read again; PostgreSQL goes on; nothing is left behind; and every session sorts on the device again
# as soon as gpusortd is back.
#
# With GPUSORT_TEST_CARD=1 gpusortd sorts on the machine's GPU, and the faults are those that come from
# outside of it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use GpusortSessions;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

plan skip_all => 'gpusortd is not installed (make gpusortd)' unless gpusortd_is_installed();

my $on_card = $ENV{GPUSORT_TEST_CARD};
my $rows = $on_card ? 200000 : 20000;

# Small chunks: most of a result is still on the device when the first of its rows are returned.
my $layer = $on_card ? '' : '--host-memory-layer ';
my $small_chunks = $layer . '--chunk-size 128k --chunks 4';

my $node = start_node(
	'main', "shared_preload_libraries = 'gpusort'", "gpusort.gpusortd_options = '$small_chunks'", "gpusort.devices = '0'",
	'gpusort.staging_memory = 64MB', 'gpusort.service_timeout = 0', 'gpusort.backend = cuda', 'gpusort.mode = force', 'gpusort.max_kept_memory = 0',
	"gpusort.work_mem = '1MB'", 'max_connections = 40', 'max_worker_processes = 24', 'max_parallel_workers = 16',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
create_rows($node, $rows);
$node->safe_psql('postgres', 'ALTER TABLE r SET (parallel_workers = 2)');

my $fixed = 'SELECT id, (k % 5000)::text AS key, t AS rest FROM r WHERE GATE ORDER BY k % 5000';
my $variable = 'SELECT id, left(t, 33) AS key, t AS rest FROM r WHERE GATE ORDER BY left(t, 33)';
my $wide = 'SELECT id, k::text AS key, repeat(t, (id % 20)::int) AS rest FROM r WHERE GATE ORDER BY k';
my $several = q(SELECT id, coalesce((nullif(id % 10, 3))::text, '') || t AS key, t AS rest FROM r WHERE GATE ORDER BY nullif(id % 10, 3) DESC NULLS LAST, t);
my $sessions = GpusortSessions->new(
	$node,
	{ name => 'fixed keys', query => $fixed },
	{ name => 'fixed keys, parallel', query => $fixed, parallel => 1 },
	{ name => 'variable keys', query => $variable },
	{ name => 'variable keys, parallel', query => $variable, parallel => 1 },
	{ name => 'wide rows by a cursor', query => $wide, by_cursor => 1 },
	{ name => 'wide rows, parallel', query => $wide, parallel => 1 },
	{ name => 'several columns by a cursor', query => $several, by_cursor => 1 },
	{ name => 'volatile', volatile => 1, query => q(SELECT id, k::text AS key, t AS rest FROM r WHERE GATE AND random() >= 0 ORDER BY k) });
my $number = scalar($sessions->sessions);
my $pids = join ', ', map { $_->{pid} } $sessions->sessions;
$sessions->note_right_results;

my ($postmaster) = lines_of(slurp_file($node->data_dir . '/postmaster.pid'));
my $socket = $node->data_dir . '/pg_stat_tmp/gpusort.sock';
my $log_end = 0;
my $frozen;
END { kill 'CONT', $frozen if defined $frozen }

# ---- the service ----

my $is_ready = q(SELECT bool_and(state = 'ready') AND count(*) = 2 FROM gpusort_devices());

# Waits until there is another gpusortd than that one, without sitting out the delay before its start.
sub wait_for_another
{
	my ($pid) = @_;
	my $looks = 0;

	$sessions->wait_for('gpusortd is back', sub {
		my @now = gpusortd_pids($node);

		$sessions->ask('SELECT pg_reload_conf()') if @now == 0 && $looks++ % 10 == 0;
		return @now == 1 && $now[0] != $pid && $sessions->ask($is_ready) eq 't';
	});
	return;
}

# Sets something; undef: as in postgresql.conf.
sub set
{
	my ($name, $value) = @_;

	$sessions->ask(defined $value ? "ALTER SYSTEM SET gpusort.$name = '$value'" : "ALTER SYSTEM RESET gpusort.$name");
	$sessions->ask('SELECT pg_reload_conf()');
	return;
}

# Sets something that gpusortd is started with.
sub serve_with
{
	my ($name, $value) = @_;
	my ($before) = gpusortd_pids($node);

	set($name, $value);
	wait_for_another($before // 0);
	return;
}

sub kill_service
{
	my ($pid) = gpusortd_pids($node);

	kill 'KILL', $pid;
	return $pid;
}

sub freeze_service
{
	$frozen = freeze_gpusortd($node);
	return $frozen;
}

sub thaw_service
{
	kill 'CONT', $frozen;
	undef $frozen;
	return;
}

# ---- checks ----

# After a fault: nothing is left of it but its error, and the next sort of each session is on the device.
sub check_aftermath
{
	my ($what) = @_;
	my $log = substr(slurp_file($node->logfile), $log_end);
	my @elsewhere;

	$log_end = -s $node->logfile;
	is((lines_of(slurp_file($node->data_dir . '/postmaster.pid')))[0], $postmaster, "$what: the same server");
	unlike($log, qr/was terminated by signal|PANIC|TRAP:|crash of another server process/, "$what: which did not restart");
	$sessions->wait_for('workers end', q(SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'));
	foreach my $session ($sessions->sessions)
	{
		my $plan = $session->{psql}->query('EXPLAIN (ANALYZE, COSTS OFF) SELECT id FROM r WHERE id <= 100 ORDER BY k');

		push @elsewhere, "$session->{name}: $plan" if $plan !~ /Device: cuda/ || $plan =~ /Fallback/;
	}
	is("@elsewhere", '', "$what: the next sorts are on the device");
	is($sessions->leaks, '', "$what: nothing is left behind");
	$sessions->wait_for('the device is idle', q(SELECT sum(jobs) = 0 FROM gpusort_devices()));
	return;
}

# The counts of a batch, as text.
sub outcome
{
	my %counts = %{ $sessions->finish };

	return join ' ', map { "$counts{$_} $_" } grep { $counts{$_} } qw(right returned volatile cancelled other);
}

# ---- stages ----

my $holder;

# Has a session hold all chunk memory there is, until release_memory.
sub hold_memory
{
	serve_with('gpusortd_options', "$small_chunks --staging-memory 512k");
	$holder = $node->background_psql('postgres');
	$holder->query_safe("BEGIN; DECLARE c CURSOR FOR $wide; FETCH 1 FROM c" =~ s/WHERE GATE//r);
	return;
}

sub release_memory
{
	$holder->quit;
	return;
}

# All begin, and are in the queue together.  Each waits there as long as the CPU would take, a quarter of a
# second at least; if one has left before the last one came all begin again.
sub start_into_queue
{
	my $looks = 0;

	$sessions->start;
	$sessions->wait_for('all are in the queue', sub {
		return 1 if $sessions->ask(q{SELECT count(*) FROM pg_stat_progress_gpusort WHERE phase = 'waiting for device'}) == $number;
		if (++$looks % 50 == 0)
		{
			is(outcome(), "$number right", 'who has left the queue sorts elsewhere');
			$sessions->start;
		}
		return 0;
	});
	return;
}

# Where sessions wait for a fault, and what is to become of those that lose gpusortd there.
my %stages = (
	'connecting' => {
		reach => sub {
			freeze_service();
			$sessions->start;
		},
		outcome => "$number right",
	},
	'queue' => {
		reach => sub {
			hold_memory();
			start_into_queue();
		},
		leave => \&release_memory,
		outcome => "$number right",
	},
	'feeding' => {
		reach => sub {
			$sessions->close_gate(INPUT_GATE);
			$sessions->start(input_row => int($rows / 2));
			$sessions->wait_for('all feed', $sessions->at_gate(INPUT_GATE, $number));
		},
		outcome => ($number - 1) . ' right 1 volatile',
	},
	# Those that feed alone wait for the sort, the others for their last chunks or for each other.
	'sorting' => {
		reach => sub {
			$sessions->close_gate(INPUT_GATE);
			$sessions->start(input_row => $rows - 50);
			$sessions->wait_for('all feed', $sessions->at_gate(INPUT_GATE, $number));
			freeze_service();
			$sessions->open_gates;
			$sessions->wait_for('all wait for gpusortd', 
				"SELECT bool_and(coalesce(wait_event_type IN ('Extension', 'IPC'), false)) FROM pg_stat_activity WHERE pid IN ($pids) OR leader_pid IN ($pids)");
		},
		outcome => ($number - 1) . ' right 1 volatile',
	},
	'returning rows' => {
		reach => sub {
			$sessions->close_gate(RESULT_GATE);
			$sessions->start(result_row => int($rows / 10));
			$sessions->wait_for('all return rows', $sessions->at_gate(RESULT_GATE, $number));
		},
		outcome => "$number returned",
	},
	'ending' => {
		reach => sub {
			$sessions->close_gate(RESULT_GATE);
			$sessions->start(result_row => $rows);
			$sessions->wait_for('all are at their last row', $sessions->at_gate(RESULT_GATE, $number));
		},
		outcome => "$number right",
	});
my @stages = ('queue', 'feeding', 'sorting', 'returning rows', 'ending');

# Does something at a stage, while all sessions are there, and lets them go on.
sub at_stage
{
	my ($stage, $action) = @_;

	$stages{$stage}{reach}->();
	$action->();
	$sessions->open_gates;
	$stages{$stage}{leave}->() if $stages{$stage}{leave};
	return;
}

# Waits for all sessions: right rows, or one of the two errors.
sub check_any_outcome
{
	my ($what, $expected) = @_;
	my %counts = %{ $sessions->finish };

	is($counts{right} + $counts{returned} + $counts{volatile}, $expected, "$what: $counts{right} right, $counts{returned} errors after rows were returned");
	is($counts{cancelled} + $counts{other}, 0, "$what: nothing else");
	return;
}

# After a stage that needs a service of its own: the usual one.
sub set_up_again
{
	my ($stage) = @_;

	serve_with('gpusortd_options', undef) if $stage eq 'queue';
	return;
}

# ---- nothing fails ----

wait_for_another(0);
$sessions->start;
is(outcome(), "$number right", 'all sort');
$sessions->note_holdings;
check_aftermath('no fault');

# ---- killed ----

foreach my $stage (@stages)
{
	my $pid;

	at_stage($stage, sub { $pid = kill_service(); undef $frozen });
	is(outcome(), $stages{$stage}{outcome}, "killed, $stage: right rows or one clear error");
	wait_for_another($pid);
	check_aftermath("killed, $stage");
	set_up_again($stage);
}

# ---- frozen, until the launcher kills it ----

foreach my $stage ('connecting', @stages)
{
	my ($pid) = gpusortd_pids($node);

	at_stage($stage, sub { freeze_service() unless $frozen; set('service_timeout', '2s') });
	is(outcome(), $stages{$stage}{outcome}, "frozen, $stage: right rows or one clear error");
	wait_for_another($pid);
	undef $frozen;
	check_aftermath("frozen, $stage");
	set('service_timeout', undef);
	set_up_again($stage);
}

# ---- frozen, and nobody kills it: who waits can be cancelled ----

foreach my $stage (grep { $_ ne 'ending' } @stages)
{
	at_stage($stage, sub { freeze_service() unless $frozen });
	my $pid = $frozen;
	$sessions->wait_for('all are cancelled',
		"SELECT count(pg_cancel_backend(pid)) = 0 FROM pg_stat_activity WHERE state = 'active' AND pid IN ($pids)");
	is(outcome(), "$number cancelled", "cancelled, $stage: at once");
	thaw_service();
	check_aftermath("cancelled, $stage");
	is((gpusortd_pids($node))[0], $pid, "cancelled, $stage: gpusortd has gone on");
	set_up_again($stage);
}

foreach my $session ($sessions->sessions)
{
	$session->{psql}->query_safe("BEGIN; DECLARE c CURSOR FOR $session->{query}; FETCH 10 FROM c" =~ s/GATE/true/r);
}
freeze_service();
$sessions->start_statement($_, "SET statement_timeout = '100ms'; FETCH ALL FROM c; ROLLBACK; RESET statement_timeout") foreach $sessions->sessions;
my $timed_out = grep { ($sessions->finish_statement($_))[1] =~ /canceling statement due to statement timeout/ } $sessions->sessions;
is($timed_out, $number, 'statement_timeout: all sessions obey it');
thaw_service();
check_aftermath('statement_timeout');

# ---- memory that others have, and keep ----

hold_memory();
my $twice = 'SELECT count(*) FROM (SELECT * FROM (SELECT * FROM r ORDER BY k OFFSET 0) a UNION ALL SELECT * FROM (SELECT * FROM r ORDER BY k OFFSET 0) b ORDER BY k) c';
is($holder->query_safe("SET gpusort.queue_timeout = -1; $twice"), 2 * $rows, 'a session does not wait for what it has itself');
$_->{psql}->query_safe("SET gpusort.queue_timeout = '100ms'") foreach $sessions->sessions;
$sessions->start;
is(outcome(), "$number right", 'queue_timeout: all sort elsewhere');
release_memory();
is($sessions->ask("SET gpusort.queue_timeout = -1; $twice"), 2 * $rows, 'nor does a query with two sorts wait for itself');
$_->{psql}->query_safe('RESET gpusort.queue_timeout') foreach $sessions->sessions;
check_aftermath('queue_timeout');
set_up_again('queue');

# ---- the socket is removed ----

foreach my $stage ('queue', 'feeding', 'returning rows')
{
	my ($pid) = gpusortd_pids($node);

	at_stage($stage, sub { unlink $socket or die "unlink: $!" });
	is(outcome(), "$number right", "no socket, $stage: connections go on");
	$sessions->start;
	is(outcome(), "$number right", "no socket, $stage: new sorts do without");
	set('service_timeout', '2s');
	wait_for_another($pid);
	set('service_timeout', undef);
	check_aftermath("no socket, $stage");
	set_up_again($stage);
}

# ---- device memory that is full: temporary files, and a queue ----

serve_with('max_device_memory', $on_card ? '96MB' : '8MB');
$sessions->start;
is(outcome(), "$number right", 'little memory: all sort');
check_aftermath('little memory');
foreach my $fault ('killed', 'frozen')
{
	my ($pid) = gpusortd_pids($node);

	$sessions->start(times => 3);
	$sessions->wait_for('temporary files', 'SELECT count(*) > 0 FROM pg_ls_tmpdir()');
	if ($fault eq 'killed') { kill_service() }
	else { freeze_service(); set('service_timeout', '2s') }
	check_any_outcome("little memory, $fault", 3 * $number);
	wait_for_another($pid);
	undef $frozen;
	check_aftermath("little memory, $fault");
	set('service_timeout', undef);
}
serve_with('max_device_memory', undef);

# ---- the device fails, at one call after another ----

foreach my $fault ($on_card ? () : ('lost', 'crash', 'alloc'))
{
	# from the first sort on; before that gpusortd makes chunk memory
	foreach my $call (12, 30, 90, 160, 250)
	{
		serve_with('gpusortd_options', "$small_chunks --fault $fault:$call");
		my ($pid) = gpusortd_pids($node);
		$sessions->start;
		check_any_outcome("$fault at call $call", $number);
		if ($fault ne 'alloc')
		{
			my $end = $fault eq 'lost' ? 'ended with status 3' : 'was ended by signal 6';

			$sessions->wait_for('gpusortd ends', sub { return substr(slurp_file($node->logfile), $log_end) =~ /gpusortd: $end/ });
		}
		serve_with('gpusortd_options', undef);
		check_aftermath("$fault at call $call");
	}
}

# ---- killed again and again ----

$sessions->start(times => 10);
foreach (1 .. 12)
{
	usleep(int rand 300_000);
	my $pid = kill_service();
	wait_for_another($pid);
}
check_any_outcome('killed again and again', 10 * $number);
check_aftermath('killed again and again');

$sessions->quit;
$node->stop;
done_testing();
