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
#include "sort/sample_sort_tree.h"

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
 * items of this kind, which agree in the words before the one given.  The memory, again within
 * sample_sort_scratch_size, is that of CurrentMemoryContext at the creation; sample_sorter_free or the
 * context's reset releases it.
 */
typedef struct SampleSorter SampleSorter;

extern SampleSorter *sample_sorter_create(uint64 max_items, SortItemKind kind);
extern void sample_sorter_sort_chunks(SampleSorter *sorter, const Chunk *chunks, uint64 nrows,
									  const KeySqueeze *squeeze, void *items);
extern void sample_sorter_sort(SampleSorter *sorter, void *items, uint64 nitems, int word);
extern void sample_sorter_free(SampleSorter *sorter);

/* ---------------------------------------------------------------- for the parallel sort */

/* Leaves of the splitter tree for n items, more than SORT_TARGET_BASE, as a power of two. */
extern int sample_sort_log_leaves(uint64 n);

/* How many samples of n items: a power of two. */
extern int sample_sort_nsamples(uint64 n, int log_leaves, int oversampling);

/*
 * A position in the i-th of nsamples stretches of n items; *random is the state of the random numbers, not 0.
 */
extern uint64 sample_sort_position(uint64 *random, int i, int nsamples, uint64 n);

/* Sorts n words, a power of two and at least 4; there are n more to work in.  Returns where the result is. */
extern uint64 *sample_sort_words(uint64 *sample, int n);

/* Do the bucket's keys all agree in the word that was distributed by? */
static inline bool
sample_sort_bucket_is_equal(const SplitterTree *tree, int bucket)
{
	return tree->equal_buckets && bucket % 2 == 1;
}

/*
 * Writes the buckets of nentries entries from the given one on, by the first word of their keys, and counts
 * them.
 */
extern void sample_sort_classify_entries(const SplitterTree *tree, const Chunk *chunk, uint64 first,
										 uint64 nentries, const KeySqueeze *squeeze, uint16 *buckets,
										 uint64 *counts);

/* Makes items of nentries entries from the given one on, and puts each where its bucket's next item goes. */
extern void sample_sort_scatter_entries(uint64 *ends, const Chunk *chunk, uint64 first, uint64 nentries,
										const KeySqueeze *squeeze, const uint16 *buckets, void *items);

#endif /* GPUSORT_SORT_SAMPLE_SORT_H */
