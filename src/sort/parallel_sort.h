/*
 * sort/parallel_sort.h
 *		Several processes sort the rows of chunks together.
 *
 * The chunks, and the memory that parallel_sort_init is given, must be at the same addresses in all of them.
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
	int nprocesses;		 /* that will call parallel_sort_run */
	const Chunk *chunks; /* what entries of strings have of their keys is overwritten */
	uint64 nrows;		 /* in all of them */
	bool variable;		 /* variable keys? */
	SortKeyEnds ends;	 /* of these */
	KeySqueeze squeeze;	 /* of fixed keys */
} ParallelSortInput;

/* What the items are. */
static inline SortItemKind
parallel_sort_item(const ParallelSortInput *input)
{
	return input->variable || input->nrows == 0 ? (SortItemKind){1, true}
												: sort_item_kind(input->chunks, input->squeeze.nwords);
}

/*
 * How the processes meet: wait returns when all nprocesses have called it, and what they wrote before is seen
 * by all.
 */
typedef struct ParallelSortSync
{
	void (*wait)(void *arg);
	void *arg;
} ParallelSortSync;

/*
 * Bytes of shared memory that a sort takes, the items included.  Most of it is touched only as far as it is
 * needed.
 */
extern Size parallel_sort_shared_size(bool variable, SortItemKind item, uint64 nrows, uint64 nchunks,
									  int nprocesses);

/*
 * Bytes that all processes together take at most of their own; most of that only where keys are very uneven.
 */
extern Size parallel_sort_private_size(bool variable, SortItemKind item, uint64 nrows, int nprocesses);

/*
 * Lays a sort out in parallel_sort_shared_size bytes of shared memory that hold anything, for all to run.
 * Nothing is to be freed.
 */
extern ParallelSort *parallel_sort_init(void *memory, const ParallelSortInput *input);

/*
 * Sorts.  Every process calls this once, with a number from 0 to nprocesses - 1 of its own; when it returns,
 * all are done.  Private memory is that of CurrentMemoryContext, freed on return.  Checks for interrupts; if
 * one of them ends the call, the others wait for this process until they are interrupted too.
 */
extern void parallel_sort_run(ParallelSort *sort, int process, const ParallelSortSync *sync);

/* The items in order, as sample_sort_chunks and string_sort_chunks make them; in the shared memory. */
extern void *parallel_sort_items(const ParallelSort *sort);

#endif /* GPUSORT_SORT_PARALLEL_SORT_H */
