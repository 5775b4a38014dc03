/*
 * sample_splitters.cuh
 *		Phase 1 of the sample sort: a random sample, sorted, gives the splitters of all leaves at once.
 *
 * Leischner, Osipov, Sanders, section 5, "Phase 1", sample again for every bucket that they distribute.  Here
 * one larger sample serves both levels: every ways-th splitter of the leaves is a splitter of the first
 * level.
 *
 * Leaf j takes the keys in (splitter[j - 1], splitter[j]].  A key that is several splitters, because it is
 * frequent, gets a leaf of its own: keys are integers, so the first of its splitters is lowered by one, and
 * the leaf (key - 1, key] holds nothing else and needs no more sorting.
 */
#ifndef DEVSORT_SAMPLE_SPLITTERS_CUH
#define DEVSORT_SAMPLE_SPLITTERS_CUH

#include "base/tuning.cuh"
#include "primitives/key_order.cuh"

/* A well mixed number for each (seed, i): the finaliser of SplitMix64. */
static __device__ __forceinline__ uint64_t
random_number(uint64_t seed, uint64_t i)
{
	uint64_t x = seed + (i + 1) * UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

/* Takes one key at random out of each of nsamples equally long stretches of the input. */
template <typename Key>
static __global__ void
draw_sample_kernel(const Key *keys, uint64_t n, uint32_t nsamples, uint64_t seed, KeyOrder order, Key *sample)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t from;
	uint64_t to;

	if (i >= nsamples)
		return;
	from = i * n / nsamples;
	to = (i + 1) * n / nsamples;
	sample[i] = key_order_apply(order, keys[from + random_number(seed, i) % (to - from)]);
}

/* Picks nleaves - 1 splitters from the sorted sample. */
template <typename Key>
static __global__ void
pick_splitters_kernel(const Key *sample, uint32_t nsamples, uint32_t nleaves, Key *splitters)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t step = nsamples / nleaves;
	Key key;

	if (i + 1 >= nleaves)
		return;
	key = sample[(i + 1) * step - 1];
	/* The first of several equal ones. */
	if (key != (Key) 0 && i + 2 < nleaves && sample[(i + 2) * step - 1] == key &&
		(i == 0 || sample[i * step - 1] != key))
		key = key - (Key) 1;
	splitters[i] = key;
}

/* Does this leaf hold one key only, whatever it holds? */
template <typename Key>
static __device__ __forceinline__ bool
leaf_has_one_key(const Key *splitters, uint32_t nleaves, uint32_t leaf)
{
	Key last = leaf + 1 < nleaves ? splitters[leaf] : ~(Key) 0;

	return leaf == 0 ? last == (Key) 0 : last - splitters[leaf - 1] <= (Key) 1;
}

/* The nodes of a tree of splitters, in shared memory. */
template <typename Key>
struct SplitterTree
{
	Key *nodes;

	__device__ __forceinline__ SplitterTree(char *shared, uint32_t) : nodes((Key *) shared)
	{
	}

	__device__ __forceinline__ void set(uint32_t node, Key splitter)
	{
		nodes[node] = splitter;
	}

	__device__ __forceinline__ bool is_above(Key key, uint32_t node) const
	{
		return key > nodes[node];
	}
};

/* The words apart: the second one is hardly ever looked at. */
template <>
struct SplitterTree<WideKey>
{
	uint64_t *high;
	uint64_t *low;

	__device__ __forceinline__ SplitterTree(char *shared, uint32_t ways)
		: high((uint64_t *) shared), low(high + ways)
	{
	}

	__device__ __forceinline__ void set(uint32_t node, WideKey splitter)
	{
		high[node] = splitter.high;
		low[node] = splitter.low;
	}

	__device__ __forceinline__ bool is_above(WideKey key, uint32_t node) const
	{
		uint64_t first = high[node];

		return key.high > first || (key.high == first && key.low > low[node]);
	}
};

/*
 * Loads the splitters first, first + step, ... as a complete binary search tree of ways - 1 nodes, node 1 the
 * root, nodes 2j and 2j + 1 the children of j (section 5, Algorithm 2).  For all threads of a block; a
 * barrier must follow.
 */
template <typename Key>
static __device__ __forceinline__ void
load_splitter_tree(const Key *splitters, uint32_t first, uint32_t step, int log_ways, SplitterTree<Key> tree)
{
	for (uint32_t node = threadIdx.x; node < (1u << log_ways); node += blockDim.x)
	{
		int depth = 31 - __clz((int) (node | 1));
		uint32_t place = (2 * (node - (1u << depth)) + 1) * (1u << (log_ways - depth - 1));

		if (node > 0)
			tree.set(node, splitters[first + place * step - 1]);
	}
}

/* Walks ITEMS keys down the tree at once, without branches; gives their buckets. */
template <typename Key, int ITEMS>
static __device__ __forceinline__ void
walk_splitter_tree(SplitterTree<Key> tree, int log_ways, const Key (&keys)[ITEMS],
				   uint32_t (&buckets)[ITEMS])
{
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		buckets[i] = 1;
	for (int level = 0; level < log_ways; level++)
	{
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			buckets[i] = 2 * buckets[i] + tree.is_above(keys[i], buckets[i]);
	}
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		buckets[i] -= 1u << log_ways;
}

#endif /* DEVSORT_SAMPLE_SPLITTERS_CUH */
