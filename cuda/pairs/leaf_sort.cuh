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
 * Where keys are not evenly spread, but crowd together, the others would be many: crowded_leaf.cuh has
 * another way for these leaves.  Here sub-buckets of one repeated key need no comparisons, and a leaf that
 * would still take too many is left to a merge sort, whose time depends on nothing.
 */
#ifndef DEVSORT_LEAF_SORT_CUH
#define DEVSORT_LEAF_SORT_CUH

#include "pairs/sample_splitters.cuh"
#include "primitives/block_scan.cuh"

#define LEAF_LINE 32 /* values of 4 bytes in a line of the cache */
#define LEAF_THREADS_SMALL 256
#define LEAF_THREADS_MEDIUM 512
#define LEAF_THREADS_LARGE 1024

/* Where the leaves' pairs are, and where they go. */
template <typename Key>
struct LeafPairs
{
	const Key *keys;
	const uint32_t *values;
	Key *sorted_keys; /* may be the same as keys */
	uint32_t *sorted_values;
	KeyOrder order;
};

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
 * An entry of the starts: where the sub-bucket begins, and above it, whether its keys are known to differ.
 */
#define SUB_BUCKET_MIXED (1u << 16)
#define SUB_BUCKET_START_MASK (SUB_BUCKET_MIXED - 1)

/*
 * Marks the sub-buckets of different keys.  sub_bucket_at(at) tells which one the key at this place is in.
 * Returns how many comparisons ranking takes in these alone.  For all threads; ends with a barrier.
 */
template <int THREADS, typename Key, typename SubBucketAt>
static __device__ __forceinline__ uint32_t
mark_mixed(const Key *keys, uint32_t *starts, uint32_t n, SubBucketAt sub_bucket_at)
{
	__shared__ uint32_t work;
	uint32_t mine = 0;

	if (threadIdx.x == 0)
		work = 0;
	for (uint32_t at = threadIdx.x; at < n; at += THREADS)
	{
		uint32_t sub = sub_bucket_at(at);
		uint32_t entry = *(volatile uint32_t *) &starts[sub];

		if (!(entry & SUB_BUCKET_MIXED) && keys[at] != keys[entry])
			atomicOr(&starts[sub], SUB_BUCKET_MIXED);
	}
	__syncthreads();
	for (uint32_t at = threadIdx.x; at < n; at += THREADS)
	{
		uint32_t sub = sub_bucket_at(at);

		if (starts[sub] & SUB_BUCKET_MIXED)
			mine += (starts[sub + 1] & SUB_BUCKET_START_MASK) - (starts[sub] & SUB_BUCKET_START_MASK);
	}
	if (mine > 0)
		atomicAdd(&work, mine);
	__syncthreads();
	return work;
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

/* Each thread takes every THREADS-th key of a leaf, as it orders; values are fetched ahead. */
template <typename Key, bool has_values, int THREADS>
static __device__ __forceinline__ void
load_leaf(const LeafPairs<Key> &pairs, uint32_t first, uint32_t n, Key (&held)[LEAF_ITEMS])
{
#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * THREADS;

		held[i] = at < n ? key_order_apply(pairs.order, pairs.keys[first + at]) : (Key) 0;
	}
	if (has_values && threadIdx.x * LEAF_LINE < n)
		prefetch_line(&pairs.values[first + threadIdx.x * LEAF_LINE]);
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
	Key held[LEAF_ITEMS];
	uint32_t place[LEAF_ITEMS]; /* sub-bucket << RANK_BITS | rank in it */
	Key low;
	Key range;
	int shift;
	bool any_large;

	load_leaf<Key, has_values, THREADS>(pairs, first, n, held);
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

	if (any_large && shift > 0 && mark_mixed<THREADS>(keys, starts, n, [=](uint32_t at) {
									  return key_bits_from(keys[at] - low, shift);
								  }) > n * max_work)
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
		uint32_t start = starts[sub] & SUB_BUCKET_START_MASK;
		uint32_t end = starts[sub + 1] & SUB_BUCKET_START_MASK;
		uint32_t to = at;

		if (shift > 0 && (end - start <= LEAF_SMALL_SUB_BUCKET || (starts[sub] & SUB_BUCKET_MIXED)))
			to = rank_in_sub_bucket(keys, at, key, start, end);
		pairs.sorted_keys[first + to] = key_order_apply(pairs.order, key);
		if (has_values)
			pairs.sorted_values[first + to] = values[at];
	}
	return true;
}

#endif /* DEVSORT_LEAF_SORT_CUH */
