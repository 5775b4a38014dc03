/*
 * sort/sample_sort_tree.h
 *		Splitters as an implicit search tree, walked without branches.
 *
 * Source: Leischner, Osipov, Sanders, "GPU sample sort", section 5, phases 1 and 2, algorithm 2.  Several
 * keys go down the tree side by side, to hide the latency of each step.
 *
 * Without equal-key buckets, bucket b holds the keys in (splitter[b-1], splitter[b]].  With equal-key
 * buckets, bucket 2b holds the keys strictly between these splitters, and bucket 2b+1 the keys equal to
 * splitter[b].
 */
#ifndef GPUSORT_SORT_SAMPLE_SORT_TREE_H
#define GPUSORT_SORT_SAMPLE_SORT_TREE_H

#include "postgres.h"

#include "sort/tuning.h"

#define SORT_MAX_SPLITTERS (1 << SORT_MAX_LOG_BUCKETS)
#define SORT_MAX_BUCKETS (2 * SORT_MAX_SPLITTERS)

typedef struct SplitterTree
{
	int log_leaves;
	bool equal_buckets; /* do keys equal to a splitter have their own bucket? */
	int nbuckets;
	uint64 tree[SORT_MAX_SPLITTERS];	 /* [1] is the root, [2i] and [2i + 1] the children of [i] */
	uint64 splitter[SORT_MAX_SPLITTERS]; /* in order; the last ones may repeat */
} SplitterTree;

/* Puts splitter[] into the order of the tree. */
static inline void
splitter_tree_build(SplitterTree *tree)
{
	for (int level = 0; level < tree->log_leaves; level++)
	{
		int nodes = 1 << level;
		int step = (1 << tree->log_leaves) >> level;

		for (int i = 0; i < nodes; i++)
			tree->tree[nodes + i] = tree->splitter[i * step + step / 2 - 1];
	}
}

/*
 * Chooses 2^log_leaves - 1 splitters from a sorted sample.  If a splitter would come twice, its key is
 * frequent, and there are equal-key buckets.
 */
static inline void
splitter_tree_choose(SplitterTree *tree, const uint64 *sample, int nsamples, int log_leaves)
{
	int leaves = 1 << log_leaves;
	int n = 0;

	for (int i = 1; i < leaves; i++)
	{
		uint64 candidate = sample[(uint64) i * nsamples / leaves];

		if (n == 0 || tree->splitter[n - 1] != candidate)
			tree->splitter[n++] = candidate;
	}
	tree->equal_buckets = n < leaves - 1;
	while (log_leaves > 1 && n < (1 << (log_leaves - 1)))
		log_leaves--;
	while (n < (1 << log_leaves))
	{
		tree->splitter[n] = tree->splitter[n - 1];
		n++;
	}
	tree->log_leaves = log_leaves;
	tree->nbuckets = (1 << log_leaves) << tree->equal_buckets;
	splitter_tree_build(tree);
}

/* Returns the bucket of one leaf and key. */
static pg_attribute_always_inline uint32
splitter_tree_bucket(const SplitterTree *tree, bool equal_buckets, uint32 leaf, uint64 key)
{
	return equal_buckets ? 2 * leaf + (tree->splitter[leaf] == key) : leaf;
}

/*
 * Takes one step down: to the left child if the key is not above the splitter, otherwise to the right one.
 * Compilers take five instructions for the step.  A comparison and an addition with carry suffice: 3.0
 * instead of 5.3 ns for 10 steps.
 */
static pg_attribute_always_inline uint64
splitter_tree_step(const SplitterTree *tree, uint64 node, uint64 key)
{
#if defined(__x86_64__) && defined(__GNUC__) && !defined(SORT_PORTABLE)
	__asm__("cmpq %[key], %[splitter]\n\tadcq %[node], %[node]"
			: [node] "+r"(node)
			: [key] "r"(key), [splitter] "m"(tree->tree[node])
			: "cc");
	return node;
#else
	return 2 * node + (tree->tree[node] < key);
#endif
}

/* Classifies n keys, which are stride words apart: writes their buckets, and counts them. */
static pg_attribute_always_inline void
splitter_tree_classify_as(const SplitterTree *tree, bool equal_buckets, const uint64 *keys, int stride, int n,
						  uint16 *buckets, uint64 *counts)
{
	const int log_leaves = tree->log_leaves;
	const uint32 leaves = 1 << log_leaves;
	int i = 0;

	for (; i + SORT_TREE_WIDTH <= n; i += SORT_TREE_WIDTH)
	{
		uint64 key[SORT_TREE_WIDTH];
		uint64 node[SORT_TREE_WIDTH];

		for (int j = 0; j < SORT_TREE_WIDTH; j++)
		{
			key[j] = keys[(size_t) (i + j) * stride];
			node[j] = 1;
		}
		for (int level = 0; level < log_leaves; level++)
			for (int j = 0; j < SORT_TREE_WIDTH; j++)
				node[j] = splitter_tree_step(tree, node[j], key[j]);
		for (int j = 0; j < SORT_TREE_WIDTH; j++)
		{
			uint32 bucket = splitter_tree_bucket(tree, equal_buckets, node[j] - leaves, key[j]);

			buckets[i + j] = bucket;
			counts[bucket]++;
		}
	}
	for (; i < n; i++)
	{
		uint64 key = keys[(size_t) i * stride];
		uint64 node = 1;

		for (int level = 0; level < log_leaves; level++)
			node = splitter_tree_step(tree, node, key);
		buckets[i] = splitter_tree_bucket(tree, equal_buckets, node - leaves, key);
		counts[buckets[i]]++;
	}
}

static pg_attribute_always_inline void
splitter_tree_classify(const SplitterTree *tree, const uint64 *keys, int stride, int n, uint16 *buckets,
					   uint64 *counts)
{
	if (tree->equal_buckets)
		splitter_tree_classify_as(tree, true, keys, stride, n, buckets, counts);
	else
		splitter_tree_classify_as(tree, false, keys, stride, n, buckets, counts);
}

#endif /* GPUSORT_SORT_SAMPLE_SORT_TREE_H */
