/*
 * layer_cuda.cu
 *		The device layer proper: GPUs.
 *
 * It knows the devices, and pins chunk memory for all of them at once; cuda_job.cu does the work.
 */
#include "cuda_job.h"

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
	uint64_t
	memory_needed(const JobShape &shape, const JobSize &size) override
	{
		return job_memory(shape, size);
	}

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
