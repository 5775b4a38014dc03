# The page writer alone: indexes that it builds from PostgreSQL's own scan and sort must have the same pages
# as those that PostgreSQL builds, in every kind of relation, and survive what indexes have to.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'the test module is not installed (make -C regress/btree_writer install)'
  unless `pg_config --pkglibdir` =~ /(.*)/ && -e "$1/btree_writer.so";

# A server with the module; the arguments are lines of postgresql.conf.
sub start_writer_node
{
	my ($name, @settings) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name);

	$server->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C.UTF-8', '--data-checksums' ]);
	$server->append_conf('postgresql.conf', join("\n", 'max_parallel_maintenance_workers = 0', 'autovacuum = off', 'max_wal_size = 4GB', @settings, ''));
	$server->start;
	$server->safe_psql('postgres', <<'EOT');
CREATE EXTENSION amcheck;
CREATE EXTENSION pageinspect;
CREATE FUNCTION rebuild_by_writer(index regclass) RETURNS void LANGUAGE C STRICT AS 'btree_writer';
CREATE FUNCTION rebuild_after_checkpoint(index regclass) RETURNS void LANGUAGE C STRICT AS 'btree_writer';
CREATE FUNCTION rebuild_by_writers(index regclass, nranges int, nworkers int) RETURNS void LANGUAGE C STRICT AS 'btree_writer';
CREATE FUNCTION first_difference(a regclass, b regclass) RETURNS text LANGUAGE C STRICT AS 'btree_writer';
-- The same index twice, built by PostgreSQL and by the writer: what is different; nothing, as a rule.  (Pages that are PostgreSQL's need no amcheck.)
CREATE FUNCTION differences(relation regclass, uniqueness text, definition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('CREATE %s INDEX built_by_postgres ON %s %s', uniqueness, relation, definition);
	EXECUTE format('CREATE %s INDEX built_by_writer ON %s %s', uniqueness, relation, definition);
	PERFORM rebuild_by_writer('built_by_writer');
	result := first_difference('built_by_postgres', 'built_by_writer');
	DROP INDEX built_by_postgres, built_by_writer;
	RETURN coalesce(result, 'none');
END $$;
-- An index that several processes write: its blocks, and those of PostgreSQL's.
CREATE FUNCTION sizes(relation regclass, uniqueness text, definition text, nranges int, nworkers int) RETURNS TABLE (written bigint, usual bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE %s INDEX built_by_writers ON %s %s', uniqueness, relation, definition);
	usual := pg_relation_size('built_by_writers') / 8192;
	PERFORM rebuild_by_writers('built_by_writers', nranges, nworkers);
	PERFORM bt_index_parent_check('built_by_writers', true, true);
	written := pg_relation_size('built_by_writers') / 8192;
	DROP INDEX built_by_writers;
	RETURN NEXT;
END $$;
EOT
	return $server;
}

my $node = start_writer_node('main', q(wal_consistency_checking = 'btree'));

# Tables, by the persistence that is put for %s.
my $tables = <<'EOT';
CREATE %1$s TABLE numbers AS
	SELECT i, hashint8extended(i, 0) AS random, i %% 100 AS few, 1 AS one,
		CASE WHEN i %% 3 > 0 THEN hashint8extended(i, 1) %% 1000 END AS some_null, NULL::int AS no_value
	FROM generate_series(1, 30000) AS i;
CREATE %1$s TABLE texts AS
	SELECT i, md5(i::text) AS hash, md5((i %% 700)::text) COLLATE "C" AS repeated,
		repeat(i::text, i %% 50) AS any_length, 'always' || i / 500 AS steps
	FROM generate_series(1, 20000) AS i;
CREATE %1$s TABLE types AS
	SELECT i, i %% 2 = 0 AS bool, (i %% 64)::"char" AS char, (i %% 30000)::int2 AS int2, i::oid AS oid, i::float4 / 7 AS float4,
		sqrt(i) AS float8, (i / 3)::numeric / 1000 AS numeric, timestamptz '2020-01-01' + i / 5 * interval '1 minute' AS timestamptz,
		date '2020-01-01' + i %% 365 AS date, interval '1 hour' * (i %% 77) AS interval, md5((i / 2)::text)::uuid AS uuid,
		('10.0.0.0'::inet + i %% 999) AS inet, ('n' || i %% 50)::name AS name, md5(i::text)::bytea AS bytea,
		int4range(i %% 100, i %% 100 + 5) AS range, ARRAY[i %% 10, i] AS integers, (i %% 16)::bit(4) AS bit, '08:00:2b:01:02:03'::macaddr AS macaddr,
		jsonb_build_object('a', i %% 20) AS jsonb, ROW(i %% 5, 'x')::text AS row, (i %% 128)::text::varchar(10) AS varchar, (i %% 9)::text::char(20) AS bpchar
	FROM generate_series(1, 10000) AS i;
CREATE %1$s TABLE wide (i int, t text);
ALTER TABLE wide ALTER t SET STORAGE EXTERNAL;
INSERT INTO wide
	SELECT i, left((SELECT string_agg(md5((i * 1000 + j)::text), '') FROM generate_series(1, 85) AS j), 2600 + i %% 85)
	FROM generate_series(1, 400) AS i;
INSERT INTO wide SELECT i, repeat('same', 649) FROM generate_series(1, 40) AS i;
CREATE %1$s TABLE packed (i int, t text COMPRESSION pglz);
INSERT INTO packed SELECT i, repeat((i %% 7)::text || 'ab', 300 + i %% 2) FROM generate_series(1, 2000) AS i;
EOT

# Of each table, definitions of indexes; those with 'unique' in front are unique.
my %definitions = (
	numbers => [
		'(i)', '(random)', '(few)', '(one)', '(some_null)', '(no_value)',
		'(i DESC)', '(few DESC NULLS LAST)', '(some_null NULLS FIRST)', '(some_null DESC NULLS LAST)',
		'(few, random)', '(few DESC, some_null NULLS FIRST, i)', '(one, few)', '(no_value, one)',
		'(i) INCLUDE (random, few)', '(few) INCLUDE (i)', '(few, one) INCLUDE (no_value, random)',
		'((i % 10))', '((random + i), few)', '(few) WHERE i % 10 = 0', '(i) WHERE i < 0', '(i) WHERE i = 17',
		'(few) WITH (deduplicate_items = off)', '(random) WITH (deduplicate_items = off)',
		'unique (i)', 'unique (random)', 'unique (some_null, i)', 'unique (some_null) WHERE some_null IS NULL',
		map { ("(random) WITH (fillfactor = $_)", "(few) WITH (fillfactor = $_)", "(few, i) WITH (fillfactor = $_)") } 10, 11, 50, 89, 99, 100
	],
	texts => [
		'(hash)', '(repeated)', '(any_length)', '(steps)', '(hash text_pattern_ops)', '(repeated DESC)', '(hash COLLATE "C")',
		'(steps, any_length, repeated)', '(repeated, steps) INCLUDE (hash)', '(lower(hash))', '(length(any_length), hash)',
		'(any_length) WITH (fillfactor = 100)', '(steps) WITH (deduplicate_items = off)',
		'unique (hash)', 'unique (hash, any_length)'
	],
	types => [
		(map { "($_)" } qw(bool "char" int2 oid float4 float8 numeric timestamptz date interval uuid inet name bytea range integers bit macaddr jsonb "row" varchar bpchar)),
		'(bool, "char", int2)', '(name, numeric)', '(date, interval) INCLUDE (range)', '(interval, bool DESC, bpchar)'
	],
	wide => [ '(t)', '(t, i)', '(i, t)', '(t) INCLUDE (i)', '(t) WITH (fillfactor = 10)', '(t) WITH (fillfactor = 100)', '(t) WITH (deduplicate_items = off)' ],
	packed => [ '(t)', '(t, i)', '(i, t)' ]);

# What checks make of each index of these tables: a name, and what a function is called with, at first.
sub calls_for_indexes
{
	my (@of) = @_;
	my @calls;

	foreach my $table (@of)
	{
		foreach my $definition (@{ $definitions{$table} })
		{
			my ($unique, $rest) = $definition =~ /^(unique)? ?(.*)$/;
			push @calls, [ "$table $definition", qq{('$table', '} . ($unique // '') . qq{', \$\$$rest\$\$} ];
		}
	}
	return @calls;
}

sub check_kinds
{
	my ($persistence, @of) = @_;
	my $set_up = sprintf $tables, $persistence;
	my @checks = map { [ $_->[0], "SELECT differences$_->[1])" ] } calls_for_indexes(@of);
	my @results = lines_of($node->safe_psql('postgres', join(";\n", 'SET client_min_messages = warning', $set_up, (map { $_->[1] } @checks), 'DROP TABLE ' . join(', ', keys %definitions), '')));
	foreach my $i (0 .. $#checks)
	{
		is($results[$i], 'none', lc("$persistence $checks[$i][0]"));
	}
	return;
}

check_kinds('', sort keys %definitions);
check_kinds($_, 'packed', 'wide') foreach 'UNLOGGED', 'TEMPORARY';

# ---- several writers

# Blocks that they leave empty, in their last extents, and leaves that the ends of ranges leave half filled.
sub check_writers
{
	my ($persistence, @of) = @_;
	my @processes = ([ 1, 0 ], [ 2, 1 ], [ 3, 0 ], [ 7, 2 ], [ 40, 3 ]);
	my @checks = calls_for_indexes(@of);

	$node->safe_psql('postgres', sprintf $tables, $persistence);
	foreach my $i (0 .. $#checks)
	{
		my ($nranges, $nworkers) = @{ $processes[ $i % @processes ] };
		my $more = $node->safe_psql('postgres', "SELECT written - usual FROM sizes$checks[$i][1], $nranges, $nworkers)");
		my $most = 32 * ($nworkers + 1) + 2 * $nranges;
		ok($more >= -2 * $nranges && $more <= $most, lc("$persistence $checks[$i][0], $nranges ranges, $nworkers workers") . ": $more more blocks, $most at most");
	}
	$node->safe_psql('postgres', 'DROP TABLE ' . join(', ', keys %definitions));
	return;
}

check_writers('', sort keys %definitions);
check_writers('UNLOGGED', 'packed', 'wide');

# ---- sizes: no tuple, one, and so on, so that pages and levels are full to the last tuple

$node->safe_psql('postgres', <<'EOT');
CREATE TABLE steps AS SELECT i, i % 3 AS few, repeat(md5(i::text), 18) AS t FROM generate_series(1, 5000) AS i;
ALTER TABLE steps ALTER t SET STORAGE EXTERNAL;
UPDATE steps SET t = t || '';
VACUUM FULL steps;
EOT
foreach my $case (
	[ '(t)', 300, 1 ], [ '(t) WITH (fillfactor = 100)', 300, 1 ], [ '(t) WITH (fillfactor = 10)', 60, 1 ],
	[ '(i) WITH (fillfactor = 10)', 120, 1 ], [ '(i)', 2000, 19 ], [ '(i) WITH (fillfactor = 100)', 420, 1, 350 ],
	[ '(few)', 5000, 61 ], [ '(few) WITH (fillfactor = 100)', 5000, 61 ], [ '(few, t)', 100, 1 ])
{
	# In the quick run from the last one on, where fewer fill no page.
	my ($definition, $most, $step, $least) = @$case;
	$least = 0 if runs_all() || !defined $least;

	is( $node->safe_psql(
			'postgres',
			"SELECT n, d FROM generate_series($least, $most, $step) AS n, differences('steps', '', format('$definition WHERE i <= %s', n)) AS d WHERE d <> 'none'"),
		'',
		"$definition of $least to $most tuples");
}

# Ranges that are empty, or have a tuple, or some leaves, which may be full.
foreach my $definition ('(t)', '(t) WITH (fillfactor = 100)', '(t) WITH (fillfactor = 10)', '(few)', '(few) WITH (fillfactor = 100)')
{
	is( $node->safe_psql('postgres', "SELECT count(*) FROM generate_series(0, 100) AS n, sizes('steps', '', format('$definition WHERE i <= %s', n), 3 + n % 5, 0)"),
		101, "$definition of 0 to 100 tuples in ranges");
}

# ---- a tuple that is too large

$node->safe_psql('postgres', <<'EOT');
CREATE FUNCTION value(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT i::text $$;
CREATE INDEX steps_value ON steps (value(i));
CREATE OR REPLACE FUNCTION value(i int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN RETURN CASE WHEN i = 4711 THEN (SELECT string_agg(md5(j::text), '') FROM generate_series(1, 190) AS j) ELSE i::text END; END $$;
EOT
my @errors = map { ($node->psql('postgres', "\\set VERBOSITY verbose\n$_"))[2] } 'REINDEX INDEX steps_value', q{SELECT rebuild_by_writer('steps_value')};
s/^(?:LOCATION|CONTEXT).*//mg foreach @errors;
like($errors[1], qr/ERROR:  54000: index row size \d+ exceeds btree version 4 maximum 2704 for index "steps_value"/, 'a tuple that is too large');
is($errors[1], $errors[0], q(PostgreSQL's error));
is($node->safe_psql('postgres', q{SELECT bt_index_parent_check('steps_value')}), '', 'the index is as it was');

# ---- a replica

$node->backup('backup');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($node, 'backup', has_streaming => 1);
$replica->start;

# Indexes of every form, in a table of their own, built by one writer or several.
my $indexes = <<'EOT';
CREATE %1$s TABLE %2$s AS SELECT i, i %% 50 AS few, repeat(md5(i::text), 20) AS t FROM generate_series(1, 12000) AS i;
CREATE INDEX %2$s_i ON %2$s (i);
CREATE INDEX %2$s_few ON %2$s (few);
CREATE INDEX %2$s_t ON %2$s (t) INCLUDE (i);
CREATE INDEX %2$s_empty ON %2$s (i) WHERE i < 0;
SELECT %3$s FROM pg_index WHERE indrelid = '%2$s'::regclass;
EOT
use constant ALONE => 'rebuild_by_writer(indexrelid)';
use constant TOGETHER => 'rebuild_by_writers(indexrelid, 5, 2)';

# Are a table's indexes as they have to be?  A replica can't lock them for all that can be asked.
sub check_indexes
{
	my ($server, $table, $what) = @_;
	my $check = $server->safe_psql('postgres', 'SELECT pg_is_in_recovery()') eq 't' ? 'bt_index_check(indexrelid, true)' : 'bt_index_parent_check(indexrelid, true, true)';

	is($server->safe_psql('postgres', "SELECT count($check) FROM pg_index WHERE indrelid = '$table'::regclass"), 4, $what);
	return;
}

sub insert_rows
{
	my ($server, $table, $rows) = @_;

	$server->safe_psql('postgres', "INSERT INTO $table SELECT i, i % 70, repeat(md5((-i)::text), 20) FROM generate_series(-$rows, $rows) AS i");
	return;
}

# The pages of a table's indexes, each with its place in the log, but for checksums and free space; without
# pages of zeros, which are not in the log.
sub pages_of
{
	my ($server, $table) = @_;

	return $server->safe_psql('postgres', <<"EOT");
SELECT indexrelid::regclass, b, lsn, md5(substr(page, 11, lower - 10) || substr(page, upper + 1))
FROM pg_index, generate_series(0, pg_relation_size(indexrelid) / 8192 - 1) AS b, get_raw_page(indexrelid::regclass::text, b::int) AS page, page_header(page)
WHERE indrelid = '$table'::regclass AND upper > 0 ORDER BY 1, 2
EOT
}

foreach my $case ([ 'logged', ALONE ], [ 'logged_together', TOGETHER ])
{
	my ($table, $by) = @$case;

	$node->safe_psql('postgres', sprintf $indexes, '', $table, $by);
	$node->wait_for_catchup($replica);
	is(pages_of($replica, $table), pages_of($node, $table), "$table: the replica has the same pages");
	check_indexes($replica, $table, "$table, on a replica");
	insert_rows($node, $table, 3000);
	$node->wait_for_catchup($replica);
	check_indexes($node, $table, "$table, with new rows");
	check_indexes($replica, $table, "$table, with new rows, on a replica");
}
$replica->stop;

# ---- crashes, restarts and checksums

$node->safe_psql('postgres', sprintf $indexes, 'UNLOGGED', 'unlogged', ALONE);
check_indexes($node, 'unlogged', 'unlogged');
$node->restart;
check_indexes($node, 'unlogged', 'unlogged, after a restart');
$node->safe_psql('postgres', sprintf $indexes, '', 'crashed', ALONE);
$node->stop('immediate');
$node->start;
check_indexes($node, 'crashed', 'after a crash');
check_indexes($node, 'unlogged', 'unlogged, after a crash');
is($node->safe_psql('postgres', 'SELECT count(*) FROM unlogged'), 0, 'unlogged rows are gone');
insert_rows($node, 'unlogged', 1000);
check_indexes($node, 'unlogged', 'unlogged, with new rows');
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'checksums');

# Without the log, within the transaction that makes the table.
my $minimal = start_writer_node('minimal', 'wal_level = minimal', 'max_wal_senders = 0', 'wal_skip_threshold = 64kB');
foreach my $case ([ 'skipped', ALONE ], [ 'skipped_together', TOGETHER ])
{
	my ($table, $by) = @$case;
	my $before = $minimal->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');

	$minimal->safe_psql('postgres', 'BEGIN; ' . sprintf($indexes, '', $table, $by) . 'COMMIT');
	ok($minimal->safe_psql('postgres', "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$before')") < 1000000, "$table: nothing is logged that need not be");
}
$minimal->stop('immediate');
$minimal->start;
check_indexes($minimal, $_, "$_, after a crash") foreach 'skipped', 'skipped_together';
$minimal->stop;
command_ok([ 'pg_checksums', '--check', '-D', $minimal->data_dir ], 'checksums of what was not logged');

# ---- files are synced at the next checkpoint

my $synced = start_writer_node('synced', 'fsync = on', 'log_checkpoints = on', 'log_min_messages = debug1');
foreach my $persistence ('', 'UNLOGGED')
{
	my $table = lc "synced$persistence";

	$synced->safe_psql('postgres', sprintf($indexes, $persistence, $table, ALONE) . "SELECT rebuild_after_checkpoint('${table}_t')");
	my $file = $synced->safe_psql('postgres', "SELECT pg_relation_filepath('${table}_t')");
	my $offset = -s $synced->logfile;
	$synced->safe_psql('postgres', 'CHECKPOINT');
	like(slurp_file($synced->logfile, $offset), qr/checkpoint sync: number=\d+ file=\Q$file\E /, "synced by the next checkpoint: $table");
}
$synced->stop;

done_testing();
