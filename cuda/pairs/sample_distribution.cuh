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
 *
 * The first of two levels does without phases 2 and 3: its buckets are chains of chunks, each of the size of
 * a tile, that lie anywhere, and the chunks are the tiles of the second level.  So keys are read once less,
 * and what is written at a time lies close together.
 */
#ifndef DEVSORT_SAMPLE_DISTRIBUTION_CUH
#define DEVSORT_SAMPLE_DISTRIBUTION_CUH

#include "pairs/sample_splitters.cuh"
#include "primitives/segment_pieces.cuh"

/* Pairs of a tile, and of a chunk. */
template <typename Key>
struct SampleTile
{
	static constexpr int ITEMS = sizeof(Key) > 8 ? SAMPLE_WIDE_TILE_ITEMS : SAMPLE_TILE_ITEMS;
	static constexpr uint32_t SIZE = SAMPLE_TILE_THREADS * ITEMS;
};

/* Pairs in one array; those of chunks from place `end` on in a second one. */
template <typename Key>
struct PairPlaces
{
	Key *keys;
	uint32_t *values;
	Key *more_keys;
	uint32_t *more_values;
	uint32_t end;

	__device__ __forceinline__ Key *key(uint32_t place) const
	{
		return place < end ? keys + place : more_keys + (place - end);
	}

	__device__ __forceinline__ uint32_t *value(uint32_t place) const
	{
		return place < end ? values + place : more_values + (place - end);
	}
};

/* Which chunk holds which part of a bucket; in device memory. */
struct ChunkDirectory
{
	uint32_t *sizes;   /* of the buckets so far */
	uint32_t *nchunks; /* so far; chunk c has the places from c * SIZE on */
	uint32_t *chunks;  /* 1 + the number of the bucket's part's chunk; 0: there is none yet */
	uint32_t parts;	   /* number of parts of each bucket for which there is room in chunks */
};

/* Phase 2: finds each key's bucket, and adds up the sizes of segment s's buckets at sizes[s << log_ways]. */
template <typename Key, typename Bucket>
static __global__ void
__launch_bounds__(SAMPLE_TILE_THREADS)
	count_buckets_kernel(PairPlaces<Key> from_places, KeyOrder order, Pieces tiles, BucketTables<Key> tables,
						 int log_ways, Bucket *buckets, uint32_t *sizes)
{
	constexpr int BATCH = 8;
	extern __shared__ __align__(16) char shared[];
	uint32_t *counts = (uint32_t *) (shared + bucket_finder_bytes<Key>(log_ways));
	const Key *keys;
	Piece tile;

	if (!block_piece(tiles, &tile))
		return;
	BucketFinder<Key> finder(tables, tile.segment, log_ways, shared);
	keys = from_places.key(tile.start);
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

			batch[i] = at < tile.count ? keys[at] : (Key) 0;
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

/* Shared memory of the kernels that scatter a tile; see ScatterTile. */
template <typename Key>
static inline size_t
scatter_shared_bytes(int log_ways, bool in_chunks)
{
	return SampleTile<Key>::SIZE * (sizeof(Key) + sizeof(uint16_t)) +
		   ((size_t) (in_chunks ? 4 : 2) << log_ways) * sizeof(uint32_t);
}

/*
 * A tile that a block scatters, in shared memory.  targets[t] + place in the tile is a pair's place in the
 * output; t is its bucket, or bucket + ways from place splits[bucket] of the tile on.
 */
template <typename Key>
struct ScatterTile
{
	Key *staged;		 /* keys, then values, in order of their buckets */
	uint16_t *target_at; /* each one's t */
	uint32_t *counts;	 /* ways: how many pairs of the tile; then where they begin in it */
	uint32_t *targets;	 /* ways; of chunks 2 * ways */
	uint32_t *splits;	 /* ways; of chunks only */
	uint32_t ways;

	__device__ __forceinline__ ScatterTile(char *shared, int log_ways)
		: staged((Key *) shared), target_at((uint16_t *) (staged + SampleTile<Key>::SIZE)),
		  counts((uint32_t *) (target_at + SampleTile<Key>::SIZE)), targets(counts + (1u << log_ways)),
		  splits(targets + (2u << log_ways)), ways(1u << log_ways)
	{
	}
};

/*
 * Turns the sizes of a tile's buckets into where each begins in the tile, and reserves room in the output.
 * For all threads of the block.
 */
template <typename Key>
static __device__ __forceinline__ void
reserve_buckets(const ScatterTile<Key> &tile, uint32_t *ends)
{
	__shared__ uint32_t warp_sums[WARP_SIZE + 1];
	uint32_t per_thread = (tile.ways + SAMPLE_TILE_THREADS - 1) / SAMPLE_TILE_THREADS;
	uint32_t first = min(threadIdx.x * per_thread, tile.ways);
	uint32_t last = min(first + per_thread, tile.ways);
	uint32_t sum = 0;
	uint32_t total;

	for (uint32_t i = first; i < last; i++)
		sum += tile.counts[i];
	sum = block_exclusive_sum(sum, warp_sums, &total);
	for (uint32_t i = first; i < last; i++)
	{
		uint32_t count = tile.counts[i];

		tile.counts[i] = sum;
		tile.targets[i] = count > 0 ? atomicAdd(&ends[i], count) - sum : 0;
		sum += count;
	}
}

/* Takes the next chunk for a part of a bucket, and tells the others. */
static __device__ __forceinline__ uint32_t
open_chunk(const ChunkDirectory &directory, uint32_t *chunk)
{
	uint32_t number = atomicAdd(directory.nchunks, 1u);

	atomicExch(chunk, number + 1);
	return number;
}

/*
 * Returns the number of a chunk that is open, or is being opened.  The thread that opens it has reserved the
 * chunk's first place, and waits for no other thread before it publishes the number.
 */
static __device__ __forceinline__ uint32_t
await_chunk(const uint32_t *chunk)
{
	uint32_t number;

	while ((number = *(const volatile uint32_t *) chunk) == 0)
		__nanosleep(20);
	return number - 1;
}

/*
 * As reserve_buckets, in chunks: a tile's part of a bucket, no larger than a chunk, lies in one or two.  Up
 * to SAMPLE_TILE_THREADS ways.
 */
template <typename Key>
static __device__ __forceinline__ void
reserve_in_chunks(const ScatterTile<Key> &tile, const ChunkDirectory &directory)
{
	constexpr uint32_t SIZE = SampleTile<Key>::SIZE;
	__shared__ uint32_t warp_sums[WARP_SIZE + 1];
	uint32_t bucket = threadIdx.x;
	uint32_t count = bucket < tile.ways ? tile.counts[bucket] : 0;
	uint32_t total;
	uint32_t start = block_exclusive_sum(count, warp_sums, &total);
	uint32_t *chunks = directory.chunks + (size_t) bucket * directory.parts;
	uint32_t position;
	uint32_t first;
	uint32_t last;

	if (bucket < tile.ways)
	{
		tile.counts[bucket] = start;
		tile.splits[bucket] = start + count;
	}
	if (count == 0)
		return;
	position = atomicAdd(&directory.sizes[bucket], count);
	first = position / SIZE;
	last = (position + count - 1) / SIZE;
	if (position % SIZE == 0)
		(void) open_chunk(directory, &chunks[first]);
	if (last != first)
	{
		uint32_t split = start + (last * SIZE - position);

		tile.targets[tile.ways + bucket] = open_chunk(directory, &chunks[last]) * SIZE - split;
		tile.splits[bucket] = split;
	}
	tile.targets[bucket] = await_chunk(&chunks[first]) * SIZE + position % SIZE - start;
}

/*
 * Finds each pair's rank among those of its bucket: place[i] is bucket << 16 | rank then.  Ends with a
 * barrier.
 */
template <typename Key, int ITEMS>
static __device__ __forceinline__ void
rank_in_buckets(const ScatterTile<Key> &tile, uint32_t count, uint32_t (&place)[ITEMS])
{
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		if (threadIdx.x + i * SAMPLE_TILE_THREADS < count)
			place[i] = place[i] << 16 | atomicAdd(&tile.counts[place[i]], 1u);
	__syncthreads();
}

/*
 * Writes a tile's pairs to their places, those of a bucket together.  held has the keys, place what
 * rank_in_buckets left.
 */
template <typename Key, bool has_values, bool in_chunks, int ITEMS>
static __device__ __forceinline__ void
scatter_tile(const ScatterTile<Key> &tile, uint32_t count, const Key (&held)[ITEMS], uint32_t (&place)[ITEMS],
			 const uint32_t *values, const PairPlaces<Key> &to)
{
	uint32_t *staged_values = (uint32_t *) tile.staged;
	uint32_t held_values[ITEMS];

#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * SAMPLE_TILE_THREADS;

		if (at < count)
		{
			uint32_t target = place[i] >> 16;

			place[i] = tile.counts[target] + (place[i] & 0xFFFF);
			if (in_chunks && place[i] >= tile.splits[target])
				target += tile.ways;
			tile.staged[place[i]] = held[i];
			tile.target_at[place[i]] = (uint16_t) target;
			if (has_values)
				held_values[i] = values[at];
		}
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * SAMPLE_TILE_THREADS;

		if (at < count)
		{
			uint32_t target = tile.targets[tile.target_at[at]] + at;

			*(in_chunks ? to.key(target) : to.keys + target) = tile.staged[at];
		}
	}
	if (!has_values)
		return;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		if (threadIdx.x + i * SAMPLE_TILE_THREADS < count)
			staged_values[place[i]] = held_values[i];
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * SAMPLE_TILE_THREADS;

		if (at < count)
		{
			uint32_t target = tile.targets[tile.target_at[at]] + at;

			*(in_chunks ? to.value(target) : to.values + target) = staged_values[at];
		}
	}
}

/* Phase 4: moves a tile's pairs to their buckets.  cursors[b] is where the next pair of bucket b goes. */
template <typename Key, typename Bucket, bool has_values>
static __global__ void
__launch_bounds__(SAMPLE_TILE_THREADS, 2)
	scatter_kernel(PairPlaces<Key> from, const Bucket *buckets, Pieces tiles, int log_ways, uint32_t *cursors,
				   PairPlaces<Key> to)
{
	constexpr int ITEMS = SampleTile<Key>::ITEMS;
	extern __shared__ __align__(16) char shared[];
	ScatterTile<Key> tile(shared, log_ways);
	uint32_t place[ITEMS];
	Key held[ITEMS];
	const Key *keys;
	Piece piece;

	if (!block_piece(tiles, &piece))
		return;
	for (uint32_t i = threadIdx.x; i < tile.ways; i += SAMPLE_TILE_THREADS)
		tile.counts[i] = 0;
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * SAMPLE_TILE_THREADS;

		place[i] = at < piece.count ? buckets[piece.start + at] : 0;
	}
	keys = from.key(piece.start);
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * SAMPLE_TILE_THREADS;

		held[i] = at < piece.count ? keys[at] : (Key) 0;
	}
	__syncthreads();
	rank_in_buckets<Key>(tile, piece.count, place);
	reserve_buckets(tile, cursors + ((size_t) piece.segment << log_ways));
	__syncthreads();
	scatter_tile<Key, has_values, false>(tile, piece.count, held, place,
										 has_values ? from.value(piece.start) : NULL, to);
}

/*
 * Phases 2 to 4 at once, of the whole input as one segment: a bucket need not be counted before it is filled
 * if it may lie in chunks, which are taken one by one as they are needed.
 */
template <typename Key, bool has_values>
static __global__ void
__launch_bounds__(SAMPLE_TILE_THREADS, 2)
	scatter_to_chunks_kernel(const Key *keys, const uint32_t *values, uint32_t n, KeyOrder order,
							 BucketTables<Key> tables, int log_ways, ChunkDirectory directory,
							 PairPlaces<Key> to)
{
	constexpr int ITEMS = SampleTile<Key>::ITEMS;
	constexpr int BATCH = 4;
	extern __shared__ __align__(16) char shared[];
	ScatterTile<Key> tile(shared, log_ways);
	uint32_t first = blockIdx.x * SampleTile<Key>::SIZE;
	uint32_t count = min(SampleTile<Key>::SIZE, n - first);
	uint32_t place[ITEMS];
	Key held[ITEMS];

	for (uint32_t i = threadIdx.x; i < tile.ways; i += SAMPLE_TILE_THREADS)
		tile.counts[i] = 0;
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * SAMPLE_TILE_THREADS;

		held[i] = at < count ? keys[first + at] : (Key) 0;
	}
	/* Where keys are staged later. */
	BucketFinder<Key> finder(tables, 0, log_ways, shared);
	__syncthreads();
#pragma unroll
	for (int from = 0; from < ITEMS; from += BATCH)
	{
		Key batch[BATCH];
		uint32_t found[BATCH];

#pragma unroll
		for (int i = 0; i < BATCH; i++)
			batch[i] = key_order_apply(order, held[from + i]);
		finder.find(batch, found);
#pragma unroll
		for (int i = 0; i < BATCH; i++)
			place[from + i] = found[i];
	}
	rank_in_buckets<Key>(tile, count, place);
	reserve_in_chunks(tile, directory);
	__syncthreads();
	scatter_tile<Key, has_values, true>(tile, count, held, place, has_values ? values + first : NULL, to);
}

/*
 * Lists the chunks as the tiles of the next level, those of a segment one after the other.  A block for each
 * segment.
 */
static __global__ void
__launch_bounds__(SAMPLE_TILE_THREADS) list_chunks_kernel(ChunkDirectory directory, Pieces tiles)
{
	__shared__ uint32_t warp_sums[WARP_SIZE + 1];
	uint32_t segment = blockIdx.x;
	uint32_t size = directory.sizes[segment];
	uint32_t count = (size + tiles.size - 1) / tiles.size;
	uint32_t before =
		threadIdx.x < segment ? (directory.sizes[threadIdx.x] + tiles.size - 1) / tiles.size : 0;
	uint32_t first;

	(void) block_exclusive_sum(before, warp_sums, &first);
	if (threadIdx.x == 0 && segment + 1 == tiles.nsegments)
		tiles.firsts[tiles.nsegments] = first + count;
	for (uint32_t i = threadIdx.x; i < count; i += SAMPLE_TILE_THREADS)
	{
		uint32_t chunk = directory.chunks[(size_t) segment * directory.parts + i] - 1;
		Piece piece = {chunk * tiles.size, min(tiles.size, size - i * tiles.size), segment, i};

		tiles.pieces[first + i] = piece;
	}
}

#endif /* DEVSORT_SAMPLE_DISTRIBUTION_CUH */
