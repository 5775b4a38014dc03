/*
 * listener.cc
 *		The socket that clients connect to.
 *
 * The socket is for the user that gpusortd runs as, and for root: its mode says so, and so does the kernel of
 * whoever connects.  A lock on a file beside it, held as long as gpusortd lives, tells a socket that a dead
 * one left behind, which is replaced, from that of a living one, which is not.
 *
 * A client that can't be served is told why.  So one file is kept in reserve: where there is no other left,
 * it makes place for a connection that is refused.  Who asks whether gpusortd is alive gets an answer, too.
 */
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/server/files.h"
#include "daemon/server/listener.h"
#include "daemon/server/service.h"
#include "daemon/server/wire.h"

#define LISTEN_BACKLOG 128

/*
 * A client with so many answers unread that no more can be sent for so long is given up: no client of ours
 * ever is.
 */
#define SEND_SECONDS 3

/* Between attempts to accept, where the kernel lacks what that takes. */
#define ACCEPT_AGAIN_MILLISECONDS 100

Listener::Listener(const std::string &socket_path) : path(socket_path), lock_name(socket_path + ".lock")
{
}

static int
open_spare()
{
	return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool
Listener::open()
{
	spare_fd = open_spare();
	return lock_path() && remove_stale() && bind_socket();
}

/*
 * Takes the lock file.  The last holder may have removed it between our opening and locking it: then what we
 * have locked isn't what the next one would find, and we try again.
 */
bool
Listener::lock_path()
{
	for (;;)
	{
		struct stat here;
		struct stat there;

		lock_fd = ::open(lock_name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (lock_fd < 0)
		{
			log_line("FATAL", "could not open \"%s\": %s", lock_name.c_str(), strerror(errno));
			return false;
		}
		if (flock(lock_fd, LOCK_EX | LOCK_NB) != 0)
		{
			log_line("FATAL", "another gpusortd listens at \"%s\"", path.c_str());
			close(lock_fd);
			lock_fd = -1;
			return false;
		}
		if (fstat(lock_fd, &here) == 0 && stat(lock_name.c_str(), &there) == 0 && here.st_ino == there.st_ino)
			return true;
		close(lock_fd);
		lock_fd = -1;
	}
}

bool
Listener::remove_stale()
{
	struct stat found;

	if (lstat(path.c_str(), &found) != 0)
		return true;
	if (!S_ISSOCK(found.st_mode))
	{
		log_line("FATAL", "\"%s\" is not a socket", path.c_str());
		return false;
	}
	return unlink(path.c_str()) == 0;
}

bool
Listener::bind_socket()
{
	struct sockaddr_un address = {};
	mode_t mask;
	int result;

	address.sun_family = AF_UNIX;
	if (path.size() >= sizeof(address.sun_path))
	{
		log_line("FATAL", "the socket's path \"%s\" is longer than %zu bytes", path.c_str(),
				 sizeof(address.sun_path) - 1);
		return false;
	}
	path.copy(address.sun_path, path.size());
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mask = umask(0177);
	result = fd < 0 ? -1 : bind(fd, (struct sockaddr *) &address, sizeof(address));
	umask(mask);
	if (result != 0 || lstat(path.c_str(), &bound) != 0 || listen(fd, LISTEN_BACKLOG) != 0)
	{
		log_line("FATAL", "could not listen at \"%s\": %s", path.c_str(), strerror(errno));
		return false;
	}
	return true;
}

Listener::~Listener()
{
	struct stat found;

	if (bound.st_ino != 0 && lstat(path.c_str(), &found) == 0 && found.st_ino == bound.st_ino &&
		found.st_dev == bound.st_dev)
		unlink(path.c_str());
	if (lock_fd >= 0)
	{
		unlink(lock_name.c_str());
		close(lock_fd);
	}
	for (int file : {fd, spare_fd})
	{
		if (file >= 0)
			close(file);
	}
}

/* Is the other end of this connection one that may use gpusortd? */
static bool
peer_is_allowed(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
		return false;
	if (peer.uid == geteuid() || peer.uid == 0)
		return true;
	log_line("WARNING", "refused a connection of the user with id %u", (unsigned int) peer.uid);
	return false;
}

/* There is no file left for a connection. */
void
Listener::refuse_with_spare()
{
	std::lock_guard<std::mutex> lock(files_mutex);
	int client;

	close(spare_fd);
	client = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
	if (client >= 0)
		refuse(client, "gpusortd has no file left for another connection");
	spare_fd = open_spare();
}

/* Is that why there is no connection, and not that the client has gone? */
static bool
kernel_is_short()
{
	return errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
}

int
Listener::accept()
{
	struct timeval patience = {SEND_SECONDS, 0};
	int client = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);

	if (client < 0 && kernel_is_short())
	{
		if ((errno == EMFILE || errno == ENFILE) && spare_fd >= 0)
			refuse_with_spare();
		else
		{
			log_line("WARNING", "could not accept a connection: %s", strerror(errno));
			std::this_thread::sleep_for(std::chrono::milliseconds(ACCEPT_AGAIN_MILLISECONDS));
			spare_fd = spare_fd < 0 ? open_spare() : spare_fd;
		}
	}
	if (client >= 0 && peer_is_allowed(client) &&
		setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0)
		return client;
	if (client >= 0)
		close(client);
	return -1;
}

/* Whether the client reads it or not: nothing waits for that. */
void
Listener::refuse(int client, const char *why)
{
	(void) Wire(client).send_error(GPUSORTD_NO_RESOURCES, why);
	close(client);
}
