# Cancel and statement_timeout in every stage of a sort: at once, and nothing is left behind.
#
# There is no way to stop a sort at a given stage from outside, so each kind of sort is timed once and then
# interrupted at many points of that time.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use Test::More;
use Time::HiRes qw(time usleep);

use constant POINTS => 5;
use constant ROWS => runs_all() ? 1500000 : 500000;

my $node = start_node('main', "shared_preload_libraries = 'gpusort'", 'gpusort.mode = force', 'shared_buffers = 256MB');
create_rows($node, ROWS);

my $drain = 'OFFSET 1000000000';
my %sorts = (
	'fixed keys in memory' => [ '2GB', "SELECT * FROM r ORDER BY k $drain" ],
	'variable keys in memory' => [ '2GB', "SELECT * FROM r ORDER BY t $drain" ],
	'fixed keys through files' => [ '1MB', "SELECT * FROM r ORDER BY k $drain" ],
	'variable keys through files' => [ '1MB', "SELECT * FROM r ORDER BY t $drain" ],
	'ICU keys in memory' => [ '2GB', "SELECT * FROM r ORDER BY t COLLATE \"und-x-icu\" $drain" ],
	'first rows of groups in memory' => [ '2GB', "SELECT * FROM (SELECT id, t, row_number() OVER (PARTITION BY id % 40000 ORDER BY k) AS n FROM r) s WHERE n <= 3 $drain" ],
	'first rows of groups through files' => [ '1MB', "SELECT DISTINCT ON (t) * FROM r ORDER BY t, k $drain" ],
	'windows that hold few rows' => [ '2GB', "SELECT sum(id) OVER w, lag(t, 3) OVER w, lead(t, 3) OVER w FROM r WINDOW w AS (PARTITION BY id % 1000 ORDER BY k ROWS UNBOUNDED PRECEDING) $drain" ],
	'windows that hold rows in files' => [ '1MB', "SELECT sum(id) OVER w, t FROM r WINDOW w AS (PARTITION BY id % 3) $drain" ],
	'a row at a time through files' => [ '1MB', "SELECT count(*) FROM (SELECT * FROM r ORDER BY t, k OFFSET 0) s, generate_series(1, 2)" ],
);

# Runs the statement in a session with a timeout, and then another sort.  Returns the milliseconds it took,
# whether it was cancelled, and what was left of the session.
sub interrupt_by_timeout
{
	my ($memory, $query, $timeout_ms) = @_;
	my ($status, $out, $err) = $node->psql('postgres', <<"EOT", on_error_stop => 0);
SET gpusort.work_mem = '$memory';
SET work_mem = '$memory';
SET statement_timeout = $timeout_ms;
SELECT clock_timestamp() AS start \\gset
$query;
SET statement_timeout = 0;
SELECT round(extract(epoch FROM clock_timestamp() - :'start') * 1000);
SELECT bool_and(id > before) FROM (SELECT id, lag(id) OVER () AS before FROM (SELECT id FROM r WHERE id % 10 = 0 ORDER BY id + 0 OFFSET 0) s) s2;
SELECT count(*) FROM pg_ls_tmpdir();
SELECT count(*) FROM pg_backend_memory_contexts WHERE name ILIKE '%gpusort%';
EOT
	my ($took, $sorted, $files, $contexts) = (lines_of($out))[-4 .. -1];
	my $was_cancelled = $err =~ /canceling statement due to statement timeout/ ? 1 : 0;
	return ($took, $was_cancelled, "$sorted $files $contexts");
}

foreach my $name (sort keys %sorts)
{
	my ($memory, $query) = @{ $sorts{$name} };
	my ($whole_time) = interrupt_by_timeout($memory, $query, 0);
	my ($cancelled, $latest, @rests) = (0, 0);

	foreach my $point (1 .. POINTS)
	{
		my $timeout = int($whole_time * $point / (POINTS + 1)) || 1;
		my ($took, $was_cancelled, $rest) = interrupt_by_timeout($memory, $query, $timeout);
		$cancelled++ if $was_cancelled;
		$latest = $took - $timeout if $took - $timeout > $latest;
		push @rests, "$timeout ms: $rest" if $rest ne 't 0 0';
	}
	# How many depends on the machine, which may be faster at times than it was at first.
	cmp_ok($cancelled, '>=', 1, "$name: $cancelled of " . POINTS . " timeouts within $whole_time ms took effect");
	# Not a test: how late depends on the machine and on what else it does.
	note("$name: the latest came ${latest} ms late");
	is("@rests", '', "$name: the session works on, with no file and no memory left");
}
is(join(' ', temporary_files($node)), '', 'no temporary files after timeouts');

# The same by a signal, from another session, with the row by row return of a cursor among the stages.
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe("SET gpusort.work_mem = '256kB'");
my $pid = $session->query('SELECT pg_backend_pid()');
my $cancelled = 0;
foreach my $wait_ms (5, 50, 150, 300, 450, 600)
{
	$session->query_until(qr/started/, "\\echo started\nSELECT count(*) FROM (SELECT * FROM r ORDER BY t OFFSET 0) s, generate_series(1, 20);\n");
	usleep($wait_ms * 1000);
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	$session->query('SELECT 1');
	$cancelled++ if $session->{stderr} =~ /canceling statement due to user request/;
	$session->{stderr} = '';
}
cmp_ok($cancelled, '>=', 5, "$cancelled of 6 signals took effect");
is($session->query("SELECT count(*) FROM (SELECT * FROM r ORDER BY t OFFSET 0) s"), ROWS, 'the session works on');
$session->query_safe("BEGIN; DECLARE c CURSOR FOR SELECT id FROM r ORDER BY k");
like($session->query('FETCH 1 FROM c'), qr/^\d+$/, 'an open cursor');
cmp_ok(scalar(temporary_files($node)), '>', 0, 'has temporary files');
$session->quit;
$node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)");
is(join(' ', temporary_files($node)), '', 'and none once the session is gone');

# A session that is terminated in the middle of a sort.
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe("SET gpusort.work_mem = '256kB'");
$pid = $session->query('SELECT pg_backend_pid()');
$session->query_until(qr/started/, "\\echo started\nSELECT count(*) FROM (SELECT * FROM r ORDER BY t OFFSET 0) s, generate_series(1, 20);\n");
usleep(10_000) until temporary_files($node);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 10000)");
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid"), '0', 'terminated');
is(join(' ', temporary_files($node)), '', 'no temporary files after a termination');
eval { $session->{run}->finish; };

$node->stop;
done_testing();
