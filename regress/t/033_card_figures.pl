# What is told of sorts on a card, by EXPLAIN, the counters, the progress and gpusort_devices(): exact
# figures, in gpusortd's layer in host memory.  Only a change of what a sort keeps, sends, writes or asks for
# changes them.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'gpusortd is not installed (make gpusortd)' unless gpusortd_is_installed();

use constant ROWS => 20000;
use constant PARALLEL => 'SET max_parallel_workers_per_gather = 2;';

my $options = '--host-memory-layer --chunk-size 64k --chunks 4';
my $node = start_node(
	'main', "shared_preload_libraries = 'gpusort'", "gpusort.gpusortd_options = '$options'", "gpusort.devices = '0'", 'gpusort.service_timeout = 0',
	'gpusort.backend = cuda', 'gpusort.mode = force', "gpusort.work_mem = '16MB'", "gpusort.max_device_memory = '3MB'", 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', 'synchronize_seqscans = off', 'autovacuum = off');

# As many rows as ANALYZE looks at: widths and numbers of rows are expected to be what they are.
$node->safe_psql('postgres', <<"EOT");
CREATE EXTENSION gpusort;
CREATE TABLE c AS SELECT i AS id, hashint8extended(i, 0) AS k, (hashint4(i) & 63) AS g, md5(i::text) COLLATE "C" AS t, (hashint4(i) & 1023)::text COLLATE "C" AS w FROM generate_series(1, @{[ROWS]}) AS i;
ALTER TABLE c SET (parallel_workers = 2);
VACUUM ANALYZE c;
CREATE TABLE old AS SELECT i AS id, i::int8 AS k, md5(i::text) AS pad FROM generate_series(1, 1000) AS i;
ANALYZE old;
CREATE TABLE n AS SELECT CASE WHEN i % 4 > 0 THEN hashint8extended(i, 0) END AS k, md5(i::text) AS t, md5(i::text) AS u FROM generate_series(1, @{[ROWS]}) AS i;
ANALYZE n;
INSERT INTO old SELECT i, 3000 - i, md5(i::text) FROM generate_series(1001, 30000) AS i;
CREATE FUNCTION figures(query text) RETURNS SETOF text LANGUAGE plpgsql AS \$\$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT concat_ws(', ', node ->> 'Sort Method', node ->> 'Device', (node ->> 'Peak Memory') || ' kB', 'disk ' || nullif(node ->> 'Disk Usage', '0'),
		'runs ' || nullif(node ->> 'Runs', '0') || ' merges ' || (node ->> 'Merge Passes'), 'bound ' || (node ->> 'Bound'), 'first ' || (node ->> 'Rows of Each Group'), 'dropped ' || (node ->> 'Rows Dropped'),
		'on card ' || (node ->> 'Device Memory'), 'in ' || (node ->> 'Transferred In'), 'out ' || (node ->> 'Transferred Out'),
		'turns ' || (node ->> 'Turns') || ' waited ' || (node ->> 'Rows Waited') || ' on disk ' || (node ->> 'Waited On Disk'), 'processes ' || nullif(node ->> 'Processes', '1'))
	FROM jsonb_path_query(plan, 'strict \$.** ? (@."Custom Plan Provider" == "GpuSort")') AS node;
END \$\$;
-- At some rows, when they are read: the phase of this process's sort, and the memory of the card that is set aside.
CREATE FUNCTION told(id int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS \$\$
DECLARE
	told text;
BEGIN
	IF id IN (1, 19990) THEN
		SELECT p.device || ' ' || phase || CASE WHEN id = 1 THEN ', ' || (SELECT (max_memory - free_memory) / 1024 FROM gpusort_devices() AS d WHERE d.device LIKE 'cuda%') ELSE '' END
		FROM pg_stat_progress_gpusort AS p WHERE pid = pg_backend_pid() INTO told;
		RAISE NOTICE 'told %', told;
	END IF;
	RETURN true;
END \$\$;
EOT
wait_for_gpusortd($node);

# ---- by one process ----

sub figures
{
	my ($set, $query) = @_;
	return join ' | ', lines_of($node->safe_psql('postgres', "$set SET enable_hashjoin = off; SET enable_nestloop = off; SELECT figures(\$\$$query\$\$)"));
}

# What was told while the rows of table c were read.
sub told
{
	my ($set, $query) = @_;
	my $reading = $query =~ s/FROM (\w+)( WHERE)?/"FROM $1 WHERE told(id)" . ($2 ? ' AND' : '')/er;
	my (undef, undef, $err) = $node->psql('postgres', "$set SELECT count(*) FROM ($reading OFFSET 0) AS s");
	return join '; ', $err =~ /NOTICE:  told (.*)/g;
}

foreach my $case (split /\n\n/, <<'EOT')
SELECT * FROM c WHERE id <= 5000 ORDER BY k
	sample sort, cuda, 256 kB, on card 686, in 505, out 387
	the same
	cuda reading input, 298

SELECT * FROM c WHERE id <= 5000 ORDER BY t
	string sort, cuda, 256 kB, on card 769, in 700, out 387
	the same
	cuda reading input, 330

SELECT id FROM c WHERE id <= 900 ORDER BY k
	sample sort, cuda, 157 kB, on card 135, in 50, out 29
	the same
	cuda reading input, 86

SELECT id FROM c WHERE id <= 900 ORDER BY w
	string sort, cuda, 150 kB, on card 117, in 50, out 22
	the same
	cuda reading input, 81

SELECT * FROM c WHERE id < 0 ORDER BY k
	sample sort, cuda, 128 kB, on card 64, in 0, out 0
	the same

SELECT * FROM c ORDER BY k LIMIT 100
	sample sort, cuda, 256 kB, bound 100, dropped 18608, on card 238, in 141, out 64
	the same
	cuda reading input, 281; cuda reading input

SELECT * FROM c ORDER BY t LIMIT 1000
	string sort, cuda, 256 kB, bound 1000, dropped 15925, on card 639, in 571, out 128
	the same
	cuda reading input, 691; cuda reading input

SELECT * FROM c ORDER BY k LIMIT 15000
	sample sort, cuda, 256 kB, bound 15000, dropped 552, on card 2481, in 1961, out 1216
	the same

SELECT * FROM c ORDER BY g FETCH FIRST 10 ROWS WITH TIES
	sample sort, cuda, 128 kB, bound 10, dropped 18694, on card 217, in 122, out 64
	the same
	cuda reading input, 209; cuda reading input

SELECT DISTINCT ON (g) * FROM c ORDER BY g, k
	sample sort, cuda, 288 kB, first 1, dropped 19591, on card 115, in 42, out 32
	the same

SELECT DISTINCT ON (k) * FROM c ORDER BY k, g
	sample sort, cuda, 1280 kB, first 1, dropped 0, on card 2549, in 2017, out 1548
	sample sort, cuda, 512 kB, first 1, dropped 0, on card 2549, in 2017, out 1548

SELECT DISTINCT ON (t) * FROM c ORDER BY t, k
	string sort, cuda, 5883 kB, first 1, dropped 0, on card 1571, in 2954, out 1548, turns 2 waited 10001 on disk 0
	string sort, cuda, 897 kB, disk 1160, first 1, dropped 0, on card 1571, in 2954, out 1548, turns 2 waited 10001 on disk 1160

SELECT * FROM c ORDER BY k
	sample sort, cuda, 256 kB, on card 2549, in 2017, out 1548
	the same

SET gpusort.algorithm = radix; SELECT * FROM c ORDER BY k
	radix sort, cuda, 256 kB, on card 2549, in 2017, out 1548
	the same

SET gpusort.algorithm = bucket; SELECT * FROM c ORDER BY g, id
	bucket sort, cuda, 256 kB, on card 2549, in 2017, out 1548
	the same

SELECT * FROM c ORDER BY w, t
	string sort, cuda, 1667 kB, on card 1522, in 2798, out 1548, turns 2 waited 9992 on disk 0
	string sort, cuda, 769 kB, disk 952, on card 1522, in 2798, out 1548, turns 2 waited 9992 on disk 952

SELECT * FROM c ORDER BY t, k
	string sort, cuda, 1795 kB, on card 1571, in 2954, out 1548, turns 2 waited 10001 on disk 0
	string sort, cuda, 769 kB, disk 1032, on card 1571, in 2954, out 1548, turns 2 waited 10001 on disk 1032

SELECT c.*, t AS more FROM c ORDER BY k
	sample sort, cuda, 1603 kB, on card 1626, in 2655, out 2186, turns 2 waited 10001 on disk 0
	sample sort, cuda, 769 kB, disk 882, on card 1626, in 2655, out 2186, turns 2 waited 10001 on disk 882

SELECT c.*, t AS more, t AS another FROM c ORDER BY t
	string sort, cuda, 2308 kB, on card 2106, in 4063, out 2813, turns 2 waited 10001 on disk 0
	string sort, cuda, 769 kB, disk 1587, on card 2106, in 4063, out 2813, turns 2 waited 10001 on disk 1587

SELECT * FROM n ORDER BY k
	sample sort, cuda, 1411 kB, on card 1478, in 2305, out 1836, turns 2 waited 9951 on disk 0
	sample sort, cuda, 769 kB, disk 681, on card 1478, in 2305, out 1836, turns 2 waited 9951 on disk 681

SELECT * FROM old ORDER BY k
	external merge, cuda, 2563 kB, disk 1416, runs 2 merges 1, on card 3026, in 2557, out 1918, turns 2 waited 4766 on disk 0
	external merge, cuda, 1205 kB, disk 1420, runs 4 merges 1, on card 3022, in 2557, out 1918, turns 2 waited 4766 on disk 4

SET gpusort.max_sort_device_memory = '1MB'; SELECT * FROM c ORDER BY k
	sample sort, cuda, 1795 kB, on card 686, in 2017, out 1548, turns 4 waited 15001 on disk 0
	sample sort, cuda, 897 kB, disk 1067, on card 686, in 2017, out 1548, turns 4 waited 15001 on disk 1067
	cuda reading input, 532; cuda reading input

SET gpusort.max_sort_device_memory = '1MB'; SELECT * FROM c ORDER BY k + 1
	external merge, cuda, 4099 kB, disk 1487, runs 4 merges 1, on card 998, in 1661, out 1303
	external merge, cuda, 879 kB, disk 1487, runs 6 merges 1, on card 998, in 1661, out 1303
	cuda reading input, 768; cuda reading input

SET gpusort.max_sort_device_memory = '600kB'; SELECT * FROM c ORDER BY t, k + 1
	string sort, cuda, 2821 kB, on card 698, in 3110, out 1704, turns 5 waited 16001 on disk 0
	string sort, cuda, 923 kB, disk 2033, on card 698, in 3110, out 1704, turns 5 waited 16001 on disk 2033
	cuda reading input, 653; cuda reading input

SELECT c.* FROM c, generate_series(1, 4) ORDER BY k + 1
	external merge, cuda, 5124 kB, disk 5855, runs 5 merges 1, on card 3019, in 7923, out 6214
	external merge, cuda, 911 kB, disk 5855, runs 8 merges 1, on card 3019, in 7923, out 6214

SELECT c.* FROM c, generate_series(1, 4) ORDER BY t || k
	external merge, cuda, 8199 kB, disk 8774, runs 8 merges 1, on card 3004, in 14971, out 9213
	external merge, cuda, 940 kB, disk 8774, runs 11 merges 1, on card 3004, in 14971, out 9213

SELECT id, k, CASE WHEN id % 2000 = 0 THEN repeat(t, 3000) END FROM c ORDER BY k
	external merge, cuda, 3286 kB, disk 1290, runs 2 merges 1, on card 555, in 344, out 197
	external merge, cuda, 816 kB, disk 1290, runs 3 merges 1, on card 1626, in 1094, out 625
	cuda reading input, 767; cuda reading input

SELECT id, CASE WHEN id % 500 = 0 THEN repeat(t, 3000) END FROM c WHERE id <= 5000 ORDER BY k
	external merge, cuda, 2144 kB, disk 1026, runs 2 merges 1, on card 181, in 82, out 47
	external merge, cuda, 816 kB, disk 1026, runs 3 merges 1, on card 454, in 273, out 156
	cuda reading input, 239

SELECT c.*, CASE WHEN id % 2000 = 0 THEN repeat(t, 3000) END FROM c ORDER BY t
	external merge, cuda, 3934 kB, disk 3029, runs 4 merges 2, on card 1472, in 2797, out 1547, turns 2 waited 10006 on disk 941
	external merge, cuda, 1363 kB, disk 4007, runs 4 merges 2, on card 1472, in 2797, out 1547, turns 2 waited 10006 on disk 1919

SELECT count(*) FROM (SELECT * FROM c WHERE id <= 3000 OFFSET 0) AS a JOIN c AS b ON a.g = b.g AND b.id < 1000
	sample sort, cuda, 152 kB, on card 127, in 40, out 24 | sample sort, cuda, 256 kB, on card 252, in 118, out 78
	the same
EOT
{
	my ($query, $enough, $little, $told) = split /\n\t?/, $case;
	my $set = $query =~ s/^((?:SET [^;]*;\s*)*)// ? $1 : '';

	is(figures($set, $query), $enough, "$set$query");
	is(figures("$set SET gpusort.work_mem = '1MB';", $query), $little eq 'the same' ? $enough : $little, "$set$query, with little memory");
	is(told($set, $query), $told, "$set$query, while rows are read") if defined $told && $told ne '';
}

# What the counters have of all these.
is($node->safe_psql('postgres', q(SELECT sorts, parallel_sorts, index_builds, rows, bytes, spills, temp_bytes, fallbacks, device_time > 0 FROM pg_stat_gpusort WHERE device = 'cuda')),
	'74|0|0|1378398|138827416|24|56026802|0|t', 'the counters of all these');
is($node->safe_psql('postgres', 'SELECT waits, given_up FROM pg_stat_gpusort_queue'), '0|0', 'nothing waited for the only session');
nothing_is_left($node, 'by one process');

# What gpusort_check expects.
foreach my $case (
	[ '', 'SELECT id FROM c WHERE id <= 900 ORDER BY k', "device cuda, 1 process, about 91 kB of a card's memory, no temporary files" ],
	[ '', 'SELECT * FROM c WHERE id <= 5000 ORDER BY t', "device cuda, 1 process, about 938 kB of a card's memory, no temporary files" ],
	[ '', 'SELECT * FROM c ORDER BY k LIMIT 100', "device cuda, 1 process, about 186 kB of a card's memory, no temporary files" ],
	[ '', 'SELECT * FROM c ORDER BY t, k', "device cuda, 1 process, about 3.0 MB of a card's memory, about 1.4 MB of temporary files; in 2 parts, one after the other: a GPU has no room for all rows" ],
	[ PARALLEL, 'SELECT * FROM c ORDER BY t, k', "device cuda, 3 processes, about 3.0 MB of a card's memory, about 1.8 MB of temporary files; in 3 parts, one after the other: a GPU has no room for all rows" ],
	[ "SET gpusort.max_sort_device_memory = '1MB';", 'SELECT k FROM c ORDER BY k', "device cuda, 1 process, about 1.0 MB of a card's memory, about 625 kB of temporary files; in 3 parts, one after the other: a GPU has no room for all rows" ])
{
	my ($set, $query, $how) = @$case;
	is($node->safe_psql('postgres', "$set SELECT how FROM gpusort_check('$query')"), $how, "$set how gpusort_check expects it: $query");
}

# A sort does not wait for memory that the session itself has.
my $cursor = 'BEGIN; DECLARE holder CURSOR FOR SELECT * FROM c ORDER BY k; MOVE 10 FROM holder;';
like(figures($cursor, 'SELECT * FROM c ORDER BY w'), qr/ cpu, /, 'a sort beside one that has the memory of the card');
is($node->safe_psql('postgres', 'SELECT waits, given_up FROM pg_stat_gpusort_queue'), '0|0', 'does not wait');
is($node->safe_psql('postgres', "$cursor SET gpusort.max_device_sorts = 1; SELECT figures('SELECT * FROM c WHERE id < 100 ORDER BY w'); CLOSE holder; SELECT figures('SELECT * FROM c WHERE id < 100 ORDER BY w')") =~ s/, \d+ kB.*//gr, "string sort, cpu\nstring sort, cuda", 'nor has a session more sorts than it may');

# A small result is the session's own, and leaves the card.
foreach my $case ([ 900, 0 ], [ 5000, 1 ])
{
	my ($rows, $jobs) = @$case;
	# gpusortd may notice a moment later that a connection is closed
	my $until = "DO \$\$ BEGIN FOR i IN 1 .. 1000 LOOP EXIT WHEN (SELECT sum(jobs) = $jobs FROM gpusort_devices()); PERFORM pg_sleep(0.01); END LOOP; END \$\$;";
	is($node->safe_psql('postgres', "BEGIN; DECLARE reader CURSOR FOR SELECT id FROM c WHERE id <= $rows ORDER BY k; MOVE 10 FROM reader; $until SELECT sum(jobs) FROM gpusort_devices()"), $jobs, "jobs while $rows rows are read");
}

# ---- by several processes ----

$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');

# Whatever each of them reads, the card has the same: rows are counted once.  Tables of values (w) are larger
# with several.
foreach my $query ('SELECT * FROM c ORDER BY k', 'SELECT * FROM c ORDER BY w', 'SELECT * FROM c WHERE id <= 5000 ORDER BY t', 'SELECT id FROM c WHERE id <= 900 ORDER BY k')
{
	my ($alone, $together) = map { figures($_, $query) =~ s/(, cuda), \d+ kB/$query =~ m!w$! ? $1 : $&/er } '', PARALLEL;

	like($together, qr/, processes [23]$/, "$query by several processes");
	is($together =~ s/, processes \d//r, $alone, 'the same is sent and returned');
}
foreach my $memory ('16MB', '1MB')
{
	my $together = figures("SET gpusort.work_mem = '$memory'; " . PARALLEL, 'SELECT * FROM c ORDER BY t, k');

	like($together, qr/^string sort, cuda, .*in 2954, out 1548, turns 3 waited 134\d\d on disk/, "parts in turns by several processes, $memory");
	# While a part is read the next one is there, too.
	my ($device_memory) = $together =~ /on card (\d+)/;
	cmp_ok($device_memory, '>', 1800, "memory of two parts: $device_memory kB");
}
# Their runs have as much memory as is each one's: if only one worker of two can be started, it has a third,
# too.
my $four_times = 'SELECT c.* FROM c, generate_series(1, 4) ORDER BY k + 1';
like(figures("SET gpusort.work_mem = '1MB'; " . PARALLEL, $four_times), qr/^external merge, cuda, .*disk \d{4}, runs \d\d merges 1, .*processes [23]$/, 'runs of several processes');
is(figures("SET gpusort.work_mem = '4MB'; SET max_parallel_workers = 1; SET parallel_leader_participation = off; " . PARALLEL, $four_times), 'external merge, cuda, 3725 kB, disk 6250, runs 10 merges 1, on card 3019, in 2431, out 1907', 'runs of one worker of two');
# A part for which there is no room before its turn waits for no other sort.
my $other = $node->background_psql('postgres', on_error_stop => 0);
$other->query_safe('BEGIN; DECLARE holder CURSOR FOR SELECT * FROM c WHERE id <= 12000 ORDER BY k; MOVE 10 IN holder');
like(figures(PARALLEL, 'SELECT * FROM c ORDER BY t, k'), qr/ cuda, .*turns 3 /, 'parts in turns beside another sort');
$other->quit;
is($node->safe_psql('postgres', 'SELECT waits, given_up FROM pg_stat_gpusort_queue'), '0|0', 'still nothing waited');
my ($parallel_sorts, $spills, $fallbacks) = split /\|/, $node->safe_psql('postgres', q(SELECT parallel_sorts, spills, fallbacks FROM pg_stat_gpusort WHERE device = 'cuda'));
like("$parallel_sorts $fallbacks", qr/^[1-9] 0$/, 'several processes count as one sort');
nothing_is_left($node, 'by several processes');

# A sort in turns, two parts of which are on the card, is one of those that a session may have there.
my $inner = 'SELECT count(CASE WHEN id % 1000 = 0 THEN (SELECT count(k) FROM (SELECT k FROM c AS i WHERE i.id <= 500 + o.id % 7 ORDER BY k OFFSET 0) AS s) END) FROM (SELECT * FROM c ORDER BY t, k OFFSET 0) AS o';
foreach my $most (1, 2)
{
	$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
	is($node->safe_psql('postgres', PARALLEL . "SET gpusort.max_device_sorts = $most; $inner"), '20', "sorts while rows of another one are read, $most at a time");
	is($node->safe_psql('postgres', q(SELECT device, sorts, fallbacks FROM pg_stat_gpusort WHERE device IN ('cpu', 'cuda') ORDER BY 1)), $most == 1 ? "cpu|20|0\ncuda|1|20" : "cpu|0|0\ncuda|21|0", 'where they are');
}

# Workers that find no chunks of gpusortd's write runs of their own.
serve($node, 'gpusortd_options' => '--host-memory-layer --chunk-size 16M --chunks 2', 'staging_memory' => '32MB');
foreach my $query ('SELECT * FROM c ORDER BY k', 'SELECT * FROM c ORDER BY w')
{
	my $digest = "SELECT count(*), md5(string_agg(id || t || k, ',')) FROM ($query, id OFFSET 0) AS s";
	is($node->safe_psql('postgres', PARALLEL . "SET parallel_leader_participation = off; $digest"), $node->safe_psql('postgres', "SET gpusort.mode = off; $digest"), "$query: workers without chunks");
	# One of them has the last chunk, and may be the only one that comes in time.
	my $figures = '';
	for (my $attempt = 0; $attempt < 100 && $figures !~ /runs/; $attempt++) { $figures = figures(PARALLEL . 'SET parallel_leader_participation = off;', $query) }
	like($figures, qr/^external merge, cuda, .*runs [1-9]/, 'write runs');
}

# ---- times ----

# Each call of the device takes 20 ms: one for each chunk and sort, two for each window that is returned.
use constant CALL_MS => 20;
serve($node, 'gpusortd_options' => "$options --fault slow:@{[CALL_MS]}", 'staging_memory' => '1GB');
foreach my $case (
	[ '', 'SELECT * FROM c WHERE id <= 5000 ORDER BY k', { Transfer => 8, Sort => 1, Gather => 12, Return => 12 } ],
	[ "SET gpusort.work_mem = '1MB';", 'SELECT * FROM c ORDER BY t, k', { Transfer => 45, Sort => 2, Gather => 45, Return => 45 } ],
	[ '', 'SELECT c.* FROM c, generate_series(1, 4) WHERE id <= 12000 ORDER BY k + 1', { Transfer => 75, Sort => 2, Spill => 80, Gather => 100 } ])
{
	my ($set, $query, $calls) = @$case;
	my $plan = $node->safe_psql('postgres', "$set EXPLAIN (ANALYZE, FORMAT JSON) $query");
	my %ms = $plan =~ /"(\w+) Time": ([\d.]+)/g;

	foreach my $stage (sort keys %$calls)
	{
		cmp_ok($ms{$stage}, '>=', $calls->{$stage} * CALL_MS, "$set$query: the time of $calls->{$stage} calls: $stage $ms{$stage} ms");
		cmp_ok($ms{$stage}, '<', $ms{Execution}, 'within that of the query');
	}
	cmp_ok($ms{Spill}, '>', 0, "$set$query: writing to files takes time") if $set;
	my ($sum) = map { $ms{Feed} + $ms{Sort} + $ms{Spill} + $ms{Merge} + $ms{Return} } 1;
	cmp_ok($sum, '<', $ms{Execution} + 1, "$set$query: no time counts in two stages, $sum of $ms{Execution} ms");
}

# ---- a device that is lost ----

# While rows are fed, written or merged, or in some turn: right rows, or one error where some were returned.
my %right;
foreach my $call (30, 55, 90, runs_all() ? (10, 40, 70, 120, 150, 200) : ())
{
	serve($node, 'gpusortd_options' => "$options --fault lost:$call");
	foreach my $case ([ '', 'FROM c, generate_series(1, 3) ORDER BY k + 1' ], [ PARALLEL, 'FROM c, generate_series(1, 3) ORDER BY k + 1' ], [ '', 'FROM c ORDER BY t, k' ], [ PARALLEL . "SET gpusort.work_mem = '1MB';", 'FROM c ORDER BY t, k' ])
	{
		my ($set, $from) = @$case;
		my $digest = "SELECT count(*), md5(string_agg(id || t || k, ',')) FROM (SELECT * $from OFFSET 0) AS s";
		$right{$from} //= $node->safe_psql('postgres', "SET gpusort.mode = off; $digest");
		my ($status, $out, $err) = $node->psql('postgres', "$set $digest");
		my $clear = $err =~ /^psql:<stdin>:1: ERROR:  the sort on device "cuda" could not be completed\nDETAIL:  Reason: .+\.\nHINT:  Some rows were already returned/;
		ok(($status == 0 && $out eq $right{$from}) || ($status != 0 && $clear), "the device is lost at call $call: $set$from") or diag("$out\n$err");
	}
}
nothing_is_left($node, 'at the end');
$node->stop;
done_testing();
