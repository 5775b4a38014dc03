/*
 * listener.h
 *		The socket that clients connect to.
 */
#ifndef GPUSORTD_LISTENER_H
#define GPUSORTD_LISTENER_H

#include <string>

#include <sys/stat.h>

#include "daemon/protocol/protocol.h"

class Listener
{
public:
	explicit Listener(const std::string &socket_path);

	/* Removes the socket, unless it is another one by now. */
	~Listener();

	Listener(const Listener &) = delete;
	Listener &operator=(const Listener &) = delete;

	/* False: it can't listen, and the log says why. */
	bool open();

	/* The next connection, of somebody who may use gpusortd; -1: there is none. */
	int accept();

	/* Tells a client why it is not served, and closes its connection.  Takes no memory. */
	void refuse(int fd, const char *why);

	int fd = -1; /* to be polled */

private:
	bool lock_path();
	bool remove_stale();
	bool bind_socket();
	void refuse_with_spare();

	const std::string path;
	const std::string lock_name;
	int lock_fd = -1;
	int spare_fd = -1;
	struct stat bound = {};
};

#endif /* GPUSORTD_LISTENER_H */
