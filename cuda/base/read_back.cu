/*
 * read_back.cu
 *		Reading a few bytes back from the device.
 */
#include <cstring>
#include <mutex>
#include <vector>

#include "base/read_back.h"

/* Pages that nobody uses. */
static std::mutex free_pages_mutex;
static std::vector<ReadBackPage> free_pages;

/* A page that is free, for the current device; false: there is none. */
static bool
reuse_page(int device, ReadBackPage *page)
{
	std::lock_guard<std::mutex> lock(free_pages_mutex);

	for (size_t i = 0; i < free_pages.size(); i++)
	{
		if (free_pages[i].device != device)
			continue;
		*page = free_pages[i];
		free_pages[i] = free_pages.back();
		free_pages.pop_back();
		return true;
	}
	return false;
}

static DevSortStatus
make_page(int device, ReadBackPage *page)
{
	cudaError_t error;

	page->device = device;
	CHECK_CUDA_MEMORY(cudaHostAlloc(&page->bytes, READ_BACK_BYTES, cudaHostAllocPortable),
					  "allocating host memory to read to");
	error = cudaEventCreateWithFlags(&page->arrived, cudaEventDisableTiming);
	if (error != cudaSuccess)
		(void) cudaFreeHost(page->bytes);
	return status_from_cuda(error, "creating an event");
}

static void
give_back(ReadBack *read)
{
	std::lock_guard<std::mutex> lock(free_pages_mutex);

	free_pages.push_back(read->page);
	read->taken = false;
}

ReadBack::~ReadBack()
{
	if (queued)
		(void) cudaEventSynchronize(page.arrived);
	if (taken)
		give_back(this);
}

DevSortStatus
read_back_begin(ReadBack *read, const void *from, size_t bytes, const char *doing, cudaStream_t stream)
{
	int device;

	CHECK_CUDA(cudaGetDevice(&device), "asking for the device");
	if (!reuse_page(device, &read->page))
		RETURN_IF_FAILED(make_page(device, &read->page));
	read->taken = true;
	CHECK_CUDA(cudaMemcpyAsync(read->page.bytes, from, bytes, cudaMemcpyDeviceToHost, stream), doing);
	CHECK_CUDA(cudaEventRecord(read->page.arrived, stream), doing);
	read->queued = true;
	return status_ok();
}

DevSortStatus
read_back_end(ReadBack *read, void *to, size_t bytes, const char *doing)
{
	read->queued = false;
	CHECK_CUDA(cudaEventSynchronize(read->page.arrived), doing);
	memcpy(to, read->page.bytes, bytes);
	give_back(read);
	return status_ok();
}
