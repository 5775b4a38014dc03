# The launcher keeps gpusortd alive: it starts it, starts it again, kills one that hangs, gives up where that
# is no use, and leaves nothing behind.  gpusort_devices() tells what is going on in each of these states.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use POSIX ();
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

plan skip_all => 'gpusortd is not installed (make gpusortd)' unless gpusortd_is_installed();

my $reason_of_cuda = q(SELECT state || ': ' || reason FROM gpusort_devices() WHERE device LIKE 'cuda%');
my $is_ready = q(SELECT bool_and(state = 'ready') AND count(*) > 1 FROM gpusort_devices());

# As a shell starts what it runs in the background.
local $SIG{INT} = 'IGNORE';
my $node = start_node(
	'main', "shared_preload_libraries = 'gpusort'", "gpusort.gpusortd_options = '--host-memory-layer'",
	'gpusort.staging_memory = 64MB', 'gpusort.service_timeout = 0', 'restart_after_crash = on',
	'wal_level = replica', 'max_wal_senders = 2');
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');

sub wait_until_ready
{
	my ($what) = @_;
	my $ready = $node->poll_query_until('postgres', $is_ready);

	ok($ready, $what) or diag($node->safe_psql('postgres', 'SELECT * FROM gpusort_devices()'));
	return;
}

# Waits for a state with such a reason.
sub wait_for_reason
{
	my ($pattern, $what) = @_;

	ok($node->poll_query_until('postgres', "SELECT EXISTS ($reason_of_cuda AND state || ': ' || reason ~ '$pattern')"), $what)
	  or diag($node->safe_psql('postgres', 'SELECT * FROM gpusort_devices()'));
	return;
}

# Changes settings of the service; undef: as in postgresql.conf.
sub set
{
	my (%settings) = @_;

	foreach my $name (sort keys %settings)
	{
		my $value = $settings{$name};
		$node->safe_psql('postgres',
			defined $value ? "ALTER SYSTEM SET gpusort.$name = '$value'" : "ALTER SYSTEM RESET gpusort.$name");
	}
	$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
	return;
}

# Waits for something that no query tells.
sub wait_until
{
	my ($condition) = @_;

	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $condition->();
		usleep(100_000);
	}
	return 0;
}

# Ends gpusortd by this signal, and waits until the launcher knows another one to be ready.
sub kill_and_wait
{
	my ($signal, $what) = @_;
	my ($before) = gpusortd_pids($node);
	my $from = -s $node->logfile;

	kill $signal, $before;
	wait_until(sub { my @now = gpusortd_pids($node); return @now == 1 && $now[0] != $before });
	ok(wait_until(sub { log_since($from) =~ /gpusortd is ready/ }), "$what: the launcher knows it");
	wait_until_ready($what);
	return;
}

sub log_since
{
	my ($offset) = @_;

	return substr(slurp_file($node->logfile), $offset);
}

sub count_of
{
	my ($text, $pattern) = @_;

	return scalar(() = $text =~ /$pattern/g);
}

sub parent_of
{
	my ($pid) = @_;
	my ($parent) = slurp_file("/proc/$pid/stat") =~ /\) \S (\d+)/;

	return $parent;
}

# When a process was started, in seconds since the machine was.
sub start_time_of
{
	my ($pid) = @_;
	my @fields = split ' ', slurp_file("/proc/$pid/stat") =~ s/.*\) //r;

	return $fields[19] / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}

sub count_files
{
	my ($pid) = @_;

	return scalar(slurp_dir("/proc/$pid/fd")) - 2;
}

# A program to start in the place of gpusortd; it notes its starts in a file.
sub write_program
{
	my ($name, $body) = @_;
	my $program = $node->basedir . "/$name";

	append_to_file($program, "#!/bin/bash\necho started >>'$program.starts'\n$body\n");
	chmod 0755, $program;
	return $program;
}

sub starts_of
{
	my ($program) = @_;

	return -e "$program.starts" ? scalar(lines_of(slurp_file("$program.starts"))) : 0;
}

# ---- it is there ----

wait_until_ready('gpusortd is started with the server');
ok(wait_until(sub { log_since(0) =~ /gpusortd is ready, \d+ ms after its start/ }), 'and says so');
is($node->safe_psql('postgres', "SELECT device, state, memory > free_memory, max_memory = free_memory, jobs, reason IS NULL FROM gpusort_devices() ORDER BY 1"),
	"cpu|ready||||t\ncuda 0|ready|t|t|0|t\ncuda 1|ready|t|t|0|t", 'the devices');
my ($pid) = gpusortd_pids($node);
my $launcher = parent_of($pid);
my $socket = $node->data_dir . '/pg_stat_tmp/gpusort.sock';
is(substr(sprintf('%o', (stat $socket)[2]), -3), '600', 'the socket is for the owner alone');
unlike(slurp_file("/proc/$pid/maps"), qr!/dev/zero|/SYSV|/PostgreSQL\.!, 'it has none of the server\'s shared memory');
my @files = map { readlink "/proc/$pid/fd/$_" } grep { /^\d/ } slurp_dir("/proc/$pid/fd");
is(count_of(join(' ', @files), 'pipe:'), 2, 'of its files, it has the pipes made for it');
unlike("@files", qr/eventpoll|pg_wal|base|global/, 'and no others');
# But 32 and 33, which are the C library's own: make (posix_spawn) has those ignored by what it starts, and
# they can't be given back.
like(slurp_file("/proc/$pid/status"), qr/^SigIgn:\s+0*[01][08]0{7}$/m, 'and ignores no signal');

# ---- somebody ends it ----

# How soon it is back is asserted by what the launcher decides, not by the clock.
my $files_before = count_files($launcher);
my $offset = -s $node->logfile;
my @blows = ('KILL', 'TERM', 'KILL', 'KILL', 'INT', 'TERM', 'QUIT', 'HUP');
my @starts = (start_time_of($pid));
foreach my $blow (1 .. @blows)
{
	kill_and_wait($blows[ $blow - 1 ], "blow $blow, SIG$blows[$blow - 1]: there again");
	push @starts, start_time_of((gpusortd_pids($node))[0]);
}
my $log = log_since($offset);
is(count_of($log, 'WARNING:  gpusortd: (was ended by signal 9|was ended by signal 1|ended with status 0)\n'), @blows, 'each end is logged');
is(count_of($log, 'gpusortd is restarted at once'), @blows, 'and no start is delayed');
# A process that starts late is nearer to the next one.
cmp_ok(($starts[-1] - $starts[0]) / $#starts, '>', 0.45, 'but some time is between two');
is(parent_of((gpusortd_pids($node))[0]), $launcher, 'the launcher is the same');
is(count_files($launcher), $files_before, 'and has no more files open');

$offset = -s $node->logfile;
$pid = freeze_gpusortd($node);
set(service_timeout => '10s');
usleep(2_000_000);
kill 'CONT', $pid;
wait_until_ready('one that was stopped for two seconds');
is((gpusortd_pids($node))[0], $pid, 'is the same');
unlike(log_since($offset), qr/WARNING:  gpusortd/, 'and nothing was amiss');
set(service_timeout => undef);

# ---- it fails ----

# Starts a program in its place that fails in some way.
sub check_delays
{
	my ($what, $failure, $end, @delays) = @_;
	my $program = write_program($what =~ tr/ /_/r, $failure);
	my $pattern = join '.*', map { "gpusortd: $end\n[^\n]*gpusortd is restarted $_\\." } @delays;

	$offset = -s $node->logfile;
	set(gpusortd_path => $program);
	ok(wait_until(sub { log_since($offset) =~ /$pattern/s }), "$what: the delays") or diag(log_since($offset));
	return;
}

check_delays('crash', 'kill -SEGV $$', 'was ended by signal 11', 'in 1 s', 'in 2 s', 'in 4 s');
wait_for_reason('^unavailable: gpusortd was ended by signal 11; it is restarted in \d+ s', 'the reason while it is not there');
$offset = -s $node->logfile;
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
ok(wait_until(sub { log_since($offset) =~ /is restarted in 1 s/ }), 'a reload starts it, and makes the delays begin anew');
check_delays('device lost', 'exit 3', 'ended with status 3', 'in 1 s', 'in 2 s');
check_delays('killed before it is ready', 'kill -KILL $$', 'was ended by signal 9', 'at once', 'in 1 s', 'in 2 s');
set(gpusortd_path => undef);
wait_until_ready('the real one again');

$offset = -s $node->logfile;
unlink $socket or die;
set(service_timeout => '1s');
ok(wait_until(sub { log_since($offset) =~ /lost its socket, and ended with status 0\n[^\n]*gpusortd is restarted at once/ }), 'a gpusortd without a socket is ended');
wait_until_ready('and started again');

# ---- it hangs ----

set(service_timeout => undef);
$pid = freeze_gpusortd($node);
my ($status, $out, $err) = $node->psql('postgres', "SET statement_timeout = '100ms'; SELECT * FROM gpusort_devices()");
like($err, qr/canceling statement due to statement timeout/, 'a session that waits for it can be cancelled');
is($node->safe_psql('postgres', $reason_of_cuda), 'unavailable: gpusortd does not answer', 'a session does not wait for ever');
kill 'CONT', $pid;
wait_until_ready('without a timeout it goes on when it can');
is((gpusortd_pids($node))[0], $pid, 'and was not killed');
freeze_gpusortd($node);
my $how = q(gpusort_check('SELECT * FROM pg_class ORDER BY oid' || left(set_config('gpusort.mode', 'force', true) || set_config('gpusort.backend', 'cuda', true), 0)));
ok($node->poll_query_until('postgres', "SELECT how LIKE '%at present the CPU will sort: gpusortd does not answer%' FROM $how"), 'the launcher hears of it by itself');
kill 'CONT', $pid;
wait_until_ready('and that it goes on');
$offset = -s $node->logfile;
set(service_timeout => '500ms');
freeze_gpusortd($node);
ok(wait_until(sub { log_since($offset) =~ /did not answer within gpusort\.service_timeout, and was ended by signal 9\n[^\n]*gpusortd is restarted in \d+ s/ }), 'with one it is killed, which is a failure of its own');
wait_until_ready('and started again');
set(service_timeout => undef);

# A sort under way does without gpusortd then, and is right.
create_rows($node, 200000);
set(gpusortd_options => '--host-memory-layer --chunk-size 64k --fault slow:100', service_timeout => '500ms');
ok(wait_until(sub { my ($now) = gpusortd_pids($node); return $now && eval { slurp_file("/proc/$now/cmdline") } =~ /slow:100/ }), 'a slow gpusortd');
wait_until_ready('is ready');
my $session = $node->background_psql('postgres');
$session->query_safe('SET gpusort.mode = force; SET gpusort.backend = cuda');
$session->query_until(qr/started/,
	"\\echo started\nSELECT count(*), bool_and(k >= before) FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT * FROM r ORDER BY k OFFSET 0) s) s2;\n");
ok( $node->poll_query_until('postgres', "SELECT device = 'cuda' AND phase = 'reading input' FROM pg_stat_progress_gpusort"),
	'a sort is on the device');
$offset = -s $node->logfile;
freeze_gpusortd($node);
like($session->query('SELECT fallbacks FROM pg_stat_gpusort WHERE device = \'cuda\''), qr/^200000\|t\s+1$/, 'gpusortd hangs, and the sort is done on the CPU');
ok(wait_until(sub { log_since($offset) =~ /did not answer within/ }), 'as gpusortd was killed');
$session->quit;
set(gpusortd_options => undef, service_timeout => undef);
wait_until_ready('and started again');

# ---- settings ----

($pid) = gpusortd_pids($node);
set(max_device_memory => '100MB');
ok(wait_until(sub { my @now = gpusortd_pids($node); return @now == 1 && $now[0] != $pid }), 'a changed setting starts it anew');
wait_until_ready('at once');
is($node->safe_psql('postgres', "SELECT DISTINCT max_memory FROM gpusort_devices() WHERE device <> 'cpu'"), 100 * 1024 * 1024, 'with the setting');
($pid) = gpusortd_pids($node);
$offset = -s $node->logfile;
set(min_rows => '100');
ok(wait_until(sub { log_since($offset) =~ /parameter "gpusort.min_rows" changed/ }), 'another setting');
wait_until_ready('leaves it');
is((gpusortd_pids($node))[0], $pid, 'as it is');
foreach my $wrong ([ 'max_device_memory', '0%' ], [ 'max_device_memory', '101%' ], [ 'max_device_memory', 'much' ], [ 'max_device_memory', '0' ],
	[ 'devices', '0,' ], [ 'devices', 'all' ], [ 'devices', ',1' ], [ 'devices', '0 1' ], [ 'devices', '12345' ])
{
	my ($name, $value) = @$wrong;
	($status, $out, $err) = $node->psql('postgres', "ALTER SYSTEM SET gpusort.$name = '$value'");
	like($err, qr/invalid value for parameter "gpusort.$name"/, "$name = '$value' is refused");
}
set(max_device_memory => undef, devices => 'none');
wait_for_reason('^unavailable: gpusort.devices is "none"', 'without devices there is no gpusortd');
is(scalar(gpusortd_pids($node)), 0, 'none at all');
set(devices => undef);
wait_until_ready('and with devices there is');

# ---- it can't be ----

# Sets something, waits for the reason to be known, and for what a launcher that goes on trying would do
# meanwhile.
sub check_given_up
{
	my ($what, $reason, $hint, %settings) = @_;
	my $from = -s $node->logfile;

	set(%settings);
	wait_for_reason($reason, "$what: the reason");
	usleep(2_500_000);
	my $text = log_since($from);
	is(count_of($text, 'gpusort has no GPU: '), 1, "$what: it is logged once");
	like($text, qr/$hint/, "$what: with a hint");
	is(scalar(gpusortd_pids($node)), 0, "$what: nothing runs");

	# Who asks for a card is told the same, before the sort and after it.
	my ($why) = $reason =~ /^unavailable: (.*)/;
	my $ask = 'SET gpusort.mode = force; SET gpusort.backend = cuda;';
	my $query = 'SELECT * FROM generate_series(1, 1000) AS g ORDER BY g';
	like($node->safe_psql('postgres', "$ask EXPLAIN (ANALYZE) $query"), qr/Fallback: cuda: $why/, "$what: why the CPU has sorted");
	like($node->safe_psql('postgres', "$ask SELECT how FROM gpusort_check('$query')"), qr/^device cuda, .*; at present the CPU will sort: $why/, "$what: why it will");
	return;
}

check_given_up('no program', 'unavailable: there is no program "/nowhere/gpusortd"', 'HINT:  Build it with', gpusortd_path => '/nowhere/gpusortd');
check_given_up('wrong options', 'unavailable: gpusortd ended with status 2: no such option: "--nonsense"', 'HINT:  Correct the settings',
	gpusortd_path => undef, gpusortd_options => '--nonsense x');
my $no_device = write_program('no_device', 'echo "FATAL: no CUDA driver" >&2; exit 5');
check_given_up('no device', 'unavailable: gpusortd ended with status 5: no CUDA driver', 'HINT:  If there is a GPU, install NVIDIA.s driver', gpusortd_path => $no_device,
	gpusortd_options => undef);
is(starts_of($no_device), 1, 'no device: it was tried once');
$offset = -s $node->logfile;
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
ok(wait_until(sub { log_since($offset) =~ /gpusort has no GPU: .* no CUDA driver/ }), 'no device: and after a reload');
is(starts_of($no_device), 2, 'no device: once more');
my $no_program = $node->basedir . '/no_program';
append_to_file($no_program, "not a program\n");
chmod 0755, $no_program;
check_given_up('no executable', 'unavailable: gpusortd ended with status 127: could not execute gpusortd', 'HINT:  Build and install', gpusortd_path => $no_program);

# ---- what it says ----

my $talker = write_program('talker', q(
echo "LOG: a line" >&2
echo "WARNING: a warning" >&2
echo "bare words" >&2
head -c 3000 /dev/zero | tr '\0' x >&2
echo >&2
echo "FATAL: the first" >&2
echo "FATAL: the second" >&2
printf "WARNING: no end of line" >&2
exit 1));
$offset = -s $node->logfile;
set(gpusortd_path => $talker);
wait_for_reason('ended with status 1: the first', 'the first FATAL is the reason');
$log = log_since($offset);
like($log, qr/LOG:  gpusortd: a line\n.*WARNING:  gpusortd: a warning\n.*LOG:  gpusortd: bare words\n/s, 'log lines with their levels');
my $length = 0;
$length += length $1 while $log =~ /LOG:  gpusortd: (x+)\n/g;
is($length, 3000, 'long lines are complete');
like($log, qr/WARNING:  gpusortd: the second\n.*WARNING:  gpusortd: no end of line\n/s, 'and so is the last one');
ok(wait_until(sub { starts_of($talker) >= 2 }), 'a failure to start is tried again');
set(gpusortd_path => undef);
wait_until_ready('the real one again');

# ---- few files ----

# More cursors than gpusortd has files for connections: those that are one too many are sorted elsewhere, the
# others go on, and the launcher gets its answers all the while.  They have a chunk each: there are more
# chunks.
my $cursors = 40;
($pid) = gpusortd_pids($node);
my $program = readlink "/proc/$pid/exe";
set(gpusortd_path => write_program('few_files', qq(ulimit -n 90; exec '$program' "\$@")), service_timeout => 1000,
	gpusortd_options => '--host-memory-layer --chunk-size 128k --chunks 1');
my $former = $pid;
wait_until(sub { ($pid) = gpusortd_pids($node); return defined $pid && $pid != $former });
wait_until_ready('with few files');
$offset = -s $node->logfile;
my $open = join '', map { "DECLARE c$_ CURSOR FOR SELECT g, repeat('x', 100) FROM generate_series(1, 5000) AS g ORDER BY -g; MOVE 1 FROM c$_;\n" } 1 .. $cursors;
like($node->safe_psql('postgres', "SET gpusort.mode = force; SET gpusort.backend = cuda; BEGIN;\n$open$reason_of_cuda;\n" . <<"EOT"),
DO \$\$
DECLARE
	until timestamptz := clock_timestamp() + interval '2.5 s';
	c refcursor;
	n int;
BEGIN
	WHILE clock_timestamp() < until LOOP
		PERFORM count(*) FROM (SELECT g FROM generate_series(1, 5000) AS g ORDER BY -g) AS s;
	END LOOP;
	FOR i IN 1 .. $cursors LOOP
		c := 'c' || i;
		MOVE FORWARD ALL FROM c;
		GET DIAGNOSTICS n = ROW_COUNT;
		ASSERT n = 4999, format('cursor %s returned %s more rows', i, n);
	END LOOP;
END \$\$;
EOT
	qr/^unavailable: all \d+ connections of gpusortd are taken$/, "$cursors cursors take all of its connections, and return their rows");
is_deeply([ gpusortd_pids($node) ], [$pid], 'gpusortd is not ended for it');
like(log_since($offset), qr/WARNING:  gpusortd: all \d+ connections are taken that the limit of open files allows/, 'but it says what it lacks');
set(gpusortd_path => undef, service_timeout => 0, gpusortd_options => undef);
wait_until_ready('and with more files');

# ---- the server ends ----

# The number of processes left, once there has been time to end.
sub count_left
{
	wait_until(sub { gpusortd_pids($node) == 0 });
	return scalar(gpusortd_pids($node));
}

foreach my $mode ('fast', 'immediate')
{
	my $from = -s $node->logfile;
	$node->stop($mode);
	is(count_left(), 0, "$mode: gpusortd is gone");
	unlike(log_since($from), qr/was terminated by signal|terminating background worker/, "$mode: and the launcher has ended as it was asked to");
	$node->start;
	wait_until_ready("$mode: and there again");
}
freeze_gpusortd($node);
$node->stop('immediate');
is(count_left(), 0, 'immediate: also one that was stopped');
$node->start;
wait_until_ready('it starts beside what the killed one left behind');
freeze_gpusortd($node);
$node->stop('fast');
is(count_left(), 0, 'fast: also one that was stopped');
ok(-S $socket, 'which leaves its socket');
$node->start;
wait_until_ready('that the next one takes over');
my ($postmaster) = lines_of(slurp_file($node->data_dir . '/postmaster.pid'));
$node->kill9;
wait_until(sub { !kill 0, $postmaster });
is(count_left(), 0, 'the postmaster is killed: gpusortd is gone');
$node->start;
wait_until_ready('the server starts again');

($pid) = gpusortd_pids($node);
$launcher = parent_of($pid);
kill 'TERM', $launcher;
ok(wait_until(sub { my @now = gpusortd_pids($node); return @now == 1 && $now[0] != $pid }), 'a launcher that is told to end is started again');
wait_until_ready('with gpusortd');
($pid) = gpusortd_pids($node);
kill 'KILL', parent_of($pid);
ok(wait_until(sub { my @now = gpusortd_pids($node); return @now == 1 && $now[0] != $pid }), 'one that is killed takes gpusortd along');
wait_until_ready('and both come back with the server');
isnt((gpusortd_pids($node))[0], $pid, 'as others');

# ---- copies, and other ways to load ----

my $backup = $node->basedir . '/copy';
command_ok([ 'pg_basebackup', '-h', $node->host, '-p', $node->port, '-D', $backup, '-c', 'fast', '-X', 'none', '--no-sync' ], 'a base backup');
ok(!-e "$backup/pg_stat_tmp/gpusort.sock.lock", 'has nothing of it');

$node->stop;
my $single = "select 'it ' || 'works'\n";
command_like([ 'bash', '-c', "echo \"$single\" | postgres --single -D '" . $node->data_dir . "' postgres 2>/dev/null" ], qr/it works/, 'single-user mode');
is(scalar(gpusortd_pids($node)), 0, 'has no gpusortd');

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nmax_worker_processes = 0");
$node->start;
is($node->safe_psql('postgres', $reason_of_cuda), 'unavailable: gpusort is not in shared_preload_libraries, therefore no gpusortd is started', 'not preloaded: the reason');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'gpusort'");
$node->restart;
like($node->safe_psql('postgres', $reason_of_cuda), qr/^unavailable: the gpusort launcher has not started/, 'no worker to be had: the reason');

$node->stop;
done_testing();
