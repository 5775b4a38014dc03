# GpusortSessions: sessions that sort at the same time, stopped at a chosen stage of their queries, and what
# became of them.
#
# Gates are advisory locks that a monitoring session holds: gate 1 is passed by one row of each sort's input,
# gate 2 by one row of its result.  Whoever comes to a closed one waits.
package GpusortSessions;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use GpusortNode;

our @EXPORT = qw(INPUT_GATE RESULT_GATE);

use constant { INPUT_GATE => 1, RESULT_GATE => 2 };

# PostgreSQL takes the functions' word for it that they may run below a sort and in workers.
my $functions = <<'EOT';
CREATE FUNCTION input_gate() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS
	'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN true; END';
CREATE FUNCTION result_gate() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL RESTRICTED AS
	'BEGIN PERFORM pg_advisory_xact_lock_shared(2); RETURN true; END';
CREATE FUNCTION read_by_cursor(query text, gate int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result record;
	keys text := '';
	rows numeric := 0;
	n int := 0;
BEGIN
	FOR result IN EXECUTE query LOOP
		n := n + 1;
		IF n = gate THEN PERFORM result_gate(); END IF;
		keys := md5(keys || result.key);
		rows := rows + hashtextextended(result.id || result.key || result.rest, 0);
	END LOOP;
	RETURN n || ' ' || keys || ' ' || rows;
END $$;
EOT

# A session whose every statement may take the time that tests may take.
sub open_session
{
	my ($node, %how) = @_;
	my $psql = $node->background_psql('postgres', %how);

	$psql->set_query_timer_restart;
	return $psql;
}

# Sessions for these descriptions: name, query with columns id, key (what it is ordered by), rest; parallel,
# by_cursor, volatile.
sub new
{
	my ($class, $node, @descriptions) = @_;
	my $self = bless { node => $node, monitor => open_session($node), closed => {} }, $class;

	$node->safe_psql('postgres', $functions);
	foreach my $description (@descriptions)
	{
		my $psql = open_session($node, on_error_stop => 0);
		my %session = (%$description, psql => $psql);

		$session{pid} = $psql->query('SELECT pg_backend_pid()');
		$psql->query_safe('SET max_parallel_workers_per_gather = 2') if $session{parallel};
		push @{ $self->{sessions} }, \%session;
	}
	return $self;
}

sub sessions { return @{ $_[0]{sessions} } }

# The result of a query, by a session apart.
sub ask
{
	my ($self, $query) = @_;

	return $self->{monitor}->query_safe($query);
}

# Waits until a query says true, or a function does; dies if it never does.
sub wait_for
{
	my ($self, $what, $condition) = @_;

	foreach (1 .. 50 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if ref $condition ? $condition->() : $self->ask($condition) eq 't';
		usleep(20_000);
	}
	diag("timed out: $what\n" . $self->ask('SELECT * FROM pg_stat_progress_gpusort') . "\n" . $self->ask('SELECT * FROM gpusort_devices()'));
	die "timed out: $what";
}

# ---- gates ----

sub close_gate
{
	my ($self, $gate) = @_;

	$self->ask("SELECT pg_advisory_lock($gate)") unless $self->{closed}{$gate}++;
	return;
}

sub open_gates
{
	my ($self) = @_;

	$self->ask("SELECT pg_advisory_unlock($_)") foreach keys %{ $self->{closed} };
	$self->{closed} = {};
	return;
}

# A condition: have so many sessions come to a closed gate?
sub at_gate
{
	my ($self, $gate, $number) = @_;

	return qq(SELECT count(DISTINCT coalesce(leader_pid, a.pid)) = $number FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE locktype = 'advisory' AND NOT granted AND objid = $gate);
}

# ---- queries ----

# What a session is to run, with a gate at a row of the input, counted by id, and one at a row of the result.
sub statement
{
	my ($session, $input_row, $result_row) = @_;
	my $query = $session->{query} =~ s/\bGATE\b/(CASE WHEN r.id = $input_row THEN input_gate() ELSE true END)/r;

	return "SELECT read_by_cursor('" . ($query =~ s/'/''/gr) . "', $result_row)" if $session->{by_cursor};
	return qq(SELECT count(*) || ' ' || md5(string_agg(key, ',')) || ' ' || sum(hashtextextended(id || key || rest, 0))
		FROM (SELECT *, row_number() OVER () AS rank FROM ($query OFFSET 0) s) s2
		WHERE CASE WHEN rank = $result_row THEN result_gate() ELSE true END);
}

# Has PostgreSQL say what is right.
sub note_right_results
{
	my ($self) = @_;

	foreach my $session ($self->sessions)
	{
		$session->{right} = $self->{node}->safe_psql('postgres', "SET gpusort.mode = off; " . statement($session, -1, -1));
	}
	return;
}

# Has all sessions begin their queries, so many times one after the other.
sub start
{
	my ($self, %of) = @_;

	foreach my $session ($self->sessions)
	{
		my $statement = statement($session, $of{input_row} // -1, $of{result_row} // -1);

		$self->start_statement($session, join(";\n", ($statement) x ($of{times} // 1)));
	}
	return;
}

sub start_statement
{
	my ($self, $session, $statement) = @_;

	# results may have come as well
	$session->{early} = $session->{psql}->query_until(qr/started\n/, "\\echo started\n$statement;\n") =~ s/^.*?started\n//sr;
	return;
}

# ---- what became of them ----

# Waits for a session's statements; returns its output and its errors.
sub finish_statement
{
	my ($self, $session) = @_;
	my $psql = $session->{psql};
	my $output = delete($session->{early}) . $psql->query(q(SELECT 'end')) =~ s/\n?end$//r;
	my $errors = $psql->{stderr};

	$psql->{stderr} = '';
	return ($output, $errors);
}

# Counts lines of the results and errors of a session into %$counts: right, returned (an error after rows were
# returned), volatile (an error as the input can't be read again), cancelled, other.  Prints what can't be.
sub count_outcome
{
	my ($session, $output, $errors, $counts) = @_;
	my $failed = 'psql:<stdin>:\d+: ERROR:  the sort on device "cuda" could not be completed\nDETAIL:  Reason: [^\n]+\.\nHINT:  ';
	my @wrong;

	foreach my $line (lines_of($output))
	{
		if ($line eq $session->{right}) { $counts->{right}++ }
		else { push @wrong, $line }
	}
	# Where the error came from inside of a function.
	$errors =~ s/^CONTEXT:  .*(\n(?!psql:).*)*\n?//mg;
	$counts->{returned} += $errors =~ s/^${failed}Some rows were already returned\. Run the query again, or set gpusort\.backend to "cpu"\.\n?//mg;
	$counts->{volatile} += $errors =~ s/^${failed}The query has volatile functions [^\n]+\n?//mg if $session->{volatile};
	$counts->{cancelled} += $errors =~ s/^psql:<stdin>:\d+: ERROR:  canceling statement due to (?:user request|statement timeout)\n?//mg;
	push @wrong, $errors if $errors ne '';
	$counts->{other} += @wrong;
	print map { s/^/# $session->{name}: /mgr . "\n" } @wrong;
	return;
}

# Waits for all sessions: how many results and errors of each kind there were.
sub finish
{
	my ($self) = @_;
	my %counts = map { $_ => 0 } qw(right returned volatile cancelled other);

	foreach my $session ($self->sessions)
	{
		count_outcome($session, $self->finish_statement($session), \%counts);
	}
	return \%counts;
}

# ---- what they hold ----

sub note_holdings
{
	my ($self) = @_;

	$_->{held} = held_by($self->{node}, $_->{pid}) foreach $self->sessions;
	return;
}

# What sessions hold now that they did not when that was noted.
sub leaks
{
	my ($self) = @_;
	my @leaks = temporary_files($self->{node});

	foreach my $session ($self->sessions)
	{
		my $holds = held_by($self->{node}, $session->{pid});

		push @leaks, "$session->{name}: $holds, before: $session->{held}" if $holds ne $session->{held};
	}
	return join ', ', @leaks;
}

sub quit
{
	my ($self) = @_;

	$_->{psql}->quit foreach $self->sessions;
	$self->{monitor}->quit;
	return;
}

1;
