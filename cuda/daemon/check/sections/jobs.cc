/*
 * jobs.cc
 *		Jobs whose result is known: edges, random ones, several at once, several connections feeding one.
 */
#include <chrono>
#include <thread>

#include "daemon/check/harness/check.h"

/* ---- one at a time ---- */

static void
check_one(const std::string &socket_path, const JobCase &job, Random *random)
{
	JobRows rows(job, random);
	GpusortdClient client;
	std::string why;

	check(run_job(&client, socket_path, &rows, random, &why) && gpusortd_end(&client), "%s %s",
		  describe(job).c_str(), why.c_str());
	gpusortd_close(&client);
}

static void
check_edges(const std::string &socket_path, Random *random)
{
	static const uint64_t sizes[] = {0, 1, 2, 3, 31, 32, 33, 5000};

	for (uint32_t key_bytes = 0; key_bytes <= 32; key_bytes += 8)
	{
		for (uint64_t n : sizes)
			check_one(socket_path, {key_bytes, GPUSORTD_AUTO, n, 100, 40, 8}, random);
		check_one(socket_path, {key_bytes, GPUSORTD_AUTO, 30000, 16, 20, 3}, random);
		check_one(socket_path, {key_bytes, GPUSORTD_AUTO, 20000, 40, 20, 0}, random);
		check_one(socket_path, {key_bytes, GPUSORTD_AUTO, 3000, 2000, 1000, 20}, random);
		check_one(socket_path, {key_bytes, GPUSORTD_AUTO, 60000, 16, 24, 32}, random);
	}
}

static void
check_random(const std::string &socket_path, Random *random)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
	int jobs = 0;
	std::string why;
	bool right = true;

	while (right && std::chrono::steady_clock::now() < end)
	{
		JobRows rows(random_case(random), random);
		GpusortdClient client;

		right = run_job(&client, socket_path, &rows, random, &why);
		if (!right)
			note("%s: %s", describe(rows.job).c_str(), why.c_str());
		gpusortd_close(&client);
		jobs++;
	}
	check(right, "%d random jobs", jobs);
}

/* Many jobs, one after the other, on one connection. */
static void
check_reuse(const std::string &socket_path, Random *random)
{
	GpusortdClient client;
	bool right = gpusortd_connect(&client, socket_path.c_str(), nullptr, nullptr);
	std::string why = client.message;

	for (int i = 0; i < 20 && right; i++)
	{
		JobRows rows(random_case(random), random);
		GpusortdBegin begin = rows.begin();

		right = gpusortd_begin(&client, &begin) && feed(&client, rows, 0, rows.job.rows, random) &&
				gpusortd_perform(&client) && fetch_all(&client, &rows, &why) && gpusortd_end(&client);
	}
	check(right, "20 jobs on one connection %s", why.c_str());
	gpusortd_close(&client);
}

/* ---- at once ---- */

static void
check_at_once(const std::string &socket_path, Random *random)
{
	std::vector<std::thread> threads;
	std::vector<std::string> why(8);
	std::vector<int> right(8, 0);

	for (int i = 0; i < 8; i++)
		threads.emplace_back([&, i, seed = (*random)()] {
			Random mine(seed);

			for (int job = 0; job < 10; job++)
			{
				JobRows rows(random_case(&mine), &mine);
				GpusortdClient client;

				right[i] += run_job(&client, socket_path, &rows, &mine, &why[i]);
				gpusortd_close(&client);
			}
		});
	for (int i = 0; i < 8; i++)
	{
		threads[i].join();
		check(right[i] == 10, "client %d of 8 at once %s", i, why[i].c_str());
	}
}

/* Several connections feed one job, as parallel workers do. */
static void
check_join(const std::string &socket_path, uint32_t key_bytes, Random *random)
{
	JobRows rows({key_bytes, GPUSORTD_AUTO, 40000, 80, 30, 6}, random);
	GpusortdBegin begin = rows.begin();
	GpusortdClient leader;
	std::vector<std::thread> threads;
	std::vector<int> right(4, 0);
	std::string why;
	bool ok =
		gpusortd_connect(&leader, socket_path.c_str(), nullptr, nullptr) && gpusortd_begin(&leader, &begin);

	for (int i = 0; i < 4 && ok; i++)
		threads.emplace_back([&, i, seed = (*random)()] {
			Random mine(seed);
			GpusortdClient joiner;

			right[i] = gpusortd_connect(&joiner, socket_path.c_str(), nullptr, nullptr) &&
					   gpusortd_join(&joiner, leader.job.job, leader.job.token) &&
					   feed(&joiner, rows, i * 8000, (i + 1) * 8000, &mine) && gpusortd_flush(&joiner) &&
					   gpusortd_end(&joiner);
			gpusortd_close(&joiner);
		});
	ok = ok && feed(&leader, rows, 32000, 40000, random);
	for (std::thread &thread : threads)
		thread.join();
	ok = ok && right[0] && right[1] && right[2] && right[3] && gpusortd_perform(&leader) &&
		 fetch_all(&leader, &rows, &why);
	check(ok, "four joiners and a leader feed one job, keys of %u bytes: %s %s", key_bytes, leader.message,
		  why.c_str());
	gpusortd_close(&leader);
}

/* Who knows the job but not its token, comes too late, or outlives it, is told so. */
static void
check_join_refused(const std::string &socket_path, Random *random)
{
	JobRows rows({8, GPUSORTD_AUTO, 100, 40, 0, 8}, random);
	GpusortdBegin begin = rows.begin();
	GpusortdClient leader;
	GpusortdClient joiner;
	uint64_t row = 0;
	bool ok;

	ok = gpusortd_connect(&leader, socket_path.c_str(), nullptr, nullptr) &&
		 gpusortd_begin(&leader, &begin) && gpusortd_connect(&joiner, socket_path.c_str(), nullptr, nullptr);
	check(ok && !gpusortd_join(&joiner, leader.job.job, leader.job.token + 1) &&
			  joiner.code == GPUSORTD_JOB_OVER,
		  "a wrong token joins nothing");
	check(gpusortd_end(&joiner) && gpusortd_join(&joiner, leader.job.job, leader.job.token) &&
			  gpusortd_perform(&leader),
		  "a joiner joins, the leader sorts");
	check(feed_chunk(&joiner, rows, &row, 100, 100) && !gpusortd_flush(&joiner) &&
			  joiner.code == GPUSORTD_JOB_OVER,
		  "a sorted job takes no more chunks");
	ok = gpusortd_end(&joiner) && gpusortd_join(&joiner, leader.job.job, leader.job.token) &&
		 gpusortd_end(&leader);
	row = 0;
	check(ok && feed_chunk(&joiner, rows, &row, 100, 100) && !gpusortd_flush(&joiner) &&
			  joiner.code == GPUSORTD_JOB_OVER,
		  "an ended job takes no more chunks");
	check(gpusortd_end(&joiner) && !gpusortd_join(&joiner, 1, 0), "an ended job can't be joined");
	gpusortd_close(&joiner);
	gpusortd_close(&leader);
}

void
check_jobs(Random *random)
{
	Daemon daemon;

	check_edges(daemon.socket_path, random);
	check_random(daemon.socket_path, random);
	check_reuse(daemon.socket_path, random);
	check_at_once(daemon.socket_path, random);
	for (uint32_t key_bytes = 0; key_bytes <= 32; key_bytes += 16)
		check_join(daemon.socket_path, key_bytes, random);
	check_join_refused(daemon.socket_path, random);
	check(daemon.settles(), "all clients' files and threads are given back");
	check(daemon.end() == 0, "gpusortd ends on SIGTERM");
}
