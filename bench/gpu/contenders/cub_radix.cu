/*
 * cub_radix.cu
 *		CUB's radix sort of keys of 4 and 8 bytes, in both of its forms.
 *
 * The plain form leaves its input alone and takes a copy of it as workspace; the form with double buffers
 * sorts between input and output, wherever the result ends up.
 */
#include <cub/device/device_radix_sort.cuh>

#include "gpu/contenders/contenders.h"

/* temp NULL: only asks for the bytes. */
template <typename Key>
static DevSortStatus
radix_plain(SortArrays *arrays, void *temp, size_t *bytes, cudaStream_t stream)
{
	const Key *keys = (const Key *) arrays->keys;
	Key *sorted_keys = (Key *) arrays->sorted_keys;
	uint32_t n = (uint32_t) arrays->n;
	const int bits = (int) sizeof(Key) * 8;

	arrays->result_keys = arrays->sorted_keys;
	arrays->result_values = arrays->sorted_values;
	if (arrays->values)
		CHECK_CUDA(cub::DeviceRadixSort::SortPairs(temp, *bytes, keys, sorted_keys,
												   (const uint32_t *) arrays->values, arrays->sorted_values,
												   n, 0, bits, stream),
				   "sorting with CUB");
	else
		CHECK_CUDA(cub::DeviceRadixSort::SortKeys(temp, *bytes, keys, sorted_keys, n, 0, bits, stream),
				   "sorting with CUB");
	return status_ok();
}

template <typename Key>
static DevSortStatus
radix_double_buffer(SortArrays *arrays, void *temp, size_t *bytes, cudaStream_t stream)
{
	cub::DoubleBuffer<Key> keys((Key *) arrays->keys, (Key *) arrays->sorted_keys);
	cub::DoubleBuffer<uint32_t> values(arrays->values, arrays->sorted_values);
	uint32_t n = (uint32_t) arrays->n;
	const int bits = (int) sizeof(Key) * 8;

	if (arrays->values)
		CHECK_CUDA(cub::DeviceRadixSort::SortPairs(temp, *bytes, keys, values, n, 0, bits, stream),
				   "sorting with CUB");
	else
		CHECK_CUDA(cub::DeviceRadixSort::SortKeys(temp, *bytes, keys, n, 0, bits, stream),
				   "sorting with CUB");
	arrays->result_keys = keys.Current();
	arrays->result_values = values.Current();
	return status_ok();
}

static DevSortStatus
plain_dispatch(SortArrays *arrays, void *temp, size_t *bytes, cudaStream_t stream)
{
	if (arrays->type->floats)
		return radix_plain<float>(arrays, temp, bytes, stream);
	if (arrays->type->key_bytes == 4)
		return radix_plain<uint32_t>(arrays, temp, bytes, stream);
	return radix_plain<uint64_t>(arrays, temp, bytes, stream);
}

static DevSortStatus
double_buffer_dispatch(SortArrays *arrays, void *temp, size_t *bytes, cudaStream_t stream)
{
	if (arrays->type->key_bytes == 4)
		return radix_double_buffer<uint32_t>(arrays, temp, bytes, stream);
	return radix_double_buffer<uint64_t>(arrays, temp, bytes, stream);
}

static DevSortStatus
plain_memory(const SortArrays *arrays, size_t *bytes)
{
	SortArrays copy = *arrays;

	return plain_dispatch(&copy, NULL, bytes, NULL);
}

static DevSortStatus
plain_sort(SortArrays *arrays, cudaStream_t stream)
{
	size_t bytes = arrays->workspace_bytes;

	return plain_dispatch(arrays, arrays->workspace, &bytes, stream);
}

static DevSortStatus
double_buffer_memory(const SortArrays *arrays, size_t *bytes)
{
	SortArrays copy = *arrays;

	return double_buffer_dispatch(&copy, NULL, bytes, NULL);
}

static DevSortStatus
double_buffer_sort(SortArrays *arrays, cudaStream_t stream)
{
	size_t bytes = arrays->workspace_bytes;

	return double_buffer_dispatch(arrays, arrays->workspace, &bytes, stream);
}

const Contender contender_cub_radix = {"cub-radix", false, plain_memory, plain_sort};
const Contender contender_cub_radix_double_buffer = {"cub-radix-double-buffer", false, double_buffer_memory,
													 double_buffer_sort};
