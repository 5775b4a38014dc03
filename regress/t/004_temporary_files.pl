# The temporary files of a sort are counted, logged, limited and placed like all others.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', "gpusort.work_mem = '512kB'", 'log_temp_files = 0');
create_rows($node, 100000);
my $sort = 'SELECT count(*) FROM (SELECT * FROM r ORDER BY t OFFSET 0) s';

sub statistics
{
	# A session reports what it counted when it ends.
	return split /\|/, $node->safe_psql('postgres', "SELECT temp_files, temp_bytes FROM pg_stat_database WHERE datname = 'postgres'");
}
my ($files_before, $bytes_before) = statistics();
my $log_offset = -s $node->logfile;
is($node->safe_psql('postgres', $sort), '100000', 'a sort through files');
$node->poll_query_until('postgres', "SELECT temp_files > $files_before FROM pg_stat_database WHERE datname = 'postgres'")
  or die 'the statistics did not come';
my ($files, $bytes) = statistics();
cmp_ok($files, '>', $files_before, 'pg_stat_database counts its files');
cmp_ok($bytes - $bytes_before, '>', 100000 * 80, 'and their bytes');
like(slurp_file($node->logfile, $log_offset), qr/temporary file: path "base\/pgsql_tmp\/pgsql_tmp[^"]+", size \d+/, 'log_temp_files logs them');
is(join(' ', temporary_files($node)), '', 'none is left');
is((lines_of($node->safe_psql('postgres', "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) $sort")))[0] ne '', 1, 'EXPLAIN (BUFFERS)');
like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) $sort"), qr/temp read=\d+ written=\d+/, 'EXPLAIN counts temporary blocks');

# Little memory makes for many runs, but not for ever shorter ones, and for no more passes than they need.
create_rows($node, 1000000, 'million');
foreach my $memory ('64kB', '512kB', '1MB')
{
	foreach my $key ('k', 't')
	{
		my $plan = $node->safe_psql('postgres', "SET gpusort.work_mem = '$memory'; EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM million ORDER BY $key");
		my ($disk_kb, $runs, $passes) = $plan =~ /Disk: (\d+)kB  Runs: (\d+)  Merge Passes: (\d+)/;
		# 120 to 200 MB of rows with their keys.
		cmp_ok($runs, '<', 10000, "ORDER BY $key with $memory: $runs runs");
		cmp_ok($passes, '<', 500, "ORDER BY $key with $memory: $passes merges");
		cmp_ok($disk_kb, '<', 800000, "ORDER BY $key with $memory: $disk_kb kB of files");
	}
}

# temp_file_limit, at points from the first run to the last merge.
foreach my $limit_mb (1, 3, 6, 9, 12)
{
	my ($status, $out, $err) = $node->psql('postgres', <<"EOT", on_error_stop => 0);
SET temp_file_limit = '${limit_mb}MB';
$sort;
SELECT count(*) FROM pg_ls_tmpdir();
RESET temp_file_limit;
SELECT count(*) FROM (SELECT * FROM r WHERE id <= 50000 ORDER BY t OFFSET 0) s;
EOT
	# The sort may need less than the larger limits; it must not need many times the size of its rows.
	my $limited = $err =~ /ERROR:  temporary file size exceeds "?temp_file_limit"? \(\d+kB\)/;
	ok($limited || $limit_mb > 6, "$limit_mb MB of files: " . ($limited ? 'one clear error' : 'enough'));
	is($out, $limited ? "0\n50000" : "100000\n0\n50000", 'no file is left and the session works on');
}
my ($status, $out, $err) = $node->psql('postgres', "SET temp_file_limit = '40MB'; $sort;");
is($out, '100000', 'the files of a sort are not several times its rows');

# Those of several processes go with the statement, and with the savepoint of a cursor.
{
	$node->safe_psql('postgres', 'ALTER TABLE r SET (parallel_workers = 2)');
	my $session = $node->background_psql('postgres');
	$session->query_safe('SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0');
	like($session->query_safe("EXPLAIN (ANALYZE, COSTS OFF) $sort"), qr/Sort Method: external merge .*GpuSortFeed/s, 'several processes write runs');
	is(join(' ', temporary_files($node)), '', 'none of them is left');
	$session->query_safe('BEGIN; SAVEPOINT s; DECLARE c CURSOR FOR SELECT * FROM r ORDER BY t; MOVE 10 IN c');
	cmp_ok(scalar(temporary_files($node)), '>', 0, 'an open cursor has runs');
	$session->query_safe('ROLLBACK TO s');
	is(join(' ', temporary_files($node)), '', 'none is left when its savepoint is gone');
	$session->quit;
	$node->safe_psql('postgres', 'ALTER TABLE r RESET (parallel_workers)');
}

# Temporary tablespaces.
my $space = PostgreSQL::Test::Utils::tempdir();
$node->safe_psql('postgres', "CREATE TABLESPACE space LOCATION '$space'");
$log_offset = -s $node->logfile;
is($node->safe_psql('postgres', "SET temp_tablespaces = space; $sort"), '100000', 'a sort through files of another tablespace');
like(slurp_file($node->logfile, $log_offset), qr/temporary file: path "pg_tblspc/, 'which are there');

# A crash leaves files, which the restart removes.
my $session = $node->background_psql('postgres');
$session->query_safe("BEGIN; DECLARE c CURSOR FOR SELECT * FROM r ORDER BY k; MOVE 10 IN c");
cmp_ok(scalar(temporary_files($node)), '>', 0, 'an open sort has files');
$node->stop('immediate');
eval { $session->{run}->finish; };
$node->start;
is(join(' ', temporary_files($node)), '', 'a restart removes them');
is($node->safe_psql('postgres', $sort), '100000', 'and sorts go on');

$node->stop;
done_testing();
