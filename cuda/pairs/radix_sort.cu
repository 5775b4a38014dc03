/*
 * radix_sort.cu
 *		CUB's radix sort: the algorithm `radix`, and what ends a sample sort that had no luck.
 *
 * It is stable, so that keys of 16 bytes are sorted by it as two words, the less significant one first: row
 * numbers are sorted with either, and pairs gathered by them.
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

/* Row i's number, and the less significant words. */
static __global__ void
load_low_words_kernel(const WideKey *keys, KeyOrder order, uint32_t n, uint64_t *words, uint32_t *rows)
{
	uint32_t i = blockIdx.x * SWAP_THREADS + threadIdx.x;

	if (i >= n)
		return;
	words[i] = key_order_apply(order, keys[i].low);
	rows[i] = i;
}

/* The more significant words, by row number. */
static __global__ void
load_high_words_kernel(const WideKey *keys, KeyOrder order, uint32_t n, uint64_t *words, const uint32_t *rows)
{
	uint32_t i = blockIdx.x * SWAP_THREADS + threadIdx.x;

	if (i < n)
		words[i] = key_order_apply(order, keys[rows[i]].high);
}

/* Pairs by row number; no values if values is NULL. */
static __global__ void
gather_pairs_kernel(const WideKey *keys, const uint32_t *values, uint32_t n, const uint32_t *rows,
					WideKey *sorted_keys, uint32_t *sorted_values)
{
	uint32_t i = blockIdx.x * SWAP_THREADS + threadIdx.x;

	if (i >= n)
		return;
	sorted_keys[i] = keys[rows[i]];
	if (values)
		sorted_values[i] = values[rows[i]];
}

template <>
void
radix_sort_measure<WideKey>(Workspace *workspace, uint64_t n, bool, bool)
{
	workspace_take<uint32_t>(workspace, n);
	workspace_take<uint32_t>(workspace, n);
	radix_sort_measure<uint64_t>(workspace, n, true, true);
}

/* The words are sorted in sorted_keys, which has room for two arrays of them. */
template <>
DevSortStatus
radix_sort<WideKey>(const PairSortJob<WideKey> *job, bool, const Workspace *workspace, cudaStream_t stream)
{
	Workspace mine = *workspace;
	uint32_t n = (uint32_t) job->n;
	unsigned int nblocks = (unsigned int) ((job->n + SWAP_THREADS - 1) / SWAP_THREADS);
	KeyOrder order = key_order_make<WideKey>(job->big_endian);
	uint32_t *rows = workspace_take<uint32_t>(&mine, job->n);
	uint32_t *next_rows = workspace_take<uint32_t>(&mine, job->n);
	PairSortJob<uint64_t> words = {};

	if (n == 0)
		return status_ok();
	words.n = job->n;
	words.keys = (uint64_t *) job->sorted_keys;
	words.sorted_keys = words.keys + n;
	words.values = rows;
	words.sorted_values = next_rows;
	words.stages = job->stages;
	load_low_words_kernel<<<nblocks, SWAP_THREADS, 0, stream>>>(job->keys, order, n, words.keys, rows);
	CHECK_LAUNCH("loading words of keys");
	RETURN_IF_FAILED(radix_sort(&words, true, &mine, stream));
	words.values = next_rows;
	words.sorted_values = rows;
	load_high_words_kernel<<<nblocks, SWAP_THREADS, 0, stream>>>(job->keys, order, n, words.keys, next_rows);
	CHECK_LAUNCH("loading words of keys");
	RETURN_IF_FAILED(radix_sort(&words, true, &mine, stream));
	gather_pairs_kernel<<<nblocks, SWAP_THREADS, 0, stream>>>(job->keys,
															  job->sorted_values ? job->values : NULL, n,
															  rows, job->sorted_keys, job->sorted_values);
	CHECK_LAUNCH("gathering sorted keys");
	return status_ok();
}

template void radix_sort_measure<uint32_t>(Workspace *, uint64_t, bool, bool);
template void radix_sort_measure<uint64_t>(Workspace *, uint64_t, bool, bool);
template DevSortStatus radix_sort<uint32_t>(const PairSortJob<uint32_t> *, bool, const Workspace *,
											cudaStream_t);
template DevSortStatus radix_sort<uint64_t>(const PairSortJob<uint64_t> *, bool, const Workspace *,
											cudaStream_t);
