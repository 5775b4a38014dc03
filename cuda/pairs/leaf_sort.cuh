/*
 * leaf_sort.cuh
 *		The base case of the sample sort: leaves that one block sorts in shared memory.
 *
 * A leaf's keys lie between two splitters, so they are nearly evenly spread over what is a small range.  One
 * pass puts them into as many sub-buckets as there are half as many places, by their distance from the
 * smallest, in a power of two; then each pair looks at the one or two others of its sub-bucket to find its
 * place.  That is one distribution instead of the many rounds of a merge or radix sort (Leischner, Osipov,
 * Sanders, section 5, "Sorting buckets", use quicksort and a network).
 *
 * Where keys are not evenly spread: sub-buckets of one repeated key need no comparisons; and a leaf whose
 * sub-buckets would take too many is put on a list for hard_leaf_kernel, a merge sort, whose time depends on
 * nothing.
 *
 * Leaves come in classes by size, larger ones first (section 5: scheduled by size), so that small leaves
 * don't hold shared memory that they don't use.
 */
#ifndef DEVSORT_LEAF_SORT_CUH
#define DEVSORT_LEAF_SORT_CUH

#include "pairs/sample_splitters.cuh"
#include "primitives/block_merge.cuh"
#include "primitives/block_scan.cuh"

#define LEAF_CLASSES 3
#define LEAF_LINE 32 /* values of 4 bytes in a line of the cache */
#define LEAF_THREADS_SMALL 256
#define LEAF_THREADS_MEDIUM 512
#define LEAF_THREADS_LARGE 1024
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
	LEAF_KINDS
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

template <typename Key>
struct LeafPairs
{
	const Key *keys;
	const uint32_t *values;
	Key *sorted_keys; /* may be the same as keys */
	uint32_t *sorted_values;
	KeyOrder order;
};

/* Puts every leaf on the list of its kind. */
template <typename Key>
static __global__ void
__launch_bounds__(LEAF_THREADS_SMALL) list_leaves_kernel(Leaves leaves, const Key *splitters)
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

/* The smallest of the block's keys, and how far the largest is from it.  Keys past n are ignored. */
template <typename Key, int THREADS>
static __device__ __forceinline__ Key
block_key_range(const Key (&keys)[LEAF_ITEMS], uint32_t n, Key *range)
{
	__shared__ Key warp_low[THREADS / WARP_SIZE];
	__shared__ Key warp_high[THREADS / WARP_SIZE];
	Key low = ~(Key) 0;
	Key high = (Key) 0;

#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		if (threadIdx.x + i * THREADS < n)
		{
			low = key_min(low, keys[i]);
			high = key_max(high, keys[i]);
		}
	}
	for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2)
	{
		low = key_min(low, key_shuffle_xor(ALL_LANES, low, distance));
		high = key_max(high, key_shuffle_xor(ALL_LANES, high, distance));
	}
	if (threadIdx.x % WARP_SIZE == 0)
	{
		warp_low[threadIdx.x / WARP_SIZE] = low;
		warp_high[threadIdx.x / WARP_SIZE] = high;
	}
	__syncthreads();
	low = warp_low[threadIdx.x % (THREADS / WARP_SIZE)];
	high = warp_high[threadIdx.x % (THREADS / WARP_SIZE)];
	for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2)
	{
		low = key_min(low, key_shuffle_xor(ALL_LANES, low, distance));
		high = key_max(high, key_shuffle_xor(ALL_LANES, high, distance));
	}
	*range = high - low;
	return low;
}

/* Sub-buckets of a leaf, four for each thread of the block. */
template <int THREADS>
struct SubBuckets
{
	static constexpr int COUNT = 4 * THREADS;
	static constexpr int LOG_COUNT = THREADS == 256 ? 10 : THREADS == 512 ? 11 : 12;
	static constexpr int RANK_BITS = LOG_COUNT + 1;
};

/*
 * Turns the sizes of the sub-buckets into their starts; a last one, n, follows.  Is any larger than
 * LEAF_SMALL_SUB_BUCKET?  The same answer for all threads; ends with a barrier.
 */
template <int THREADS>
static __device__ __forceinline__ bool
start_sub_buckets(uint32_t *starts, uint32_t n)
{
	__shared__ uint32_t warp_sums[WARP_SIZE + 1];
	uint4 sizes = ((uint4 *) starts)[threadIdx.x];
	uint32_t largest = max(max(sizes.x, sizes.y), max(sizes.z, sizes.w));
	uint32_t total;
	uint4 mine;

	mine.x = block_exclusive_sum(sizes.x + sizes.y + sizes.z + sizes.w, warp_sums, &total);
	mine.y = mine.x + sizes.x;
	mine.z = mine.y + sizes.y;
	mine.w = mine.z + sizes.z;
	((uint4 *) starts)[threadIdx.x] = mine;
	if (threadIdx.x == 0)
		starts[4 * THREADS] = n;
	return __syncthreads_or(largest > LEAF_SMALL_SUB_BUCKET);
}

/*
 * Marks the large sub-buckets that hold different keys.  Returns false if ranking them would take too long.
 * For all threads.
 */
template <typename Key, int THREADS>
static __device__ bool
mark_mixed_sub_buckets(const Key *keys, const uint32_t *starts, uint32_t n, Key low, int shift,
					   uint32_t max_work, uint32_t *mixed)
{
	__shared__ unsigned long long work;
	unsigned long long mine = 0;

	if (threadIdx.x < SubBuckets<THREADS>::COUNT / 32)
		mixed[threadIdx.x] = 0;
	if (threadIdx.x == 0)
		work = 0;
	__syncthreads();
	for (uint32_t at = threadIdx.x; at < n; at += THREADS)
	{
		uint32_t sub = key_bits_from(keys[at] - low, shift);

		if (starts[sub + 1] - starts[sub] > LEAF_SMALL_SUB_BUCKET && keys[at] != keys[starts[sub]])
			atomicOr(&mixed[sub / 32], 1u << sub % 32);
	}
	__syncthreads();
	for (uint32_t at = threadIdx.x; at < n; at += THREADS)
	{
		uint32_t sub = key_bits_from(keys[at] - low, shift);

		if (mixed[sub / 32] >> sub % 32 & 1)
			mine += starts[sub + 1] - starts[sub];
	}
	if (mine > 0)
		atomicAdd(&work, mine);
	__syncthreads();
	return work <= (unsigned long long) n * max_work;
}

/* The place of the key at `at` in the order of the leaf. */
template <typename Key>
static __device__ __forceinline__ uint32_t
rank_in_sub_bucket(const Key *keys, uint32_t at, Key key, uint32_t start, uint32_t end)
{
	uint32_t minus_before = 0;

	if (end - start == 1)
		return start;
	for (uint32_t other = start; other < end; other++)
		count_down_if_before(&minus_before, keys[other], other, key, at);
	return start - minus_before;
}

/* Has what is at the address fetched into the second-level cache. */
static __device__ __forceinline__ void
prefetch_line(const void *address)
{
	asm volatile("prefetch.global.L2 [%0];" : : "l"(address));
}

template <typename Key, bool has_values>
static inline size_t
leaf_shared_bytes(uint32_t capacity, int threads)
{
	return capacity * (sizeof(Key) + (has_values ? sizeof(uint32_t) : 0)) +
		   (4 * threads + 4) * sizeof(uint32_t);
}

/*
 * Sorts one leaf, pairs first .. first + n - 1.  False if that would take more than max_work comparisons a
 * pair: then they are copied as they are.  For all threads of the block; the shared memory is free again
 * behind the next barrier.
 */
template <typename Key, bool has_values, int THREADS>
static __device__ __forceinline__ bool
block_sort_leaf(const LeafPairs<Key> &pairs, uint32_t first, uint32_t n, uint32_t max_work, uint32_t *starts,
				Key *keys, uint32_t *values)
{
	constexpr int RANK_BITS = SubBuckets<THREADS>::RANK_BITS;
	__shared__ uint32_t mixed[SubBuckets<THREADS>::COUNT / 32];
	Key held[LEAF_ITEMS];
	uint32_t place[LEAF_ITEMS]; /* sub-bucket << RANK_BITS | rank in it */
	Key low;
	Key range;
	int shift;
	bool any_large;

#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * THREADS;

		held[i] = at < n ? key_order_apply(pairs.order, pairs.keys[first + at]) : (Key) 0;
	}
	if (has_values && threadIdx.x * LEAF_LINE < n)
		prefetch_line(&pairs.values[first + threadIdx.x * LEAF_LINE]);
	((uint4 *) starts)[threadIdx.x] = make_uint4(0, 0, 0, 0);
	low = block_key_range<Key, THREADS>(held, n, &range);
	shift = max(0, key_width(range) - SubBuckets<THREADS>::LOG_COUNT);

	/* Into sub-buckets. */
#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		if (threadIdx.x + i * THREADS < n)
		{
			uint32_t sub = key_bits_from(held[i] - low, shift);

			place[i] = sub << RANK_BITS | atomicAdd(&starts[sub], 1u);
		}
	}
	__syncthreads();
	any_large = start_sub_buckets<THREADS>(starts, n);
#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * THREADS;

		if (at < n)
		{
			uint32_t to = starts[place[i] >> RANK_BITS] + (place[i] & ((1u << RANK_BITS) - 1));

			keys[to] = held[i];
			if (has_values)
				values[to] = pairs.values[first + at];
		}
	}
	__syncthreads();

	if (any_large && shift > 0 &&
		!mark_mixed_sub_buckets<Key, THREADS>(keys, starts, n, low, shift, max_work, mixed))
	{
		for (uint32_t at = threadIdx.x; at < n; at += THREADS)
		{
			pairs.sorted_keys[first + at] = key_order_apply(pairs.order, keys[at]);
			if (has_values)
				pairs.sorted_values[first + at] = values[at];
		}
		return false;
	}

	/* From there each to its place, which is near. */
	for (uint32_t at = threadIdx.x; at < n; at += THREADS)
	{
		Key key = keys[at];
		uint32_t sub = key_bits_from(key - low, shift);
		uint32_t start = starts[sub];
		uint32_t end = starts[sub + 1];
		uint32_t to = at;

		if (shift > 0 && (end - start <= LEAF_SMALL_SUB_BUCKET || (mixed[sub / 32] >> sub % 32 & 1)))
			to = rank_in_sub_bucket(keys, at, key, start, end);
		pairs.sorted_keys[first + to] = key_order_apply(pairs.order, key);
		if (has_values)
			pairs.sorted_values[first + to] = values[at];
	}
	return true;
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
	uint32_t nleaves;

	nleaves = leaves.starts ? leaves.lengths[kind] : 1;
	for (uint32_t i = blockIdx.x; i < nleaves; i += gridDim.x)
	{
		uint32_t leaf = leaves.starts ? leaves.lists[(size_t) kind * leaves.count + i] : 0;
		uint32_t first = leaves.starts ? leaves.starts[leaf] : 0;
		uint32_t n = leaves.starts ? leaves.starts[leaf + 1] - first : leaves.n;

		if (!block_sort_leaf<Key, has_values, THREADS>(pairs, first, n, leaves.max_work, starts, keys,
													   values) &&
			threadIdx.x == 0)
			leaves.lists[(size_t) LEAF_HARD * leaves.count + atomicAdd(&leaves.lengths[LEAF_HARD], 1u)] =
				leaf;
		__syncthreads();
	}
}

/*
 * Merge sorts, where they are, the leaves that leaf_sort_kernel gave up: those of more than `above` pairs
 * that fit into this block.
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
 * Sorts keys alone of leaves that are too large for any block, with nobody waiting to sample them again:
 * pieces of half of what a block can sort, two neighbours at a time, by odd-even transposition.  That is slow
 * where a leaf has many pieces.  A block as many as come to it.
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

#endif /* DEVSORT_LEAF_SORT_CUH */
