/*
 * files/external_sort.h
 *		The part of a sort that does not fit in memory: sorted runs, their merging, reading the result.
 */
#ifndef GPUSORT_FILES_EXTERNAL_SORT_H
#define GPUSORT_FILES_EXTERNAL_SORT_H

#include "postgres.h"

#include "storage/fileset.h"

#include "files/merged_rows.h"
#include "files/run.h"
#include "monitor/sort_stats.h"
#include "sort/sorted_rows.h"

typedef struct ExternalSort ExternalSort;

/*
 * An external sort without runs, in CurrentMemoryContext, which is used for all it allocates later on. rows:
 * of rows that hold all their sort columns; NULL: they don't, or not all, unless the key says that they are
 * index tuples; key and rows must outlive it.  memory_limit: bytes for merging; random_access: the result
 * will be read backwards or again; stats: where it counts bytes, runs, passes, time and the highest use of
 * memory.
 */
extern ExternalSort *external_sort_create(const SortKey *key, TupleDesc rows, Size memory_limit,
										  bool random_access, SorterStats *stats);

/*
 * From now on it may have so much memory, if that is more: more runs are merged at once, and each row is
 * written to fewer levels.
 */
extern void external_sort_allow(ExternalSort *external, Size memory_limit);

/*
 * Before the first run: other processes are to read them.  The files are of this set, and this process has a
 * number there, from 0.
 */
extern void external_sort_share(ExternalSort *external, FileSet *files, int process);

/* Writes the rows out as a run.  Must not be full. */
extern void external_sort_add_run(ExternalSort *external, SortedRows *sorted);

/*
 * A run without keys for the caller to write, row by row in order (run.h), if rows hold their sort columns.
 * Then end_run, which takes the milliseconds that writing took.  Must not be full.
 */
extern Run *external_sort_begin_run(ExternalSort *external);
extern void external_sort_end_run(ExternalSort *external, const Run *run, double ms);

/* Is there no room for another run until full levels are merged? That takes all of the memory limit. */
extern bool external_sort_is_full(const ExternalSort *external);
extern void external_sort_merge_full_levels(ExternalSort *external);

/* Bytes of memory that the runs take while more are added. */
extern Size external_sort_memory(const ExternalSort *external);

/* After the last run: merges until the rows can be read. */
extern void external_sort_finish(ExternalSort *external);

/* Then: the rows, which end with it; backwards, again or from a mark only with random access. */
extern MergedRows *external_sort_rows(const ExternalSort *external);

/*
 * Instead of finish: merges runs until there are so many at most, publishes them (shared_runs.h), and ends.
 */
extern void external_sort_publish(ExternalSort *external, int most_runs);

/*
 * Before finish: takes the runs that so many processes have published, from the first one on, besides its
 * own; counts their rows and bytes in stats.
 */
extern void external_sort_adopt(ExternalSort *external, FileSet *files, int first, int nprocesses,
								SorterStats *stats);

/* Removes the files. */
extern void external_sort_end(ExternalSort *external);

#endif /* GPUSORT_FILES_EXTERNAL_SORT_H */
