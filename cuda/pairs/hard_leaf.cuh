/*
 * hard_leaf.cuh
 *		Leaves whose keys crowd together, so that sub-buckets of equal width leave too many in one.
 *
 * Such a leaf is cut in rounds.  In a round every bucket that is large, and has more than one key, is cut by
 * the bits at which its keys begin to differ: as many bits as make about one sub-bucket a pair.  So a round
 * costs the same whatever the keys are, and what is left after it is cut where it is crowded.  When few
 * comparisons are left, each pair finds its place in its bucket, as in leaf_sort.cuh.
 *
 * Keys that need more rounds than LEAF_MAX_ROUNDS, such as powers of two, are merge sorted, in a time that
 * depends on nothing.
 */
#ifndef DEVSORT_HARD_LEAF_CUH
#define DEVSORT_HARD_LEAF_CUH

#include "pairs/leaf_sort.cuh"

/* times MERGE_ITEMS is enough for any leaf; smaller ones take a quarter or half of it */
#define HARD_LEAF_THREADS 640

/* Pairs that a block of hard_leaf_kernel can sort; none has more than the largest class. */
static __host__ __device__ inline uint32_t
hard_leaf_capacity(const Leaves &leaves, uint32_t threads)
{
	uint32_t most = leaves.capacity[LEAF_CLASSES - 1];

	return threads * MERGE_ITEMS < most ? threads * MERGE_ITEMS : most;
}

/* The block's shared memory while it cuts: keys, then two words a pair and one more. */
template <typename Key>
static __host__ __device__ inline size_t
hard_leaf_shared_bytes(uint32_t capacity)
{
	return capacity * (sizeof(Key) + 2 * sizeof(uint32_t)) + sizeof(uint32_t);
}

/* A bucket of pairs start .. start + size - 1 of a leaf, in a word. */
static __device__ __forceinline__ uint32_t
bucket_pack(uint32_t start, uint32_t size)
{
	return size << 16 | start;
}

static __device__ __forceinline__ uint32_t
bucket_start(uint32_t bucket)
{
	return bucket & 0xFFFF;
}

static __device__ __forceinline__ uint32_t
bucket_size(uint32_t bucket)
{
	return bucket >> 16;
}

/*
 * A leaf while it is cut.  Thread t has pairs t, t + THREADS and so on, as they were read, until the end;
 * what it knows of pair i are the key, the place that it has now, and the bucket that this is in.
 */
template <typename Key, int THREADS>
struct CutLeaf
{
	uint32_t n;
	Key *keys;		  /* in shared memory, by place */
	uint32_t *widths; /* by first place of a bucket: how many of the last bits differ */
	uint32_t *starts; /* n + 1 */
	Key key[MERGE_ITEMS];
	uint32_t place[MERGE_ITEMS];
	uint32_t bucket[MERGE_ITEMS];

	__device__ __forceinline__ bool has(int i) const
	{
		return threadIdx.x + i * THREADS < n;
	}

	__device__ __forceinline__ bool is_large(int i) const
	{
		return has(i) && bucket_size(bucket[i]) > LEAF_SMALL_SUB_BUCKET;
	}
};

/*
 * Finds in how many bits the keys of each large bucket differ.  Pairs in a bucket of one key have found their
 * places, and are a bucket each.  Returns the comparisons that ranking the others would take, the same for
 * all threads.
 */
template <typename Key, int THREADS>
static __device__ __forceinline__ uint32_t
find_widths(CutLeaf<Key, THREADS> &leaf)
{
	__shared__ uint32_t warp_sums[WARP_SIZE + 1];
	uint32_t work = 0;
	uint32_t total;

	for (uint32_t at = threadIdx.x; at < leaf.n; at += THREADS)
	{
		leaf.widths[at] = 0;
		leaf.starts[at] = 0;
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < MERGE_ITEMS; i++)
	{
		if (leaf.is_large(i))
		{
			uint32_t start = bucket_start(leaf.bucket[i]);
			uint32_t width = key_width(leaf.key[i] ^ leaf.keys[start]);

			if (width > *(volatile uint32_t *) &leaf.widths[start])
				atomicMax(&leaf.widths[start], width);
		}
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < MERGE_ITEMS; i++)
	{
		if (leaf.is_large(i))
		{
			if (leaf.widths[bucket_start(leaf.bucket[i])] > 0)
				work += bucket_size(leaf.bucket[i]);
			else
				leaf.bucket[i] = bucket_pack(leaf.place[i], 1);
		}
	}
	(void) block_exclusive_sum(work, warp_sums, &total);
	return total;
}

/* Turns the n numbers into the sums of those before each; starts[n] is n.  Ends with a barrier. */
static __device__ __forceinline__ void
sum_starts(uint32_t *starts, uint32_t n)
{
	__shared__ uint32_t warp_sums[WARP_SIZE + 1];
	uint32_t first = threadIdx.x * MERGE_ITEMS;
	uint32_t sum = 0;
	uint32_t total;

	for (uint32_t i = first; i < min(first + MERGE_ITEMS, n); i++)
		sum += starts[i];
	sum = block_exclusive_sum(sum, warp_sums, &total);
	for (uint32_t i = first; i < min(first + MERGE_ITEMS, n); i++)
	{
		uint32_t count = starts[i];

		starts[i] = sum;
		sum += count;
	}
	if (threadIdx.x == 0)
		starts[n] = n;
	__syncthreads();
}

/*
 * Cuts every large bucket of widths[] bits into sub-buckets, one a place at most; the others stay as they
 * are.  After find_widths; ends with a barrier.
 */
template <typename Key, int THREADS>
static __device__ __forceinline__ void
cut_buckets(CutLeaf<Key, THREADS> &leaf)
{
	uint32_t large = 0; /* a bit a pair */

#pragma unroll
	for (int i = 0; i < MERGE_ITEMS; i++)
	{
		uint32_t slot = leaf.place[i];

		if (leaf.is_large(i))
		{
			uint32_t start = bucket_start(leaf.bucket[i]);
			int width = (int) leaf.widths[start];
			int bits = min(width, 31 - __clz((int) bucket_size(leaf.bucket[i])));

			slot = start + (key_bits_from(leaf.key[i], width - bits) & ((1u << bits) - 1));
			large |= 1u << i;
		}
		if (leaf.has(i))
			leaf.place[i] = slot << 16 | atomicAdd(&leaf.starts[slot], 1u);
	}
	__syncthreads();
	sum_starts(leaf.starts, leaf.n);
#pragma unroll
	for (int i = 0; i < MERGE_ITEMS; i++)
	{
		if (leaf.has(i))
		{
			uint32_t slot = leaf.place[i] >> 16;
			uint32_t start = leaf.starts[slot];

			leaf.place[i] = start + (leaf.place[i] & 0xFFFF);
			if (large >> i & 1)
				leaf.bucket[i] = bucket_pack(start, leaf.starts[slot + 1] - start);
			leaf.keys[leaf.place[i]] = leaf.key[i];
		}
	}
	__syncthreads();
}

/*
 * Sorts a leaf, pairs first .. first + n - 1, by cutting it.  False if that would take too long: then nothing
 * was written.  For all threads of the block; the shared memory is free again behind the next barrier.
 */
template <typename Key, bool has_values, int THREADS>
static __device__ __forceinline__ bool
block_cut_leaf(const Leaves &leaves, const LeafPairs<Key> &pairs, uint32_t first, uint32_t n, char *shared)
{
	uint32_t capacity = hard_leaf_capacity(leaves, THREADS);
	CutLeaf<Key, THREADS> leaf;
	uint32_t *values;

	leaf.n = n;
	leaf.keys = (Key *) shared;
	leaf.widths = (uint32_t *) (leaf.keys + capacity);
	leaf.starts = leaf.widths + capacity;
	values = leaf.widths;
#pragma unroll
	for (int i = 0; i < MERGE_ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * THREADS;

		leaf.place[i] = at;
		leaf.bucket[i] = bucket_pack(0, n);
		if (at < n)
		{
			leaf.key[i] = key_order_apply(pairs.order, pairs.keys[first + at]);
			leaf.keys[at] = leaf.key[i];
		}
	}
	for (uint32_t round = 0; find_widths(leaf) > n * LEAF_FEW_COMPARISONS; round++)
	{
		if (round == leaves.max_rounds)
			return false;
		cut_buckets(leaf);
	}

	/* What stands at a place: its bucket, and the value. */
#pragma unroll
	for (int i = 0; i < MERGE_ITEMS; i++)
	{
		if (leaf.has(i))
		{
			leaf.starts[leaf.place[i]] = leaf.bucket[i];
			if (has_values)
				values[leaf.place[i]] = pairs.values[first + threadIdx.x + i * THREADS];
		}
	}
	__syncthreads();
	for (uint32_t at = threadIdx.x; at < n; at += THREADS)
	{
		Key key = leaf.keys[at];
		uint32_t start = bucket_start(leaf.starts[at]);
		uint32_t to =
			rank_in_sub_bucket(leaf.keys, at, key, start, start + bucket_size(leaf.starts[at]));

		pairs.sorted_keys[first + to] = key_order_apply(pairs.order, key);
		if (has_values)
			pairs.sorted_values[first + to] = values[at];
	}
	return true;
}

/*
 * Sorts the leaves that leaf_sort_kernel gave up: those of more than `above` pairs that fit into this block.
 * cuts: is there the shared memory to cut them, or are they merge sorted?
 */
template <typename Key, bool has_values, int THREADS>
static __global__ void
__launch_bounds__(THREADS) hard_leaf_kernel(Leaves leaves, LeafPairs<Key> pairs, uint32_t above, bool cuts)
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
		if (!cuts || !block_cut_leaf<Key, has_values, THREADS>(leaves, pairs, first, n, shared))
		{
			__syncthreads();
			if (threadIdx.x == 0)
				atomicAdd(&leaves.lengths[LEAF_MERGED], 1u);
			block_sort_pairs<Key, has_values, THREADS>(&block, n, pairs.keys, pairs.values,
													   BlockSource{first, 0, 0}, pairs.order,
													   pairs.sorted_keys + first,
													   pairs.sorted_values + first, pairs.order);
		}
		__syncthreads();
	}
}

#endif /* DEVSORT_HARD_LEAF_CUH */
