# A sort that the card has no room for, in gpusortd's layer in host memory: its parts take turns.  All rows,
# in order, as PostgreSQL has them, whatever was expected of them; waiting in memory and in files, fed by one
# process and several; and nothing is left when it is cancelled, ended, or loses the card between two turns.
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

use constant ROWS => 60000;
use constant PARALLEL => 'SET max_parallel_workers_per_gather = 3;';
use constant IN_FILES => "SET gpusort.work_mem = '1MB';";
my @ways = ('', PARALLEL, IN_FILES, PARALLEL . IN_FILES);

# Small chunks: each part has many.
my $options = '--host-memory-layer --chunk-size 64k --chunks 4';

my $node = start_node(
	'main', "shared_preload_libraries = 'gpusort'", "gpusort.gpusortd_options = '$options'", "gpusort.devices = '0'",
	'gpusort.service_timeout = 0', 'gpusort.backend = cuda', 'gpusort.mode = force', "gpusort.work_mem = '64MB'", "gpusort.max_device_memory = '8MB'",
	'max_connections = 50', 'max_worker_processes = 12', 'max_parallel_workers = 10', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', 'synchronize_seqscans = off');
create_rows($node, ROWS);
create_gate($node, 30000);
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort; ALTER TABLE r SET (parallel_workers = 3)');
create_many_types($node, ROWS);

# ---- helpers ----

# Are what waited and what the card had counted once, in the units that they are printed in?
sub is_plausible
{
	my ($plan, $what) = @_;
	my ($memory, $device_memory, $waited) = map { $plan =~ /^ *(?:.* )?$_: (\d+)kB/m } 'Device: cuda  Memory', 'Device Memory', 'Waited On Disk';
	my $disk = $plan =~ /Device: cuda .* Disk: (\d+)kB/ ? $1 : 0;

	cmp_ok($memory, '<', 100000, "$what: memory");
	cmp_ok($device_memory, '<', 9216, "$what: memory of the card");
	is($disk, $waited, "$what: files") if $plan !~ /external merge/;
	return;
}

# Did parts take turns, some rows waiting, and those in files if they should?
sub takes_turns
{
	my ($set, $of, $what) = @_;
	my $plan = executed($node, $set, $of);
	my $disk = $set =~ /work_mem/ ? qr/[1-9]\d*/ : qr/0/;

	like($plan, qr/Device: cuda .*Turns: \d+  Rows Waited: [1-9]\d*  Waited On Disk: ${disk}kB$/ms, $what);
	unlike($plan, qr/Fallback/, "$what: on the card");
	is_plausible($plan, $what);
	return $plan;
}

# How many rows are sorted in the first turn, if that has room for its part?
sub first_rows
{
	my ($plan) = @_;
	my ($waited) = $plan =~ /Rows Waited: (\d+)/;
	return ROWS - $waited;
}

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

# ---- all orders ----

# In the quick run two directions of each column, in two ways.
wait_for_gpusortd($node);
my @directions = ('', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST');
my $half = 0;
foreach my $column (qw(few five most i8 i4 i2 f8 n t alike icu u ts a))
{
	foreach my $way (runs_all() ? (0 .. 3) : $half++ % 2 ? (2, 3) : (0, 1))
	{
		order_is_right($ways[$way], $column, "$column $directions[$way]");
	}
	order_is_right(PARALLEL, "$column, id", "$column NULLS FIRST, id DESC");
}
foreach my $set (@ways)
{
	my $plan = takes_turns($set, 'SELECT * FROM s ORDER BY i8', "$set turns");
	like($plan, $set =~ /parallel/ ? qr/Processes: [2-4].*Gather \(actual rows=0(\.00)? loops=1\)/s : qr/Seq Scan/, "$set fed by whom");
	unlike($plan, qr/external merge/, "$set nothing is merged");
	takes_turns($set, 'SELECT * FROM s ORDER BY t', "$set of strings");
	order_is_right($set, 'i8, id', 'i8, id');
	order_is_right($set, 't, n, id', 't DESC, n, id');
}

# Those who have fed are there when the first row is returned, to send what waits later.
$node->safe_psql('postgres', q(CREATE FUNCTION workers() RETURNS bigint PARALLEL RESTRICTED LANGUAGE sql AS 'SELECT count(*) FROM pg_stat_activity WHERE leader_pid = pg_backend_pid()'));
foreach my $set (PARALLEL, PARALLEL . IN_FILES)
{
	is($node->safe_psql('postgres', "$set SELECT max(CASE WHEN id = 1 THEN workers() END), sum(length(t || alike || icu)) > 0 FROM (SELECT * FROM s ORDER BY id OFFSET 0) o"), '3|t', "$set those who fed stay");
}

# While a part is read they send the next one, to a job of its own; who reads a sort that it alone feeds has
# one.
$node->safe_psql('postgres', q(CREATE FUNCTION jobs() RETURNS numeric PARALLEL RESTRICTED LANGUAGE sql AS 'SELECT sum(jobs) FROM gpusort_devices()'));
foreach my $set (@ways)
{
	my $jobs = q(SELECT max(CASE WHEN rank = 2 THEN jobs() END), max(rank) FROM (SELECT row_number() OVER () AS rank, o.* FROM (SELECT * FROM s ORDER BY i8 OFFSET 0) o) r);
	is($node->safe_psql('postgres', "$set $jobs"), ($set =~ /parallel/ ? '2|' : '1|') . ROWS, "$set jobs while rows are read");
}
nothing_is_left($node, 'after that');
like($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM s ORDER BY i8'), qr/"Turns": \d+,\s*"Rows Waited": \d+,\s*"Waited On Disk": 0,/, 'in JSON');
like($node->safe_psql('postgres', q(SELECT how FROM gpusort_check('SELECT * FROM s ORDER BY i8'))), qr/^device cuda, 1 process, about .* of a card's memory, .*; in \d+ parts, one after the other: a GPU has no room for all rows$/, 'gpusort_check says so');
# Rows that are not among the first of their group do not wait, and what is known of groups is of the sort's
# memory.
$node->safe_psql('postgres', 'CREATE TABLE grouped AS SELECT id % 3000 AS g, s.* FROM s; ALTER TABLE grouped SET (parallel_workers = 3); VACUUM ANALYZE grouped');
foreach my $set ('', PARALLEL)
{
	# the planner knows how few are left for the card, but not of a window
	my $on = 'SELECT DISTINCT ON (g) * FROM grouped ORDER BY g, i8';
	my $firsts = 'SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY i8) AS r FROM grouped) q WHERE r = 1';
	my $plan = executed($node, $set, $on);
	like($plan, qr/Device: cuda .*Rows of Each Group: 1 .*Rows Dropped: [1-9]/s, "$set rows of groups are dropped");
	unlike($plan, qr/Turns|external merge/, "$set and there is room for what is left");
	unlike($node->safe_psql('postgres', "$set SELECT how FROM gpusort_check('$on')"), qr/one after the other/, "$set as gpusort_check says");
	order_is_right($set, 'g, i8', 'g, i8', $on);
	my ($dropped, $waited) = executed($node, $set, $firsts) =~ /Device: cuda .*Rows of Each Group: 1 .*Rows Dropped: (\d+).*Turns: \d+  Rows Waited: (\d+)/s;
	cmp_ok($dropped // 0, '>', 30000, "$set rows of groups are dropped before they wait for a turn");
	cmp_ok($waited // ROWS, '<', ROWS - $dropped, "$set and few wait");
	order_is_right($set, 'g, i8', 'g, i8', $firsts);
	order_is_right($set, 'g, i4, id', 'g, i4, id', 'SELECT * FROM (SELECT *, rank() OVER (PARTITION BY g ORDER BY i4) AS r FROM grouped) q WHERE r <= 3');
}
my ($all, $each) = map { executed($node, "SET gpusort.work_mem = '4MB';", $_) =~ /Device: cuda  Memory: (\d+)kB.*Turns: /s ? $1 : die $_ }
  'SELECT * FROM s ORDER BY i8', 'SELECT DISTINCT ON (i8) * FROM s ORDER BY i8';
cmp_ok($each - $all, '<', 768, "memory of a sort of all rows: $all kB, of the first rows of groups: $each");
# A value that most rows have, beside a frequent one.
$node->safe_psql('postgres', 'CREATE TABLE skewed AS SELECT CASE WHEN id % 10 < 7 THEN 1 WHEN id % 10 = 7 THEN 2 ELSE i4 END AS k, s.* FROM s; ANALYZE skewed');
unlike($node->safe_psql('postgres', q(SELECT how FROM gpusort_check('SELECT * FROM skewed ORDER BY k'))), qr/ parts/, 'or that a part would be too large');
like($node->safe_psql('postgres', PARALLEL . 'EXPLAIN SELECT * FROM s ORDER BY i8'), qr/Gather .*rows=1 /, 'of no row PostgreSQL expects one');

# What has waited for a turn is freed when the part is returned.
{
	my $memory = 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts';
	my ($at_first, $at_last) = lines_of($node->safe_psql('postgres', "BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT * FROM s ORDER BY i8; MOVE 1 FROM c; $memory; MOVE 59998 FROM c; $memory"));
	cmp_ok($at_last, '<', $at_first / 2, "memory at the first row and at the last: $at_first, $at_last");
}

# ---- whole, or as before ----

my $whole = qr/Device: cuda(?!.*Turns:)/s;
like(executed($node, '', 'SELECT * FROM s WHERE id < 5000 ORDER BY i8'), $whole, 'few rows');
like(executed($node, '', 'SELECT * FROM s ORDER BY i8 LIMIT 1000'), $whole, 'a LIMIT');
like(executed($node, '', 'SELECT * FROM s ORDER BY i8 + 1'), $whole, 'no statistics of an expression');
order_is_right(PARALLEL, 'i8 + 1, id', 'i8 + 1, id');
like(executed($node, '', 'SELECT NULL::int AS none, s.* FROM s ORDER BY none, i8'), qr/Device: cuda/, 'a constant first');

# ---- other rows than expected ----

# Statistics that have nothing to do with the rows any more: all are above the last splitter, or below the
# first one, or of one value.  What is too large for its turn spills.
my $olds = 0;
foreach my $k ('i + 2000', '-i', '7')
{
	my $old = 'old_' . ++$olds;
	$node->safe_psql('postgres', "CREATE TABLE $old WITH (autovacuum_enabled = off, parallel_workers = 3) AS SELECT i AS id, i::int8 AS k, md5(i::text) AS pad FROM generate_series(1, 1000) i;
		ANALYZE $old; INSERT INTO $old SELECT i, $k, md5(i::text) FROM generate_series(1001, 160000) i");
	foreach my $set (@ways)
	{
		like(executed($node, $set, "SELECT * FROM $old ORDER BY k"), qr/external merge  Device: cuda .*Turns: /s, "$set $k: a part that is too large");
		order_is_right($set, "k, id", "k, id", "SELECT * FROM $old");
	}
}

# A part for which there is room, but not beside the one that is read meanwhile: rows of it wait again.
$node->safe_psql('postgres', 'CREATE TABLE crowded WITH (autovacuum_enabled = off, parallel_workers = 3) AS SELECT i AS id, i * 1000 AS k, md5(i::text) AS pad FROM generate_series(1, 1000) i;
	ANALYZE crowded; INSERT INTO crowded SELECT i, CASE WHEN i % 7 = 0 THEN 450000 + i % 100000 ELSE i * 7919 % 1000000 END, md5(i::text) FROM generate_series(1001, 140000) i');
foreach my $set (@ways)
{
	unlike(executed($node, $set, 'SELECT * FROM crowded ORDER BY k'), qr/external merge/, "$set a part that has room for itself");
	order_is_right($set, 'k, id', 'k, id', 'SELECT * FROM crowded');
}
nothing_is_left($node, 'old statistics');

# Rows that no chunk has room for, and chunks of one size for rows of all.
foreach my $set (@ways)
{
	order_is_right($set, 'i8, id', 'i8, id', q(SELECT id, i8, CASE WHEN id % 2000 = 0 THEN repeat(t, 3000) WHEN id % 100 = 0 THEN repeat(t, 100) END FROM s));
	order_is_right($set, 't, id', 't, id', q(SELECT id, i8, t, CASE WHEN id % 2000 = 0 THEN repeat(t, 3000) END FROM s));
}
nothing_is_left($node, 'long rows');

# ---- reading again ----

use constant WIDE => 'SELECT id, t, alike, icu FROM s ORDER BY i8';
my @all = lines_of($node->safe_psql('postgres', 'SET gpusort.mode = off; ' . WIDE));

# A cursor that does not go backwards has turns; one that may is as it was.
sub cursors_are_right
{
	my ($set) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe("$set BEGIN; DECLARE c NO SCROLL CURSOR FOR @{[WIDE]}; DECLARE d SCROLL CURSOR FOR @{[WIDE]}");
	is(join(' ', map { lines_of($session->query("FETCH $_ FROM c")) } 1, 10, 20000, 30000, 'ALL'), "@all", "$set a cursor");
	is(join(' ', lines_of($session->query('FETCH ALL FROM d'))), "@all", "$set a scroll cursor");
	is(join(' ', lines_of($session->query('FETCH BACKWARD ALL FROM d'))), join(' ', reverse @all), "$set and backwards");
	is($session->{stderr}, '', "$set no error");
	$session->quit;
	return;
}
cursors_are_right($_) foreach @ways;
foreach my $query (
	'SELECT count(*), sum(x.id * y.rank) FROM generate_series(1, 3) g, LATERAL (SELECT id, row_number() OVER () AS rank FROM (SELECT id FROM s ORDER BY i8, id OFFSET 0) o) y JOIN s x USING (id)',
	'SELECT g, (SELECT md5(string_agg(id::text, $$,$$)) FROM (SELECT id FROM s WHERE id % 7 <> g ORDER BY t, id OFFSET 0) o) FROM generate_series(1, 3) g',
	'SELECT count(*), sum(a.id::int8 * b.id) FROM s a JOIN s b ON a.ts = b.ts AND a.few = b.few')
{
	my $set = 'SET enable_hashjoin = off; SET enable_nestloop = on; SET enable_material = off; SET enable_memoize = off;';
	is($node->safe_psql('postgres', "$set $query"), $node->safe_psql('postgres', "SET gpusort.mode = off; SET enable_hashjoin = off; $query"), "right: $query");
}
is($node->safe_psql('postgres', PARALLEL . 'CREATE TABLE sorted AS SELECT * FROM s ORDER BY i8, id; SELECT md5(string_agg(id::text, $$,$$)) FROM (SELECT id FROM sorted ORDER BY ctid) o'),
	$node->safe_psql('postgres', 'SET gpusort.mode = off; SELECT md5(string_agg(id::text, $$,$$)) FROM (SELECT id FROM s ORDER BY i8, id) o'), 'a table made of it');
is($node->safe_psql('postgres', PARALLEL . q(DO $$ DECLARE x record; last int8; BEGIN FOR x IN SELECT i8 FROM s ORDER BY i8 LOOP ASSERT last IS NULL OR last <= x.i8; last := x.i8; END LOOP; END $$)), '', 'a loop of PL/pgSQL, with workers of its own');
nothing_is_left($node, 'read again');

# Rows that can be had once alone; a leader that feeds nothing; workers that come when it is too late.
order_is_right($_, 'i8, id', 'i8, id', 'SELECT * FROM s WHERE random() >= 0') foreach @ways;
order_is_right("$_ SET parallel_leader_participation = off;", 't, id', 't, id') foreach PARALLEL, PARALLEL . IN_FILES;
order_is_right("$_ SET max_parallel_workers = 0;", 't, id', 't, id') foreach PARALLEL, PARALLEL . IN_FILES;

# Who reads stops early, or fails, while others send the next part.
foreach my $set (PARALLEL, PARALLEL . IN_FILES)
{
	my $some = 'SELECT id FROM (SELECT * FROM s ORDER BY i8, id OFFSET 0) o WHERE id % 2 = 0 LIMIT 10';
	is($node->safe_psql('postgres', "$set $some"), $node->safe_psql('postgres', "SET gpusort.mode = off; $some"), "$set some rows");
	my $again = q(SELECT g, (SELECT string_agg(id || t || alike || icu, ' ') FROM (SELECT * FROM (SELECT s.*, row_number() OVER (ORDER BY i8, id) AS rank FROM s) a WHERE rank > g LIMIT 3) b) FROM generate_series(1, 101, 10) g);
	like(executed($node, $set, $again), qr/Device: cuda .*Turns: .*Gather /s, "$set a subquery's sort takes turns");
	is($node->safe_psql('postgres', "$set $again"), $node->safe_psql('postgres', "SET gpusort.mode = off; $again"), "$set some rows, again and again");
	my (undef, undef, $error) = $node->psql('postgres', "$set SELECT sum(1 / (rank - 10)) FROM (SELECT row_number() OVER () AS rank, o.* FROM (SELECT * FROM s ORDER BY i8 OFFSET 0) o) r", on_error_stop => 0);
	like($error, qr/^[^\n]*ERROR:  division by zero\n*\z/, "$set an error above");
	nothing_is_left($node, "$set stopped early");
}

# Who reads so slowly that those who send have left sends the later parts by itself, with all the card's
# memory.
$node->safe_psql('postgres', q(CREATE FUNCTION nap(rank bigint) RETURNS bigint PARALLEL RESTRICTED LANGUAGE plpgsql AS 'BEGIN IF rank = 2 THEN PERFORM pg_sleep(1.5); END IF; RETURN rank; END'));
foreach my $set (PARALLEL, PARALLEL . IN_FILES)
{
	my $naps = "SELECT max(nap(rank)), md5(string_agg(id || t || alike || icu, ',')) FROM (SELECT row_number() OVER () AS rank, o.* FROM (SELECT * FROM s ORDER BY i8, id OFFSET 0) o) r";
	like(executed($node, $set, $naps), qr/sample sort  Device: cuda .*Turns: /s, "$set a reader who takes a nap");
	is($node->safe_psql('postgres', "$set $naps"), $node->safe_psql('postgres', "SET gpusort.mode = off; $naps"), "$set right rows");
}
nothing_is_left($node, 'a nap');

# ---- others on the card ----

# What they have is not there for the first turn, or for a later one.
foreach my $set (@ways)
{
	my ($first, $other) = map { $node->background_psql('postgres', on_error_stop => 0) } 1, 2;

	$other->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT * FROM s WHERE id < 15000 ORDER BY i8; MOVE 100 IN c');
	order_is_right($set, 'i8, id', 'i8, id');
	$other->query_safe('COMMIT');
	my $rows = first_rows(takes_turns($set, 'DECLARE c NO SCROLL CURSOR FOR ' . WIDE, "$set turns"));
	$first->query_safe("$set BEGIN; DECLARE c NO SCROLL CURSOR FOR @{[WIDE]}");
	my @found = lines_of($first->query("FETCH $rows FROM c"));
	usleep(150_000);
	$other->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT * FROM s WHERE id < 20000 ORDER BY i8; MOVE 100 IN c; DECLARE d CURSOR FOR SELECT * FROM s WHERE id > 40000 ORDER BY i8; MOVE 100 IN d');
	push @found, lines_of($first->query('FETCH ALL FROM c'));
	is("@found", "@all", "$set between two turns others come");
	is($first->{stderr}, '', "$set no error");
	$_->quit foreach $first, $other;
}
nothing_is_left($node, 'others');

# ---- what is expected ----

# 3.5 ms are for more jobs and for finding each row's part; 14 to put the rows where they wait, 7 to send
# them.
my $expected = q(SELECT expected_ms FROM gpusort_check('SELECT * FROM s ORDER BY i8'));
my $turns_ms = $node->safe_psql('postgres', $expected);
serve($node, 'max_device_memory' => '64MB');
cmp_ok($turns_ms - $node->safe_psql('postgres', $expected), '>', 20, 'what waits in memory is expected to take its time');
like(executed($node, '', 'SELECT * FROM s ORDER BY i8'), $whole, 'room for all');

# ---- random queries ----

my ($said, $errors) = ('', '');
serve($node, 'max_device_memory' => '2MB');
{
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port);
	ok((IPC::Run::run [ $^X, 'regress/random_sorts', '--seconds', runs_all() ? 8 : 4, '--backend', 'cuda' ], '>', \$said, '2>', \$errors), 'random sorts') or diag("$said$errors");
}
my $script = $node->basedir . '/sorts.sql';
append_to_file($script, "SELECT 1 / (count(*) = @{[ROWS]} AND bool_and(i8 >= before))::int FROM (SELECT i8, lag(i8) OVER () AS before FROM (SELECT i8 FROM s ORDER BY i8 OFFSET 0) o) p;\n");
append_to_file($script, "SELECT 1 / (count(*) = @{[ROWS]} AND bool_and(t >= before))::int FROM (SELECT t, lag(t) OVER () AS before FROM (SELECT coalesce(t, '') AS t FROM (SELECT t FROM s ORDER BY t NULLS FIRST OFFSET 0) n) o) p;\n");
serve($node, 'max_device_memory' => '8MB');
{
	local $ENV{PGOPTIONS} = '-c max_parallel_workers_per_gather=1 -c gpusort.work_mem=1MB';
	$node->command_ok([ 'pgbench', '-n', '-c', '6', '-t', runs_all() ? 5 : 3, '-f', $script, 'postgres' ], '6 sessions at a time');
}
nothing_is_left($node, 'after them');

# ---- interrupted ----

foreach my $set (@ways)
{
	timeouts_take_effect($node, $set, 'SELECT count(*) FROM (SELECT * FROM s ORDER BY t OFFSET 0) o');
	nothing_is_left($node, "$set timeouts");
}
foreach my $set (IN_FILES, PARALLEL . IN_FILES)
{
	my (undef, undef, $error) = $node->psql('postgres', "$set SET temp_file_limit = '100kB'; SELECT * FROM s ORDER BY i8", on_error_stop => 0);
	like($error, qr/^[^\n]*ERROR:  temporary file size exceeds "?temp_file_limit"? \(100kB\)/, "$set temp_file_limit");
	nothing_is_left($node, "$set temp_file_limit");
}

my $gated = q(SELECT digest('SELECT * FROM s WHERE gate(id)', 'i8, id', 'i8, id'));
foreach my $set ('', IN_FILES)
{
	my $waiting = while_feeding($node, "$set $gated", sub { my ($pid) = @_; $node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 10000)"); });
	eval { $waiting->{run}->finish; };
	nothing_is_left($node, "$set a session that was ended");
	my $before = fallbacks($node);
	$waiting = while_feeding($node, "$set $gated", sub { kill_gpusortd($node) });
	like($waiting->query('SELECT 1'), qr/^\Q$right{'SELECT * FROM s i8, id'}\E$/m, "$set gpusortd is killed while the input is read: right rows");
	is($waiting->{stderr}, '', "$set and no error");
	$waiting->quit;
	is(fallbacks($node), $before + 1, "$set which is one fallback");
	wait_for_gpusortd($node);
}

# Between two turns the cpu device takes over what is left.
foreach my $set (@ways)
{
	my $first = first_rows(takes_turns($set, 'DECLARE c NO SCROLL CURSOR FOR ' . WIDE, "$set turns"));
	my $before = fallbacks($node);
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe("$set BEGIN; DECLARE c NO SCROLL CURSOR FOR @{[WIDE]}");
	my @found = lines_of($session->query("FETCH $first FROM c"));
	is("@found", "@all[0 .. $first - 1]", "$set the rows of the first turn");
	kill_gpusortd($node);
	is(join(' ', lines_of($session->query('FETCH ALL FROM c'))), "@all[$first .. $#all]", "$set those of the others, without gpusortd");
	is($session->{stderr}, '', "$set no error");
	is(fallbacks($node), $before + 1, "$set which is a fallback");
	$session->quit;
	wait_for_gpusortd($node);
	nothing_is_left($node, "$set gpusortd killed between two turns");
}

# With both parts lost, that which was read and that which was sent meanwhile.
$node->safe_psql('postgres', q(CREATE FUNCTION gate_of_rank(rank bigint, at bigint) RETURNS boolean PARALLEL RESTRICTED LANGUAGE plpgsql AS 'BEGIN IF rank = at THEN PERFORM pg_advisory_xact_lock_shared(1); END IF; RETURN true; END'));
foreach my $set (PARALLEL, PARALLEL . IN_FILES)
{
	my $first = first_rows(takes_turns($set, WIDE, "$set turns"));
	my $before = fallbacks($node);
	my $digest = sub { "SELECT md5(string_agg(id || t || alike, ',')) FROM (SELECT row_number() OVER () AS rank, o.* FROM (@{[WIDE]}, id OFFSET 0) o) r WHERE gate_of_rank(rank, $_[0])" };
	my $session = while_feeding($node, "$set " . $digest->($first), sub { kill_gpusortd($node) });
	my $expected = $node->safe_psql('postgres', 'SET gpusort.mode = off;' . $digest->(0));
	like($session->query('SELECT 1'), qr/^\Q$expected\E$/m, "$set gpusortd is killed at a turn's last row: right rows");
	is($session->{stderr}, '', "$set and no error");
	$session->quit;
	is(fallbacks($node), $before + 1, "$set which is one fallback");
	wait_for_gpusortd($node);
	nothing_is_left($node, "$set gpusortd killed at a turn's last row");
}

# In the middle of one it can't, be it the first or a later one.
foreach my $case ([ '', 0 ], [ '', 1 ], [ PARALLEL, 1 ])
{
	my ($set, $turns) = @$case;
	my $at = 10 + $turns * first_rows(takes_turns($set, 'DECLARE c NO SCROLL CURSOR FOR ' . WIDE, "$set turns"));
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe("$set BEGIN; DECLARE c NO SCROLL CURSOR FOR " . WIDE);
	$session->query("MOVE $at IN c");
	kill_gpusortd($node);
	$session->query('MOVE 40000 IN c');
	like($session->{stderr}, qr/^[^\n]*ERROR:  the sort on device "cuda" could not be completed\nDETAIL:  Reason: .+\.\nHINT:  Some rows were already returned/, "$set one clear error at row $at, in the middle of a turn");
	unlike($session->{stderr}, qr/ERROR.*ERROR/s, 'and no other');
	$session->{stderr} = '';
	$session->quit;
	wait_for_gpusortd($node);
}

# The device is lost at a call of gpusortd's.
foreach my $call (4, 7, 10, 15, 25, 40, 80)
{
	serve($node, 'gpusortd_options' => "$options --fault lost:$call");
	foreach my $set (@ways)
	{
		is($node->safe_psql('postgres', "$set SELECT digest('SELECT * FROM s', 'i8, id', 'i8, id')"), $right{'SELECT * FROM s i8, id'}, "$set a device that is lost at call $call: right rows");
	}
}
unlike(slurp_file($node->logfile), qr/was terminated by signal (?!9)|PANIC|TRAP/, 'the server never crashed');
unlike(slurp_file($node->logfile), qr/leak: |was not closed/, 'no process left a file open that its sort had opened');

$node->stop;
done_testing();
