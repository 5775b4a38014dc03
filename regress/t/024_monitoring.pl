# The collectors, the alerts and the dashboard of monitoring/: what the first ask a server for is there, and
# the others ask for nothing else.  With the exporters in the PATH these serve it to the test, and with
# prometheus every query of the dashboard is evaluated over what it has scraped from them.
# tools/check-monitoring brings them.
use strict;
use warnings;

use CPAN::Meta::YAML;
use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use HTTP::Tiny;
use IPC::Run qw(run start);
use JSON::PP qw(decode_json);
use List::Util qw(uniq);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $folder = "$FindBin::Bin/../../monitoring";
plan skip_all => 'an unpacked archive without monitoring/' unless -d $folder;

my $on_card = gpusortd_is_installed();
my $node = start_node('main', "shared_preload_libraries = 'gpusort'", $on_card ? ("gpusort.gpusortd_options = '--host-memory-layer'", "gpusort.devices = ''") : (),
	'gpusort.mode = force', "listen_addresses = ''");
$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION gpusort;
CREATE ROLE gpusort_monitor LOGIN IN ROLE pg_monitor;
EOT
create_rows($node, 20000);
$node->poll_query_until('postgres', q(SELECT bool_and(state = 'ready') AND count(*) > 1 FROM gpusort_devices())) or die 'gpusortd did not start' if $on_card;

# ---- what the files say ----

# The part of a file below a heading that ends with a colon, or all of it, as data.
sub yaml
{
	my ($file) = @_;
	return CPAN::Meta::YAML->read_string(slurp_file("$folder/$file") =~ s/"\$/"\\\$/gr)->[0];
}

# Of a collector, by the name of each query: its text, its labels and the columns with values.
sub queries_of_postgres_exporter
{
	my $yaml = yaml('postgres_exporter.yaml');
	my %queries;
	foreach my $name (keys %$yaml)
	{
		my %usage = map { %$_ } @{ $yaml->{$name}{metrics} };
		my @columns = map { keys %$_ } @{ $yaml->{$name}{metrics} };
		$queries{$name} = {
			query => $yaml->{$name}{query},
			labels => [ grep { $usage{$_}{usage} eq 'LABEL' } @columns ],
			values => [ grep { $usage{$_}{usage} ne 'LABEL' } @columns ],
			counters => [ grep { $usage{$_}{usage} eq 'COUNTER' } @columns ] };
	}
	return \%queries;
}

# Its lists stand in brackets, which the parser does not know.
sub queries_of_sql_exporter
{
	my %queries;
	foreach my $part (split /^      - name: /m, slurp_file("$folder/sql_exporter.yaml"))
	{
		my ($name) = $part =~ /\A(\w+)\n/ or next;
		my %lists = $part =~ /^        (labels|values): \[(.*)\]$/mg;
		my ($query) = $part =~ /^        query: \|\n(.*)\z/ms;
		$queries{$name} = { query => $query =~ s/^          //mgr, map { $_ => [ split /, /, $lists{$_} ] } qw(labels values) };
	}
	return \%queries;
}

# How a query is laid out does not matter.
sub words
{
	my ($part) = @_;
	return ref $part ? $part : join ' ', split ' ', $part;
}

my $queries = queries_of_postgres_exporter();
my $others = queries_of_sql_exporter();
is_deeply([ sort keys %$others ], [ sort keys %$queries ], 'both collectors have the same queries');
foreach my $name (sort keys %$queries)
{
	foreach my $part (qw(query labels values))
	{
		is_deeply(words($others->{$name}{$part}), words($queries->{$name}{$part}), "$name: the same $part");
	}
}

# The metrics there are, with their labels.
my %metrics;
foreach my $name (keys %$queries)
{
	$metrics{"${name}_$_"} = $queries->{$name}{labels} foreach @{ $queries->{$name}{values} };
}

# ---- what a server answers ----

sub columns_of
{
	my ($query) = @_;
	my $out = $node->safe_psql('postgres', "\\pset format csv\n\\pset tuples_only off\n$query", extra_params => [ '-U', 'gpusort_monitor' ]);
	my ($heads, @rows) = split /\n/, $out;
	return ([ split /,/, $heads ], scalar @rows);
}

foreach my $name (sort keys %$queries)
{
	my ($columns, $rows) = columns_of($queries->{$name}{query});
	is_deeply([ sort @$columns ], [ sort @{ $queries->{$name}{labels} }, @{ $queries->{$name}{values} } ], "$name: columns, to a member of pg_monitor");
	cmp_ok($rows, '>', 0, "$name: rows") if $on_card || $name ne 'gpusort_card';
}
foreach my $name (grep { @{ $queries->{$_}{counters} } } sort keys %$queries)
{
	is_deeply([ grep { !/_?total$/ } @{ $queries->{$name}{counters} } ], [], "$name: counters are called so");
}

# ---- what the dashboard and the alerts ask for ----

sub expressions_of_dashboard
{
	my $dashboard = decode_json(slurp_file("$folder/dashboard.json"));
	my %expressions;
	foreach my $panel (@{ $dashboard->{panels} })
	{
		$expressions{"panel '$panel->{title}', $_->{refId}"} = { expr => $_->{expr}, legend => $_->{legendFormat} } foreach @{ $panel->{targets} };
	}
	foreach my $variable (grep { $_->{type} eq 'query' } @{ $dashboard->{templating}{list} })
	{
		my ($metric) = $variable->{query}{query} =~ /^label_values\((\w+), \w+\)$/;
		$expressions{"variable $variable->{name}"} = { expr => $metric, legend => '' };
	}
	return \%expressions;
}

sub expressions_of_alerts
{
	my %expressions;
	my $alerts = slurp_file("$folder/alerts.yaml");
	while ($alerts =~ /^ +- alert: (\w+)\n +expr: >-?\n(.*?)^ +for:/msg)
	{
		$expressions{"alert $1"} = { expr => $2, legend => '' };
	}
	return \%expressions;
}

# Complains of metrics and labels that there are not.
sub check_expression
{
	my ($what, $asked) = @_;
	my ($expr, @wrong) = ($asked->{expr});
	my @names = uniq($expr =~ /\b(gpusort\w*)\b(?!")/g);
	push @wrong, 'no metric at all' unless @names;
	push @wrong, "no metric $_" foreach grep { !$metrics{$_} } @names;
	my %known = map { $_ => 1 } 'instance', map { @{ $metrics{$_} // [] } } @names;
	my @labels = ($expr =~ /\b(\w+)=~?"/g, map { split /,\s*/ } $expr =~ /\b(?:by|on) \(([^)]*)\)/g);
	push @labels, $asked->{legend} =~ /\{\{(\w+)\}\}/g;
	push @wrong, "no label $_" foreach grep { !$known{$_} } uniq(@labels);
	is(join(', ', @wrong), '', $what);
	return;
}

my $dashboard = expressions_of_dashboard();
my $alerts = expressions_of_alerts();
is(scalar keys %$alerts, 3, 'three alerts');
my %asked = (%$dashboard, %$alerts);
check_expression($_, $asked{$_}) foreach sort keys %asked;
my $all = join "\n", map { $_->{expr} } values %$dashboard;
foreach my $metric (sort keys %metrics)
{
	# what a DBA asks for when a panel has made him curious
	next if $metric =~ /parallel_sorts|corrections/;
	like($all, qr/\b$metric\b/, "$metric is in a panel");
}

# ---- exporters, and prometheus ----

sub in_path
{
	my ($program) = @_;
	foreach my $place (split /:/, $ENV{PATH})
	{
		return "$place/$program" if -x "$place/$program";
	}
	return;
}

if ($ENV{GPUSORT_EXPORTERS})
{
	in_path($_) or die "$_ is not in the PATH" foreach qw(prometheus-postgres-exporter prometheus-sql-exporter prometheus promtool);
}

# A port that nobody listens on.
sub free_port
{
	return PostgreSQL::Test::Cluster::get_free_port();
}

my %running;
END { $_->kill_kill(grace => 2) foreach values %running; }

sub start_program
{
	my ($name, @command) = @_;
	my $log = $node->basedir . "/$name.log";
	$running{$name} = start(\@command, '<', \undef, '>', $log, '2>', "$log.err");
	return;
}

# What a page says, as soon as it matches.
sub page_with
{
	my ($url, $pattern) = @_;
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;
	my $answer;
	do
	{
		$answer = HTTP::Tiny->new(timeout => 10)->get($url);
		return $answer->{content} if $answer->{success} && $answer->{content} =~ $pattern;
		sleep(0.2);
	} while (time < $until);
	diag("$url: $answer->{status} " . substr($answer->{content}, 0, 2000));
	return '';
}

# Sorts, builds, one that is declined, one that is not what the card can, files, rows of each.
sub work
{
	$node->safe_psql('postgres', <<'EOT');
SET client_min_messages = warning;
SELECT count(*) FROM (SELECT * FROM r ORDER BY k OFFSET 0) s;
SET gpusort.backend = cpu;
SET gpusort.work_mem = '1MB';
SELECT count(*) FROM (SELECT * FROM r ORDER BY t OFFSET 0) s;
CREATE INDEX r_k ON r (k);
DROP INDEX r_k;
SELECT count(*) FROM (SELECT ROW(ROW(id)) AS a FROM r ORDER BY a OFFSET 0) s;
EOT
	return;
}

# What prometheus makes of an expression.
sub results
{
	my ($api, $expr) = @_;
	my $answer = HTTP::Tiny->new->get("$api/query?" . HTTP::Tiny->new->www_form_urlencode({ query => $expr }));
	my $json = eval { decode_json($answer->{content}) };
	diag("$expr: $answer->{content}") unless $json && $json->{status} eq 'success';
	return @{ ($json // {})->{data}{result} // [] };
}

my $socket = $node->host;
my $port = $node->port;
my %exporters;

if (in_path('prometheus-postgres-exporter'))
{
	my $listen = free_port();
	local $ENV{DATA_SOURCE_NAME} = "postgresql:///postgres?host=$socket&port=$port&user=gpusort_monitor&sslmode=disable";
	start_program('postgres_exporter', 'prometheus-postgres-exporter', '--disable-default-metrics', '--disable-settings-metrics',
		"--extend.query-path=$folder/postgres_exporter.yaml", "--web.listen-address=127.0.0.1:$listen");
	$exporters{postgres} = "127.0.0.1:$listen";
}
if (in_path('prometheus-sql-exporter'))
{
	my $listen = free_port();
	my $config = $node->basedir . '/sql_exporter.yaml';
	append_to_file($config, slurp_file("$folder/sql_exporter.yaml") =~ s{host=/var/run/postgresql}{host=$socket&port=$port}r =~ s/interval: \d+s/interval: 1s/r);
	start_program('sql_exporter', 'prometheus-sql-exporter', "-config.file=$config", "-web.listen-address=127.0.0.1:$listen");
	$exporters{sql} = "127.0.0.1:$listen";
}
work();

# The names of what an exporter serves, as prometheus.yaml has them renamed.
sub served
{
	my ($page) = @_;
	my %names;
	foreach my $line (grep { /^(?:sql_)?gpusort/ } split /\n/, $page)
	{
		my ($name, $labels) = $line =~ /^(\w+)(?:\{(.*)\})? /;
		$name = "$1_" . ($labels =~ /\bcol="(\w+)"/ ? $1 : '') if $name =~ /^sql_(.*)/;
		$name =~ s/^sql_(gpusort\w*)_$/$1/;
		$names{$name}{$_} = 1 foreach '', ($labels // '') =~ /(\w+)="/g;
	}
	return \%names;
}

foreach my $which (qw(postgres sql))
{
  SKIP:
	{
		skip "prometheus-$which-exporter is not installed", 2 unless $exporters{$which};
		my $names = served(page_with("http://$exporters{$which}/metrics", qr/^(?:sql_)?gpusort_waiting/m));
		is_deeply([ grep { !$names->{$_} } grep { $on_card || !/gpusort_card_/ } sort keys %metrics ], [], "prometheus-$which-exporter serves all metrics");
		my @bare = grep { my $metric = $_; $names->{$_} && grep { !$names->{$metric}{$_} } @{ $metrics{$metric} } } sort keys %metrics;
		is_deeply(\@bare, [], 'with their labels');
	}
}

SKIP:
{
	skip 'prometheus or an exporter is not installed', 1 unless in_path('prometheus') && in_path('promtool') && keys %exporters == 2;

	foreach my $check ([ 'check', 'rules', "$folder/alerts.yaml" ], [ 'test', 'rules', "$folder/alerts_test.yaml" ])
	{
		my ($out, $err) = ('', '');
		ok(run([ 'promtool', @$check ], '<', \undef, '>', \$out, '2>', \$err), "promtool @$check[0, 1]") or diag("$out$err");
	}
	my $listen = free_port();
	my $config = $node->basedir . '/prometheus.yaml';
	my $text = slurp_file("$folder/prometheus.yaml");
	$text =~ s/localhost:9187/$exporters{postgres}/;
	$text =~ s/localhost:9237/$exporters{sql}/;
	$text =~ s/scrape_interval: \d+s/scrape_interval: 1s\n  evaluation_interval: 1s/;
	$text =~ s{/etc/prometheus/gpusort}{$folder};
	append_to_file($config, $text);
	my ($out, $err) = ('', '');
	ok(run([ 'promtool', 'check', 'config', $config ], '<', \undef, '>', \$out, '2>', \$err), 'promtool check config') or diag("$out$err");
	start_program('prometheus', 'prometheus', "--config.file=$config", '--storage.tsdb.path=' . $node->basedir . '/prometheus', "--web.listen-address=127.0.0.1:$listen");
	my $api = "http://127.0.0.1:$listen/api/v1";

	# Rates need two samples with work between them.
	ok(page_with("$api/query?query=count(gpusort_waiting_longest_seconds)", qr/"2"\]/), 'prometheus has scraped both exporters');
	foreach (1 .. 3) { work(); sleep(1.5); }
	foreach my $job (qw(gpusort gpusort_sql))
	{
		my ($card) = results($api, qq(gpusort_cards_ready{job="$job"}));
		my $instance = ($card // {})->{metric}{instance} // 'none';
		foreach my $what (sort keys %$dashboard)
		{
			my $expr = $dashboard->{$what}{expr} =~ s/\$__rate_interval/1m/gr =~ s/\$instance/$instance/gr;
			next if !$on_card && $expr =~ /gpusort_card_/;
			my @results = results($api, $expr);
			ok(@results && !grep({ $_->{value}[1] =~ /NaN|Inf/ } @results), "$job: $what") or diag($expr);
		}
	}
	my $evaluated = page_with("$api/rules", qr/^(?=.*"health":"ok")(?!.*"health":"(?:unknown|err)")/s);
	my @states = map { "$_->{name} $_->{health} $_->{state}" } map { @{ $_->{rules} } } @{ decode_json($evaluated || '{"data": {"groups": []}}')->{data}{groups} };
	is(scalar(grep { / ok (?:inactive|pending)$/ } @states), 3, 'prometheus evaluates the alerts, and none fires') or diag("@states");
}

$_->kill_kill(grace => 2) foreach values %running;
%running = ();
$node->stop;
done_testing();
