/*
 * sample_splitters.cuh
 *		Phase 1 of the sample sort: a random sample, sorted, gives the splitters of all leaves at once.
 *
 * Leischner, Osipov, Sanders, section 5, "Phase 1", sample again for every bucket that they distribute.  Here
 * one larger sample serves both levels: every ways-th splitter of the leaves is a splitter of the first
 * level.
 *
 * Where the paper walks a tree of splitters (Algorithm 2), here the leading bits of a key's distance from the
 * first splitter are looked up in a table of SAMPLE_CELLS cells, which says how many splitters are less than
 * all keys of the cell, and how many are in it: mostly none or one.  The tree is for segments whose keys
 * crowd together, so that a cell would have many.
 *
 * Leaf j takes the keys in (splitter[j - 1], splitter[j]].  A key that is several splitters, because it is
 * frequent, gets a leaf of its own: keys are integers, so the first of its splitters is lowered by one, and
 * the leaf (key - 1, key] holds nothing else and needs no more sorting.
 */
#ifndef DEVSORT_SAMPLE_SPLITTERS_CUH
#define DEVSORT_SAMPLE_SPLITTERS_CUH

#include "base/tuning.cuh"
#include "primitives/block_scan.cuh"
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

/* Takes a key at random out of stretch i of the nsamples equally long ones of the input. */
template <typename Key>
static __device__ __forceinline__ Key
draw_sample_key(const Key *keys, uint64_t n, uint32_t nsamples, uint64_t seed, KeyOrder order, uint32_t i)
{
	uint64_t from = i * n / nsamples;
	uint64_t to = (i + 1) * n / nsamples;

	return key_order_apply(order, keys[from + random_number(seed, i) % (to - from)]);
}

/* Draws a sample. */
template <typename Key>
static __global__ void
draw_sample_kernel(const Key *keys, uint64_t n, uint32_t nsamples, uint64_t seed, KeyOrder order, Key *sample)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < nsamples)
		sample[i] = draw_sample_key(keys, n, nsamples, seed, order, i);
}

/* What one distribution of a segment looks at to find buckets; in device memory. */
template <typename Key>
struct BucketRange
{
	Key first; /* splitter */
	Key last;
	int shift;	  /* (key - first) >> shift is the cell of a key up to the last splitter */
	bool crowded; /* a cell would have too many: the splitters are walked as a tree */
};

/*
 * A cell of a table: how many splitters are in the cells before it, and, in the bits above, how many are in
 * it, at most SAMPLE_CELL_MOST.
 */
#define CELL_BEFORE_BITS SAMPLE_MOST_LOG_WAYS

/* The same for all segments: at level 0 there is one, at level 1 as many as level 0 has buckets. */
template <typename Key>
struct BucketTables
{
	Key *splitters; /* of the segments' buckets: ways for each, the last one of these unused */
	BucketRange<Key> *ranges;
	uint16_t *cells; /* SAMPLE_CELLS for each */
};

/* Splitter i of the nleaves - 1 that divide the leaves, from the sorted sample. */
template <typename Key>
static __device__ __forceinline__ Key
pick_splitter(const Key *sample, uint32_t step, uint32_t nleaves, uint32_t i)
{
	Key key = sample[(i + 1) * step - 1];

	/* The first of several equal ones. */
	if (key != (Key) 0 && i + 2 < nleaves && sample[(i + 2) * step - 1] == key &&
		(i == 0 || sample[i * step - 1] != key))
		key = key - (Key) 1;
	return key;
}

/* Shared memory of block_pick_splitters for a segment of nbuckets buckets. */
template <typename Key>
static __host__ __device__ constexpr size_t
pick_shared_bytes(uint32_t nbuckets)
{
	return nbuckets * sizeof(Key) + SAMPLE_CELLS * sizeof(uint32_t);
}

/*
 * Picks splitters from the sorted sample, and makes the table to find buckets by, of one segment: number -1
 * is the one of level 0, of ways buckets, and if there are two levels, 0 and following are these buckets.
 * leaf_splitters are those of all leaves.  For all threads of a block.
 */
template <typename Key, int THREADS>
static __device__ __forceinline__ void
block_pick_splitters(const Key *sample, uint32_t nsamples, uint32_t nleaves, uint32_t ways, int number,
					 const BucketTables<Key> &tables, Key *leaf_splitters, char *shared)
{
	constexpr uint32_t CELLS_A_THREAD = SAMPLE_CELLS / THREADS;
	__shared__ uint32_t warp_sums[WARP_SIZE + 1];
	uint32_t *counts = (uint32_t *) shared;
	Key *picked = (Key *) (counts + SAMPLE_CELLS);
	bool is_first = number < 0;
	uint32_t segment = is_first ? 0 : (uint32_t) number;
	uint32_t leaves_a_bucket = nleaves / ways;
	uint32_t nbuckets = is_first ? ways : leaves_a_bucket;
	uint32_t before = 0;
	uint32_t largest = 0;
	uint32_t total;
	Key low;
	int shift;
	bool crowded;

	for (uint32_t i = threadIdx.x; i < SAMPLE_CELLS; i += THREADS)
		counts[i] = 0;
	for (uint32_t i = threadIdx.x; i < nbuckets; i += THREADS)
	{
		uint32_t leaf = is_first ? (i + 1) * leaves_a_bucket - 1 : segment * nbuckets + i;
		Key splitter =
			leaf + 1 < nleaves ? pick_splitter(sample, nsamples / nleaves, nleaves, leaf) : ~(Key) 0;

		picked[i] = splitter;
		tables.splitters[segment * nbuckets + i] = splitter;
		if (!is_first || leaves_a_bucket == 1)
			leaf_splitters[leaf] = splitter;
	}
	__syncthreads();

	low = picked[0];
	shift = max(0, key_width(picked[nbuckets - 2] - low) - SAMPLE_LOG_CELLS);
	for (uint32_t i = threadIdx.x; i < nbuckets - 1; i += THREADS)
		atomicAdd(&counts[key_bits_from(picked[i] - low, shift)], 1u);
	__syncthreads();

	for (uint32_t i = 0; i < CELLS_A_THREAD; i++)
	{
		before += counts[threadIdx.x * CELLS_A_THREAD + i];
		largest = max(largest, counts[threadIdx.x * CELLS_A_THREAD + i]);
	}
	crowded = __syncthreads_or(largest > SAMPLE_CELL_MOST);
	if (threadIdx.x == 0)
		tables.ranges[segment] = {low, picked[nbuckets - 2], shift, crowded};
	if (crowded)
		return;
	before = block_exclusive_sum(before, warp_sums, &total);
	for (uint32_t i = 0; i < CELLS_A_THREAD; i++)
	{
		uint32_t cell = threadIdx.x * CELLS_A_THREAD + i;
		uint32_t count = counts[cell];

		tables.cells[(size_t) segment * SAMPLE_CELLS + cell] =
			(uint16_t) (count << CELL_BEFORE_BITS | before);
		before += count;
	}
}

/*
 * Picks the splitters of two levels: block 0 those of the first, and a block for each of its ways buckets
 * those of the second.
 */
template <typename Key>
static __global__ void
__launch_bounds__(SAMPLE_PICK_THREADS)
	pick_splitters_kernel(const Key *sample, uint32_t nsamples, uint32_t nleaves, uint32_t ways,
						  BucketTables<Key> first, BucketTables<Key> second, Key *leaf_splitters)
{
	__shared__ __align__(16) char shared[pick_shared_bytes<Key>(1 << SAMPLE_MOST_LOG_WAYS)];

	block_pick_splitters<Key, SAMPLE_PICK_THREADS>(sample, nsamples, nleaves, ways, (int) blockIdx.x - 1,
												   blockIdx.x == 0 ? first : second, leaf_splitters, shared);
}

/* Does this leaf hold one key only, whatever it holds? */
template <typename Key>
static __device__ __forceinline__ bool
leaf_has_one_key(const Key *splitters, uint32_t nleaves, uint32_t leaf)
{
	Key last = leaf + 1 < nleaves ? splitters[leaf] : ~(Key) 0;

	return leaf == 0 ? last == (Key) 0 : last - splitters[leaf - 1] <= (Key) 1;
}

/* A segment's table in a block's shared memory. */
template <typename Key>
struct BucketFinder
{
	BucketRange<Key> range;
	int log_ways;
	uint32_t nsplitters;
	uint16_t *cells; /* first: they are copied by 16 bytes at a time */
	/*
	 * In order; or, if keys are crowded, a complete binary search tree, node 1 the root, nodes 2j and 2j + 1
	 * the children of j (section 5, Algorithm 2).
	 */
	Key *splitters;

	/* Loads it.  For all threads of a block; a barrier must follow. */
	__device__ __forceinline__ BucketFinder(const BucketTables<Key> &tables, uint32_t segment, int log_ways,
											char *shared)
		: range(tables.ranges[segment]), log_ways(log_ways), nsplitters((1u << log_ways) - 1),
		  cells((uint16_t *) shared), splitters((Key *) (cells + SAMPLE_CELLS))
	{
		const Key *of_segment = tables.splitters + ((size_t) segment << log_ways);
		const uint4 *from = (const uint4 *) (tables.cells + (size_t) segment * SAMPLE_CELLS);

		if (range.crowded)
		{
			for (uint32_t node = threadIdx.x + 1; node <= nsplitters; node += blockDim.x)
			{
				int depth = 31 - __clz((int) node);
				uint32_t place = (2 * (node - (1u << depth)) + 1) << (log_ways - depth - 1);

				splitters[node] = of_segment[place - 1];
			}
			return;
		}
		for (uint32_t i = threadIdx.x; i < nsplitters; i += blockDim.x)
			splitters[i] = of_segment[i];
		for (uint32_t i = threadIdx.x; i < SAMPLE_CELLS * sizeof(uint16_t) / sizeof(uint4); i += blockDim.x)
			((uint4 *) cells)[i] = from[i];
	}

	/* Finds the buckets of ITEMS keys at once: how many splitters are less than each. */
	template <int ITEMS>
	__device__ __forceinline__ void find(const Key (&keys)[ITEMS], uint32_t (&buckets)[ITEMS]) const
	{
		if (range.crowded)
			walk(keys, buckets);
		else
			look_up(keys, buckets);
	}

	/* Down the tree, without branches. */
	template <int ITEMS>
	__device__ __forceinline__ void walk(const Key (&keys)[ITEMS], uint32_t (&buckets)[ITEMS]) const
	{
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			buckets[i] = 1;
		for (int level = 0; level < log_ways; level++)
		{
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				buckets[i] = 2 * buckets[i] + (keys[i] > splitters[buckets[i]]);
		}
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			buckets[i] -= 1u << log_ways;
	}

	/* By the key's cell, and a search among its splitters. */
	template <int ITEMS>
	__device__ __forceinline__ void look_up(const Key (&keys)[ITEMS], uint32_t (&buckets)[ITEMS]) const
	{
		uint32_t left[ITEMS]; /* splitters that are still to be compared, from buckets[] on */
		uint32_t any_left = 0;

#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			buckets[i] = keys[i] > range.last ? nsplitters : 0;
			left[i] = 0;
			if (range.first < keys[i] && buckets[i] == 0)
			{
				uint32_t cell = cells[key_bits_from(keys[i] - range.first, range.shift)];

				buckets[i] = cell & ((1u << CELL_BEFORE_BITS) - 1);
				left[i] = cell >> CELL_BEFORE_BITS;
			}
			any_left |= left[i];
		}
		while (any_left > 0)
		{
			any_left = 0;
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
			{
				uint32_t half = left[i] / 2;

				if (left[i] > 0)
				{
					bool above = keys[i] > splitters[buckets[i] + half];

					buckets[i] += above ? half + 1 : 0;
					left[i] = above ? left[i] - half - 1 : half;
					any_left |= left[i];
				}
			}
		}
	}
};

/* Shared memory of a BucketFinder. */
template <typename Key>
static __host__ __device__ inline size_t
bucket_finder_bytes(int log_ways)
{
	return (sizeof(Key) << log_ways) + SAMPLE_CELLS * sizeof(uint16_t);
}

#endif /* DEVSORT_SAMPLE_SPLITTERS_CUH */
