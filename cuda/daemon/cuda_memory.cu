/*
 * cuda_memory.cu
 *		How much device memory a job takes.
 *
 * How much memory a job is promised is memory_needed's sum of all its buffers at their largest; so what was accepted can be
 * sorted and returned.  Only if another program takes the device's memory, sorting may fail for want of it.
 */
#include <algorithm>

#include "chunk_extract.h"
#include "cuda_memory.h"

/* What a growing buffer may take at most beyond what it was asked for: its steps, the device's granularity. */
#define BUFFER_SLACK (UINT64_C(34) << 20)
#define BUFFER_SLACK_DIVISOR 8

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
with_slack(uint64_t bytes)
{
	return bytes + bytes / BUFFER_SLACK_DIVISOR + BUFFER_SLACK;
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
	Workspace	measured = workspace_measure();

	extract_plan_take(&measured, rows);
	return workspace_bytes(&measured);
}

/* All buffers, as CudaJob has them: of feeding, and the larger of sorting and returning. */
uint64_t
job_memory(const JobShape &shape, const JobSize &size)
{
	DevSortRowsJob rows = {};
	bool		variable = shape.key_bytes == 0;
	uint64_t	keys = variable ? size.key_bytes + sizeof(uint64_t) : size.rows * shape.key_bytes;
	uint64_t	offsets = (size.rows + 1) * sizeof(uint64_t);
	size_t		sort_bytes = 0;
	size_t		rows_bytes = 0;
	uint64_t	feeding = with_slack(keys) + with_slack(size.row_bytes) + with_slack(offsets) + with_slack(shape.chunk_bytes);
	uint64_t	sorting;
	uint64_t	returning;

	rows.n = size.rows;
	if (sort_memory(shape, size.rows, &sort_bytes).code != DEVSORT_OK ||
		devsort_rows_memory(&rows, &rows_bytes).code != DEVSORT_OK)
		return UINT64_MAX;
	if (variable)
		feeding += with_slack(offsets) + with_slack(plan_memory(shape.chunk_bytes / chunk_entry_bytes(0)));
	sorting = with_slack(sort_bytes) + (variable ? 0 : with_slack(keys));
	returning = with_slack(offsets) + with_slack(shape.chunk_bytes) + with_slack(rows_bytes);
	return feeding + with_slack(size.rows * sizeof(uint32_t)) + std::max(sorting, returning);
}
