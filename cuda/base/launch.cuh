/*
 * launch.cuh
 *		What kernels need before they are launched, and launching those that need no shared memory.
 */
#ifndef DEVSORT_LAUNCH_CUH
#define DEVSORT_LAUNCH_CUH

#include <mutex>

#include "base/status.h"

#define LAUNCH_KNOWN_DEVICES 32

/* The current device's attribute. */
static inline DevSortStatus
device_attribute(cudaDeviceAttr attribute, int *value)
{
	int device;

	CHECK_CUDA(cudaGetDevice(&device), "asking for the device");
	CHECK_CUDA(cudaDeviceGetAttribute(value, attribute, device), "asking about the device");
	return status_ok();
}

/*
 * Lets a kernel use so much dynamic shared memory on the current device.  What was allowed once stays so:
 * small sorts feel the call.
 */
template <auto kernel>
static inline DevSortStatus
allow_shared_memory(size_t bytes)
{
	static std::mutex mutex;
	static size_t allowed[LAUNCH_KNOWN_DEVICES];
	std::lock_guard<std::mutex> lock(mutex);
	int device;

	CHECK_CUDA(cudaGetDevice(&device), "asking for the device");
	if (device < LAUNCH_KNOWN_DEVICES && allowed[device] >= bytes)
		return status_ok();
	CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) bytes),
			   "asking for shared memory");
	if (device < LAUNCH_KNOWN_DEVICES)
		allowed[device] = bytes;
	return status_ok();
}

/* Queues `blocks` blocks of a kernel; `doing` as for status_from_cuda. */
template <typename... Parameters, typename... Arguments>
static inline DevSortStatus
launch(const char *doing, void (*kernel)(Parameters...), unsigned int blocks, unsigned int threads,
	   cudaStream_t stream, Arguments... arguments)
{
	cudaLaunchConfig_t config = {};

	config.gridDim.x = blocks;
	config.blockDim.x = threads;
	config.stream = stream;
	CHECK_CUDA(cudaLaunchKernelEx(&config, kernel, arguments...), doing);
	return status_ok();
}

#endif /* DEVSORT_LAUNCH_CUH */
