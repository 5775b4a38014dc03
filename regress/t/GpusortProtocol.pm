# GpusortProtocol: a session that speaks PostgreSQL's protocol by itself, for what psql never does: portals of
# which a statement asks for some rows, several of them in turn, messages that are sent ahead, results that
# are left half read.
#
# Messages are put together by the functions below and sent by the next one that waits for an answer.  Answers
# are lists of strings, one a message: 'D' and the columns of a row, 'd' and a line of COPY, 'C' and what a
# statement did, 's' (a portal has more rows), 'E' with the code and the text of an error, 'Z' and the state
# of the transaction.  Messages that a client does not wait for are left out.
package GpusortProtocol;

use strict;
use warnings;

use IO::Select;
use IO::Socket::UNIX;
use PostgreSQL::Test::Utils;

# What answers are made of, by the type of a message.
my %told = (
	D => sub { return join '|', 'D', map { defined ? $_ : 'NULL' } columns_of(@_) },
	d => sub { return "d $_[0]" =~ s/\n$//r },
	C => sub { return "C $_[0]" =~ s/\0$//r },
	s => sub { return 's' },
	E => sub { my %field = map { substr($_, 0, 1) => substr($_, 1) } grep { length } split /\0/, $_[0]; return "E $field{C} $field{M}" },
	Z => sub { return "Z $_[0]" });

# A session of the superuser, with these settings, which it returns to when it resets them; database: another
# one than postgres.
sub new
{
	my ($class, $node, %settings) = @_;
	my $self = bless { path => $node->host . '/.s.PGSQL.' . $node->port, out => '', in => '' }, $class;

	$self->{socket} = $self->open_socket;
	my $database = delete $settings{database} // 'postgres';
	my $options = join ' ', map { "-c $_=$settings{$_}" } sort keys %settings;
	$self->transmit($self->with_length(pack('N', 196608) . join("\0", user => scalar(getpwuid $<), database => $database, options => $options, '', '')));
	$self->answer('Z');
	return $self;
}

sub open_socket
{
	my ($self) = @_;

	return IO::Socket::UNIX->new(Peer => $self->{path}) || die "no connection to $self->{path}: $!";
}

sub pid { return $_[0]{pid} }

# ---- what is sent ----

sub with_length
{
	my ($self, $body) = @_;

	return pack('N', 4 + length $body) . $body;
}

sub put
{
	my ($self, $type, $body) = @_;

	$self->{out} .= $type . $self->with_length($body);
	return;
}

sub transmit
{
	my ($self, $bytes) = @_;

	while ($bytes ne '')
	{
		my $sent = syswrite $self->{socket}, $bytes;
		die "nothing could be sent: $!" unless defined $sent;
		substr $bytes, 0, $sent, '';
	}
	return;
}

# Sends what was put together.
sub transmit_all
{
	my ($self) = @_;

	$self->transmit($self->{out});
	$self->{out} = '';
	return;
}

# A portal of a statement; its rows are sent as text, or binary.
sub open_portal
{
	my ($self, $portal, $sql, $binary) = @_;

	$self->put('P', "\0$sql\0" . pack('n', 0));
	$self->put('B', "$portal\0\0" . pack('n n n n', 0, 0, 1, $binary ? 1 : 0));
	return;
}

# Asks for so many rows of it; 0: for all that are left.
sub execute
{
	my ($self, $portal, $rows) = @_;

	$self->put('E', "$portal\0" . pack('N', $rows));
	return;
}

sub close_portal
{
	my ($self, $portal) = @_;

	$self->put('C', "P$portal\0");
	return;
}

# Begins a statement by the simple protocol, whose rows all come.
sub begin_query
{
	my ($self, $sql) = @_;

	$self->put('Q', "$sql\0");
	$self->transmit_all;
	return;
}

# Cancels the statement, as another connection does that.
sub cancel
{
	my ($self) = @_;
	my $socket = $self->open_socket;

	syswrite $socket, $self->with_length(pack('N N', 80877102, $self->{pid}) . $self->{key});
	sysread $socket, my $end, 1;
	close $socket or die $!;
	return;
}

# The client is gone, without a word.
sub drop
{
	my ($self) = @_;

	return close $self->{socket};
}

# ---- what is answered ----

sub receive
{
	my ($self, $bytes) = @_;

	while (length $self->{in} < $bytes)
	{
		die 'timed out: an answer of the server' unless IO::Select->new($self->{socket})->can_read($PostgreSQL::Test::Utils::timeout_default);
		my $received = sysread $self->{socket}, $self->{in}, 65536, length $self->{in};
		die 'the server has closed the connection' unless $received;
	}
	return substr $self->{in}, 0, $bytes, '';
}

sub columns_of
{
	my ($body) = @_;
	my $number = unpack 'n', substr($body, 0, 2, '');
	my @columns;

	foreach (1 .. $number)
	{
		my $length = unpack 'N', substr($body, 0, 4, '');
		push @columns, $length == 0xFFFFFFFF ? undef : substr($body, 0, $length, '');
	}
	return @columns;
}

# All answers up to the first one of these types, or so many of them.
sub answer
{
	my ($self, $types, $number) = @_;
	my @answers;

	while (1)
	{
		my ($type, $length) = unpack 'a N', $self->receive(5);
		my $body = $self->receive($length - 4);

		($self->{pid}, $self->{key}) = unpack 'N a*', $body if $type eq 'K';
		push @answers, $told{$type}->($body) if $told{$type};
		return @answers if index($types, $type) >= 0 || ($number && @answers == $number);
	}
	return;
}

# Sends all, and waits until the server has seen to it.
sub sync
{
	my ($self) = @_;

	$self->put('S', '');
	$self->transmit_all;
	return $self->answer('Z');
}

# The next rows of a portal, which stays open.
sub fetch
{
	my ($self, $portal, $rows) = @_;

	$self->execute($portal, $rows);
	$self->put('H', '');
	$self->transmit_all;
	return $self->answer('sCE');
}

# What a statement, or several, is answered by the simple protocol.
sub query
{
	my ($self, $sql) = @_;

	$self->begin_query($sql);
	return $self->answer('Z');
}

1;
