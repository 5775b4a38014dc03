/*
 * bench.h
 *		daemoncheck bench: how fast rows go through gpusortd.
 *
 * bench.cc has the cases and prints the table; job.cc runs one job with several processes.
 */
#ifndef DAEMON_BENCH_H
#define DAEMON_BENCH_H

#include "daemon/check/harness/check.h"

struct BenchCase
{
	uint32_t key_bytes; /* fixed; 0: variable, and then 16 bytes long */
	uint32_t row_bytes; /* a multiple of 8, from 24 */
	uint64_t rows;
	int feeders; /* processes, including the one that sorts and fetches */
	int jobs;	 /* number of simultaneous jobs */
};

/* Seconds of one job, as its client sees them. */
struct BenchTimes
{
	double begin; /* connecting, and BEGIN */
	double feed;
	double fill; /* of which the first process needed to fill chunks */
	double perform;
	double fetch;
	double end;			/* END, and closing */
	uint64_t bytes_in;	/* of chunks */
	uint64_t bytes_out; /* of rows */
	uint64_t chunks;
	uint64_t windows;
	GpusortdSorted sorted;
};

/* The clock's seconds. */
double bench_now();

/*
 * Runs the jobs of a case, each in processes of its own, and leaves the slowest one's times.  The result is
 * fetched once for the time, and, if wanted, once more to check that it is complete and in order.  False,
 * with a line that says why: it failed.
 */
bool bench_run(const std::string &socket_path, const BenchCase &wanted, bool check_result, BenchTimes *times);

/* Runs all cases, with the number of rows divided by `fewer`.  Returns an exit status. */
int bench_main(uint64_t fewer);

#endif /* DAEMON_BENCH_H */
