/*
 * feed.cu
 *		Taking chunks: the feeding of a job on a GPU.
 *
 * Keys, rows and where each row begins gather in buffers that grow without moving.  Fixed keys: a chunk's
 * entries go to its lane's memory, its rows straight to their place, and a kernel makes dense keys and
 * offsets of the entries.  Variable keys: the whole chunk goes to the lane's memory, is measured, and kernels
 * share it out into keys and rows.
 *
 * Several threads bring chunks at a time, and each takes a lane: a stream with memory for a chunk.  Under the
 * mutex a chunk only reserves its place; copying and taking apart go on beside others', so that the way to
 * the device is never idle.  If a chunk turns out malformed, or something fails, even for want of memory, the
 * place stays empty; but then the job is over.
 *
 * Memory is promised in steps: to a plan that is somewhat larger than what there is, or that BEGIN's
 * estimates made.  Buffers grow in steps too, at most to the plan.
 */
#include <algorithm>

#include "daemon/device/cuda/job.h"

/* A plan is larger than what is known to be needed by this part, and by so many chunks like the last one. */
#define PLAN_DIVISOR 4
#define PLAN_CHUNKS 4

/* Buffers grow to twice what is needed, and by at least so many chunks like the last one. */
#define GROW_CHUNKS 16

/* ---- sizes ---- */

static JobSize
sum(const JobSize &a, const JobSize &b)
{
	return {a.rows + b.rows, a.key_bytes + b.key_bytes, a.row_bytes + b.row_bytes};
}

static JobSize
times(const JobSize &size, uint64_t factor)
{
	return {size.rows * factor, size.key_bytes * factor, size.row_bytes * factor};
}

static JobSize
part(const JobSize &size, uint64_t divisor)
{
	return {size.rows / divisor, size.key_bytes / divisor, size.row_bytes / divisor};
}

static JobSize
larger(const JobSize &a, const JobSize &b)
{
	return {std::max(a.rows, b.rows), std::max(a.key_bytes, b.key_bytes), std::max(a.row_bytes, b.row_bytes)};
}

static JobSize
smaller(const JobSize &a, const JobSize &b)
{
	return {std::min(a.rows, b.rows), std::min(a.key_bytes, b.key_bytes), std::min(a.row_bytes, b.row_bytes)};
}

static bool
covers(const JobSize &size, const JobSize &wanted)
{
	return wanted.rows <= size.rows && wanted.key_bytes <= size.key_bytes &&
		   wanted.row_bytes <= size.row_bytes;
}

/* ---- lanes ---- */

/* Waits for a lane, and gives it memory. */
DevSortStatus
CudaJob::take_lane(uint64_t chunk_rows, Lane **lane)
{
	std::unique_lock<std::mutex> lock(mutex);
	Lane *free_lane = NULL;

	for (;;)
	{
		int lanes = job_lanes(shape, planned);

		for (int i = lanes - 1; i >= 0; i--)
			free_lane = arena->lanes[i].busy ? free_lane : &arena->lanes[i];
		if (free_lane != NULL)
			break;
		lane_left.wait(lock);
	}
	RETURN_IF_FAILED(grow(&free_lane->chunk, shape.chunk_bytes, shape.chunk_bytes));
	if (shape.key_bytes == 0)
		RETURN_IF_FAILED(grow(&free_lane->plan, plan_memory(chunk_rows),
							  plan_memory(shape.chunk_bytes / chunk_entry_bytes(0))));
	free_lane->busy = true;
	*lane = free_lane;
	return status_ok();
}

void
CudaJob::leave_lane(Lane *lane)
{
	{
		std::lock_guard<std::mutex> lock(mutex);

		lane->busy = false;
	}
	lane_left.notify_one();
}

/* ---- places ---- */

/* Makes the plan large enough, if more memory can be promised. */
bool
CudaJob::plan_for(const JobSize &wanted, const JobSize &more)
{
	JobSize roomy = sum(sum(wanted, part(wanted, PLAN_DIVISOR)), times(more, PLAN_CHUNKS));

	for (const JobSize &size : {larger(planned, roomy), larger(planned, wanted), larger(grown, wanted)})
	{
		if (promise->raise(job_memory(shape, size)))
		{
			planned = size;
			return true;
		}
	}
	return false;
}

DevSortStatus
CudaJob::grow_to(const JobSize &size)
{
	uint64_t offsets = (size.rows + 1) * sizeof(uint64_t);

	if (shape.key_bytes == 0)
		RETURN_IF_FAILED(grow(&arena->key_offsets, offsets));
	RETURN_IF_FAILED(grow(&arena->keys, shape.key_bytes == 0 ? size.key_bytes + sizeof(uint64_t)
															 : size.rows * shape.key_bytes));
	RETURN_IF_FAILED(grow(&arena->row_offsets, offsets));
	RETURN_IF_FAILED(grow(&arena->rows, size.row_bytes));
	grown = larger(grown, size);
	return status_ok();
}

/* In large steps; if another program has taken the device's memory, by no more than is needed. */
DevSortStatus
CudaJob::grow_for(const JobSize &wanted)
{
	JobSize more = {wanted.rows - taken.rows, wanted.key_bytes - taken.key_bytes,
					wanted.row_bytes - taken.row_bytes};
	JobSize roomy = larger(times(wanted, 2), sum(wanted, times(more, GROW_CHUNKS)));
	DevSortStatus status = grow_to(larger(wanted, smaller(roomy, planned)));

	if (status.code != DEVSORT_OUT_OF_MEMORY)
		return status;
	pool->release_idle(std::chrono::seconds(0));
	return grow_to(wanted);
}

/* Finds the place of a chunk behind those that came before it. */
DevSortStatus
CudaJob::reserve(Lane *lane, const JobSize &more, JobSize *before)
{
	std::lock_guard<std::mutex> lock(mutex);
	JobSize wanted = sum(taken, more);

	if (wanted.rows > DEVICE_MOST_ROWS || (!covers(planned, wanted) && !plan_for(wanted, more)))
		return status_make(DEVSORT_OVER_BUDGET, "no more device memory can be promised to the job");
	if (!covers(grown, wanted))
		RETURN_IF_FAILED(grow_for(wanted));
	*before = taken;
	taken = wanted;
	lane->counted = true;
	return status_ok();
}

/* ---- chunks ---- */

static DevSortStatus
copy_in(uint8_t *to, const uint8_t *from, uint64_t bytes, cudaStream_t stream)
{
	if (bytes > 0)
		CHECK_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream),
				   "copying a chunk to the device");
	return status_ok();
}

ExtractTarget
CudaJob::target(const Lane *lane, const JobSize &before) const
{
	ExtractTarget target = {};

	target.rows_before = before.rows;
	target.keys = arena->keys.as<uint8_t>();
	target.key_bytes_before = before.key_bytes;
	target.key_offsets = arena->key_offsets.as<uint64_t>();
	target.rows = arena->rows.as<uint8_t>();
	target.row_bytes_before = before.row_bytes;
	target.row_offsets = arena->row_offsets.as<uint64_t>();
	target.malformed = &lane->answer->malformed;
	return target;
}

DevSortStatus
CudaJob::take_fixed(Lane *lane, const FilledChunk &chunk, ChunkCopy *copy)
{
	uint64_t row_bytes = shape.chunk_bytes - chunk.back;
	JobSize before;
	ExtractTarget to;

	RETURN_IF_FAILED(reserve(lane, {chunk.rows, chunk.rows * shape.key_bytes, row_bytes}, &before));
	to = target(lane, before);
	copy->region = to.rows + before.row_bytes;
	RETURN_IF_FAILED(copy_in(lane->chunk.as<uint8_t>(), chunk.base, chunk.front, lane->stream));
	RETURN_IF_FAILED(copy_in(to.rows + before.row_bytes, chunk.base + chunk.back, row_bytes, lane->stream));
	RETURN_IF_FAILED(extract_fixed_rows(copy, &to, lane->stream));
	return wait(lane);
}

/* Finds out how long a chunk's keys and rows are. */
DevSortStatus
CudaJob::measure_variable(Lane *lane, const FilledChunk &chunk, ChunkCopy *copy, const ExtractPlan &plan)
{
	uint8_t *region = lane->chunk.as<uint8_t>() + chunk.front;

	copy->region = region;
	RETURN_IF_FAILED(copy_in(lane->chunk.as<uint8_t>(), chunk.base, chunk.front, lane->stream));
	RETURN_IF_FAILED(copy_in(region, chunk.base + chunk.back, shape.chunk_bytes - chunk.back, lane->stream));
	RETURN_IF_FAILED(extract_variable_plan(copy, &plan, &lane->answer->malformed, lane->stream));
	CHECK_CUDA(cudaMemcpyAsync(&lane->answer->key_bytes, plan.key_sums + chunk.rows, sizeof(uint32_t),
							   cudaMemcpyDeviceToHost, lane->stream),
			   "asking for the length of a chunk's keys");
	CHECK_CUDA(cudaMemcpyAsync(&lane->answer->part_bytes, plan.part_sums + chunk.rows, sizeof(uint32_t),
							   cudaMemcpyDeviceToHost, lane->stream),
			   "asking for the length of a chunk's keys");
	return wait(lane);
}

DevSortStatus
CudaJob::take_variable(Lane *lane, const FilledChunk &chunk, ChunkCopy *copy)
{
	Workspace opened = workspace_open(lane->plan.as<void>());
	ExtractPlan plan = extract_plan_take(&opened, chunk.rows);
	JobSize before;
	ExtractTarget to;

	RETURN_IF_FAILED(measure_variable(lane, chunk, copy, plan));
	if (lane->answer->malformed != 0)
		return status_ok();
	RETURN_IF_FAILED(reserve(lane,
							 {chunk.rows, lane->answer->key_bytes,
							  shape.chunk_bytes - chunk.back - lane->answer->part_bytes},
							 &before));
	to = target(lane, before);
	RETURN_IF_FAILED(extract_variable_copy(copy, &plan, &to, lane->stream));
	return wait(lane);
}

DevSortStatus
CudaJob::take_chunk(Lane *lane, const FilledChunk &chunk)
{
	ChunkCopy copy = {};

	lane->answer->malformed = 0;
	lane->counted = false;
	copy.entries = lane->chunk.as<uint8_t>();
	copy.rows = chunk.rows;
	copy.back = chunk.back;
	copy.end = shape.chunk_bytes;
	copy.key_bytes = shape.key_bytes;
	return shape.key_bytes > 0 ? take_fixed(lane, chunk, &copy) : take_variable(lane, chunk, &copy);
}

/*
 * What a chunk that failed is for the client: refused for want of memory only if its rows have no place yet.
 */
Outcome
CudaJob::give_up_chunk(const Lane *lane, const DevSortStatus &status)
{
	Outcome outcome = finish(status);

	if (lane->counted && outcome.code == GPUSORTD_MEMORY_FULL)
		outcome.code = GPUSORTD_NO_RESOURCES;
	return outcome;
}

Outcome
CudaJob::submit(const FilledChunk &chunk)
{
	auto start = std::chrono::steady_clock::now();
	Lane *lane = NULL;
	DevSortStatus status = status_from_cuda(cudaSetDevice(arena->device), "choosing the device");
	Outcome outcome;

	if (status.code == DEVSORT_OK)
		status = take_lane(chunk.rows, &lane);
	if (lane == NULL)
		return finish(status);
	status = take_chunk(lane, chunk);
	if (status.code != DEVSORT_OK)
		outcome = give_up_chunk(lane, status);
	else if (lane->answer->malformed != 0)
		outcome = {GPUSORTD_BAD_CHUNK, "an entry of a chunk does not point to a row"};
	leave_lane(lane);

	std::lock_guard<std::mutex> lock(mutex);

	feed_us += microseconds_since(start);
	return outcome;
}

/* ---- pauses ---- */

/* What the buffers of the feed have become. */
uint64_t
CudaJob::least()
{
	std::lock_guard<std::mutex> lock(mutex);

	return job_memory(shape, grown, coded.ranks);
}

/* Lanes that a job of that size doesn't have give back their memory: it is not in that sum. */
void
CudaJob::trim()
{
	std::lock_guard<std::mutex> lock(mutex);

	(void) cudaSetDevice(arena->device);
	planned = grown;
	for (int i = job_lanes(shape, planned); i < LANES; i++)
	{
		arena->lanes[i].chunk.release();
		arena->lanes[i].plan.release();
	}
	promise->lower(job_memory(shape, planned, coded.ranks));
}
