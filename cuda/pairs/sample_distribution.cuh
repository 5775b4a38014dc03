/*
 * sample_distribution.cuh
 *		Phases 2 to 4 of the sample sort: count the buckets, add up, scatter.
 *
 * A distribution works on segments, each with splitters of its own: at the first level the whole input is one
 * segment, at the second every bucket of the first is one.  Segments are cut into tiles; a tile is what one
 * block counts and scatters.
 *
 * Leischner, Osipov, Sanders, section 4, recompute the buckets in phase 4 and keep a histogram for each
 * block.  Here phase 2 leaves each pair's bucket number (1 or 2 bytes) for phase 4, and phase 4 reserves room
 * for a tile's part of a bucket by one atomic addition: rows with equal keys may come in any order, so tiles
 * need no order among themselves.  Within a tile pairs are put in order of their buckets in shared memory
 * first, so that what goes to one bucket is written together.
 */
#ifndef DEVSORT_SAMPLE_DISTRIBUTION_CUH
#define DEVSORT_SAMPLE_DISTRIBUTION_CUH

#include "pairs/sample_splitters.cuh"
#include "primitives/segment_pieces.cuh"

/* Phase 2: finds each key's bucket, and adds up the sizes of segment s's buckets at sizes[s << log_ways]. */
template <typename Key, typename Bucket>
static __global__ void
__launch_bounds__(SAMPLE_TILE_THREADS)
	count_buckets_kernel(const Key *keys, KeyOrder order, Pieces tiles, BucketTables<Key> tables, int log_ways,
						 Bucket *buckets, uint32_t *sizes)
{
	constexpr int BATCH = 8;
	extern __shared__ __align__(16) char shared[];
	uint32_t *counts = (uint32_t *) (shared + bucket_finder_bytes<Key>(log_ways));
	Piece tile;

	if (!block_piece(tiles, &tile))
		return;
	BucketFinder<Key> finder(tables, tile.segment, log_ways, shared);
	for (uint32_t i = threadIdx.x; i < (1u << log_ways); i += SAMPLE_TILE_THREADS)
		counts[i] = 0;
	__syncthreads();

	for (uint32_t from = threadIdx.x; from < tile.count; from += BATCH * SAMPLE_TILE_THREADS)
	{
		Key batch[BATCH];
		uint32_t found[BATCH];

#pragma unroll
		for (int i = 0; i < BATCH; i++)
		{
			uint32_t at = from + i * SAMPLE_TILE_THREADS;

			batch[i] = at < tile.count ? keys[tile.start + at] : (Key) 0;
		}
#pragma unroll
		for (int i = 0; i < BATCH; i++)
			batch[i] = key_order_apply(order, batch[i]);
		finder.find(batch, found);
#pragma unroll
		for (int i = 0; i < BATCH; i++)
		{
			uint32_t at = from + i * SAMPLE_TILE_THREADS;

			if (at < tile.count)
			{
				buckets[tile.start + at] = (Bucket) found[i];
				atomicAdd(&counts[found[i]], 1u);
			}
		}
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < (1u << log_ways); i += SAMPLE_TILE_THREADS)
		if (counts[i] > 0)
			atomicAdd(&sizes[((size_t) tile.segment << log_ways) + i], counts[i]);
}

/* Pairs of a tile. */
template <typename Key>
struct SampleTile
{
	static constexpr int ITEMS = sizeof(Key) > 8 ? SAMPLE_WIDE_TILE_ITEMS : SAMPLE_TILE_ITEMS;
	static constexpr uint32_t SIZE = SAMPLE_TILE_THREADS * ITEMS;
};

/* Shared memory of scatter_kernel, in this order. */
template <typename Key>
static inline size_t
scatter_shared_bytes(int log_ways)
{
	return SampleTile<Key>::SIZE * (sizeof(Key) + sizeof(uint16_t)) + ((size_t) 2 << log_ways) * sizeof(uint32_t);
}

/*
 * Turns the sizes of a tile's buckets into where each begins in the tile, and reserves room in the output:
 * target[b] + place in the tile is the place in the output.  For all threads of the block.
 */
static __device__ __forceinline__ void
reserve_buckets(uint32_t *counts, uint32_t *target, uint32_t *ends, int log_ways)
{
	__shared__ uint32_t warp_sums[WARP_SIZE + 1];
	uint32_t ways = 1u << log_ways;
	uint32_t per_thread = (ways + SAMPLE_TILE_THREADS - 1) / SAMPLE_TILE_THREADS;
	uint32_t first = min(threadIdx.x * per_thread, ways);
	uint32_t last = min(first + per_thread, ways);
	uint32_t sum = 0;
	uint32_t total;

	for (uint32_t i = first; i < last; i++)
		sum += counts[i];
	sum = block_exclusive_sum(sum, warp_sums, &total);
	for (uint32_t i = first; i < last; i++)
	{
		uint32_t count = counts[i];

		counts[i] = sum;
		target[i] = count > 0 ? atomicAdd(&ends[i], count) - sum : 0;
		sum += count;
	}
}

/* Phase 4: moves a tile's pairs to their buckets.  cursors[b] is where the next pair of bucket b goes. */
template <typename Key, typename Bucket, bool has_values>
static __global__ void
__launch_bounds__(SAMPLE_TILE_THREADS, 2)
	scatter_kernel(const Key *keys, const uint32_t *values, const Bucket *buckets, Pieces tiles, int log_ways,
				   uint32_t *cursors, Key *to_keys, uint32_t *to_values)
{
	constexpr int ITEMS = SampleTile<Key>::ITEMS;
	extern __shared__ __align__(16) char shared[];
	Key *staged = (Key *) shared;
	uint32_t *staged_values = (uint32_t *) shared;
	uint16_t *bucket_at = (uint16_t *) (staged + SampleTile<Key>::SIZE);
	uint32_t *counts = (uint32_t *) (bucket_at + SampleTile<Key>::SIZE);
	uint32_t *target = counts + (1u << log_ways);
	uint32_t place[ITEMS]; /* bucket << 16 | rank, then the place in the tile */
	Key held[ITEMS];
	uint32_t held_values[ITEMS];
	Piece tile;

	if (!block_piece(tiles, &tile))
		return;
	for (uint32_t i = threadIdx.x; i < (1u << log_ways); i += SAMPLE_TILE_THREADS)
		counts[i] = 0;
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * SAMPLE_TILE_THREADS;

		place[i] = at < tile.count ? buckets[tile.start + at] : 0;
	}
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * SAMPLE_TILE_THREADS;

		held[i] = at < tile.count ? keys[tile.start + at] : (Key) 0;
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		if (threadIdx.x + i * SAMPLE_TILE_THREADS < tile.count)
			place[i] = place[i] << 16 | atomicAdd(&counts[place[i]], 1u);
	__syncthreads();
	reserve_buckets(counts, target, cursors + ((size_t) tile.segment << log_ways), log_ways);
	__syncthreads();

#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * SAMPLE_TILE_THREADS;

		if (at < tile.count)
		{
			uint32_t bucket = place[i] >> 16;

			place[i] = counts[bucket] + (place[i] & 0xFFFF);
			staged[place[i]] = held[i];
			bucket_at[place[i]] = (uint16_t) bucket;
			if (has_values)
				held_values[i] = values[tile.start + at];
		}
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * SAMPLE_TILE_THREADS;

		if (at < tile.count)
			to_keys[target[bucket_at[at]] + at] = staged[at];
	}
	if (!has_values)
		return;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		if (threadIdx.x + i * SAMPLE_TILE_THREADS < tile.count)
			staged_values[place[i]] = held_values[i];
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * SAMPLE_TILE_THREADS;

		if (at < tile.count)
			to_values[target[bucket_at[at]] + at] = staged_values[at];
	}
}

#endif /* DEVSORT_SAMPLE_DISTRIBUTION_CUH */
