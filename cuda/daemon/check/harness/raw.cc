/*
 * raw.cc
 *		Bytes to gpusortd, and back.
 */
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/check/harness/raw.h"

#define MOST_FILES 3

int
raw_connect(const std::string &path)
{
	struct sockaddr_un address = {};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sun_family = AF_UNIX;
	path.copy(address.sun_path, sizeof(address.sun_path) - 1);
	if (fd >= 0 && connect(fd, (struct sockaddr *) &address, sizeof(address)) != 0)
	{
		close(fd);
		return -1;
	}
	return fd;
}

std::string
raw_message(unsigned int type, const std::string &body)
{
	GpusortdHeader header = {GPUSORTD_MAGIC, GPUSORTD_VERSION, (uint16_t) type, (uint32_t) body.size(), 0};

	return std::string((const char *) &header, sizeof(header)) + body;
}

void
raw_send(int fd, const std::string &bytes, int files)
{
	struct iovec vector = {(char *) bytes.data(), bytes.size()};
	alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * MOST_FILES)] = {};
	struct msghdr message = {};
	struct cmsghdr *passed;

	message.msg_iov = &vector;
	message.msg_iovlen = 1;
	if (files > 0)
	{
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * files);
		passed = CMSG_FIRSTHDR(&message);
		passed->cmsg_level = SOL_SOCKET;
		passed->cmsg_type = SCM_RIGHTS;
		passed->cmsg_len = CMSG_LEN(sizeof(int) * files);
		for (int i = 0; i < files; i++)
			memcpy(CMSG_DATA(passed) + i * sizeof(int), &fd, sizeof(int));
	}
	(void) !sendmsg(fd, &message, MSG_NOSIGNAL);
}

std::string
raw_receive(int fd, int ms, bool *closed)
{
	std::string all;
	char buffer[8192];
	struct pollfd poll_fd = {fd, POLLIN, 0};
	ssize_t got = 1;

	while (got > 0 && poll(&poll_fd, 1, ms) > 0)
	{
		got = recv(fd, buffer, sizeof(buffer), 0);
		all.append(buffer, got > 0 ? got : 0);
	}
	if (closed != nullptr)
		*closed = got <= 0;
	return all;
}
