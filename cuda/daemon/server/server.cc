/*
 * server.cc
 *		Listening, and the threads of the connections.
 *
 * The socket is for the user that gpusortd runs as, and for root: its mode says so, and so does the kernel of
 * whoever connects.  A lock on a file beside it, held as long as gpusortd lives, tells a socket that a dead
 * one left behind, which is replaced, from that of a living one, which is not.
 *
 * gpusortd ends on SIGTERM, SIGINT or SIGQUIT, when the descriptor that its parent holds the other end of is
 * closed, and after a device was lost, as CUDA can't recover in the same process.  Ending, it shuts the
 * connections for reading: each thread finishes what it is at, sends its answer, and sees the end of its
 * client.  One that can't send, because its client reads nothing, gives up before long.  If a thread doesn't
 * end, because a device hangs, a watchdog ends the process.
 */
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <future>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/server/service.h"

#define LISTEN_BACKLOG 128
#define WATCHDOG_SECONDS 10
#define MAX_CONNECTIONS 4096
#define TIDY_SECONDS 10

/*
 * A client with so many answers unread that no more can be sent for so long is given up: no client of ours
 * ever is.
 */
#define SEND_SECONDS 3

/* Segments that are there before the first client; one of 8 chunks takes some 20 ms. */
#define READY_SEGMENTS 2

void
log_line(const char *level, const char *format, ...)
{
	char line[1024];
	va_list arguments;
	int length = snprintf(line, sizeof(line), "%s: ", level);

	va_start(arguments, format);
	vsnprintf(line + length, sizeof(line) - length - 1, format, arguments);
	va_end(arguments);
	for (char *c = line; *c != '\0'; c++)
	{
		if (*c == '\n')
			*c = ' ';
	}
	strcat(line, "\n");
	(void) !write(STDERR_FILENO, line, strlen(line));
}

/* ---- the service ---- */

/*
 * Segments for a query or two with many helpers; the layer for tests needs no more than a few.  The first
 * client, small or large, finds one of its size.
 */
std::vector<uint32_t>
Service::first_segments() const
{
	uint32_t large = settings.host_memory ? 1 : 4;
	std::vector<uint32_t> sizes = {small_segment(), large_segment()};

	sizes.insert(sizes.end(), large - 1, large_segment());
	sizes.insert(sizes.end(), large * 4 - 1, small_segment());
	return sizes;
}

Outcome
Service::open()
{
	std::vector<DeviceDescription> found;
	std::vector<GateDevice> devices;
	Outcome outcome = layer->open(settings.devices, settings.chunk_bytes, &found);

	if (!outcome.ok())
		return outcome;
	for (const DeviceDescription &device : found)
	{
		uint64_t share = device.memory_bytes / 100 * settings.device_memory_percent;
		uint64_t limit =
			settings.device_memory > 0 ? std::min(settings.device_memory, device.memory_bytes) : share;

		limit -= layer->keep_memory(device.number, limit);
		for (uint32_t i = 0; i < settings.count_devices && devices.size() < GPUSORTD_MAX_DEVICES; i++)
			devices.push_back({device, limit / settings.count_devices, 0, 0});
	}
	if (devices.empty())
		return {GPUSORTD_INVALID, "there is no device that can be used"};
	stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop_event < 0)
		return {GPUSORTD_NO_RESOURCES, "too many files are open"};
	segments = std::make_unique<SegmentPool>(layer.get(), settings.chunk_bytes,
											 settings.staging_memory / settings.chunk_bytes);
	segments->prepare(first_segments(), READY_SEGMENTS);
	gate = std::make_unique<Gate>(devices, segments->most_chunks);
	for (const GateDevice &device : devices)
		log_line("LOG", "device %d: %s, %llu MB, up to %llu MB of them for sorting",
				 device.description.number, device.description.name.c_str(),
				 (unsigned long long) device.description.memory_bytes >> 20,
				 (unsigned long long) device.limit >> 20);
	return {};
}

Service::~Service()
{
	if (stop_event >= 0)
		close(stop_event);
}

void
Service::stop(int status)
{
	uint64_t one = 1;

	if (!stopping.exchange(true))
		exit_status = status;
	(void) !write(stop_event, &one, sizeof(one));
}

void
Service::publish(const std::shared_ptr<SharedJob> &job)
{
	std::lock_guard<std::mutex> lock(jobs_mutex);

	job->id = ++last_job;
	jobs[job->id] = job;
}

void
Service::withdraw(const std::shared_ptr<SharedJob> &job)
{
	std::lock_guard<std::mutex> lock(jobs_mutex);

	jobs.erase(job->id);
}

std::shared_ptr<SharedJob>
Service::find(uint64_t id, uint64_t token)
{
	std::lock_guard<std::mutex> lock(jobs_mutex);
	auto found = jobs.find(id);
	std::shared_ptr<SharedJob> job = found != jobs.end() ? found->second.lock() : nullptr;

	return job != nullptr && job->token == token ? job : nullptr;
}

/* ---- connections ---- */

struct Connection
{
	int fd;
	std::thread thread;
	std::atomic<bool> done{false};
};

class Server
{
public:
	explicit Server(Service *its_service) : service(its_service)
	{
	}

	~Server();

	bool open();
	int run();

private:
	bool lock_path();
	bool remove_stale();
	bool bind_socket();
	void accept_one();
	void start(int fd);
	void reap();
	void end_connections();
	void tidy_now_and_then();

	Service *service;
	std::string path;
	std::string lock_name;
	int lock_fd = -1;
	int listen_fd = -1;
	int signal_fd = -1;
	struct stat bound = {};
	std::list<Connection> connections;
	std::chrono::steady_clock::time_point tidied;
};

/*
 * Takes the lock file.  The last holder may have removed it between our opening and locking it: then what we
 * have locked isn't what the next one would find, and we try again.
 */
bool
Server::lock_path()
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
Server::remove_stale()
{
	struct stat found;

	if (lstat(path.c_str(), &found) != 0)
		return true;
	if (!S_ISSOCK(found.st_mode))
	{
		log_line("FATAL", "\"%s\" is no socket", path.c_str());
		return false;
	}
	return unlink(path.c_str()) == 0;
}

bool
Server::bind_socket()
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
	listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mask = umask(0177);
	result = listen_fd < 0 ? -1 : bind(listen_fd, (struct sockaddr *) &address, sizeof(address));
	umask(mask);
	if (result != 0 || lstat(path.c_str(), &bound) != 0 || listen(listen_fd, LISTEN_BACKLOG) != 0)
	{
		log_line("FATAL", "could not listen at \"%s\": %s", path.c_str(), strerror(errno));
		return false;
	}
	return true;
}

/* A connection takes two files, and up to another one for its chunk memory. */
static void
raise_file_limit()
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void) setrlimit(RLIMIT_NOFILE, &limit);
}

static sigset_t
ending_signals()
{
	sigset_t signals;

	sigemptyset(&signals);
	for (int signal : {SIGTERM, SIGINT, SIGQUIT})
		sigaddset(&signals, signal);
	return signals;
}

void
server_block_signals()
{
	sigset_t signals = ending_signals();

	pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool
Server::open()
{
	sigset_t signals = ending_signals();

	raise_file_limit();
	path = service->settings.socket_path;
	lock_name = path + ".lock";
	signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return signal_fd >= 0 && lock_path() && remove_stale() && bind_socket();
}

/* Removes the socket, unless it is another one by now. */
Server::~Server()
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
	if (listen_fd >= 0)
		close(listen_fd);
	if (signal_fd >= 0)
		close(signal_fd);
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

void
Server::accept_one()
{
	struct timeval patience = {SEND_SECONDS, 0};
	int fd = accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC);

	if (fd < 0)
	{
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
		{
			log_line("WARNING", "could not accept a connection: %s", strerror(errno));
			std::this_thread::sleep_for(std::chrono::milliseconds(100));
		}
		return;
	}
	if (connections.size() >= MAX_CONNECTIONS || !peer_is_allowed(fd) ||
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0)
		close(fd);
	else
		start(fd);
}

void
Server::start(int fd)
{
	Connection *connection = &connections.emplace_back();

	connection->fd = fd;
	try
	{
		connection->thread = std::thread([this, connection] {
			uint64_t one = 1;

			session_run(service, connection->fd);
			shutdown(connection->fd, SHUT_RDWR);
			connection->done = true;
			(void) !write(service->stop_event, &one, sizeof(one));
		});
	}
	catch (const std::system_error &error)
	{
		log_line("WARNING", "could not start a thread for a connection: %s", error.what());
		close(fd);
		connections.pop_back();
	}
}

/* Closes connections whose threads have ended. */
void
Server::reap()
{
	for (auto connection = connections.begin(); connection != connections.end();)
	{
		if (!connection->done)
		{
			++connection;
			continue;
		}
		connection->thread.join();
		close(connection->fd);
		connection = connections.erase(connection);
	}
}

void
Server::end_connections()
{
	std::promise<void> ended;
	std::thread watchdog([&ended] {
		if (ended.get_future().wait_for(std::chrono::seconds(WATCHDOG_SECONDS)) == std::future_status::ready)
			return;
		log_line("FATAL", "a job does not end: giving up");
		_exit(4);
	});

	for (Connection &connection : connections)
		shutdown(connection.fd, SHUT_RD);
	for (Connection &connection : connections)
	{
		connection.thread.join();
		close(connection.fd);
	}
	connections.clear();
	ended.set_value();
	watchdog.join();
}

void
Server::tidy_now_and_then()
{
	auto now = std::chrono::steady_clock::now();

	if (now - tidied < std::chrono::seconds(TIDY_SECONDS))
		return;
	tidied = now;
	service->layer->tidy();
}

int
Server::run()
{
	log_line("LOG", "listening at \"%s\", sorting with %s", path.c_str(), service->layer->name());
	while (!service->stopping)
	{
		struct pollfd fds[4] = {{listen_fd, POLLIN, 0},
								{signal_fd, POLLIN, 0},
								{service->stop_event, POLLIN, 0},
								{service->settings.parent_fd, POLLIN, 0}};
		uint64_t events;

		if (poll(fds, 4, TIDY_SECONDS * 1000) < 0)
			continue;
		tidy_now_and_then();
		if (fds[0].revents != 0)
			accept_one();
		if (fds[2].revents != 0)
			(void) !read(service->stop_event, &events, sizeof(events));
		if (fds[1].revents != 0 || fds[3].revents != 0)
			service->stop(0);
		reap();
	}
	end_connections();
	log_line("LOG", "ended");
	return service->exit_status;
}

int
server_run(Service *service)
{
	Server server(service);

	return server.open() ? server.run() : 1;
}
