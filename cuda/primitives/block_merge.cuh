/*
 * block_merge.cuh
 *		A merge sort inside one block, in shared memory.
 *
 * Every thread sorts MERGE_ITEMS consecutive pairs in its registers; then runs are merged two by two.  In a
 * merge each thread finds by binary search where its part of the result begins in either run (the merge path)
 * and produces it alone.  Apart from bank conflicts, the work does not depend on the keys.
 */
#ifndef DEVSORT_BLOCK_MERGE_CUH
#define DEVSORT_BLOCK_MERGE_CUH

#include "base/tuning.cuh"
#include "primitives/block_scan.cuh"
#include "primitives/key_order.cuh"

/*
 * Sorts a thread's pairs by odd-even transposition, which leaves equal keys where they are: padding stays
 * last.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
thread_sort(Key (&keys)[MERGE_ITEMS], uint32_t (&values)[MERGE_ITEMS])
{
#pragma unroll
	for (int round = 0; round < MERGE_ITEMS; round++)
	{
#pragma unroll
		for (int i = round & 1; i + 1 < MERGE_ITEMS; i += 2)
		{
			bool swap = keys[i + 1] < keys[i];
			Key key = keys[i];
			uint32_t value = values[i];

			keys[i] = swap ? keys[i + 1] : keys[i];
			keys[i + 1] = swap ? key : keys[i + 1];
			if (has_values)
			{
				values[i] = swap ? values[i + 1] : values[i];
				values[i + 1] = swap ? value : values[i + 1];
			}
		}
	}
}

/* How many of the first `diagonal` pairs of the merged result come from the run a. */
template <typename Key>
static __device__ __forceinline__ uint32_t
merge_path(const Key *a, uint32_t na, const Key *b, uint32_t nb, uint32_t diagonal)
{
	uint32_t low = diagonal > nb ? diagonal - nb : 0;
	uint32_t high = diagonal < na ? diagonal : na;

	while (low < high)
	{
		uint32_t middle = (low + high) / 2;

		if (b[diagonal - 1 - middle] < a[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * Merges runs of `width` pairs, two by two, each thread MERGE_ITEMS pairs of the result; from shared memory
 * to registers.  n is how many pairs there are in all.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
merge_runs(const Key *shared_keys, const uint32_t *shared_values, uint32_t n, uint32_t width,
		   Key (&keys)[MERGE_ITEMS], uint32_t (&values)[MERGE_ITEMS])
{
	uint32_t first = threadIdx.x * MERGE_ITEMS;
	uint32_t start = first / (2 * width) * (2 * width);
	uint32_t a_end = min(start + width, n);
	uint32_t b_end = min(start + 2 * width, n);
	uint32_t a;
	uint32_t b;
	Key a_key;
	Key b_key;

	if (first >= n)
		return;
	a = start +
		merge_path(shared_keys + start, a_end - start, shared_keys + a_end, b_end - a_end, first - start);
	b = a_end + (first - start) - (a - start);
	/* Never past these two runs: other warps may be writing there. */
	a_key = shared_keys[min(a, b_end - 1)];
	b_key = shared_keys[min(b, b_end - 1)];
#pragma unroll
	for (int i = 0; i < MERGE_ITEMS; i++)
	{
		bool take_a = b >= b_end || (a < a_end && !(b_key < a_key));
		uint32_t from = take_a ? a : b;
		Key next = shared_keys[min(from + 1, b_end - 1)];

		keys[i] = take_a ? a_key : b_key;
		if (has_values)
			values[i] = shared_values[min(from, b_end - 1)];
		a_key = take_a ? next : a_key;
		b_key = take_a ? b_key : next;
		a += take_a;
		b += !take_a;
	}
}

/*
 * The block's pairs in shared memory.  Two halves of 4 bytes are sorted as one integer of 8, the value behind
 * the key: one access each instead of two.
 */
template <typename Key, bool has_values>
struct SharedPairs
{
	typedef Key Sorted;
	static constexpr bool SORTS_VALUES = has_values;
	Key *keys;
	uint32_t *values;

	__device__ __forceinline__ SharedPairs(char *shared, uint32_t capacity)
		: keys((Key *) shared), values((uint32_t *) ((Key *) shared + capacity))
	{
	}

	__device__ __forceinline__ void put(uint32_t at, Key key, uint32_t value)
	{
		keys[at] = key;
		if (has_values)
			values[at] = value;
	}

	__device__ __forceinline__ Key key(uint32_t at) const
	{
		return keys[at];
	}

	__device__ __forceinline__ uint32_t value(uint32_t at) const
	{
		return values[at];
	}
};

template <>
struct SharedPairs<uint32_t, true>
{
	typedef uint64_t Sorted;
	static constexpr bool SORTS_VALUES = false;
	uint64_t *keys;
	uint32_t *values;

	__device__ __forceinline__ SharedPairs(char *shared, uint32_t) : keys((uint64_t *) shared), values(NULL)
	{
	}

	__device__ __forceinline__ void put(uint32_t at, uint32_t key, uint32_t value)
	{
		keys[at] = (uint64_t) key << 32 | value;
	}

	__device__ __forceinline__ uint32_t key(uint32_t at) const
	{
		return (uint32_t) (keys[at] >> 32);
	}

	__device__ __forceinline__ uint32_t value(uint32_t at) const
	{
		return (uint32_t) keys[at];
	}
};

template <typename Key, bool has_values>
static inline size_t
shared_pairs_bytes(uint32_t capacity)
{
	return capacity * (sizeof(Key) + (has_values ? sizeof(uint32_t) : 0));
}

/* Waits for the merge of runs of `run` pairs; short runs are exchanged within a warp. */
static __device__ __forceinline__ void
merge_barrier(uint32_t run)
{
	if (run <= WARP_SIZE * MERGE_ITEMS)
		__syncwarp();
	else
		__syncthreads();
}

/*
 * Sorts the n pairs, at most MERGE_ITEMS for each thread of the block, where they are.  All threads call it,
 * after a barrier; the result is there behind a barrier.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
block_merge_sort(const SharedPairs<Key, has_values> &pairs, uint32_t n)
{
	typedef typename SharedPairs<Key, has_values>::Sorted Sorted;
	constexpr bool moves_values = SharedPairs<Key, has_values>::SORTS_VALUES;
	uint32_t first = threadIdx.x * MERGE_ITEMS;
	Sorted keys[MERGE_ITEMS];
	uint32_t values[MERGE_ITEMS];

#pragma unroll
	for (int i = 0; i < MERGE_ITEMS; i++)
	{
		keys[i] = first + i < n ? pairs.keys[first + i] : ~(Sorted) 0;
		values[i] = moves_values && first + i < n ? pairs.values[first + i] : 0;
	}
	thread_sort<Sorted, moves_values>(keys, values);
	for (uint32_t width = MERGE_ITEMS;; width *= 2)
	{
#pragma unroll
		for (int i = 0; i < MERGE_ITEMS; i++)
		{
			if (first + i < n)
			{
				pairs.keys[first + i] = keys[i];
				if (moves_values)
					pairs.values[first + i] = values[i];
			}
		}
		if (width >= n)
			break;
		merge_barrier(2 * width);
		merge_runs<Sorted, moves_values>(pairs.keys, pairs.values, n, width, keys, values);
		merge_barrier(2 * width);
	}
	__syncthreads();
}

/*
 * Which rows a block's pairs are: `first` and following; or, if npieces is not 0, of every npieces *
 * WARP_SIZE rows a piece of WARP_SIZE, another one each time, so that no regularity of the input repeats in
 * it.
 */
struct BlockSource
{
	uint64_t first;
	uint32_t npieces;
	uint32_t piece;
};

#define BLOCK_SOURCE_ROTATION 40503

static __device__ __forceinline__ uint64_t
block_source_row(const BlockSource &source, uint32_t at)
{
	uint32_t round = at / WARP_SIZE;

	if (source.npieces == 0)
		return source.first + at;
	return ((uint64_t) round * source.npieces +
			(source.piece + round * BLOCK_SOURCE_ROTATION) % source.npieces) *
			   WARP_SIZE +
		   at % WARP_SIZE;
}

/*
 * Sorts n pairs of a block, from keys in one order of bytes to sorted_keys, maybe the same rows, in another;
 * they stay in shared memory.
 */
template <typename Key, bool has_values, int THREADS>
static __device__ __forceinline__ void
block_sort_pairs(SharedPairs<Key, has_values> *block, uint32_t n, const Key *keys, const uint32_t *values,
				 BlockSource source, KeyOrder order, Key *sorted_keys, uint32_t *sorted_values,
				 KeyOrder sorted_order)
{
	for (uint32_t at = threadIdx.x; at < n; at += THREADS)
	{
		uint64_t row = block_source_row(source, at);

		block->put(at, key_order_apply(order, keys[row]), has_values ? values[row] : 0);
	}
	__syncthreads();
	block_merge_sort(*block, n);
	for (uint32_t at = threadIdx.x; at < n; at += THREADS)
	{
		sorted_keys[at] = key_order_apply(sorted_order, block->key(at));
		if (has_values)
			sorted_values[at] = block->value(at);
	}
}

#endif /* DEVSORT_BLOCK_MERGE_CUH */
