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
  unless -e "$1/btree_writer.so" || `pg_config --pkglibdir` =~ /(.*)/ && -e "$1/btree_writer.so";

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C.UTF-8', '--data-checksums' ]);
$node->append_conf('postgresql.conf', <<'EOT');
max_parallel_maintenance_workers = 0
wal_consistency_checking = 'btree'
max_wal_size = 4GB
autovacuum = off
EOT
$node->start;
$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION amcheck;
CREATE FUNCTION rebuild_by_writer(index regclass) RETURNS void LANGUAGE C STRICT AS 'btree_writer';
CREATE FUNCTION first_difference(a regclass, b regclass) RETURNS text LANGUAGE C STRICT AS 'btree_writer';
-- The same index twice, built by PostgreSQL and by the writer: what is different; nothing, as a rule.
CREATE FUNCTION differences(relation regclass, uniqueness text, definition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('CREATE %s INDEX built_by_postgres ON %s %s', uniqueness, relation, definition);
	EXECUTE format('CREATE %s INDEX built_by_writer ON %s %s', uniqueness, relation, definition);
	PERFORM rebuild_by_writer('built_by_writer');
	PERFORM bt_index_parent_check('built_by_writer', true, true);
	result := first_difference('built_by_postgres', 'built_by_writer');
	DROP INDEX built_by_postgres, built_by_writer;
	RETURN coalesce(result, 'none');
END $$;
EOT

# Tables, by the persistence that is put for %s.
my $tables = <<'EOT';
CREATE %1$s TABLE numbers AS
	SELECT i, hashint8extended(i, 0) AS random, i %% 100 AS few, 1 AS one,
		CASE WHEN i %% 3 > 0 THEN hashint8extended(i, 1) %% 1000 END AS some_null, NULL::int AS no_value
	FROM generate_series(1, 60000) AS i;
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

sub check_kinds
{
	my ($persistence) = @_;
	my $set_up = sprintf $tables, $persistence;
	my @checks;

	# The expected answers and the statements, for one session.
	foreach my $table (sort keys %definitions)
	{
		foreach my $definition (@{ $definitions{$table} })
		{
			my ($unique, $rest) = $definition =~ /^(unique)? ?(.*)$/;
			push @checks, [ "$table $definition", q{SELECT differences('} . $table . q{', '} . ($unique // '') . qq{', \$\$$rest\$\$)} ];
		}
	}
	my @results = lines_of($node->safe_psql('postgres', join(";\n", 'SET client_min_messages = warning', $set_up, (map { $_->[1] } @checks), 'DROP TABLE ' . join(', ', keys %definitions), '')));
	foreach my $i (0 .. $#checks)
	{
		is($results[$i], 'none', lc("$persistence $checks[$i][0]"));
	}
	return;
}

check_kinds($_) foreach '', 'UNLOGGED', 'TEMPORARY';

$node->stop;
done_testing();
