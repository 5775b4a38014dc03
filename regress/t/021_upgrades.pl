# From one version to the next: every SQL that a version has ever had becomes that of a fresh installation,
# and a library that is older or newer than the SQL works or says what to do.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use GpusortNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# All that a catalog says of the extension's objects, one a line.
use constant CATALOG => <<'EOT';
SET search_path = '';
CREATE TEMP VIEW members AS SELECT d.classid, d.objid
FROM pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid WHERE e.extname = 'gpusort' AND d.deptype = 'e';
SELECT 'extension', extversion, extrelocatable, extnamespace::regnamespace, extconfig, extcondition, extowner::regrole FROM pg_extension WHERE extname = 'gpusort';
SELECT pg_describe_object(m.classid, m.objid, 0), obj_description(m.objid, m.classid::regclass::name),
	CASE m.classid WHEN 'pg_proc'::regclass THEN pg_get_functiondef(m.objid) WHEN 'pg_class'::regclass THEN pg_get_viewdef(m.objid) END,
	(SELECT row(p.proacl, p.proowner, p.probin, p.prosrc, p.proallargtypes) FROM pg_proc AS p WHERE m.classid = 'pg_proc'::regclass AND p.oid = m.objid),
	(SELECT row(c.relacl, c.relowner, c.reloptions) FROM pg_class AS c WHERE m.classid = 'pg_class'::regclass AND c.oid = m.objid),
	(SELECT string_agg(row(a.attnum, a.attname, a.atttypid::regtype, col_description(a.attrelid, a.attnum))::text, ' ' ORDER BY a.attnum) FROM pg_attribute AS a WHERE m.classid = 'pg_class'::regclass AND a.attrelid = m.objid),
	(SELECT row(i.privtype, i.initprivs) FROM pg_init_privs AS i WHERE i.classoid = m.classid AND i.objoid = m.objid)
FROM pg_temp.members AS m ORDER BY 1;
SELECT pg_describe_object(d.classid, d.objid, d.objsubid), pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid), d.deptype
FROM pg_depend AS d LEFT JOIN pg_rewrite AS r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
WHERE EXISTS (SELECT FROM pg_temp.members AS m WHERE (m.classid = d.classid AND m.objid = d.objid) OR (m.classid = 'pg_class'::regclass AND m.objid = r.ev_class))
ORDER BY 1, 2, 3;
EOT

# All that can be asked of the extension without doing anything.
my %questions = (
	check => q(SELECT count(*) FROM gpusort_check('SELECT * FROM pg_class ORDER BY relname')),
	devices => 'SELECT count(*) FROM gpusort_devices()',
	preloaded => 'SELECT count(*) FROM gpusort_preloaded()',
	stat => 'SELECT count(*) FROM pg_stat_gpusort',
	progress => 'SELECT count(*) FROM pg_stat_progress_gpusort');

my ($version) = slurp_file("$FindBin::Bin/../../gpusort.control") =~ /^default_version = '(.*)'/m;
my @former = glob "$FindBin::Bin/../former_sql/*.sql";
my $folder = PostgreSQL::Test::Utils::tempdir();

# ---- the library is newer than the SQL, until that is updated ----

my $installation = copy_installation("$folder/newer");
my $node = PostgreSQL::Test::Cluster->new('newer', install_path => $installation);
my $shared = `'$installation/bin/pg_config' --sharedir`;
chomp $shared;
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'gpusort'\ngpusort.devices = 'none'\nfsync = off\nautovacuum = off\n");
$node->start;

sub catalog
{
	my ($database) = @_;
	return $node->safe_psql($database, CATALOG);
}

# What does not work, with the error; undefined functions are those that this SQL has not yet.
sub what_fails
{
	my ($database) = @_;
	my @failing;

	foreach my $name (sort keys %questions)
	{
		my ($status, $out, $err) = $node->psql($database, $questions{$name});
		push @failing, $name if $status != 0 && $err !~ /does not exist/;
		is($err =~ /HINT:  Try a new session, then ALTER EXTENSION gpusort UPDATE/ ? 'hint' : $err, 'hint', "$database: $name says what to do")
			if $status != 0 && $err !~ /does not exist/;
	}
	return "@failing";
}

# In place of what may be there, which may be a file of other installations, too.
sub install_script
{
	my ($path, $script) = @_;

	unlink $path;
	append_to_file($path, slurp_file($script));
	return;
}

sub create_database
{
	my ($database) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	return;
}

create_database('fresh');
$node->safe_psql('fresh', 'CREATE SCHEMA s; CREATE EXTENSION gpusort');
my %fresh = ('' => catalog('fresh'));
is($node->safe_psql('fresh', q(SELECT gpusort_version() || ' ' || extversion FROM pg_extension WHERE extname = 'gpusort')), "$version $version",
	'the library and its SQL are of one version');
cmp_ok(scalar(lines_of($fresh{''})), '>', 20, 'the catalog says something of it');
$node->safe_psql('fresh', 'DROP EXTENSION gpusort; CREATE EXTENSION gpusort SCHEMA s');
$fresh{s} = catalog('fresh');
isnt($fresh{s}, $fresh{''}, 'and where it is');

SKIP:
{
	skip 'former versions come from git, and there is no history here', 1 unless @former;

	my $last = $former[-1];
	foreach my $former (@former)
	{
		my ($number, $commit, $old) = $former =~ m!/(\d+)-(\w+)-gpusort--(.*)\.sql$!;
		my $script = "$shared/extension/gpusort--$old.sql";

		install_script($script, $former);
		foreach my $schema ('', 's')
		{
			my $database = "from_$number$schema";
			my $place = $schema ? "SCHEMA $schema" : '';

			create_database($database);
			$node->safe_psql($database, "CREATE SCHEMA s; CREATE EXTENSION gpusort $place VERSION '$old'");
			$node->safe_psql('postgres', "ALTER DATABASE $database SET search_path = s, public");
			my $fails = what_fails($database);
			is($fails, '', "$old as of $commit works with this library") if $former eq $last;
			$node->safe_psql($database, 'ALTER EXTENSION gpusort UPDATE');
			is(what_fails($database), '', "$old as of $commit works when it is updated" . ($fails ? ", where $fails failed" : ''));
			is(catalog($database), $fresh{$schema}, "$old as of $commit, updated, is $version" . ($schema && ', in a schema of its own'));
		}
		unlink $script;
	}

	# what people have made of the last one stays, what stands in the way of a former one's update is named
	my ($old) = $last =~ /gpusort--(.*)\.sql$/;
	install_script("$shared/extension/gpusort--$old.sql", $last);
	create_database('theirs');
	$node->safe_psql('theirs', "CREATE EXTENSION gpusort VERSION '$old'; CREATE ROLE reader; GRANT EXECUTE ON FUNCTION gpusort_stat_reset() TO reader; CREATE VIEW theirs AS SELECT pid FROM pg_stat_progress_gpusort; ALTER EXTENSION gpusort UPDATE");
	is($node->safe_psql('theirs', q(SELECT has_function_privilege('reader', 'gpusort_stat_reset()', 'EXECUTE') || ' ' || count(*) FROM theirs)), 'true 0', 'rights and views of others stay');
	unlink "$shared/extension/gpusort--$old.sql";

	my ($first) = grep { slurp_file($_) =~ /VIEW pg_stat_gpusort/ } @former;
	install_script("$shared/extension/gpusort--$old.sql", $first);
	create_database('in_the_way');
	$node->safe_psql('in_the_way', "CREATE EXTENSION gpusort VERSION '$old'; CREATE VIEW theirs AS SELECT sorts FROM pg_stat_gpusort");
	my ($status, $out, $err) = $node->psql('in_the_way', 'ALTER EXTENSION gpusort UPDATE');
	like($err, qr/cannot drop view pg_stat_gpusort because other objects depend on it\nDETAIL:  view theirs/, 'a view on columns that change is in the way');
	is($node->safe_psql('in_the_way', q(SELECT extversion FROM pg_extension WHERE extname = 'gpusort')), $old, 'and all stays as it was');
	unlink "$shared/extension/gpusort--$old.sql";
}
$node->stop;

# ---- the library is older than the SQL ----

# One that has not yet what this version's SQL begins with: the symbol's name is another one.
$installation = copy_installation("$folder/older");
$shared = `'$installation/bin/pg_config' --sharedir`;
my $library = `'$installation/bin/pg_config' --pkglibdir`;
chomp($shared, $library);
{
	local $/ = undef;
	open my $in, '<:raw', "$library/gpusort.so" or die "no library: $!";
	my $bytes = <$in>;
	close $in;
	cmp_ok($bytes =~ s/gpusort_version\0/gpusort_Version\0/g, '>=', 1, 'the symbol is there to be renamed');
	unlink "$library/gpusort.so";
	open my $out, '>:raw', "$library/gpusort.so" or die "no library: $!";
	print $out $bytes;
	close $out;
}
my $older = PostgreSQL::Test::Cluster->new('older', install_path => $installation);
$older->init;
$older->append_conf('postgresql.conf', "gpusort.devices = 'none'\nfsync = off\nautovacuum = off\n");
$older->start;

sub is_told
{
	my ($statement) = @_;
	my ($status, $out, $err) = $older->psql('postgres', $statement);

	like($err, qr/ERROR:  the library of gpusort is older than its SQL, version \Q$version\E\n.*DETAIL:  could not find function "gpusort_version" in file .*HINT:  Install the library of version \Q$version\E/s,
		"$statement says that the library is older, and what to do");
	return;
}

is_told('CREATE EXTENSION gpusort');
SKIP:
{
	skip 'former versions come from git, and there is no history here', 1 unless @former;
	my ($old) = $former[-1] =~ /gpusort--(.*)\.sql$/;
	install_script("$shared/extension/gpusort--$old.sql", $former[-1]);
	$older->safe_psql('postgres', "CREATE EXTENSION gpusort VERSION '$old'");
	is_told('ALTER EXTENSION gpusort UPDATE');
	is($older->safe_psql('postgres', q(SELECT extversion FROM pg_extension WHERE extname = 'gpusort')), $old, 'and all stays as it was');
	is($older->safe_psql('postgres', q(SELECT count(sort_key) FROM gpusort_check('SELECT * FROM pg_class ORDER BY relname'))), 1, 'and works');
}
$older->stop;

done_testing();
