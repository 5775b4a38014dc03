/*
 * sort/sample_sort.h
 *		Sample sort of fixed keys in host memory, out of chunks.
 *
 * Source: Leischner, Osipov, Sanders, "GPU sample sort" (IPDPS 2010), for the structure: oversampled
 * splitters, a branch-free search tree, histogram, prefix sum, scatter, equal-key buckets that need no more
 * sorting, recursion, a base case.
 */
#ifndef GPUSORT_SORT_SAMPLE_SORT_H
#define GPUSORT_SORT_SAMPLE_SORT_H

#include "postgres.h"

#include "sort/chunk.h"
#include "sort/key_squeeze.h"

/*
 * What an item is: uint64 key[nwords] (host order, most significant word first), then the row's address, if
 * there are rows.
 */
typedef struct SortItemKind
{
	int nwords;
	bool has_row;
} SortItemKind;

static inline Size
sort_item_size(SortItemKind kind)
{
	return (kind.nwords + (kind.has_row ? 1 : 0)) * sizeof(uint64);
}

/*
 * What the items of chunks are, of which there is one at least, if their keys are squeezed to nwords words.
 */
static inline SortItemKind
sort_item_kind(const Chunk *chunks, int nwords)
{
	return (SortItemKind){nwords, chunk_has_rows(chunks)};
}

/*
 * Sorts the entries of fixed-key chunks.  items has room for nrows items of squeeze->nwords words; on return
 * it holds them in order.  The scratch memory it takes (palloc in CurrentMemoryContext, freed on return) is
 * at most sample_sort_scratch_size.  Checks for interrupts.
 */
extern void sample_sort_chunks(const Chunk *chunks, uint64 nrows, const KeySqueeze *squeeze, void *items);
extern Size sample_sort_scratch_size(uint64 nrows, SortItemKind kind);

/*
 * The same core for items in place, many times over with the same scratch memory: sorts of up to max_items
 * items of this kind.  The memory, again within sample_sort_scratch_size, is that of CurrentMemoryContext at
 * the creation; sample_sorter_free or the context's reset releases it.
 */
typedef struct SampleSorter SampleSorter;

extern SampleSorter *sample_sorter_create(uint64 max_items, SortItemKind kind);
extern void sample_sorter_sort_chunks(SampleSorter *sorter, const Chunk *chunks, uint64 nrows,
									  const KeySqueeze *squeeze, void *items);
extern void sample_sorter_sort(SampleSorter *sorter, void *items, uint64 nitems);
extern void sample_sorter_free(SampleSorter *sorter);

#endif /* GPUSORT_SORT_SAMPLE_SORT_H */
