/*
 * sort/sample_sort_parts.h
 *		What the sample sort is made of, for those who distribute entries themselves: the parallel sort.
 *
 * nwords is the width of squeezed keys, and of items.
 */
#ifndef GPUSORT_SORT_SAMPLE_SORT_PARTS_H
#define GPUSORT_SORT_SAMPLE_SORT_PARTS_H

#include "postgres.h"

#include "sort/sample_sort.h"
#include "sort/sample_sort_tree.h"

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

/* Sorts items that agree in the words before this one, in place. */
extern void sample_sorter_sort_from(SampleSorter *sorter, void *items, uint64 nitems, int word);

#endif /* GPUSORT_SORT_SAMPLE_SORT_PARTS_H */
