# Which device a sort goes to is decided by the settings and the service of when it begins, whatever they were
# when it was planned; planning asks nobody; and what a lock rechecks is sorted in the backend.  So it is with
# builds of indexes.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

plan skip_all => 'gpusortd is not installed (make gpusortd)' unless gpusortd_is_installed();

my $node = start_node(
	'main', "shared_preload_libraries = 'gpusort'", "gpusort.gpusortd_options = '--host-memory-layer'",
	'gpusort.staging_memory = 64MB', 'gpusort.service_timeout = 0');
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
create_rows($node, 20000);

sub wait_until_ready
{
	$node->poll_query_until('postgres', q(SELECT bool_and(state = 'ready') AND count(*) > 1 FROM gpusort_devices()))
	  or die "gpusortd did not start:\n" . $node->safe_psql('postgres', 'SELECT * FROM gpusort_devices()');
	return;
}

sub sorts_of
{
	my ($device) = @_;

	return $node->safe_psql('postgres', "SELECT sorts FROM pg_stat_gpusort WHERE device = '$device'");
}

wait_until_ready();

# ---- builds of indexes ----

# With gpusort.backend auto a build goes where it is expected to be faster; gpusort_check says where.
$node->safe_psql('postgres', "CREATE TABLE few AS SELECT * FROM r; CREATE TABLE many AS SELECT i AS k, i::text COLLATE \"C\" AS t FROM generate_series(1::bigint, 200000) AS i; VACUUM ANALYZE");

sub device_of_build
{
	my ($table, $workers, $memory, $columns) = @_;
	my ($how, $built);

	$columns = 'k' unless defined $columns;
	$node->safe_psql('postgres', "ALTER TABLE $table SET (parallel_workers = $workers)");
	$how = $node->safe_psql('postgres', "SET max_parallel_maintenance_workers = 7; SET maintenance_work_mem = '$memory'; SELECT how FROM gpusort_check('CREATE INDEX ON $table ($columns)')");
	$node->psql('postgres', "SET max_parallel_maintenance_workers = 7; SET maintenance_work_mem = '$memory'; SET client_min_messages = debug1; CREATE INDEX i ON $table ($columns); DROP INDEX i",
		stderr => \$built);
	return join ', ', map { defined $_ ? $_ : '?' } ($how =~ /device (\w+), (\d+) process/)[0, 1], ($built =~ /has built index "i" by device "(\w+)"/)[0];
}

is(device_of_build('few', 0, '64MB'), 'cpu, 1, cpu', 'few rows are not worth a job');
is(device_of_build('many', 0, '64MB'), 'cuda, 1, cuda', 'one process: a card is faster');
is(device_of_build('many', 7, '64MB'), 'cpu, 8, cpu', 'many processes are faster than a card');
is(device_of_build('many', 2, '64MB'), 'cpu, 3, cpu', 'so are three');
is(device_of_build('many', 2, '4MB'), 'cuda, 3, cuda', 'but not where they have too little memory');
is(device_of_build('many', 2, '64MB', 't'), 'cuda, 3, cuda', 'strings: three processes');
is(device_of_build('many', 7, '64MB', 't'), 'cpu, 8, cpu', 'many processes');

# Where the setting has no workers, the log names that, and not the table's size.
$node->psql('postgres', 'SET max_parallel_maintenance_workers = 0; SET client_min_messages = debug1; CREATE INDEX i ON many (k); DROP INDEX i', stderr => \my $log);
like($log, qr/gpusort builds index "i" with 0 of 0 workers: max_parallel_maintenance_workers is 0$/m, 'no workers by the setting');

# ---- few rows out of much ----

# Of 200,000 rows 1000 are expected, for which a card is not worth a job; but where finding them takes long
# beside that, there may be more than expected.
$node->safe_psql('postgres', 'CREATE FUNCTION takes_long(bigint) RETURNS bool IMMUTABLE COST 1000 LANGUAGE plpgsql AS $f$BEGIN RETURN $1 % 200 = 0; END$f$');

sub device_of_filter
{
	my ($filter) = @_;

	return ($node->safe_psql('postgres', "SET gpusort.mode = force; SET max_parallel_workers_per_gather = 0; EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM many WHERE $filter ORDER BY k DESC") =~ /Device: (\w+)/)[0];
}

is(device_of_filter('k % 200 = 0'), 'cpu', 'few rows out of many are sorted here');
is(device_of_filter('k % 200 = 0 AND takes_long(k)'), 'cuda', 'but on the card where finding them takes longer than a job');

# ---- cached plans ----

my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('SET gpusort.mode = force; SET plan_cache_mode = force_generic_plan; SET gpusort.backend = cuda');
$session->query_safe('PREPARE p AS SELECT id FROM r ORDER BY k');

sub explain_prepared
{
	return scalar $session->query('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE p');
}

like(explain_prepared(), qr/Device: cuda/, 'a prepared statement');
$session->query_safe('SET gpusort.backend = cpu');
my $plan = explain_prepared();
like($plan, qr/Device: cpu/, 'leaves the device when the setting does');
unlike($plan, qr/Fallback/, 'which is no fallback');
is($session->query('SELECT generic_plans FROM pg_prepared_statements'), '2', 'though its plan is the same');
$session->query_safe('SET gpusort.backend = cuda');
like(explain_prepared(), qr/Device: cuda/, 'and comes back');
$session->query_safe('SET gpusort.mode = off');
unlike(explain_prepared(), qr/GpuSort/, 'mode off is obeyed by a prepared statement');
$session->query_safe('SET gpusort.mode = force');
like(explain_prepared(), qr/GpuSort/, 'and so is mode force');
$session->query_safe('BEGIN; SET LOCAL gpusort.mode = off');
unlike(explain_prepared(), qr/GpuSort/, 'mode off in a transaction');
$session->query_safe('ROLLBACK');
like(explain_prepared(), qr/GpuSort/, 'until that has ended');
$node->append_conf('postgresql.conf', 'gpusort.mode = off');
$session->query_safe('RESET gpusort.mode');
$node->reload;
ok($node->poll_query_until('postgres', q(SELECT current_setting('gpusort.mode') = 'off')), 'mode off by a reload');
unlike(explain_prepared(), qr/GpuSort/, 'is obeyed by a prepared statement');
$session->query_safe('SET gpusort.mode = force');

# In a function, whose plans are kept.
$session->query_safe(<<'EOT');
CREATE FUNCTION sorted() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	line record;
	result bigint := 0;
BEGIN
	FOR line IN SELECT id FROM r ORDER BY k LOOP
		result := line.id;
	END LOOP;
	RETURN result;
END $$;
EOT
my $last = $session->query('SELECT sorted()');
my ($before_cuda, $before_cpu) = (sorts_of('cuda'), sorts_of('cpu'));
is($session->query('SELECT sorted()'), $last, 'a function');
is(sorts_of('cuda'), $before_cuda + 1, 'sorts on the device');
$session->query_safe('SET gpusort.backend = cpu');
is($session->query('SELECT sorted()'), $last, 'and elsewhere');
is(sorts_of('cuda') . ' ' . sorts_of('cpu'), ($before_cuda + 1) . ' ' . ($before_cpu + 1), 'when the setting says so');
$session->query_safe('SET gpusort.mode = off');
is($session->query('SELECT sorted()'), $last, 'or by PostgreSQL');
is(sorts_of('cuda') . ' ' . sorts_of('cpu'), ($before_cuda + 1) . ' ' . ($before_cpu + 1), 'in mode off');
$session->quit;

# ---- a LIMIT that the planner does not know ----

# It guesses a tenth of the rows; the sort knows when it begins, and chooses by that.
create_rows($node, 200000, 'limited');
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('SET gpusort.mode = force; SET plan_cache_mode = force_generic_plan; SET max_parallel_workers_per_gather = 0');
$session->query_safe("SET work_mem = '256MB'; PREPARE first(bigint) AS SELECT * FROM limited ORDER BY t LIMIT \$1");

sub device_of_limit
{
	my ($limit) = @_;

	return $session->query("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE first($limit)") =~ /Device: (\w+)/ ? $1 : 'none';
}

is(device_of_limit(10), 'cpu', 'ten rows are sorted by the processor');
is(device_of_limit(190000), 'cuda', 'nearly all by the card, with the same plan');
is(device_of_limit(20), 'cpu', 'and again a few by the processor');
$session->query_safe('DEALLOCATE first; PREPARE first(bigint) AS SELECT * FROM r ORDER BY k LIMIT $1');
is(device_of_limit(15000), 'cpu', 'as many as there are by the processor, where a card is never faster');
$session->quit;

# ---- rechecks ----

# Rows that are changed while a sorted SELECT ... FOR UPDATE waits for the first of them: each is checked
# again by the whole plan, the sort included.
use constant CHANGED => 500;
$node->safe_psql('postgres', 'CREATE TABLE locked AS SELECT id, k, t FROM r WHERE id <= 1000; ALTER TABLE locked ADD PRIMARY KEY (id)');
my $writer = $node->background_psql('postgres');
$writer->query_safe('BEGIN; UPDATE locked SET t = t || id WHERE id <= ' . CHANGED);
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('SET gpusort.mode = force; SET gpusort.backend = cuda');
($before_cuda, $before_cpu) = (sorts_of('cuda'), sorts_of('cpu'));
$session->query_until(qr/started/,
	"\\echo started\nWITH l AS (SELECT id, t FROM locked ORDER BY k, id FOR UPDATE) SELECT count(*), sum((length(t) > 64)::int), md5(string_agg(id::text, ',')) FROM l;\n");
ok($node->poll_query_until('postgres', q(SELECT count(*) > 0 FROM pg_locks WHERE NOT granted)), 'a sorted SELECT ... FOR UPDATE waits');
# Whatever else is sorted on the device falls back from now on.
my $fallbacks = q(SELECT fallbacks FROM pg_stat_gpusort WHERE device = 'cuda');
my $before_fallbacks = $node->safe_psql('postgres', $fallbacks);
my ($killed) = gpusortd_pids($node);
kill 'KILL', $killed;
$writer->query_safe('COMMIT');
$writer->quit;
is($session->query('SELECT 1'),
	$node->safe_psql('postgres', "SET gpusort.mode = off; SELECT count(*), sum((length(t) > 64)::int), md5(string_agg(id::text, ',' ORDER BY k, id)) FROM locked") . "\n1",
	'and returns the changed rows');
is(sorts_of('cuda') - $before_cuda, 1, 'by one sort on the device');
is(sorts_of('cpu') - $before_cpu, 0, 'and none that counts elsewhere');
is($node->safe_psql('postgres', $fallbacks), $before_fallbacks, 'nor tries to be one there');
$session->quit;
foreach (1 .. 1800)
{
	last if grep { $_ != $killed } gpusortd_pids($node);
	usleep(100_000);
}
wait_until_ready();

# ---- planning asks nobody ----

my $frozen = freeze_gpusortd($node);
END { kill 'CONT', $frozen if defined $frozen }

# Who connects to a gpusortd that is stopped waits for a second.  On a busy machine some may take as long
# without connecting, but not each time.
sub explains_in_time
{
	my ($what, $backend) = @_;
	my $in_time = 0;

	foreach (1 .. 10)
	{
		my ($status) = $node->psql('postgres', "SET gpusort.mode = auto; SET gpusort.backend = $backend; SET statement_timeout = '900ms'; EXPLAIN SELECT * FROM r ORDER BY k");
		$in_time++ if $status == 0;
		last if $in_time > 0;
	}
	cmp_ok($in_time, '>', 0, "$what: a new session plans without it");
	return;
}

explains_in_time('frozen', $_) foreach 'auto', 'cuda';

# One session finds out that it does not answer; the others know by that.
like($node->safe_psql('postgres', 'SET gpusort.mode = force; SET gpusort.backend = cuda; EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM r ORDER BY k'),
	qr/Device: cpu.*Fallback: cuda: gpusortd does not answer/s, 'frozen: a sort does without it');
my $in_time = grep {
	($node->psql('postgres', "SET gpusort.mode = force; SET gpusort.backend = cuda; SET statement_timeout = '900ms'; SELECT count(*) FROM (SELECT id FROM r WHERE id < 10 ORDER BY k OFFSET 0) s"))[0] == 0
} 1 .. 10;
cmp_ok($in_time, '>', 0, 'frozen: so do those of other sessions, which do not wait for it');
kill 'CONT', $frozen;
undef $frozen;
my $device = '';
foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	($device) = $node->safe_psql('postgres', 'SET gpusort.mode = force; SET gpusort.backend = cuda; EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM r ORDER BY k') =~ /Device: (\w+)/;
	last if $device eq 'cuda';
	usleep(100_000);
}
is($device, 'cuda', 'once it answers again, it sorts again');

$node->stop;
done_testing();
