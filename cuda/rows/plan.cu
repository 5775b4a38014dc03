/*
 * plan.cu
 *		Where each row of a row gather's result begins.
 *
 * The plan is a prefix sum: the lengths of the rows in their order, summed tile by tile, give each row's
 * place in the result.  Three kernels: the lengths and each tile's sum; the sums before each tile; the
 * places.  (A library scan would do, but asks the device how much workspace it needs; this one's is known
 * without.)
 */
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
