/*
 * files/run_ranges.h
 *		The rows of several processes' runs in order, a range of the order at a time.
 */
#ifndef GPUSORT_FILES_RUN_RANGES_H
#define GPUSORT_FILES_RUN_RANGES_H

#include "postgres.h"

#include "access/htup_details.h"
#include "storage/fileset.h"

#include "key/sort_key.h"

typedef struct RunRanges RunRanges;

/* How many runs each of so many processes may publish, that all can be read at once; one at least. */
extern int run_ranges_runs_each(int nprocesses, Size memory_limit);

/*
 * Of the runs that so many processes have published (shared_runs.h), in CurrentMemoryContext.  memory_limit:
 * bytes for merging.  key must outlive it.
 */
extern RunRanges *run_ranges_open(FileSet *files, int nprocesses, const SortKey *key, Size memory_limit);

/* Bytes of memory that it takes. */
extern Size run_ranges_memory(const RunRanges *ranges);

/*
 * The next row is the first one of this range, one of nranges that have about the same number of rows, or
 * none.  All processes find the same ranges.
 */
extern void run_ranges_seek(RunRanges *ranges, int range, int nranges);

/* The next row of the range, good until the next call; NULL: there is none. */
extern MinimalTuple run_ranges_next(RunRanges *ranges);

/* The next rows are those behind the range. */
extern void run_ranges_pass_end(RunRanges *ranges);

/* Drops the runs; the files stay. */
extern void run_ranges_end(RunRanges *ranges);

#endif /* GPUSORT_FILES_RUN_RANGES_H */
