/*
 * driver.cc
 *		The driver's memory management in host memory.
 *
 * Addresses are reserved without access to them.  Memory is only counted when it is created; it is there,
 * full of rubbish, from the moment that access to it is allowed, until it is unmapped.
 */
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include <sys/mman.h>

#include <cudaTypedefs.h>

#include "daemon/fake/fake_cuda.h"

#define RUBBISH 0xA5
#define RUBBISH_BYTES ((size_t) 64 << 10) /* at both ends: all of it takes too long */

struct Allocation
{
	size_t bytes;
	int device;
	bool mapped;
};

static std::mutex driver_mutex;
static std::map<CUmemGenericAllocationHandle, Allocation> created; /* handles that were not released */
static std::map<CUdeviceptr, Allocation> mapped;
static uint64_t taken[FAKE_DEVICES];
static int ranges = 0;
static CUmemGenericAllocationHandle last_handle = 0;

uint64_t
fake_driver_bytes(int device)
{
	std::lock_guard<std::mutex> lock(driver_mutex);

	return taken[device];
}

int
fake_driver_ranges()
{
	std::lock_guard<std::mutex> lock(driver_mutex);

	return ranges;
}

/* The codes of driver and runtime are the same numbers; the runtime doesn't remember the driver's. */
static CUresult
driver_call()
{
	CUresult result = (CUresult) fake_call();

	if (result != CUDA_SUCCESS)
		(void) cudaGetLastError();
	return result;
}

static CUresult
get_granularity(size_t *granularity, const CUmemAllocationProp *, CUmemAllocationGranularity_flags)
{
	*granularity = FAKE_PAGE;
	return driver_call();
}

static CUresult
reserve(CUdeviceptr *address, size_t bytes, size_t, CUdeviceptr, unsigned long long)
{
	CUresult result = driver_call();
	std::lock_guard<std::mutex> lock(driver_mutex);
	void *found;

	if (result != CUDA_SUCCESS)
		return result;
	found = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (found == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*address = (CUdeviceptr) found;
	ranges++;
	return result;
}

static CUresult
free_addresses(CUdeviceptr address, size_t bytes)
{
	CUresult result = driver_call();
	std::lock_guard<std::mutex> lock(driver_mutex);

	munmap((void *) address, bytes);
	ranges--;
	return result;
}

static CUresult
create(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *memory,
	   unsigned long long)
{
	CUresult result = driver_call();
	std::lock_guard<std::mutex> lock(driver_mutex);
	int device = memory->location.id;

	if (result != CUDA_SUCCESS)
		return result;
	if (bytes % FAKE_PAGE != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (taken[device] + bytes > FAKE_DEVICE_MEMORY)
		return CUDA_ERROR_OUT_OF_MEMORY;
	taken[device] += bytes;
	*handle = ++last_handle;
	created[*handle] = {bytes, device, false};
	return result;
}

static CUresult
release(CUmemGenericAllocationHandle handle)
{
	CUresult result = driver_call();
	std::lock_guard<std::mutex> lock(driver_mutex);
	const Allocation &allocation = created.at(handle);

	if (!allocation.mapped)
		taken[allocation.device] -= allocation.bytes;
	created.erase(handle);
	return result;
}

static CUresult
map(CUdeviceptr address, size_t, size_t, CUmemGenericAllocationHandle handle, unsigned long long)
{
	CUresult result = driver_call();
	std::lock_guard<std::mutex> lock(driver_mutex);

	if (result != CUDA_SUCCESS)
		return result;
	created.at(handle).mapped = true;
	mapped[address] = created.at(handle);
	return result;
}

static CUresult
unmap(CUdeviceptr address, size_t bytes)
{
	CUresult result = driver_call();
	std::lock_guard<std::mutex> lock(driver_mutex);
	auto first = mapped.lower_bound(address);
	auto end = mapped.lower_bound(address + bytes);

	for (auto one = first; one != end; ++one)
		taken[one->second.device] -= one->second.bytes;
	mapped.erase(first, end);
	(void) mprotect((void *) address, bytes, PROT_NONE);
	(void) madvise((void *) address, bytes, MADV_DONTNEED);
	return result;
}

static CUresult
set_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *, size_t)
{
	CUresult result = driver_call();

	if (result != CUDA_SUCCESS)
		return result;
	if (mprotect((void *) address, bytes, PROT_READ | PROT_WRITE) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	memset((void *) address, RUBBISH, RUBBISH_BYTES);
	memset((void *) (address + bytes - RUBBISH_BYTES), RUBBISH, RUBBISH_BYTES);
	return result;
}

void *
fake_driver_function(const char *name)
{
	static const std::map<std::string, void *> functions = {
		{"cuMemGetAllocationGranularity", (void *) get_granularity},
		{"cuMemAddressReserve", (void *) reserve},
		{"cuMemAddressFree", (void *) free_addresses},
		{"cuMemCreate", (void *) create},
		{"cuMemRelease", (void *) release},
		{"cuMemMap", (void *) map},
		{"cuMemUnmap", (void *) unmap},
		{"cuMemSetAccess", (void *) set_access},
	};
	auto found = functions.find(name);

	return found != functions.end() ? found->second : NULL;
}
