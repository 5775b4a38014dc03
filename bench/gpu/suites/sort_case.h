/*
 * sort_case.h
 *		One comparison: some contenders, one input, all in the pool.
 *
 * Contenders overwrite their input, so that it is copied back from a pristine one before each run, untimed.
 * Every contender's result is checked before it is timed.
 */
#ifndef GPUBENCH_SORT_CASE_H
#define GPUBENCH_SORT_CASE_H

#include "check/data/distributions.h"
#include "gpu/contenders/contenders.h"
#include "gpu/harness/bench.h"

#define CASE_MAX_CONTENDERS 8

/* Keys of each number of words that sorts tell apart, each with a value; the widest comes last. */
#define NVALUED_TYPES 4
extern const KeyType valued_types[NVALUED_TYPES];

typedef struct SortCase
{
	const KeyType *type;
	int ncontenders;
	const Contender *contenders[CASE_MAX_CONTENDERS];
	bool stopped[CASE_MAX_CONTENDERS]; /* failed before, left out */
	Times times[CASE_MAX_CONTENDERS];
	SortArrays arrays;
	void *pristine_keys;	   /* or the keys themselves, for a single run */
	uint32_t *pristine_values; /* row numbers */
	uint64_t checksum;		   /* of the keys */
} SortCase;

/* Bytes of the pool for n rows. */
size_t sort_case_bytes(const SortCase *sort_case, uint64_t n);

/* Reserves the pool for as many rows as there is memory for, at most 2^*log_n; lowers *log_n to that. */
DevSortStatus sort_case_reserve(Bench *bench, const SortCase *sort_case, int *log_n);

/* Lays the case out in the pool and makes its input. */
DevSortStatus sort_case_prepare(Bench *bench, SortCase *sort_case, Distribution distribution, uint64_t n);

/* Runs one contender on a fresh copy of the input, timed. */
DevSortStatus sort_case_run(Bench *bench, SortCase *sort_case, const Contender *contender, Times *times);

/* Is the result of the last run the sorted input? */
DevSortStatus sort_case_verify(Bench *bench, SortCase *sort_case);

/*
 * Prepares, runs and checks each contender, and then times them in turn.  A contender that fails is said on
 * stderr, and stopped.
 */
void sort_case_measure(Bench *bench, SortCase *sort_case, Distribution distribution, uint64_t n);

/* The common columns of a row: a contender's times for the case's keys, sorted by it. */
ReportRow sort_case_row(const SortCase *sort_case, const Contender *contender, Distribution distribution,
						const Times *times);

/* Writes a row for each contender that was not stopped. */
void sort_case_report(Report *report, const SortCase *sort_case, Distribution distribution,
					  const char *columns);

#endif /* GPUBENCH_SORT_CASE_H */
