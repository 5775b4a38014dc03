/*
 * cuda_job.cu
 *		A job on a GPU, with the device library.
 *
 * While chunks come, keys, rows and where each row begins gather in buffers that grow without moving.  Fixed keys: a chunk's
 * entries go to a staging buffer, its rows straight behind those that are there already, and a kernel makes dense keys and offsets of
 * the entries.  Variable keys: the whole chunk goes to the staging buffer, and kernels share it out into keys and rows.
 *
 * Then keys are sorted with row numbers as payload, their memory is given back, and a prefix sum plans the result.  Rows are
 * gathered window by window, when they are fetched, and copied to the client's chunk.
 *
 * Each job has a stream of its own, and every call waits for it.  So jobs overlap, but a job's chunks don't: between two of
 * them is the time of a message and of a wait, which large chunks make little of.
 */
#include <algorithm>
#include <chrono>

#include "cuda_job.h"

/* The head of the staging buffer holds the flag that a chunk is malformed. */
#define STAGING_HEAD 256

/* Rows that a window before a position has at most. */
#define BACKWARD_ROWS 65536

static uint64_t
microseconds_since(std::chrono::steady_clock::time_point start)
{
	return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
}

DevSortStatus
CudaJob::open()
{
	CHECK_CUDA(cudaSetDevice(device), "choosing the device");
	CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
	return status_ok();
}

/* The buffers follow by themselves. */
CudaJob::~CudaJob()
{
	(void) cudaSetDevice(device);
	if (stream == NULL)
		return;
	(void) cudaStreamSynchronize(stream);
	(void) cudaStreamDestroy(stream);
}

DevSortStatus
CudaJob::grow(DeviceMemory *memory, uint64_t bytes)
{
	DevSortStatus status = memory->grow(&budget, most, bytes);

	highest = std::max(highest, (uint64_t) budget.used);
	return status;
}

/* ---- feeding ---- */

DevSortStatus
CudaJob::copy_in(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
	if (bytes > 0)
		CHECK_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "copying a chunk to the device");
	return status_ok();
}

ExtractTarget
CudaJob::target() const
{
	ExtractTarget target = {};

	target.rows_before = taken.rows;
	target.keys = keys.as<uint8_t>();
	target.key_bytes_before = taken.key_bytes;
	target.key_offsets = key_offsets.as<uint64_t>();
	target.rows = rows.as<uint8_t>();
	target.row_bytes_before = taken.row_bytes;
	target.row_offsets = row_offsets.as<uint64_t>();
	target.malformed = staging.as<uint32_t>();
	return target;
}

/* Waits for the stream. */
DevSortStatus
CudaJob::read_malformed(bool *malformed)
{
	uint32_t	flag = 0;

	CHECK_CUDA(cudaMemcpyAsync(&flag, staging.as<uint32_t>(), sizeof(flag), cudaMemcpyDeviceToHost, stream),
			   "asking whether a chunk is malformed");
	CHECK_CUDA(cudaStreamSynchronize(stream), "taking a chunk apart");
	*malformed = flag != 0;
	return status_ok();
}

/* Up to the kernel that takes the chunk apart. */
DevSortStatus
CudaJob::take_fixed(const FilledChunk &chunk, ChunkCopy *copy)
{
	uint64_t	region_bytes = shape.words ? 0 : shape.chunk_bytes - chunk.back;
	uint64_t	row_bytes = shape.words ? chunk.rows * sizeof(uint64_t) : region_bytes;
	ExtractTarget to;

	RETURN_IF_FAILED(grow(&keys, (taken.rows + chunk.rows) * shape.key_bytes));
	RETURN_IF_FAILED(grow(&rows, taken.row_bytes + row_bytes));
	to = target();
	copy->region = to.rows + taken.row_bytes;
	RETURN_IF_FAILED(copy_in(to.rows + taken.row_bytes, chunk.base + chunk.back, region_bytes));
	return shape.words ? extract_fixed_words(copy, &to, stream) : extract_fixed_rows(copy, &to, stream);
}

/* The keys' and rows' lengths are known only once the chunk has been measured: waits for that, then goes on. */
DevSortStatus
CudaJob::take_variable(const FilledChunk &chunk, ChunkCopy *copy, bool *malformed)
{
	uint64_t	region_bytes = shape.chunk_bytes - chunk.back;
	uint8_t    *region = staging.as<uint8_t>() + STAGING_HEAD + chunk.front;
	Workspace	opened;
	ExtractPlan plan;
	uint32_t	key_bytes = 0;
	uint32_t	part_bytes = 0;
	ExtractTarget to;

	RETURN_IF_FAILED(grow(&workspace, plan_memory(chunk.rows)));
	opened = workspace_open(workspace.as<void>());
	plan = extract_plan_take(&opened, chunk.rows);
	copy->region = region;
	RETURN_IF_FAILED(copy_in(region, chunk.base + chunk.back, region_bytes));
	RETURN_IF_FAILED(extract_variable_plan(copy, &plan, staging.as<uint32_t>(), stream));
	CHECK_CUDA(cudaMemcpyAsync(&key_bytes, plan.key_sums + chunk.rows, sizeof(key_bytes), cudaMemcpyDeviceToHost, stream),
			   "asking for the length of a chunk's keys");
	CHECK_CUDA(cudaMemcpyAsync(&part_bytes, plan.part_sums + chunk.rows, sizeof(part_bytes), cudaMemcpyDeviceToHost, stream),
			   "asking for the length of a chunk's keys");
	RETURN_IF_FAILED(read_malformed(malformed));
	if (*malformed)
		return status_ok();
	RETURN_IF_FAILED(grow(&keys, taken.key_bytes + key_bytes + sizeof(uint64_t)));
	RETURN_IF_FAILED(grow(&key_offsets, (taken.rows + chunk.rows + 1) * sizeof(uint64_t)));
	RETURN_IF_FAILED(grow(&rows, taken.row_bytes + region_bytes - part_bytes));
	to = target();
	RETURN_IF_FAILED(extract_variable_copy(copy, &plan, &to, stream));
	CHECK_CUDA(cudaStreamSynchronize(stream), "copying a chunk's keys and rows");
	taken.key_bytes += key_bytes;
	taken.row_bytes += region_bytes - part_bytes;
	return status_ok();
}

/* Changes what is taken only if it succeeds and the chunk is well-formed. */
DevSortStatus
CudaJob::take_chunk(const FilledChunk &chunk, bool *malformed)
{
	ChunkCopy	copy = {};

	CHECK_CUDA(cudaSetDevice(device), "choosing the device");
	RETURN_IF_FAILED(grow(&staging, STAGING_HEAD + shape.chunk_bytes));
	RETURN_IF_FAILED(grow(&row_offsets, (taken.rows + chunk.rows + 1) * sizeof(uint64_t)));
	CHECK_CUDA(cudaMemsetAsync(staging.as<void>(), 0, STAGING_HEAD, stream), "clearing a flag");
	copy.entries = staging.as<uint8_t>() + STAGING_HEAD;
	copy.rows = chunk.rows;
	copy.back = chunk.back;
	copy.end = shape.chunk_bytes;
	copy.key_bytes = shape.key_bytes;
	copy.words = shape.words;
	RETURN_IF_FAILED(copy_in(staging.as<uint8_t>() + STAGING_HEAD, chunk.base, chunk.front));
	if (shape.key_bytes == 0)
		RETURN_IF_FAILED(take_variable(chunk, &copy, malformed));
	else
	{
		RETURN_IF_FAILED(take_fixed(chunk, &copy));
		RETURN_IF_FAILED(read_malformed(malformed));
		taken.key_bytes += chunk.rows * shape.key_bytes;
		taken.row_bytes += shape.words ? chunk.rows * sizeof(uint64_t) : shape.chunk_bytes - chunk.back;
	}
	taken.rows += chunk.rows;
	return status_ok();
}

Outcome
CudaJob::submit(const FilledChunk &chunk, uint64_t memory_limit)
{
	auto		start = std::chrono::steady_clock::now();
	bool		malformed = false;
	DevSortStatus status;

	budget.limit = memory_limit;
	status = take_chunk(chunk, &malformed);
	feed_us += microseconds_since(start);
	if (status.code != DEVSORT_OK)
		return outcome_from(status);
	if (malformed)
		return {GPUSORTD_BAD_CHUNK, "an entry of a chunk has no row where it says"};
	return {};
}

/* ---- sorting ---- */

DevSortStatus
CudaJob::sort_fixed(uint64_t workspace_bytes)
{
	DevSortFixedJob job = fixed_job(shape, taken.rows);

	RETURN_IF_FAILED(grow(&sorted_keys, taken.rows * shape.key_bytes));
	job.keys = keys.as<void>();
	job.sorted_keys = sorted_keys.as<void>();
	job.sorted_indexes = order.as<uint32_t>();
	return devsort_fixed(&job, workspace.as<void>(), workspace_bytes, stream);
}

DevSortStatus
CudaJob::sort_variable(uint64_t workspace_bytes)
{
	DevSortStringsJob job = strings_job(shape, taken.rows);

	job.bytes = keys.as<uint8_t>();
	job.offsets = key_offsets.as<uint64_t>();
	job.sorted_indexes = order.as<uint32_t>();
	return devsort_strings(&job, workspace.as<void>(), workspace_bytes, stream);
}

/* Gives back the keys' memory. */
DevSortStatus
CudaJob::sort()
{
	size_t		workspace_bytes;

	CHECK_CUDA(cudaSetDevice(device), "choosing the device");
	RETURN_IF_FAILED(sort_memory(shape, taken.rows, &workspace_bytes));
	RETURN_IF_FAILED(grow(&order, taken.rows * sizeof(uint32_t)));
	RETURN_IF_FAILED(grow(&workspace, workspace_bytes));
	RETURN_IF_FAILED(shape.key_bytes > 0 ? sort_fixed(workspace_bytes) : sort_variable(workspace_bytes));
	CHECK_CUDA(cudaStreamSynchronize(stream), "sorting");
	keys.release();
	key_offsets.release();
	sorted_keys.release();
	workspace.release();
	staging.release();
	return status_ok();
}

DevSortRowsJob
CudaJob::rows_job() const
{
	DevSortRowsJob job = {};

	job.n = taken.rows;
	job.rows = rows.as<uint8_t>();
	job.offsets = row_offsets.as<uint64_t>();
	job.order = order.as<uint32_t>();
	job.sorted_offsets = places.as<uint64_t>();
	return job;
}

DevSortStatus
CudaJob::plan_rows()
{
	size_t		workspace_bytes;
	DevSortRowsJob job;

	RETURN_IF_FAILED(grow(&places, (taken.rows + 1) * sizeof(uint64_t)));
	RETURN_IF_FAILED(grow(&window_memory, shape.chunk_bytes));
	job = rows_job();
	RETURN_IF_FAILED(devsort_rows_memory(&job, &workspace_bytes));
	RETURN_IF_FAILED(grow(&workspace, workspace_bytes));
	RETURN_IF_FAILED(devsort_rows_plan(&job, workspace.as<void>(), workspace_bytes, stream));
	CHECK_CUDA(cudaStreamSynchronize(stream), "planning the result");
	workspace.release();
	return status_ok();
}

Outcome
CudaJob::perform(uint64_t memory_limit, GpusortdSorted *sorted)
{
	auto		start = std::chrono::steady_clock::now();
	DevSortStatus status = status_ok();

	*sorted = {};
	budget.limit = memory_limit;
	if (taken.rows > 0)
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
	return outcome_from(status);
}

/* ---- returning ---- */

/* The rows before `position` that fit, and no more than BACKWARD_ROWS of them. */
DevSortStatus
CudaJob::find_backward(uint64_t position, uint64_t bytes, Window *window)
{
	uint64_t	low = position > BACKWARD_ROWS ? position - BACKWARD_ROWS : 0;
	std::vector<uint64_t> read(position - low + 1);
	uint64_t	first = position;

	CHECK_CUDA(cudaMemcpyAsync(read.data(), places.as<uint64_t>() + low, read.size() * sizeof(uint64_t),
							   cudaMemcpyDeviceToHost, stream), "reading where rows begin");
	CHECK_CUDA(cudaStreamSynchronize(stream), "reading where rows begin");
	while (first > low && read.back() - read[first - 1 - low] <= bytes)
		first--;
	*window = {first, position - first, read.back() - read[first - low]};
	return status_ok();
}

DevSortStatus
CudaJob::copy_out(uint8_t *to, Window *window)
{
	DevSortRowsJob job = rows_job();

	RETURN_IF_FAILED(devsort_rows_gather(&job, window->first, window->rows, window_memory.as<uint8_t>(), stream));
	CHECK_CUDA(cudaMemcpyAsync(to, window_memory.as<uint8_t>(), window->bytes, cudaMemcpyDeviceToHost, stream),
			   "copying rows from the device");
	CHECK_CUDA(cudaStreamSynchronize(stream), "gathering rows");
	return status_ok();
}

Outcome
CudaJob::fetch(uint64_t position, bool backward, uint8_t *to, uint64_t bytes, Window *window)
{
	DevSortRowsJob job = rows_job();
	DevSortStatus status;
	size_t		window_bytes = 0;

	*window = {position, 0, 0};
	if (position == (backward ? 0 : taken.rows))
		return {};
	status = status_from_cuda(cudaSetDevice(device), "choosing the device");
	if (status.code == DEVSORT_OK && backward)
		status = find_backward(position, bytes, window);
	else if (status.code == DEVSORT_OK)
	{
		status = devsort_rows_window(&job, position, bytes, &window->rows, &window_bytes, stream);
		window->bytes = window_bytes;
	}
	if (status.code == DEVSORT_OK)
		status = copy_out(to, window);
	return outcome_from(status);
}
