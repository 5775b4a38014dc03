# What pg_stat_progress_create_index and pg_stat_progress_gpusort say during builds of indexes, beside the
# truth.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;

use constant { ROWS => 400000, STRETCH => 64, WORKERS => 2, ATTEMPTS => 10 };

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', 'gpusort.backend = cpu', 'autovacuum = off', 'shared_buffers = 256MB',
	'min_parallel_table_scan_size = 0', 'max_parallel_maintenance_workers = ' . WORKERS, 'client_min_messages = warning');
create_rows($node, ROWS);
my $blocks = $node->safe_psql('postgres', q(SELECT pg_relation_size('r') / 8192));

$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION gpusort;
ALTER TABLE r SET (parallel_workers = 2);
CREATE TABLE parts (id int, k int8, t text COLLATE "C") PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (150000);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (150000) TO (1000000);
CREATE TABLE part_3 PARTITION OF parts FOR VALUES FROM (1000000) TO (2000000);
INSERT INTO parts SELECT * FROM r;
VACUUM ANALYZE parts;
-- What was seen: a row each time that something was different.
CREATE UNLOGGED TABLE samples (n int GENERATED ALWAYS AS IDENTITY, phase text, blocks_total int8, blocks_done int8, tuples_total int8, tuples_done int8,
	partitions_total int8, partitions_done int8, sort_phase text, rows_in int8, rows_out int8);
-- Looks at a session's build until it is over, having no snapshot in between, for which concurrent builds wait.
CREATE PROCEDURE watch(builder int) LANGUAGE plpgsql AS $$
DECLARE
	seen text := '';
	now_seen record;
	begun boolean := false;
BEGIN
	LOOP
		SELECT p.phase, blocks_total, blocks_done, tuples_total, tuples_done, partitions_total, partitions_done, g.phase AS sort_phase, rows_in, rows_out INTO now_seen
			FROM pg_stat_progress_create_index p LEFT JOIN pg_stat_progress_gpusort g USING (pid) WHERE pid = builder;
		EXIT WHEN begun AND NOT FOUND;
		IF FOUND AND now_seen::text <> seen THEN
			begun := true;
			seen := now_seen::text;
			INSERT INTO samples (phase, blocks_total, blocks_done, tuples_total, tuples_done, partitions_total, partitions_done, sort_phase, rows_in, rows_out)
				VALUES (now_seen.phase, now_seen.blocks_total, now_seen.blocks_done, now_seen.tuples_total, now_seen.tuples_done, now_seen.partitions_total, now_seen.partitions_done, now_seen.sort_phase, now_seen.rows_in, now_seen.rows_out);
		END IF;
		COMMIT;
	END LOOP;
END $$;
-- Stops those processes of a build that are workers, as long as somebody has the lock 1.
CREATE FUNCTION gate_of_workers(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF id % 1000 = 0 AND (SELECT leader_pid IS NOT NULL FROM pg_stat_get_activity(pg_backend_pid())) THEN
		PERFORM pg_advisory_xact_lock_shared(1);
	END IF;
	RETURN id;
END $$;
EOT
create_gate($node, ROWS / 2);

my $gate = $node->background_psql('postgres');
my $watcher = $node->background_psql('postgres');
my $builder = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $builder->query('SELECT pg_backend_pid()');

sub seen
{
	my ($columns, $where) = @_;

	return $node->safe_psql('postgres', "SELECT $columns FROM samples WHERE " . ($where // 'true'));
}

# Samples that can't be true, whatever is built.
sub check_samples
{
	my ($what) = @_;

	is(seen('count(*)', 'blocks_done > blocks_total OR tuples_done > tuples_total OR partitions_done > partitions_total'), 0, "$what: nothing is more than all of it");
	# A concurrent build's scan is PostgreSQL's own, which reports all blocks before its first.
	is( $node->safe_psql('postgres', <<'EOT'), '', "$what: nothing is undone");
SELECT before, now FROM (SELECT samples AS now, lag(samples) OVER (ORDER BY n) AS before FROM samples) s
WHERE (now).phase = (before).phase AND (now).partitions_done = (before).partitions_done
	AND ((now).blocks_done < (before).blocks_done AND (now).blocks_total > 0 AND NOT ((before).blocks_done = (before).blocks_total AND (now).sort_phase = 'reading input') OR (now).tuples_done < (before).tuples_done)
EOT
	is(seen('count(*)', q(phase LIKE '%scanning table' AND tuples_done <> 0)), 0, "$what: nothing is loaded while it is scanned");
	is(seen('count(*)', q(phase LIKE '%loading%' AND blocks_total <> 0)), 0, "$what: nothing is scanned while it is loaded");
	return;
}

# Builds an index while somebody watches, some times if not all phases were seen: it may have been looked
# away.
sub watch_build
{
	my ($what, $settings, $statement, @phases) = @_;
	my @missing;

	foreach (1 .. ATTEMPTS)
	{
		$node->safe_psql('postgres', 'DROP INDEX IF EXISTS watched; TRUNCATE samples RESTART IDENTITY');
		$builder->query_safe("RESET ALL; SET client_min_messages = warning; $settings");
		$watcher->query_until(qr/started/, "\\echo started\nCALL watch($pid);\n");
		$builder->query_safe($statement);
		$watcher->query_safe('SELECT 1');
		check_samples($what);
		my %seen = map { $_ => 1 } lines_of(seen('DISTINCT phase'));
		@missing = grep { !$seen{$_} } @phases;
		last unless @missing;
	}
	is("@missing", '', "$what: all phases are seen");
	is(seen(q(string_agg(DISTINCT tuples_total::text, ' '))  , q(phase LIKE '%loading%')), ROWS, "$what: the tuples that are loaded") unless $what =~ /partition/;
	return;
}

# The end of a sort through files takes no time.
my @phases = map { "building index: $_" } 'scanning table', 'sorting live tuples', 'loading tuples in tree';
my @validation = map { "index validation: $_" } 'scanning index', 'scanning table';
my $serial = 'SET max_parallel_maintenance_workers = 0';
my $large = q(SET maintenance_work_mem = '1GB');

watch_build('one process', "$serial; $large", 'CREATE INDEX watched ON r (t, id)', @phases);
is(seen('DISTINCT blocks_total', q(phase LIKE '%scanning table')) =~ s/^0\n//r, $blocks, 'the blocks of the table');
watch_build('several processes', $large, 'CREATE INDEX watched ON r (t, id)', @phases);
is(seen('DISTINCT blocks_total', q(phase LIKE '%scanning table')) =~ s/^0\n//r, $blocks, 'the blocks of the table, of several processes');
watch_build('several processes that load', $large, 'CREATE INDEX watched ON r (t, k, id) INCLUDE (t)', @phases);
cmp_ok(seen('count(DISTINCT tuples_done)', q(phase LIKE '%loading%')), '>', 2, 'how many are loaded');
cmp_ok(seen('count(DISTINCT rows_out)', q(sort_phase = 'returning rows')), '>', 2, 'how many are returned');
watch_build('through files', "$serial; SET maintenance_work_mem = '1MB'", 'CREATE INDEX watched ON r (t, id)', @phases[0, 2]);
watch_build('several processes through files', q(SET maintenance_work_mem = '2MB'), 'CREATE INDEX watched ON r (t, id)', @phases[0, 2]);
watch_build('concurrently', $large, 'CREATE INDEX CONCURRENTLY watched ON r (t, id)', @phases, @validation);
# The last partition is built in a moment, too.
my $partitions_done = '';
foreach (1 .. ATTEMPTS)
{
	watch_build('partitions', $large, 'CREATE INDEX watched ON parts (t, id)', @phases);
	$partitions_done = seen(q(string_agg(DISTINCT partitions_done::text, ' ')));
	last if $partitions_done =~ /^0 1 2/;
}
is(seen('max(partitions_total)'), 3, 'partitions, in all');
like($partitions_done, qr/^0 1 2/, 'partitions that are done');

# ---- builds that stand still ----

sub stop_build
{
	my ($settings, $statement, $waiting) = @_;

	$gate->query_safe('SELECT pg_advisory_lock(1)');
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS watched; TRUNCATE samples RESTART IDENTITY');
	$builder->query_safe("RESET ALL; SET client_min_messages = warning; $settings");
	$builder->query_until(qr/started/, "\\echo started\n$statement;\n");
	$node->poll_query_until('postgres', "SELECT count(*) = $waiting FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") or die 'the build does not wait';
	return;
}

sub go_on
{
	$gate->query_safe('SELECT pg_advisory_unlock(1)');
	$builder->query_safe('SELECT 1');
	return;
}

sub progress
{
	my ($columns) = @_;

	return $node->safe_psql('postgres', "SELECT $columns FROM pg_stat_progress_create_index WHERE pid = $pid");
}

# One process, at a row in the middle of the table.
stop_build("$serial; $large", 'CREATE INDEX watched ON r (k) WHERE gate(id)', 1);
my $block = $node->safe_psql('postgres', 'SELECT (ctid::text::point)[0]::int FROM r WHERE id = ' . ROWS / 2);
is(progress('phase, blocks_total, tuples_total, tuples_done'), "building index: scanning table|$blocks|0|0", 'one process that stands still');
my $done = progress('blocks_done');
ok($done <= $block && $done > $block - STRETCH, "$done blocks are done before block $block");
go_on();

# Workers that stand still, each in its first stretch, while the leader scans all the rest.
stop_build($large, 'CREATE INDEX watched ON r (gate_of_workers(id))', WORKERS);
$node->poll_query_until('postgres', "SELECT blocks_done > $blocks - " . (WORKERS + 1) * STRETCH . " FROM pg_stat_progress_create_index WHERE pid = $pid");
# All that are left are in the workers' stretches.
$node->poll_query_until('postgres', "SELECT blocks_done >= $blocks - " . WORKERS * STRETCH . " FROM pg_stat_progress_create_index WHERE pid = $pid");
is($blocks - progress('blocks_done'), WORKERS * STRETCH, 'blocks of workers that stand still are not done');
go_on();
is($node->safe_psql('postgres', q(SELECT indisvalid FROM pg_index WHERE indexrelid = 'watched'::regclass)), 't', 'the index is built');

$_->quit foreach $gate, $watcher, $builder;
$node->stop;
done_testing();
