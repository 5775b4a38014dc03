/*
 * library.cc
 *		The face of the device library, over the CUDA runtime in host memory: sorts, the row gather, the
 *		prefix sum.
 *
 * Each is queued, in a few steps of which all but the last do nothing, as the library's are, so that there
 * are several places at which it can fail.
 */
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/workspace.h"
#include "daemon/fake/fake_cuda.h"
#include "primitives/device_scan.h"

#define STEPS 3

/* Bytes of workspace a row. */
#define WORKSPACE_ROW_BYTES 16

static DevSortStatus
queue_steps(cudaStream_t stream, const char *doing, const std::function<void()> &work)
{
	cudaLaunchConfig_t config = {};

	config.stream = stream;
	for (int step = 1; step < STEPS; step++)
		CHECK_CUDA(fake_launch(&config, [] {}), doing);
	CHECK_CUDA(fake_launch(&config, work), doing);
	return status_ok();
}

static DevSortStatus
measure(uint64_t n, size_t *bytes)
{
	if (n > DEVSORT_MAX_ROWS)
		return status_make(DEVSORT_INVALID, "%llu rows are too many", (unsigned long long) n);
	*bytes = n * WORKSPACE_ROW_BYTES + WORKSPACE_ALIGNMENT;
	return status_ok();
}

/* The whole workspace is there to be written to. */
static DevSortStatus
check_workspace(uint64_t n, const void *workspace, size_t bytes)
{
	size_t needed = 0;

	RETURN_IF_FAILED(measure(n, &needed));
	if (workspace == NULL || bytes < needed)
		return status_make(DEVSORT_INVALID, "the workspace has %zu bytes, but %zu are needed", bytes, needed);
	return status_ok();
}

/* ---- sorts ---- */

DevSortStatus
devsort_fixed_memory(const DevSortFixedJob *job, size_t *workspace_bytes)
{
	return measure(job->n, workspace_bytes);
}

static void
sort_fixed(const DevSortFixedJob &job)
{
	const uint8_t *keys = (const uint8_t *) job.keys;
	size_t width = job.key_bytes;

	std::iota(job.sorted_indexes, job.sorted_indexes + job.n, 0);
	std::sort(job.sorted_indexes, job.sorted_indexes + job.n,
			  [&](uint32_t a, uint32_t b) { return memcmp(keys + a * width, keys + b * width, width) < 0; });
	for (uint64_t i = 0; i < job.n; i++)
		memcpy((uint8_t *) job.sorted_keys + i * width, keys + job.sorted_indexes[i] * width, width);
}

DevSortStatus
devsort_fixed(const DevSortFixedJob *job, void *workspace, size_t workspace_bytes, DevSortStream stream)
{
	DevSortFixedJob all = *job;

	RETURN_IF_FAILED(check_workspace(job->n, workspace, workspace_bytes));
	return queue_steps(stream, "sorting fixed keys", [all, workspace, workspace_bytes] {
		memset(workspace, 0, workspace_bytes);
		sort_fixed(all);
	});
}

DevSortStatus
devsort_strings_memory(const DevSortStringsJob *job, size_t *workspace_bytes)
{
	return measure(job->n, workspace_bytes);
}

static void
sort_strings(const DevSortStringsJob &job)
{
	const uint8_t *bytes = job.bytes;
	const uint64_t *offsets = job.offsets;

	std::iota(job.sorted_indexes, job.sorted_indexes + job.n, 0);
	std::sort(job.sorted_indexes, job.sorted_indexes + job.n, [&](uint32_t a, uint32_t b) {
		return std::lexicographical_compare(bytes + offsets[a], bytes + offsets[a + 1], bytes + offsets[b],
											bytes + offsets[b + 1]);
	});
}

DevSortStatus
devsort_strings(const DevSortStringsJob *job, void *workspace, size_t workspace_bytes, DevSortStream stream)
{
	DevSortStringsJob all = *job;

	RETURN_IF_FAILED(check_workspace(job->n, workspace, workspace_bytes));
	return queue_steps(stream, "sorting strings", [all, workspace, workspace_bytes] {
		memset(workspace, 0, workspace_bytes);
		sort_strings(all);
	});
}

/* ---- rows ---- */

DevSortStatus
devsort_rows_memory(const DevSortRowsJob *job, size_t *workspace_bytes)
{
	return measure(job->n, workspace_bytes);
}

static void
plan_rows(const DevSortRowsJob &job)
{
	job.sorted_offsets[0] = 0;
	for (uint64_t i = 0; i < job.n; i++)
		job.sorted_offsets[i + 1] =
			job.sorted_offsets[i] + job.offsets[job.order[i] + 1] - job.offsets[job.order[i]];
}

DevSortStatus
devsort_rows_plan(const DevSortRowsJob *job, void *workspace, size_t workspace_bytes, DevSortStream stream)
{
	DevSortRowsJob all = *job;

	RETURN_IF_FAILED(check_workspace(job->n, workspace, workspace_bytes));
	return queue_steps(stream, "planning the result", [all, workspace, workspace_bytes] {
		memset(workspace, 0, workspace_bytes);
		plan_rows(all);
	});
}

DevSortStatus
devsort_rows_gather(const DevSortRowsJob *job, uint64_t first, uint64_t count, uint8_t *window,
					DevSortStream stream)
{
	DevSortRowsJob all = *job;

	return queue_steps(stream, "gathering rows", [all, first, count, window] {
		for (uint64_t i = first; i < first + count; i++)
			memcpy(window + all.sorted_offsets[i] - all.sorted_offsets[first],
				   all.rows + all.offsets[all.order[i]], all.sorted_offsets[i + 1] - all.sorted_offsets[i]);
	});
}

/* ---- the prefix sum ---- */

void
exclusive_sum_measure(Workspace *workspace, uint64_t n)
{
	workspace_take<uint32_t>(workspace, n);
}

DevSortStatus
exclusive_sum(const uint32_t *numbers, uint32_t *sums, uint64_t n, const Workspace *, cudaStream_t stream)
{
	return queue_steps(stream, "adding up",
					   [=] { std::exclusive_scan(numbers, numbers + n, sums, UINT32_C(0)); });
}
