/*
 * layer_cuda.cu
 *		The device layer proper: jobs on GPUs, with the device library.
 *
 * While chunks come, keys, rows and where each row begins gather in buffers that grow without moving.  Fixed keys: a chunk's
 * entries go to a staging buffer, its rows straight behind those that are there already, and a kernel makes dense keys and offsets of
 * the entries.  Variable keys: the whole chunk goes to the staging buffer, and kernels share it out into keys and rows.
 *
 * Then keys are sorted with row numbers as payload, their memory is given back, and a prefix sum plans the result.  Rows are
 * gathered window by window, when they are fetched, and copied to the client's chunk.
 *
 * Each job has a stream of its own.  Every call waits for it: a copy of a chunk at the speed of the bus takes so much longer
 * than the waiting that nothing would be won by more than one under way in a job, and several jobs overlap anyway.
 *
 * How much memory a job is promised is memory_needed's sum of all its buffers at their largest; so what was accepted can be
 * sorted and returned.  Only if another program takes the device's memory, sorting may fail for want of it.
 */
#include <algorithm>
#include <chrono>
#include <cstring>

#include "chunk_extract.h"
#include "device_layer.h"

/* What a growing buffer may take at most beyond what it was asked for: its steps, the device's granularity. */
#define BUFFER_SLACK (UINT64_C(34) << 20)
#define BUFFER_SLACK_DIVISOR 8

/* The head of the staging buffer holds the flag that a chunk is malformed. */
#define STAGING_HEAD 256

/* Rows that a window before a position has at most. */
#define BACKWARD_ROWS 65536

static Outcome
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

/* ---- memory ---- */

/* A growing buffer of the current device that gives back its memory by itself. */
class DeviceMemory
{
public:
	~DeviceMemory()
	{
		release();
	}

	void
	release()
	{
		devsort_buffer_destroy(buffer);
		buffer = NULL;
	}

	/* Makes so many bytes usable; what is there stays. */
	DevSortStatus
	grow(DevSortBudget *budget, uint64_t most, uint64_t bytes)
	{
		if (buffer == NULL)
			RETURN_IF_FAILED(devsort_buffer_create(budget, most, &buffer));
		return devsort_buffer_grow(buffer, bytes);
	}

	template <typename T>
	T *
	as() const
	{
		return buffer != NULL ? (T *) devsort_buffer_address(buffer) : NULL;
	}

private:
	DevSortBuffer *buffer = NULL;
};

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

static DevSortFixedJob
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

static DevSortStringsJob
strings_job(const JobShape &shape, uint64_t n)
{
	DevSortStringsJob job = {};

	job.algorithm = library_algorithm(shape.algorithm);
	job.n = n;
	return job;
}

/* The workspace of the sort. */
static DevSortStatus
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

/* The workspace for taking apart a chunk with variable keys. */
static uint64_t
plan_memory(uint64_t rows)
{
	Workspace	measured = workspace_measure();

	extract_plan_take(&measured, rows);
	return workspace_bytes(&measured);
}

/* ---- a job ---- */

class CudaJob : public DeviceJob
{
public:
	CudaJob(int its_device, const JobShape &asked, uint64_t device_bytes) : device(its_device), shape(asked), most(device_bytes)
	{
	}

	~CudaJob() override;

	DevSortStatus open();
	Outcome submit(const FilledChunk &chunk, uint64_t memory_limit) override;
	Outcome perform(uint64_t memory_limit, GpusortdSorted *sorted) override;
	Outcome fetch(uint64_t position, bool backward, uint8_t *target, uint64_t bytes, Window *window) override;

	JobSize
	size() const override
	{
		return taken;
	}

private:
	DevSortStatus grow(DeviceMemory *memory, uint64_t bytes);
	DevSortStatus take_chunk(const FilledChunk &chunk, bool *malformed);
	DevSortStatus take_fixed(const FilledChunk &chunk, ChunkCopy *copy);
	DevSortStatus take_variable(const FilledChunk &chunk, ChunkCopy *copy, bool *malformed);
	DevSortStatus copy_in(uint8_t *to, const uint8_t *from, uint64_t bytes);
	DevSortStatus read_malformed(bool *malformed);
	ExtractTarget target() const;
	DevSortStatus sort();
	DevSortStatus sort_fixed(uint64_t workspace_bytes);
	DevSortStatus sort_variable(uint64_t workspace_bytes);
	DevSortStatus plan_rows();
	DevSortStatus find_backward(uint64_t position, uint64_t bytes, Window *window);
	DevSortStatus copy_out(uint8_t *to, Window *window);
	DevSortRowsJob rows_job() const;

	int			device;
	JobShape	shape;
	uint64_t	most;			/* no buffer can be larger */
	JobSize		taken;
	DevSortBudget budget = {};
	uint64_t	highest = 0;	/* bytes of device memory */
	uint64_t	feed_us = 0;
	cudaStream_t stream = NULL;
	DeviceMemory staging;
	DeviceMemory keys;
	DeviceMemory key_offsets;	/* variable keys */
	DeviceMemory rows;
	DeviceMemory row_offsets;
	DeviceMemory order;
	DeviceMemory sorted_keys;	/* fixed keys, while they are being sorted */
	DeviceMemory places;		/* where each row of the result begins */
	DeviceMemory workspace;
	DeviceMemory window_memory;
};

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

/* ---- the layer ---- */

class CudaLayer : public DeviceLayer
{
public:
	const char *
	name() const override
	{
		return "CUDA";
	}

	Outcome open(const std::vector<int> &wanted, std::vector<DeviceDescription> *devices) override;
	Outcome register_memory(void *memory, size_t bytes) override;
	void unregister_memory(void *memory) override;
	uint64_t memory_needed(const JobShape &shape, const JobSize &size) override;
	Outcome begin(int device, const JobShape &shape, std::unique_ptr<DeviceJob> *job) override;

private:
	std::vector<DeviceDescription> known;
};

/* A device that is too old is passed over, unless it was asked for. */
Outcome
CudaLayer::open(const std::vector<int> &wanted, std::vector<DeviceDescription> *devices)
{
	std::vector<int> numbers = wanted;
	int			count;
	Outcome		outcome = outcome_from(devsort_device_count(&count));

	for (int number = 0; wanted.empty() && number < count; number++)
		numbers.push_back(number);
	for (int number : numbers)
	{
		DevSortDevice description;
		DevSortStatus status;

		if (!outcome.ok())
			break;
		status = devsort_device_describe(number, &description);
		if (status.code == DEVSORT_OK)
			known.push_back({number, description.name, description.memory_bytes});
		else if (status.code != DEVSORT_NO_DEVICE || !wanted.empty())
			outcome = outcome_from(status);
	}
	*devices = known;
	return outcome;
}

Outcome
CudaLayer::register_memory(void *memory, size_t bytes)
{
	cudaError_t error = cudaHostRegister(memory, bytes, cudaHostRegisterPortable);

	if (error == cudaSuccess)
		return {};
	/* The devices are as they were; and the next launch must not report it. */
	(void) cudaGetLastError();
	return {GPUSORTD_NO_RESOURCES, std::string("could not pin chunk memory: ") + cudaGetErrorString(error)};
}

void
CudaLayer::unregister_memory(void *memory)
{
	(void) cudaHostUnregister(memory);
}

/* All buffers, as CudaJob has them: of feeding, and the larger of sorting and returning. */
uint64_t
CudaLayer::memory_needed(const JobShape &shape, const JobSize &size)
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

Outcome
CudaLayer::begin(int device, const JobShape &shape, std::unique_ptr<DeviceJob> *job)
{
	uint64_t	memory_bytes = 0;
	Outcome		outcome;

	for (const DeviceDescription &description : known)
	{
		if (description.number == device)
			memory_bytes = description.memory_bytes;
	}

	auto		made = std::make_unique<CudaJob>(device, shape, memory_bytes);

	outcome = outcome_from(made->open());
	if (outcome.ok())
		*job = std::move(made);
	return outcome;
}

std::unique_ptr<DeviceLayer>
device_layer_cuda()
{
	return std::make_unique<CudaLayer>();
}
