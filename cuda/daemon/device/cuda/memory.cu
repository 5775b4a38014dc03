/*
 * memory.cu
 *		How much device memory a job takes.
 *
 * How much memory a job is promised is memory_needed's sum of all its buffers at their largest; so what was
 * accepted can be sorted and returned.  Only if another program takes the device's memory, sorting may fail
 * for want of it.
 */
#include <algorithm>

#include "daemon/device/cuda/arena.h"
#include "daemon/device/cuda/chunk_extract.h"
#include "daemon/device/cuda/result_windows.h"
#include "daemon/protocol/rank_layout.h"

/*
 * Buffers grow to multiples of this, or of what the device has for granularity; that is 2 MB on all there
 * are.
 */
#define BUFFER_GRANULARITY (UINT64_C(2) << 20)

/* From so many chunks on a job has more than two lanes, and gives back what it needs no more. */
#define LARGE_JOB_CHUNKS 16

Outcome
outcome_from(const DevSortStatus &status)
{
	switch (status.code)
	{
		case DEVSORT_OK:
			return {};
		case DEVSORT_OUT_OF_MEMORY:
		case DEVSORT_OVER_BUDGET:
			return {GPUSORTD_MEMORY_FULL, status.message};
		case DEVSORT_INVALID:
			return {GPUSORTD_INVALID, status.message};
		default:
			return {GPUSORTD_DEVICE_LOST, status.message};
	}
}

static uint64_t
mapped(uint64_t bytes)
{
	return (bytes + BUFFER_GRANULARITY - 1) / BUFFER_GRANULARITY * BUFFER_GRANULARITY;
}

static DevSortAlgorithm
library_algorithm(GpusortdAlgorithm algorithm)
{
	switch (algorithm)
	{
		case GPUSORTD_SAMPLE:
			return DEVSORT_SAMPLE;
		case GPUSORTD_BUCKET:
			return DEVSORT_BUCKET;
		case GPUSORTD_RADIX:
			return DEVSORT_RADIX;
		default:
			return DEVSORT_AUTO;
	}
}

/* The library looks at which pointers are NULL when it measures: these are not. */
#define SOME_ADDRESS 256

DevSortFixedJob
fixed_job(const JobShape &shape, uint64_t n)
{
	DevSortFixedJob job = {};

	job.algorithm = library_algorithm(shape.algorithm);
	job.format = DEVSORT_KEY_BYTES;
	job.key_bytes = (int) shape.key_bytes;
	job.n = n;
	job.keys = job.sorted_keys = (void *) SOME_ADDRESS;
	job.sorted_indexes = (uint32_t *) SOME_ADDRESS;
	return job;
}

DevSortStringsJob
strings_job(const JobShape &shape, uint64_t n)
{
	DevSortStringsJob job = {};

	job.algorithm = library_algorithm(shape.algorithm);
	job.n = n;
	return job;
}

DevSortStatus
sort_memory(const JobShape &shape, uint64_t n, size_t *bytes)
{
	if (shape.key_bytes > 0)
	{
		DevSortFixedJob job = fixed_job(shape, n);

		return devsort_fixed_memory(&job, bytes);
	}
	else
	{
		DevSortStringsJob job = strings_job(shape, n);

		return devsort_strings_memory(&job, bytes);
	}
}

uint64_t
plan_memory(uint64_t rows)
{
	Workspace measured = workspace_measure();

	extract_plan_take(&measured, rows);
	return workspace_bytes(&measured);
}

static bool
is_large(const JobShape &shape, const JobSize &size)
{
	return size.rows * chunk_entry_bytes(shape.key_bytes) + size.key_bytes + size.row_bytes >
		   LARGE_JOB_CHUNKS * shape.chunk_bytes;
}

int
job_lanes(const JobShape &shape, const JobSize &size)
{
	return is_large(shape, size) ? LANES : DEVICE_FETCHES;
}

bool
job_keeps_buffers(const JobShape &shape, const JobSize &size)
{
	return !is_large(shape, size);
}

/* All buffers, as CudaJob has them. */
uint64_t
job_memory(const JobShape &shape, const JobSize &size, uint64_t ranks)
{
	DevSortRowsJob rows = {};
	bool variable = shape.key_bytes == 0;
	uint64_t keys = variable ? size.key_bytes + sizeof(uint64_t) : size.rows * shape.key_bytes;
	uint64_t offsets = mapped((size.rows + 1) * sizeof(uint64_t));
	uint64_t lane = mapped(shape.chunk_bytes) +
					(variable ? mapped(plan_memory(shape.chunk_bytes / chunk_entry_bytes(0))) : 0);
	size_t sort_bytes = 0;
	size_t rows_bytes = 0;
	uint64_t always = mapped(size.row_bytes) + offsets + mapped(size.rows * sizeof(uint32_t)) +
					  job_lanes(shape, size) * lane;
	uint64_t sorting;
	uint64_t returning;

	rows.n = size.rows;
	if (size.rows > DEVICE_MOST_ROWS || sort_memory(shape, size.rows, &sort_bytes).code != DEVSORT_OK ||
		devsort_rows_memory(&rows, &rows_bytes).code != DEVSORT_OK)
		return UINT64_MAX;
	rows_bytes = std::max<uint64_t>(rows_bytes, windows_memory(size.row_bytes, shape.chunk_bytes));
	sorting = mapped(keys) + (variable ? offsets : mapped(std::max<uint64_t>(keys, ranks * RANK_BYTES))) +
			  mapped(sort_bytes);
	returning = offsets + mapped(rows_bytes);
	return always + (is_large(shape, size) ? std::max(sorting, returning) : sorting + returning);
}
