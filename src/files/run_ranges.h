/*
 * files/run_ranges.h
 *		The rows of several processes' runs in order, one range of the order at a time.
 */
#ifndef GPUSORT_FILES_RUN_RANGES_H
#define GPUSORT_FILES_RUN_RANGES_H

#include "postgres.h"

#include "access/htup_details.h"
#include "storage/fileset.h"

#include "key/types.h"

typedef struct RunRanges RunRanges;

/*
 * Returns the number of runs that each of nprocesses processes may publish so that all can be read at once;
 * at least one.
 */
extern int run_ranges_runs_each(int nprocesses, Size memory_limit);

/*
 * Opens the runs that nprocesses processes have published (shared_runs.h), in CurrentMemoryContext. rows: of
 * rows that have all their sort columns and are no index tuples; else NULL.  memory_limit: bytes for merging.
 * key must outlive the result.
 */
extern RunRanges *run_ranges_open(FileSet *files, int nprocesses, const SortKey *key, TupleDesc rows,
								  Size memory_limit);

/* Returns the bytes of memory of the ranges. */
extern Size run_ranges_memory(const RunRanges *ranges);

/*
 * Moves to the first row of this range.  The rows are cut into nranges ranges with about the same number of
 * rows, perhaps without rows.  All processes find the same ranges.
 */
extern void run_ranges_seek(RunRanges *ranges, int range, int nranges);

/* Returns the next row of the range, valid until the next call; NULL: the range has no more rows. */
extern StoredRow run_ranges_next(RunRanges *ranges);

/* Continues with the rows behind the range. */
extern void run_ranges_pass_end(RunRanges *ranges);

/* Drops the runs; the files stay. */
extern void run_ranges_end(RunRanges *ranges);

#endif /* GPUSORT_FILES_RUN_RANGES_H */
