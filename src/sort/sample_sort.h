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
 * The kind of an item: uint64 key[nwords] (host order, most significant word first), then the row's address,
 * if there are rows.
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
 * Returns the kind of the items of chunks.  chunks: at least one; nwords: words of a squeezed key.
 */
static inline SortItemKind
sort_item_kind(const Chunk *chunks, int nwords)
{
	return (SortItemKind){nwords, chunk_has_rows(chunks)};
}

/*
 * Sorts the entries of fixed-key chunks.  items: has room for nrows items of squeeze->nwords words; on return
 * it holds them in order.  The scratch memory (palloc in CurrentMemoryContext, freed on return) is at most
 * sample_sort_scratch_size.  Checks for interrupts.
 */
extern void sample_sort_chunks(const Chunk *chunks, uint64 nrows, const KeySqueeze *squeeze, void *items);
extern Size sample_sort_scratch_size(uint64 nrows, SortItemKind kind);

/*
 * The core of sample_sort_chunks for items in place, called many times with the same scratch memory.
 * max_items: the most items of one sort; kind: of the items; word: the items agree in the words before this
 * one.  The memory is again within sample_sort_scratch_size, and in the context that was current in
 * sample_sorter_create.  sample_sorter_free or the context's reset releases it.
 */
typedef struct SampleSorter SampleSorter;

extern SampleSorter *sample_sorter_create(uint64 max_items, SortItemKind kind);
extern void sample_sorter_sort_chunks(SampleSorter *sorter, const Chunk *chunks, uint64 nrows,
									  const KeySqueeze *squeeze, void *items);
extern void sample_sorter_sort(SampleSorter *sorter, void *items, uint64 nitems, int word);
extern void sample_sorter_free(SampleSorter *sorter);

/* ---------------------------------------------------------------- for the parallel sort */

/*
 * Returns the leaves of the splitter tree, as a power of two.  n: number of items, more than
 * SORT_TARGET_BASE.
 */
extern int sample_sort_log_leaves(uint64 n);

/* Returns the number of samples of n items: a power of two. */
extern int sample_sort_nsamples(uint64 n, int log_leaves, int oversampling);

/*
 * Returns a position in the i-th of nsamples stretches of n items.  *random: the state of the random numbers,
 * not 0.
 */
extern uint64 sample_sort_position(uint64 *random, int i, int nsamples, uint64 n);

/*
 * Sorts n words; n is a power of two and at least 4.  sample: has n more words to work in.  Returns the
 * address of the result.
 */
extern uint64 *sample_sort_words(uint64 *sample, int n);

/* Do all keys of the bucket agree in the word by which they were distributed? */
static inline bool
sample_sort_bucket_is_equal(const SplitterTree *tree, int bucket)
{
	return tree->equal_buckets && bucket % 2 == 1;
}

/*
 * Writes the buckets of nentries entries, by the first word of their keys, and counts them.  first: the first
 * of the entries.
 */
extern void sample_sort_classify_entries(const SplitterTree *tree, const Chunk *chunk, uint64 first,
										 uint64 nentries, const KeySqueeze *squeeze, uint16 *buckets,
										 uint64 *counts);

/*
 * Makes items of nentries entries, and puts each item at its bucket's next index.  first: the first of the
 * entries; ends: the next index of each bucket.
 */
extern void sample_sort_scatter_entries(uint64 *ends, const Chunk *chunk, uint64 first, uint64 nentries,
										const KeySqueeze *squeeze, const uint16 *buckets, void *items);

#endif /* GPUSORT_SORT_SAMPLE_SORT_H */
