/*
 * plan.cu
 *		Where each row of a row gather's result begins, and which of them fit into a window.
 *
 * The plan is a prefix sum: the lengths of the rows in their order, summed tile by tile, give each row's
 * place in the result.  Three kernels: the lengths and each tile's sum; the sums before each tile; the
 * places.  (A library scan would do, but asks the device how much workspace it needs; this one's is known
 * without.)
 *
 * A window's end is found from the host, which reads a run of places around where it should be if the rows
 * were equally long.  With rows of similar lengths the first run has it.
 */
#include <algorithm>

#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

#include "base/workspace.h"
#include "rows/plan.h"

/* The plan's tiles. */
#define PLAN_THREADS 256
#define PLAN_ITEMS 8
#define PLAN_TILE (PLAN_THREADS * PLAN_ITEMS)
#define PLAN_SUM_THREADS 1024

/* Places that devsort_rows_window reads at a time. */
#define WINDOW_READ 2048

/* ---- checks ---- */

static DevSortStatus
rows_check(const DevSortRowsJob *job)
{
	if (job == NULL)
		return status_make(DEVSORT_INVALID, "job is NULL");
	if (job->n > DEVSORT_MAX_ROWS)
		return status_make(DEVSORT_INVALID, "%llu rows are more than the %llu that can be gathered",
						   (unsigned long long) job->n, (unsigned long long) DEVSORT_MAX_ROWS);
	return status_ok();
}

DevSortStatus
rows_check_pointers(const DevSortRowsJob *job)
{
	RETURN_IF_FAILED(rows_check(job));
	if (job->sorted_offsets == NULL)
		return status_make(DEVSORT_INVALID, "sorted_offsets is NULL");
	if (job->n > 0 && (job->rows == NULL || job->offsets == NULL || job->order == NULL))
		return status_make(DEVSORT_INVALID, "rows, offsets or order is NULL");
	return status_ok();
}

/* ---- the plan ---- */

static uint64_t
plan_count_tiles(uint64_t n)
{
	return (n + PLAN_TILE - 1) / PLAN_TILE;
}

static uint64_t *
plan_take_sums(Workspace *workspace, uint64_t n)
{
	return workspace_take<uint64_t>(workspace, plan_count_tiles(n));
}

/*
 * Writes each row's length to the place after its own, and the tile's sum.  Loads past the end are of the
 * last row instead, so that all of a thread's can be under way at once.
 */
static __global__ void
__launch_bounds__(PLAN_THREADS)
	rows_measure_kernel(const uint64_t *__restrict__ offsets, const uint32_t *__restrict__ order, uint64_t n,
						uint64_t *__restrict__ places, uint64_t *__restrict__ sums)
{
	typedef cub::BlockReduce<uint64_t, PLAN_THREADS> BlockReduce;
	__shared__ typename BlockReduce::TempStorage storage;
	uint64_t tile_begin = (uint64_t) blockIdx.x * PLAN_TILE;
	uint64_t lengths[PLAN_ITEMS];
	uint64_t sum = 0;

#pragma unroll
	for (int item = 0; item < PLAN_ITEMS; item++)
	{
		uint64_t i = tile_begin + item * PLAN_THREADS + threadIdx.x;
		uint64_t row = order[i < n ? i : n - 1];

		lengths[item] = offsets[row + 1] - offsets[row];
	}
#pragma unroll
	for (int item = 0; item < PLAN_ITEMS; item++)
	{
		uint64_t i = tile_begin + item * PLAN_THREADS + threadIdx.x;

		if (i < n)
		{
			places[i + 1] = lengths[item];
			sum += lengths[item];
		}
	}
	sum = BlockReduce(storage).Sum(sum);
	if (threadIdx.x == 0)
		sums[blockIdx.x] = sum;
}

/* Turns the tiles' sums into the sums of what is before them, in one block; writes the first row's place. */
static __global__ void
__launch_bounds__(PLAN_SUM_THREADS) rows_sum_kernel(uint64_t *sums, uint64_t tiles, uint64_t *places)
{
	typedef cub::BlockScan<uint64_t, PLAN_SUM_THREADS, cub::BLOCK_SCAN_WARP_SCANS> BlockScan;
	__shared__ typename BlockScan::TempStorage storage;
	uint64_t before = 0;

	for (uint64_t at = 0; at < tiles; at += PLAN_SUM_THREADS)
	{
		uint64_t i = at + threadIdx.x;
		uint64_t sum = i < tiles ? sums[i] : 0;
		uint64_t sum_before;
		uint64_t all;

		BlockScan(storage).ExclusiveSum(sum, sum_before, all);
		if (i < tiles)
			sums[i] = before + sum_before;
		before += all;
		__syncthreads();
	}
	if (threadIdx.x == 0)
		places[0] = 0;
}

/* Turns the lengths of a tile's rows, which stand after their places, into the places of the next rows. */
static __global__ void
__launch_bounds__(PLAN_THREADS) rows_place_kernel(uint64_t *places, uint64_t n, const uint64_t *sums)
{
	typedef cub::BlockLoad<uint64_t, PLAN_THREADS, PLAN_ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE> BlockLoad;
	typedef cub::BlockScan<uint64_t, PLAN_THREADS, cub::BLOCK_SCAN_WARP_SCANS> BlockScan;
	typedef cub::BlockStore<uint64_t, PLAN_THREADS, PLAN_ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE> BlockStore;
	__shared__ union
	{
		typename BlockLoad::TempStorage load;
		typename BlockScan::TempStorage scan;
		typename BlockStore::TempStorage store;
	} storage;
	uint64_t tile_begin = (uint64_t) blockIdx.x * PLAN_TILE;
	uint64_t rest = n - tile_begin;
	int count = rest < PLAN_TILE ? (int) rest : PLAN_TILE;
	uint64_t before = sums[blockIdx.x];
	uint64_t items[PLAN_ITEMS];

	BlockLoad(storage.load).Load(places + 1 + tile_begin, items, count, (uint64_t) 0);
	__syncthreads();
	BlockScan(storage.scan).InclusiveSum(items, items);
	__syncthreads();
#pragma unroll
	for (int item = 0; item < PLAN_ITEMS; item++)
		items[item] += before;
	BlockStore(storage.store).Store(places + 1 + tile_begin, items, count);
}

DevSortStatus
devsort_rows_memory(const DevSortRowsJob *job, size_t *bytes)
{
	Workspace measured = workspace_measure();

	RETURN_IF_FAILED(rows_check(job));
	if (bytes == NULL)
		return status_make(DEVSORT_INVALID, "workspace_bytes is NULL");
	plan_take_sums(&measured, job->n);
	*bytes = workspace_bytes(&measured);
	return status_ok();
}

DevSortStatus
devsort_rows_plan(const DevSortRowsJob *job, void *workspace, size_t bytes, DevSortStream stream)
{
	Workspace measured = workspace_measure();
	Workspace opened = workspace_measure();
	uint64_t *sums;
	uint64_t tiles;

	RETURN_IF_FAILED(rows_check_pointers(job));
	plan_take_sums(&measured, job->n);
	RETURN_IF_FAILED(workspace_check(workspace, bytes, &measured, &opened));
	sums = plan_take_sums(&opened, job->n);
	tiles = plan_count_tiles(job->n);
	if (tiles > 0)
	{
		rows_measure_kernel<<<(unsigned int) tiles, PLAN_THREADS, 0, stream>>>(job->offsets, job->order,
																			   job->n, job->sorted_offsets,
																			   sums);
		CHECK_LAUNCH("measuring rows");
	}
	rows_sum_kernel<<<1, PLAN_SUM_THREADS, 0, stream>>>(sums, tiles, job->sorted_offsets);
	CHECK_LAUNCH("adding up the lengths of rows");
	if (tiles > 0)
	{
		rows_place_kernel<<<(unsigned int) tiles, PLAN_THREADS, 0, stream>>>(job->sorted_offsets, job->n,
																			 sums);
		CHECK_LAUNCH("placing rows");
	}
	return status_ok();
}

/* ---- windows ---- */

/* Between which rows a window ends: row `low` begins inside or at its end, row `high` begins after it. */
typedef struct WindowSearch
{
	uint64_t limit; /* where the window ends in the result */
	uint64_t low;
	uint64_t low_place;
	uint64_t high;
	uint64_t high_place;
} WindowSearch;

/* Reads the places of `count` rows; waits for the stream. */
static DevSortStatus
window_read_places(const DevSortRowsJob *job, uint64_t from, uint64_t count, uint64_t *places,
				   cudaStream_t stream)
{
	CHECK_CUDA(cudaMemcpyAsync(places, job->sorted_offsets + from, count * sizeof(uint64_t),
							   cudaMemcpyDeviceToHost, stream),
			   "reading where rows begin");
	CHECK_CUDA(cudaStreamSynchronize(stream), "waiting for where rows begin");
	return status_ok();
}

/*
 * From which row on to read next: around the row where the window ends if rows between low and high were
 * equally long, or in the middle, now and then, in case lengths vary so much that the other gets nowhere.
 */
static uint64_t
window_choose_read(const WindowSearch *search, bool in_middle)
{
	uint64_t between = search->high - search->low - 1;
	uint64_t guess = between / 2;

	if (between <= WINDOW_READ)
		return search->low + 1;
	if (!in_middle)
		guess = (uint64_t) ((double) between * ((double) (search->limit - search->low_place) /
												(double) (search->high_place - search->low_place)));
	guess = guess > WINDOW_READ / 2 ? guess - WINDOW_READ / 2 : 0;
	return search->low + 1 + std::min(guess, between - WINDOW_READ);
}

/*
 * Moves low up and high down by the places of rows from .. from + count - 1, all of them between low and
 * high.
 */
static void
window_narrow(WindowSearch *search, uint64_t from, uint64_t count, const uint64_t *places)
{
	uint64_t inside = std::upper_bound(places, places + count, search->limit) - places;

	if (inside > 0)
	{
		search->low = from + inside - 1;
		search->low_place = places[inside - 1];
	}
	if (inside < count)
	{
		search->high = from + inside;
		search->high_place = places[inside];
	}
}

/*
 * Begins the search with all rows from `first` on; if the window holds them all, low is the last one's end.
 */
static DevSortStatus
window_begin_search(const DevSortRowsJob *job, uint64_t first, size_t window_bytes, WindowSearch *search,
					uint64_t *begin, cudaStream_t stream)
{
	RETURN_IF_FAILED(window_read_places(job, first, 1, begin, stream));
	RETURN_IF_FAILED(window_read_places(job, job->n, 1, &search->high_place, stream));
	search->limit = window_bytes > UINT64_MAX - *begin ? UINT64_MAX : *begin + window_bytes;
	search->low = first;
	search->low_place = *begin;
	search->high = job->n;
	if (search->high_place <= search->limit)
	{
		search->low = job->n;
		search->low_place = search->high_place;
	}
	return status_ok();
}

DevSortStatus
devsort_rows_window(const DevSortRowsJob *job, uint64_t first, size_t window_bytes, uint64_t *count,
					size_t *bytes, DevSortStream stream)
{
	uint64_t places[WINDOW_READ];
	WindowSearch search;
	uint64_t begin;
	int reads = 0;

	RETURN_IF_FAILED(rows_check_pointers(job));
	if (count == NULL || bytes == NULL)
		return status_make(DEVSORT_INVALID, "count or bytes is NULL");
	*count = 0;
	*bytes = 0;
	if (first > job->n)
		return status_make(DEVSORT_INVALID, "a window can't begin with row %llu of %llu",
						   (unsigned long long) first, (unsigned long long) job->n);
	if (first == job->n)
		return status_ok();
	RETURN_IF_FAILED(window_begin_search(job, first, window_bytes, &search, &begin, stream));
	while (search.high > search.low + 1)
	{
		uint64_t from = window_choose_read(&search, reads++ % 3 == 2);
		uint64_t read = std::min(search.high - from, (uint64_t) WINDOW_READ);

		RETURN_IF_FAILED(window_read_places(job, from, read, places, stream));
		window_narrow(&search, from, read, places);
	}
	if (search.low == first)
		return status_make(DEVSORT_INVALID, "row %llu of the result has %llu bytes, the window only %zu",
						   (unsigned long long) first, (unsigned long long) (search.high_place - begin),
						   window_bytes);
	*count = search.low - first;
	*bytes = search.low_place - begin;
	return status_ok();
}
