# System calls that fail in some of the processes of a sort: the workers that can't open the memory of the
# others, or map it, or find none, write runs of their own while others sort; or the leader has none to share.
# Rows are right whatever fails where, nobody reports an error, and the server does not fall.
#
# With GPUSORT_TEST_ALL=1 500 statements, by everything that is varied here, for each failure in each kind of
# process.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = `pg_config --pkglibdir`;
chomp $library;
$library .= '/failing_calls.so';
plan skip_all => 'the failing calls are not installed (make -C regress/failing_calls install)' unless -e $library;

my $all = $ENV{GPUSORT_TEST_ALL};
my $statements = $all ? 500 : 0;

my $with_service = gpusortd_is_installed();
my @settings = (
	"shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', 'gpusort.backend = cpu', 'shared_buffers = 64MB', 'autovacuum = off', 'log_statement = none',
	'max_worker_processes = 24', 'max_parallel_workers = 20', 'max_parallel_maintenance_workers = 4', 'restart_after_crash = off',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0', 'enable_memoize = off', 'temp_tablespaces = \'\'');
push @settings, "gpusort.gpusortd_options = '--host-memory-layer'", "gpusort.devices = '0'", 'gpusort.staging_memory = 64MB' if $with_service;

# The server's processes have the library, and no other.
my $node = do {
	local $ENV{LD_PRELOAD} = $library;
	start_node('main', @settings);
};
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
wait_for_gpusortd($node) if $with_service;
create_checked($node);
$node->safe_psql('postgres', <<'EOT');
CREATE FUNCTION slowly_where_calls_fail(int) RETURNS bool IMMUTABLE PARALLEL SAFE STRICT LANGUAGE C AS '$libdir/failing_calls';
CREATE FUNCTION take_all_segments() RETURNS int VOLATILE STRICT LANGUAGE C AS '$libdir/failing_calls';
CREATE FUNCTION changes_nothing(int) RETURNS bool VOLATILE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
CREATE TABLE few AS SELECT i, hashint4(i) AS k, md5(i::text) COLLATE "C" AS s FROM generate_series(1, 1000) AS i;
ALTER TABLE few SET (parallel_workers = 8);
CREATE TABLE many AS SELECT i, hashint4(i) AS k, md5(i::text) COLLATE "C" AS s FROM generate_series(1, 8000) AS i;
ALTER TABLE many SET (parallel_workers = 8);
VACUUM ANALYZE few, many;
-- Says what comes in which order.
CREATE FUNCTION read_by_loop() RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	v text;
	n int := 0;
	digest numeric := 0;
BEGIN
	FOR v IN SELECT s FROM many ORDER BY s LOOP
		n := n + 1;
		digest := digest + hashtextextended(v, n);
	END LOOP;
	RETURN digest;
END $$;
-- Its index is large enough for several processes to load it.
CREATE TABLE wide AS SELECT hashint4(i) AS k, repeat(md5(i::text), 15) AS s FROM generate_series(1, 250000) AS i;
ALTER TABLE wide SET (parallel_workers = 4);
CREATE FUNCTION build(columns text, is_unique bool DEFAULT false, of_table regclass DEFAULT 'many', condition text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('CREATE %s INDEX built ON %s (%s) %s', CASE WHEN is_unique THEN 'UNIQUE' END, of_table, columns, 'WHERE ' || condition);
	result := checked('built');
	DROP INDEX built;
	RETURN result;
END $$;
EOT

# What an order says of a query's only column, v.
sub digest
{
	my ($query) = @_;

	return "SELECT count(*) || ' ' || coalesce(sum(hashtextextended(v::text, n)), 0) FROM (SELECT v, row_number() OVER () AS n FROM ($query OFFSET 0) AS s) AS numbered";
}

# What windows say of rows, in any order.
sub windows
{
	my ($query) = @_;

	return "SELECT count(*) || ' ' || sum(hashtextextended(s::text, 0)) FROM ($query) AS s";
}

# A process that writes runs of its own is slow: all others have sorted by then.  First the sorts for which
# that lasts longest.
my $slow = '(SELECT * FROM few WHERE slowly_where_calls_fail(i)) AS slow';
my $many = 'LATERAL generate_series(1, CASE WHEN i < 200 THEN 400 ELSE 60 END) AS g';
my $some = 'generate_series(1, 20) AS g';
my @queries = (
	digest("SELECT s AS v FROM $slow, $many ORDER BY s, g"),
	digest("SELECT k AS v FROM $slow, $many ORDER BY k, g"),
	# of what others have sorted on demand nothing is asked before the runs are merged
	"SELECT percentile_disc(ARRAY[0, 0.25, 0.5, 1]::float8[]) WITHIN GROUP (ORDER BY s) FROM $slow, $many",
	digest("SELECT s || repeat('x', 300) AS v FROM few, $some ORDER BY s, g"),
	digest("SELECT k || repeat('x', g) AS v FROM $slow, $some ORDER BY k, g LIMIT 100"),
	digest("SELECT s || repeat('x', g) AS v FROM $slow, $some ORDER BY s, g LIMIT 9000"),
	digest("SELECT s AS v FROM generate_series(1, 3) AS n, LATERAL (SELECT s FROM few, $some ORDER BY s, g LIMIT n * 1000) AS sorted"),
	digest("SELECT k AS v FROM generate_series(1, 3) AS n, LATERAL (SELECT k FROM few, $some WHERE i % 3 <> n ORDER BY k, g OFFSET 0) AS sorted"),
	# ranges of one sort, which all processes return that have its memory
	windows("SELECT k, g, lag(s) OVER (PARTITION BY g ORDER BY i) AS v FROM $slow, $some"),
	windows("SELECT k, g, lag(k) OVER (PARTITION BY g % 50 ORDER BY s, g DESC) AS v FROM few, $many"),
	'SELECT read_by_loop()',
	# none at all, by a key that guesses at the order
	digest('SELECT s AS v FROM few WHERE k = 5 AND i < 0 ORDER BY s COLLATE "C.utf8"'),
);
my @builds = (q(SELECT build('s')), q(SELECT build('k, i', true)), q(SELECT build('s, k DESC')), q(SELECT build('s COLLATE "C.utf8"', condition => 'i < 0')));
my $large_build = q(SELECT build('k, s', of_table => 'wide'));

# What is varied with each statement, in turn.
my @variants = map {
	my $with = $_;
	map { ("SET parallel_leader_participation = $with; SET max_parallel_workers_per_gather = $_;") } 3, $all ? 8 : 5
} 'off', 'on';
my @memory = ('64MB', '64MB', '64MB', '1MB');
my @build_memory = ('256MB', '256MB', '4MB');

sub statement
{
	my ($number, @list) = @_;
	my $query = $list[ $number % @list ];
	my $round = int($number / @list);
	my $variant = $variants[ ($number + $round) % @variants ];
	my $memory = $memory[ ($number + int($round / @variants)) % @memory ];
	my $build_memory = $build_memory[ ($number + $round) % @build_memory ];

	return "$variant SET gpusort.work_mem = '$memory'; SET maintenance_work_mem = '$build_memory'; $query;";
}

my %right;
$right{$_} = $node->safe_psql('postgres', "SET gpusort.mode = off; SET max_parallel_workers_per_gather = 0; $_") foreach @queries, @builds, $large_build;

# Statements of the list, all or so many, where these calls fail.
sub check
{
	my ($failing, $settings, $count, @list) = @_;
	my @statements = map { statement($_, @list) } 0 .. $count - 1;
	my (undef, $out, $error) = $node->psql('postgres', join("\n", "SET failing_calls.plan = '$failing'; $settings", @statements), on_error_stop => 0);
	my @rows = split /\n/, $out // '';
	my @wrong = grep { ($rows[$_] // 'nothing') ne $right{ $list[ $_ % @list ] } } 0 .. $count - 1;

	$#wrong = 2 if @wrong > 3;
	is(join("\n", $error, map { "$statements[$_] returns " . ($rows[$_] // 'nothing') } @wrong), '', "$failing: $settings $count statements, all rows are right");
	return;
}

my %processes = $all
  ? (
	open => [ 'first', 'third', 'others', 'workers', 'workers:2' ],
	mmap => [ 'leader', 'leader:2', 'first', 'third', 'others', 'workers' ],
	ftruncate => [ 'leader', 'leader:2', 'leader:3' ],
	memfd_create => [ 'leader', 'leader:2' ],
	provide => [ 'leader', 'leader:3', 'first', 'third', 'others', 'workers', 'workers:2' ])
  : (open => [ 'first', 'third' ], mmap => [ 'leader', 'first', 'others' ], ftruncate => ['leader:2'], memfd_create => ['leader:2'], provide => [ 'leader:3', 'first', 'workers:2' ]);
my @list = (@queries, @builds);
foreach my $call (sort keys %processes)
{
	foreach my $process (@{ $processes{$call} })
	{
		check("$call:$process", '', $statements || scalar(@list), @list);
		check("$call:$process", '', 1, $large_build) if $call eq 'open';
		check("$call:$process", 'SET gpusort.backend = cuda;', $statements || int(@list / 2), @list) if $with_service && ($all || $process =~ /^(first|leader:2)$/);
	}
}

# ---- processes that have nothing ----

# How often a sort of rows that one process has read is this, where workers can't open the memory of the
# others: on the device, and in memory alone.  A worker may be the one, sometimes.
$node->safe_psql('postgres', 'CREATE TABLE page AS SELECT i FROM generate_series(1, 200) AS i; ALTER TABLE page SET (parallel_workers = 2)');
foreach ([ 'cpu', 'workers', 'on' ], $with_service ? ([ 'cuda', 'workers', 'on' ], [ 'cuda', 'first', 'off' ]) : ())
{
	my ($device, $workers, $leader) = @$_;
	my $explain = 'EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON) SELECT i FROM page ORDER BY i';
	my $settings = "SET failing_calls.plan = 'open:$workers'; SET parallel_leader_participation = $leader; SET gpusort.backend = $device; SET max_parallel_workers_per_gather = 2";
	my $out = $node->safe_psql('postgres', "$settings;\n" . "$explain;\n" x 10);
	my $plans = () = $out =~ /"GpuSortFeed"/g;
	my $on_device = () = $out =~ /"Device": "$device/g;
	my $name = "$device, open:$workers, leader $leader";

	is($plans, 10, "$name: workers feed");
	cmp_ok($on_device, '>', 0, "$name: workers that have read nothing don't take the sort off the device");
	unlike($out, qr/"Runs": [1-9](?s:.*"Runs": [1-9]){9}/, "$name: and have nobody write what is in memory");
}

# A card's sort that workers alone fed, none of which could open the memory of the others: the device has been
# given nothing.  Rows that can't be read once more need not be.
if ($with_service)
{
	my $query = digest('SELECT s AS v FROM few, generate_series(1, 5) AS g WHERE changes_nothing(i) ORDER BY s, g');
	my $right = $node->safe_psql('postgres', "SET gpusort.mode = off; $query");
	my $settings = "SET failing_calls.plan = 'open:workers'; SET gpusort.backend = cuda; SET max_parallel_workers_per_gather = 3";

	foreach my $leader (qw(off on))
	{
		my (undef, $out, $error) = $node->psql('postgres', "$settings; SET parallel_leader_participation = $leader;\n" . "$query;\n" x 5, on_error_stop => 0);

		is("$out$error", join("\n", ($right) x 5), "volatile functions and lone workers, leader $leader: all rows, once");
	}
}

# Workers that can't open the memory of the others write more runs than the leader can read at once.
{
	my $query = "SELECT s || repeat('x', 700) AS v FROM few, generate_series(1, 40) AS g ORDER BY s, g";
	my $digest = digest($query);
	my $right = $node->safe_psql('postgres', "SET gpusort.mode = off; $digest");
	my $settings = "SET failing_calls.plan = 'open:workers'; SET parallel_leader_participation = off; SET max_parallel_workers_per_gather = 4; SET gpusort.work_mem = '512kB'";
	my ($runs, $passes) = (0, 0);

	# A worker that has most of the rows, because others come late, merges some of its runs.
	for (my $attempt = 0; $attempt < 20 && $passes <= 1; $attempt++)
	{
		my $out = $node->safe_psql('postgres', "$settings; EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON) $query");
		($runs, $passes) = $out =~ /"Runs": (\d+).*?"Merge Passes": (\d+)/s;
	}
	cmp_ok($passes, '>', 1, "the leader merges $runs runs of lone workers in several passes");
	is($node->safe_psql('postgres', "$settings; $digest"), $right, 'all their rows, in order');
}

# With next to no memory for each of many processes a few of them sort, and runs have many rows.
{
	my $out = $node->safe_psql('postgres', "SET gpusort.work_mem = '256kB'; SET max_parallel_workers_per_gather = 8; EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON) SELECT s FROM few, $some ORDER BY s, g");
	my ($runs) = $out =~ /"Runs": (\d+)/;

	like($out, qr/"GpuSortFeed"/, 'workers feed with 256 kB');
	cmp_ok($runs, '>', 1, "runs with 256 kB: $runs");
	cmp_ok($runs, '<', 100, 'each of many rows');
}

# Ranges of a sort: those who have the memory return them; if nobody has it, one process returns all rows.
{
	my $query = windows("SELECT i, g, lag(k) OVER (PARTITION BY i % 100 ORDER BY s, g) AS v FROM many, $some");
	my $right = $node->safe_psql('postgres', "SET gpusort.mode = off; $query");

	foreach my $case (map { my $call = $_; map { [ $call, $_ ] } 'on', 'off' } 'open:workers', 'open:first', 'open:others', 'mmap:leader')
	{
		my ($call, $leader) = @$case;
		my $settings = "SET failing_calls.plan = '$call'; SET parallel_leader_participation = $leader; SET max_parallel_workers_per_gather = 3; SET gpusort.work_mem = '64MB'";
		my $out = $node->safe_psql('postgres', "$settings;\n" . "EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON) $query;\n" x 5);
		my $plans = () = $out =~ /"GpuSortRanges"/g;
		my $sorted = () = $out =~ /"Sort Method"/g;

		is("$plans $sorted", '5 5', "$call, leader $leader: ranges, of one sort");
		is($node->safe_psql('postgres', "$settings;\n" . "$query;\n" x 10), join("\n", ($right) x 10), "$call, leader $leader: all windows are right");
	}
}

# Without dynamic shared memory there are no workers.
{
	my @statements = map { "$_;" } @queries, @builds, $large_build;
	my $out = $node->safe_psql('postgres', join "\n", 'SELECT take_all_segments() > 100; SET max_parallel_workers_per_gather = 4;', @statements);

	is($out, join("\n", 't', map { $right{$_} } @queries, @builds, $large_build), 'without dynamic shared memory: all rows are right');
}

my $log = slurp_file($node->logfile);
foreach my $call (sort keys %processes)
{
	ok($log =~ /^failing_calls: $call:$_ /m, "$call has failed in $_") foreach @{ $processes{$call} };
}
is(join("\n", $log =~ /^.*(?:was terminated by signal|PANIC|TRAP).*/mg), '', 'no process has crashed');
is(join(' ', temporary_files($node)), '', 'no temporary files are left');
$node->stop;

done_testing();
