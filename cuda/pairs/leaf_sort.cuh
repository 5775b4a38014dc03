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
 * Where keys are not evenly spread: sub-buckets of one repeated key need no comparisons; where the others
 * would take many, they are cut once more, by the bits at which their keys begin to differ, into as many
 * parts as they have keys; and a leaf that would still take too many is put on a list for hard_leaf_kernel, a
 * merge sort, whose time depends on nothing.  A kernel that can cut has fewer registers for leaves that need
 * no cut: there are two, and the job says which (pair_sort.h, keys_crowd).
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
 * An entry of the starts: where the sub-bucket begins, and above it, if the sub-bucket is large, how many of
 * the last bits differ among its keys, as distances from the smallest of the leaf.
 */
#define SUB_BUCKET_WIDTH_SHIFT 16
#define SUB_BUCKET_START_MASK 0xFFFFu

/* Finds the widths of the large sub-buckets.  Returns the comparisons to rank by.  For all threads. */
template <typename Key, int THREADS>
static __device__ __forceinline__ uint32_t
find_widths(const Key *keys, uint32_t *starts, uint32_t n, Key low, int shift)
{
	__shared__ uint32_t work;
	uint32_t mine = 0;

	if (threadIdx.x == 0)
		work = 0;
	for (uint32_t at = threadIdx.x; at < n; at += THREADS)
	{
		uint32_t sub = key_bits_from(keys[at] - low, shift);
		uint32_t entry = *(volatile uint32_t *) &starts[sub];
		uint32_t start = entry & SUB_BUCKET_START_MASK;
		uint32_t size = (*(volatile uint32_t *) &starts[sub + 1] & SUB_BUCKET_START_MASK) - start;

		if (size > LEAF_SMALL_SUB_BUCKET)
		{
			uint32_t width = key_width((keys[at] - low) ^ (keys[start] - low));

			if (width > entry >> SUB_BUCKET_WIDTH_SHIFT)
				atomicMax(&starts[sub], width << SUB_BUCKET_WIDTH_SHIFT | start);
		}
	}
	__syncthreads();
	for (uint32_t at = threadIdx.x; at < n; at += THREADS)
	{
		uint32_t sub = key_bits_from(keys[at] - low, shift);
		uint32_t entry = starts[sub];

		if (entry >> SUB_BUCKET_WIDTH_SHIFT != 0)
			mine += (starts[sub + 1] & SUB_BUCKET_START_MASK) - (entry & SUB_BUCKET_START_MASK);
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

/* Numbers of 16 bits in shared memory, two in a word. */
struct ShortCounts
{
	uint32_t *words;

	__device__ __forceinline__ uint32_t operator[](uint32_t i) const
	{
		return words[i / 2] >> (i % 2 * 16) & 0xFFFF;
	}

	/* Adds one, and returns what was there. */
	__device__ __forceinline__ uint32_t count(uint32_t i) const
	{
		return atomicAdd(&words[i / 2], 1u << (i % 2 * 16)) >> (i % 2 * 16) & 0xFFFF;
	}
};

/* Turns two counts into the sums of those before each, and adds both to *before. */
static __device__ __forceinline__ uint32_t
sum_short_pair(uint32_t pair, uint32_t *before)
{
	uint32_t first = *before;
	uint32_t second = first + (pair & 0xFFFF);

	*before = second + (pair >> 16);
	return first | second << 16;
}

/* Turns the counts, eight for each thread, into the sums of those before.  For all threads. */
static __device__ __forceinline__ void
sum_short_counts(ShortCounts counts)
{
	__shared__ uint32_t warp_sums[WARP_SIZE + 1];
	uint4 pairs = ((uint4 *) counts.words)[threadIdx.x];
	uint32_t sum = pairs.x + pairs.y + pairs.z + pairs.w;
	uint32_t total;
	uint32_t before = block_exclusive_sum((sum & 0xFFFF) + (sum >> 16), warp_sums, &total);

	pairs.x = sum_short_pair(pairs.x, &before);
	pairs.y = sum_short_pair(pairs.y, &before);
	pairs.z = sum_short_pair(pairs.z, &before);
	pairs.w = sum_short_pair(pairs.w, &before);
	((uint4 *) counts.words)[threadIdx.x] = pairs;
	__syncthreads();
}

/* Where the part of a leaf that begins at this slot ends. */
static __device__ __forceinline__ uint32_t
part_end(ShortCounts parts, uint32_t slot, uint32_t n)
{
	return slot + 1 < n ? parts[slot + 1] : n;
}

/*
 * Ranks the n pairs of a leaf, which are in order of their sub-buckets, by parts of these: every large
 * sub-bucket of different keys is cut into as many as it has places, of which each has a slot.  held becomes
 * this thread's keys, threadIdx.x and every THREADS-th further, and place where each goes; the keys are no
 * longer where they were.  False, and nothing is moved, if that would take too many comparisons.  What begins
 * at a slot is counted where the starts were.  For all threads; ends with a barrier.
 */
template <typename Key, int THREADS>
static __device__ __forceinline__ bool
rank_in_parts(Key *keys, uint32_t *starts, uint32_t n, Key low, int shift, uint32_t most_work,
			  Key (&held)[LEAF_ITEMS], uint32_t (&place)[LEAF_ITEMS])
{
	static_assert(SubBuckets<THREADS>::COUNT * 2 == THREADS * LEAF_ITEMS, "two slots for each start");
	__shared__ uint32_t work;
	ShortCounts parts = {starts};
	uint32_t mine = 0;

#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * THREADS;

		if (at < n)
		{
			Key distance = keys[at] - low;
			uint32_t sub = key_bits_from(distance, shift);
			int width = (int) (starts[sub] >> SUB_BUCKET_WIDTH_SHIFT);
			uint32_t start = starts[sub] & SUB_BUCKET_START_MASK;
			uint32_t size = (starts[sub + 1] & SUB_BUCKET_START_MASK) - start;

			held[i] = keys[at];
			place[i] = size <= LEAF_SMALL_SUB_BUCKET ? start : at;
			if (width > 0)
			{
				int bits = min(width, 31 - __clz((int) size));

				place[i] = start + (key_bits_from(distance, width - bits) & ((1u << bits) - 1));
			}
		}
	}
	__syncthreads();
	if (threadIdx.x == 0)
		work = 0;
	((uint4 *) starts)[threadIdx.x] = make_uint4(0, 0, 0, 0);
	__syncthreads();
#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		if (threadIdx.x + i * THREADS < n)
			place[i] = place[i] << 16 | parts.count(place[i]);
	}
	__syncthreads();
	sum_short_counts(parts);
#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		if (threadIdx.x + i * THREADS < n)
			mine += part_end(parts, place[i] >> 16, n) - parts[place[i] >> 16];
	}
	atomicAdd(&work, mine);
	__syncthreads();
	if (work > most_work)
		return false;
#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		if (threadIdx.x + i * THREADS < n)
			keys[parts[place[i] >> 16] + (place[i] & 0xFFFF)] = held[i];
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		if (threadIdx.x + i * THREADS < n)
		{
			uint32_t slot = place[i] >> 16;
			uint32_t start = parts[slot];

			place[i] = rank_in_sub_bucket(keys, start + (place[i] & 0xFFFF), held[i], start,
										  part_end(parts, slot, n));
		}
	}
	__syncthreads();
	return true;
}

/*
 * Moves a leaf's pairs to their places, in shared memory: held and place are what rank_in_parts left.  For
 * all threads; ends with a barrier.
 */
template <typename Key, bool has_values, int THREADS>
static __device__ __forceinline__ void
move_ranked(Key *keys, uint32_t *values, uint32_t n, const Key (&held)[LEAF_ITEMS],
			const uint32_t (&place)[LEAF_ITEMS])
{
	uint32_t value[LEAF_ITEMS];

#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * THREADS;

		if (at < n)
		{
			keys[place[i]] = held[i];
			if (has_values)
				value[i] = values[at];
		}
	}
	__syncthreads();
	if (has_values)
	{
#pragma unroll
		for (int i = 0; i < LEAF_ITEMS; i++)
		{
			if (threadIdx.x + i * THREADS < n)
				values[place[i]] = value[i];
		}
		__syncthreads();
	}
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
template <typename Key, bool has_values, bool CUTS, int THREADS>
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

	if (any_large && shift > 0)
	{
		uint32_t work = find_widths<Key, THREADS>(keys, starts, n, low, shift);

		if (work > n * max_work || (CUTS && work > n * LEAF_UNCUT_WORK))
		{
			bool ranked = false;

			if (CUTS)
				ranked = rank_in_parts<Key, THREADS>(keys, starts, n, low, shift, n * max_work, held, place);
			if (ranked)
				move_ranked<Key, has_values, THREADS>(keys, values, n, held, place);
			for (uint32_t at = threadIdx.x; at < n; at += THREADS)
			{
				pairs.sorted_keys[first + at] = key_order_apply(pairs.order, keys[at]);
				if (has_values)
					pairs.sorted_values[first + at] = values[at];
			}
			return ranked;
		}
	}

	/* From there each to its place, which is near. */
	for (uint32_t at = threadIdx.x; at < n; at += THREADS)
	{
		Key key = keys[at];
		uint32_t sub = key_bits_from(key - low, shift);
		uint32_t start = starts[sub] & SUB_BUCKET_START_MASK;
		uint32_t end = starts[sub + 1] & SUB_BUCKET_START_MASK;
		uint32_t to = at;

		if (shift > 0 && (end - start <= LEAF_SMALL_SUB_BUCKET || starts[sub] >> SUB_BUCKET_WIDTH_SHIFT != 0))
			to = rank_in_sub_bucket(keys, at, key, start, end);
		pairs.sorted_keys[first + to] = key_order_apply(pairs.order, key);
		if (has_values)
			pairs.sorted_values[first + to] = values[at];
	}
	return true;
}

/* Sorts the leaves of one class, a block as many as come to it, and lists the hard ones. */
template <typename Key, bool has_values, bool CUTS, int THREADS>
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

		if (!block_sort_leaf<Key, has_values, CUTS, THREADS>(pairs, first, n, leaves.max_work, starts, keys,
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
