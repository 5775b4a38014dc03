# The strings of jsonb are ordered, and citext is put in lower case, by the collation of the database:
# databases of C, of ICU, of one of its collations whose keys only guess at the order, and of the C library,
# each with all values on the seams of the types' encodings.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main');
my $sql = "$FindBin::Bin/../sql";
my $has_extensions = $node->safe_psql('postgres', "SELECT count(*) = 2 FROM pg_available_extensions WHERE name IN ('citext', 'ltree')") eq 't';

# Is the order of jsonb verified there, by comparisons?
my %databases = (
	c => [ "LOCALE 'C'", 0 ],
	icu => [ "LOCALE_PROVIDER icu ICU_LOCALE 'sv' LC_COLLATE 'C' LC_CTYPE 'C'", 0 ],
	french => [ "LOCALE_PROVIDER icu ICU_LOCALE 'fr-CA' LC_COLLATE 'C' LC_CTYPE 'C'", 1 ],
	english => [ "LOCALE 'en_US.UTF-8'", 1 ]);

sub check_database
{
	my ($database, $is_verified) = @_;

	$node->psql($database, slurp_file("$sql/$_"), on_error_stop => 0) foreach 'setup.sql', 'seams.sql';
	is($node->safe_psql($database, "SELECT check_seams('$_')"), 'ok', "$database: $_") foreach 'jsonb', 'jsonb[]';
	my $plan = $node->safe_psql($database, 'SET gpusort.mode = force; EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM (VALUES (to_jsonb(1)), (to_jsonb(2))) AS v (j) ORDER BY j');
	is($plan =~ /Order Verified/ ? 1 : 0, $is_verified, "$database: " . ($is_verified ? 'verified' : 'exact'));
	return unless $has_extensions;
	$node->safe_psql($database, 'CREATE EXTENSION citext; CREATE EXTENSION ltree');
	is($node->safe_psql($database, "SELECT check_seams('$_')"), 'ok', "$database: $_") foreach 'citext', 'citext[]', 'ltree';
	return;
}

foreach my $database (sort keys %databases)
{
	my ($options, $is_verified) = @{ $databases{$database} };
  SKIP:
	{
		my ($status, undef, $error) = $node->psql('postgres', "CREATE DATABASE $database TEMPLATE template0 ENCODING 'UTF8' $options");
		skip "no $database: $error", 1 unless $status == 0;
		check_database($database, $is_verified);
	}
}
# On a server without ICU, or a machine without the locale, there are fewer.
check_database('postgres', 0);

$node->stop;
done_testing();
