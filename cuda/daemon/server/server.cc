/*
 * server.cc
 *		The service's beginning and end, and the threads of the connections.
 *
 * There are no more connections than there are files for.  Who is one too many is told so, and closed: its
 * sort runs elsewhere, those that are served notice nothing.
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
#include <new>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/server/files.h"
#include "daemon/server/listener.h"
#include "daemon/server/service.h"

#define WATCHDOG_SECONDS 10
#define TIDY_SECONDS 10

/* Slabs that are there before the first client; one of 8 chunks takes some 20 ms. */
#define READY_SLABS 2

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
 * Slabs for a query or two with many joiners; the layer for tests needs no more than a few.  The first
 * client, small or large, finds one of its size.
 */
std::vector<uint32_t>
Service::first_slabs() const
{
	uint32_t large = settings.host_memory ? 1 : 4;
	std::vector<uint32_t> sizes = {small_slab(), large_slab()};

	sizes.insert(sizes.end(), large - 1, large_slab());
	sizes.insert(sizes.end(), large * 4 - 1, small_slab());
	return sizes;
}

/*
 * How many connections there are files for, and chunks: a slab is a file, and the smaller ones have
 * small_slab() chunks.
 */
Outcome
Service::share_files(uint32_t *chunks)
{
	uint64_t wanted = settings.staging_memory / settings.chunk_bytes;
	FileBudget budget = files_budget((wanted + small_slab() - 1) / small_slab());

	most_connections = budget.connections;
	if (budget.connections == 0)
		return {GPUSORTD_NO_RESOURCES, "the limit of open files, " + std::to_string(budget.limit) +
										   ", leaves no file for a connection; raise it by ulimit -n, or by "
										   "LimitNOFILE of the server's unit"};
	*chunks = std::max<uint64_t>(std::min<uint64_t>(wanted, budget.slabs * small_slab()), large_slab());
	if (*chunks < wanted)
		log_line(
			"WARNING",
			"the limit of %llu open files allows %u connections, and %u chunks of memory instead of %llu",
			(unsigned long long) budget.limit, most_connections, *chunks, (unsigned long long) wanted);
	return {};
}

Outcome
Service::open()
{
	std::vector<DeviceDescription> found;
	std::vector<GateDevice> devices;
	uint32_t chunks;
	Outcome outcome;

	files_raise_limit();
	outcome = layer->open(settings.devices, settings.chunk_bytes, &found);
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
	outcome = share_files(&chunks);
	if (!outcome.ok())
		return outcome;
	slabs = std::make_unique<SlabPool>(layer.get(), settings.chunk_bytes, chunks);
	slabs->prepare(first_slabs(), READY_SLABS);
	gate = std::make_unique<Gate>(devices, slabs->most_chunks);
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
	explicit Server(Service *its_service) : service(its_service), listener(its_service->settings.socket_path)
	{
	}

	~Server();

	bool open();
	int run();

private:
	void accept_one();
	void start(int fd);
	void reap();
	void end_connections();
	void tidy_now_and_then();

	Service *service;
	Listener listener;
	int signal_fd = -1;
	std::list<Connection> connections;
	bool was_full = false; /* at the last connection; the log says it once */
	std::chrono::steady_clock::time_point tidied;
};

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

	signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0)
		log_line("FATAL", "could not make a file for signals: %s", strerror(errno));
	return signal_fd >= 0 && listener.open();
}

Server::~Server()
{
	if (signal_fd >= 0)
		close(signal_fd);
}

void
Server::accept_one()
{
	uint32_t most = service->most_connections;
	char why[80];
	int fd = listener.accept();

	if (fd < 0)
		return;
	if (connections.size() < most)
	{
		was_full = false;
		start(fd);
		return;
	}
	if (!was_full)
		log_line(
			"WARNING",
			"all %u connections are taken that the limit of open files allows; further clients are refused",
			most);
	was_full = true;
	snprintf(why, sizeof(why), "all %u connections of gpusortd are taken", most);
	listener.refuse(fd, why);
}

void
Server::start(int fd)
{
	std::list<Connection> started;

	try
	{
		Connection *connection = &started.emplace_back();

		connection->fd = fd;
		connection->thread = std::thread([this, connection] {
			uint64_t one = 1;

			session_run(service, connection->fd);
			shutdown(connection->fd, SHUT_RDWR);
			connection->done = true;
			(void) !write(service->stop_event, &one, sizeof(one));
		});
		connections.splice(connections.end(), started);
	}
	catch (const std::exception &error)
	{
		log_line("WARNING", "could not start a thread for a connection: %s", error.what());
		listener.refuse(fd, "gpusortd has no thread left for another connection");
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
	std::thread watchdog;

	try
	{
		watchdog = std::thread([&ended] {
			if (ended.get_future().wait_for(std::chrono::seconds(WATCHDOG_SECONDS)) ==
				std::future_status::ready)
				return;
			log_line("FATAL", "a job does not end; gpusortd exits without it");
			_exit(GPUSORTD_EXIT_HUNG);
		});
	}
	catch (const std::system_error &)
	{
		/* Whoever waits for the end kills gpusortd before long. */
	}

	for (Connection &connection : connections)
		shutdown(connection.fd, SHUT_RD);
	for (Connection &connection : connections)
	{
		connection.thread.join();
		close(connection.fd);
	}
	connections.clear();
	ended.set_value();
	if (watchdog.joinable())
		watchdog.join();
}

void
Server::tidy_now_and_then()
{
	auto now = std::chrono::steady_clock::now();

	if (now - tidied < std::chrono::seconds(TIDY_SECONDS))
		return;
	tidied = now;
	try
	{
		service->layer->tidy();
	}
	catch (const std::bad_alloc &)
	{
		/* Another time. */
	}
}

int
Server::run()
{
	log_line("LOG", "listening at \"%s\", sorting with %s", service->settings.socket_path.c_str(),
			 service->layer->name());
	while (!service->stopping)
	{
		struct pollfd fds[4] = {{listener.fd, POLLIN, 0},
								{signal_fd, POLLIN, 0},
								{service->stop_event, POLLIN, 0},
								{service->settings.parent_fd, POLLIN, 0}};
		uint64_t events;

		if (poll(fds, 4, TIDY_SECONDS * 1000) < 0)
			continue;
		tidy_now_and_then();
		if (fds[2].revents != 0)
			(void) !read(service->stop_event, &events, sizeof(events));
		if (fds[1].revents != 0 || fds[3].revents != 0)
			service->stop(GPUSORTD_EXIT_ASKED);
		reap();
		if (fds[0].revents != 0)
			accept_one();
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
