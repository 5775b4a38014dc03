/*
 * runtime.cc
 *		The CUDA runtime in host memory: faults, devices, streams, pinned memory.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "daemon/fake/fake_cuda.h"

thread_local dim3 threadIdx;
thread_local dim3 blockIdx;

static thread_local int current_device = 0;
static thread_local cudaError_t last_error = cudaSuccess;

/* All but the contents of streams, which have a mutex each. */
static std::mutex fake_mutex;
static std::set<cudaStream_t> streams;
static std::map<char *, size_t> pinned; /* blocks, and their bytes */
static int events = 0;
static bool contexts[FAKE_DEVICES];

/* ---- faults ---- */

static uint64_t fault_countdown = 0;
static cudaError_t fault_error = cudaSuccess;
static bool fault_lasts = false;
static bool fault_struck = false;

void
fake_fault_arm(uint64_t call, cudaError_t error, bool lasts)
{
	std::lock_guard<std::mutex> lock(fake_mutex);

	fault_countdown = call;
	fault_error = error;
	fault_lasts = lasts;
	fault_struck = false;
}

bool
fake_fault_struck()
{
	std::lock_guard<std::mutex> lock(fake_mutex);

	return fault_struck;
}

static cudaError_t
failed(cudaError_t error)
{
	last_error = error;
	return error;
}

cudaError_t
fake_call()
{
	std::lock_guard<std::mutex> lock(fake_mutex);

	if (fault_countdown > 0 && --fault_countdown == 0)
		fault_struck = true;
	else if (!(fault_struck && fault_lasts))
		return cudaSuccess;
	return failed(fault_error);
}

/* The same for a call that works on the current device, which has a context from then on. */
static cudaError_t
fake_device_call()
{
	cudaError_t error = fake_call();
	std::lock_guard<std::mutex> lock(fake_mutex);

	contexts[current_device] = true;
	return error;
}

const char *
cudaGetErrorName(cudaError_t error)
{
	return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "an error";
}

const char *
cudaGetErrorString(cudaError_t error)
{
	return error == cudaErrorMemoryAllocation ? "out of memory" : "a fault";
}

cudaError_t
cudaGetLastError()
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

/* ---- devices ---- */

cudaError_t
cudaDriverGetVersion(int *version)
{
	*version = CUDART_VERSION;
	return fake_call();
}

cudaError_t
cudaRuntimeGetVersion(int *version)
{
	*version = CUDART_VERSION;
	return fake_call();
}

cudaError_t
cudaGetDeviceCount(int *count)
{
	*count = FAKE_DEVICES;
	return fake_call();
}

cudaError_t
cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int)
{
	*value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
	return fake_call();
}

cudaError_t
cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
	*properties = {};
	snprintf(properties->name, sizeof(properties->name), "host memory, as CUDA device %d", device);
	properties->totalGlobalMem = FAKE_DEVICE_MEMORY;
	properties->major = 9;
	properties->multiProcessorCount = 1;
	return fake_call();
}

cudaError_t
cudaGetDevice(int *device)
{
	*device = current_device;
	return fake_call();
}

cudaError_t
cudaSetDevice(int device)
{
	if (device < 0 || device >= FAKE_DEVICES)
		return failed(cudaErrorInvalidDevice);
	current_device = device;
	return fake_call();
}

cudaError_t
cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	*total_bytes = FAKE_DEVICE_MEMORY;
	*free_bytes = *total_bytes - fake_driver_bytes(current_device);
	return fake_device_call();
}

bool
fake_has_context(int device)
{
	std::lock_guard<std::mutex> lock(fake_mutex);

	return contexts[device];
}

FakeHoldings
fake_holdings()
{
	std::lock_guard<std::mutex> lock(fake_mutex);
	FakeHoldings held = {(int) streams.size(), events, (int) pinned.size(), fake_driver_ranges(), 0};

	for (int device = 0; device < FAKE_DEVICES; device++)
		held.bytes += fake_driver_bytes(device);
	return held;
}

/* ---- streams and events ---- */

struct CUstream_st
{
	explicit CUstream_st(int its_device) : device(its_device)
	{
	}

	void finish()
	{
		std::lock_guard<std::mutex> lock(mutex);

		for (; !work.empty(); work.pop_front())
			work.front()();
	}

	const int device;
	std::mutex mutex;
	std::deque<std::function<void()>> work; /* queued, and not begun */
};

struct CUevent_st
{
	cudaStream_t stream = NULL;
};

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int)
{
	cudaError_t error = fake_device_call();
	std::lock_guard<std::mutex> lock(fake_mutex);

	if (error == cudaSuccess)
		streams.insert(*stream = new CUstream_st(current_device));
	return error;
}

/* What a lost device has not done it never does. */
cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
	cudaError_t error = fake_device_call();

	{
		std::lock_guard<std::mutex> lock(fake_mutex);

		streams.erase(stream);
	}
	if (error == cudaSuccess)
		stream->finish();
	delete stream;
	return error;
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
	cudaError_t error = fake_device_call();

	if (error == cudaSuccess && stream != NULL)
		stream->finish();
	return error;
}

cudaError_t
cudaDeviceSynchronize()
{
	cudaError_t error = fake_device_call();
	std::lock_guard<std::mutex> lock(fake_mutex);

	for (cudaStream_t stream : streams)
	{
		if (error == cudaSuccess && stream->device == current_device)
			stream->finish();
	}
	return error;
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int)
{
	cudaError_t error = fake_device_call();
	std::lock_guard<std::mutex> lock(fake_mutex);

	if (error != cudaSuccess)
		return error;
	*event = new CUevent_st;
	events++;
	return error;
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
	cudaError_t error = fake_device_call();
	std::lock_guard<std::mutex> lock(fake_mutex);

	delete event;
	events--;
	return error;
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	cudaError_t error = fake_device_call();

	if (error == cudaSuccess)
		event->stream = stream;
	return error;
}

/* Waits for more than was recorded, which nobody can tell. */
cudaError_t
cudaEventSynchronize(cudaEvent_t event)
{
	cudaError_t error = fake_device_call();

	if (error == cudaSuccess && event->stream != NULL)
		event->stream->finish();
	return error;
}

/* Queues work; it is done when somebody waits for the stream. */
static cudaError_t
fake_queue(cudaStream_t stream, const std::function<void()> &work)
{
	cudaError_t error = fake_device_call();

	if (error != cudaSuccess)
		return error;
	if (stream == NULL)
		return failed(cudaErrorInvalidResourceHandle);

	std::lock_guard<std::mutex> lock(stream->mutex);

	stream->work.push_back(work);
	return error;
}

/* Like a launch, it tells of an error that nobody has taken notice of. */
cudaError_t
fake_launch(const cudaLaunchConfig_t *config, const std::function<void()> &thread)
{
	unsigned int blocks = config->gridDim.x;
	unsigned int threads = config->blockDim.x;

	if (last_error != cudaSuccess)
		return last_error;
	if (config->stream == NULL || config->stream->device != current_device)
		return failed(cudaErrorInvalidResourceHandle);
	return fake_queue(config->stream, [thread, blocks, threads] {
		for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
		{
			for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++)
				thread();
		}
	});
}

/* ---- memory ---- */

cudaError_t
cudaFree(void *memory)
{
	if (memory != NULL)
		return failed(cudaErrorInvalidValue);
	return fake_device_call();
}

void
fake_pin(void *memory, size_t bytes)
{
	std::lock_guard<std::mutex> lock(fake_mutex);

	pinned[(char *) memory] = bytes;
}

bool
fake_unpin(void *memory)
{
	std::lock_guard<std::mutex> lock(fake_mutex);

	return pinned.erase((char *) memory) == 1;
}

static bool
is_pinned(const void *memory)
{
	std::lock_guard<std::mutex> lock(fake_mutex);
	auto next = pinned.upper_bound((char *) memory);

	if (next == pinned.begin())
		return false;
	--next;
	return (char *) memory < next->first + next->second;
}

cudaError_t
cudaHostAlloc(void **memory, size_t bytes, unsigned int)
{
	cudaError_t error = fake_device_call();

	if (error == cudaSuccess)
		fake_pin(*memory = calloc(1, bytes), bytes);
	return error;
}

cudaError_t
cudaFreeHost(void *memory)
{
	cudaError_t error = fake_device_call();

	if (!fake_unpin(memory))
		return failed(cudaErrorInvalidValue);
	free(memory);
	return error;
}

cudaError_t
cudaHostRegister(void *memory, size_t bytes, unsigned int)
{
	cudaError_t error = fake_device_call();

	if (error == cudaSuccess)
		fake_pin(memory, bytes);
	return error;
}

cudaError_t
cudaHostUnregister(void *memory)
{
	cudaError_t error = fake_device_call();

	return fake_unpin(memory) ? error : failed(cudaErrorInvalidValue);
}

/* Memory that isn't pinned has been read, or written to, when the call is over. */
cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
	cudaError_t error;

	if (kind == cudaMemcpyHostToDevice && !is_pinned(from))
	{
		std::vector<char> copy((const char *) from, (const char *) from + bytes);

		return fake_queue(stream, [=] { memcpy(to, copy.data(), bytes); });
	}
	error = fake_queue(stream, [=] { memcpy(to, from, bytes); });
	if (error == cudaSuccess && kind == cudaMemcpyDeviceToHost && !is_pinned(to))
		stream->finish();
	return error;
}

/* ---- the driver's functions ---- */

cudaError_t
cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long,
						cudaDriverEntryPointQueryResult *found)
{
	*function = fake_driver_function(name);
	*found = *function != NULL ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
	return fake_call();
}
