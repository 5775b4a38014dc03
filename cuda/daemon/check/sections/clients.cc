/*
 * clients.cc
 *		Clients that go away: at every step, with and without a word, one and many.
 */
#include <chrono>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/check/harness/check.h"

#define STEPS 9

/* The first `steps` steps of a job, the last of which may be left in the middle. */
static void
go_some_steps(const std::string &socket_path, const JobRows &rows, int steps, bool wait_for_it,
			  GpusortdClient *client)
{
	GpusortdBegin begin = rows.begin();
	GpusortdRows window;
	uint64_t row = 0;
	Random random(1);
	bool ok = gpusortd_connect(client, socket_path.c_str(), nullptr, nullptr);

	if (steps > 1)
		ok = ok && gpusortd_begin(client, &begin);
	if (steps > 2)
		ok = ok && gpusortd_take_chunk(client) >= 0;
	if (steps > 3)
		ok = ok && feed_chunk(client, rows, &row, rows.job.rows, UINT64_MAX);
	if (steps > 4)
		ok = ok && feed(client, rows, row, rows.job.rows, &random);
	if (steps == 6 && !wait_for_it)
	{
		/* PERFORM without waiting for SORTED. */
		GpusortdHeader header = {GPUSORTD_MAGIC, GPUSORTD_VERSION, GPUSORTD_PERFORM, sizeof(GpusortdPerform),
								 0};
		GpusortdPerform perform = {0};

		(void) !write(client->fd, &header, sizeof(header));
		(void) !write(client->fd, &perform, sizeof(perform));
		return;
	}
	if (steps > 5)
		ok = ok && gpusortd_perform(client);
	if (steps > 6)
		ok = ok && gpusortd_fetch(client, false, GPUSORTD_NEXT, &window);
	if (steps > 7)
		ok = ok && gpusortd_fetch(client, true, rows.job.rows, &window);
	if (steps > 8)
		ok = ok && gpusortd_end(client);
	if (!ok)
		note("step %d: %s", steps, client->message);
}

static void
check_closing(Daemon *daemon, const JobRows &rows, Random *random)
{
	for (int steps = 1; steps <= STEPS; steps++)
	{
		for (int wait_for_it = 0; wait_for_it < 2; wait_for_it++)
		{
			GpusortdClient client;

			go_some_steps(daemon->socket_path, rows, steps, wait_for_it, &client);
			gpusortd_close(&client);
		}
		check(daemon->settles() && still_sorts(*daemon, random),
			  "a client closes its connection after step %d", steps);
	}
}

static void
check_killing(Daemon *daemon, const JobRows &rows, Random *random)
{
	for (int steps = 1; steps <= STEPS; steps++)
	{
		pid_t pids[6];
		int status;

		for (pid_t &pid : pids)
		{
			pid = fork();
			if (pid == 0)
			{
				GpusortdClient client;

				go_some_steps(daemon->socket_path, rows, steps, false, &client);
				kill(getpid(), SIGKILL);
			}
		}
		for (pid_t pid : pids)
			waitpid(pid, &status, 0);
		check(daemon->settles() && still_sorts(*daemon, random), "6 clients are killed after step %d", steps);
	}
}

/* Killed at any moment, as by an immediate shutdown. */
static void
check_killing_anywhere(Daemon *daemon, Random *random)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
	int killed = 0;

	while (std::chrono::steady_clock::now() < end)
	{
		pid_t pids[4];
		int status;

		for (pid_t &pid : pids)
		{
			uint64_t seed = (*random)();

			pid = fork();
			for (Random mine(seed); pid == 0;)
				(void) still_sorts(*daemon, &mine);
		}
		std::this_thread::sleep_for(std::chrono::microseconds(random_below(random, 60000)));
		for (pid_t pid : pids)
		{
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			killed++;
		}
	}
	check(daemon->settles() && still_sorts(*daemon, random), "%d clients are killed anywhere", killed);
}

/* Clients that are stopped after each step, all at the same time, hold up nobody else. */
static void
check_stopped(Daemon *daemon, const JobRows &rows, Random *random)
{
	pid_t pids[STEPS];
	int status;
	bool stopped = true;

	for (int steps = 1; steps <= STEPS; steps++)
	{
		pids[steps - 1] = fork();
		if (pids[steps - 1] == 0)
		{
			GpusortdClient client;

			go_some_steps(daemon->socket_path, rows, steps, steps % 2 == 0, &client);
			kill(getpid(), SIGSTOP);
			_exit(0);
		}
		stopped &= waitpid(pids[steps - 1], &status, WUNTRACED) > 0 && WIFSTOPPED(status);
	}
	check(stopped && still_sorts(*daemon, random), "clients stopped after each step hold up nobody");
	for (pid_t pid : pids)
	{
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	check(daemon->settles(), "and when they are killed all is given back");
}

/* What gpusortd holds doesn't grow with the number of jobs. */
static void
check_growth(Daemon *daemon, Random *random)
{
	JobRows rows({8, 0, 3000, 60, 0, 8}, random);
	long before = 0;
	long grown;
	std::string why;
	bool right = true;

	for (int i = 0; i < 400 && right; i++)
	{
		GpusortdClient client;

		right = run_job(&client, daemon->socket_path, &rows, random, &why);
		gpusortd_close(&client);
		if (i == 99)
			before = daemon->holdings().resident_kb;
	}
	grown = daemon->holdings().resident_kb - before;
	check(right && grown < (options.cuda ? 65536 : 8192) && daemon->settles(),
		  "300 more jobs make it grow by %ld kB %s", grown, why.c_str());
}

void
check_clients(Random *random)
{
	Daemon daemon;
	JobRows rows({0, 0, 20000, 60, 20, 8}, random);

	check_closing(&daemon, rows, random);
	check_killing(&daemon, rows, random);
	check_killing_anywhere(&daemon, random);
	check_stopped(&daemon, rows, random);
	check_growth(&daemon, random);
	check(nothing_is_promised(daemon), "nothing is promised any more");
}
