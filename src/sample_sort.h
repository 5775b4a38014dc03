/*
 * sample_sort.h
 *		Sample sort of fixed keys in host memory, out of chunks.
 *
 * Source: Leischner, Osipov, Sanders, "GPU sample sort" (IPDPS 2010), for the structure: oversampled
 * splitters, a branch-free search tree, histogram, prefix sum, scatter, equal-key
 * buckets that need no more sorting, recursion, a base case.
 */
#ifndef GPUSORT_SAMPLE_SORT_H
#define GPUSORT_SAMPLE_SORT_H

#include "postgres.h"

#include "chunk.h"
#include "key_squeeze.h"

/* The widest key in 64-bit words; SORT_KEY_MAX_FIXED_WIDTH / 8. */
#define SAMPLE_SORT_MAX_WORDS 4

/* An item of nwords key words: uint64 key[nwords] (host order, most significant word first), then the row's address. */
#define SAMPLE_SORT_ITEM_SIZE(nwords) (((nwords) + 1) * sizeof(uint64))

/*
 * Sorts the entries of fixed-key chunks.  items has room for nrows items of
 * squeeze->nwords words; on return it holds them in order.  The scratch memory it
 * takes (palloc in CurrentMemoryContext, freed on return) is at most
 * sample_sort_scratch_size(nrows, nwords).  Checks for interrupts.
 */
extern void sample_sort_chunks(const Chunk *chunks, uint64 nrows, const KeySqueeze *squeeze, void *items);
extern Size sample_sort_scratch_size(uint64 nrows, int nwords);

#endif							/* GPUSORT_SAMPLE_SORT_H */
