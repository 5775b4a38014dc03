# What superusers bound: how much of the server's memory, of a card, of its queue and of gpusortd a session's
# sorts may take, whatever the session sets.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant ROWS => 200000;
use constant LIMITS => qw(max_work_mem max_queue_timeout max_device_sorts max_sort_device_memory);

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", "gpusort.gpusortd_options = '--host-memory-layer'", "gpusort.devices = '0'",
	'gpusort.mode = force', 'gpusort.work_mem = 64MB', 'gpusort.service_timeout = 0');
create_rows($node, ROWS);
$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION gpusort;
CREATE ROLE app LOGIN;
GRANT SELECT ON r TO app;
EOT

my $query = 'SELECT id, k, t FROM r ORDER BY k';

# What a session of this user says, to the last of its statements.
sub asked
{
	my ($user, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $sql, extra_params => [ '-U', $user ], on_error_stop => 0);
	return "$out$err";
}

# The plan of the sort as the user's session executes it.
sub executed_by
{
	my ($user, $set, $of) = @_;
	return asked($user, "$set EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, SUMMARY OFF) " . ($of // $query));
}

# ---- who may set them ----

my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
foreach my $limit (LIMITS)
{
	like(asked('app', "SET gpusort.$limit = '1'"), qr/ERROR:  permission denied to set parameter "gpusort\.$limit"/, "$limit is not any user's to set");
	like(asked('app', "ALTER ROLE app SET gpusort.$limit = '1'"), qr/ERROR:  permission denied/, 'not for itself either');
}
$node->safe_psql('postgres', 'GRANT SET ON PARAMETER gpusort.max_device_sorts TO app');
is(asked('app', 'SET gpusort.max_device_sorts = 5; SHOW gpusort.max_device_sorts'), '5', 'but of whom it is granted to');
$node->safe_psql('postgres', 'REVOKE SET ON PARAMETER gpusort.max_device_sorts FROM app');
foreach my $wrong ("max_work_mem = '63kB'", "max_work_mem = '-2'", "max_sort_device_memory = '0%'", "max_sort_device_memory = '101%'", 'max_device_sorts = -1')
{
	like(asked($superuser, "SET gpusort.$wrong"), qr/ERROR:/, "$wrong is refused");
}

# ---- host memory ----

sub memory
{
	my ($user, $set, $of) = @_;
	return executed_by($user, "SET gpusort.backend = cpu; $set", $of) =~ /Memory: (\d+)kB/ ? $1 : die 'no memory';
}

cmp_ok(memory('app', ''), '>', 12000, 'a sort takes what it needs');
$node->safe_psql('postgres', "ALTER ROLE app SET gpusort.max_work_mem = '4MB'");
foreach my $set ('', "SET gpusort.work_mem = '1GB';", "SET gpusort.work_mem = -1; SET work_mem = '1GB';",
	"SET gpusort.work_mem = -1; SET work_mem = '1GB'; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;")
{
	cmp_ok(memory('app', $set), '<=', 4096, "max_work_mem bounds it: $set");
	like(executed_by('app', "SET gpusort.backend = cpu; $set"), qr/Disk: /, 'the rest goes to temporary files');
}
# What is known of groups is of that memory, too.
foreach my $wanted ('SELECT DISTINCT ON (k) id, k, t FROM r ORDER BY k, id', 'SELECT * FROM (SELECT id, t, row_number() OVER (PARTITION BY id % 40000 ORDER BY k) AS n FROM r) s WHERE n <= 3')
{
	like(executed_by('app', 'SET gpusort.backend = cpu;', $wanted), qr/Rows of Each Group: \d  Groups: \d{4}/, 'a sort that knows groups');
	cmp_ok(memory('app', '', $wanted), '<=', 4096, 'which count as well');
}
cmp_ok(memory('app', "SET gpusort.work_mem = '1MB';"), '<=', 1024, 'less is the session\'s affair');
cmp_ok(memory($superuser, ''), '>', 12000, 'another role is not bounded');
$node->safe_psql('postgres', 'ALTER ROLE app RESET gpusort.max_work_mem');

# ---- devices ----

sub fallbacks_for
{
	my ($reason) = @_;
	return $node->safe_psql('postgres', "SELECT coalesce((fallback_reasons ->> '$reason')::int, 0) FROM pg_stat_gpusort WHERE device = 'cuda'");
}

# Starts a query that sorts in a session of its own, which waits in the queue for as long as it takes.
sub background_sort
{
	my ($sort) = @_;
	my $psql = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $psql->query('SELECT pg_backend_pid()');

	$psql->query_until(qr/started/, "\\echo started\nSET gpusort.queue_timeout = -1; SELECT count(*) FROM ($sort OFFSET 0) s;\n");
	return { psql => $psql, pid => $pid };
}

SKIP:
{
	skip 'gpusortd is not installed (make gpusortd)', 18 unless gpusortd_is_installed();

	$node->append_conf('postgresql.conf', 'gpusort.backend = cuda');
	$node->restart;
	$node->poll_query_until('postgres', q(SELECT bool_and(state = 'ready') AND count(*) > 1 FROM gpusort_devices()))
	  or die 'gpusortd did not start';
	my $in_memory = qr/Device: cuda(?!.*(Disk|Fallback))/s;

	like(executed_by('app', ''), $in_memory, 'a sort on a device');

	# How many.
	$node->safe_psql('postgres', 'ALTER ROLE app SET gpusort.max_device_sorts = 2');
	my $before = fallbacks_for('limit');
	my $cursors = join '; ', map { "DECLARE c$_ CURSOR FOR $query; MOVE 10 IN c$_" } 1 .. 2;
	my $third = "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, SUMMARY OFF) $query";
	like(asked('app', "BEGIN; $cursors; $third"), qr/Device: cpu.*Fallback: cuda: gpusort.max_device_sorts allows a session 2 sorts/s,
		'a third sort of a session that may have two is done by the CPU');
	is(fallbacks_for('limit'), $before + 1, 'which is a fallback with a reason of its own');
	like(asked('app', "BEGIN; $cursors; CLOSE c1; $third"), $in_memory, 'with one closed it is not');
	like(asked($superuser, "BEGIN; $cursors; $third"), $in_memory, 'another role has no such limit');
	$node->safe_psql('postgres', 'ALTER ROLE app SET gpusort.max_device_sorts = 0');
	$before = $node->safe_psql('postgres', "SELECT fallbacks FROM pg_stat_gpusort WHERE device = 'cuda'");
	like(executed_by('app', 'SET gpusort.backend = cuda;'), qr/Device: cpu(?!.*Fallback)/s, 'a role that may have none sorts on the CPU');
	is($node->safe_psql('postgres', "SELECT fallbacks FROM pg_stat_gpusort WHERE device = 'cuda'"), $before, 'which is no fallback');
	my $builds = "SELECT string_agg(device || ' ' || index_builds, ', ' ORDER BY device) FROM pg_stat_gpusort WHERE index_builds IS NOT NULL";
	$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
	is(asked('app', "CREATE TEMP TABLE mine AS SELECT k FROM r; CREATE INDEX ON mine (k); $builds"), 'cpu 1, cuda 0', 'and so its indexes are built');
	is(asked($superuser, "CREATE TEMP TABLE mine AS SELECT k FROM r; CREATE INDEX ON mine (k); $builds"), 'cpu 1, cuda 1', 'unlike others');
	$node->safe_psql('postgres', 'ALTER ROLE app RESET gpusort.max_device_sorts');

	# How much of its memory.
	$node->safe_psql('postgres', "ALTER ROLE app SET gpusort.max_sort_device_memory = '8MB'");
	my $part = executed_by('app', '');
	like($part, qr/Device: cuda.*Disk: /s, 'a sort that may have a part of the device\'s memory goes through temporary files');
	like($part, qr/Device Memory: (\d+)kB(?(?{ $1 > 8192 })(?!))/, 'and has no more');
	my $digest = "SELECT md5(string_agg(id::text, ',')) FROM (SELECT id FROM r ORDER BY k OFFSET 0) s";
	is(asked('app', $digest), $node->safe_psql('postgres', "SET gpusort.mode = off; $digest"), 'with the right rows');
	my $part_ms = asked('app', "SELECT expected_ms FROM gpusort_check('$query')");
	cmp_ok($part_ms, '>', asked($superuser, "SELECT expected_ms FROM gpusort_check('$query')"), 'it is expected to take longer');
	$node->safe_psql('postgres', 'CREATE TABLE in_parts (id int, k int8, t text) PARTITION BY RANGE (id); CREATE TABLE in_part PARTITION OF in_parts DEFAULT;
		INSERT INTO in_parts SELECT id, k, t FROM r; ANALYZE in_parts; GRANT ALL ON in_parts, in_part TO app');
	my $update = q(SET enable_hashjoin = off; SET enable_nestloop = off; SELECT expected_ms FROM gpusort_check('UPDATE in_parts SET id = 1 FROM r WHERE r.k = in_parts.k') WHERE sort_key ~ 'in_part');
	cmp_ok(asked('app', $update), '>', asked($superuser, $update), 'so is a sort that is taken in the finished plan alone');
	$node->safe_psql('postgres', 'DROP TABLE in_parts');
	like(executed_by($superuser, ''), $in_memory, 'another role has all');
	$node->safe_psql('postgres', "ALTER ROLE app SET gpusort.max_sort_device_memory = '1%'");
	like(executed_by('app', ''), qr/Device: cuda.*Disk: /s, 'a percentage is of what sorts may use');
	# So little that a job begins, but no chunk fits.
	$node->safe_psql('postgres', "ALTER ROLE app SET gpusort.max_sort_device_memory = '1MB'");
	my $many = 'SELECT id, k, t FROM r, generate_series(1, 5) i';
	like(executed_by('app', '', "$many ORDER BY k"), qr/Device: cpu.*Fallback: cuda: the device has no memory for a single chunk/s,
		'a sort that may have no chunk\'s memory is the CPU\'s');
	# A part of a chunk fits, and whole ones don't, the second time either.
	foreach my $some (map { my $rows = $_; map { "SELECT id, k, t FROM r WHERE id <= $rows AND clock_timestamp() > '2000-01-01' ORDER BY $_" } 'k, id', 'k % 10 DESC, id', 'left(t, 3), id' } map { 70000 + 5000 * $_ } runs_all() ? (0 .. 7) : (0, 3, 5, 7))
	{
		like(executed_by('app', 'SET gpusort.backend = cuda;', $some), qr/external merge  Device: cuda(?!.*Fallback)/s, "whole chunks that find no room are sorted by the backend: $some");
		$digest = "SELECT md5(string_agg(record_send(s), '')) FROM ($some OFFSET 0) s";
		is(asked('app', "SET gpusort.backend = cuda; $digest"), $node->safe_psql('postgres', "SET gpusort.mode = off; $digest"), 'the right rows');
	}
	foreach my $workers (0, 2)
	{
		my $volatile = "$many WHERE clock_timestamp() > '2000-01-01' ORDER BY " . ($workers > 0 ? 't || i, id' : 'k + i, id');
		my $settings = "SET max_parallel_workers_per_gather = $workers; SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0;";

		like(executed_by('app', $settings, $volatile), qr/external merge  Device: cuda(?!.*Fallback)/s,
			"whose rows can't be had again is sorted by the backend, $workers workers");
		$digest = "SELECT md5(string_agg(record_send(s), '')) FROM ($volatile OFFSET 0) s";
		is(asked('app', "$settings $digest"), $node->safe_psql('postgres', "SET gpusort.mode = off; $digest"), 'the right rows');
	}
	$node->safe_psql('postgres', 'ALTER ROLE app RESET gpusort.max_sort_device_memory');

	# How long in the queue.  Each call of the device takes a second, so that whoever has it works for long;
	# who waits is expected to take the CPU as long.
	$node->append_conf('postgresql.conf', "gpusort.gpusortd_options = '--host-memory-layer --fault slow:1000'\ngpusort.max_device_memory = '8MB'");
	$node->restart;
	$node->poll_query_until('postgres', q(SELECT bool_and(state = 'ready') AND count(*) > 1 FROM gpusort_devices()))
	  or die 'gpusortd did not start';
	$node->safe_psql('postgres',
		'CREATE FUNCTION many() RETURNS SETOF bigint ROWS 1e9 LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT generate_series(1::bigint, 2000); END $$');
	my @busy = map { background_sort('SELECT id FROM r, generate_series(1, 10) ORDER BY k') } 1 .. 4;
	$node->poll_query_until('postgres', q(SELECT sum(jobs) = 4 FROM gpusort_devices())) or die 'no sort has the device';
	my @waiting = map { background_sort('SELECT i FROM many() AS i ORDER BY hashint8(i)') } 1 .. 3;
	my $pids = join ',', map { $_->{pid} } @waiting;
	$node->poll_query_until('postgres', "SELECT count(*) = 3 FROM pg_stat_progress_gpusort WHERE pid IN ($pids) AND phase = 'waiting for device'") or die 'they do not wait';
	usleep(1_000_000);
	is($node->safe_psql('postgres', 'SELECT given_up FROM pg_stat_gpusort_queue'), 0, 'sorts that have no timeout wait in the queue');
	$node->safe_psql('postgres', 'CREATE ROLE patient LOGIN; ALTER ROLE patient SET gpusort.max_queue_timeout = 100');
	like(executed_by('patient', 'SET gpusort.queue_timeout = -1;', 'SELECT i FROM many() AS i ORDER BY hashint8(i)'),
		qr/Device: cpu.*Fallback: cuda: other sorts have the device's memory/s, 'but of a role with a limit no longer than that');
	is($node->safe_psql('postgres', 'SELECT given_up, wait_time BETWEEN 100 * given_up AND 100000 FROM pg_stat_gpusort_queue'), '1|t', 'which counts as a wait in vain');
	foreach my $session (@busy, @waiting)
	{
		$node->safe_psql('postgres', "SELECT pg_terminate_backend($session->{pid})");
		eval { $session->{psql}{run}->finish; };
	}
	unlike(slurp_file($node->logfile), qr/was terminated by signal (?!9)|PANIC|TRAP/, 'the server never crashed');
}

$node->stop;
done_testing();
