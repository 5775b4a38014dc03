/*
 * case.h
 *		What the benchmarks of nvbench share: device memory, and what happens on failure.
 */
#ifndef GPUBENCH_NVBENCH_CASE_H
#define GPUBENCH_NVBENCH_CASE_H

#include <stdexcept>

#include <cuda_runtime_api.h>

#include "base/status.h"
#include "devsort.h"

/* The seed of all inputs: every run sorts the same keys. */
#define CASE_SEED UINT64_C(20261128)

/* Device memory that goes with its case. */
class DeviceMemory
{
public:
	DeviceMemory() = default;
	DeviceMemory(const DeviceMemory &) = delete;
	DeviceMemory &operator=(const DeviceMemory &) = delete;

	~DeviceMemory()
	{
		(void) cudaFree(address_);
	}

	/* Once. */
	DevSortStatus take(size_t bytes)
	{
		CHECK_CUDA_MEMORY(cudaMalloc(&address_, bytes), "taking memory for a case");
		return status_ok();
	}

	void *address() const
	{
		return address_;
	}

private:
	void *address_ = NULL;
};

/* For failures while times are taken: nvbench says what happened, and leaves the case. */
static inline void
stop_if_failed(const DevSortStatus &status)
{
	if (status.code != DEVSORT_OK)
		throw std::runtime_error(status.message);
}

#endif /* GPUBENCH_NVBENCH_CASE_H */
