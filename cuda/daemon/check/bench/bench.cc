/*
 * bench.cc
 *		The cases of daemoncheck bench, and its table.
 *
 * Large jobs show how fast rows go in and out; small ones what a sort costs at least, in the first connection
 * after the start, in the second, and at the median of many.  Every result of a large job is checked.
 */
#include <algorithm>
#include <atomic>
#include <cstdio>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/check/bench/bench.h"

#define SMALL_JOBS 50
#define PARALLEL_SECONDS 1

static const BenchCase large_cases[] = {
	{8, 56, 50000000, 1, 1},  {8, 56, 50000000, 4, 1}, {8, 56, 50000000, 8, 1},	 {8, 56, 50000000, 16, 1},
	{16, 56, 20000000, 8, 1}, {0, 56, 20000000, 8, 1}, {8, 200, 10000000, 8, 1}, {8, 1000, 2000000, 8, 1},
	{8, 56, 10000000, 4, 4},  {8, 56, 5000000, 1, 8},
};

/*
 * A line of the table.  GB/s are of all jobs together; a chunk's or window's microseconds are of elapsed
 * time.
 */
static void
print_large(const BenchCase &one, const BenchTimes &times)
{
	double in = (double) times.bytes_in * one.jobs;
	double out = (double) times.bytes_out * one.jobs;
	double chunks = (double) times.bytes_in / (UINT64_C(4) << 20);

	printf(
		"%4d %7d %9llu %4u %5u | %7.3f %7.3f %6.1f %6.0f %7.3f | %7.2f %7.2f %7.2f | %7.3f %6.1f %6.0f | %6llu\n",
		one.jobs, one.feeders, (unsigned long long) one.rows, one.key_bytes, one.row_bytes, times.feed,
		times.fill, in / times.feed / 1e9, times.feed / chunks * 1e6, times.sorted.feed_us / 1e6,
		times.perform * 1e3, times.sorted.sort_us / 1e3, times.sorted.plan_us / 1e3, times.fetch,
		out / times.fetch / 1e9, times.fetch / std::max<double>(times.windows, 1) * 1e6,
		(unsigned long long) times.sorted.device_bytes >> 20);
	fflush(stdout);
}

static bool
bench_large(const std::string &socket_path, uint64_t fewer)
{
	bool ok = true;

	printf(
		"   in  feeders     rows  key   row | feed: s  fill s   GB/s us/chk  daemon | perform    sort    plan | fetch s   GB/s us/win "
		"| device\n jobs                      bytes bytes |                                     s |      ms      ms      ms |"
		"                       |     MB\n");
	for (BenchCase one : large_cases)
	{
		BenchTimes times;

		one.rows /= fewer;
		if (bench_run(socket_path, one, true, &times))
			print_large(one, times);
		else
			ok = check(false, "%llu rows, %d feeders, %d jobs", (unsigned long long) one.rows, one.feeders,
					   one.jobs);
	}
	return ok;
}

static void
print_small(const char *which, const BenchCase &one, const BenchTimes &times)
{
	printf(
		"%8llu rows, key %2u, %-12s begin %7.3f  feed %7.3f  perform %7.3f (sort %.3f, plan %.3f)  fetch %7.3f  end %7.3f ms, "
		"all %7.3f ms\n",
		(unsigned long long) one.rows, one.key_bytes, which, times.begin * 1e3, times.feed * 1e3,
		times.perform * 1e3, times.sorted.sort_us / 1e3, times.sorted.plan_us / 1e3, times.fetch * 1e3,
		times.end * 1e3, (times.begin + times.feed + times.perform + times.fetch + times.end) * 1e3);
	fflush(stdout);
}

/* Of many jobs, the one in the middle by all of its time. */
static bool
bench_median(const std::string &socket_path, const BenchCase &one, BenchTimes *middle)
{
	std::vector<BenchTimes> all(options.cuda ? SMALL_JOBS : SMALL_JOBS / 10);
	auto total = [](const BenchTimes &times) {
		return times.begin + times.feed + times.perform + times.fetch + times.end;
	};

	for (BenchTimes &times : all)
	{
		if (!bench_run(socket_path, one, false, &times))
			return false;
	}
	std::sort(all.begin(), all.end(),
			  [total](const BenchTimes &a, const BenchTimes &b) { return total(a) < total(b); });
	*middle = all[all.size() / 2];
	return true;
}

/* Small jobs, one after the other, each in a connection of its own. */
static bool
bench_small(const std::string &socket_path)
{
	BenchTimes times;
	bool ok = true;

	for (const char *which : {"first", "second", "third"})
	{
		BenchCase one = {8, 56, 50000, 1, 1};

		ok = ok && bench_run(socket_path, one, false, &times);
		print_small(which, one, times);
	}
	for (uint32_t key_bytes : {8, 16, 0})
	{
		for (uint64_t rows : {100, 10000, 50000, 1000000})
		{
			BenchCase one = {key_bytes, 56, rows / (options.cuda ? 1 : 10), 1, 1};

			ok = ok && bench_median(socket_path, one, &times);
			print_small("median", one, times);
		}
	}
	return check(ok, "small jobs");
}

/* Small jobs a second, of several processes. */
static void
bench_small_at_once(const std::string &socket_path, int processes)
{
	auto *jobs = (std::atomic<uint64_t> *) mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
												MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double start = bench_now();
	std::vector<pid_t> pids;
	int status;

	for (int i = 0; i < processes; i++)
	{
		pid_t pid = fork();

		for (BenchTimes times; pid == 0; ++*jobs)
		{
			if (bench_now() > start + PARALLEL_SECONDS ||
				!bench_run(socket_path, {8, 56, 50000, 1, 1}, false, &times))
				_exit(0);
		}
		pids.push_back(pid);
	}
	for (pid_t pid : pids)
		waitpid(pid, &status, 0);
	printf("%2d processes: %.0f jobs of 50000 rows a second\n", processes,
		   (double) *jobs / (bench_now() - start));
	munmap(jobs, 4096);
}

int
bench_main(uint64_t fewer)
{
	Daemon daemon({"--chunk-size", "4M", "--chunks", "8", "--staging-memory", "1G"});
	double start = bench_now();
	bool ok;

	ok = bench_small(daemon.socket_path);
	for (int processes : {1, 4, 16})
		bench_small_at_once(daemon.socket_path, processes);
	ok &= bench_large(daemon.socket_path, fewer);
	printf("in all %.1f s\n", bench_now() - start);
	start = bench_now();
	ok &= check(daemon.end() == 0, "gpusortd ends");
	printf("which took %.3f s\n", bench_now() - start);
	return ok ? 0 : 1;
}
