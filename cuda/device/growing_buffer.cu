/*
 * growing_buffer.cu
 *		Device memory that grows without moving, within a budget.
 *
 * A buffer is a range of addresses, reserved once for the most that it may ever hold, with memory mapped
 * behind its beginning: CUDA's virtual memory management.  Growing maps more memory behind the end of what is
 * there, so nothing is copied and no pointer changes.
 *
 * A buffer grows by what was asked for, rounded up to the device's granularity: a caller that wants fewer
 * calls of the driver asks for more.  The budget counts what is mapped, the rounding included.
 *
 * A mapping keeps its memory alive.  So the handle of each piece is given back as soon as it is mapped, and
 * there is no list of pieces: unmapping the whole range frees them all.
 *
 * Only the driver has these functions.  They are looked up at run time, so that the program isn't linked to
 * libcuda and loads where there is no driver.
 */
#include <cstdlib>

#include <cuda.h>
#include <cudaTypedefs.h>

#include "base/status.h"

/* The functions are used as they were in this version of CUDA, the oldest that the library is built with. */
#define DRIVER_INTERFACE 12000

typedef struct DriverCalls
{
	PFN_cuMemGetAllocationGranularity_v10020 get_granularity;
	PFN_cuMemAddressReserve_v10020 reserve;
	PFN_cuMemAddressFree_v10020 free_addresses;
	PFN_cuMemCreate_v10020 create;
	PFN_cuMemRelease_v10020 release;
	PFN_cuMemMap_v10020 map;
	PFN_cuMemUnmap_v10020 unmap;
	PFN_cuMemSetAccess_v10020 set_access;
} DriverCalls;

struct DevSortBuffer
{
	DriverCalls driver;
	DevSortBudget *budget;
	CUmemAllocationProp memory; /* what to create: memory of one device */
	size_t granularity;
	size_t max_bytes;
	size_t reserved; /* max_bytes, rounded up to the granularity */
	size_t capacity; /* mapped from the beginning on, a multiple of the granularity */
	CUdeviceptr address;
};

/* The codes of driver and runtime are the same numbers. */
static inline cudaError_t
driver_error(CUresult result)
{
	static_assert((int) CUDA_ERROR_OUT_OF_MEMORY == (int) cudaErrorMemoryAllocation, "error codes differ");
	static_assert((int) CUDA_ERROR_INVALID_VALUE == (int) cudaErrorInvalidValue, "error codes differ");
	static_assert((int) CUDA_ERROR_NOT_SUPPORTED == (int) cudaErrorNotSupported, "error codes differ");
	return (cudaError_t) result;
}

static inline size_t
round_up(size_t bytes, size_t granularity)
{
	return (bytes + granularity - 1) / granularity * granularity;
}

/* ---- the driver's functions ---- */

static DevSortStatus
driver_find(const char *name, void **function)
{
	cudaDriverEntryPointQueryResult found;

#if CUDART_VERSION >= 12050
	CHECK_CUDA(cudaGetDriverEntryPointByVersion(name, function, DRIVER_INTERFACE, cudaEnableDefault, &found),
			   "looking for the driver's functions");
#else
	CHECK_CUDA(cudaGetDriverEntryPoint(name, function, cudaEnableDefault, &found),
			   "looking for the driver's functions");
#endif
	if (found != cudaDriverEntryPointSuccess)
		return status_make(DEVSORT_NO_DEVICE, "the CUDA driver is too old: it has no %s", name);
	return status_ok();
}

static DevSortStatus
driver_find_all(DriverCalls *driver)
{
	RETURN_IF_FAILED(driver_find("cuMemGetAllocationGranularity", (void **) &driver->get_granularity));
	RETURN_IF_FAILED(driver_find("cuMemAddressReserve", (void **) &driver->reserve));
	RETURN_IF_FAILED(driver_find("cuMemAddressFree", (void **) &driver->free_addresses));
	RETURN_IF_FAILED(driver_find("cuMemCreate", (void **) &driver->create));
	RETURN_IF_FAILED(driver_find("cuMemRelease", (void **) &driver->release));
	RETURN_IF_FAILED(driver_find("cuMemMap", (void **) &driver->map));
	RETURN_IF_FAILED(driver_find("cuMemUnmap", (void **) &driver->unmap));
	RETURN_IF_FAILED(driver_find("cuMemSetAccess", (void **) &driver->set_access));
	return status_ok();
}

/* ---- creating ---- */

/* Everything of a buffer but its addresses; nothing in it needs to be given back. */
static DevSortStatus
buffer_prepare(DevSortBuffer *buffer)
{
	int device;

	CHECK_CUDA(cudaGetDevice(&device), "asking for the current device");
	CHECK_CUDA(cudaFree(NULL), "making a context");
	RETURN_IF_FAILED(driver_find_all(&buffer->driver));
	buffer->memory.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	buffer->memory.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	buffer->memory.location.id = device;
	CHECK_CUDA(driver_error(buffer->driver.get_granularity(&buffer->granularity, &buffer->memory,
														   CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)),
			   "asking for the granularity of device memory");
	if (buffer->max_bytes > SIZE_MAX - buffer->granularity)
		return status_make(DEVSORT_INVALID, "a buffer of %zu bytes is larger than any memory",
						   buffer->max_bytes);
	buffer->reserved = round_up(buffer->max_bytes, buffer->granularity);
	return status_ok();
}

static DevSortStatus
buffer_reserve(DevSortBuffer *buffer)
{
	CHECK_CUDA_MEMORY(driver_error(buffer->driver.reserve(&buffer->address, buffer->reserved, 0, 0, 0)),
					  "reserving addresses for a buffer");
	return status_ok();
}

DevSortStatus
devsort_buffer_create(DevSortBudget *budget, size_t max_bytes, DevSortBuffer **buffer)
{
	DevSortBuffer *created;
	DevSortStatus status;

	if (buffer == NULL)
		return status_make(DEVSORT_INVALID, "buffer is NULL");
	*buffer = NULL;
	if (budget == NULL)
		return status_make(DEVSORT_INVALID, "budget is NULL");
	if (max_bytes == 0)
		return status_make(DEVSORT_INVALID, "a buffer of at most 0 bytes can't be made");
	created = (DevSortBuffer *) calloc(1, sizeof(DevSortBuffer));
	if (created == NULL)
		return status_make(DEVSORT_OUT_OF_MEMORY, "out of host memory while making a buffer");
	created->budget = budget;
	created->max_bytes = max_bytes;
	status = buffer_prepare(created);
	if (status.code == DEVSORT_OK)
		status = buffer_reserve(created);
	if (status.code == DEVSORT_OK)
		*buffer = created;
	else
		free(created);
	return status;
}

/* ---- growing ---- */

static DevSortStatus
buffer_map(const DevSortBuffer *buffer, size_t bytes, CUmemGenericAllocationHandle handle)
{
	CHECK_CUDA_MEMORY(driver_error(
						  buffer->driver.map(buffer->address + buffer->capacity, bytes, 0, handle, 0)),
					  "mapping device memory");
	return status_ok();
}

static DevSortStatus
buffer_allow_access(const DevSortBuffer *buffer, size_t bytes)
{
	CUmemAccessDesc access;

	access.location = buffer->memory.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CHECK_CUDA_MEMORY(driver_error(
						  buffer->driver.set_access(buffer->address + buffer->capacity, bytes, &access, 1)),
					  "allowing access to device memory");
	return status_ok();
}

/* Maps so many bytes behind the end, or none. */
static DevSortStatus
buffer_extend(DevSortBuffer *buffer, size_t bytes)
{
	CUmemGenericAllocationHandle handle;
	DevSortStatus status;

	CHECK_CUDA_MEMORY(driver_error(buffer->driver.create(&handle, bytes, &buffer->memory, 0)),
					  "taking device memory");
	status = buffer_map(buffer, bytes, handle);
	/* A mapping keeps the memory; without one this frees it. */
	(void) buffer->driver.release(handle);
	if (status.code != DEVSORT_OK)
		return status;
	status = buffer_allow_access(buffer, bytes);
	if (status.code != DEVSORT_OK)
	{
		(void) buffer->driver.unmap(buffer->address + buffer->capacity, bytes);
		return status;
	}
	buffer->capacity += bytes;
	buffer->budget->used += bytes;
	return status_ok();
}

/* Says what was wanted and what there is. */
static DevSortStatus
buffer_explain_out_of_memory(const DevSortBuffer *buffer, size_t bytes, size_t needed)
{
	size_t free_bytes = 0;
	size_t total_bytes = 0;

	if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess)
		(void) cudaGetLastError();
	return status_make(
		DEVSORT_OUT_OF_MEMORY,
		"out of device memory: a buffer was to grow from %zu to %zu bytes, which takes %zu more, "
		"and the device has %zu of its %zu bytes free",
		buffer->capacity, bytes, needed, free_bytes, total_bytes);
}

DevSortStatus
devsort_buffer_grow(DevSortBuffer *buffer, size_t bytes)
{
	const DevSortBudget *budget;
	DevSortStatus status;
	size_t needed;
	size_t left;

	if (buffer == NULL)
		return status_make(DEVSORT_INVALID, "buffer is NULL");
	if (bytes > buffer->max_bytes)
		return status_make(DEVSORT_INVALID, "a buffer made for at most %zu bytes can't grow to %zu",
						   buffer->max_bytes, bytes);
	if (bytes <= buffer->capacity)
		return status_ok();
	budget = buffer->budget;
	left = budget->limit > budget->used ? budget->limit - budget->used : 0;
	needed = round_up(bytes, buffer->granularity) - buffer->capacity;
	if (needed > left)
		return status_make(
			DEVSORT_OVER_BUDGET,
			"over the budget: a buffer was to grow from %zu to %zu bytes, which takes %zu more, "
			"and %zu of the budget of %zu bytes are used",
			buffer->capacity, bytes, needed, budget->used, budget->limit);
	status = buffer_extend(buffer, needed);
	if (status.code == DEVSORT_OUT_OF_MEMORY)
		return buffer_explain_out_of_memory(buffer, bytes, needed);
	return status;
}

/* ---- using, destroying ---- */

void *
devsort_buffer_address(const DevSortBuffer *buffer)
{
	return (void *) buffer->address;
}

void
devsort_buffer_destroy(DevSortBuffer *buffer)
{
	if (buffer == NULL)
		return;
	if (buffer->capacity > 0)
		(void) buffer->driver.unmap(buffer->address, buffer->capacity);
	(void) buffer->driver.free_addresses(buffer->address, buffer->reserved);
	buffer->budget->used -= buffer->capacity;
	free(buffer);
}
