# Dumps, replicas and base backups of a server that has gpusort in use, with servers that have not got it and
# with one that has, on which replay and sorts are in each other's way.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use GpusortProtocol;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant ROWS => 20000;

my $folder = PostgreSQL::Test::Utils::tempdir();

# What is to be asked of every copy of the data, and the answer.
my $question = q(SELECT count(*), count(DISTINCT k), sum(hashint8(k) % 1000 * n) FROM (SELECT k, row_number() OVER (ORDER BY t, k) AS n FROM r) AS numbered);
my $without_index = 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off';
my $by_index = 'SET enable_seqscan = off; SET enable_sort = off';

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C.UTF-8', '--data-checksums' ]);
$node->append_conf('postgresql.conf', join("\n", "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', "gpusort.devices = 'none'", 'autovacuum = off', 'fsync = off', 'jit = off', 'allow_in_place_tablespaces = on', ''));
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

# From here on standbys compare each page that they have replayed with the one that the log has beside it: of
# builds, and of rows that come into pages which were built.
$node->safe_psql('postgres', 'ALTER SYSTEM SET wal_consistency_checking = \'all\'; SELECT pg_reload_conf()');
$node->safe_psql('postgres', <<'EOT');
SET max_parallel_maintenance_workers = 0;
REINDEX INDEX r_t;
CREATE UNIQUE INDEX r_k ON r (k);
CREATE INDEX CONCURRENTLY r_part ON r (t DESC) INCLUDE (id) WHERE id % 2 = 0;
BEGIN;
INSERT INTO r SELECT -i, hashint8extended(-i, 0), md5(i::text) FROM generate_series(1, 300) AS i;
ROLLBACK;
VACUUM r;
EOT
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

# ---- a base backup, taken while indexes are built, where gpusort is ----

# Takes it while a build, held in the middle of its input, is under way; stops when it has some of the files,
# has another build begin and end, and goes on.
sub back_up_during_builds
{
	my ($folder) = @_;
	my $output = '';
	my $backup = IPC::Run::start([ 'pg_basebackup', '-D', $folder, '-h', $node->host, '-p', $node->port, '--checkpoint=fast', '--no-sync', '--max-rate=32M' ], '>&', \$output);

	$node->poll_query_until('postgres', q(SELECT EXISTS (SELECT FROM pg_stat_progress_basebackup WHERE phase = 'streaming database files' AND backup_streamed > 0)))
	  or die "no base backup: $output";
	$backup->signal('STOP');
	$node->safe_psql('postgres', "SET maintenance_work_mem = '1MB'; CREATE INDEX r_meanwhile ON r (k DESC, t)");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_progress_basebackup'), 1, 'a build begins and ends in a base backup');
	$backup->signal('CONT');
	ok($backup->finish, "which ends well: $output");
	return;
}

my $base = $node->backup_dir . '/during';
create_gate($node, ROWS / 2);
$node->safe_psql('postgres', 'CREATE EXTENSION amcheck');
my $builder = while_feeding($node, "SET maintenance_work_mem = '1MB'; SET max_parallel_maintenance_workers = 0; CREATE INDEX r_held ON r (t, id) WHERE gate(id)", sub { back_up_during_builds($base) });
is($builder->query('SELECT 1'), 1, 'another one begins before the backup and ends after it');
$builder->quit;
command_ok([ 'pg_verifybackup', $base ], 'pg_verifybackup finds nothing');
is(join(' ', glob "$base/base/pgsql_tmp/*"), '', 'the backup has no temporary files of builds');

my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node, 'during', has_streaming => 1);
$copy->start;
$node->wait_for_catchup($copy);
is($copy->safe_psql('postgres', q(SELECT string_agg(bt_index_check(i::regclass, true)::text, ' ') FROM unnest(ARRAY['r_t', 'r_pkey', 'r_k', 'r_part', 'r_meanwhile', 'r_held']) AS i)), ' ' x 5,
	'amcheck finds nothing on the standby that is made of it');
like($copy->safe_psql('postgres', "$without_index; EXPLAIN $question"), qr/GpuSort/, 'a standby with gpusort sorts by it');
is($copy->safe_psql('postgres', "$without_index; $question"), $answer, 'and answers');
cmp_ok($copy->safe_psql('postgres', q(SELECT sorts FROM pg_stat_gpusort WHERE device = 'cpu')), '>=', 1, 'and counts for itself');

# ---- sorts on a standby that replay is in conflict with ----

$node->safe_psql('postgres', <<'EOT');
ALTER FUNCTION gate PARALLEL SAFE;
CREATE TABLE dropped AS SELECT * FROM r;
ALTER TABLE dropped SET (parallel_workers = 2);
CREATE TABLE pinned AS SELECT * FROM r WHERE id BETWEEN 9995 AND 10005;
EOT
$node->safe_psql('postgres', q(CREATE TABLESPACE space LOCATION ''));
my $ordered = 'SELECT id, k, t FROM %s ORDER BY t, id';
my $log_end = -s $copy->logfile;

# Is replay to wait for queries that are in its way, or to end them?
sub set_delay
{
	my ($delay) = @_;

	$copy->append_conf('postgresql.conf', "max_standby_streaming_delay = $delay\n");
	$copy->reload;
	$copy->poll_query_until('postgres', "SELECT setting = '$delay' FROM pg_settings WHERE name = 'max_standby_streaming_delay'") or die 'the setting stays';
	$node->wait_for_catchup($copy);
	return;
}

# A session whose sort of a table through files is half read.
sub open_sort
{
	my ($table, %settings) = @_;
	my $session = GpusortProtocol->new($copy, 'gpusort.work_mem' => '64kB', %settings);

	$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$session->open_portal('a', sprintf $ordered, $table);
	$session->fetch('a', 1);
	$session->sync;
	return $session;
}

# Replay waits.
set_delay(-1);
my $right = $node->safe_psql('postgres', 'SET gpusort.mode = off; ' . sprintf($ordered, 'r') . ' OFFSET 1');
my $reader = open_sort('r');
isnt(join(' ', temporary_files($copy)), '', 'a sort in files is half read');
$node->safe_psql('postgres', 'DELETE FROM r WHERE id % 2 = 1; VACUUM r');
ok($copy->poll_query_until('postgres', q(SELECT wait_event = 'RecoveryConflictSnapshot' FROM pg_stat_activity WHERE backend_type = 'startup')), 'replay waits for it to end');
is(join("\n", map { /^D\|(.*)/ ? $1 : () } $reader->fetch('a', 0)), $right, 'the sort returns all rows that it began with');
$reader->sync;
$reader->query('COMMIT');
$node->wait_for_catchup($copy);
is($copy->safe_psql('postgres', "$without_index; $question"), $node->safe_psql('postgres', "$without_index; $question"), 'and then those that are left');
$reader->drop;

# What a sort has read needs no page any more.
set_delay(0);
my $unpinned = open_sort('pinned');
my $fill = 'BEGIN; INSERT INTO pinned SELECT * FROM r LIMIT 20; ROLLBACK; VACUUM pinned';
$node->safe_psql('postgres', $fill);
$node->wait_for_catchup($copy);
is(scalar(grep { /^D/ } $unpinned->fetch('a', 0)), 10, 'a sort that was begun is not in the way of a page that is cleaned');
$unpinned->drop;

# Replay ends whoever is in its way: an open portal's session, a query alone.
foreach my $case (
	[ 'rows that are needed no more', 'row versions', 'DELETE FROM r WHERE id % 4 = 2; VACUUM r', 'r' ],
	[ 'a tablespace of temporary files', 'tablespace', 'DROP TABLESPACE space', 'r', temp_tablespaces => 'space' ],
	[ 'a database', 'database', 'DROP DATABASE restored', 'r', database => 'restored' ])
{
	my ($what, $detail, $statement, @sort) = @$case;
	my $session = open_sort(@sort);

	is(scalar(glob $copy->data_dir . '/pg_tblspc/*/*/pgsql_tmp/*') ? 1 : 0, $detail eq 'tablespace' ? 1 : 0, "$what: where the files are");
	$node->safe_psql('postgres', $statement);
	like(join('; ', $session->answer('E')), qr/^E \w+ terminating connection due to conflict with recovery$/, "$what: a session whose sort is half read is ended");
	$node->wait_for_catchup($copy);
	like(slurp_file($copy->logfile, $log_end), qr/DETAIL:  User .*$detail/, 'for that');
	$session->drop;
}
is(join(' ', glob $copy->data_dir . '/pg_tblspc/*'), '', 'no tablespace is left');
my %parallel = (min_parallel_table_scan_size => 0, parallel_setup_cost => 0, parallel_tuple_cost => 0, max_parallel_workers_per_gather => 2, 'gpusort.work_mem' => '64kB');
my $locker = GpusortProtocol->new($copy);
$locker->query('SELECT pg_advisory_lock(1)');
foreach my $case (
	[ 'several processes that sort a table which goes', 'relation lock', 'DROP TABLE dropped', 'dropped', synchronize_seqscans => 'off', %parallel ],
	[ 'a page that is read', 'buffer pin', $fill, 'pinned' ])
{
	my ($what, $detail, $statement, $table, %settings) = @$case;
	my $session = GpusortProtocol->new($copy, %settings);

	$session->begin_query("SELECT * FROM $table WHERE gate(id) ORDER BY t");
	$copy->poll_query_until('postgres', q(SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted))) or die 'the session does not come to the gate';
	ok(!%settings || $copy->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pg_stat_activity WHERE leader_pid = ' . $session->pid), "$what: with workers, if there are to be some");
	$node->safe_psql('postgres', $statement);
	# PostgreSQL may end the session, too, which is told more than once.
	like(join('; ', $session->answer('E')), qr/^E \w+ canceling statement due to conflict with recovery$/, "$what: the statement is ended");
	$node->wait_for_catchup($copy);
	like(slurp_file($copy->logfile, $log_end), qr/DETAIL:  User .*$detail/, 'for that');
	$session->drop;
}
$locker->drop;
$copy->poll_query_until('postgres', q(SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type IN ('client backend', 'parallel worker') AND pid <> pg_backend_pid())) or die 'sessions do not end';
is(join(' ', temporary_files($copy)), '', 'no temporary files are left');
is(join("\n", grep { /TRAP|PANIC|terminated by signal|WARNING|inconsistent page/ } lines_of(slurp_file($copy->logfile))), '', 'no process has crashed, and no page of an index was another one than that of the log');
is($copy->safe_psql('postgres', "$without_index; $question"), $node->safe_psql('postgres', "$without_index; $question"), 'and the standby answers');
$copy->stop;
$node->stop;

done_testing();
