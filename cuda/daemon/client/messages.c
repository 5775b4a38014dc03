/*
 * messages.c
 *		Messages of the client, as messages.h describes them.
 *
 * The socket does not block.  Whenever it would have to, the caller's wait function is called, which may
 * leave by a non-local exit: nothing here holds anything then that the client's struct does not know.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/client/messages.h"

bool
gpusortd_fail(GpusortdClient *client, GpusortdCode code, const char *message)
{
	client->code = code;
	snprintf(client->message, sizeof(client->message), "%s", message);
	return false;
}

bool
gpusortd_fail_system(GpusortdClient *client, const char *doing)
{
	client->code = GPUSORTD_DISCONNECTED;
	snprintf(client->message, sizeof(client->message), "%s: %s", doing, strerror(errno));
	return false;
}

/* ---- bytes ---- */

bool
gpusortd_wait_with_poll(void *arg, int fd, bool for_writing)
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
		return gpusortd_fail_system(client, doing);
	if (!client->wait(client->wait_arg, client->fd, for_writing))
		return gpusortd_fail(client, GPUSORTD_DISCONNECTED, "gave up waiting for gpusortd");
	return true;
}

static bool
send_bytes(GpusortdClient *client, const char *bytes, size_t length, bool *broken)
{
	while (length > 0)
	{
		ssize_t sent = send(client->fd, bytes, length, MSG_NOSIGNAL);

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

/*
 * Keeps a file that came along, or that it could not be received, as this process has no number left for it.
 */
static void
keep_passed_fd(GpusortdClient *client, struct msghdr *message)
{
	struct cmsghdr *passed = CMSG_FIRSTHDR(message);

	client->lost_file |= (message->msg_flags & MSG_CTRUNC) != 0;
	if (passed == NULL || passed->cmsg_level != SOL_SOCKET || passed->cmsg_type != SCM_RIGHTS)
		return;
	if (client->passed_fd >= 0)
		close(client->passed_fd);
	memcpy(&client->passed_fd, CMSG_DATA(passed), sizeof(int));
}

static bool
receive_bytes(GpusortdClient *client, void *to, size_t length)
{
	char *at = to;

	while (length > 0)
	{
		union
		{
			struct cmsghdr header;
			char bytes[CMSG_SPACE(sizeof(int))];
		} control;
		struct iovec vector = {at, length};
		struct msghdr message = {.msg_iov = &vector,
								 .msg_iovlen = 1,
								 .msg_control = control.bytes,
								 .msg_controllen = sizeof(control.bytes)};
		ssize_t got = recvmsg(client->fd, &message, MSG_CMSG_CLOEXEC);

		if (got == 0)
			return gpusortd_fail(client, GPUSORTD_DISCONNECTED, "gpusortd closed the connection");
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

bool
gpusortd_receive_message(GpusortdClient *client, GpusortdType *type, GpusortdAnswer *body)
{
	GpusortdHeader header;

	if (!receive_bytes(client, &header, sizeof(header)))
		return false;
	if (header.magic != GPUSORTD_MAGIC || header.version != GPUSORTD_VERSION ||
		header.type < GPUSORTD_WELCOME || (int) header.length != gpusortd_message_length(header.type))
		return gpusortd_fail(client, GPUSORTD_PROTOCOL_ERROR, "gpusortd has another version");
	*type = (GpusortdType) header.type;
	return receive_bytes(client, body, header.length);
}

static bool
fail_as_told(GpusortdClient *client, GpusortdError *error)
{
	error->message[sizeof(error->message) - 1] = '\0';
	return gpusortd_fail(client, (GpusortdCode) error->code, error->message);
}

static bool
note_chunk_free(GpusortdClient *client, const GpusortdChunkFree *freed)
{
	if (freed->chunk >= client->job.chunks || client->chunk[freed->chunk] != GPUSORTD_CHUNK_SUBMITTED)
		return gpusortd_fail(client, GPUSORTD_PROTOCOL_ERROR,
							 "gpusortd returned a chunk that it did not have");
	client->submitted--;
	client->refused += freed->refused != 0;
	client->chunk[freed->chunk] = freed->refused != 0 ? GPUSORTD_CHUNK_REFUSED : GPUSORTD_CHUNK_IDLE;
	return true;
}

bool
gpusortd_receive_answer(GpusortdClient *client, GpusortdType *type, GpusortdAnswer *body)
{
	if (!gpusortd_receive_message(client, type, body))
		return false;
	if (*type == GPUSORTD_ERROR)
		return fail_as_told(client, &body->error);
	return *type != GPUSORTD_CHUNK_FREE || note_chunk_free(client, &body->chunk_free);
}

bool
gpusortd_receive_expected(GpusortdClient *client, GpusortdType expected, GpusortdAnswer *body)
{
	GpusortdType type;

	do
	{
		if (!gpusortd_receive_answer(client, &type, body))
			return false;
	} while (type == GPUSORTD_CHUNK_FREE && type != expected);
	return type == expected || gpusortd_fail_unasked(client);
}

bool
gpusortd_fail_unasked(GpusortdClient *client)
{
	return gpusortd_fail(client, GPUSORTD_PROTOCOL_ERROR, "gpusortd sent an unexpected answer");
}

/* The connection can't be written to any more; maybe gpusortd said why before it closed it. */
static bool
read_last_words(GpusortdClient *client)
{
	GpusortdClient before = *client;
	GpusortdType type;
	GpusortdAnswer body;

	while (gpusortd_receive_message(client, &type, &body))
	{
		if (type == GPUSORTD_ERROR)
			return fail_as_told(client, &body.error);
	}
	return gpusortd_fail(client, before.code, before.message);
}

bool
gpusortd_send_message(GpusortdClient *client, GpusortdType type, const void *body)
{
	GpusortdHeader header = {GPUSORTD_MAGIC, GPUSORTD_VERSION, (uint16_t) type,
							 (uint32_t) gpusortd_message_length(type), 0};
	char bytes[GPUSORTD_MAX_MESSAGE];
	bool broken = false;

	if (client->fd < 0)
		return gpusortd_fail(client, GPUSORTD_DISCONNECTED, "there is no connection to gpusortd");
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), body, header.length);
	if (send_bytes(client, bytes, sizeof(header) + header.length, &broken))
		return true;
	return broken && read_last_words(client);
}
