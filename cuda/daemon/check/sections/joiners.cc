/*
 * joiners.cc
 *		Joiners that are in the middle of something while their leader goes on: who waits, who is stopped, who
 *		still feeds, who fetches.
 *
 * A leader never waits for what a joiner's process does; a joiner that comes too late is told so.  What
 * gpusortd has acknowledged is in the result, and nothing else is.  No wait here is without end, so a
 * deadlock is a failed test.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/check/harness/raw.h"

#define JOINERS 4
#define ROWS_OF_JOINER 20000
#define CHUNK_ROWS 50
#define SPOILED_RACES 200
#define PATIENCE_MS 20000

/* Waits for the socket, but not for ever. */
static bool
wait_patiently(void *, int fd, bool for_writing)
{
	struct pollfd poll_fd = {fd, (short) (for_writing ? POLLOUT : POLLIN), 0};

	return poll(&poll_fd, 1, PATIENCE_MS) > 0;
}

static bool
begin_job(GpusortdClient *leader, const Daemon &daemon, const JobRows &rows)
{
	GpusortdBegin begin = rows.begin();

	return gpusortd_connect(leader, daemon.socket_path.c_str(), wait_patiently, nullptr) &&
		   gpusortd_begin(leader, &begin);
}

static bool
join_job(GpusortdClient *joiner, const Daemon &daemon, const GpusortdJob &job)
{
	return gpusortd_connect(joiner, daemon.socket_path.c_str(), wait_patiently, nullptr) &&
		   gpusortd_join(joiner, job.job, job.token);
}

/* How the leader goes on. */
enum class Ending
{
	perform,
	end,
	close
};

static const char *const ending_names[] = {"sorts", "ends the job", "closes its connection"};

/* ---- a stopped joiner ---- */

/*
 * In a process of its own: feeds a chunk, takes another one, stops; goes on, and must be told that it is too
 * late.
 */
[[noreturn]] static void
help_and_stop(const Daemon &daemon, const GpusortdJob &job, const JobRows &rows)
{
	GpusortdClient joiner;
	uint64_t row = 0;
	bool ok = join_job(&joiner, daemon, job) && feed_chunk(&joiner, rows, &row, rows.job.rows, CHUNK_ROWS) &&
			  gpusortd_flush(&joiner) && gpusortd_take_chunk(&joiner) >= 0;

	if (!ok)
		_exit(1);
	kill(getpid(), SIGSTOP);
	ok = feed_chunk(&joiner, rows, &row, rows.job.rows, CHUNK_ROWS) && !gpusortd_flush(&joiner) &&
		 joiner.code == GPUSORTD_JOB_OVER && gpusortd_end(&joiner);
	_exit(ok ? 0 : 2);
}

static bool
go_on(GpusortdClient *leader, JobRows *rows, Ending ending, Random *random, std::string *why)
{
	bool ok = feed(leader, *rows, CHUNK_ROWS, rows->job.rows, random);

	switch (ending)
	{
		case Ending::perform:
			return ok && gpusortd_perform(leader) && fetch_all(leader, rows, why) && gpusortd_end(leader);
		case Ending::end:
			return ok && gpusortd_end(leader);
		case Ending::close:
			gpusortd_close(leader);
			return ok;
	}
	return false;
}

static void
check_stopped_joiner(Ending ending, Random *random)
{
	Daemon daemon;
	JobRows rows({8, GPUSORTD_AUTO, 5000, 60, 0, 8}, random);
	GpusortdClient leader;
	std::string why;
	bool ok = begin_job(&leader, daemon, rows);
	pid_t pid = ok ? fork() : -1;
	int status = 0;

	if (pid == 0)
	{
		GpusortdJob job = leader.job;

		/* Or the connection would stay open when the leader closes it. */
		gpusortd_close(&leader);
		help_and_stop(daemon, job, rows);
	}
	ok = ok && waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status);
	check(ok, "a joiner feeds a chunk and is stopped");
	ok = ok && go_on(&leader, &rows, ending, random, &why);
	check(ok, "its leader %s meanwhile %s %s", ending_names[(int) ending], leader.message, why.c_str());
	check(nothing_is_promised(daemon) && still_sorts(daemon, random),
		  "the job's memory is free, others sort");
	if (pid > 0 && kill(pid, SIGCONT) == 0)
		waitpid(pid, &status, 0);
	check(status == 0, "the joiner goes on, and is told that it is too late: %x", status);
	gpusortd_close(&leader);
	check(daemon.settles(), "all is given back");
}

/* ---- many joiners, one after the other ---- */

/* More than there is chunk memory for at a time. */
static void
check_coming_and_going(Random *random)
{
	Daemon daemon;
	JobRows rows({8, GPUSORTD_AUTO, 100, 60, 0, 8}, random);
	GpusortdClient leader;
	bool ok = begin_job(&leader, daemon, rows);
	int helped = 0;

	while (ok && helped < 300)
	{
		GpusortdClient joiner;

		ok = join_job(&joiner, daemon, leader.job) && gpusortd_end(&joiner);
		helped += ok;
		gpusortd_close(&joiner);
	}
	check(ok, "300 joiners come and go, chunk memory is there for each: %d", helped);
	gpusortd_close(&leader);
}

/* ---- joiners in the middle of feeding ---- */

/* What one of them has fed: rows from `first` on, of which gpusortd has acknowledged those up to `taken`. */
struct Fed
{
	uint64_t taken;
	GpusortdCode code;
	bool ended;
};

/* Feeds until it is told that it is too late, with some chunks on their way most of the time. */
static void
help(const Daemon &daemon, const GpusortdJob &job, const JobRows &rows, uint64_t first, Fed *fed)
{
	GpusortdClient joiner;
	uint64_t row = first;
	uint64_t chunks = 0;
	bool ok = join_job(&joiner, daemon, job);

	while (ok && row < first + ROWS_OF_JOINER)
	{
		ok = feed_chunk(&joiner, rows, &row, first + ROWS_OF_JOINER, CHUNK_ROWS);
		chunks += ok;
	}
	ok = ok && gpusortd_flush(&joiner);
	fed->taken = std::min<uint64_t>(first + (chunks - joiner.submitted) * CHUNK_ROWS, first + ROWS_OF_JOINER);
	fed->code = ok ? GPUSORTD_OK : joiner.code;
	fed->ended = gpusortd_end(&joiner);
	gpusortd_close(&joiner);
}

/* Which rows came back?  False: something did that was not sent, or twice, or out of order. */
static bool
fetch_numbers(GpusortdClient *client, const JobRows &rows, std::vector<bool> *seen)
{
	GpusortdRows window;
	uint64_t last = UINT64_MAX;

	do
	{
		uint64_t at = 0;

		if (!gpusortd_fetch(client, false, GPUSORTD_NEXT, &window))
			return false;
		for (uint64_t i = 0; i < window.rows; i++)
		{
			const char *row = gpusortd_chunk(client, window.chunk) + at;
			uint64_t number;

			memcpy(&number, row + 8, sizeof(number));
			if (number >= rows.rows.size() || (*seen)[number] ||
				memcmp(row, rows.rows[number].data(), rows.rows[number].size()) != 0 ||
				(last != UINT64_MAX && rows.keys[last] > rows.keys[number]))
				return false;
			(*seen)[number] = true;
			at += rows.rows[number].size();
			last = number;
		}
	} while (window.rows > 0);
	return true;
}

/* The result has exactly the rows that gpusortd acknowledged. */
static bool
result_is_what_was_taken(GpusortdClient *leader, const JobRows &rows, const std::vector<Fed> &fed)
{
	std::vector<bool> seen(rows.rows.size());

	if (!fetch_numbers(leader, rows, &seen))
		return false;
	for (uint64_t row = 0; row < rows.rows.size(); row++)
	{
		if (seen[row] != (row < fed[row / ROWS_OF_JOINER].taken))
		{
			note("row %llu came back or not, of %llu acknowledged", (unsigned long long) row,
				 (unsigned long long) fed[row / ROWS_OF_JOINER].taken);
			return false;
		}
	}
	return true;
}

/*
 * The leader goes on at a random moment; the number of joiners who were told that it was too late, -1:
 * something was wrong.
 */
static int
race(const Daemon &daemon, const JobRows &rows, Ending ending, Random *random)
{
	GpusortdClient leader;
	std::vector<Fed> fed(JOINERS, Fed{});
	std::vector<std::thread> threads;
	bool ok = begin_job(&leader, daemon, rows);
	int late = 0;

	for (int i = 0; i < JOINERS && ok; i++)
		threads.emplace_back(help, std::cref(daemon), leader.job, std::cref(rows),
							 (uint64_t) i * ROWS_OF_JOINER, &fed[i]);
	std::this_thread::sleep_for(std::chrono::microseconds(random_below(random, 15000)));
	if (ending == Ending::perform)
		ok = ok && gpusortd_perform(&leader);
	else if (ending == Ending::end)
		ok = ok && gpusortd_end(&leader);
	else
		gpusortd_close(&leader);
	for (std::thread &thread : threads)
		thread.join();
	for (const Fed &one : fed)
	{
		ok = ok && (one.code == GPUSORTD_OK || one.code == GPUSORTD_JOB_OVER) && one.ended;
		late += one.code == GPUSORTD_JOB_OVER;
	}
	if (ending == Ending::perform)
		ok = ok && result_is_what_was_taken(&leader, rows, fed) && gpusortd_end(&leader);
	gpusortd_close(&leader);
	return ok ? late : -1;
}

static void
check_races(Ending ending, Random *random)
{
	Daemon daemon;
	JobRows rows({8, GPUSORTD_AUTO, JOINERS * ROWS_OF_JOINER, 60, 0, 8}, random);
	int late = 0;
	int races;

	for (races = 0; races < 10; races++)
	{
		int more = race(daemon, rows, ending, random);

		if (!check(more >= 0, "a leader %s in the middle of its joiners' feeding",
				   ending_names[(int) ending]))
			break;
		late += more;
	}
	check(late > 0, "of %d joiners %d were told that it is too late", races * JOINERS, late);
	check(daemon.settles() && nothing_is_promised(daemon), "all is given back");
}

/* ---- joiners that fetch ---- */

/* What a joiner that fetches is told, and whether it got the right rows until then. */
struct Fetched
{
	GpusortdCode code;
	std::string why;
};

/* Feeds its part of the rows; once the job is sorted, fetches beside the others, from anywhere. */
static void
help_and_fetch(const Daemon &daemon, const GpusortdJob &job, const JobRows &rows, int number,
			   std::atomic<int> *fed, const std::atomic<bool> *sorted, Fetched *fetched)
{
	Random random(number + 1);
	GpusortdClient joiner;
	uint64_t part = rows.job.rows / JOINERS;
	bool ok = join_job(&joiner, daemon, job) &&
			  feed(&joiner, rows, number * part, (number + 1) * part, &random) && gpusortd_flush(&joiner);

	(*fed)++;
	while (!*sorted)
		sched_yield();
	ok = ok && fetch_around(&joiner, rows, &random, &fetched->why);
	fetched->code = ok ? GPUSORTD_OK : joiner.code;
	gpusortd_close(&joiner); /* without an END, some windows on their way */
}

/* The leader sorts, learns the order, and fetches beside its joiners, or ends the job under their hands. */
static void
check_fetching(Ending ending, Random *random)
{
	Daemon daemon;
	JobRows rows({16, GPUSORTD_AUTO, 40000, 60, 0, 16}, random);
	GpusortdClient leader;
	std::vector<Fetched> fetched(JOINERS);
	std::vector<std::thread> threads;
	std::atomic<int> fed(0);
	std::atomic<bool> sorted(false);
	std::string why;
	bool ok = begin_job(&leader, daemon, rows);
	bool joiners_right = true;

	for (int i = 0; i < JOINERS && ok; i++)
		threads.emplace_back(help_and_fetch, std::cref(daemon), leader.job, std::cref(rows), i, &fed, &sorted,
							 &fetched[i]);
	while (ok && fed < JOINERS)
		sched_yield();
	ok = ok && gpusortd_perform(&leader) && fetch_all(&leader, &rows, &why);
	sorted = true;
	if (ok && ending == Ending::perform)
		ok = fetch_around(&leader, rows, random, &why);
	else if (ending == Ending::end)
		ok = ok && gpusortd_end(&leader);
	else if (ending == Ending::close)
		gpusortd_close(&leader);
	for (std::thread &thread : threads)
		thread.join();
	for (const Fetched &one : fetched)
	{
		bool right = one.code == GPUSORTD_OK || (ending != Ending::perform && one.code == GPUSORTD_JOB_OVER);

		if (!right)
			note("a joiner: code %d, %s", (int) one.code, one.why.c_str());
		joiners_right = joiners_right && right;
	}
	check(ok, "a leader that %s while its joiners fetch: %s %s", ending_names[(int) ending], leader.message,
		  why.c_str());
	check(joiners_right, "they fetch the same rows, or are told that the job is over");
	gpusortd_close(&leader);
	check(daemon.settles() && nothing_is_promised(daemon), "all is given back");
}

/* Before the job is sorted there is nothing to fetch, which ends the joiner's part in it, and not the job. */
static void
check_early_fetch(Random *random)
{
	Daemon daemon;
	JobRows rows({8, GPUSORTD_AUTO, 5000, 60, 0, 8}, random);
	GpusortdClient leader;
	GpusortdClient joiner;
	GpusortdRows window;
	std::string why;
	bool ok = begin_job(&leader, daemon, rows) && join_job(&joiner, daemon, leader.job);

	ok = ok && !gpusortd_fetch(&joiner, false, 0, &window) && joiner.code == GPUSORTD_JOB_OVER &&
		 gpusortd_end(&joiner);
	check(ok, "a joiner can't fetch before the job is sorted: %s", joiner.message);
	check(ok && feed(&leader, rows, 0, rows.job.rows, random) && gpusortd_perform(&leader) &&
			  fetch_all(&leader, &rows, &why),
		  "the job goes on without it %s", why.c_str());
	gpusortd_close(&joiner);
	gpusortd_close(&leader);
}

/* ---- a chunk that spoils the job ---- */

/* Submits a chunk whose only entry has its row elsewhere.  False: it could not. */
static bool
submit_malformed(GpusortdClient *joiner)
{
	int chunk = gpusortd_take_chunk(joiner);
	uint64_t end = joiner->job.chunk_bytes;
	uint64_t entry[2] = {0, 8};
	uint64_t row[2] = {16, 0};

	if (chunk < 0)
		return false;
	memcpy(gpusortd_chunk(joiner, chunk), entry, sizeof(entry));
	memcpy(gpusortd_chunk(joiner, chunk) + end - sizeof(row), row, sizeof(row));
	return gpusortd_submit_chunk(joiner, chunk, 1, sizeof(entry), end - sizeof(row));
}

/*
 * A joiner spoils the job as its leader sorts: either the joiner is told that it is too late, or the leader
 * that its job has failed.
 */
static bool
race_to_spoil(const Daemon &daemon, const JobRows &rows, Random *random, int *late)
{
	GpusortdClient leader;
	GpusortdClient joiner;
	GpusortdBegin begin = rows.begin();
	bool ok = gpusortd_connect(&leader, daemon.socket_path.c_str(), wait_patiently, nullptr) &&
			  gpusortd_begin(&leader, &begin) && join_job(&joiner, daemon, leader.job) &&
			  feed(&leader, rows, 0, rows.job.rows, random) && gpusortd_flush(&leader) &&
			  submit_malformed(&joiner);
	bool sorted;

	std::this_thread::sleep_for(std::chrono::microseconds(random_below(random, 1000)));
	sorted = ok && gpusortd_perform(&leader);
	ok = ok && !gpusortd_flush(&joiner) &&
		 (sorted ? joiner.code == GPUSORTD_JOB_OVER
				 : joiner.code == GPUSORTD_BAD_CHUNK && leader.code == GPUSORTD_BAD_CHUNK);
	if (!ok)
		note("the leader was told %d, its joiner %d", sorted ? GPUSORTD_OK : (int) leader.code,
			 (int) joiner.code);
	*late += sorted;
	gpusortd_close(&leader);
	gpusortd_close(&joiner);
	return ok;
}

/*
 * gpusortd on one processor, where its threads change places at any moment, and slow enough that the leader
 * asks while the joiner's chunk is being taken.
 */
static std::unique_ptr<Daemon>
start_on_one_processor()
{
	std::vector<std::string> slow = {"--fault", "slow:1"};
	std::unique_ptr<Daemon> daemon;
	cpu_set_t all;
	cpu_set_t one;
	int first = 0;

	(void) sched_getaffinity(0, sizeof(all), &all);
	while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	(void) sched_setaffinity(0, sizeof(one), &one);
	daemon = std::make_unique<Daemon>(options.cuda ? std::vector<std::string>() : slow);
	(void) sched_setaffinity(0, sizeof(all), &all);
	return daemon;
}

static void
check_spoiled(Random *random)
{
	std::unique_ptr<Daemon> daemon = start_on_one_processor();
	JobRows rows({8, GPUSORTD_AUTO, 10, 60, 0, 8}, random);
	int late = 0;
	int races = 0;

	while (races < SPOILED_RACES && race_to_spoil(*daemon, rows, random, &late))
		races++;
	check(races == SPOILED_RACES, "of %d jobs that a joiner spoils none is sorted, %d were before", races,
		  late);
	check(daemon->settles() && nothing_is_promised(*daemon), "all is given back");
}

/* ---- who reads no answers ---- */

/*
 * It asks for answers until gpusortd can't send them any more.  Others sort, and gpusortd ends as it was
 * asked to.
 */
static void
check_deaf(Random *random)
{
	Daemon daemon;
	JobRows rows({8, GPUSORTD_AUTO, 10, 60, 0, 8}, random);
	GpusortdClient client;
	bool ok = begin_job(&client, daemon, rows);
	std::string empty = raw_message(GPUSORTD_SUBMIT, GpusortdSubmit{0, 0, 0, 0, client.job.chunk_bytes});
	struct pollfd poll_fd = {client.fd, POLLOUT, 0};
	uint64_t sent = 0;

	while (ok && poll(&poll_fd, 1, 200) > 0 && (poll_fd.revents & POLLOUT) != 0 && sent < 1000000)
	{
		raw_send(client.fd, empty);
		sent++;
	}
	check(ok && sent < 1000000, "a client asks %llu times and reads no answer", (unsigned long long) sent);
	check(still_sorts(daemon, random), "others sort");
	check(daemon.end() == 0, "and gpusortd ends on SIGTERM");
	gpusortd_close(&client);
}

void
check_joiners(Random *random)
{
	for (Ending ending : {Ending::perform, Ending::end, Ending::close})
	{
		check_stopped_joiner(ending, random);
		check_races(ending, random);
		check_fetching(ending, random);
	}
	check_early_fetch(random);
	check_coming_and_going(random);
	check_spoiled(random);
	check_deaf(random);
}
