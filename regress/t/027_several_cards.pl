# Several cards: sessions' sorts, each on one of them, whatever the others do; parts of a sort that a card has
# no room for, of all kinds of keys, whatever is equal, NULL or out of place where parts meet; cards that are
# busy, failing and ended.
#
# With GPUSORT_TEST_CARD=1 it is on the machine's first two GPUs, and what wants three, or a card that fails,
# is left out.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use IPC::Run;
use List::Util qw(sum0);
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'gpusortd is not installed (make gpusortd)' unless gpusortd_is_installed();

use constant ROWS => 60000;
use constant PARALLEL => 'SET max_parallel_workers_per_gather = 3;';

# Small chunks: each sort has many.
my $on_card = $ENV{GPUSORT_TEST_CARD};
my $layer = $on_card ? '' : '--host-memory-layer';
my $small_chunks = "$layer --chunk-size 64k --chunks 4";

# A card's memory has pages, and each sort on it some of them: full is only a card that has more.
my %full = $on_card ? (rows => '80MB', random => '32MB') : (rows => '16MB', random => '2MB');
my $more = $on_card ? 30 : 0;

my $node = start_node(
	'main', "shared_preload_libraries = 'gpusort'", "gpusort.gpusortd_options = '$small_chunks'", "gpusort.devices = '0,1'",
	'gpusort.service_timeout = 0', 'gpusort.backend = cuda', 'gpusort.mode = force', 'gpusort.work_mem = 64MB', "gpusort.max_device_memory = '$full{rows}'",
	'max_connections = 50', 'max_worker_processes = 12', 'max_parallel_workers = 10', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', 'synchronize_seqscans = off');
create_rows($node, ROWS);
create_gate($node, 30000);
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort; ALTER TABLE r SET (parallel_workers = 3)');
create_many_types($node, ROWS, <<"EOT");
,
		nullif(i % 4, 1) = 0 AS b, decode(md5(i::text), 'hex') AS bytes, date '2000-01-01' + i % 4000 AS d, (i % 9000) * interval '7 h' AS iv,
		int8range(i % 1000, i % 1000 + i % 7) AS rg, NULL::int AS none, repeat(md5(i::text), $more) AS more
EOT

# ---- helpers ----

# Did parts take turns on one card?
sub takes_turns
{
	my ($plan, $what) = @_;

	like($plan, qr/Device: cuda .*Turns: /s, $what);
	unlike($plan, qr/Fallback/, "$what: on the card");
	return;
}

my %keys = (
	'few' => 'few', 'five' => 'five', 'most' => 'most', 'i8' => 'i8', 'i4' => 'i4', 'i2' => 'i2', 'f8' => 'f8', 'n' => 'n', 't' => 't', 'alike' => 'alike', 'icu' => 'icu',
	'bytes' => 'bytes', 'u' => 'u', 'ts' => 'ts', 'd' => 'd', 'iv' => 'iv', 'a' => 'a');

# Every order of these, by PostgreSQL and on a card.
my %right;

sub order_is_right
{
	my ($set, $keys, $sort, $rows) = @_;
	$rows //= 'SELECT * FROM s';
	my $call = "SELECT digest('$rows', '$keys', '$sort')";
	$right{"$rows $sort"} //= $node->safe_psql('postgres', "SET gpusort.mode = off; $call");
	is($node->safe_psql('postgres', "$set $call"), $right{"$rows $sort"}, "$set $sort: right rows");
	return;
}

# ---- all orders ----

# In the quick run half of the directions of each column.
wait_for_gpusortd($node);
my $half = 0;
foreach my $column (sort keys %keys)
{
	my @directions = ('', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST');
	@directions = splice @directions, 2 * ($half++ % 2), 2 unless runs_all();
	foreach my $direction (@directions)
	{
		my $parallel = $direction =~ /DESC$|FIRST/ ? PARALLEL : '';
		order_is_right($parallel, $column, "$column $direction");
	}
	order_is_right('', "$column, id", "$column NULLS FIRST, id DESC");
	takes_turns(executed($node, '', "SELECT * FROM s ORDER BY $column"), "$column in turns") unless $column =~ /^(few|five|most)$/;
}
order_is_right('', 'five, t, n', 'five DESC, t NULLS FIRST, n DESC');
order_is_right(PARALLEL, 'most, few, f8, t', 'most, few DESC, f8, t DESC');
like(executed($node, PARALLEL, 'SELECT * FROM s ORDER BY t'), qr/Processes: [2-4].*Turns: .*GpuSortFeed/s, 'several processes feed them');
nothing_is_left($node, 'after that');

# ---- whole ----

my $one = qr/Device: cuda(?!.*Turns:)/s;
like(executed($node, '', 'SELECT * FROM s ORDER BY i8 LIMIT 1000'), $one, 'a LIMIT');
like(executed($node, '', 'SELECT * FROM s ORDER BY i8 + 1'), $one, 'no statistics of an expression');
like(executed($node, '', 'SELECT * FROM s ORDER BY none, i8'), $one, 'nothing but NULLs in the first column');
$node->safe_psql('postgres', 'CREATE TABLE fresh WITH (autovacuum_enabled = off) AS SELECT * FROM s');
like(executed($node, '', 'SELECT * FROM fresh ORDER BY i8'), $one, 'no statistics of a new table');
$node->safe_psql('postgres', <<'EOT');
CREATE TABLE parted (id int, k bigint) PARTITION BY HASH (id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT id, i8 FROM s;
CREATE TABLE numbers AS SELECT DISTINCT i4::numeric AS i4 FROM s;
ANALYZE parted, numbers;
EOT
like(executed($node, '', 'SELECT * FROM parted ORDER BY k'), $one, 'a partitioned table');
# The column of a join is a cast of the table's, of whose type the statistics are.
like(executed($node, '', 'SELECT i4, s.id FROM s LEFT JOIN numbers USING (i4) ORDER BY i4'), $one, 'a column of another type');
takes_turns(executed($node, '', 'SELECT s.* FROM s JOIN r USING (id) ORDER BY s.i8'), 'while one that comes through a join is a table\'s');
my $how = 'SELECT how FROM gpusort_check';
like($node->safe_psql('postgres', "$how('SELECT * FROM s ORDER BY i8')"), qr/; in \d+ parts, one after the other/, 'gpusort_check says so');
foreach my $whole ('SELECT * FROM parted ORDER BY k', 'SELECT * FROM fresh ORDER BY i8', 'SELECT * FROM s ORDER BY i8 LIMIT 10', 'SELECT * FROM s WHERE id < 100 ORDER BY i8')
{
	unlike($node->safe_psql('postgres', "$how('$whole')"), qr/parts/, "and nothing of $whole");
}

# A session that may have one sort on cards may have one whose next part is sent ahead.
my $limit = PARALLEL . ' SET gpusort.max_device_sorts = 1;';
takes_turns(executed($node, $limit, 'SELECT * FROM s ORDER BY i8'), 'one sort with two connections is one sort');
like($node->safe_psql('postgres', "$limit BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT * FROM s ORDER BY i8; MOVE 10 IN c; EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM s ORDER BY i8"),
	qr/Device: cpu.*allows a session 1 sorts/s, 'and a second one is too many');
is($node->safe_psql('postgres', "$limit BEGIN; $_ COMMIT; EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM s WHERE id < 5000 ORDER BY i8") =~ /Device: (\w+)/ && $1, 'cuda', "one after the other may be there: $_")
  foreach ('SELECT count(*) FROM (SELECT * FROM s ORDER BY i8 OFFSET 0) o;', 'DECLARE c NO SCROLL CURSOR FOR SELECT * FROM s ORDER BY i8; MOVE 10 IN c; CLOSE c;');
nothing_is_left($node, 'after sorts in turns');

# ---- reading to and fro ----

serve($node, 'max_device_memory' => '80%');

my @all = lines_of($node->safe_psql('postgres', 'SET gpusort.mode = off; SELECT id FROM s ORDER BY i8'));

sub cursor_is_right
{
	my ($what) = @_;

	my $first = ROWS / 2;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe('BEGIN; DECLARE c SCROLL CURSOR FOR SELECT id FROM s ORDER BY i8');
	is(join(' ', lines_of($session->query('FETCH ALL FROM c'))), "@all", "$what: a cursor forwards");
	is(join(' ', lines_of($session->query('FETCH BACKWARD ALL FROM c'))), join(' ', reverse @all), "$what: and backwards");
	my @found;
	my @expected;
	foreach my $at ($first, $first + 1, $first - 1, $first + 2, 1, ROWS, $first)
	{
		push @found, lines_of($session->query("FETCH ABSOLUTE $at FROM c; FETCH RELATIVE 3 FROM c; FETCH RELATIVE -5 FROM c"));
		push @expected, map { $_ >= 1 && $_ <= ROWS ? $all[$_ - 1] : () } $at, $at + 3, ($at + 3 > ROWS ? ROWS + 1 : $at + 3) - 5;
	}
	is("@found", "@expected", "$what: to and fro");
	$session->query_safe('MOVE ABSOLUTE 0 IN c');
	is(join(' ', lines_of($session->query("FETCH $first FROM c; FETCH PRIOR FROM c; FETCH 3 FROM c"))), join(' ', @all[ 0 .. $first - 1, $first - 2, $first - 1 .. $first + 1 ]),
		"$what: back and on");
	$session->quit;
	return;
}
cursor_is_right('in device memory');

# A rescan with the same rows, with others, after some of them, a merge join that goes back to a mark.
foreach my $query (
	'SELECT count(*), sum(x.id * y.rank) FROM generate_series(1, 3) g, LATERAL (SELECT id, row_number() OVER () AS rank FROM (SELECT id FROM s ORDER BY i8, id OFFSET 0) o) y JOIN s x USING (id)',
	'SELECT g, (SELECT md5(string_agg(id::text, $$,$$)) FROM (SELECT id FROM s WHERE id % 7 <> g ORDER BY t, id OFFSET 0) o) FROM generate_series(1, 3) g',
	'SELECT g, (SELECT string_agg(id::text, $$,$$) FROM (SELECT id FROM (SELECT id, row_number() OVER (ORDER BY i8, id) AS n FROM s) a WHERE n > g LIMIT 3) b) FROM generate_series(1, 101, 50) g',
	'SELECT count(*), sum(a.id::int8 * b.id) FROM s a JOIN s b ON a.d = b.d AND a.few = b.few')
{
	my $set = 'SET enable_hashjoin = off; SET enable_nestloop = on; SET enable_material = off; SET enable_memoize = off;';
	is($node->safe_psql('postgres', "$set $query"), $node->safe_psql('postgres', "SET gpusort.mode = off; SET enable_hashjoin = off; $query"), "right: $query");
}

# Workers of its own.
my $session = $node->background_psql('postgres', on_error_stop => 0);
like($session->query(PARALLEL . " BEGIN; DECLARE c CURSOR FOR SELECT id FROM s ORDER BY i8; FETCH ALL FROM c"), qr/^\Q@{[join("\n", @all)]}\E$/m, 'a cursor whose workers leave before its first row');
$session->quit;

# ---- sessions on several cards ----

# Each sort is on the card with the most memory left: of equal cards the one with the fewest.  Real ones
# differ by more than such sorts take.
my @cards = (0 .. ($on_card ? 1 : 2));
serve($node, 'devices' => join(',', @cards));
my @sessions;
foreach my $card (@cards, @cards)
{
	my $cursor = $node->background_psql('postgres', on_error_stop => 0);
	$cursor->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT id FROM s ORDER BY i8');
	is(join(' ', lines_of($cursor->query('FETCH 10 FROM c'))), "@all[0 .. 9]", 'a cursor of a session of its own');
	push @sessions, $cursor;
	my @jobs = lines_of($node->safe_psql('postgres', q(SET gpusort.mode = off; SELECT jobs FROM gpusort_devices() WHERE device LIKE 'cuda%' ORDER BY jobs)));
	is(sum0(@jobs), scalar(@sessions), "all are on cards: @jobs");
	cmp_ok($jobs[-1] - $jobs[0], '<=', 1, "one card has no more sorts than another: @jobs") unless $on_card;
}
foreach my $cursor (@sessions)
{
	is(join(' ', lines_of($cursor->query('FETCH ALL FROM c'))), "@all[10 .. ROWS - 1]", 'which has all of its rows');
	$cursor->quit;
}
nothing_is_left($node, 'after cursors on all cards');
serve($node, 'gpusortd_options' => "$layer --count-devices 2", 'devices' => '0');
order_is_right('', 'n', 'n');
is($node->safe_psql('postgres', q(SELECT count(*) FROM gpusort_devices() WHERE device LIKE 'cuda%')), 2, 'one card that counts as two');

# Chunk memory is there for one job at a time, then for four.
my $before = fallbacks($node);
serve($node, 'gpusortd_options' => "$layer --chunk-size 2M --chunks 16", 'devices' => join(',', @cards), 'staging_memory' => '32MB');
order_is_right('', 'n', 'n');
is(fallbacks($node), 0, 'which is no fallback');
serve($node, 'staging_memory' => '128MB', 'idle_memory' => '1GB');
my $script = $node->basedir . '/sorts.sql';
append_to_file($script, "SELECT 1 / (count(*) = @{[ROWS]} AND bool_and(i8 >= before))::int FROM (SELECT i8, lag(i8) OVER () AS before FROM (SELECT i8 FROM s ORDER BY i8 OFFSET 0) o) p;\n");
append_to_file($script, "SELECT 1 / (count(*) = @{[ROWS]} AND bool_and(t >= before))::int FROM (SELECT t, lag(t) OVER () AS before FROM (SELECT coalesce(t, '') AS t FROM (SELECT t FROM s ORDER BY t NULLS FIRST OFFSET 0) n) o) p;\n");
local $ENV{PGOPTIONS} = '-c max_parallel_workers_per_gather=1';
$node->command_ok([ 'pgbench', '-n', '-c', '8', '-t', '6', '-f', $script, 'postgres' ], '8 sessions sort on all cards at a time');
delete $ENV{PGOPTIONS};
nothing_is_left($node, 'after them');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET gpusort.staging_memory');

# ---- cards that are full ----

# All take turns at a time, on two cards.
serve($node, 'devices' => '0,1', 'gpusortd_options' => $small_chunks, 'max_device_memory' => $full{rows});
$node->command_ok([ 'pgbench', '-n', '-c', '4', '-t', '3', '-f', $script, 'postgres' ], '4 sessions take turns on two cards at a time');
my ($status, $out, $err) = $node->psql('postgres', 'SELECT * FROM s WHERE random() >= 0 ORDER BY i8 OFFSET 1000000', on_error_stop => 0);
is($err, '', 'rows that can be had once alone');
order_is_right('', 'i8, id', 'i8, id', 'SELECT * FROM s WHERE random() >= 0');
cursor_is_right('in files');
order_is_right("SET gpusort.work_mem = '1MB';", 'i8, id', 'i8, id');
nothing_is_left($node, 'full cards');

# Statistics that have nothing to do with the rows any more: all are above the last splitter.
$node->safe_psql('postgres', 'CREATE TABLE old WITH (autovacuum_enabled = off, parallel_workers = 3) AS SELECT i AS id, i AS k, md5(i::text) AS pad FROM generate_series(1, 1000) i; ANALYZE old; INSERT INTO old SELECT i, i + 2000, md5(i::text) FROM generate_series(1001, 60000) i');
order_is_right($_, 'k', 'k', 'SELECT * FROM old') foreach ('', PARALLEL);

# A row that no chunk has room for.
order_is_right('', 'i8, id', 'i8, id', q(SELECT id, i8, CASE WHEN id % 2000 = 0 THEN repeat(t, 3000) END FROM s));
serve($node, 'max_device_memory' => '80%');
order_is_right('', 't, id', 't, id', q(SELECT id, i8, t, CASE WHEN id % 2000 = 0 THEN repeat(t, 3000) END FROM s));

# ---- random queries ----

sub random_sorts
{
	my ($what) = @_;
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port);
	my ($said, $errors) = ('', '');
	my $passed = IPC::Run::run [ $^X, 'regress/random_sorts', '--seconds', 8, '--backend', 'cuda' ], '>', \$said, '2>', \$errors;
	ok($passed, "random sorts $what") or diag("$said$errors");
	return;
}
random_sorts('on two cards');
serve($node, 'max_device_memory' => $full{random}, 'devices' => join(',', @cards));
random_sorts('on cards that are full');

# ---- interrupted ----

serve($node, 'max_device_memory' => '80%', 'devices' => '0,1', 'gpusortd_options' => $small_chunks);
foreach my $set ('', PARALLEL)
{
	timeouts_take_effect($node, $set, 'SELECT count(*) FROM (SELECT * FROM s ORDER BY t OFFSET 0) o');
	nothing_is_left($node, 'after timeouts');
}

my $gated = q(SELECT digest('SELECT * FROM s WHERE gate(id)', 'i8, id', 'i8, id'));
order_is_right('', 'i8, id', 'i8, id');
my $waiting = while_feeding($node, $gated, sub {
	my ($pid) = @_;
	is($node->safe_psql('postgres', q(SELECT sum(jobs) FROM gpusort_devices() WHERE device LIKE 'cuda%')), '1', 'a job on one card');
	cmp_ok($node->safe_psql('postgres', "SELECT rows_in FROM pg_stat_progress_gpusort WHERE pid = $pid"), '>', 8000, 'whose progress is seen');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 10000)");
});
eval { $waiting->{run}->finish; };
nothing_is_left($node, 'a session that was ended');
$before = fallbacks($node);
$waiting = while_feeding($node, $gated, sub { kill_gpusortd($node) });
like($waiting->query('SELECT 1'), qr/^\Q$right{'SELECT * FROM s i8, id'}\E$/m, 'gpusortd is killed while the input is read: right rows');
is($waiting->{stderr}, '', 'and no error');
$waiting->quit;
is(fallbacks($node), $before + 1, 'which is one fallback');
wait_for_gpusortd($node);
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT id FROM s ORDER BY i8');
is(join(' ', lines_of($session->query('FETCH 10 FROM c'))), "@all[0 .. 9]", 'the first rows');
kill_gpusortd($node);
$session->query('MOVE 40000 IN c');
like($session->{stderr}, qr/^[^\n]*ERROR:  the sort on device "cuda" could not be completed\nDETAIL:  Reason: .+\.\nHINT:  Some rows were already returned/, 'one clear error when they were returned');
unlike($session->{stderr}, qr/ERROR.*ERROR/s, 'and no other');
$session->{stderr} = '';
$session->quit;
wait_for_gpusortd($node);

# The device is lost at a call of gpusortd's.
foreach my $call ($on_card ? () : (4, 7, 10, 15, 25, 40, 80))
{
	serve($node, 'gpusortd_options' => "$small_chunks --fault lost:$call");
	foreach my $set ('', PARALLEL)
	{
		is($node->safe_psql('postgres', "$set SELECT digest('SELECT * FROM s', 'i8, id', 'i8, id')"), $right{'SELECT * FROM s i8, id'}, "$set a device that is lost at call $call: right rows");
	}
}
unlike(slurp_file($node->logfile), qr/was terminated by signal (?!9)|PANIC|TRAP/, 'the server never crashed');

$node->stop;
done_testing();
