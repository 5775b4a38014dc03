# The card is shared fairly: what is idle keeps nobody out, estimates reserve little, and no sort waits for
# long.  What is asserted is where a sort was done and what had happened before, never a time;
# bench/sharing/fairness measures times.
#
# With GPUSORT_TEST_CARD=1 gpusortd sorts on the machine's first GPU.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

plan skip_all => 'gpusortd is not installed (make gpusortd)' unless gpusortd_is_installed();

use constant MB => 1024 * 1024;

# One device; a result of all rows of r takes more than half of it.
my $on_card = $ENV{GPUSORT_TEST_CARD};
my $rows = $on_card ? 1500000 : 200000;
my $small = $on_card ? '320MB' : '40MB';
my $layer = $on_card ? '' : '--host-memory-layer';

my $node = start_node(
	'main', "shared_preload_libraries = 'gpusort'", "gpusort.gpusortd_options = '$layer'", "gpusort.devices = '0'",
	'gpusort.staging_memory = 64MB', 'gpusort.service_timeout = 0', 'gpusort.backend = cuda', 'gpusort.mode = force',
	"gpusort.max_device_memory = '$small'", "gpusort.work_mem = '4MB'", 'max_connections = 100');
create_rows($node, $rows);
create_rows($node, 2000, 'few');
create_gate($node, 1000);
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');

my $query = 'SELECT id, k, t FROM r ORDER BY k';
my $right = $node->safe_psql('postgres', 'SET gpusort.mode = off; SELECT md5(string_agg(id::text, \',\')) FROM (SELECT id FROM r ORDER BY k OFFSET 0) s');

# ---- helpers ----

# Of the one device: its jobs, and what is promised to them.
sub device
{
	my ($column) = @_;
	return $node->safe_psql('postgres', "SELECT $column FROM gpusort_devices() WHERE device LIKE 'cuda%'");
}

sub open_cursor
{
	my ($of) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe("BEGIN; DECLARE c SCROLL CURSOR FOR $of; MOVE 10 IN c");
	return $session;
}

sub digest_of_all
{
	my ($session) = @_;
	return $session->query(<<'EOT');
DO $$ DECLARE c refcursor := 'c'; r record; ids text[]; BEGIN MOVE ABSOLUTE 0 IN c; LOOP FETCH c INTO r; EXIT WHEN NOT FOUND; ids := ids || r.id::text; END LOOP; PERFORM set_config('fairness.digest', md5(array_to_string(ids, ',')), false); END $$; SELECT current_setting('fairness.digest')
EOT
}

# ---- idle cursors on a full card ----

serve($node);
my @cursors = (open_cursor($query));
is(device('jobs'), 1, 'an open cursor');
push @cursors, open_cursor($query);
my $before = fallbacks($node);
ok($node->poll_query_until('postgres', q(SELECT jobs = 0 FROM gpusort_devices() WHERE device LIKE 'cuda%')), 'two idle cursors leave a card that they fill');
foreach my $n (1 .. 3)
{
	like(executed($node, '', $query), qr/Device: cuda(?!.*(Disk|Fallback))/s, "sort $n beside them is done there, in memory");
}
is(fallbacks($node), $before, 'no fallback');
foreach my $cursor (@cursors)
{
	is(digest_of_all($cursor), $right, 'the cursors read all of their rows, from the first one on');
	is($cursor->query('FETCH PRIOR FROM c; FETCH BACKWARD 2 FROM c') =~ tr/\n//, 2, 'and backwards');
	$cursor->quit;
}
ok($node->poll_query_until('postgres', q(SELECT free_memory = max_memory AND jobs = 0 FROM gpusort_devices() WHERE device LIKE 'cuda%')), 'and leave nothing');

# Without host memory for that, they stay; nobody waits for them, and nobody falls behind the cpu device.
serve($node, 'idle_memory' => 0);
@cursors = map { open_cursor($query) } 1 .. 2;
# Longer than after which others make an idle one leave.
usleep(500_000);
$before = fallbacks($node);
my $plan = executed($node, 'SET gpusort.queue_timeout = -1;', 'SELECT id, k, t FROM r ORDER BY t');
like($plan, qr/Device: cpu|Disk/, 'cursors that stay on the card: a sort is done elsewhere, or in parts');
is(digest_of_all($cursors[0]), $right, 'and they are right');
$_->quit foreach @cursors;
serve($node, 'idle_memory' => '1GB');

# ---- a wait has an end ----

# The holder of the card waits for a lock that the one who would wait for the card has.
sub wait_at_gate
{
	my ($sql) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $waiting = q(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted);
	my $already = $node->safe_psql('postgres', $waiting);

	$session->query_until(qr/started/, "\\echo started\n$sql;\n");
	$node->poll_query_until('postgres', "SELECT ($waiting) = $already + 1") or die 'the session did not come to the gate';
	return $session;
}

my $locker = $node->background_psql('postgres');
$locker->query_safe('SELECT pg_advisory_lock(1)');
my @waiting = map { wait_at_gate("SELECT count(*) FROM (SELECT id, k, repeat(t, 20) FROM r WHERE gate(id) ORDER BY k OFFSET 0) s") } 1 .. 6;
pass('six sorts wait for a lock, with rows expected that no card has room for');
$locker->query_safe("SET gpusort.queue_timeout = -1; SET statement_timeout = '170s'");
like($locker->query_safe("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, SUMMARY OFF) $query"), qr/Device: c/, 'who has the lock sorts, and does not wait for them');
$locker->query_safe('SELECT pg_advisory_unlock(1)');
foreach my $session (@waiting)
{
	like($session->query('SELECT 1'), qr/^$rows\n/, 'then they go on');
	$session->quit;
}
$locker->quit;

# ---- small results ----

serve($node, 'max_device_memory' => '80%');
@cursors = map { open_cursor('SELECT id, k FROM few ORDER BY k') } 1 .. 64;
is(device('jobs'), 0, '64 open cursors of small results hold nothing of the card');
$before = fallbacks($node);
like(executed($node, '', $query), qr/Device: cuda/, 'so that others sort there');
is($cursors[63]->query('MOVE ABSOLUTE 0 IN c; FETCH ALL FROM c') =~ tr/\n//, 1999, 'they have their rows');
$_->quit foreach @cursors;
# Chunk memory is there for two sorts only.
@cursors = map { open_cursor($query) } 1 .. 12;
cmp_ok(fallbacks($node) - $before, '<', 6, 'twelve open cursors of large results, with chunk memory for two, are sorted on the card');
is(digest_of_all($cursors[0]), $right, 'and are right');
$_->quit foreach @cursors;

# ---- what is reserved ----

# Two short text columns of wide rows: their keys are as wide as they are, not as the row.
$node->safe_psql('postgres', <<'EOT');
CREATE TABLE wide AS SELECT 'a' || i % 100 AS a, 'b' || i AS b, repeat('x', 500) AS filler FROM generate_series(1, 20000) AS i;
ALTER TABLE wide ALTER COLUMN a SET DATA TYPE text COLLATE "C", ALTER COLUMN b SET DATA TYPE text COLLATE "C";
VACUUM ANALYZE wide;
CREATE FUNCTION gate_of(a text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM pg_advisory_xact_lock_shared(1);
	RETURN true;
END $$;
EOT
$locker = $node->background_psql('postgres');
$locker->query_safe('SELECT pg_advisory_lock(1)');
my $session = wait_at_gate('SELECT count(s) FROM (SELECT * FROM wide WHERE gate_of(a) ORDER BY a, b OFFSET 0) s');
my $promised = device('max_memory - free_memory');
my $expected_rows = $node->safe_psql('postgres', q(EXPLAIN SELECT * FROM wide WHERE gate_of(a) ORDER BY a, b)) =~ /rows=(\d+)/ ? $1 : 0;
cmp_ok($expected_rows, '>', 5000, 'many wide rows are expected');
cmp_ok($promised / $expected_rows, '>', 500, 'a sort of them is promised memory for them');
cmp_ok($promised, '<', $expected_rows * 650 + ($on_card ? 64 * MB : 0), "and for short keys, $promised bytes");
$locker->query_safe('SELECT pg_advisory_unlock(1)');
$session->query('SELECT 1');
$session->quit;
$locker->quit;

# An estimate far from the truth reserves a fourth of the card.
my $free = device('max_memory');
$locker = $node->background_psql('postgres');
$locker->query_safe('SELECT pg_advisory_lock(1)');
$node->safe_psql('postgres', 'CREATE FUNCTION too_many() RETURNS SETOF bigint ROWS 1e12 LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT generate_series(1::bigint, 2000); END $$');
$session = wait_at_gate('SELECT count(*) FROM (SELECT i FROM too_many() AS i WHERE gate(i) ORDER BY hashint8(i) OFFSET 0) s');
cmp_ok(device('max_memory - free_memory'), '<=', $free / 4, 'a sort that expects more rows than there is memory for is promised a fourth of the card');
$node->safe_psql('postgres', q(SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT count(*)%'));
$session->quit;
$locker->quit;

# ---- the device's own time ----

# Which a sort waits for, though it is longer than a small sort waits for others.
SKIP:
{
	skip 'a card is as fast as it is', 6 if $on_card;
	serve($node, 'gpusortd_options' => "$layer --fault slow:600");
	my $of_few = 'SELECT id, k FROM few ORDER BY k';
	my $slow = $node->safe_psql('postgres', "EXPLAIN (ANALYZE) $of_few");
	like($slow, qr/Device: cuda(?!.*Fallback)/s, 'a device that takes long for each of its steps is waited for');
	unlike($slow, qr/queue=/, 'which is no time in the queue');
	serve($node, 'gpusortd_options' => "$layer --fault slow:3000");
	like(executed($node, '', $of_few), qr/Device: cpu.*Fallback: cuda: the device takes too long to begin/s, 'but not for ever, and that is the reason');
	my ($status, $out, $err) = $node->psql('postgres', "SET statement_timeout = '500ms'; $of_few");
	like($err, qr/canceling statement due to statement timeout/, 'and who waits for it can be cancelled');
	is($out, '', 'without rows');
	$node->poll_query_until('postgres', q(SELECT jobs = 0 FROM gpusort_devices() WHERE device LIKE 'cuda%')) or die 'a job stays';
	pass('nothing is left of either');
	serve($node, 'gpusortd_options' => $layer);
}

# ---- costs ----

sub expected_ms
{
	my ($backend) = @_;
	return $node->safe_psql('postgres', "SET gpusort.backend = $backend; SELECT expected_ms FROM gpusort_check('$query')");
}
my $fitting = expected_ms('cuda');
serve($node, 'max_device_memory' => $on_card ? '64MB' : '8MB');
cmp_ok(expected_ms('cuda'), '>', $fitting, 'a sort several times as large as the card is expected to take longer');

unlike(slurp_file($node->logfile), qr/was terminated by signal (?!9)|PANIC|TRAP/, 'the server never crashed');
$node->stop;
done_testing();
