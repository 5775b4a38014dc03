/*
 * crowded_leaf.cuh
 *		The base case of the sample sort for leaves whose keys crowd together.
 *
 * leaf_sort.cuh puts a leaf's keys into sub-buckets of equal width.  Where keys are far from evenly spread, a
 * few of these take most of them.  Here a sample of the leaf's own keys, sorted, cuts it into parts of about
 * as many keys, and each part into as many sub-buckets, of a width of its own.  Finding a key's part takes a
 * search of five to seven steps, and in return a pair has about twenty others to compare itself with, in
 * place of a hundred and more.
 *
 * A key that the sample has twice is frequent, and gets a part of its own, as in sample_splitters.cuh.  What
 * still takes too many comparisons is left to the merge sort.
 */
#ifndef DEVSORT_CROWDED_LEAF_CUH
#define DEVSORT_CROWDED_LEAF_CUH

#include "pairs/leaf_sort.cuh"

/* A leaf in a block's shared memory. */
template <typename Key, int THREADS>
struct CrowdedLeaf
{
	static constexpr int PARTS = THREADS / LEAF_PART_THREADS;
	static constexpr int LOG_PARTS = PARTS == 32 ? 5 : PARTS == 64 ? 6 : PARTS == 128 ? 7 : 8;
	static constexpr int LOG_PART_BUCKETS = SubBuckets<THREADS>::LOG_COUNT - LOG_PARTS;
	static_assert(PARTS == 1 << LOG_PARTS, "32 to 256 parts");

	uint32_t *starts; /* of the sub-buckets, and n */
	Key *keys;		  /* in order of their sub-buckets */
	Key *below;		  /* PARTS: part p has the keys in (below[p], below[p + 1]], the first also below[0] */
	Key *sample;	  /* PARTS */
	uint32_t *shifts; /* PARTS: a key's distance from below[p], shifted by this, is its sub-bucket in p */
	uint16_t *sub_buckets; /* of each key */
	uint32_t *values;

	/* For as many keys as a multiple of 8. */
	__device__ __forceinline__ CrowdedLeaf(char *shared, uint32_t capacity)
		: starts((uint32_t *) shared), keys((Key *) (starts + SubBuckets<THREADS>::COUNT + 4)),
		  below(keys + capacity), sample(below + PARTS), shifts((uint32_t *) (sample + PARTS)),
		  sub_buckets((uint16_t *) (shifts + PARTS)), values((uint32_t *) (sub_buckets + capacity))
	{
	}

	/* The sub-bucket of a key. */
	__device__ __forceinline__ uint32_t find(const Key &key) const
	{
		uint32_t part = 0;

#pragma unroll
		for (int half = PARTS / 2; half > 0; half /= 2)
			part += key > below[part + half] ? half : 0;
		return part << LOG_PART_BUCKETS | key_bits_from(key - below[part], shifts[part]);
	}
};

/* Shared memory of a CrowdedLeaf; n a multiple of 8. */
template <typename Key, bool has_values, int THREADS>
static inline size_t
crowded_leaf_bytes(uint32_t capacity)
{
	return capacity * (sizeof(Key) + sizeof(uint16_t) + (has_values ? sizeof(uint32_t) : 0)) +
		   (SubBuckets<THREADS>::COUNT + 4) * sizeof(uint32_t) +
		   CrowdedLeaf<Key, THREADS>::PARTS * (2 * sizeof(Key) + sizeof(uint32_t));
}

/*
 * Takes a key of every LEAF_PART_THREADS-th thread, out of all rows of the leaf that are complete.  n is at
 * least THREADS.
 */
template <typename Key, int THREADS>
static __device__ __forceinline__ void
draw_leaf_sample(const CrowdedLeaf<Key, THREADS> &leaf, const Key (&held)[LEAF_ITEMS], uint32_t n)
{
	uint32_t i = threadIdx.x / LEAF_PART_THREADS;
	uint32_t row = i % (n / THREADS);

	if (threadIdx.x % LEAF_PART_THREADS != 0)
		return;
#pragma unroll
	for (int item = 0; item < LEAF_ITEMS; item++)
		if (row == (uint32_t) item)
			leaf.sample[i] = held[item];
}

/* Sorts the sample to `below`, each key by counting those before it.  Ends with a barrier. */
template <typename Key, int THREADS>
static __device__ __forceinline__ void
sort_leaf_sample(const CrowdedLeaf<Key, THREADS> &leaf)
{
	constexpr int PARTS = CrowdedLeaf<Key, THREADS>::PARTS;
	uint32_t i = threadIdx.x / LEAF_PART_THREADS;
	Key key = leaf.sample[i];
	uint32_t minus_before = 0;

#pragma unroll 8
	for (uint32_t other = threadIdx.x % LEAF_PART_THREADS; other < PARTS; other += LEAF_PART_THREADS)
		count_down_if_before(&minus_before, leaf.sample[other], other, key, i);
	for (int distance = LEAF_PART_THREADS / 2; distance > 0; distance /= 2)
		minus_before += __shfl_xor_sync(ALL_LANES, minus_before, distance);
	if (threadIdx.x % LEAF_PART_THREADS == 0)
		leaf.below[0u - minus_before] = key;
	__syncthreads();
}

/*
 * What parts 1 and following begin above, of the sorted sample: the first of several equal keys is lowered by
 * one, so that the part from there to the next holds no other.
 */
template <typename Key, int PARTS>
static __device__ __forceinline__ Key
pick_below(const Key *sorted, uint32_t part, Key low)
{
	Key key = sorted[part];

	if (key != low && part + 1 < PARTS && sorted[part + 1] == key && (part == 1 || sorted[part - 1] != key))
		key = key - (Key) 1;
	return key;
}

/* Cuts the leaf, all of whose keys are from low to high, into parts.  Ends with a barrier. */
template <typename Key, int THREADS>
static __device__ __forceinline__ void
cut_into_parts(const CrowdedLeaf<Key, THREADS> &leaf, Key low, Key high)
{
	constexpr int PARTS = CrowdedLeaf<Key, THREADS>::PARTS;
	uint32_t part = threadIdx.x;
	Key begin = low;

	sort_leaf_sample(leaf);
	if (part < PARTS)
	{
		Key end = high;

		if (part > 0)
			begin = pick_below<Key, PARTS>(leaf.below, part, low);
		if (part + 1 < PARTS)
			end = pick_below<Key, PARTS>(leaf.below, part + 1, low);
		leaf.shifts[part] =
			(uint32_t) max(0, key_width(end - begin) - CrowdedLeaf<Key, THREADS>::LOG_PART_BUCKETS);
	}
	__syncthreads();
	if (part < PARTS)
		leaf.below[part] = begin;
	__syncthreads();
}

/*
 * Puts the leaf's keys, of which each thread holds some, and their values in order of their sub-buckets.
 * Returns how many comparisons ranking takes.  The starts are zeros.  Ends with a barrier.
 */
template <typename Key, bool has_values, int THREADS>
static __device__ __forceinline__ uint32_t
distribute_leaf(const CrowdedLeaf<Key, THREADS> &leaf, const Key (&held)[LEAF_ITEMS], const uint32_t *values,
				uint32_t n)
{
	constexpr int RANK_BITS = SubBuckets<THREADS>::RANK_BITS;
	__shared__ uint32_t work;
	uint32_t place[LEAF_ITEMS]; /* sub-bucket << RANK_BITS | rank in it */
	uint4 sizes;

	if (threadIdx.x == 0)
		work = 0;
#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		if (threadIdx.x + i * THREADS < n)
		{
			uint32_t sub = leaf.find(held[i]);

			place[i] = sub << RANK_BITS | atomicAdd(&leaf.starts[sub], 1u);
		}
	}
	__syncthreads();
	sizes = ((uint4 *) leaf.starts)[threadIdx.x];
	atomicAdd(&work, sizes.x * sizes.x + sizes.y * sizes.y + sizes.z * sizes.z + sizes.w * sizes.w);
	(void) start_sub_buckets<THREADS>(leaf.starts, n);
#pragma unroll
	for (int i = 0; i < LEAF_ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * THREADS;

		if (at < n)
		{
			uint32_t sub = place[i] >> RANK_BITS;
			uint32_t to = leaf.starts[sub] + (place[i] & ((1u << RANK_BITS) - 1));

			leaf.keys[to] = held[i];
			leaf.sub_buckets[to] = (uint16_t) sub;
			if (has_values)
				leaf.values[to] = values[at];
		}
	}
	__syncthreads();
	return work;
}

/*
 * Sorts one leaf, pairs first .. first + n - 1; n is at least THREADS.  False if that would take more than
 * max_work comparisons a pair: then they are copied as they are.  For all threads of the block; the shared
 * memory is free again behind the next barrier.
 */
template <typename Key, bool has_values, int THREADS>
static __device__ __forceinline__ bool
block_sort_crowded_leaf(const LeafPairs<Key> &pairs, uint32_t first, uint32_t n, uint32_t max_work,
						char *shared)
{
	const CrowdedLeaf<Key, THREADS> leaf(shared, (n + 7) / 8 * 8);
	Key held[LEAF_ITEMS];
	Key low;
	Key range;
	uint32_t work;
	bool looked_at = false;

	load_leaf<Key, has_values, THREADS>(pairs, first, n, held);
	((uint4 *) leaf.starts)[threadIdx.x] = make_uint4(0, 0, 0, 0);
	draw_leaf_sample(leaf, held, n);
	low = block_key_range<Key, THREADS>(held, n, &range);
	cut_into_parts(leaf, low, low + range);
	work = distribute_leaf<Key, has_values, THREADS>(leaf, held, has_values ? pairs.values + first : NULL, n);
	if (work > n * LEAF_USUAL_WORK)
	{
		looked_at = true;
		work =
			mark_mixed<THREADS>(leaf.keys, leaf.starts, n, [&](uint32_t at) { return leaf.sub_buckets[at]; });
	}
	for (uint32_t at = threadIdx.x; at < n; at += THREADS)
	{
		Key key = leaf.keys[at];
		uint32_t sub = leaf.sub_buckets[at];
		uint32_t entry = leaf.starts[sub];
		uint32_t to = at;

		if (work <= n * max_work && (!looked_at || (entry & SUB_BUCKET_MIXED)))
			to = rank_in_sub_bucket(leaf.keys, at, key, entry & SUB_BUCKET_START_MASK,
									leaf.starts[sub + 1] & SUB_BUCKET_START_MASK);
		pairs.sorted_keys[first + to] = key_order_apply(pairs.order, key);
		if (has_values)
			pairs.sorted_values[first + to] = leaf.values[at];
	}
	return work <= n * max_work;
}

#endif /* DEVSORT_CROWDED_LEAF_CUH */
