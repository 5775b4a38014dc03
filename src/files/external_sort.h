/*
 * files/external_sort.h
 *		The part of a sort that does not fit in memory: sorted runs, merging runs, reading the result.
 */
#ifndef GPUSORT_FILES_EXTERNAL_SORT_H
#define GPUSORT_FILES_EXTERNAL_SORT_H

#include "postgres.h"

#include "storage/fileset.h"

#include "files/merged_rows.h"
#include "files/run.h"
#include "monitor/sort_stats.h"
#include "sort/sorted_rows.h"
#include "sort/value_ranks.h"

typedef struct ExternalSort ExternalSort;

/*
 * Makes an external sort without runs in CurrentMemoryContext; all later allocations are there too. rows: the
 * descriptor of rows that have all their sort columns; NULL: rows lack some sort columns, unless the key says
 * that they are index tuples. key and rows must outlive the external sort.  memory_limit: bytes for merging.
 * random_access: the result will be read backwards or again. stats: counts bytes, runs, passes, time and the
 * most memory.
 */
extern ExternalSort *external_sort_create(const SortKey *key, TupleDesc rows, Size memory_limit,
										  bool random_access, SorterStats *stats);

/*
 * Raises the memory limit, if memory_limit is larger.  Then more runs are merged at once, and each row is
 * written in fewer generations.
 */
extern void external_sort_allow(ExternalSort *external, Size memory_limit);

/*
 * Before the first run: lets other processes read the runs.  The files belong to this set, and `process` is
 * the number of this process there, from 0.
 */
extern void external_sort_share(ExternalSort *external, FileSet *files, int process);

/*
 * Writes the rows as a run.  The external sort must not be full.  ranks: of the values, if the rows' keys
 * have ranks in the place of values; else NULL.
 */
extern void external_sort_add_run(ExternalSort *external, SortedRows *sorted, const ValueRanks *ranks);

/*
 * Begins a run without keys, if rows have their sort columns.  The caller writes it, row by row in order
 * (run.h), and then calls end_run with the milliseconds of writing.  The external sort must not be full.
 */
extern Run *external_sort_begin_run(ExternalSort *external);
extern void external_sort_end_run(ExternalSort *external, const Run *run, double ms);

/* Must full generations be merged before another run is added?  The merge uses all of the memory limit. */
extern bool external_sort_is_full(const ExternalSort *external);
extern void external_sort_merge_full_generations(ExternalSort *external);

/* Returns the bytes of memory for the runs while runs are added. */
extern Size external_sort_memory(const ExternalSort *external);

/* After the last run: merges until the rows can be read. */
extern void external_sort_finish(ExternalSort *external);

/*
 * After external_sort_finish: returns the rows, which end with the external sort.  They can be read
 * backwards, again or from a mark only with random access.
 */
extern MergedRows *external_sort_rows(const ExternalSort *external);

/*
 * Instead of finish: merges runs until at most most_runs are left, publishes them (shared_runs.h), and ends.
 */
extern void external_sort_publish(ExternalSort *external, int most_runs);

/*
 * Before finish: takes, in addition to its own runs, the runs that nprocesses processes have published, from
 * process `first` on. stats counts their rows and bytes.
 */
extern void external_sort_adopt(ExternalSort *external, FileSet *files, int first, int nprocesses,
								SorterStats *stats);

/* Removes the files. */
extern void external_sort_end(ExternalSort *external);

#endif /* GPUSORT_FILES_EXTERNAL_SORT_H */
