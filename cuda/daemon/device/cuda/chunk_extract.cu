/*
 * chunk_extract.cu
 *		The kernels that take chunks apart; chunk_extract.h says what becomes of them.
 *
 * Fixed keys: a thread an entry moves the key's words.  Variable keys: a thread an entry measures its record,
 * two sums tell where keys and rows go, and a warp a record copies them, for they are of any length.
 */
#include "daemon/device/cuda/chunk_extract.h"
#include "base/launch.cuh"
#include "primitives/device_scan.h"

#define EXTRACT_THREADS 256
#define WARP_THREADS 32

static unsigned int
block_count(uint64_t threads)
{
	return (unsigned int) ((threads + EXTRACT_THREADS - 1) / EXTRACT_THREADS);
}

/*
 * A row writes where it ends, which is where the next one begins, in this chunk or in another; the job's
 * first also where all begins.  So each offset is written once.
 */
static __device__ void
thread_note_end(uint64_t *offsets, uint64_t row, uint64_t end)
{
	if (row == 0)
		offsets[0] = 0;
	offsets[row + 1] = end;
}

/* ---- fixed keys ---- */

static __device__ void
thread_copy_key(const ChunkCopy &chunk, uint64_t i, uint8_t *keys, uint64_t row)
{
	const uint64_t *from = (const uint64_t *) (chunk.entries + i * chunk_entry_bytes(chunk.key_bytes));
	uint64_t *to = (uint64_t *) (keys + row * chunk.key_bytes);

	for (uint32_t word = 0; word < chunk.key_bytes / 8; word++)
		to[word] = from[word];
}

static __global__ void
__launch_bounds__(EXTRACT_THREADS) extract_fixed_rows_kernel(ChunkCopy chunk, ExtractTarget target)
{
	uint64_t i = blockIdx.x * (uint64_t) EXTRACT_THREADS + threadIdx.x;
	uint64_t row = target.rows_before + (chunk.rows - 1 - i);
	ChunkExtent extent;

	if (i >= chunk.rows)
		return;
	if (!chunk_find_row(&chunk, i, &extent))
	{
		*target.malformed = 1;
		return;
	}
	thread_copy_key(chunk, i, target.keys, row);
	thread_note_end(target.row_offsets, row, target.row_bytes_before + extent.begin + extent.bytes);
}

DevSortStatus
extract_fixed_rows(const ChunkCopy *chunk, const ExtractTarget *target, cudaStream_t stream)
{
	return launch("taking a chunk of rows apart", extract_fixed_rows_kernel, block_count(chunk->rows),
				  EXTRACT_THREADS, stream, *chunk, *target);
}

/* ---- variable keys ---- */

ExtractPlan
extract_plan_take(Workspace *workspace, uint64_t n)
{
	ExtractPlan plan;

	plan.key_bytes = workspace_take<uint32_t>(workspace, n + 1);
	plan.key_sums = workspace_take<uint32_t>(workspace, n + 1);
	plan.key_parts = workspace_take<uint32_t>(workspace, n + 1);
	plan.part_sums = workspace_take<uint32_t>(workspace, n + 1);
	plan.scan = *workspace;
	exclusive_sum_measure(workspace, n + 1);
	return plan;
}

/*
 * Of a malformed record nothing is counted.  The last thread closes the arrays, so that the sums have their
 * totals.
 */
static __global__ void
__launch_bounds__(EXTRACT_THREADS)
	measure_records_kernel(ChunkCopy chunk, uint32_t *key_bytes, uint32_t *key_parts, uint32_t *malformed)
{
	uint64_t i = blockIdx.x * (uint64_t) EXTRACT_THREADS + threadIdx.x;
	ChunkExtent extent = {0, 0, 0, 0};

	if (i > chunk.rows)
		return;
	if (i < chunk.rows && !chunk_find_record(&chunk, i, &extent))
	{
		*malformed = 1;
		extent = ChunkExtent{0, 0, 0, 0};
	}
	key_bytes[i] = (uint32_t) extent.key_bytes;
	key_parts[i] = (uint32_t) extent.key_part;
}

DevSortStatus
extract_variable_plan(const ChunkCopy *chunk, const ExtractPlan *plan, uint32_t *malformed,
					  cudaStream_t stream)
{
	uint64_t n = chunk->rows;

	RETURN_IF_FAILED(launch("measuring the records of a chunk", measure_records_kernel, block_count(n + 1),
							EXTRACT_THREADS, stream, *chunk, plan->key_bytes, plan->key_parts, malformed));
	RETURN_IF_FAILED(exclusive_sum(plan->key_bytes, plan->key_sums, n + 1, &plan->scan, stream));
	return exclusive_sum(plan->key_parts, plan->part_sums, n + 1, &plan->scan, stream);
}

/* Keys go to any address, rows from words to words. */
static __global__ void
__launch_bounds__(EXTRACT_THREADS) copy_records_kernel(ChunkCopy chunk, ExtractTarget target,
													   const uint32_t *key_sums, const uint32_t *part_sums)
{
	uint64_t i = (blockIdx.x * (uint64_t) EXTRACT_THREADS + threadIdx.x) / WARP_THREADS;
	uint32_t lane = threadIdx.x % WARP_THREADS;
	ChunkExtent extent;

	if (i >= chunk.rows || !chunk_find_record(&chunk, i, &extent))
		return;

	/* Rows before this one: what the records before it have, less their keys. */
	uint64_t rows_before = chunk.end - chunk.back - extent.begin - extent.bytes - part_sums[i];
	uint64_t row_bytes = extent.bytes - extent.key_part;
	uint64_t key_place = target.key_bytes_before + key_sums[i];
	uint64_t row_place = target.row_bytes_before + rows_before;
	const uint8_t *record = chunk.region + extent.begin;
	const uint64_t *row_from = (const uint64_t *) (record + extent.key_part);
	uint64_t *row_to = (uint64_t *) (target.rows + row_place);

	for (uint64_t at = lane; at < extent.key_bytes; at += WARP_THREADS)
		target.keys[key_place + at] = record[sizeof(uint64_t) + at];
	for (uint64_t at = lane; at < row_bytes / 8; at += WARP_THREADS)
		row_to[at] = row_from[at];
	if (lane > 0)
		return;
	thread_note_end(target.key_offsets, target.rows_before + i, key_place + extent.key_bytes);
	thread_note_end(target.row_offsets, target.rows_before + i, row_place + row_bytes);
}

DevSortStatus
extract_variable_copy(const ChunkCopy *chunk, const ExtractPlan *plan, const ExtractTarget *target,
					  cudaStream_t stream)
{
	return launch("copying the records of a chunk", copy_records_kernel,
				  block_count(chunk->rows * WARP_THREADS), EXTRACT_THREADS, stream, *chunk, *target,
				  plan->key_sums, plan->part_sums);
}
