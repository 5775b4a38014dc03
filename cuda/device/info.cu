/*
 * info.cu
 *		Which devices there are, and why there may be none.
 *
 * The program is linked to the CUDA runtime alone, which loads the driver when it is first asked something.
 * So these functions work on any machine, and their statuses are what the user gets to read where a driver or
 * a device is missing.
 */
#include <cstdio>
#include <cstring>

#include "base/status.h"

/* The oldest devices that the library has code for: compute capability 7.5. */
#define OLDEST_COMPUTE_MAJOR 7
#define OLDEST_COMPUTE_MINOR 5

/* Why cudaGetDeviceCount failed, in a sentence. */
static DevSortStatus
device_explain_none(cudaError_t error)
{
	int driver = 0;
	int runtime = 0;

	/* Not sticky, but the next launch would report it. */
	(void) cudaGetLastError();
	(void) cudaDriverGetVersion(&driver);
	(void) cudaRuntimeGetVersion(&runtime);
	if (driver == 0)
		return status_make(DEVSORT_NO_DEVICE,
						   "no CUDA driver is installed: NVIDIA's has the library libcuda.so.1");
	if (error == cudaErrorInsufficientDriver)
		return status_make(DEVSORT_NO_DEVICE, "the CUDA driver (for CUDA %d.%d) is too old for CUDA %d.%d",
						   driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
	return status_make(DEVSORT_NO_DEVICE, "no CUDA device: %s", cudaGetErrorString(error));
}

/* Has the library code for this device? */
static DevSortStatus
device_check_age(int device, bool *usable)
{
	int major;
	int minor;

	CHECK_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
			   "asking for the device's age");
	CHECK_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
			   "asking for the device's age");
	*usable =
		major > OLDEST_COMPUTE_MAJOR || (major == OLDEST_COMPUTE_MAJOR && minor >= OLDEST_COMPUTE_MINOR);
	return status_ok();
}

/* Old devices between usable ones keep their numbers; devsort_device_describe tells them apart. */
DevSortStatus
devsort_device_count(int *count)
{
	cudaError_t error;
	int found = 0;

	if (count == NULL)
		return status_make(DEVSORT_INVALID, "count is NULL");
	*count = 0;
	error = cudaGetDeviceCount(&found);
	if (error != cudaSuccess)
		return device_explain_none(error);
	if (found == 0)
		return device_explain_none(cudaErrorNoDevice);
	for (int device = 0; device < found; device++)
	{
		bool usable = false;

		RETURN_IF_FAILED(device_check_age(device, &usable));
		if (usable)
		{
			*count = found;
			return status_ok();
		}
	}
	return status_make(DEVSORT_NO_DEVICE, "none of the %d CUDA devices has compute capability %d.%d or later",
					   found, OLDEST_COMPUTE_MAJOR, OLDEST_COMPUTE_MINOR);
}

/* What can be told without a context. */
static DevSortStatus
device_read_properties(int device, DevSortDevice *description)
{
	cudaDeviceProp properties;

	CHECK_CUDA(cudaGetDeviceProperties(&properties, device), "asking for the device's properties");
	snprintf(description->name, sizeof(description->name), "%.*s", (int) sizeof(description->name) - 1,
			 properties.name);
	description->compute_major = properties.major;
	description->compute_minor = properties.minor;
	description->multiprocessors = properties.multiProcessorCount;
	description->memory_bytes = properties.totalGlobalMem;
	CHECK_CUDA(cudaDriverGetVersion(&description->driver_version), "asking for the driver's version");
	CHECK_CUDA(cudaRuntimeGetVersion(&description->runtime_version), "asking for the runtime's version");
	return status_ok();
}

/* The free memory of the current device; this makes its context. */
static DevSortStatus
device_read_memory(DevSortDevice *description)
{
	size_t total;

	CHECK_CUDA(cudaMemGetInfo(&description->free_bytes, &total), "asking for the device's free memory");
	return status_ok();
}

/* A device that is too old is described, without its free memory, and is DEVSORT_NO_DEVICE. */
DevSortStatus
devsort_device_describe(int device, DevSortDevice *description)
{
	DevSortStatus status;
	int count;
	int previous;
	bool usable = false;

	if (description == NULL)
		return status_make(DEVSORT_INVALID, "description is NULL");
	memset(description, 0, sizeof(*description));
	RETURN_IF_FAILED(devsort_device_count(&count));
	if (device < 0 || device >= count)
		return status_make(DEVSORT_INVALID, "there is no CUDA device %d, only 0 to %d", device, count - 1);
	RETURN_IF_FAILED(device_read_properties(device, description));
	RETURN_IF_FAILED(device_check_age(device, &usable));
	if (!usable)
		return status_make(DEVSORT_NO_DEVICE,
						   "CUDA device %d (%s) has compute capability %d.%d, %d.%d or later is needed",
						   device, description->name, description->compute_major, description->compute_minor,
						   OLDEST_COMPUTE_MAJOR, OLDEST_COMPUTE_MINOR);
	CHECK_CUDA(cudaGetDevice(&previous), "asking for the current device");
	CHECK_CUDA(cudaSetDevice(device), "choosing the device");
	status = device_read_memory(description);
	if (previous != device)
		CHECK_CUDA(cudaSetDevice(previous), "choosing the previous device again");
	return status;
}
