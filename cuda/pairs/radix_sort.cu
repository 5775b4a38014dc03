/*
 * radix_sort.cu
 *		CUB's radix sort: the algorithm `radix`, and what ends a sample sort that had no luck.
 */
#include <cub/device/device_radix_sort.cuh>

#include "pairs/radix_sort.h"
#include "primitives/key_order.cuh"

#define SWAP_THREADS 256

/* Turns big-endian keys into integers, or back. */
template <typename Key>
static __global__ void
swap_bytes_kernel(Key *keys, uint64_t n, KeyOrder order)
{
	for (uint64_t i = blockIdx.x * (uint64_t) SWAP_THREADS + threadIdx.x; i < n;
		 i += gridDim.x * (uint64_t) SWAP_THREADS)
		keys[i] = key_order_apply(order, keys[i]);
}

template <typename Key>
static DevSortStatus
swap_bytes(Key *keys, uint64_t n, cudaStream_t stream)
{
	uint64_t blocks = (n + SWAP_THREADS - 1) / SWAP_THREADS;

	swap_bytes_kernel<Key>
		<<<(unsigned) (blocks < 65536 ? blocks : 65536), SWAP_THREADS, 0, stream>>>(keys, n,
																					key_order_make<Key>(
																						true));
	CHECK_LAUNCH("turning keys round");
	return status_ok();
}

/*
 * Bytes of CUB's own bookkeeping, an upper bound over the architectures: it must be known without a device.
 */
static size_t
bookkeeping_bytes(uint64_t n)
{
	return n / 2 + ((size_t) 4 << 20);
}

template <typename Key>
void
radix_sort_measure(Workspace *workspace, uint64_t n, bool has_values, bool lean)
{
	size_t pair_bytes = sizeof(Key) + (has_values ? sizeof(uint32_t) : 0);

	workspace_take<char>(workspace, bookkeeping_bytes(n) + (lean ? 0 : n * pair_bytes + 1024));
}

/* With storage = NULL only says how much it wants.  *in_place: the result is where the input was. */
template <typename Key>
static cudaError_t
call_cub(void *storage, size_t *bytes, const PairSortJob<Key> *job, bool lean, bool *in_place,
		 cudaStream_t stream)
{
	const int bits = sizeof(Key) * 8;
	uint32_t n = (uint32_t) job->n;
	cub::DoubleBuffer<Key> keys(job->keys, job->sorted_keys);
	cub::DoubleBuffer<uint32_t> values(job->values, job->sorted_values);
	cudaError_t error;

	*in_place = false;
	if (!lean && job->sorted_values)
		return cub::DeviceRadixSort::SortPairs(storage, *bytes, (const Key *) job->keys, job->sorted_keys,
											   (const uint32_t *) job->values, job->sorted_values, n, 0, bits,
											   stream);
	if (!lean)
		return cub::DeviceRadixSort::SortKeys(storage, *bytes, (const Key *) job->keys, job->sorted_keys, n,
											  0, bits, stream);
	if (job->sorted_values)
		error = cub::DeviceRadixSort::SortPairs(storage, *bytes, keys, values, n, 0, bits, stream);
	else
		error = cub::DeviceRadixSort::SortKeys(storage, *bytes, keys, n, 0, bits, stream);
	*in_place = keys.Current() == job->keys;
	return error;
}

template <typename Key>
DevSortStatus
radix_sort(const PairSortJob<Key> *job, bool lean, const Workspace *workspace, cudaStream_t stream)
{
	Workspace mine = *workspace;
	Workspace measured = workspace_measure();
	char *storage;
	size_t bytes = 0;
	bool in_place;

	if (job->n == 0)
		return status_ok();
	radix_sort_measure<Key>(&measured, job->n, job->sorted_values != NULL, lean);
	storage = workspace_take<char>(&mine, measured.used);

	stage_begin(job->stages, "radix sort", stream);
	if (job->big_endian)
		RETURN_IF_FAILED(swap_bytes(job->keys, job->n, stream));
	CHECK_CUDA(call_cub(NULL, &bytes, job, lean, &in_place, stream), "asking CUB for its memory");
	if (bytes > measured.used)
		return status_make(DEVSORT_DEVICE_FAILED,
						   "CUB's radix sort wants %zu bytes of workspace, more than the %zu expected", bytes,
						   measured.used);
	CHECK_CUDA(call_cub(storage, &bytes, job, lean, &in_place, stream), "radix sorting");
	if (in_place)
	{
		CHECK_CUDA(cudaMemcpyAsync(job->sorted_keys, job->keys, job->n * sizeof(Key),
								   cudaMemcpyDeviceToDevice, stream),
				   "copying sorted keys");
		if (job->sorted_values)
			CHECK_CUDA(cudaMemcpyAsync(job->sorted_values, job->values, job->n * sizeof(uint32_t),
									   cudaMemcpyDeviceToDevice, stream),
					   "copying sorted values");
	}
	if (job->big_endian)
		RETURN_IF_FAILED(swap_bytes(job->sorted_keys, job->n, stream));
	return status_ok();
}

template void radix_sort_measure<uint32_t>(Workspace *, uint64_t, bool, bool);
template void radix_sort_measure<uint64_t>(Workspace *, uint64_t, bool, bool);
template DevSortStatus radix_sort<uint32_t>(const PairSortJob<uint32_t> *, bool, const Workspace *,
											cudaStream_t);
template DevSortStatus radix_sort<uint64_t>(const PairSortJob<uint64_t> *, bool, const Workspace *,
											cudaStream_t);
