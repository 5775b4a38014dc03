/*
 * job.cu
 *		A job on a GPU, with the device library: from its begin to its end, and the sort.
 *
 * When all chunks are there (feed.cu), keys are sorted with row numbers as payload, a prefix sum finds each
 * row's place in the result, and the result is cut into windows.  Rows are gathered window by window, when
 * they are fetched (fetch.cu).
 *
 * Each job has an arena of its own, with streams of its own, so jobs overlap.  A large job gives back what
 * only its sort needed; a small one keeps it, for the next one's sake.
 */
#include <algorithm>

#include "daemon/device/cuda/job.h"

/* Threads wait for jobs up to this size by spinning: they take less time than waking up a thread. */
#define BRIEF_BYTES (UINT64_C(16) << 20)

uint64_t
microseconds_since(std::chrono::steady_clock::time_point start)
{
	return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start)
		.count();
}

/* What was expected is planned for, if it was promised. */
CudaJob::CudaJob(ArenaPool *arenas, uint64_t device_bytes, const JobShape &asked, const JobSize &expected,
				 MemoryPromise *its_promise)
	: pool(arenas), most(device_bytes), shape(asked), promise(its_promise)
{
	JobSize all = expected;

	if (shape.key_bytes > 0)
		all.key_bytes = expected.rows * shape.key_bytes;
	if (job_memory(shape, all) <= promise->bytes())
		planned = all;
	brief = all.row_bytes > 0 && all.row_bytes <= BRIEF_BYTES;
}

DevSortStatus
CudaJob::open()
{
	return pool->take(&arena);
}

/* The arena is for the next job: nothing may be under way in it. */
CudaJob::~CudaJob()
{
	if (arena == nullptr)
		return;
	(void) cudaSetDevice(arena->device);
	wait_for_all();
	pool->give_back(std::move(arena), broken);
}

/* Whatever is under way, or has failed. */
void
CudaJob::wait_for_all()
{
	(void) cudaStreamSynchronize(arena->stream);
	for (const Lane &lane : arena->lanes)
		(void) cudaStreamSynchronize(lane.stream);
	/* None of this is the next launch's to report. */
	(void) cudaGetLastError();
}

/*
 * After a failure nothing of the call may be under way: its chunk may be another client's soon.  Who is over
 * the budget has not begun anything.
 */
Outcome
CudaJob::finish(const DevSortStatus &status)
{
	if (status.code != DEVSORT_OK && status.code != DEVSORT_OVER_BUDGET)
		wait_for_all();
	if (status.code != DEVSORT_OK && status.code != DEVSORT_OVER_BUDGET &&
		status.code != DEVSORT_OUT_OF_MEMORY)
		broken = true;
	return outcome_from(status);
}

/*
 * While chunks come: under the mutex.  at_most: what this buffer will hold in any job, if that isn't up to
 * the whole device.
 */
DevSortStatus
CudaJob::grow(DeviceMemory *memory, uint64_t bytes, uint64_t at_most)
{
	DevSortStatus status;

	arena->budget.limit = promise->bytes() + arena->kept;
	status = memory->grow(&arena->budget, at_most > 0 ? at_most : most, bytes);
	highest = std::max(highest, (uint64_t) arena->budget.used);
	return status;
}

DevSortStatus
CudaJob::wait(const Lane *lane)
{
	return stream_wait(lane->stream, lane->done, brief);
}

/* ---- sorting ---- */

DevSortStatus
CudaJob::sort_fixed(uint64_t workspace_bytes)
{
	DevSortFixedJob job = fixed_job(shape, taken.rows);

	RETURN_IF_FAILED(grow(&arena->sorted_keys, taken.rows * shape.key_bytes));
	job.keys = arena->keys.as<void>();
	job.sorted_keys = arena->sorted_keys.as<void>();
	job.sorted_indexes = arena->order.as<uint32_t>();
	return devsort_fixed(&job, arena->workspace.as<void>(), workspace_bytes, arena->stream);
}

DevSortStatus
CudaJob::sort_variable(uint64_t workspace_bytes)
{
	DevSortStringsJob job = strings_job(shape, taken.rows);

	job.bytes = arena->keys.as<uint8_t>();
	job.offsets = arena->key_offsets.as<uint64_t>();
	job.sorted_indexes = arena->order.as<uint32_t>();
	return devsort_strings(&job, arena->workspace.as<void>(), workspace_bytes, arena->stream);
}

DevSortStatus
CudaJob::sort()
{
	size_t workspace_bytes;

	CHECK_CUDA(cudaSetDevice(arena->device), "choosing the device");
	RETURN_IF_FAILED(sort_memory(shape, taken.rows, &workspace_bytes));
	RETURN_IF_FAILED(grow(&arena->order, taken.rows * sizeof(uint32_t)));
	RETURN_IF_FAILED(grow(&arena->workspace, workspace_bytes));
	RETURN_IF_FAILED(shape.key_bytes > 0 ? sort_fixed(workspace_bytes) : sort_variable(workspace_bytes));
	RETURN_IF_FAILED(stream_wait(arena->stream, arena->done, brief));
	if (!job_keeps_buffers(shape, planned))
		give_back_what_sorting_took();
	return status_ok();
}

void
CudaJob::give_back_what_sorting_took()
{
	for (DeviceMemory *memory : {&arena->keys, &arena->key_offsets, &arena->sorted_keys, &arena->workspace})
		memory->release();
	for (Lane &lane : arena->lanes)
		lane.plan.release();
}

DevSortRowsJob
CudaJob::rows_job() const
{
	DevSortRowsJob job = {};

	job.n = taken.rows;
	job.rows = arena->rows.as<uint8_t>();
	job.offsets = arena->row_offsets.as<uint64_t>();
	job.order = arena->order.as<uint32_t>();
	job.sorted_offsets = arena->places.as<uint64_t>();
	return job;
}

/* Finds each row's place, and the windows.  From here on the job takes no more memory. */
DevSortStatus
CudaJob::plan_rows()
{
	size_t rows_bytes;
	DevSortRowsJob job;

	RETURN_IF_FAILED(grow(&arena->places, (taken.rows + 1) * sizeof(uint64_t)));
	for (int i = 0; i < DEVICE_FETCHES; i++)
		RETURN_IF_FAILED(grow(&arena->lanes[i].chunk, shape.chunk_bytes, shape.chunk_bytes));
	job = rows_job();
	RETURN_IF_FAILED(devsort_rows_memory(&job, &rows_bytes));
	RETURN_IF_FAILED(
		grow(&arena->workspace,
			 std::max<uint64_t>(rows_bytes, windows_memory(taken.row_bytes, shape.chunk_bytes))));
	RETURN_IF_FAILED(devsort_rows_plan(&job, arena->workspace.as<void>(), rows_bytes, arena->stream));
	RETURN_IF_FAILED(windows_find(arena->places.as<uint64_t>(), taken.rows, taken.row_bytes,
								  shape.chunk_bytes, arena->workspace.as<void>(), arena->stream, &windows));
	if (!job_keeps_buffers(shape, planned))
		arena->workspace.release();
	promise->lower(arena->budget.used - std::min<uint64_t>(arena->kept, arena->budget.used));
	return status_ok();
}

Outcome
CudaJob::perform(GpusortdSorted *sorted)
{
	auto start = std::chrono::steady_clock::now();
	DevSortStatus status = status_ok();
	uint32_t without_rank = 0;

	*sorted = {};
	brief = taken.row_bytes <= BRIEF_BYTES;
	if (taken.rows > 0 && coded.n > 0)
		status = give_ranks(&without_rank);
	if (without_rank > 0)
		return {GPUSORTD_BAD_CHUNK, "a key has a code without a rank"};
	if (status.code == DEVSORT_OK && taken.rows > 0)
		status = sort();
	sorted->sort_us = microseconds_since(start);
	if (status.code == DEVSORT_OK && taken.rows > 0)
		status = plan_rows();
	sorted->plan_us = microseconds_since(start) - sorted->sort_us;
	sorted->feed_us = feed_us;
	sorted->rows = taken.rows;
	sorted->key_bytes = taken.key_bytes;
	sorted->row_bytes = taken.row_bytes;
	sorted->device_bytes = highest;
	return finish(status);
}
