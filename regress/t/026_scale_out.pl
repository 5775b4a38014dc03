# Three servers: the example of docs/scale-out.md as it stands there, both sides of its plans, and a shard
# that is killed in the middle of a query.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $rows = 200000;

# From 19 on PostgreSQL's own sort is so fast that mode auto leaves some of these to it.
my $fast = `pg_config --version` =~ /^PostgreSQL (\d+)/ && $1 >= 19;

# ---- the document ----

my $document = slurp_file("$FindBin::Bin/../../docs/scale-out.md");
my @blocks;
push @blocks, [ $1, $2, $3 ] while $document =~ /^```sql\n-- on ([^\n;]*)[^\n]*\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?/msg;
cmp_ok(scalar(@blocks), '>=', 8, 'the document has examples');

my @settings = ('autovacuum = off', "work_mem = '64MB'", 'restart_after_crash = on', $fast ? 'gpusort.mode = force' : ());
my ($coordinator, @shards) = map { start_node($_, "gpusort.devices = 'none'", @settings) } qw(coordinator shard1 shard2);
my %servers = ('every server' => [ $coordinator, @shards ], 'each shard' => \@shards, 'a shard' => [ $shards[0] ], 'the coordinator' => [$coordinator]);

# The statements with the names of the servers here, and fewer rows.
sub adapted
{
	my ($statements) = @_;

	foreach my $i (0, 1)
	{
		my $host = $shards[$i]->host;
		my $port = $shards[$i]->port;
		my $name = 'shard' . ($i + 1);
		$statements =~ s/host '$name', port '5432'/host '$host', port '$port'/g;
	}
	$statements =~ s/generate_series\(1, \d+\)/generate_series(1, $rows)/;
	return $statements;
}

# From 18 on a plan has a line with a window's definition.
sub without_blanks
{
	my ($text) = @_;
	return join "\n", map { s/^\s+|\s+$//gr } grep { /\S/ && !/^\s*Window: / } lines_of($text);
}

foreach my $block (@blocks)
{
	my ($where, $statements, $answer) = @$block;

	foreach my $server (@{ $servers{$where} })
	{
		my $out = $server->safe_psql('postgres', adapted($statements));
		is(without_blanks($out), without_blanks($answer), "the document's plans: " . (lines_of($answer))[0]) if defined $answer;
		$server->restart if $where eq 'every server';
	}
}

# ---- rows and plans of both sides ----

# All rows, in this order, as the coordinator sees them; both sides' gpusort off or not.
sub ordered
{
	my ($order, $mode) = @_;

	$_->safe_psql('postgres', "ALTER ROLE coordinator SET gpusort.mode = $mode") foreach @shards;
	return $coordinator->safe_psql('postgres', "SET gpusort.mode = $mode; SELECT md5(string_agg(s::text, ',')) FROM (SELECT device, at, note FROM readings ORDER BY $order) AS s");
}

# How many sorts gpusort has done there.
sub sorts
{
	my ($server) = @_;
	return $server->safe_psql('postgres', q(SELECT sorts FROM pg_stat_gpusort WHERE device = 'cpu'));
}

$_->safe_psql('postgres', 'CREATE EXTENSION gpusort') foreach $coordinator, @shards;
foreach my $order ('at, device, value', 'value, note', 'bay(device), at, value', 'device NULLS FIRST, at DESC, value')
{
	my $expected = ordered($order, 'off');
	foreach my $mode (qw(auto force))
	{
		my @before = map { sorts($_) } $coordinator, @shards;
		is(ordered($order, $mode), $expected, "ORDER BY $order, $mode: right rows");
		my @after = map { sorts($_) } $coordinator, @shards;
		my $who = $order =~ /bay/ ? '1 0 0' : '0 1 1';
		next if $fast && $mode eq 'auto';
		is(join(' ', map { $after[$_] > $before[$_] ? 1 : 0 } 0 .. 2), $who, "ORDER BY $order, $mode: sorted " . ($order =~ /bay/ ? 'here' : 'by the shards'));
	}
}
is($coordinator->safe_psql('postgres', 'SELECT count(*) || \' \' || count(DISTINCT device) FROM numbered WHERE n = 1'), '1000 1000', 'windows of the shards');
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM (SELECT device, at, row_number() OVER (PARTITION BY device ORDER BY at) FROM readings EXCEPT ALL SELECT * FROM numbered) AS d'), 0, 'are those of the coordinator');

# The unsorted pull, sorted here: all shards at once.
my $pull = 'SELECT * FROM (SELECT * FROM readings OFFSET 0) AS r ORDER BY at, device, value';
like($coordinator->safe_psql('postgres', "SET gpusort.mode = force; EXPLAIN (COSTS OFF) $pull"), qr/GpuSort.*Append\n\s*->  Async Foreign Scan/s, 'the unsorted pull is asynchronous, below a GpuSort');

# Indexes that the shards have built.
is(join(' ', map { $_->safe_psql('postgres', q(SELECT index_builds FROM pg_stat_gpusort WHERE device = 'cpu')) } @shards), '1 1', 'the shards have built their indexes by gpusort');
my ($status, $out, $err) = $coordinator->psql('postgres', 'CREATE UNIQUE INDEX ON readings (device, note)');
like($err, qr/cannot create unique index on partitioned table "readings"/, 'a unique index is refused');

# ---- a shard that fails ----

# Until it has ended its other sessions, and takes new ones.
sub wait_for_server
{
	my ($node) = @_;

	foreach (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		usleep(10_000);
		my $log = slurp_file($node->logfile);
		return if $log =~ /was terminated by signal 9.*ready to accept connections/s;
	}
	die 'the server did not come back';
}

# Killed while its rows are merged: when the coordinator has read some of them.
my $session = $coordinator->background_psql('postgres', on_error_stop => 0);
$session->query_until(qr/begun/, "BEGIN;\nDECLARE c CURSOR FOR SELECT * FROM readings ORDER BY at, device;\nMOVE 15000 FROM c;\n\\echo begun\n");
my $backend = $shards[1]->safe_psql('postgres', q(SELECT pid FROM pg_stat_activity WHERE usename = 'coordinator' AND state LIKE 'idle in transaction%'));
like($backend, qr/^\d+$/, 'a backend of the shard is in the middle of it');
kill 'KILL', $backend;
wait_for_server($shards[1]);
$session->{stderr} = '';
$session->query_until(qr/over/, "MOVE ALL FROM c;\nROLLBACK;\nSELECT 'goes on ' || count(*) FROM pg_class WHERE relname = 'readings';\n\\echo over\n");
my @errors = grep { /ERROR|FATAL|PANIC/ } lines_of($session->{stderr});
is(scalar(@errors), 1, 'one error');
like($session->{stderr}, qr/ERROR:  (server closed the connection unexpectedly|terminating connection|could not receive data)/, 'which says that the shard has gone');
note($session->{stderr});
$session->quit;
is(ordered('at, device, note', 'auto'), ordered('at, device, note', 'off'), 'the next query is right, when the shard is back');

# One that is away: an error for what is there, none for the rest.
$shards[1]->stop('immediate');
($status, $out, $err) = $coordinator->psql('postgres', 'SELECT * FROM readings ORDER BY at');
like($err, qr/^psql:[^\n]*ERROR:  could not connect to server "shard2"/, 'a shard that is away is named');
is($coordinator->safe_psql('postgres', 'SELECT count(*) > 0 FROM readings_1'), 't', 'the other one answers');
$shards[1]->start;
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM readings'), $rows, 'and both when it is back');

$_->stop foreach $coordinator, @shards;
done_testing();
