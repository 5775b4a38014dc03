# Every command of README.md, as a new user would type it: each has a rule here by which it is run, and one
# without a rule fails.  What takes minutes, a card or root is run in a cheaper form, which its rule tells of;
# tools/check-setup runs the set-up as it is.
use strict;
use warnings;

use Cwd qw(realpath);
use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use IPC::Run qw(run);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = realpath("$FindBin::Bin/../..");
# With PostgreSQL's defaults, as far as plans depend on them.
my $node = start_node('main', 'max_parallel_workers_per_gather = 2');

# ---- running ----

# Runs a command in the sources; its status, and what it printed.
sub shell
{
	my (@command) = @_;
	my $output = '';
	local $ENV{MAKEFLAGS} = '';
	run([ 'sh', '-c', 'cd "$0" && exec "$@"', $source, @command ], '<', \undef, '>', \$output, '2>&1');
	return ($? >> 8, $output);
}

sub runs
{
	my ($what, $pattern, @command) = @_;
	my ($status, $output) = shell(@command);
	ok($status == 0 && $output =~ $pattern, $what) or diag(substr $output, -2000);
	return;
}

my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
my @make = ('make', "PG_CONFIG=$pg_config");

# A target that takes minutes, or installs packages: what make would run.
sub would_run
{
	my ($pattern, @more) = @_;
	return sub {
		my ($command) = @_;
		my (undef, @arguments) = split ' ', $command;
		runs("$command: what it would run", $pattern, @make, '-n', @more, @arguments);
	};
}

# Installs into a folder, where there is no root.
sub install
{
	my ($command) = @_;
	my $to = $node->basedir . '/installed';
	runs("$command, into another folder", qr/./, @make, 'install', "DESTDIR=$to");
	my $installed = `find $to -type f`;
	like($installed, qr{/extension/gpusort\.control\n}, 'the extension is there');
	like($installed, qr{/gpusort\.so\n}, 'and its library');
	like($installed, qr{/bin/gpusortd\n}, 'and gpusortd, which was built') if -x "$source/cuda/daemon/gpusortd";
	return;
}

# tools/check-packages builds it.  Here its commands must be those of a shell, and its files be there.
sub in_an_image
{
	my ($command) = @_;
	my $dockerfile = slurp_file("$source/Dockerfile") =~ s/\\\n\s*//gr;
	my @runs = $dockerfile =~ /^RUN (.*)/mg;
	my @files = grep { $_ ne 'cuda/daemon/gpusortd' } map { m{ /gpusort/([\w./-]+)}g } @runs;
	ok(@runs > 2 && @files, "$command: something to run");
	runs("$command: a shell takes it", qr/^$/, 'sh', '-nc', $_) foreach @runs;
	ok(-e "$source/$_", "$command: $_") foreach @files;
	return;
}

# ---- SQL ----

my $session_start = '';

sub normal
{
	my ($text) = @_;
	my @lines = grep { /\S/ && !/^ *(?:Planning Time|Execution Time|Planning|Buffers):/ } split /\n/, $text =~ s/\d[\d.]*/N/gr =~ s/ +$//mgr;
	my ($indented) = ($lines[0] // '') =~ /^( *)/;
	return join "\n", map { s/^$indented//r } @lines;
}

# A statement whose answer, but for numbers, must be the one that the README has below it, if it has one.
sub asks
{
	my (%how) = @_;
	return sub {
		my ($statement, $answer) = @_;
		my $sql = $statement;
		$sql =~ s/$_/$how{instead}{$_}/g foreach keys %{ $how{instead} // {} };
		my $format = $how{table} ? "\\pset format aligned\n\\pset tuples_only off\n\\pset footer off\n" : '';
		my ($status, $out, $err) = $node->psql('postgres', "$format$session_start$sql", on_error_stop => 1);
		is($status, 0, "$statement") or diag($err);
		return if $answer eq '';
		if ($how{table})
		{
			is(table_of($out), table_of($answer), 'says what the README has');
			return;
		}
		is(normal($out), normal($answer), 'says what the README has');
	};
}

# Its cells, without the widths of columns.
sub table_of
{
	my ($text) = @_;
	return join "\n", map { s/\s*\|\s*/|/gr } map { s/^\s+|\s+$//gr } grep { !/^-+\+/ } split /\n/, normal($text);
}

# A statement that the next ones of the session need.
sub goes_on
{
	my (%how) = @_;
	return sub {
		my ($statement) = @_;
		asks(%how)->($statement, '');
		my $sql = $statement;
		$sql =~ s/$_/$how{instead}{$_}/g foreach keys %{ $how{instead} // {} };
		$session_start .= "$sql\n" unless $sql =~ /^CREATE|^ANALYZE/;
	};
}

# The library by itself: in all sessions of a database, or of the server.
sub for_database
{
	my ($statement) = @_;
	$node->safe_psql('postgres', 'CREATE DATABASE d');
	$node->safe_psql('postgres', $statement);
	is($node->safe_psql('d', 'SHOW gpusort.mode'), 'auto', $statement);
	return;
}

sub for_server
{
	my ($line) = @_;
	my $other = start_node('preloaded', $line);
	is($other->safe_psql('postgres', 'SHOW gpusort.mode'), 'auto', $line);
	$other->stop;
	return;
}

# 'none' for what it says: no gpusortd.
sub without_devices
{
	my ($line) = @_;
	my $other = start_node('no_devices', "shared_preload_libraries = 'gpusort'", $line);
	$other->safe_psql('postgres', 'CREATE EXTENSION gpusort');
	is($other->safe_psql('postgres', "SELECT count(*) FROM gpusort_devices() WHERE device LIKE 'cuda%' AND state = 'ready'"), '0', $line);
	$other->stop;
	return;
}

# With the library in all sessions: there is no row about that.
sub check_preloaded
{
	my ($statement, $answer) = @_;
	$node->safe_psql('postgres', q(ALTER DATABASE postgres SET session_preload_libraries = 'gpusort'));
	asks(table => 1)->($statement, $answer);
	$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET session_preload_libraries');
	return;
}

my $fewer = { 5000000 => 500000 };
my $minutes = would_run(qr{^tools/(?:test|demo)}m);
my %rules = (
	'make' => sub { runs($_[0], qr//, @make) },
	'sudo make install' => \&install,
	'make demo' => $minutes,
	'make test' => $minutes,
	'make setup' => would_run(qr{^tools/setup build test$}m),
	'tools/setup cuda' => sub { runs("$_[0]: is one of its purposes", qr/\bcuda\b/, 'sh', '-c', 'tools/setup nothing 2>&1; true') },
	(map { ("make $_" => would_run(qr{tools/package $_\b})) } qw(deb rpm)),
	'docker build -t gpusort .' => \&in_an_image,
	'make gpusortd' => would_run(qr/./, 'NVCC=/bin/true'),
	q(LOAD 'gpusort';) => goes_on(),
	q(ALTER DATABASE d SET session_preload_libraries = 'gpusort';) => \&for_database,
	q(shared_preload_libraries = 'gpusort') => \&for_server,
	q(CREATE EXTENSION gpusort;) => sub { $node->safe_psql('postgres', 'DROP EXTENSION IF EXISTS gpusort'); goes_on()->(@_) },
	q(SET work_mem = '1GB';) => goes_on(),
	q(CREATE TABLE t AS SELECT hashint8extended(i, 0) AS id, i AS v FROM generate_series(1, 5000000) AS i;) => goes_on(instead => $fewer),
	q(ANALYZE t;) => goes_on(),
	q(EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY id;) => asks(),
	q(SET gpusort.mode = off;) => asks(),
	q(SELECT * FROM gpusort_devices();) => asks(table => 1),
	q(gpusort.devices = 'none') => \&without_devices,
	q(SELECT sort_key, taken, reason FROM gpusort_check('SELECT * FROM t WHERE v <= 100 ORDER BY id');) => \&check_preloaded,
	q(SELECT * FROM gpusort_preloaded();) => asks());

# Inline code that only looks like a command.
my %no_commands = map { $_ => 1 } ('make', 'make install');

# ---- the text ----

my $shell = qr/^(?:sudo|make|apt(?:-get)?|git|psql|docker|podman|rpm\w*|dpkg\w*|tools\/[\w.]+|bench\/[\w.\/]+|cuda\/\S+)(?:\s|$)/;
my $sql = qr/^(?:SELECT|SET|SHOW|LOAD|CREATE|ALTER|DROP|ANALYZE|EXPLAIN|GRANT|REVOKE|INSERT|VACUUM|REINDEX|RESET|COPY|WITH)\b/;
my $setting = qr/^[a-z_]+(?:\.[a-z_]+)? = /;

# The commands in the order of the text, each with the lines below it that are its answer.
sub commands
{
	my ($text) = @_;
	my @commands;

	foreach my $part ($text =~ /^(```.*?^```$|(?:(?!```)[^\n]*\n)+)/msg)
	{
		if ($part !~ /^```/)
		{
			push @commands, map { [ $_, '' ] } grep { /$shell|$setting|^(?:SELECT|SHOW)\b|^$sql.*;$/ && !$no_commands{$_} } map { s/\s+/ /gr } $part =~ /`([^`]+)`/g;
			next;
		}
		foreach my $line (grep { !/^```/ } split /\n/, $part)
		{
			if ($line =~ /$shell|$sql|$setting/)
			{
				my ($command, $comment) = $line =~ /^(.*?)(?:\s+(?:#|--) (.*))?$/;
				push @commands, [ $command, '' ], map { [ $_, '' ] } ($comment // '') =~ m{\b(make \w+|(?:tools|bench)/[\w/]+(?: \w+)?)}g;
			}
			elsif (@commands)
			{
				$commands[-1][1] .= "$line\n";
			}
		}
	}
	return @commands;
}

my %seen;
my $readme = slurp_file("$source/README.md");
foreach my $entry (commands($readme))
{
	my ($command, $answer) = @$entry;
	$answer =~ s/^\n+//;
	# Inline, it stands where it has been run already.
	next if $seen{$command}++ && $answer eq '';
	my $rule = $rules{$command};
	if (!$rule)
	{
		fail("README.md has a command without a rule in 025_readme: $command");
		next;
	}
	$rule->($command, $answer);
}
is(join(', ', grep { !$seen{$_} } sort keys %rules), '', 'every rule is for a command of README.md');

# ---- where the set-up can't go on ----

# As Debian has a server without postgresql-server-dev-NN.
my $no_headers = $node->basedir . '/pg_config';
append_to_file($no_headers, qq(#!/bin/sh\n[ "\$1" != --includedir-server ] || { echo /nowhere; exit; }\nexec "$pg_config" "\$@"\n));
chmod 0755, $no_headers;

# It says what is wrong, and what to do next.
foreach my $case (
	[ 'a PG_CONFIG that names nothing', 'PG_CONFIG=/nowhere/pg_config tools/setup build', qr/names no PostgreSQL.*\nnext: install its headers/ ],
	[ 'an NVCC that is none', 'NVCC=/bin/false tools/setup cuda', qr/is no nvcc.*\nnext: unset NVCC/ ],
	[ 'a purpose that there is not', 'tools/setup nothing', qr/unknown purpose 'nothing'\nnext: give one or more of: .*\bcuda\b/ ],
	[ 'the demo of no number', 'tools/demo --rows many', qr/no number.*\nnext: tools\/demo \[--rows N\]/ ],
	[ 'the demo without a number', 'tools/demo --repeat', qr/no number.*\nnext: tools\/demo \[--rows N\]/ ],
	[ 'the demo of something else', 'tools/demo --fast', qr/unknown argument '--fast'\nnext: / ],
	[ 'make without a PostgreSQL', 'make PG_CONFIG=/nowhere/pg_config', qr/No PostgreSQL to build against.*run 'make setup'/s ],
	[ 'make with a server without headers', "make PG_CONFIG=$no_headers", qr{No PostgreSQL to build against: there is no /nowhere/postgres\.h.*run 'make setup'}s ],
	[ 'gpusortd without nvcc', 'make PATH=/usr/bin:/bin NVCC= gpusortd', qr/No nvcc .*install CUDA 12 or 13, or set NVCC/ ],
	[ 'a test group that there is not', 'tools/test --nothing', qr/see --help/ ])
{
	my ($what, $command, $says) = @$case;
	my ($status, $output) = shell('sh', '-c', $command);
	ok($status != 0 && $output =~ $says, "$what: the next step") or diag($output);
}

# Who installs packages says which, before it does.  Here apt-get and sudo are others, and clang is nowhere.
my $stubs = $node->basedir . '/stubs';
mkdir $stubs or die;
foreach my $tool (qw(bash env dirname sed awk id rm rmdir tee mkdir cat git))
{
	my ($path) = grep { -x } map { "$_/$tool" } split /:/, $ENV{PATH};
	symlink $path, "$stubs/$tool" if defined $path;
}
append_to_file("$stubs/sudo", qq(#!/bin/bash\nexec "\$@"\n));
append_to_file("$stubs/apt-get", <<"EOT");
#!/bin/bash
case " \$* " in
	*' --assume-no '*) printf '%s\n' 'The following NEW packages will be installed:' '  clang libclang' '0 upgraded, 2 newly installed, 0 to remove' 'Need to get 3 MB of archives.' 'Abort.'; exit 1 ;;
	*' install '*) echo 'apt-get installs'; exit 1 ;;
esac
EOT
chmod 0755, "$stubs/sudo", "$stubs/apt-get";
my (undef, $listed) = shell('env', "PATH=$stubs", 'tools/setup', '--list', 'ci');
is($listed, "To be installed, with all that they need: clang\n  clang libclang\n2 packages\nNeed to get 3 MB of archives.\n", 'tools/setup --list installs nothing');

# Links within the repository lead somewhere.
foreach my $link ($readme =~ /\]\(([^)#:]+)(?:#[^)]*)?\)/g)
{
	ok(-e "$source/$link", "link to $link");
}

$node->stop;
done_testing();
