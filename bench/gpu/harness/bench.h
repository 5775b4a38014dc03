/*
 * bench.h
 *		What the suites of gpubench share: the device, one pool of its memory, timing, results.
 *
 * A suite is a function over a Bench.  It reserves the pool once, lays its cases out in it, and writes rows
 * to a Report.  A failure ends the series in which it happened: it is said on stderr and counted, and the
 * rest goes on.
 */
#ifndef GPUBENCH_H
#define GPUBENCH_H

#include <cstdio>

#include <cuda_runtime_api.h>

#include "base/status.h"
#include "devsort.h"

#define BENCH_MAX_REPEATS 128

typedef struct Options
{
	const char *out;  /* directory of the results; NULL: named after card and date */
	const char *data; /* directory of real string data sets, or NULL */
	const char *commit;
	int max_log_n;
	int repeat;
	bool quick;
	uint64_t seed;
	int device;
} Options;

typedef struct Bench
{
	Options options;
	DevSortDevice device;
	cudaStream_t stream;
	cudaEvent_t begin;
	cudaEvent_t end;
	char date[16]; /* of today, UTC */
	char out[512];
	char *pool;
	size_t pool_bytes;
	void *flush; /* written to empty the L2 cache */
	int failures;
	uint64_t seeds; /* given out so far */
} Bench;

/* Opens the device and the directory of the results. */
DevSortStatus bench_open(Bench *bench, const Options *options);

void bench_close(Bench *bench);

/* Makes the pool at least so large; what was in it is lost. */
DevSortStatus bench_reserve(Bench *bench, size_t bytes);

/* How large the pool could be. */
size_t bench_available(const Bench *bench);

/* A seed that no other case of this run has. */
uint64_t bench_seed(Bench *bench);

/* How often to time a sort of n rows: as often as was asked for, more often where it is short. */
int bench_repeats(const Bench *bench, uint64_t n);

/* Says what failed, and counts it.  Ends the program if the device cannot be used any more. */
void bench_fail(Bench *bench, const DevSortStatus *status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Queues writes that leave nothing of the caller's data in the L2 cache, if `bytes` of it could be there. */
DevSortStatus bench_flush(Bench *bench, size_t bytes);

/* ---- timing ---- */

typedef struct Times
{
	int count;
	float ms[BENCH_MAX_REPEATS];
} Times;

/* Queues work that is to be timed. */
typedef DevSortStatus (*BenchWork)(void *arg, cudaStream_t stream);

/* Does the work between two events, waits, and adds how long it took. */
DevSortStatus bench_time(Bench *bench, BenchWork work, void *arg, Times *times);

double times_median(const Times *times);
double times_min(const Times *times);

/* Times copies within the pool, which are overwritten; *bytes is what one of them reads and writes. */
DevSortStatus bench_time_copy(Bench *bench, Times *times, double *bytes);

/* ---- stages ---- */

#define STAGES_MAX_EVENTS 1024
#define STAGES_MAX_NAMES 32

/* Hears of the library's stages; times of stages of the same name are added up. */
typedef struct StageTimes
{
	DevSortStages stages; /* for the job */
	int nevents;
	cudaEvent_t events[STAGES_MAX_EVENTS];
	const char *event_stages[STAGES_MAX_EVENTS];
	int nnames;
	const char *names[STAGES_MAX_NAMES];
	double ms[STAGES_MAX_NAMES];
} StageTimes;

/* Too large for the stack; freed by stage_times_destroy. */
DevSortStatus stage_times_create(StageTimes **times);
void stage_times_destroy(StageTimes *times);

/* Before a job: forgets the last one. */
void stage_times_reset(StageTimes *times);

/* After a job whose work is done: fills names and ms, in order of first appearance. */
DevSortStatus stage_times_collect(StageTimes *times);

/* ---- results ---- */

/* A CSV file, and lines on stdout for who waits. */
typedef struct Report
{
	const Bench *bench;
	const char *suite;
	FILE *file;
} Report;

typedef struct ReportRow
{
	const char *algorithm;
	const char *distribution;
	int key_bytes;
	int value_bytes;
	uint64_t n;
	double median_ms;
	double min_ms;
	/* that the work must read and write; 0: keys and values once each way; negative: nobody can say */
	double bytes;
	int repeats;
} ReportRow;

/* Creates NAME.csv; `columns` are those that follow the common ones, with commas between, or "". */
DevSortStatus report_open(Report *report, const Bench *bench, const char *suite, const char *name,
						  const char *columns);

/* Writes a row; the format gives the values of the further columns. */
void report_write(Report *report, const ReportRow *row, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void report_close(Report *report);

/* ---- suites ---- */

void suite_rates(Bench *bench);
void suite_bucket(Bench *bench);
void suite_wide(Bench *bench);
void suite_strings(Bench *bench);
void suite_gather(Bench *bench);
void suite_headline(Bench *bench);
void suite_stages(Bench *bench);
void suite_variance(Bench *bench);
void suite_strings_host(Bench *bench);

/* The whole of the gather suite, for another suite and file. */
void gather_measure(Bench *bench, const char *suite, const char *file);

#endif /* GPUBENCH_H */
