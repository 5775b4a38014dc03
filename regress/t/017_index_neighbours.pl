# Builds of indexes beside others: hypothetical indexes, other access methods, entries of the relation cache
# that become invalid in the middle of a build, and pgbench, whose data and transactions everybody knows.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', 'gpusort.backend = cpu', 'autovacuum = off', 'min_parallel_table_scan_size = 0',
	'max_parallel_maintenance_workers = 2', 'client_min_messages = warning');
create_rows($node, 30000);
create_checked($node);
$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION gpusort;
ALTER TABLE r SET (parallel_workers = 2);
CREATE FUNCTION builds() RETURNS bigint LANGUAGE sql AS $$ SELECT sum(index_builds)::bigint FROM pg_stat_gpusort $$;
EOT

# Is an extension there that could be created?
sub extension_is_there
{
	my ($name) = @_;

	return $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = '$name'") == 1;
}

# ---- hypothetical indexes ----

# A hypothetical index is used by plans and not built; a real one beside it is, and is the one that is
# scanned.  hypopg 1.4.4 with PostgreSQL 18 forgets it in plans when a real one is made, without gpusort, too.
my $with_hypothetical = <<'EOT';
SELECT gpusort_stat_reset();
SELECT hypopg_create_index('CREATE INDEX ON r (k)') IS NOT NULL;
SELECT bool_or(line LIKE '%btree_r_k%') FROM plan_of('SELECT * FROM r WHERE k = 5') AS line;
CREATE INDEX r_t ON r (t, id);
SELECT builds(), checked('r_t');
REINDEX INDEX r_t;
CREATE INDEX CONCURRENTLY r_k ON r (k);
SELECT builds(), checked('r_k');
CREATE TABLE copy AS SELECT * FROM r;
SELECT hypopg_create_index('CREATE INDEX ON copy (k)') IS NOT NULL;
ALTER TABLE copy ADD PRIMARY KEY (id);
VACUUM FULL copy;
SELECT builds(), checked('copy_pkey'), count(*) FROM hypopg_list_indexes;
SELECT count(*) FROM gpusort_check('CREATE INDEX ON r (id)') WHERE taken;
DROP TABLE copy;
DROP INDEX r_t, r_k;
EOT

SKIP:
{
	skip 'hypopg is not installed', 1 unless extension_is_there('hypopg');
	$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION hypopg;
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN ' || query; END $$;
EOT
	foreach my $libraries ('gpusort, hypopg', 'hypopg, gpusort', 'gpusort')
	{
		$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'");
		$node->restart;
		is($node->safe_psql('postgres', $with_hypothetical), "\nt\nt\n1|ok\n3|ok\nt\n5|ok|2\n1", "hypothetical indexes, shared_preload_libraries = '$libraries'");
	}
}

# ---- other access methods ----

my %others = (
	'hash' => 'USING hash (t)',
	'brin' => 'USING brin (k, id)',
	'gin' => 'USING gin ((ARRAY[id, id % 100]))',
	'gist' => 'USING gist (point(id, k))',
	'spgist' => 'USING spgist (t)',
	'bloom' => 'USING bloom (id, t)');
foreach my $method (sort keys %others)
{
  SKIP:
	{
		skip "$method is not installed", 1 if $method eq 'bloom' && !extension_is_there('bloom');
		$node->safe_psql('postgres', 'CREATE EXTENSION bloom') if $method eq 'bloom';
		is($node->safe_psql('postgres', <<"EOT"), '0 f', "an index by $method is left alone");
SELECT builds() AS before \\gset
CREATE INDEX r_other ON r $others{$method};
REINDEX INDEX r_other;
CREATE INDEX CONCURRENTLY r_another ON r $others{$method};
SELECT builds() - :before || ' ' || EXISTS (SELECT FROM pg_index WHERE indrelid = 'r'::regclass AND NOT indisvalid)::text::char;
DROP INDEX r_another, r_other;
EOT
	}
}

# ---- entries of the relation cache that become invalid ----

create_gate($node, 15000);
my $gate = $node->background_psql('postgres');
my $builder = $node->background_psql('postgres');
$_->set_query_timer_restart foreach $gate, $builder;
# Messages of the table alone, and so many that whoever has not read them forgets all that it knows.
my %messages = (
	'of the table' => 'GRANT SELECT ON r TO pg_monitor; REVOKE SELECT ON r FROM pg_monitor; ALTER FUNCTION gate(bigint) COST 17; SELECT pg_stat_reset()',
	'that are too many' => q(DO $$ BEGIN FOR i IN 1 .. 400 LOOP EXECUTE 'CREATE TEMP TABLE many (k int, t text); DROP TABLE many'; COMMIT; END LOOP; END $$));
foreach my $what (sort keys %messages)
{
	foreach my $kind ('', 'CONCURRENTLY')
	{
		foreach my $workers (0, 2)
		{
			$gate->query_safe('SELECT pg_advisory_lock(1)');
			$builder->query_safe("SET max_parallel_maintenance_workers = $workers; SELECT gpusort_stat_reset()");
			$builder->query_until(qr/started/, "\\echo started\nCREATE INDEX $kind r_gated ON r (t DESC, k) WHERE gate(id);\n");
			$node->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)) or die 'the build does not wait';
			$node->safe_psql('postgres', $messages{$what});
			$gate->query_safe('SELECT pg_advisory_unlock(1)');
			is($builder->query_safe(q(SELECT builds(), checked('r_gated'))), '1|ok', "invalidations $what, $kind, $workers workers");
			$builder->query_safe('DROP INDEX r_gated');
		}
	}
}
$_->quit foreach $gate, $builder;

# ---- pgbench ----

$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
$node->command_ok([ 'pgbench', '--initialize', '--scale=5', '--quiet', '--port', $node->port, '--host', $node->host, 'postgres' ], 'pgbench fills its tables');
is($node->safe_psql('postgres', 'SELECT builds()'), 3, 'and has its primary keys built by gpusort');
$node->safe_psql('postgres', 'CREATE INDEX ON pgbench_accounts (abalance, aid DESC) INCLUDE (bid)');
$node->command_ok([ 'pgbench', '--client=4', '--time=5', '--no-vacuum', '--port', $node->port, '--host', $node->host, 'postgres' ], 'its transactions run');
is($node->safe_psql('postgres', <<'EOT'), 't', 'on right balances');
SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(bbalance) FROM pgbench_branches)
	AND (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(delta) FROM pgbench_history)
EOT
$node->command_ok([ 'pg_amcheck', '--heapallindexed', '--parent-check', '--port', $node->port, '--host', $node->host, 'postgres' ], 'and pg_amcheck finds nothing');

$node->stop;
done_testing();
