# gpusort comes into a session by any of the ways in which PostgreSQL loads a library.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use Test::More;

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

$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
is($node->safe_psql('postgres', "SET gpusort.mode = force; SELECT taken FROM gpusort_check('SELECT * FROM generate_series(1, 5) AS g ORDER BY g')"),
	't', 'gpusort_check loads the library');
$node->safe_psql('postgres', 'DROP EXTENSION gpusort');

$node->safe_psql('postgres', 'ALTER DATABASE postgres SET session_preload_libraries = gpusort');
like($node->safe_psql('postgres', $explain), $taken, 'session_preload_libraries of the database');
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET session_preload_libraries');

$node->append_conf('postgresql.conf', "session_preload_libraries = 'gpusort'");
$node->reload;
like($node->safe_psql('postgres', $explain), $taken, 'session_preload_libraries of the server');

$node->append_conf('postgresql.conf', "session_preload_libraries = ''\nshared_preload_libraries = 'gpusort'");
$node->restart;
like($node->safe_psql('postgres', $explain), $taken, 'shared_preload_libraries');
like($node->safe_psql('postgres', "LOAD 'gpusort'; $explain"), $taken, 'shared_preload_libraries and LOAD');

# As a user without rights.
$node->safe_psql('postgres', 'CREATE ROLE plain LOGIN');
like($node->safe_psql('postgres', $explain, extra_params => [ '-U', 'plain' ]), $taken, 'an ordinary user');

$node->append_conf('postgresql.conf', "gpusort.mode = off\ngpusort.work_mem = 8MB");
$node->reload;
is($node->safe_psql('postgres', 'SHOW gpusort.mode'), 'off', 'mode from postgresql.conf');
is($node->safe_psql('postgres', 'SHOW gpusort.work_mem'), '8MB', 'work_mem from postgresql.conf');
unlike($node->safe_psql('postgres', 'EXPLAIN SELECT * FROM generate_series(1, 100000) AS g ORDER BY g'), $taken, 'off by postgresql.conf');

$node->stop;
done_testing();
