# Dumps, replicas and base backups of a server that has gpusort in use, with servers that have not got it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant ROWS => 20000;

my $folder = PostgreSQL::Test::Utils::tempdir();

# What is to be asked of every copy of the data, and the answer.
my $question = q(SELECT count(*), count(DISTINCT k), sum(hashint8(k) % 1000 * n) FROM (SELECT k, row_number() OVER (ORDER BY t, k) AS n FROM r) AS numbered);
my $without_index = 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off';
my $by_index = 'SET enable_seqscan = off; SET enable_sort = off';

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', join("\n", "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', "gpusort.devices = 'none'", 'autovacuum = off', 'fsync = off', 'jit = off', ''));
$node->start;
create_rows($node, ROWS);
$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION gpusort;
CREATE ROLE reader;
GRANT EXECUTE ON FUNCTION gpusort_stat_reset() TO reader;
ALTER ROLE reader SET gpusort.mode = off;
CREATE FUNCTION sorted() RETURNS SETOF r LANGUAGE sql SET gpusort.backend = cpu AS 'SELECT * FROM r ORDER BY t';
CREATE VIEW busy AS SELECT pid, phase FROM pg_stat_progress_gpusort;
CREATE INDEX r_t ON r (t, k);
ALTER TABLE r ADD PRIMARY KEY (id);
EOT
my $answer = $node->safe_psql('postgres', $question);
like($node->safe_psql('postgres', "$without_index; EXPLAIN $question"), qr/GpuSort/, 'gpusort is in use');
is($node->safe_psql('postgres', q(SELECT index_builds FROM pg_stat_gpusort WHERE device = 'cpu')), 2, 'and has built the indexes');

# Does this server answer, by its indexes, too?  They are looked at by amcheck, where that is wanted.
sub answers
{
	my ($other, $database, $name, $without_amcheck) = @_;

	is($other->safe_psql($database, "$without_index; $question"), $answer, "$name: all rows, in order");
	is($other->safe_psql($database, "$by_index; $question"), $answer, "$name: by the index");
	create_checked($other) unless $without_amcheck;
	is($other->safe_psql($database, q(SELECT checked('r_t') || checked('r_pkey'))), 'okok', "$name: amcheck finds nothing") unless $without_amcheck;
	return;
}

sub reports
{
	my ($other, $statement, $error, $name) = @_;
	my ($status, $out, $err) = $other->psql('postgres', $statement);

	like($err, $error, $name);
	return;
}

# A server without any file of gpusort's.
my $without = copy_installation("$folder/without");
foreach my $option (qw(pkglibdir sharedir))
{
	my $path = `'$without/bin/pg_config' --$option`;
	chomp $path;
	unlink glob "$path/gpusort.so $path/extension/gpusort*";
}

# ---- dump and restore ----

my $dump = "$folder/dump";
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('postgres') ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored; ALTER DATABASE restored SET gpusort.min_rows = 100');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), $dump ], 'pg_restore beside it');
is($node->safe_psql('restored', $question), $answer, 'restored: all rows');
is($node->safe_psql('restored', q(SELECT has_function_privilege('reader', 'gpusort_stat_reset()', 'EXECUTE') || (SELECT ' ' || count(*) FROM busy) || (SELECT ' ' || count(*) FROM sorted()))),
	'true 0 ' . ROWS, 'restored: rights, views and settings of functions');
is($node->safe_psql('postgres', q(SELECT index_builds FROM pg_stat_gpusort WHERE device = 'cpu')), 4, 'restored: gpusort has built its indexes');

my ($all, $stderr) = run_command([ 'pg_dumpall', '-d', $node->connstr('postgres') ]);
is($stderr, '', 'pg_dumpall');
append_to_file("$folder/all.sql", "$all\n");

my $again = PostgreSQL::Test::Cluster->new('again');
$again->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$again->append_conf('postgresql.conf', "gpusort.devices = 'none'\nfsync = off\n");
$again->start;
my ($status, $out, $err) = $again->psql('postgres', "\\i $folder/all.sql", on_error_stop => 0);
is(join('', grep { /ERROR/ && !/role "\w+" already exists/ } lines_of($err)), '', 'a dump of all is restored without an error, by a server that does not preload gpusort');
answers($again, 'postgres', 'dump of all');
is($again->safe_psql('postgres', q(SELECT string_agg(c, ' ') FROM pg_db_role_setting, unnest(setconfig) AS c WHERE c LIKE 'gpusort.%')), 'gpusort.mode=off gpusort.min_rows=100', 'settings of roles and databases, too');
$again->stop;

my $plain = PostgreSQL::Test::Cluster->new('plain', install_path => $without);
$plain->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$plain->append_conf('postgresql.conf', "wal_level = logical\nfsync = off\n");
$plain->start;
($status, $out, $err) = $plain->psql('postgres', "\\i $folder/all.sql", on_error_stop => 0);
my @errors = map { s/.*ERROR:  //r } grep { /ERROR/ && !/role "\w+" already exists/ } lines_of($err);
like($errors[0], qr/^could not open extension control file .*gpusort\.control|^extension "gpusort" is not available/, 'a server without gpusort says that the extension is not there');
is(join('; ', grep { !/gpusort/ && !/"busy"|view busy|\.busy/ } @errors), '', 'all else of the dump is restored there');
note(join "\n", @errors);
answers($plain, 'postgres', 'dump of all, without gpusort');
is($plain->safe_psql('postgres', 'SELECT count(*) FROM sorted()'), ROWS, 'functions with settings of gpusort run without it');

# ---- a logical replica without gpusort ----

$plain->safe_psql('postgres', 'TRUNCATE r');
$node->safe_psql('postgres', 'CREATE PUBLICATION p FOR TABLE r');
$plain->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '" . $node->connstr . " dbname=postgres' PUBLICATION p");
$plain->wait_for_subscription_sync($node, 's');
answers($plain, 'postgres', 'logical replica without gpusort', 'without amcheck');
$node->safe_psql('postgres', 'BEGIN; UPDATE r SET k = id WHERE id % 10 = 0; DELETE FROM r WHERE id = 1; INSERT INTO r VALUES (0, 0, md5(\'0\')); COMMIT');
$node->wait_for_catchup('s');
isnt($node->safe_psql('postgres', $question), $answer, 'rows change');
$answer = $node->safe_psql('postgres', $question);
is($plain->safe_psql('postgres', $question), $answer, 'and so do those of the replica');
$plain->safe_psql('postgres', 'DROP SUBSCRIPTION s');
$plain->stop;

# ---- a standby without gpusort ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby', install_path => $without);
$standby->init_from_backup($node, 'base', has_streaming => 1);
isnt($standby->start(fail_ok => 1), 1, 'a standby whose postgresql.conf has gpusort in shared_preload_libraries does not start without its library');
like(slurp_file($standby->logfile), qr/FATAL:  could not access file "gpusort": No such file or directory/, 'and says why');
$standby->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$standby->start;
$node->safe_psql('postgres', 'REINDEX INDEX r_t; CREATE UNIQUE INDEX r_k ON r (k)');
$node->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'SHOW gpusort.mode');
answers($standby, 'postgres', 'standby without gpusort', 'without amcheck');
is($standby->safe_psql('postgres', 'SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM r WHERE k = hashint8extended(77, 0)'), 1, 'indexes that are built later come to the standby');
reports($standby, 'SELECT * FROM pg_stat_gpusort', qr{could not access file "(?:\$libdir/)?gpusort": No such file or directory}, 'the view says on the standby which file is not there');
$standby->promote;
answers($standby, 'postgres', 'promoted');
$standby->safe_psql('postgres', 'REINDEX TABLE r; CREATE INDEX ON r (t)');
is($standby->safe_psql('postgres', q(SELECT checked('r_t'))), 'ok', 'the standby, promoted, builds indexes by itself');
$standby->safe_psql('postgres', 'DROP EXTENSION gpusort CASCADE');
is($standby->safe_psql('postgres', q(SELECT count(*) FROM pg_proc WHERE proname LIKE 'gpusort%')), 0, 'and the extension can be dropped without its files');
$standby->stop;

# ---- a base backup where gpusort is ----

my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node, 'base', has_streaming => 1);
$copy->start;
$node->wait_for_catchup($copy);
like($copy->safe_psql('postgres', "$without_index; EXPLAIN $question"), qr/GpuSort/, 'a standby with gpusort sorts by it');
is($copy->safe_psql('postgres', "$without_index; $question"), $answer, 'and answers');
cmp_ok($copy->safe_psql('postgres', q(SELECT sorts FROM pg_stat_gpusort WHERE device = 'cpu')), '>=', 1, 'and counts for itself');
$copy->stop;
$node->stop;

done_testing();
