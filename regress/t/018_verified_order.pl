# Sorts by text of the C library's locales while their order is verified and put right: cancel and
# statement_timeout act at once, in all processes, and leave nothing behind.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use Test::More;

use constant { ROWS => 400000, ATTEMPTS => 10 };

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', 'gpusort.backend = cpu', 'autovacuum = off', 'shared_buffers = 256MB',
	'min_parallel_table_scan_size = 0', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0');
if ($node->psql('postgres', q(CREATE COLLATION english (provider = libc, locale = 'en_US.UTF-8'))) != 0)
{
	$node->stop;
	plan skip_all => 'this machine lacks the locale en_US.UTF-8';
}
create_rows($node, ROWS);
create_phase_waiters($node);
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');

my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->set_query_timer_restart;
my $pid = $session->query('SELECT pg_backend_pid()');
my $query = 'SELECT * FROM r ORDER BY t COLLATE english OFFSET 1000000000';

# Begins the sort, every image spoiled: putting its order right takes most of its time.
sub start_sort
{
	my ($settings) = @_;

	$session->query("RESET ALL; SET gpusort.spoiled_images = 1; $settings");
	$session->{stderr} = '';
	$session->query_until(qr/started/, "\\echo started\n$query;\n");
	return;
}

# Waits for it: what errors it had, and when it was over.
sub end_sort
{
	my $over = $session->query('SELECT clock_timestamp()');

	return ($session->{stderr}, $over);
}

sub milliseconds
{
	my ($from, $to) = @_;
	return $node->safe_psql('postgres', "SELECT round(extract(epoch FROM timestamptz '$to' - '$from') * 1000)");
}

# What sorts that have failed have left, in this session or elsewhere; nothing.
sub leavings
{
	return join ', ', grep { $_ ne '' } join(' ', temporary_files($node)), scalar $session->query(q(SELECT string_agg(name, ' ') FROM pg_backend_memory_contexts WHERE name ILIKE '%gpusort%'));
}

my $large = q(SET gpusort.work_mem = '1GB');
my @cases = (
	[ 'one process', $large, 'verifying order' ],
	[ 'several processes', "$large; SET max_parallel_workers_per_gather = 2", 'verifying order' ],
	[ 'through files', q(SET gpusort.work_mem = '2MB'), 'verifying order', 'returning rows' ]);

foreach my $case (@cases)
{
	my ($name, $settings, @phases) = @$case;

	foreach my $phase (@phases)
	{
		my ($errors, $since, $over, $soonest) = ('', '', '');

		# What it takes from the phase's beginning on.
		start_sort($settings);
		$since = $node->safe_psql('postgres', "SELECT clock_timestamp() FROM wait_for_phase($pid, '$phase', 0) AS met WHERE met");
		(undef, $over) = end_sort();
		my $whole = $since ne '' ? milliseconds($since, $over) : 0;

		foreach my $attempt (1 .. ATTEMPTS)
		{
			start_sort($settings);
			$since = $node->safe_psql('postgres', "SELECT cancel_in_phase($pid, '$phase', 0)");
			($errors, $over) = end_sort();
			next if $since eq '' || $errors eq '';
			my $late = milliseconds($since, $over);
			$soonest = $late unless defined $soonest && $soonest <= $late;
			last if $soonest * 4 < $whole;
		}
		like($errors, qr/^psql:<stdin>:\d+: ERROR:  canceling statement due to user request\n?$/, "$name: cancelled, $phase");
		cmp_ok($soonest // 'inf', '<', $whole / 2, "$name: at once, $phase");
		is(leavings(), '', "$name: nothing is left of it, $phase");
	}
}

# The same by a timeout, in the middle of what takes most of the time.
my ($started, $over, $errors);
start_sort($large);
($started) = $node->safe_psql('postgres', "SELECT clock_timestamp() FROM wait_for_phase($pid, 'verifying order', 0) AS met WHERE met");
(undef, $over) = end_sort();
my $rest = milliseconds($started, $over);
my $whole;
foreach my $attempt (1 .. ATTEMPTS)
{
	start_sort("$large; SET statement_timeout = " . int($rest / 2));
	$started = $node->safe_psql('postgres', "SELECT clock_timestamp() FROM wait_for_phase($pid, 'verifying order', 0) AS met WHERE met");
	($errors, $over) = end_sort();
	$session->query('RESET statement_timeout');
	last if $errors ne '' && $started ne '' && ($whole = milliseconds($started, $over)) < $rest / 2;
}
like($errors, qr/canceling statement due to statement timeout/, 'a timeout');
cmp_ok($whole // 'inf', '<', $rest * 3 / 4, 'acts at once');
is(leavings(), '', 'and nothing is left');
is($session->query("RESET ALL; SELECT count(*) FROM (SELECT * FROM r ORDER BY t COLLATE english OFFSET 0) s"), ROWS, 'the session works on');
$session->quit;
$node->stop;
done_testing();
