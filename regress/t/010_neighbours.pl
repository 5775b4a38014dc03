# Other extensions whose hooks the planner and the executor have too.  One of them plans without asking who
# was there before it, or gives back a plan that it stored: then no hook of gpusort's sees the finished plan,
# and the sorts in it that are not for an ORDER BY stay PostgreSQL's.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'the neighbour is not installed (make -C regress/neighbour install)' unless library_is_installed('neighbour');

use constant SERIAL => 'SET max_parallel_workers_per_gather = 0';
use constant PARALLEL => 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0';

# Distributions have some, others are installed by hand.
sub library_is_installed
{
	my ($name) = @_;
	my $folder = `pg_config --pkglibdir`;

	chomp $folder;
	return -e "$folder/$name.so";
}

my $node = start_node('main');
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
create_rows($node, 5000);

# Sorts below and above other nodes, with columns for the sort alone, constants, one column twice, expressions
# that EXPLAIN can print in one place only, and volatile ones.
my %queries = (
	'plain' => 'SELECT id, k FROM r ORDER BY k, id',
	'hidden columns' => 'SELECT id FROM r ORDER BY t COLLATE "POSIX" DESC, k % 10, id',
	'constants' => q(SELECT 'x' AS x, id, k, id AS again, NULL::int FROM r ORDER BY k + 1, id),
	'aggregate' => 'SELECT k % 100 AS g, count(*), avg(id) FROM r GROUP BY 1 ORDER BY count(*), g',
	'window' => 'SELECT id, lag(id) OVER w AS before FROM r WINDOW w AS (PARTITION BY k % 7 ORDER BY id) ORDER BY lag(id) OVER w, id',
	'ranks' => 'SELECT id, row_number() OVER w FROM r WINDOW w AS (PARTITION BY k % 7 ORDER BY id) ORDER BY row_number() OVER w, id',
	'distinct on' => 'SELECT * FROM (SELECT DISTINCT ON (k % 50) k % 50 AS g, id, t FROM r ORDER BY k % 50, id DESC) s ORDER BY t, id',
	'limit' => 'SELECT id, t FROM r ORDER BY t, id DESC LIMIT 100 OFFSET 10',
	'ties' => 'SELECT k % 10 AS g FROM r ORDER BY k % 10 FETCH FIRST 10 ROWS WITH TIES',
	'nested' => 'SELECT a.id, b.t FROM (SELECT * FROM r ORDER BY k OFFSET 0) a JOIN (SELECT * FROM r ORDER BY t LIMIT 500) b USING (id) ORDER BY b.t, a.id',
	'fields of a record' => 'SELECT (s.w).f1 FROM (SELECT row(k, id) AS w, id FROM r OFFSET 0) s ORDER BY id',
	'subqueries' => 'SELECT id, (SELECT max(b.id) FROM r b WHERE b.id < 10 AND b.id <> r.id) FROM r WHERE id < 500 ORDER BY k',
	'set-returning' => 'SELECT id, generate_series(1, 3) AS g FROM r ORDER BY k, g',
	'inheritance' => 'SELECT * FROM (SELECT id, k FROM r UNION ALL SELECT id, id FROM r) u ORDER BY k, id',
	'volatile' => 'SELECT id, k, random() IS NULL FROM r ORDER BY k, id');

sub quoted
{
	my ($text) = @_;

	return q(') . ($text =~ s/'/''/gr) . q(');
}

$node->safe_psql('postgres', <<'EOT');
-- Its rows, one after the other.
CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(record_send(q), '''')) FROM (%s) q', query) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION plan_text(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	result text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		IF line NOT LIKE 'Query Identifier:%' THEN
			result := result || line || E'\n';
		END IF;
	END LOOP;
	RETURN result;
END $$;
-- A loop whose statements are planned once.
CREATE FUNCTION loop_digest() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i int;
	line record;
	result text := '';
BEGIN
	FOR i IN 1 .. 8 LOOP
		FOR line IN SELECT id, t FROM r WHERE id % 8 = i ORDER BY k LIMIT 10 LOOP
			result := md5(result || line::text);
		END LOOP;
	END LOOP;
	RETURN result;
END $$;
EOT
my %right = map { $_ => $node->safe_psql('postgres', SERIAL . '; SELECT digest(' . quoted($queries{$_}) . ')') } keys %queries;
my $right_loop = $node->safe_psql('postgres', SERIAL . '; SELECT loop_digest()');
my %plain_plans;

# A plan with the one name for both sorts.
sub with_any_sort
{
	my ($plan) = @_;

	return $plan =~ s/Custom Scan \(GpuSort\)/Sort/gr;
}

# One session: every query several times, in text, as a prepared statement, explained; the right rows or not.
# asked: is gpusort's planner_hook?
sub check_session
{
	my ($what, $set, $asked, $is_reference) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe("$set; SET gpusort.mode = force");
	foreach my $name (sort keys %queries)
	{
		my $query = quoted($queries{$name});
		my @results = map { scalar $session->query("SELECT digest($query)") } 1 .. 3;
		is_deeply(\@results, [ ($right{$name}) x 3 ], "$what: $name");

		$session->query_safe("PREPARE p AS $queries{$name}");
		$session->query_safe("SELECT count(*) FROM plan_text('EXECUTE p')") foreach 1 .. 7;
		$session->query_safe('DEALLOCATE p');

		my $plan = $session->query("SELECT plan_text($query)");
		$plain_plans{$set}{$name} = $plan if $is_reference;
		# what is above a sort is exchanged in a finished plan alone
		my $has_window = $name =~ /^(?:ranks|window)$/;
		is($plan =~ /Custom Scan \(GpuWindow\)/, !!$asked, "$what: $name, GpuWindow") if $has_window;
		is($asked ? $plan : with_any_sort($plan), $asked ? $plain_plans{$set}{$name} : with_any_sort($plain_plans{$set}{$name}), "$what: $name, plan")
		  if $asked || !$has_window;
		is(scalar($plan =~ /^\s*(?:->  )?Sort$/m), '', "$what: $name, all sorts are taken") if $asked && $set eq SERIAL;
		like($plan, $set eq PARALLEL && $name eq 'plain' ? qr/GpuSort\).*GpuSortFeed/s : qr/Custom Scan \(GpuSort\)/, "$what: $name, GpuSort");
	}
	is($session->query('SELECT loop_digest()'), $right_loop, "$what: a loop") foreach 1 .. 2;
	is($session->query("SELECT string_agg(sort_key, '; ') FROM gpusort_check(" . quoted($queries{nested}) . ')'), 'b.t COLLATE "C", r.id; r.k; r_1.t COLLATE "C"', "$what: gpusort_check");
	is($session->{stderr}, '', "$what: no errors");
	$session->quit;
	return;
}

# Starts the server with these libraries, and these settings.
sub load
{
	my ($libraries, @settings) = @_;

	$node->append_conf('postgresql.conf', join("\n", "shared_preload_libraries = '$libraries'", @settings, ''));
	$node->restart;
	return;
}

sub check_server
{
	my ($what, $asked, $is_reference) = @_;

	check_session("$what, serial", SERIAL, $asked, $is_reference);
	check_session("$what, parallel", PARALLEL, $asked, $is_reference);
	unlike(slurp_file($node->logfile), qr/was terminated by signal/, "$what: the server lives");
	return;
}

load('gpusort');
check_server('alone', 1, 1);
foreach my $libraries ('gpusort, neighbour', 'neighbour, gpusort')
{
	foreach my $plans ('chain', 'standard', 'stored', 'kept')
	{
		load($libraries, "neighbour.plans = $plans");
		check_server("$libraries, $plans", $plans eq 'chain' || $libraries eq 'neighbour, gpusort');
	}
}

my %settings = (
	'auto_explain' => [ 'auto_explain.log_min_duration = 0', 'auto_explain.log_analyze = on', 'auto_explain.log_verbose = on', 'auto_explain.log_nested_statements = on' ],
	'pg_stat_statements' => [ 'pg_stat_statements.track = all', 'pg_stat_statements.track_planning = on' ],
	'pg_hint_plan' => []);
my @others = grep { library_is_installed($_) } sort keys %settings;
note("not installed: $_") foreach grep { !library_is_installed($_) } sort keys %settings;
foreach my $libraries (join(', ', 'gpusort', @others), join(', ', reverse('gpusort', @others)), join(', ', 'gpusort', 'neighbour', @others))
{
	load($libraries, 'neighbour.plans = stored', map { @{ $settings{$_} } } @others);
	check_server($libraries, $libraries !~ /neighbour/);
}

# A neighbour that has taken a name of gpusort's: LOAD says so, each time, and nothing of gpusort is there.
load('');
foreach my $name ('GpuSort', 'GpuSortFeed', 'GpuWindow', 'gpusort.min_rows')
{
	my ($status, $out, $err) = $node->psql('postgres',
		"SET neighbour.takes = '$name'; LOAD 'neighbour'; LOAD 'gpusort'; LOAD 'gpusort'; SHOW gpusort.mode; SELECT count(*) FROM (SELECT * FROM r ORDER BY k) s;",
		on_error_stop => 0);
	my @errors = $err =~ /ERROR:  (.*)(?:\nDETAIL:  (.*))?/g;
	my @clash = ("gpusort cannot be loaded together with another library that uses the same names", qr/"\Q$name\E"/);

	is($errors[$_ * 2], $clash[0], "$name is taken: LOAD fails") foreach 0, 1;
	like($errors[$_ * 2 + 1] // '', $clash[1], 'and says which name it is') foreach 0, 1;
	like($errors[4] // '', qr/unrecognized configuration parameter "gpusort.mode"/, 'no setting is left behind');
	is($out, '5000', 'the session goes on');
}
is($node->psql('postgres', "SET neighbour.takes = 'another'; LOAD 'neighbour'; LOAD 'gpusort'"), 0, 'beside other names it is loaded');

$node->stop;
done_testing();
