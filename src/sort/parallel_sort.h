/*
 * sort/parallel_sort.h
 *		Several processes sort the rows of chunks together.
 *
 * The chunks, and the memory that parallel_sort_init gets, must be at the same addresses in all processes.
 *
 * Source: Leischner, Osipov, Sanders, "GPU sample sort" (IPDPS 2010), whose phases are parallel by nature;
 * see parallel_sort.c.
 */
#ifndef GPUSORT_SORT_PARALLEL_SORT_H
#define GPUSORT_SORT_PARALLEL_SORT_H

#include "postgres.h"

#include "key/sort_key.h"
#include "sort/chunk.h"
#include "sort/key_squeeze.h"
#include "sort/sample_sort.h"

typedef struct ParallelSort ParallelSort;

typedef struct ParallelSortInput
{
	int nprocesses;		 /* number of processes that will call parallel_sort_run */
	const Chunk *chunks; /* the parts of keys in entries of strings are overwritten */
	uint64 nrows;		 /* number of rows in all chunks */
	bool variable;		 /* variable keys? */
	SortKeyEnds ends;	 /* the ends of variable keys */
	KeySqueeze squeeze;	 /* the squeezing of fixed keys */
	bool on_demand;		 /* is a bucket to be sorted only when one of its rows is asked for? */
} ParallelSortInput;

/* Returns the kind of the items. */
static inline SortItemKind
parallel_sort_item(const ParallelSortInput *input)
{
	return input->variable || input->nrows == 0 ? (SortItemKind){1, true}
												: sort_item_kind(input->chunks, input->squeeze.nwords);
}

/*
 * The barrier of the processes: `wait` returns when all nprocesses have called it.  All processes then see
 * what any of them wrote before.
 */
typedef struct ParallelSortSync
{
	void (*wait)(void *arg);
	void *arg;
} ParallelSortSync;

/*
 * Returns the bytes of shared memory that a sort takes, with the items.  Most of this memory is only touched
 * as far as it is needed.
 */
extern Size parallel_sort_shared_size(bool variable, SortItemKind item, uint64 nrows, uint64 nchunks,
									  int nprocesses);

/*
 * Returns the most bytes of private memory that all processes together take.  Most of it is only taken if
 * keys are very uneven.
 */
extern Size parallel_sort_private_size(bool variable, SortItemKind item, uint64 nrows, int nprocesses);

/*
 * Lays a sort out in parallel_sort_shared_size bytes of shared memory, which has arbitrary contents, for all
 * processes to run.  The caller has nothing to free.
 */
extern ParallelSort *parallel_sort_init(void *memory, const ParallelSortInput *input);

/*
 * Sorts.  Every process calls this function once.  process: the number of this process, from 0 to
 * nprocesses - 1.  When the function returns, all processes are done.  Private memory is in
 * CurrentMemoryContext, and is freed on return.  Checks for interrupts.  If an interrupt ends the call, the
 * other processes wait for this one until they are interrupted too.
 */
extern void parallel_sort_run(ParallelSort *sort, int process, const ParallelSortSync *sync);

/* Are there buckets that parallel_sort_run leaves to parallel_sort_settle? */
extern bool parallel_sort_is_on_demand(const ParallelSort *sort);

/*
 * Puts the item with this number into its place, with its bucket; parallel_sort_settle_all: all of them, if
 * none was asked for before.  One process calls them, with private memory as above.  Checks for interrupts.
 */
extern void parallel_sort_settle(ParallelSort *sort, uint64 number);
extern void parallel_sort_settle_all(ParallelSort *sort);

/*
 * Returns the items in order, as sample_sort_chunks and string_sort_chunks make them; in the shared memory.
 */
extern void *parallel_sort_items(const ParallelSort *sort);

#endif /* GPUSORT_SORT_PARALLEL_SORT_H */
