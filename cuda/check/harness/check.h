/*
 * check.h
 *		What the parts of gpucheck share: options, the report, and saying why something failed.
 *
 * gpucheck consists of sections (main.cu has their table), a section of groups of cases.  A group is one line
 * of the report; its cases are counted, and those that fail are told with all that is needed to run them
 * again.
 */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include <cuda_runtime_api.h>

#include "check/data/distributions.h"
#include "devsort.h"

/* Why a case failed. */
typedef struct Why
{
	char text[512];
} Why;

typedef struct CheckOptions
{
	bool host_only;
	bool quick;
	bool list;
	int algorithm;	  /* -1: all */
	int width;		  /* 0: all */
	int distribution; /* -1: all */
	bool has_n;
	uint64_t n; /* this size only, if has_n */
	uint64_t seed;
	double seconds; /* for random cases of fixed keys */
	int nonly;
	char **only; /* names of sections; none: all */
} CheckOptions;

#define CHECK_TOLD_FAILURES 5

typedef struct Check
{
	CheckOptions options;
	uint64_t random_state;
	int groups;
	int passed;
	int failed;
	int skipped;
	bool device_lost; /* the context is broken: no more cases */
	char group[160];
	uint64_t group_cases;
	uint64_t group_failures;
	char told[CHECK_TOLD_FAILURES][1024];
} Check;

/* Sets why's text; returns false, so that a check can return it. */
bool why_say(Why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True if the call succeeded, else says why. */
bool why_cuda(Why *why, cudaError_t error, const char *doing);
bool why_status(Why *why, DevSortStatus status, const char *doing);

/* True if the status is a failure with that code (-1: any) and a message, else says why. */
bool why_failure(Why *why, DevSortStatus status, int code, const char *doing);

/*
 * Begins a group.  False if it is only to be listed, or can't run any more: then there must be no cases and
 * no end.
 */
bool check_group_begin(Check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Counts a case; `format` tells which one, if it failed. */
void check_case(Check *check, bool passed, const Why *why, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Prints the group's line.  A group without a case counts as skipped. */
void check_group_end(Check *check);
/* A group that can't run here. */
void check_group_skip(Check *check, const char *name, const char *reason);

/* The next number that follows from the seed; below `limit`. */
uint64_t check_random(Check *check);
uint64_t check_random_below(Check *check, uint64_t limit);

double check_now(void);

const char *algorithm_name(int algorithm);
/* -1 if there is none of that name. */
int algorithm_by_name(const char *name);

/* What the options leave of all algorithms, widths, distributions. */
bool check_wants(const Check *check, int algorithm, int width, int distribution);

/* Free device memory once all work is done; 0 if CUDA fails. */
size_t device_free_bytes(void);
/*
 * Waits a little for free memory to come back to `before`, which others may disturb; says why if it does not.
 */
bool device_memory_is_back(size_t before, Why *why);

/* The sections; each in a file of its name in sections/. */
void check_oracle(Check *check);
void check_arguments(Check *check);
void check_string_keys(Check *check);
void check_fixed(Check *check);
void check_strings(Check *check);
void check_bucket_bound(Check *check);
void check_rare(Check *check);
void check_rows(Check *check);
void check_buffer(Check *check);
void check_faults(Check *check);
void check_streams(Check *check);

#endif /* CHECK_CHECK_H */
