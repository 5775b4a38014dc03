/*
 * layer.cu
 *		The device layer proper: GPUs.
 *
 * It knows the devices, pins chunk memory for all of them at once, and sorts a small job on each before any
 * client comes (warm_up.cu); job.cu does the work.
 */
#include <algorithm>
#include <cstdlib>

#include "daemon/device/cuda/warm_up.h"

/* Kept for the next jobs: a part of what may be used, up to so much. */
#define KEPT_DIVISOR 16
#define KEPT_MOST (UINT64_C(1) << 30)
#define KEPT_SECONDS 60

struct CudaDevice
{
	CudaDevice(int number, uint64_t bytes) : memory_bytes(bytes), arenas(number)
	{
	}

	const uint64_t memory_bytes;
	ArenaPool arenas;
};

class CudaLayer : public DeviceLayer
{
public:
	const char *name() const override
	{
		return "CUDA";
	}

	Outcome open(const std::vector<int> &wanted, uint64_t chunk_bytes,
				 std::vector<DeviceDescription> *devices) override;
	uint64_t keep_memory(int device, uint64_t limit) override;
	void tidy() override;
	Outcome register_memory(void *memory, size_t bytes) override;
	void unregister_memory(void *memory) override;
	uint64_t memory_needed(const JobShape &shape, const JobSize &size) override
	{
		return job_memory(shape, size);
	}

	Outcome begin(int device, const JobShape &shape, const JobSize &expected, MemoryPromise *promise,
				  std::unique_ptr<DeviceJob> *job) override;

private:
	CudaDevice *find(int device);

	std::list<CudaDevice> known;
};

CudaDevice *
CudaLayer::find(int device)
{
	return &*std::find_if(known.begin(), known.end(),
						  [device](const CudaDevice &one) { return one.arenas.device == device; });
}

/* A device that is too old is passed over, unless it was asked for. */
Outcome
CudaLayer::open(const std::vector<int> &wanted, uint64_t chunk_bytes, std::vector<DeviceDescription> *devices)
{
	std::vector<int> numbers = wanted;
	int count;
	Outcome outcome;

	/* All kernels are loaded with the context, and not when a client first needs one. */
	(void) setenv("CUDA_MODULE_LOADING", "EAGER", 0);
	outcome = outcome_from(devsort_device_count(&count));
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
		{
			known.emplace_back(number, description.memory_bytes);
			devices->push_back({number, description.name, description.memory_bytes});
			known.back().arenas.limit_kept(KEPT_MOST);
			outcome = warm_up(&known.back().arenas, description.memory_bytes, chunk_bytes);
		}
		else if (status.code != DEVSORT_NO_DEVICE || !wanted.empty())
			outcome = outcome_from(status);
	}
	return outcome;
}

uint64_t
CudaLayer::keep_memory(int device, uint64_t limit)
{
	uint64_t kept = std::min(limit / KEPT_DIVISOR, KEPT_MOST);

	find(device)->arenas.limit_kept(kept);
	return kept;
}

void
CudaLayer::tidy()
{
	for (CudaDevice &device : known)
		device.arenas.release_idle(std::chrono::seconds(KEPT_SECONDS));
}

/* A thread's device is device 0 until it chooses one, and that may be none of ours. */
Outcome
CudaLayer::register_memory(void *memory, size_t bytes)
{
	cudaError_t error = cudaSetDevice(known.front().arenas.device);

	if (error == cudaSuccess)
		error = cudaHostRegister(memory, bytes, cudaHostRegisterPortable);
	if (error == cudaSuccess)
		return {};
	/* The devices are as they were; and the next launch must not report it. */
	(void) cudaGetLastError();
	return {GPUSORTD_NO_RESOURCES, std::string("could not pin chunk memory: ") + cudaGetErrorString(error)};
}

void
CudaLayer::unregister_memory(void *memory)
{
	(void) cudaSetDevice(known.front().arenas.device);
	(void) cudaHostUnregister(memory);
}

Outcome
CudaLayer::begin(int device, const JobShape &shape, const JobSize &expected, MemoryPromise *promise,
				 std::unique_ptr<DeviceJob> *job)
{
	CudaDevice *on = find(device);
	auto made = std::make_unique<CudaJob>(&on->arenas, on->memory_bytes, shape, expected, promise);
	Outcome outcome = outcome_from(made->open());

	if (outcome.ok())
		*job = std::move(made);
	return outcome;
}

std::unique_ptr<DeviceLayer>
device_layer_cuda()
{
	return std::make_unique<CudaLayer>();
}
