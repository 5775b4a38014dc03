/*
 * leaf_kernels.cuh
 *		The kernels of the sample sort's leaves: which kind each is of, and a kernel for every kind.
 *
 * Leaves come in classes by size, larger ones first (Leischner, Osipov, Sanders, section 5: scheduled by
 * size), so that small leaves don't hold shared memory that they don't use.  The sample tells of which leaves
 * the keys crowd: the two smaller classes have a kernel more for these (crowded_leaf.cuh).
 */
#ifndef DEVSORT_LEAF_KERNELS_CUH
#define DEVSORT_LEAF_KERNELS_CUH

#include "pairs/crowded_leaf.cuh"
#include "primitives/block_merge.cuh"

#define LEAF_CLASSES 3
#define CROWDED_CLASSES 2 /* the first ones */

/* times MERGE_ITEMS is enough for any leaf; smaller ones take a quarter or half of it */
#define HARD_LEAF_THREADS 640

/*
 * What becomes of a leaf: sorted in one of the classes, copied as it is, sorted by the fallback, or
 * distributed again.
 */
enum LeafKind
{
	LEAF_SMALL,
	LEAF_MEDIUM,
	LEAF_LARGE,
	LEAF_EQUAL,
	LEAF_HARD,
	LEAF_OVERSIZED,
	LEAF_CROWDED, /* small ones, and those of the next classes */
	LEAF_KINDS = LEAF_CROWDED + CROWDED_CLASSES
};

/* The leaves of one sort, in device memory. */
struct Leaves
{
	const uint32_t *starts; /* count + 1; NULL: there is one leaf, the whole input */
	uint32_t count;
	uint32_t n;						 /* pairs in all leaves */
	uint32_t *lists;				 /* LEAF_KINDS lists of up to `count` leaves each */
	uint32_t *lengths;				 /* LEAF_KINDS */
	uint32_t capacity[LEAF_CLASSES]; /* pairs that each class can sort, ascending */
	uint32_t max_work;				 /* comparisons a pair past which a leaf is hard */
};

/* Pairs that a block of hard_leaf_kernel can sort; none has more than the largest class. */
static __host__ __device__ inline uint32_t
hard_leaf_capacity(const Leaves &leaves, uint32_t threads)
{
	uint32_t most = leaves.capacity[LEAF_CLASSES - 1];

	return threads * MERGE_ITEMS < most ? threads * MERGE_ITEMS : most;
}

/* What tells which leaves crowd. */
template <typename Key>
struct LeafSamples
{
	const Key *keys;  /* the sorted sample of the splitters; NULL: not needed */
	uint32_t of_leaf; /* number of samples of each leaf; the samples of the first leaf come first */
	uint32_t capacity[CROWDED_CLASSES]; /* pairs of a crowded leaf that each class can sort */
};

/*
 * How many pairs of different samples of a leaf are close to each other, as few are where keys don't crowd.
 */
template <typename Key>
static __device__ __forceinline__ uint32_t
count_close_samples(const LeafSamples<Key> &samples, uint32_t leaf)
{
	const Key *keys = samples.keys + (size_t) leaf * samples.of_leaf;
	Key low = leaf > 0 ? keys[-1] : (Key) 0;
	int shift = max(0, key_width(keys[samples.of_leaf - 1] - low) - LEAF_CROWD_LOG_CELLS);
	Key last = keys[0];
	uint32_t count = 0;
	uint32_t others = 0;

#pragma unroll 5
	for (uint32_t i = 1; i < samples.of_leaf; i++)
	{
		Key key = keys[i];

		if (key == last)
			continue;
		others = key_bits_from(key - low, shift) == key_bits_from(last - low, shift) ? others + 1 : 0;
		count += others;
		last = key;
	}
	return count;
}

/*
 * Do a leaf's keys crowd, by the number of its samples that are close to each other?  If many of its
 * neighbours have such samples, fewer are enough.  All threads of a block call this, each with a leaf.
 */
static __device__ __forceinline__ bool
leaf_crowds(uint32_t close, uint32_t samples)
{
	uint32_t share = close * 2 * LEAF_CROWD_SHARES / max(samples * (samples - 1), 1u);
	bool among_crowded =
		__syncthreads_count(share >= LEAF_CROWD_SHARES_AMONG) >= LEAF_THREADS_SMALL / LEAF_CROWD_NEIGHBOURS;

	return share >= LEAF_CROWD_SHARES_ALONE || (among_crowded && close > 0);
}

/* Puts every leaf on the list of its kind. */
template <typename Key>
static __global__ void
__launch_bounds__(LEAF_THREADS_SMALL)
	list_leaves_kernel(Leaves leaves, const Key *splitters, LeafSamples<Key> samples)
{
	__shared__ uint32_t counts[LEAF_KINDS];
	__shared__ uint32_t places[LEAF_KINDS];
	uint32_t leaf = blockIdx.x * LEAF_THREADS_SMALL + threadIdx.x;
	uint32_t size = leaf < leaves.count ? leaves.starts[leaf + 1] - leaves.starts[leaf] : 0;
	uint32_t rank = 0;
	int kind = LEAF_SMALL;

	if (threadIdx.x < LEAF_KINDS)
		counts[threadIdx.x] = 0;
	__syncthreads();
	while (kind < LEAF_CLASSES && size > leaves.capacity[kind])
		kind++;
	if (kind == LEAF_CLASSES)
		kind = leaf_has_one_key(splitters, leaves.count, leaf) ? LEAF_EQUAL : LEAF_OVERSIZED;
	if (samples.keys && leaf_crowds(size > 0 ? count_close_samples(samples, leaf) : 0, samples.of_leaf) &&
		kind < CROWDED_CLASSES && size >= LEAF_THREADS_SMALL << kind && size <= samples.capacity[kind])
		kind += LEAF_CROWDED;
	if (size > 0)
		rank = atomicAdd(&counts[kind], 1u);
	__syncthreads();
	if (threadIdx.x < LEAF_KINDS && counts[threadIdx.x] > 0)
		places[threadIdx.x] = atomicAdd(&leaves.lengths[threadIdx.x], counts[threadIdx.x]);
	__syncthreads();
	if (size > 0)
		leaves.lists[(size_t) kind * leaves.count + places[kind] + rank] = leaf;
}

/* Copies leaves of one repeated key that are too large for a block. */
template <typename Key, bool has_values>
static __global__ void
__launch_bounds__(LEAF_THREADS_MEDIUM) copy_equal_leaves_kernel(Leaves leaves, LeafPairs<Key> pairs)
{
	uint32_t nleaves = leaves.lengths[LEAF_EQUAL];

	for (uint32_t i = 0; i < nleaves; i++)
	{
		uint32_t leaf = leaves.lists[(size_t) LEAF_EQUAL * leaves.count + i];
		uint64_t end = leaves.starts[leaf + 1];

		for (uint64_t at = leaves.starts[leaf] + blockIdx.x * (uint64_t) blockDim.x + threadIdx.x; at < end;
			 at += gridDim.x * (uint64_t) blockDim.x)
		{
			pairs.sorted_keys[at] = pairs.keys[at];
			if (has_values)
				pairs.sorted_values[at] = pairs.values[at];
		}
	}
}

/* Puts a leaf on the list of hard ones. */
static __device__ __forceinline__ void
list_hard_leaf(const Leaves &leaves, uint32_t leaf)
{
	leaves.lists[(size_t) LEAF_HARD * leaves.count + atomicAdd(&leaves.lengths[LEAF_HARD], 1u)] = leaf;
}

/* Sorts the leaves of one class, a block as many as come to it, and lists the hard ones. */
template <typename Key, bool has_values, int THREADS>
static __global__ void
__launch_bounds__(THREADS, LEAF_RESIDENT_BLOCKS(THREADS, sizeof(Key)))
	leaf_sort_kernel(Leaves leaves, int kind, LeafPairs<Key> pairs)
{
	extern __shared__ __align__(16) char shared[];
	uint32_t *starts = (uint32_t *) shared;
	Key *keys = (Key *) (starts + SubBuckets<THREADS>::COUNT + 4);
	uint32_t *values = (uint32_t *) (keys + leaves.capacity[kind]);
	uint32_t nleaves = leaves.starts ? leaves.lengths[kind] : 1;

	for (uint32_t i = blockIdx.x; i < nleaves; i += gridDim.x)
	{
		uint32_t leaf = leaves.starts ? leaves.lists[(size_t) kind * leaves.count + i] : 0;
		uint32_t first = leaves.starts ? leaves.starts[leaf] : 0;
		uint32_t n = leaves.starts ? leaves.starts[leaf + 1] - first : leaves.n;

		if (!block_sort_leaf<Key, has_values, THREADS>(pairs, first, n, leaves.max_work, starts, keys,
													   values) &&
			threadIdx.x == 0)
			list_hard_leaf(leaves, leaf);
		__syncthreads();
	}
}

/* The same for the crowded leaves of a class; list is LEAF_CROWDED or what follows. */
template <typename Key, bool has_values, int THREADS>
static __global__ void
__launch_bounds__(THREADS, LEAF_RESIDENT_BLOCKS(THREADS, sizeof(Key)))
	crowded_leaf_kernel(Leaves leaves, int list, LeafPairs<Key> pairs)
{
	extern __shared__ __align__(16) char shared[];
	uint32_t nleaves = leaves.lengths[list];

	for (uint32_t i = blockIdx.x; i < nleaves; i += gridDim.x)
	{
		uint32_t leaf = leaves.lists[(size_t) list * leaves.count + i];
		uint32_t first = leaves.starts[leaf];
		uint32_t n = leaves.starts[leaf + 1] - first;

		if (!block_sort_crowded_leaf<Key, has_values, THREADS>(pairs, first, n, leaves.max_work, shared) &&
			threadIdx.x == 0)
			list_hard_leaf(leaves, leaf);
		__syncthreads();
	}
}

/*
 * Merge sorts, where they are, the leaves that were given up: those of more than `above` pairs that fit into
 * this block.
 */
template <typename Key, bool has_values, int THREADS>
static __global__ void
__launch_bounds__(THREADS) hard_leaf_kernel(Leaves leaves, LeafPairs<Key> pairs, uint32_t above)
{
	extern __shared__ __align__(16) char shared[];
	SharedPairs<Key, has_values> block(shared, hard_leaf_capacity(leaves, THREADS));
	uint32_t nleaves = leaves.lengths[LEAF_HARD];

	for (uint32_t i = blockIdx.x; i < nleaves; i += gridDim.x)
	{
		uint32_t leaf = leaves.lists[(size_t) LEAF_HARD * leaves.count + i];
		uint32_t first = leaves.starts ? leaves.starts[leaf] : 0;
		uint32_t n = leaves.starts ? leaves.starts[leaf + 1] - first : leaves.n;

		if (n <= above || n > hard_leaf_capacity(leaves, THREADS))
			continue;
		block_sort_pairs<Key, has_values, THREADS>(&block, n, pairs.sorted_keys, pairs.sorted_values,
												   BlockSource{first, 0, 0}, pairs.order,
												   pairs.sorted_keys + first, pairs.sorted_values + first,
												   pairs.order);
		__syncthreads();
	}
}

/*
 * Sorts only keys, of leaves that are too large for any block and cannot be sampled again.  A piece has half
 * of the pairs that a block can sort.  Blocks sort two neighbouring pieces at a time, by odd-even
 * transposition.  That is slow if a leaf has many pieces.  Each block takes several leaves.
 */
template <typename Key>
static __global__ void
__launch_bounds__(HARD_LEAF_THREADS) merge_oversized_kernel(Leaves leaves, LeafPairs<Key> pairs)
{
	extern __shared__ __align__(16) char shared[];
	uint32_t capacity = hard_leaf_capacity(leaves, HARD_LEAF_THREADS);
	SharedPairs<Key, false> block(shared, capacity);
	uint32_t size = capacity / 2;
	uint32_t nleaves = leaves.lengths[LEAF_OVERSIZED];

	for (uint32_t i = blockIdx.x; i < nleaves; i += gridDim.x)
	{
		uint32_t leaf = leaves.lists[(size_t) LEAF_OVERSIZED * leaves.count + i];
		uint32_t first = leaves.starts[leaf];
		uint32_t n = leaves.starts[leaf + 1] - first;
		uint32_t npieces = (n + size - 1) / size;

		for (uint32_t at = threadIdx.x; at < n; at += HARD_LEAF_THREADS)
			pairs.sorted_keys[first + at] = pairs.keys[first + at];
		__syncthreads();
		for (uint32_t round = 0; round < npieces; round++)
			for (uint32_t piece = round % 2; piece + 1 < npieces; piece += 2)
			{
				uint32_t from = piece * size;
				Key *keys = pairs.sorted_keys + first + from;

				block_sort_pairs<Key, false, HARD_LEAF_THREADS>(&block, min(2 * size, n - from), keys, NULL,
																BlockSource{0, 0, 0}, pairs.order, keys, NULL,
																pairs.order);
				__syncthreads();
			}
	}
}

#endif /* DEVSORT_LEAF_KERNELS_CUH */
