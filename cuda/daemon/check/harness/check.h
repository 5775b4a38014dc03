/*
 * check.h
 *		The tests of gpusortd: the program under test, and jobs with known answers.
 *
 * daemoncheck starts gpusortd, talks to it as its clients do and as they shouldn't, and prints a line a test,
 * "ok" or "not ok".  Without --cuda gpusortd sorts in host memory, so nearly everything is tested on any
 * machine.
 */
#ifndef DAEMON_CHECK_H
#define DAEMON_CHECK_H

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "daemon/check/harness/report.h"
#include "daemon/client/client.h"

struct CheckOptions
{
	std::string program; /* gpusortd */
	bool cuda = false;
	bool small = false; /* chunks as in host memory, even with cuda */
	uint64_t seed = 1;
	int seconds = 5; /* of random jobs, and of random messages */
	bool bench = false;
	uint64_t fewer = 0; /* of the benchmark's rows; 0: the default */
};

extern CheckOptions options;

typedef std::mt19937_64 Random;

static inline uint64_t
random_below(Random *random, uint64_t bound)
{
	return (*random)() % bound;
}

/* ---- the program under test ---- */

/* What a process holds. */
struct Holdings
{
	int files;
	int threads;
	long resident_kb;
};

class Daemon
{
public:
	/*
	 * Starts gpusortd with these options more than a socket and a layer, and a limit of open files, if it is
	 * not 0.
	 */
	explicit Daemon(const std::vector<std::string> &more = {}, unsigned int files = 0);
	~Daemon();

	bool running();

	/* SIGTERM, and its exit status; -1: it had to be killed. */
	int end();

	/* Waits for its end, and its exit status; -1: it had to be killed. */
	int wait();

	/* Waits until it holds no more files and threads than at its start. */
	bool settles();
	Holdings holdings() const;

	/* What it has written to its log. */
	std::string log() const;

	pid_t pid = -1;
	std::string folder;
	std::string socket_path;
	Holdings at_start = {};

private:
	int reap(int seconds);
};

/* Waits until no job has a promise of device memory. */
bool nothing_is_promised(const Daemon &daemon);

/*
 * Runs gpusortd with these arguments, and maybe a limit of open files; its exit status, and what it printed.
 */
int run_program(const std::vector<std::string> &arguments, std::string *output, unsigned int files = 0);

/* ---- jobs ---- */

struct JobCase
{
	uint32_t key_bytes; /* 0: variable */
	uint32_t algorithm;
	uint64_t rows;
	uint32_t longest_row;	  /* from 16 */
	uint32_t longest_key;	  /* variable */
	uint32_t different_bytes; /* of a key: few make equal keys */
};

/* Rows with their keys. */
struct JobRows
{
	JobCase job;
	std::vector<std::string> keys;
	std::vector<std::string> rows; /* as they come back */
	std::vector<bool> refused;	   /* of these, no longer than needed: not to come back */
	std::vector<uint32_t> order;   /* the result's row numbers, once known */

	JobRows(const JobCase &wanted, Random *random);

	GpusortdBegin begin() const;
};

JobCase random_case(Random *random);
std::string describe(const JobCase &job);

/* Feeds the rows from `first` up to, not including, `end`; chunks are filled to different degrees. */
bool feed(GpusortdClient *client, const JobRows &rows, uint64_t first, uint64_t end, Random *random);

/*
 * Fills one chunk with as many rows as fit, and submits it; *row is the first, and then the next one, *used
 * the chunk's number.
 */
bool feed_chunk(GpusortdClient *client, const JobRows &rows, uint64_t *row, uint64_t end, uint64_t most,
				int *used = nullptr);

/* Fetches all and compares; learns the order.  *why says what is wrong. */
bool fetch_all(GpusortdClient *client, JobRows *rows, std::string *why);

/* Fetches from and before random places, and compares with that order. */
bool fetch_around(GpusortdClient *client, const JobRows &rows, Random *random, std::string *why);

/* Connects, and all of the above; leaves the connection open. */
bool run_job(GpusortdClient *client, const std::string &socket_path, JobRows *rows, Random *random,
			 std::string *why);

/* Does a random job, in a connection of its own, come out right? */
bool still_sorts(const Daemon &daemon, Random *random);

/* ---- jobs that are there for the others' sake ---- */

/* Requests a job that expects `expected_bytes` bytes of rows, without waiting for the answer. */
bool ask_for_job(GpusortdClient *client, const Daemon &daemon, uint64_t expected_bytes);

/* The type of the next message; 0: none comes.  *body is what is in it. */
int next_message(GpusortdClient *client, void *body = nullptr);

/* Do the next messages say that it is out of the queue, and has its job? */
bool leaves_queue(GpusortdClient *client);

/* The type of the first message that is not of the queue; 0: none comes.  *body is what is in it. */
int message_after_queue(GpusortdClient *client, void *body = nullptr);

/* Does no message come within this number of milliseconds? */
bool is_silent(GpusortdClient *client, int milliseconds = 300);

/* A job that never rests: it submits chunks without rows. */
class BusyJob
{
public:
	BusyJob(const Daemon &daemon, uint64_t expected_bytes);
	~BusyJob();

	BusyJob(const BusyJob &) = delete;
	BusyJob &operator=(const BusyJob &) = delete;

	bool begun = false;
	GpusortdClient client;

private:
	void work();

	std::atomic<bool> ending{false};
	std::thread thread;
};

/* ---- the tests ---- */

void check_jobs(Random *random);
void check_program(Random *random);
void check_clients(Random *random);
void check_admission(Random *random);
void check_idle(Random *random);
void check_messages(Random *random);
void check_fuzz(Random *random);
void check_full(Random *random);
void check_joiners(Random *random);
void check_ranks(Random *random);
void check_faults(Random *random);
void check_limits(Random *random);

#endif /* DAEMON_CHECK_H */
