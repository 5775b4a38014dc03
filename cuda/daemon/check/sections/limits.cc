/*
 * limits.cc
 *		Files, threads or memory that gpusortd has not: whoever is one too many is told so, those that are
 *		served notice nothing, and all is well when there is more again.
 */
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/check/harness/check.h"

/* Enough for some connections of gpusortd in host memory, and for chunk memory of half of them. */
#define FEW_FILES 80
#define TOO_FEW_FILES 20

/* More clients than it has files for. */
#define MANY_CLIENTS 60

/* As a job takes a file from the listener in a moment that a busy machine seldom gives it. */
#define MANY_TIMES 30

/* By then gpusortd has noticed who is gone, on a busy machine too. */
#define LATE_MS 200

/* Of address space that a sanitizer takes for itself. */
#define SANITIZED_BYTES (UINT64_C(1) << 40)

/* A client whose connection is closed with it. */
struct Guest
{
	Guest() = default;
	Guest(const Guest &) = delete;
	Guest &operator=(const Guest &) = delete;

	~Guest()
	{
		gpusortd_close(&client);
	}

	bool enter(const Daemon &daemon)
	{
		return gpusortd_connect(&client, daemon.socket_path.c_str(), nullptr, nullptr);
	}

	/* Is it told, in an answer of the protocol, that there is no room for it? */
	bool is_refused(const Daemon &daemon)
	{
		return !enter(daemon) && client.code == GPUSORTD_NO_RESOURCES;
	}

	GpusortdClient client = {};
};

/* Begins a job, feeds, sorts and fetches in each connection, all of which have their job at the same time. */
static bool
all_sort(std::deque<Guest> *guests, size_t number, Random *random)
{
	JobRows rows({8, 0, 500, 60, 0, 8}, random);
	GpusortdBegin begin = rows.begin();
	std::string why;
	bool ok = true;

	for (size_t i = 0; i < number && ok; i++)
		ok = gpusortd_begin(&(*guests)[i].client, &begin) &&
			 feed(&(*guests)[i].client, rows, 0, 500, random) && gpusortd_perform(&(*guests)[i].client);
	for (size_t i = 0; i < number && ok; i++)
		ok = fetch_all(&(*guests)[i].client, &rows, &why);
	for (size_t i = 0; i < number; i++)
	{
		if (!ok && (*guests)[i].client.code != GPUSORTD_OK)
			note("connection %zu: %s %s", i, (*guests)[i].client.message, why.c_str());
		ok = gpusortd_end(&(*guests)[i].client) && ok;
	}
	return ok;
}

/*
 * So many clients are served; the one after them, which is the last of the guests, is not: nor a moment
 * later, when connections have ended that were not yet noticed to have gone.
 */
static size_t
enter_until_refused(const Daemon &daemon, std::deque<Guest> *guests)
{
	size_t served = guests->size();

	for (int refused = 0; refused < 2 && served < MANY_CLIENTS;)
	{
		if (guests->emplace_back().enter(daemon))
			served++;
		else if (++refused < 2)
		{
			guests->pop_back();
			std::this_thread::sleep_for(std::chrono::milliseconds(LATE_MS));
		}
	}
	return served;
}

/* And the next ones, one after the other? */
static bool
all_are_refused(const Daemon &daemon)
{
	bool refused = true;

	for (int i = 0; i < MANY_CLIENTS; i++)
		refused = Guest().is_refused(daemon) && refused;
	return refused;
}

/* There are as many connections as it has files for; each of them can have a job. */
static void
check_few_files(Random *random)
{
	Daemon daemon({}, FEW_FILES);
	std::deque<Guest> guests;
	size_t served = enter_until_refused(daemon, &guests);

	check(served > 2 && served < MANY_CLIENTS && guests.back().client.code == GPUSORTD_NO_RESOURCES,
		  "with %d files %zu connections are served, and the next one is told: %s", FEW_FILES, served,
		  guests.back().client.message);
	check(daemon.log().find(" chunks of memory instead of ") != std::string::npos,
		  "there is chunk memory for as many files as there are, and the log says so");
	check(all_sort(&guests, served, random), "all of them have a job at the same time");
	check(all_are_refused(daemon) && daemon.running(), "more than that are refused one after the other");
	check(daemon.log().find("connections are taken") == daemon.log().rfind("connections are taken"),
		  "which the log says once");
	guests.clear();
	check(daemon.settles() && still_sorts(daemon, random), "when they have gone there is room again");
}

static void
check_too_few_files()
{
	std::string output;
	int status =
		run_program({"--socket", "/tmp/daemoncheck-limits", "--host-memory-layer"}, &output, TOO_FEW_FILES);

	check(status == 1 && output.find("FATAL: the limit of open files, ") != std::string::npos,
		  "too few files for a single connection: %s", output.substr(0, output.find('\n')).c_str());
}

/* Sets a limit of the running gpusortd; what it was. */
static rlim_t
limit_to(const Daemon &daemon, __rlimit_resource resource, rlim_t value)
{
	struct rlimit before = {};
	struct rlimit now;

	(void) prlimit(daemon.pid, resource, nullptr, &before);
	now = {value, before.rlim_max};
	check(prlimit(daemon.pid, resource, &now, nullptr) == 0, "a limit is set");
	return before.rlim_cur;
}

/* The lowest number of a file that it has not open. */
static rlim_t
first_free_file(const Daemon &daemon)
{
	std::string folder = "/proc/" + std::to_string(daemon.pid) + "/fd/";
	rlim_t number = 0;
	char link[1];

	while (readlink((folder + std::to_string(number)).c_str(), link, sizeof(link)) >= 0)
		number++;
	return number;
}

/* A client that wants a job again and again, for which a file would have to be opened. */
class HungryGuest
{
public:
	explicit HungryGuest(Guest *guest) : client(&guest->client), thread([this] { ask(); })
	{
	}

	~HungryGuest()
	{
		leaves = true;
		thread.join();
	}

	bool was_served() const
	{
		return served;
	}

private:
	void ask()
	{
		GpusortdBegin begin = {8, 0, 0, 0, 0, 0, 0};

		while (!leaves)
		{
			served = gpusortd_begin(client, &begin) || served;
			(void) gpusortd_end(client);
		}
	}

	GpusortdClient *client;
	std::atomic<bool> leaves{false};
	std::atomic<bool> served{false};
	std::thread thread;
};

/*
 * Others in the process, a driver, have taken all files: a client is refused all the same, though a job looks
 * for a file at the same time.  Guests take those of connections that had not ended when the limit was set.
 */
static void
check_no_file_left(Random *random)
{
	Daemon daemon;
	std::deque<Guest> guests(1);
	bool entered = guests.front().enter(daemon);
	rlim_t before = limit_to(daemon, RLIMIT_NOFILE, first_free_file(daemon));
	bool refused = true;

	(void) enter_until_refused(daemon, &guests);
	{
		HungryGuest hungry(&guests.front());

		for (int i = 0; i < MANY_TIMES; i++)
			refused = all_are_refused(daemon) && refused;
		check(entered && refused && !hungry.was_served() && daemon.running(),
			  "without a single file left clients are refused");
	}
	check(daemon.log().find("could not accept") == std::string::npos,
		  "the file in reserve for that is never lost");
	check(!still_sorts(daemon, random), "a job is refused as well");
	limit_to(daemon, RLIMIT_NOFILE, before);
	check(all_sort(&guests, 1, random) && still_sorts(daemon, random), "with files it goes on");
}

static uint64_t
address_space(const Daemon &daemon)
{
	FILE *file = fopen(("/proc/" + std::to_string(daemon.pid) + "/statm").c_str(), "r");
	unsigned long long pages = 0;

	if (file == nullptr || fscanf(file, "%llu", &pages) != 1)
		pages = 0;
	if (file != nullptr)
		fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

/*
 * No thread can be started, for want of memory for its stack.  Some stacks of threads that have ended are
 * still there; whoever gets one of them may be closed without a word, as there is no other memory either.
 */
static void
check_no_threads(Random *random)
{
	Daemon daemon;
	std::deque<Guest> guests;
	uint64_t bytes = address_space(daemon);
	rlim_t before;
	size_t served;
	int told = 0;

	if (bytes > SANITIZED_BYTES)
	{
		note("skipped: no thread left, as a sanitizer has gpusortd's address space");
		return;
	}
	(void) guests.emplace_back().enter(daemon);
	before = limit_to(daemon, RLIMIT_AS, bytes);
	served = enter_until_refused(daemon, &guests);
	for (int i = 0; i < MANY_CLIENTS; i++)
		told += Guest().is_refused(daemon);
	check(served < MANY_CLIENTS && told > 0 && daemon.running(),
		  "without a thread for them clients are refused: %s", guests.back().client.message);
	if (!daemon.running())
		note("%s", daemon.log().c_str());
	limit_to(daemon, RLIMIT_AS, before);
	check(still_sorts(daemon, random), "with threads it goes on");
}

/* A client that has no number left for the file of the chunk memory is told so, and may go on afterwards. */
static int
begin_without_files(const Daemon &daemon)
{
	struct rlimit limit = {};
	struct rlimit few;
	Guest guest;
	GpusortdBegin begin = {8, 0, 0, 0, 0, 0, 0};

	if (!guest.enter(daemon) || getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 1;
	few = {(rlim_t) guest.client.fd + 1, limit.rlim_max};
	if (setrlimit(RLIMIT_NOFILE, &few) != 0 || gpusortd_begin(&guest.client, &begin) ||
		guest.client.code != GPUSORTD_NO_RESOURCES || !gpusortd_end(&guest.client))
		return 2;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0 && gpusortd_begin(&guest.client, &begin) ? 0 : 3;
}

static void
check_client_without_files()
{
	Daemon daemon;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(begin_without_files(daemon));
	waitpid(pid, &status, 0);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		  "a client without files can't have chunk memory, and can when it has: status %d",
		  WEXITSTATUS(status));
	check(daemon.settles(), "and leaves nothing");
}

void
check_limits(Random *random)
{
	check_few_files(random);
	check_too_few_files();
	check_no_file_left(random);
	check_no_threads(random);
	check_client_without_files();
}
