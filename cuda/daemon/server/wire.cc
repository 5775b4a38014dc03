/*
 * wire.cc
 *		Reading and sending messages.
 *
 * Files that a client passes along are dropped by the kernel, as nothing here has room for them.
 */
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

#include "daemon/server/wire.h"

static bool
say(std::string *why, const std::string &what)
{
	*why = what;
	return false;
}

bool
Wire::read_bytes(void *to, size_t bytes)
{
	char *at = (char *) to;

	while (bytes > 0)
	{
		ssize_t got = recv(fd, at, bytes, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		bytes -= got;
	}
	return true;
}

bool
Wire::can_read(int within_ms) const
{
	struct pollfd poll_fd = {fd, POLLIN, 0};

	return poll(&poll_fd, 1, within_ms) > 0;
}

bool
Wire::read(Message *message, std::string *why)
{
	GpusortdHeader header;
	int length;

	if (!read_bytes(&header, sizeof(header)))
		return false;
	if (header.magic != GPUSORTD_MAGIC)
		return say(why, "this is not the protocol of gpusortd");
	if (header.version != GPUSORTD_VERSION)
		return say(why, "version " + std::to_string(header.version) +
							" of the protocol, this gpusortd speaks version " +
							std::to_string(GPUSORTD_VERSION));
	length = header.type <= GPUSORTD_END ? gpusortd_message_length(header.type) : -1;
	if (length < 0)
		return say(why, "unknown message type " + std::to_string(header.type));
	if (header.length != (uint32_t) length || header.reserved != 0)
		return say(why, "malformed header of a message of type " + std::to_string(header.type));
	message->type = (GpusortdType) header.type;
	return read_bytes(&message->hello, length);
}

bool
Wire::send_body(GpusortdType type, const void *body, size_t length, int passed_fd)
{
	GpusortdHeader header = {GPUSORTD_MAGIC, GPUSORTD_VERSION, (uint16_t) type, (uint32_t) length, 0};
	char bytes[GPUSORTD_MAX_MESSAGE];
	struct iovec vector = {bytes, sizeof(header) + length};
	struct msghdr message = {};
	alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), body, length);
	message.msg_iov = &vector;
	message.msg_iovlen = 1;
	if (passed_fd >= 0)
	{
		struct cmsghdr *passed;

		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		passed = CMSG_FIRSTHDR(&message);
		passed->cmsg_level = SOL_SOCKET;
		passed->cmsg_type = SCM_RIGHTS;
		passed->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(passed), &passed_fd, sizeof(int));
	}
	while (vector.iov_len > 0)
	{
		ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		vector.iov_base = (char *) vector.iov_base + sent;
		vector.iov_len -= sent;
		message.msg_control = nullptr;
		message.msg_controllen = 0;
	}
	return true;
}

bool
Wire::send_error(GpusortdCode code, const char *text)
{
	GpusortdError error = {};

	error.code = code;
	strncpy(error.message, text, sizeof(error.message) - 1);
	return send(GPUSORTD_ERROR, error);
}
