# The cases that tools/fuzz begins with, and those that it has found: each once.  Do keys compare as
# PostgreSQL compares the values, and are the pages of B-trees PostgreSQL's?
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'the test module is not installed (make -C regress/fuzz install)'
  unless `pg_config --pkglibdir` =~ /(.*)/ && -e "$1/gpusort_fuzz.so";

my $folder = "$FindBin::Bin/../fuzz";
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\nmaintenance_work_mem = 8MB\n");
$node->start;

# One session, for the table of the pages is a temporary one.
my ($status, $counts, $errors) = $node->psql('postgres', slurp_file("$folder/setup.sql") . <<"EOT", on_error_stop => 0);
CREATE FUNCTION fuzz_replay(target text, folder text) RETURNS int LANGUAGE C STRICT AS 'gpusort_fuzz';
SELECT 'keys: ' || fuzz_replay('keys', '$folder/corpus/keys');
SELECT 'pages: ' || fuzz_replay('pages', '$folder/corpus/pages');
EOT
foreach my $target ('keys', 'pages')
{
	my $cases = () = glob("$folder/corpus/$target/*");

	isnt($cases, 0, "$target: there are cases");
	like($counts, qr/^$target: $cases$/m, "$target: $cases cases");
}
diag($errors) if $errors =~ /ERROR/;
done_testing();
