# Builds of indexes: cancelled at every stage, a crash, a replica, checksums, temporary files that may not
# grow, and a gpusortd that sorts or fails: a right index or one clear error, and nothing left behind.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant { ROWS => 300000, POINTS => 6, KILLS => 3 };

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C.UTF-8', '-k' ]);
$node->append_conf('postgresql.conf', join("\n", "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', 'autovacuum = off', 'fsync = off', 'jit = off',
	'gpusort.backend = cpu', 'min_parallel_table_scan_size = 0', 'max_parallel_maintenance_workers = 2', "gpusort.gpusortd_options = '--host-memory-layer'", ''));
$node->start;
create_rows($node, ROWS);
create_checked($node);
$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION gpusort;
ALTER TABLE r SET (parallel_workers = 2);
CREATE UNLOGGED TABLE u AS SELECT * FROM r WHERE id <= 50000;
EOT

# The files of tables and indexes.
sub relation_files
{
	$node->safe_psql('postgres', 'CHECKPOINT');
	my $folder = $node->data_dir . '/base/' . $node->safe_psql('postgres', q(SELECT oid FROM pg_database WHERE datname = 'postgres'));
	return join ' ', sort grep { /^\d+$/ } slurp_dir($folder);
}

# ---- cancel ----

my %builds = (
	'one process' => "SET max_parallel_maintenance_workers = 0; SET maintenance_work_mem = '1GB'",
	'several processes' => "SET maintenance_work_mem = '1GB'",
	'through files' => "SET maintenance_work_mem = '1MB'",
	'several processes through files, unique' => "SET maintenance_work_mem = '2MB'");
my $files = relation_files();

foreach my $name (sort keys %builds)
{
	my $kind = $name =~ /unique/ ? 'UNIQUE' : '';
	my $build = "CREATE $kind INDEX r_index ON r (t, id)";
	my $whole_time = $node->safe_psql('postgres', <<"EOT");
SET client_min_messages = warning;
$builds{$name};
SELECT clock_timestamp() AS start \\gset
$build;
SELECT round(extract(epoch FROM clock_timestamp() - :'start') * 1000);
DROP INDEX r_index;
EOT
	my ($cancelled, @left) = (0);
	foreach my $point (1 .. POINTS)
	{
		my $timeout = int($whole_time * $point / (POINTS + 1)) || 1;
		my ($status, $out, $err) = $node->psql('postgres', <<"EOT", on_error_stop => 0);
SET client_min_messages = warning;
$builds{$name};
SET statement_timeout = $timeout;
$build;
SET statement_timeout = 0;
DROP INDEX IF EXISTS r_index;
SELECT count(*) FROM pg_ls_tmpdir();
SELECT count(*) FROM pg_backend_memory_contexts WHERE name ILIKE '%gpusort%';
CREATE INDEX r_small ON r (k) WHERE id < 1000;
SELECT checked('r_small');
DROP INDEX r_small;
EOT
		$cancelled++ if $err =~ /canceling statement due to statement timeout/;
		my $left = join ' ', lines_of($out);
		push @left, "$timeout ms: $left" if $left ne '0 0 ok';
	}
	cmp_ok($cancelled, '>=', 1, "$name: $cancelled of " . POINTS . " timeouts within $whole_time ms took effect");
	is("@left", '', "$name: no file, no memory is left, and the session builds on");
}
is(relation_files(), $files, 'no files of indexes are left');
is(join(' ', temporary_files($node)), '', 'no temporary files are left');

# ---- no room for temporary files ----

my ($status, $out, $err) = $node->psql('postgres',
	"SET maintenance_work_mem = '1MB'; SET temp_file_limit = '2MB'; CREATE INDEX r_index ON r (t)");
like($err, qr/temporary file size exceeds "?temp_file_limit"?/, 'temp_file_limit ends a build');
is(relation_files(), $files, 'and leaves no files');

# ---- a worker that ends ----

my ($ended, $others, $point) = (0, '', 0);

# Some more, where builds are over before anybody comes.
while ($point < 2 * POINTS || ($ended == 0 && $point < 10 * POINTS))
{
	my $build = $node->background_psql('postgres', on_error_stop => 0);
	$build->query_until(qr/started/, "\\echo started\nSET maintenance_work_mem = '2MB';\nCREATE INDEX r_index ON r (t, id);\n\\echo over\n");
	$node->poll_query_until('postgres', q(SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker' OR to_regclass('r_index') IS NOT NULL));
	usleep(20_000 * ($point++ % (2 * POINTS)));
	$ended++ if $node->safe_psql('postgres', q(SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' LIMIT 1) AS w)) > 0;
	$build->quit;
	my $result = $node->safe_psql('postgres', q(SELECT CASE WHEN to_regclass('r_index') IS NULL THEN 'none' ELSE checked('r_index') END));
	$others .= " $result" unless $result =~ /^(ok|none)$/;
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS r_index');
}
cmp_ok($ended, '>=', 1, "$ended of $point workers were ended while they fed, wrote or loaded");
is($others, '', 'no index is wrong');
is(relation_files(), $files, 'no files of indexes are left');
is(join(' ', temporary_files($node)), '', 'nor of sorts');

# ---- memory ----

my @wrong;
my %spilled;
foreach my $workers (0 .. 2)
{
	foreach my $megabytes (2, 3, 4, 8, 16, 32)
	{
		my ($status, $out, $err) = $node->psql('postgres', <<"EOT");
SET max_parallel_maintenance_workers = $workers;
SET maintenance_work_mem = '${megabytes}MB';
SET client_min_messages = debug1;
CREATE INDEX r_index ON r (t, id);
DROP INDEX r_index;
EOT
		my ($processes, $memory, $temporary) = $err =~ /(\d+) processes, .* (\d+) kB of memory, (\d+) kB of temporary files/
			or die "no message of the build: $err";
		$spilled{$processes}++ if $temporary > 0;
		# a worker that comes when the others have gone apart may have 128 kB more for a while
		push @wrong, "$workers workers, $megabytes MB: $memory kB" if $memory > $megabytes * 1024 + $workers * 128 || ($temporary > 0 && $memory < $megabytes * 512);
	}
}
is(join('; ', @wrong), '', 'all processes have no more than maintenance_work_mem together, and make use of it');
is(join(' ', sort keys %spilled), '1 2 3', 'by one process and by several');

# ---- a replica, and a crash ----

$node->backup('backup');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($node, 'backup', has_streaming => 1);
$replica->start;
$node->safe_psql('postgres', <<'EOT');
CREATE UNIQUE INDEX r_id ON r (id);
CREATE INDEX r_k ON r (k) INCLUDE (id);
SET maintenance_work_mem = '1MB';
CREATE INDEX r_t ON r (left(t, 16));
CREATE INDEX u_k ON u (k);
CREATE INDEX CONCURRENTLY r_c ON r (k DESC, id);
EOT
$node->wait_for_catchup($replica, 'replay', $node->lsn('insert'));
is($replica->safe_psql('postgres', q(SELECT string_agg(bt_index_check(i::regclass, true)::text, ' ') FROM unnest(ARRAY['r_id', 'r_k', 'r_t', 'r_c']) AS i)), '   ',
	'amcheck is content with the indexes of a replica');
$replica->stop;
$node->safe_psql('postgres', 'CREATE INDEX r_last ON r (t DESC, id)');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', q(SELECT string_agg(checked(i), ' ') FROM unnest(ARRAY['r_id', 'r_k', 'r_t', 'r_c', 'r_last', 'u_k']) AS i)), 'ok ok ok ok ok ok',
	'and with those of a server after a crash');
$node->command_ok([ 'pg_amcheck', '--all', '--heapallindexed', '--parent-check', '--port', $node->port ], 'pg_amcheck finds nothing');
$node->safe_psql('postgres', 'DROP INDEX r_id, r_k, r_t, r_c, r_last');

# ---- REPACK ----

# Concurrently it takes a callback back when it has ended, and fails if another has been added since: by the
# session's first sort, by the first one whose memory is kept.
SKIP:
{
	skip 'REPACK is new in 19', 4 if $node->safe_psql('postgres', 'SHOW server_version_num') < 190000;
	$node->safe_psql('postgres', <<'EOT');
CREATE TABLE repacked (id int PRIMARY KEY, t text COLLATE "C");
INSERT INTO repacked SELECT i, md5(i::text) FROM generate_series(1, 50000) AS i;
CREATE INDEX repacked_t ON repacked (t DESC);
EOT
	my $builds = $node->safe_psql('postgres', 'SELECT sum(index_builds) FROM pg_stat_gpusort');
	my ($status, undef, $error) = $node->psql('postgres', 'REPACK (CONCURRENTLY) repacked USING INDEX repacked_t');
	is("$status $error", '0 ', 'REPACK (CONCURRENTLY) is the first statement of a session that sorts');
	is($node->safe_psql('postgres', "SELECT sum(index_builds) - $builds FROM pg_stat_gpusort"), 2, 'gpusort has built the indexes');
	is($node->safe_psql('postgres', q(SELECT checked('repacked_pkey'), checked('repacked_t'))), 'ok|ok', 'which amcheck finds right');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM repacked'), 50000, 'and the table has its rows');
}

# ---- gpusortd ----

SKIP:
{
	skip 'gpusortd is not installed (make gpusortd)', 1 unless gpusortd_is_installed();
	$node->poll_query_until('postgres', q(SELECT count(*) > 0 FROM gpusort_devices() WHERE device <> 'cpu' AND state = 'ready')) or note('gpusortd does not get ready');
	$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
	foreach my $memory ('1GB', '1MB')
	{
		is($node->safe_psql('postgres', <<"EOT"), 'ok', "built by gpusortd, $memory");
SET client_min_messages = warning;
SET gpusort.backend = cuda;
SET maintenance_work_mem = '$memory';
CREATE INDEX r_gpu ON r (t, k DESC);
SELECT checked('r_gpu');
DROP INDEX r_gpu;
EOT
	}
	is($node->safe_psql('postgres', q(SELECT index_builds FROM pg_stat_gpusort WHERE device = 'cuda')), 2, 'by nobody else');

	# One that is large enough to be loaded by several processes, each of which reads from the device.
	$node->safe_psql('postgres', 'CREATE UNLOGGED TABLE large AS SELECT hashint8extended(i, 0) AS k FROM generate_series(1, 3600000) AS i');
	my ($status, $built, $messages) = $node->psql('postgres', <<'EOT');
SET client_min_messages = debug1;
SET gpusort.backend = cuda;
SET maintenance_work_mem = '1GB';
CREATE UNIQUE INDEX large_k ON large (k);
SET client_min_messages = warning;
SELECT checked('large_k');
EOT
	is($built, 'ok', 'a large one');
	like($messages, qr/built index "large_k" by device "cuda": 3600000 tuples, [23] processes, loaded by [23],/, 'is loaded by all that have fed');

	# Killed at several points of a build.
	my ($good, $wrong) = (0, '');
	foreach my $point (1 .. KILLS)
	{
		my $build = $node->background_psql('postgres', on_error_stop => 0);
		$build->query_safe("SET client_min_messages = warning; SET gpusort.backend = cuda; SET maintenance_work_mem = '1GB'");
		$build->query_until(qr/started/, "\\echo started\nCREATE INDEX r_gpu ON r (t, id);\n");
		$node->safe_psql('postgres', 'SELECT pg_sleep(' . 0.1 * $point . ')');
		kill 'KILL', $_ foreach gpusortd_pids($node);
		$build->quit;
		my $result = $node->safe_psql('postgres', q(SELECT CASE WHEN to_regclass('r_gpu') IS NULL THEN 'none' ELSE checked('r_gpu') END));
		$good++ if $result eq 'ok';
		$wrong .= " $result" unless $result =~ /^(ok|none)$/;
		$node->safe_psql('postgres', 'DROP INDEX IF EXISTS r_gpu');
		$node->poll_query_until('postgres', q(SELECT count(*) > 0 FROM gpusort_devices() WHERE device <> 'cpu' AND state = 'ready'));
	}
	is($wrong, '', "with a gpusortd that is killed: $good of " . KILLS . ' indexes are built, and none is wrong');
	unlike(slurp_file($node->logfile), qr/TRAP|terminated by signal 11|PANIC/, 'no process has crashed');
}

done_testing();
