# gpusort comes into a session by any of the ways in which PostgreSQL loads a library.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $explain = 'SET gpusort.mode = force; EXPLAIN (COSTS OFF) SELECT * FROM generate_series(1, 5) AS g ORDER BY g;';
my $taken = qr/Custom Scan \(GpuSort\)/;

my $node = start_node('main');
unlike($node->safe_psql('postgres', $explain), $taken, 'not loaded, not in the plan');
like($node->safe_psql('postgres', "LOAD 'gpusort'; $explain"), $taken, 'LOAD');
like($node->safe_psql('postgres', "LOAD 'gpusort'; LOAD 'gpusort'; $explain"), $taken, 'LOAD again');
# A setting that was made before the library came is checked when it comes.
like($node->safe_psql('postgres', "SET gpusort.mode = force; LOAD 'gpusort'; EXPLAIN (COSTS OFF) SELECT * FROM generate_series(1, 5) AS g ORDER BY g;"),
	$taken, 'mode set before LOAD');
my ($status, $out, $err) = $node->psql('postgres', "SET gpusort.mode = bogus; LOAD 'gpusort'; SHOW gpusort.mode;");
is($status, 0, 'a wrong setting from before LOAD does not keep the library out');
like($err, qr/invalid value for parameter "gpusort.mode"/, 'but there is a warning');
is($out, 'auto', 'and the default is in force');

# ---- before or after an extension that has settings for one query alone ----

# Hinted queries that sort, number rows, and have no table; statements that are planned before, and often; a
# query in the planning of another one.  Nothing of a hint is left behind, nor after an error.
my @orders = (
	[ 'LOAD, after HINTS', q(LOAD 'HINTS'; LOAD 'gpusort';), '' ],
	[ 'LOAD, before HINTS', q(LOAD 'gpusort'; LOAD 'HINTS';), '' ],
	[ 'CREATE EXTENSION after HINTS', q(LOAD 'HINTS'; CREATE EXTENSION gpusort;), '' ],
	[ 'session_preload_libraries, after HINTS', '', 'HINTS, gpusort' ],
	[ 'session_preload_libraries, before HINTS', '', 'gpusort, HINTS' ]);
my %hinted = (
	'a window' => 'SELECT g, row_number() OVER (ORDER BY g DESC) FROM generate_series(1, 50000) AS g',
	'EXCEPT' => 'SELECT g::text FROM generate_series(1, 50000) AS g EXCEPT SELECT h::text FROM generate_series(1, 40000) AS h',
	'no table' => 'SELECT 2 AS two EXCEPT VALUES (3), (4)',
	'a sub-select' => 'WITH c AS MATERIALIZED (SELECT DISTINCT g FROM generate_series(1, 50000) AS g) SELECT (SELECT max(g) FROM (SELECT g FROM c EXCEPT VALUES (1)) AS e)',
	'ORDER BY' => 'SELECT * FROM generate_series(1, 50000) AS g ORDER BY g');

# The node names of a query's plan that are ours, or that ours take the place of.
sub sorting_nodes
{
	my ($plan) = @_;
	my %nodes = map { $_ => 1 } $plan =~ /^ *(?:-> +)?(?:Custom Scan \()?(GpuSort|GpuWindow|Sort|WindowAgg)\)?$/mg;

	return join ' ', sort keys %nodes;
}

$node->safe_psql('postgres', <<'EOT');
CREATE FUNCTION planned_within(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
	result int;
BEGIN
	EXECUTE '/*+ Set(gpusort.mode off) */ SELECT count(*) FROM (SELECT g FROM generate_series(1, 5) AS g EXCEPT VALUES (1)) AS e' INTO result;
	RETURN $1;
END $$;
EOT
my $folder = `pg_config --pkglibdir`;
chomp $folder;
foreach my $hints (grep { -e "$folder/$_.so" } 'neighbour', 'pg_hint_plan')
{
	foreach my $order (@orders)
	{
		my ($how, $load, $preload) = map { s/HINTS/$hints/r } @$order;
		my $session;
		my $plan = sub { my ($query) = @_; return sorting_nodes($session->query_safe($query)) };
		my $off = 'EXPLAIN (COSTS OFF) /*+ Set(gpusort.mode off) */';
		my $force = 'EXPLAIN (COSTS OFF) /*+ Set(gpusort.mode force) */';

		$node->safe_psql('postgres', "DROP EXTENSION IF EXISTS gpusort; ALTER DATABASE postgres SET session_preload_libraries = $preload") if $preload ne '';
		$session = $node->background_psql('postgres', on_error_stop => 0);
		$session->query("$load SET enable_hashagg = off");
		$session->{stderr} = '';
		foreach my $what (sort keys %hinted)
		{
			my $ours = $what eq 'a window' ? 'GpuSort GpuWindow' : 'GpuSort';
			my $theirs = $what eq 'a window' ? 'Sort WindowAgg' : 'Sort';

			$session->query_safe('SET gpusort.mode = force');
			is($plan->("$off $hinted{$what}"), $theirs, "$how: $what, off for it");
			is($plan->("EXPLAIN (COSTS OFF) $hinted{$what}"), $ours, "$how: $what, not for others");
			$session->query_safe('SET gpusort.mode = off');
			is($plan->("$force $hinted{$what}"), $ours, "$how: $what, force for it");
			is($plan->("EXPLAIN (COSTS OFF) $hinted{$what}"), $theirs, "$how: $what, not for others");
			$session->query_safe("SET gpusort.mode = force; PREPARE p AS /*+ Set(gpusort.mode off) */ $hinted{$what}");
			is($plan->('EXPLAIN (COSTS OFF) EXECUTE p'), $theirs, "$how: $what, prepared") foreach 1, 2;
			$session->query_safe('DEALLOCATE p');
		}
		$session->query_safe('SET gpusort.mode = auto; SET gpusort.min_rows = 100000');
		is($plan->("EXPLAIN (COSTS OFF) $hinted{EXCEPT}"), 'Sort', "$how: few rows");
		is($plan->("EXPLAIN (COSTS OFF) /*+ Set(gpusort.min_rows 500) */ $hinted{EXCEPT}"), 'GpuSort', "$how: min_rows for one query");
		is($plan->("EXPLAIN (COSTS OFF) /*+ Set(gpusort.min_rows 500) Set(gpusort.work_mem 64kB) Set(work_mem 1GB) */ " . $hinted{EXCEPT} =~ s/::text//gr), 'Sort', "$how: memory for one query");
		is($plan->("$force SELECT g + planned_within(5) FROM generate_series(1, 50000) AS g EXCEPT VALUES (1)"), 'GpuSort', "$how: a query in the planning of another");
		$session->query("$force SELECT g FROM generate_series(1, 50000) AS g WHERE g > 1 / 0 EXCEPT VALUES (1)");
		like($session->{stderr}, qr/division by zero/, "$how: an error in planning");
		$session->{stderr} = '';
		is($plan->("EXPLAIN (COSTS OFF) $hinted{EXCEPT}"), 'Sort', "$how: nothing is left of that");
		$session->query('CREATE EXTENSION gpusort') unless $how =~ /^CREATE EXTENSION/;
		$session->{stderr} = '';
		is($session->query_safe("SET gpusort.mode = force; SELECT DISTINCT taken, reason FROM gpusort_check('/*+ Set(gpusort.mode off) */ $hinted{EXCEPT}') WHERE sort_key IS NOT NULL"),
			'f|gpusort.mode is off', "$how: gpusort_check");
		$session->quit;
		$node->safe_psql('postgres', 'DROP EXTENSION gpusort; ALTER DATABASE postgres RESET session_preload_libraries');
	}
}


# ---- a function of the extension loads it into one session, and says so ----

my $preloaded = 'SELECT setting, hint FROM gpusort_preloaded()';
my $set = 'SET session_preload_libraries =';
my $reload = '; SELECT pg_reload_conf()';
# The way that has everything stands first, then the one without a restart.
my $first = "ALTER SYSTEM SET shared_preload_libraries = 'gpusort', and restart the server; or, without the card, counters of all sessions and kept memory: ";
my $second = q(SELECT substring(hint FROM 'kept memory: (.*)') AS hint FROM gpusort_preloaded() \gset);

($status, $out, $err) = $node->psql('postgres', 'CREATE EXTENSION gpusort');
like($err, qr/NOTICE:  new sessions sort without gpusort\nDETAIL:  It is not in shared_preload_libraries, .*\nHINT:  \Q${first}ALTER SYSTEM $set 'gpusort'$reload\E$/m,
	'CREATE EXTENSION says that nothing loads it');
like($node->safe_psql('postgres', "SELECT gpusort_version(); $explain"), $taken, 'a function of the extension loads the library');
unlike($node->safe_psql('postgres', $explain), $taken, 'into its session alone');
is($node->safe_psql('postgres', "SET session_preload_libraries = 'gpusort'; $preloaded"), "|${first}ALTER SYSTEM $set 'gpusort'$reload", 'a SET in the session loads it into no other');
is($node->safe_psql('postgres', 'SET gpusort.backend = cuda; SET gpusort.mode = force; SELECT gpusort_version(); EXPLAIN (ANALYZE) SELECT * FROM generate_series(1, 5) AS g ORDER BY g') =~ /(Fallback: .*)/
	&& $1, 'Fallback: cuda: gpusort is not in shared_preload_libraries, therefore no gpusortd is started', 'nor a card');

# A superuser may have that logged; here the client sees the log.
my $to_card = "SET log_statement = none; SET client_min_messages = log; SET gpusort.backend = cuda; SET gpusort.mode = force; SELECT * FROM generate_series(1, 5) AS g ORDER BY g";
($status, $out, $err) = $node->psql('postgres', "LOAD 'gpusort'; $to_card");
is($err, '', 'a sort that was meant for a card is not logged');
($status, $out, $err) = $node->psql('postgres', "LOAD 'gpusort'; SET gpusort.log_fallbacks = on; $to_card");
is($err =~ s/^psql:<stdin>:\d+: //mgr, join("\n", 'LOG:  the sort on device "cuda" falls back to device "cpu"', 'DETAIL:  Reason: gpusort is not in shared_preload_libraries, therefore no gpusortd is started.',
	'HINT:  gpusort_devices() says why the device is not available.'), 'unless it is asked for');

is($node->safe_psql('postgres', 'SELECT DISTINCT preloaded FROM pg_stat_gpusort'), 'f', 'pg_stat_gpusort tells, too');

# gpusort_check begins with it, and what it says is so in its own session.
my $check = "SELECT coalesce(taken::text, '-'), coalesce(sort_key, '-'), reason FROM gpusort_check('SELECT * FROM generate_series(1, 5) AS g ORDER BY g')";
is($node->safe_psql('postgres', "SELECT FROM gpusort_version(); SET gpusort.mode = force; $check") =~ s/^\n//r,
	"-|-|gpusort is loaded in this session only, because no setting loads it: ${first}ALTER SYSTEM $set 'gpusort'$reload\ntrue|g|", 'the first row of gpusort_check');
unlike($node->safe_psql('postgres', "LOAD 'gpusort'; SET session_preload_libraries = 'gpusort'; SET gpusort.mode = force; $check"), qr/^true/, 'whatever a SET says');

# What is there already stays, by whatever it is set; who does as the hint says has it in new sessions.
$node->safe_psql('postgres', 'CREATE ROLE "an admin" LOGIN SUPERUSER; CREATE DATABASE "a d"; CREATE ROLE plain LOGIN');
$node->safe_psql('a d', 'CREATE EXTENSION gpusort');

sub hint_works
{
	my ($where, $what) = @_;
	my @as = ('a d', extra_params => [ '-U', 'an admin' ]);
	my $ask = sub { my ($sql) = @_; return $node->safe_psql($as[0], $sql, @as[ 1, 2 ]) };

	$node->safe_psql('postgres', "$where $set '\$libdir/auto_explain', \"pg_prewarm\"" . ($where eq 'ALTER SYSTEM' ? $reload : ''));
	$node->poll_query_until('a d', q(SELECT current_setting('session_preload_libraries') <> '')) if $where eq 'ALTER SYSTEM';
	is($ask->($preloaded), "|$first$where $set '\$libdir/auto_explain', 'pg_prewarm', 'gpusort'" . ($where eq 'ALTER SYSTEM' ? $reload : ''), "$what: the hint keeps what is there");
	$ask->("$second\n:hint;");
	foreach (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last if $ask->('SHOW session_preload_libraries') =~ /gpusort/;
		usleep(10_000);
	}
	like($ask->($explain), $taken, "$what: and works");
	is($ask->($preloaded), 'session_preload_libraries|', "$what: and nothing is left to do");
	is($ask->('SELECT DISTINCT preloaded FROM pg_stat_gpusort'), 't', "$what: as pg_stat_gpusort tells");
	$node->safe_psql('postgres', $where =~ s/$/ RESET session_preload_libraries/r . ($where eq 'ALTER SYSTEM' ? $reload : ''));
	return;
}

hint_works('ALTER ROLE "an admin" IN DATABASE "a d"', 'of a role in a database');
hint_works('ALTER ROLE "an admin"', 'of a role');
hint_works('ALTER DATABASE "a d"', 'of a database');
hint_works('ALTER ROLE ALL', 'of all roles');
hint_works('ALTER SYSTEM', 'of the server');

# Others than superusers: they can't load it, nor see what is loaded.
my @plain = (extra_params => [ '-U', 'plain' ]);
like($node->safe_psql('a d', $preloaded, @plain), qr/^\|a superuser can add it to shared_preload_libraries, or to session_preload_libraries; LOAD is for superusers as well$/,
	'an ordinary user has to ask');
($status, $out, $err) = $node->psql('a d', "LOAD 'gpusort'", @plain);
like($err, qr/access to library "gpusort" is not allowed/, 'and may not load it');
$node->safe_psql('postgres', 'GRANT SET ON PARAMETER session_preload_libraries TO plain');
is($node->safe_psql('a d', $preloaded, @plain), "|ALTER ROLE plain $set 'gpusort'", 'who has been granted to sets it for himself');
$node->safe_psql('a d', "SELECT hint FROM gpusort_preloaded() \\gset\n:hint;", @plain);
like($node->safe_psql('a d', $explain, @plain), $taken, 'and has it then');
$node->safe_psql('postgres', "ALTER ROLE plain $set auto_explain");
like($node->safe_psql('a d', $preloaded, @plain), qr/^\|a superuser can add it/, 'who may not see what is loaded is not told to leave it out');
$node->safe_psql('postgres', 'ALTER ROLE plain RESET session_preload_libraries; REVOKE SET ON PARAMETER session_preload_libraries FROM plain');

# Whoever may, once it is linked among the libraries that everybody may load.
my $own = copy_installation(PostgreSQL::Test::Utils::tempdir());
my $library = `'$own/bin/pg_config' --pkglibdir`;
chomp $library;
mkdir "$library/plugins";
symlink '../gpusort.so', "$library/plugins/gpusort.so" or die "no link: $!";
my $linked = PostgreSQL::Test::Cluster->new('linked', install_path => $own);
$linked->init;
$linked->start;
$linked->safe_psql('postgres', 'CREATE EXTENSION gpusort; CREATE ROLE plain LOGIN');
like($linked->safe_psql('postgres', "LOAD '\$libdir/plugins/gpusort'; $explain", @plain), $taken, 'LOAD of a link in plugins');
$linked->safe_psql('postgres', 'ALTER ROLE plain SET local_preload_libraries = gpusort', @plain);
is($linked->safe_psql('postgres', $preloaded, @plain), 'local_preload_libraries|', 'local_preload_libraries');
like($linked->safe_psql('postgres', $explain, @plain), $taken, 'loads the link as well');
$linked->stop;

# By its path as well.
foreach my $path ('$libdir/gpusort', '$libdir/gpusort.so')
{
	$node->safe_psql('postgres', "ALTER DATABASE postgres $set auto_explain, '$path'");
	is($node->safe_psql('postgres', $preloaded), 'session_preload_libraries|', $path);
}
$node->safe_psql('postgres', 'DROP EXTENSION gpusort');

# ---- for all sessions ----

$node->safe_psql('postgres', 'ALTER DATABASE postgres SET session_preload_libraries = gpusort');
like($node->safe_psql('postgres', $explain), $taken, 'session_preload_libraries of the database');
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET session_preload_libraries');

$node->append_conf('postgresql.conf', "session_preload_libraries = 'gpusort'");
$node->reload;
like($node->safe_psql('postgres', $explain), $taken, 'session_preload_libraries of the server');

$node->append_conf('postgresql.conf', "session_preload_libraries = ''\nshared_preload_libraries = 'auto_explain'");
$node->restart;
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
$node->safe_psql('postgres', "SELECT substring(hint FROM '^(.*), and restart') AS hint FROM gpusort_preloaded() \\gset\n:hint;\nDROP EXTENSION gpusort");
$node->restart;
is($node->safe_psql('postgres', 'SHOW shared_preload_libraries'), 'auto_explain, gpusort', 'who does as the hint says first keeps what is there');
like($node->safe_psql('postgres', $explain), $taken, 'shared_preload_libraries');
like($node->safe_psql('postgres', "LOAD 'gpusort'; $explain"), $taken, 'shared_preload_libraries and LOAD');
($status, $out, $err) = $node->psql('postgres', 'CREATE EXTENSION gpusort');
is($err, '', 'CREATE EXTENSION has nothing to say then');
is($node->safe_psql('postgres', $preloaded), 'shared_preload_libraries|', 'shared_preload_libraries come first');
is($node->safe_psql('postgres', "SET gpusort.mode = force; $check"), 'true|g|', 'and gpusort_check has rows for sorts alone');

# As a user without rights.
like($node->safe_psql('postgres', $explain, extra_params => [ '-U', 'plain' ]), $taken, 'an ordinary user');

$node->append_conf('postgresql.conf', "gpusort.mode = off\ngpusort.work_mem = 8MB");
$node->reload;
is($node->safe_psql('postgres', 'SHOW gpusort.mode'), 'off', 'mode from postgresql.conf');
is($node->safe_psql('postgres', 'SHOW gpusort.work_mem'), '8MB', 'work_mem from postgresql.conf');
unlike($node->safe_psql('postgres', 'EXPLAIN SELECT * FROM generate_series(1, 100000) AS g ORDER BY g'), $taken, 'off by postgresql.conf');

$node->stop;
done_testing();
