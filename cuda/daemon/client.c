/*
 * client.c
 *		The client's side of gpusortd's protocol; client.h says how it is used.
 *
 * gpusortd answers in the order in which it was asked.  So the client may ask ahead, and receive_expected, which waits for a
 * message of a certain type, takes note of the CHUNK_FREEs that come before it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"

/* The longest message from gpusortd. */
typedef union Body
{
	GpusortdWelcome welcome;
	GpusortdQueued queued;
	GpusortdJob job;
	GpusortdChunkFree chunk_free;
	GpusortdSorted sorted;
	GpusortdRows rows;
	GpusortdEnded ended;
	GpusortdError error;
} Body;

static bool
fail(GpusortdClient *client, GpusortdCode code, const char *message)
{
	client->code = code;
	snprintf(client->message, sizeof(client->message), "%s", message);
	return false;
}

static bool
fail_system(GpusortdClient *client, const char *doing)
{
	client->code = GPUSORTD_DISCONNECTED;
	snprintf(client->message, sizeof(client->message), "%s: %s", doing, strerror(errno));
	return false;
}

/* ---- bytes ---- */

static bool
wait_with_poll(void *arg, int fd, bool for_writing)
{
	struct pollfd poll_fd = {fd, for_writing ? POLLOUT : POLLIN, 0};

	(void) arg;
	return poll(&poll_fd, 1, -1) >= 0 || errno == EINTR;
}

/* After a call that failed: waits if that is what it wants. */
static bool
wait_or_fail(GpusortdClient *client, bool for_writing, const char *doing)
{
	if (errno == EINTR)
		return true;
	if (errno != EAGAIN && errno != EWOULDBLOCK)
		return fail_system(client, doing);
	if (!client->wait(client->wait_arg, client->fd, for_writing))
		return fail(client, GPUSORTD_DISCONNECTED, "gave up waiting for gpusortd");
	return true;
}

static bool
send_bytes(GpusortdClient *client, const char *bytes, size_t length, bool *broken)
{
	while (length > 0)
	{
		ssize_t		sent = send(client->fd, bytes, length, MSG_NOSIGNAL);

		if (sent < 0)
		{
			*broken = errno == EPIPE || errno == ECONNRESET;
			if (!wait_or_fail(client, true, "could not write to gpusortd"))
				return false;
			continue;
		}
		bytes += sent;
		length -= (size_t) sent;
	}
	return true;
}

/* Keeps a file descriptor that came along. */
static void
keep_passed_fd(GpusortdClient *client, struct msghdr *message)
{
	struct cmsghdr *passed = CMSG_FIRSTHDR(message);

	if (passed == NULL || passed->cmsg_level != SOL_SOCKET || passed->cmsg_type != SCM_RIGHTS)
		return;
	if (client->passed_fd >= 0)
		close(client->passed_fd);
	memcpy(&client->passed_fd, CMSG_DATA(passed), sizeof(int));
}

static bool
receive_bytes(GpusortdClient *client, void *to, size_t length)
{
	char	   *at = to;

	while (length > 0)
	{
		union
		{
			struct cmsghdr header;
			char		bytes[CMSG_SPACE(sizeof(int))];
		}			control;
		struct iovec vector = {at, length};
		struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes,
			.msg_controllen = sizeof(control.bytes)};
		ssize_t		got = recvmsg(client->fd, &message, MSG_CMSG_CLOEXEC);

		if (got == 0)
			return fail(client, GPUSORTD_DISCONNECTED, "gpusortd closed the connection");
		if (got < 0)
		{
			if (!wait_or_fail(client, false, "could not read from gpusortd"))
				return false;
			continue;
		}
		keep_passed_fd(client, &message);
		at += got;
		length -= (size_t) got;
	}
	return true;
}

/* ---- messages ---- */

static bool
receive_message(GpusortdClient *client, GpusortdType *type, Body *body)
{
	GpusortdHeader header;

	if (!receive_bytes(client, &header, sizeof(header)))
		return false;
	if (header.magic != GPUSORTD_MAGIC || header.version != GPUSORTD_VERSION || header.type < GPUSORTD_WELCOME ||
		(int) header.length != gpusortd_message_length(header.type))
		return fail(client, GPUSORTD_PROTOCOL_ERROR, "gpusortd is of another version");
	*type = (GpusortdType) header.type;
	return receive_bytes(client, body, header.length);
}

static bool
fail_as_told(GpusortdClient *client, GpusortdError *error)
{
	error->message[sizeof(error->message) - 1] = '\0';
	return fail(client, (GpusortdCode) error->code, error->message);
}

static bool
note_chunk_free(GpusortdClient *client, const GpusortdChunkFree *freed)
{
	if (freed->chunk >= client->job.chunks || client->chunk[freed->chunk] != GPUSORTD_CHUNK_SUBMITTED)
		return fail(client, GPUSORTD_PROTOCOL_ERROR, "gpusortd returned a chunk that it did not have");
	client->submitted--;
	client->refused += freed->refused != 0;
	client->chunk[freed->chunk] = freed->refused != 0 ? GPUSORTD_CHUNK_REFUSED : GPUSORTD_CHUNK_IDLE;
	return true;
}

/* Receives messages up to one of this type; an ERROR is a failure. */
static bool
receive_expected(GpusortdClient *client, GpusortdType expected, Body *body)
{
	GpusortdType type;

	for (;;)
	{
		if (!receive_message(client, &type, body))
			return false;
		if (type == GPUSORTD_CHUNK_FREE && !note_chunk_free(client, &body->chunk_free))
			return false;
		if (type == expected)
			return true;
		if (type == GPUSORTD_ERROR)
			return fail_as_told(client, &body->error);
		if (type != GPUSORTD_CHUNK_FREE && type != GPUSORTD_QUEUED)
			return fail(client, GPUSORTD_PROTOCOL_ERROR, "gpusortd sent an answer to no question");
	}
}

/* The connection can't be written to any more; maybe gpusortd said why before it closed it. */
static bool
read_last_words(GpusortdClient *client)
{
	GpusortdClient before = *client;
	GpusortdType type;
	Body		body;

	while (receive_message(client, &type, &body))
	{
		if (type == GPUSORTD_ERROR)
			return fail_as_told(client, &body.error);
	}
	return fail(client, before.code, before.message);
}

static bool
send_message(GpusortdClient *client, GpusortdType type, const void *body)
{
	GpusortdHeader header = {GPUSORTD_MAGIC, GPUSORTD_VERSION, (uint16_t) type, (uint32_t) gpusortd_message_length(type), 0};
	char		bytes[GPUSORTD_MAX_MESSAGE];
	bool		broken = false;

	if (client->fd < 0)
		return fail(client, GPUSORTD_DISCONNECTED, "there is no connection to gpusortd");
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), body, header.length);
	if (send_bytes(client, bytes, sizeof(header) + header.length, &broken))
		return true;
	return broken && read_last_words(client);
}

/* ---- connecting ---- */

static bool
open_socket(GpusortdClient *client, const char *socket_path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(socket_path) >= sizeof(address.sun_path))
		return fail(client, GPUSORTD_DISCONNECTED, "the path of gpusortd's socket is too long");
	strcpy(address.sun_path, socket_path);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (client->fd < 0 || connect(client->fd, (struct sockaddr *) &address, sizeof(address)) != 0)
		return fail_system(client, "could not connect to gpusortd");
	return true;
}

bool
gpusortd_connect(GpusortdClient *client, const char *socket_path, GpusortdWait wait, void *wait_arg)
{
	GpusortdHello hello = {0};
	Body		body;

	memset(client, 0, sizeof(*client));
	client->fd = -1;
	client->passed_fd = -1;
	client->wait = wait != NULL ? wait : wait_with_poll;
	client->wait_arg = wait_arg;
	if (!open_socket(client, socket_path) || !send_message(client, GPUSORTD_HELLO, &hello) ||
		!receive_expected(client, GPUSORTD_WELCOME, &body))
		return false;
	client->welcome = body.welcome;
	if (client->welcome.devices > GPUSORTD_MAX_DEVICES)
		return fail(client, GPUSORTD_PROTOCOL_ERROR, "gpusortd has more devices than there can be");
	return true;
}

static void
unmap_chunks(GpusortdClient *client)
{
	if (client->memory != NULL)
		munmap(client->memory, client->memory_bytes);
	if (client->passed_fd >= 0)
		close(client->passed_fd);
	client->memory = NULL;
	client->passed_fd = -1;
}

void
gpusortd_close(GpusortdClient *client)
{
	unmap_chunks(client);
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	client->in_job = false;
}

/* ---- beginning and ending a job ---- */

/* Maps the chunk memory that came with JOB. */
static bool
map_chunks(GpusortdClient *client)
{
	const GpusortdJob *job = &client->job;
	struct stat file;
	void	   *address;

	if (job->chunks == 0 || job->chunks > GPUSORTD_MAX_CHUNKS || job->chunk_bytes > GPUSORTD_MAX_CHUNK_BYTES ||
		client->passed_fd < 0 || fstat(client->passed_fd, &file) != 0 ||
		(uint64_t) file.st_size < job->chunks * job->chunk_bytes)
		return fail(client, GPUSORTD_PROTOCOL_ERROR, "gpusortd sent no chunk memory");
	client->memory_bytes = job->chunks * job->chunk_bytes;
	address = mmap(NULL, client->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, client->passed_fd, 0);
	if (address == MAP_FAILED)
		return fail_system(client, "could not map gpusortd's chunk memory");
	client->memory = address;
	close(client->passed_fd);
	client->passed_fd = -1;
	return true;
}

static void
reset_job(GpusortdClient *client)
{
	unmap_chunks(client);
	memset(client->chunk, 0, sizeof(client->chunk));
	client->submitted = client->refused = client->fetching = 0;
	client->streaming = client->in_job = false;
	memset(&client->job, 0, sizeof(client->job));
	memset(&client->sorted, 0, sizeof(client->sorted));
}

static bool
enter_job(GpusortdClient *client, GpusortdType type, const void *request)
{
	Body		body;

	reset_job(client);
	if (!send_message(client, type, request))
		return false;
	client->in_job = true;
	if (!receive_expected(client, GPUSORTD_JOB, &body))
		return false;
	client->job = body.job;
	return map_chunks(client);
}

bool
gpusortd_begin(GpusortdClient *client, const GpusortdBegin *begin)
{
	return enter_job(client, GPUSORTD_BEGIN, begin);
}

bool
gpusortd_join(GpusortdClient *client, uint64_t job, uint64_t token)
{
	GpusortdJoin join = {job, token};

	return enter_job(client, GPUSORTD_JOIN, &join);
}

bool
gpusortd_end(GpusortdClient *client)
{
	GpusortdEnd end = {0};
	GpusortdType type;
	Body		body;

	if (!client->in_job)
		return true;
	if (!send_message(client, GPUSORTD_END, &end))
		return false;
	do
	{
		if (!receive_message(client, &type, &body))
			return false;
	} while (type != GPUSORTD_ENDED);
	client->ended = body.ended;
	reset_job(client);
	return true;
}

/* ---- feeding ---- */

static int
find_idle_chunk(const GpusortdClient *client)
{
	for (uint32_t i = 0; i < client->job.chunks; i++)
	{
		if (client->chunk[i] == GPUSORTD_CHUNK_IDLE)
			return (int) i;
	}
	return -1;
}

int
gpusortd_take_chunk(GpusortdClient *client)
{
	Body		body;
	int			chunk;

	while ((chunk = find_idle_chunk(client)) < 0 && client->refused == 0)
	{
		if (client->submitted == 0)
		{
			(void) fail(client, GPUSORTD_INVALID, "all chunks are taken");
			return -1;
		}
		if (!receive_expected(client, GPUSORTD_CHUNK_FREE, &body))
			return -1;
	}
	if (client->refused > 0)
	{
		(void) fail(client, GPUSORTD_MEMORY_FULL, "the device's memory is full");
		return -1;
	}
	client->chunk[chunk] = GPUSORTD_CHUNK_TAKEN;
	return chunk;
}

bool
gpusortd_submit_chunk(GpusortdClient *client, int chunk, uint64_t rows, uint64_t front, uint64_t back)
{
	GpusortdSubmit submit = {(uint32_t) chunk, 0, rows, front, back};

	if (!send_message(client, GPUSORTD_SUBMIT, &submit))
		return false;
	client->chunk[chunk] = GPUSORTD_CHUNK_SUBMITTED;
	client->submitted++;
	return true;
}

bool
gpusortd_flush(GpusortdClient *client)
{
	Body		body;

	while (client->submitted > 0)
	{
		if (!receive_expected(client, GPUSORTD_CHUNK_FREE, &body))
			return false;
	}
	return true;
}

void
gpusortd_forget_refused(GpusortdClient *client)
{
	for (uint32_t i = 0; i < client->job.chunks; i++)
	{
		if (client->chunk[i] == GPUSORTD_CHUNK_REFUSED)
			client->chunk[i] = GPUSORTD_CHUNK_IDLE;
	}
	client->refused = 0;
}

bool
gpusortd_perform(GpusortdClient *client)
{
	GpusortdPerform perform = {0};
	Body		body;

	if (!gpusortd_flush(client))
		return false;
	if (client->refused > 0)
		return fail(client, GPUSORTD_MEMORY_FULL, "the device's memory is full");
	if (!send_message(client, GPUSORTD_PERFORM, &perform) || !receive_expected(client, GPUSORTD_SORTED, &body))
		return false;
	client->sorted = body.sorted;
	/* Nothing is being filled any more: all chunks are for windows. */
	memset(client->chunk, 0, sizeof(client->chunk));
	return true;
}

/* ---- fetching ---- */

static bool
ask_for_window(GpusortdClient *client, uint64_t position)
{
	int			chunk = find_idle_chunk(client);
	GpusortdFetch fetch = {(uint32_t) chunk, client->backward, position};

	if (!send_message(client, GPUSORTD_FETCH, &fetch))
		return false;
	client->chunk[chunk] = GPUSORTD_CHUNK_FETCHING;
	client->fetching++;
	return true;
}

static bool
receive_window(GpusortdClient *client, GpusortdRows *window)
{
	Body		body;

	if (!receive_expected(client, GPUSORTD_ROWS, &body))
		return false;
	if (body.rows.chunk >= client->job.chunks || client->chunk[body.rows.chunk] != GPUSORTD_CHUNK_FETCHING ||
		body.rows.bytes > client->job.chunk_bytes)
		return fail(client, GPUSORTD_PROTOCOL_ERROR, "gpusortd returned rows that it was not asked for");
	client->fetching--;
	client->chunk[body.rows.chunk] = GPUSORTD_CHUNK_IDLE;
	*window = body.rows;
	return true;
}

/* Forgets the windows that were asked for ahead, and asks for the one at another place. */
static bool
turn(GpusortdClient *client, bool backward, uint64_t position)
{
	GpusortdRows dropped;

	while (client->fetching > 0)
	{
		if (!receive_window(client, &dropped))
			return false;
	}
	if (position == GPUSORTD_NEXT && client->streaming)
		position = client->window.first + (backward ? 0 : client->window.rows);
	client->backward = backward;
	client->streaming = true;
	return ask_for_window(client, position);
}

bool
gpusortd_fetch(GpusortdClient *client, bool backward, uint64_t position, GpusortdRows *window)
{
	/* The last window is no longer needed. */
	if (client->streaming && client->chunk[client->window.chunk] == GPUSORTD_CHUNK_TAKEN)
		client->chunk[client->window.chunk] = GPUSORTD_CHUNK_IDLE;
	if ((position != GPUSORTD_NEXT || !client->streaming || backward != client->backward) &&
		!turn(client, backward, position))
		return false;
	while (find_idle_chunk(client) >= 0)
	{
		if (!ask_for_window(client, GPUSORTD_NEXT))
			return false;
	}
	if (!receive_window(client, &client->window))
		return false;
	client->chunk[client->window.chunk] = GPUSORTD_CHUNK_TAKEN;
	*window = client->window;
	return true;
}
