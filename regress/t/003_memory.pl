# A thousand sorts in one session do not grow its memory, nor 20000 rescans of one; a sort keeps to its limit;
# running out of memory is one error.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', 'shared_buffers = 128MB', 'max_connections = 20');
create_rows($node, 5000);

# A round of ten sorts of all kinds, one of them failing half way; errors are caught so that the memory of a
# failed sort counts.
$node->safe_psql('postgres', <<'EOT');
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE FUNCTION sorts(times int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	query text;
	queries text[] := ARRAY[
		'SELECT * FROM r ORDER BY k', 'SELECT * FROM r ORDER BY t', 'SELECT * FROM r ORDER BY t COLLATE "und-x-icu" DESC', 'SELECT * FROM r ORDER BY id % 10, k DESC, id',
		'SELECT * FROM r ORDER BY upper(t) COLLATE ignore_case', 'SELECT id FROM r ORDER BY k::numeric', 'SELECT DISTINCT ON (k % 1000) * FROM r ORDER BY k % 1000, t', 'SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY t ORDER BY k) AS n FROM r) s WHERE n <= 3', 'SELECT 1 / (id - 2500) FROM r ORDER BY t',
		'SELECT * FROM generate_series(1, 3) AS g, LATERAL (SELECT * FROM r WHERE id % 3 < g ORDER BY k OFFSET 0) s'];
BEGIN
	FOR i IN 1 .. times LOOP
		query := queries[i % cardinality(queries) + 1];
		PERFORM set_config('gpusort.work_mem', CASE WHEN i / cardinality(queries) % 2 = 0 THEN '64kB' ELSE '64MB' END, true);
		BEGIN
			EXECUTE format('SELECT count(*) FROM (%s OFFSET 0) s', query);
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	END LOOP;
END $$;
EOT

sub memory_of
{
	my ($pid) = @_;
	my ($pages) = (split / /, slurp_file("/proc/$pid/statm"))[1];
	return $pages * 4;
}

my $session = $node->background_psql('postgres');
my $pid = $session->query('SELECT pg_backend_pid()');
my $contexts = 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts';
$session->query_safe('SELECT sorts(50)') for 1 .. 2;
my ($rss_100, $contexts_100) = (memory_of($pid), $session->query($contexts));
$session->query_safe('SELECT sorts(50)') for 1 .. 18;
my ($rss_1000, $contexts_1000) = (memory_of($pid), $session->query($contexts));
cmp_ok($rss_1000 - $rss_100, '<', 4096, "resident memory after 100 sorts: $rss_100 kB, after 1000: $rss_1000 kB");
cmp_ok($contexts_1000 - $contexts_100, '<', 65536, "memory contexts after 100 sorts: $contexts_100 bytes, after 1000: $contexts_1000");
is($session->query("SELECT count(*) FROM pg_backend_memory_contexts WHERE name ILIKE '%gpusort%'"), '0', 'no memory context of a sort is left');
# The same in one transaction, where nothing is released by its end.
$session->query_safe('BEGIN');
$session->query_safe('SELECT sorts(100)');
my $rss_before = memory_of($pid);
$session->query_safe('SELECT sorts(300)');
cmp_ok(memory_of($pid) - $rss_before, '<', 4096, 'resident memory does not grow within a transaction');
$session->query_safe('COMMIT');
is(join(' ', temporary_files($node)), '', 'no temporary files');
$session->quit;

# What a node holds while its query runs does not grow with the rows of its input, though the children of a
# MergeAppend return slots of two kinds by turns.
$node->safe_psql('postgres', <<'EOT');
CREATE TABLE parted (a int, b int) PARTITION BY HASH (a);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT i, hashint4(i) FROM generate_series(1, 20000) AS i;
CREATE INDEX ON parted (a);
VACUUM ANALYZE parted;
EOT

# Bytes that a query holds when so many of its rows were returned, but for what is being sorted.
sub held_after
{
	my ($rows, $query) = @_;
	return $node->safe_psql('postgres', "SET enable_seqscan = off; BEGIN; DECLARE c CURSOR FOR $query; MOVE $rows IN c;" .
		q(SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name NOT IN ('GpuSort cpu device', 'GpuSort memory')));
}
my $alternating = 'SELECT * FROM (SELECT a, b + 1 AS b FROM parted ORDER BY a LIMIT %d) s ORDER BY b';
like($node->safe_psql('postgres', 'SET enable_seqscan = off; EXPLAIN ' . sprintf($alternating, 20000)), qr/GpuSort.*Merge Append/s, 'a sort over a MergeAppend');
my ($held_few, $held_many) = map { held_after(1, sprintf($alternating, $_)) } 1000, 20000;
cmp_ok($held_many - $held_few, '<', 65536, "held with 1000 rows: $held_few bytes, with 20000: $held_many");

# Windows hold as much in the last partition as in an early one, and at the end of a long partition as at its
# begin.
foreach my $frame ('', 'ROWS UNBOUNDED PRECEDING')
{
	foreach my $partition ('PARTITION BY a / 10', '')
	{
		my $calls = q(lag(t, 3) OVER w, lead(t, 2) OVER w, nth_value(t, 2) OVER w, last_value(t) OVER w, max(t) OVER w, avg(a::numeric) OVER w);
		$calls .= ', array_agg(t) OVER w' if $partition ne '';
		my $query = "SELECT $calls FROM (SELECT a, lpad(a::text, 100, '0') AS t FROM parted OFFSET 0) s WINDOW w AS ($partition ORDER BY a $frame)";
		like($node->safe_psql('postgres', "EXPLAIN $query"), qr/GpuWindow/, "a GpuWindow: $partition $frame");
		my ($early, $late) = map { held_after($_, $query) } 1000, 19000;
		cmp_ok($late - $early, '<', 65536, "held after 1000 rows: $early bytes, after 19000: $late");
	}
}

# Values of ever other lengths take about their own bytes: a million of the last hundred.
my $longer = q(SELECT lag(t, 100) OVER w FROM (SELECT a, repeat('x', a / 2) AS t FROM parted OFFSET 0) s WINDOW w AS (ORDER BY a));
my ($short, $long) = map { held_after($_, $longer) } 200, 19900;
cmp_ok($long - $short, '<', 1_300_000, "held with short values: $short bytes, with long ones: $long");

# Nor do memory, files and mappings grow with the times that a sort is executed again: with other parameters,
# to the end or to its first rows; with the same ones, from memory and from files.
use constant { RESCANS => 20000, RESCANS_OF_FILES => runs_all() ? 20000 : 200 };
$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION gpusort;
CREATE TABLE few AS SELECT i AS a, hashint4(i) AS b, md5(i::text) AS t FROM generate_series(1, 20) AS i;
CREATE TABLE many AS SELECT i AS a, hashint4(i) AS b, repeat(md5(i::text), 100) AS t FROM generate_series(1, 300) AS i;
ANALYZE few, many;
EOT
foreach my $case (
	[ 'in a subquery', RESCANS, 'SELECT ARRAY(SELECT a + 1 FROM few WHERE a < g % 3 + 15 ORDER BY b) FROM times' ],
	[ 'beside each row', RESCANS, 'SELECT s.a FROM times, LATERAL (SELECT * FROM few WHERE a < g % 3 + 2 ORDER BY t DESC OFFSET 0) s' ],
	[ 'the first of each group', RESCANS, 'SELECT s.a FROM times, LATERAL (SELECT DISTINCT ON (a % 7) a, b FROM few WHERE a < g % 3 + 15 ORDER BY a % 7, b) s' ],
	[ 'left early', RESCANS, 'SELECT s.a FROM times, LATERAL (SELECT * FROM few WHERE a < g % 3 + 5 ORDER BY t OFFSET 1 LIMIT 1) s' ],
	[ 'rewound', RESCANS, 'SELECT s.a FROM times LEFT JOIN (SELECT * FROM few WHERE a < 3 ORDER BY b OFFSET 0) s ON s.a <> -g' ],
	[ 'through files', RESCANS_OF_FILES, 'SELECT s.a, length(s.t) FROM times, LATERAL (SELECT a, t || b AS t FROM many WHERE a > g % 3 ORDER BY b OFFSET 290) s' ],
	[ 'rewound in files', RESCANS_OF_FILES, 'SELECT s.a, length(s.t) FROM times LEFT JOIN (SELECT a, t || b AS t FROM many ORDER BY b OFFSET 290) s ON s.a <> -g' ])
{
	my ($what, $rescans, $query) = @$case;
	my $session = $node->background_psql('postgres');
	my $pid = $session->query('SELECT pg_backend_pid()');
	my $spills = "SELECT spills FROM pg_stat_gpusort WHERE device = 'cpu'";
	my ($before) = $session->query($spills);
	my @held;

	$query =~ s/\btimes\b/generate_series(1, $rescans) AS times(g)/;
	my $rows = $session->query("SET gpusort.mode = off; SELECT count(*) FROM ($query) s");
	$session->query_safe(q(SET gpusort.mode = force; SET gpusort.work_mem = '64kB'; SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_memoize = off));
	like($session->query("EXPLAIN $query"), qr/GpuSort/, "$what: a GpuSort");
	$session->query_safe("BEGIN; DECLARE c CURSOR FOR $query");
	foreach my $share (0.1, 0.8)
	{
		$session->query_safe('MOVE ' . int($share * $rows) . ' IN c');
		push @held, [ scalar($session->query("$contexts WHERE name NOT IN ('GpuSort cpu device', 'GpuSort memory')")), memory_of($pid), held_by($node, $pid) ];
	}
	cmp_ok($held[1][0] - $held[0][0], '<', 65536, "$what: $held[0][0] bytes after a tenth of $rescans rescans, $held[1][0] after nine");
	cmp_ok($held[1][1] - $held[0][1], '<', 2048, "resident memory $held[0][1] kB, $held[1][1] kB");
	is($held[1][2], $held[0][2], 'the same files and mappings');
	$session->query_safe('MOVE ALL IN c; COMMIT');
	cmp_ok($session->query($spills) - $before, $what =~ /files/ ? '>' : '==', 0, $what =~ /files/ ? 'out of files' : 'in memory');
	$session->quit;
}

# The memory of a sort stays within its limit: the peak of the process grows by not much more.
$node->safe_psql('postgres', 'DROP TABLE r');
create_rows($node, 400000);

sub status_field
{
	my ($pid, $field) = @_;
	my ($kb) = slurp_file("/proc/$pid/status") =~ /^$field:\s+(\d+) kB/m;
	return $kb;
}

# Megabytes by which the peak of a session's memory grows in a sort of the whole table.  The session has
# touched all shared buffers of the table before, so that what grows is its own.
sub peak_growth
{
	my ($limit_mb, $query) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = $session->query('SELECT pg_backend_pid()');
	$session->query_safe("SET gpusort.work_mem = '1MB'; SELECT count(*) FROM (SELECT * FROM r ORDER BY k OFFSET 0) s; SELECT count(t) FROM r");
	$session->query_safe("SET gpusort.work_mem = '${limit_mb}MB'");
	# Sets the high-water mark to what is resident now.
	append_to_file("/proc/$pid/clear_refs", '5');
	my $before = status_field($pid, 'VmHWM');
	$session->query_safe($query);
	my $peak = status_field($pid, 'VmHWM');
	$session->quit;
	return ($peak - $before) / 1024;
}

# A kernel counts a process's pages on each processor apart, and adds them up from time to time: with many
# processors some megabytes are not counted yet.
my $processors = () = slurp_file('/proc/cpuinfo') =~ /^processor\s*:/mg;
my $uncounted = $processors > 16 ? 4 : 0;

foreach my $case ([ 4, 'k', 'k' ], [ 8, 't, k', 'k' ], [ 32, 't, k', 'k' ], [ 8, 't', 't' ], [ 32, 't', 't' ], [ 128, 't', 't' ])
{
	my ($limit, $columns, $key) = @$case;
	my $growth = peak_growth($limit, "SELECT count(*) FROM (SELECT $columns FROM r ORDER BY $key OFFSET 0) s WHERE s IS NOT NULL");
	cmp_ok($growth, '<', $limit * 1.1 + 2, sprintf('%s ORDER BY %s with %d MB: %.1f MB', $columns, $key, $limit, $growth));
	cmp_ok($growth, '>', $limit * 0.5 - $uncounted, 'which it makes use of') if $limit < 64;
}

# What PostgreSQL's sort of values needs, 24 bytes a row, is enough where the rows are their keys.
cmp_ok(peak_growth(1024, 'SELECT count(*) FROM (SELECT k FROM r ORDER BY k OFFSET 0) s'), '<', 400000 * 32 / 1048576 + 2, 'keys alone');

# Out of memory: an address space too small for the sort.
SKIP:
{
	my $postmaster = (lines_of(slurp_file($node->data_dir . '/postmaster.pid')))[0];
	skip 'no prlimit here', 6 if system_log('prlimit', '--version') != 0;
	system_or_bail('prlimit', '--pid', $postmaster, '--as=' . (status_field($postmaster, 'VmSize') + 40000) * 1024);
	foreach my $key ('k', 't', 't COLLATE "und-x-icu"')
	{
		my ($status, $out, $err) = $node->psql('postgres', <<"EOT", on_error_stop => 0);
SET gpusort.work_mem = '4GB';
SELECT count(t) FROM (SELECT * FROM r a ORDER BY $key OFFSET 0) s;
SET gpusort.work_mem = '4MB';
SELECT count(t) FROM (SELECT * FROM r a ORDER BY $key OFFSET 0) s;
EOT
		like($err, qr/ERROR:  out of memory/, "ORDER BY $key: out of memory");
		is($out, '400000', 'and with less memory the session works on');
	}
}
$node->stop;
done_testing();
