# Text that repeats on a card: keys travel with codes of values, and ranks after them (key/coded.h).  In
# gpusortd's layer in host memory, or with GPUSORT_TEST_CARD=1 on the machine's first GPU: every collation,
# several columns, one process and several, a card that is full, codes that end, a service that does.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'gpusortd is not installed (make gpusortd)' unless gpusortd_is_installed();

use constant ROWS => 40000;
use constant PARALLEL => 'SET max_parallel_workers_per_gather = 3;';

# A job on a GPU begins with some tens of megabytes: there nothing is full.
my $on_card = $ENV{GPUSORT_TEST_CARD};
my $options = $on_card ? '--chunk-size 64k --chunks 4' : '--host-memory-layer --chunk-size 64k --chunks 4';
my $small = $on_card ? undef : '5MB';

my $node = start_node(
	'main', "shared_preload_libraries = 'gpusort'", "gpusort.gpusortd_options = '$options'", "gpusort.devices = '0'",
	'gpusort.service_timeout = 0', 'gpusort.backend = cuda', 'gpusort.mode = force', "gpusort.work_mem = '64MB'",
	'max_connections = 50', 'max_worker_processes = 12', 'max_parallel_workers = 10', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', 'synchronize_seqscans = off', 'autovacuum = off');
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
create_many_types($node, ROWS, <<'EOT');
,
		CASE WHEN i % 17 = 0 THEN NULL ELSE 'A value of ' || (hashint4(i) & 511) END AS repeated,
		'city of ' || (100000 / (1 + (hashint4(i) & 65535))) AS zipf,
		('b' || i * 31 % 311 || repeat(' ', i % 3))::char(12) AS padded,
		CASE WHEN i % 2 = 0 THEN 'Ab' ELSE 'aB' END || i * 13 % 101 AS cased,
		CASE WHEN i % 11 = 0 THEN repeat('long ', 600) || i % 7 ELSE 'x' || i % 90 END AS long,
		md5(i::text) AS different,
		CASE WHEN i < 15000 THEN 'same' || i % 3 ELSE md5((i % 7000)::text) END AS late,
		NULL::text AS nothing
EOT
create_gate($node, 30000);
$node->safe_psql('postgres', q(CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)));
my $has_libc = $node->psql('postgres', q(CREATE COLLATION libc (provider = libc, locale = 'en_US.UTF-8'))) == 0;
my @collations = ('"C"', '"en-x-icu"', $has_libc ? 'libc' : ());
wait_for_gpusortd($node);

# ---- helpers ----

# Every order of these, by PostgreSQL and on the card.
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

# Is it sorted on the card, by codes, and as PostgreSQL does?
sub is_coded
{
	my ($set, $keys, $sort, $more) = @_;
	my $plan = executed($node, $set, "SELECT * FROM s ORDER BY $sort");

	like($plan, qr/Device: cuda .*Values: [1-9]/s, "$set $sort: codes on the card");
	unlike($plan, qr/Coding|Fallback/, "$set $sort: to the end");
	like($plan, $more, "$set $sort: as it should be") if $more;
	order_is_right($set, $keys, $sort);
	return;
}

sub are_coded
{
	my ($more, @sets) = @_;

	foreach my $set (@sets)
	{
		is_coded($set, 'repeated', "repeated COLLATE $_", $more) foreach @collations;
		is_coded($set, 'repeated', "repeated COLLATE $collations[-1] DESC NULLS LAST", $more);
		is_coded($set, 'zipf, repeated, i4', "zipf COLLATE $collations[-1], repeated COLLATE \"C\" DESC, i4", $more);
	}
	return;
}

# Is it sorted as PostgreSQL does, and as the plan should say?
sub is_sorted_as
{
	my ($set, $keys, $sort, $pattern, $what, $rows) = @_;

	$rows //= 'SELECT * FROM s';
	like(executed($node, $set, 'SELECT * FROM (' . ($rows =~ s/''/'/gr) . ") r ORDER BY $sort"), $pattern, "$set $sort: $what");
	order_is_right($set, $keys, $sort, $rows) if $rows !~ /random/;
	return;
}

# ---- all of it on the card ----

are_coded(qr/sample sort/, '', PARALLEL);
foreach my $set ('', PARALLEL)
{
	is_coded($set, 'few, padded', 'few, padded COLLATE "C"');
	is_coded($set, 'lower(cased), id', 'lower(cased) COLLATE "en-x-icu", id');
	is_coded($set, 'long', "long COLLATE $collations[-1] NULLS FIRST");
	is_coded("SET gpusort.dictionary = on; $set", 'nothing, repeated', 'nothing COLLATE "C", repeated COLLATE "C"');

	# Equal values that differ, in any order.
	is_coded($set, 'lower(cased), i8', 'cased COLLATE any_case, i8');

	# Rows that are longer than a chunk are in runs.
	my $wide = q(SELECT id, repeated, i4, CASE WHEN id % 900 = 0 THEN repeat('wide', 30000) ELSE 'x' END AS wide FROM s) =~ s/'/''/gr;
	is_sorted_as($set, 'repeated, i4', "repeated COLLATE $collations[-1], i4", qr/external merge  Device: cuda .*Values: [1-9]/s, 'wide rows', $wide);
}

# More values than ranks go into a chunk, and room for them in many processes.
$node->safe_psql('postgres', <<'EOT');
CREATE TABLE many AS SELECT i AS id, 'one of many values ' || md5(((hashint4(i) & 1048575) % 20000)::text) AS word FROM generate_series(1, 120000) i;
ALTER TABLE many SET (parallel_workers = 10);
VACUUM ANALYZE many;
EOT
is_sorted_as("SET gpusort.dictionary = on; SET gpusort.work_mem = '1GB'; $_", 'word', "word COLLATE $collations[-1]", qr/sample sort  Device: cuda .*Values: (?:19|2)\d{3}/s, 'many values', 'SELECT * FROM many')
  foreach '', 'SET max_parallel_workers_per_gather = 10;';

# Read backwards, again, and from a mark.
my $scroll = 'BEGIN; DECLARE c SCROLL CURSOR FOR SELECT repeated, id FROM s ORDER BY repeated COLLATE "C", id; MOVE ALL FROM c; FETCH BACKWARD 3 FROM c; MOVE ABSOLUTE 10 IN c; FETCH 2 FROM c; COMMIT';
is($node->safe_psql('postgres', $scroll), $node->safe_psql('postgres', "SET gpusort.mode = off; $scroll"), 'a cursor that goes back');
my $again = q(SELECT n, (SELECT string_agg(zipf || id, ' ') FROM (SELECT zipf, id FROM s WHERE id % 50 = n ORDER BY zipf COLLATE "en-x-icu", id OFFSET 0) o) FROM generate_series(1, 3) n);
is($node->safe_psql('postgres', $again), $node->safe_psql('postgres', "SET gpusort.mode = off; $again"), 'sorted again and again');

# ---- not on the card ----

foreach my $set ('', PARALLEL)
{
	# What must not be read twice is not read by codes: they may end.
	my $once = 'SELECT *, random() AS once FROM s';
	is_sorted_as($set, 'repeated', 'repeated COLLATE "C"', qr/^(?!.*Values).*Device: cuda/s, 'read once: no codes', $once);

	# Codes end soon, or late, when a table is full.
	my $on = "SET gpusort.dictionary = on; $set";
	is_sorted_as($on, 'different', 'different COLLATE "C"', qr/string sort  Device: cuda .*Coding: ended, too many/s, 'few values repeat');
	is_sorted_as($on, 'different', 'different COLLATE "en-x-icu"', qr/string sort  Device: cuda .*Coding: ended, too many/s, 'few values repeat');
	is_sorted_as("$on SET gpusort.work_mem = '1MB';", 'late', 'late COLLATE "C"', qr/string sort  Device: cuda .*Coding: ended, no memory/s, 'a table is full');
	next unless $has_libc;
	is_sorted_as($set, 'repeated', 'repeated COLLATE libc', qr/Device: cpu/, 'read once: no card', $once);
	is_sorted_as($on, 'different', 'different COLLATE libc', qr/Device: cpu .*Coding: ended/s, 'few values repeat');
	is_sorted_as("$on SET gpusort.work_mem = '1MB';", 'late', 'late COLLATE libc', qr/Device: cpu .*Coding: ended, no memory/s, 'a table is full');
	is_sorted_as("SET gpusort.dictionary = off; $set", 'repeated', 'repeated COLLATE libc', qr/Device: cpu/, 'off');
	is_sorted_as("SET gpusort.work_mem = '512kB'; $set", 'repeated', 'repeated COLLATE libc', qr/Device: cpu/, 'no memory for tables');
}
is(fallbacks($node), 0, 'none of that is a failure of the card');
nothing_is_left($node, 'codes');

finish() if $on_card;

# ---- a full card ----

# Keys that only guess without codes cut no parts: runs, each of which has ranks of its own.
serve($node, 'max_device_memory' => $small);
if ($has_libc)
{
	is_coded($_, 'repeated, i8', 'repeated COLLATE libc, i8', qr/external merge  Device: cuda .*Runs: /s) foreach '', PARALLEL;
	is_coded($_, 'repeated, zipf', 'repeated COLLATE libc DESC, zipf COLLATE "C"', qr/external merge/s) foreach '', PARALLEL;
}

# Others are cut into parts, without codes.
is_sorted_as($_, 'repeated, i8', 'repeated COLLATE "C", i8', qr/^(?!.*Values).*Device: cuda .*Turns: /s, 'turns') foreach '', PARALLEL;

# More rows than expected.
my $more = 'SELECT * FROM s WHERE id = abs(id)';
foreach my $set ('', PARALLEL)
{
	is_sorted_as("SET gpusort.dictionary = on; $set", 'repeated, i8', "repeated COLLATE $_, i8", qr/external merge  Device: cuda .*Values: [1-9]/s, 'more rows', $more) foreach @collations;
}
nothing_is_left($node, 'a full card');

# ---- the service ends ----

serve($node, 'max_device_memory' => '64MB');
foreach my $set ('', PARALLEL)
{
	my $sql = "SELECT md5(string_agg(id::text, ',')) FROM (SELECT id FROM s WHERE gate(id) ORDER BY repeated COLLATE $collations[-1], id OFFSET 0) o";
	my $session = while_feeding($node, "$set $sql", sub { kill_gpusortd($node) });

	like($session->query(q(SELECT 'done')), qr/done/, "$set gpusortd is killed while it is fed");
	is($session->{stderr}, '', "$set no error");
	$session->quit;
	wait_for_gpusortd($node);
}
finish();

sub finish
{
	$node->stop;
	done_testing();
	exit;
}
