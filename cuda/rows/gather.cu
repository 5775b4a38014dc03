/*
 * gather.cu
 *		Rows of varying length, written in a given order, one after the other.
 *
 * plan.cu has found each row's place in the result.  The gather shares out bytes of the result, not rows, so
 * that long and short rows keep all blocks equally busy.  The window is cut into chunks of equal length.  A
 * block looks for the row that the chunk begins in, then goes through the chunk tile by tile: it brings where
 * the next GATHER_ROWS rows begin and where they come from into shared memory, and copies all their words.
 * Consecutive threads copy consecutive words of the result, so writes are whole lines whatever the rows'
 * lengths; each thread finds the row of its word by a binary search without branches, and has GATHER_UNROLL
 * words on their way at once.  A row that is longer than a chunk is simply the only one of several chunks;
 * rows without bytes are never found.
 *
 * The host doesn't know how many bytes a window has, and doesn't wait to learn it: the kernel reads it, and
 * computes the chunks for as many blocks as the device runs at once.
 */
#include "rows/plan.h"

/* The gather's blocks; GATHER_ROWS is a power of two. */
#define GATHER_THREADS 256
#define GATHER_ROWS 512
#define GATHER_UNROLL 4

/*
 * Bytes of a chunk, multiples of a line: short enough for every block to get several, long enough to forget
 * the search.
 */
#define GATHER_LINE 128
#define GATHER_CHUNK_MIN ((uint64_t) 4 << 10)
#define GATHER_CHUNK_MAX ((uint64_t) 256 << 10)
#define GATHER_CHUNKS_PER_BLOCK 4

/* What the gather's blocks need to know. */
typedef struct GatherSource
{
	const uint8_t *rows;
	const uint64_t *offsets;
	const uint32_t *order;
	const uint64_t *places; /* sorted_offsets */
	uint64_t first;			/* the window's first row */
	uint64_t end;			/* and the one after its last */
} GatherSource;

/* The rows of one tile. */
typedef struct GatherTile
{
	/* add the offset in the tile, and this is where in `rows` a byte comes from */
	uint64_t origin[GATHER_ROWS];
	/* the word of the tile that the row begins with; TILE_NO_ROW past the last row */
	uint32_t begin[GATHER_ROWS];
	uint64_t end; /* of the tile, in bytes of the window */
} GatherTile;

#define TILE_NO_ROW UINT32_MAX

/* ---- the gather ---- */

/* The length of the chunks of a window for so many blocks. */
static __device__ uint64_t
gather_choose_chunk(uint64_t window_bytes, uint64_t blocks)
{
	uint64_t chunk = window_bytes / (blocks * GATHER_CHUNKS_PER_BLOCK) / GATHER_LINE * GATHER_LINE;

	if (chunk < GATHER_CHUNK_MIN)
		return GATHER_CHUNK_MIN;
	return chunk > GATHER_CHUNK_MAX ? GATHER_CHUNK_MAX : chunk;
}

/* The row of the tile that has this word: the last that doesn't begin after it. */
static __device__ int
tile_find_row(const uint32_t *begin, uint32_t word)
{
	int row = 0;

#pragma unroll
	for (int step = GATHER_ROWS / 2; step > 0; step /= 2)
		row += begin[row + step] <= word ? step : 0;
	return row;
}

/*
 * The row that has the byte at `place` of the result: the last that doesn't begin after it.  All threads of
 * the block look together, each at one of GATHER_THREADS rows with equal distances, until nothing is left
 * between.
 */
static __device__ uint64_t
block_find_row(const GatherSource *source, uint64_t place)
{
	uint64_t low = source->first;
	uint64_t high = source->end;

	while (high - low > 1)
	{
		uint64_t distance = (high - low + GATHER_THREADS - 1) / GATHER_THREADS;
		uint64_t row = low + (threadIdx.x + 1) * distance;
		int before = __syncthreads_count(row < high && source->places[row] <= place);

		low += before * distance;
		high = high - low > distance ? low + distance : high;
	}
	return low;
}

/*
 * Brings the rows from `row` on to shared memory.  The tile begins at byte `begin` of the window, which is in
 * the first of them, and ends where row + GATHER_ROWS begins or the chunk ends.
 */
static __device__ void
block_load_tile(GatherTile *tile, const GatherSource *source, uint64_t row, uint64_t window_place,
				uint64_t begin, uint64_t chunk_end)
{
	uint64_t row_begin[GATHER_ROWS / GATHER_THREADS];
	uint32_t source_row[GATHER_ROWS / GATHER_THREADS];

#pragma unroll
	for (int item = 0; item < GATHER_ROWS / GATHER_THREADS; item++)
	{
		uint64_t i = row + item * GATHER_THREADS + threadIdx.x;

		row_begin[item] = i < source->end ? source->places[i] - window_place : chunk_end;
		source_row[item] = i < source->end ? source->order[i] : 0;
	}
#pragma unroll
	for (int item = 0; item < GATHER_ROWS / GATHER_THREADS; item++)
	{
		int i = item * GATHER_THREADS + threadIdx.x;
		bool in_chunk = row_begin[item] < chunk_end;
		uint64_t from = in_chunk ? source->offsets[source_row[item]] : 0;

		/* The tile begins inside of its first row, which may have begun earlier. */
		tile->begin[i] = !in_chunk ? TILE_NO_ROW : i == 0 ? 0 : (uint32_t) ((row_begin[item] - begin) / 8);
		tile->origin[i] = from - (row_begin[item] - begin);
	}
	if (threadIdx.x == 0)
	{
		uint64_t next =
			row + GATHER_ROWS < source->end ? source->places[row + GATHER_ROWS] - window_place : chunk_end;

		tile->end = next < chunk_end ? next : chunk_end;
	}
}

/*
 * Copies the tile's words.  Loads past the end are of the last word instead, so that all can be under way at
 * once.
 */
static __device__ void
block_copy_tile(const GatherTile *tile, const uint8_t *__restrict__ rows, uint8_t *__restrict__ window,
				uint64_t begin)
{
	uint32_t words = (uint32_t) ((tile->end - begin) / 8);
	uint64_t *target = (uint64_t *) (window + begin);

	for (uint32_t at = threadIdx.x; at < words; at += GATHER_THREADS * GATHER_UNROLL)
	{
		uint64_t values[GATHER_UNROLL];

#pragma unroll
		for (int item = 0; item < GATHER_UNROLL; item++)
		{
			uint32_t word = min(at + item * GATHER_THREADS, words - 1);
			int row = tile_find_row(tile->begin, word);

			values[item] =
				__ldg((const unsigned long long *) (rows + (tile->origin[row] + (uint64_t) word * 8)));
		}
#pragma unroll
		for (int item = 0; item < GATHER_UNROLL; item++)
		{
			uint32_t word = at + item * GATHER_THREADS;

			if (word < words)
				target[word] = values[item];
		}
	}
}

static __global__ void
__launch_bounds__(GATHER_THREADS) rows_gather_kernel(GatherSource source, uint8_t *__restrict__ window)
{
	__shared__ GatherTile tile;
	uint64_t window_place = source.places[source.first];
	uint64_t window_bytes = source.places[source.end] - window_place;
	uint64_t chunk = gather_choose_chunk(window_bytes, gridDim.x);

	for (uint64_t begin = blockIdx.x * chunk; begin < window_bytes; begin += gridDim.x * chunk)
	{
		uint64_t chunk_end = window_bytes - begin > chunk ? begin + chunk : window_bytes;
		uint64_t row = block_find_row(&source, window_place + begin);
		uint64_t at = begin;

		while (at < chunk_end)
		{
			block_load_tile(&tile, &source, row, window_place, at, chunk_end);
			__syncthreads();
			block_copy_tile(&tile, source.rows, window, at);
			at = tile.end;
			row += GATHER_ROWS;
			__syncthreads();
		}
	}
}

DevSortStatus
devsort_rows_gather(const DevSortRowsJob *job, uint64_t first, uint64_t count, uint8_t *window,
					DevSortStream stream)
{
	GatherSource source;
	int device;
	int multiprocessors;
	int blocks;

	RETURN_IF_FAILED(rows_check_pointers(job));
	if (first > job->n || count > job->n - first)
		return status_make(DEVSORT_INVALID, "rows %llu to %llu of %llu can't be gathered",
						   (unsigned long long) first, (unsigned long long) (first + count),
						   (unsigned long long) job->n);
	if (count == 0)
		return status_ok();
	if (window == NULL)
		return status_make(DEVSORT_INVALID, "window is NULL");
	CHECK_CUDA(cudaGetDevice(&device), "asking for the current device");
	CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
			   "asking for its multiprocessors");
	CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, rows_gather_kernel, GATHER_THREADS, 0),
			   "asking how many blocks gather at once");
	source.rows = job->rows;
	source.offsets = job->offsets;
	source.order = job->order;
	source.places = job->sorted_offsets;
	source.first = first;
	source.end = first + count;
	rows_gather_kernel<<<blocks * multiprocessors, GATHER_THREADS, 0, stream>>>(source, window);
	CHECK_LAUNCH("gathering rows");
	return status_ok();
}
