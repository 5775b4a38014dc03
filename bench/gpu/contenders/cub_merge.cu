/*
 * cub_merge.cu
 *		CUB's merge sort, in place.
 */
#include <cub/device/device_merge_sort.cuh>

#include "gpu/contenders/contenders.h"

template <typename Key>
struct Less
{
	__host__ __device__ bool operator()(const Key &a, const Key &b) const
	{
		return a < b;
	}
};

template <int words>
struct Less<WideKey<words>>
{
	__host__ __device__ bool operator()(const WideKey<words> &a, const WideKey<words> &b) const
	{
		for (int w = 0; w < words - 1; w++)
		{
			if (a.word[w] != b.word[w])
				return a.word[w] < b.word[w];
		}
		return a.word[words - 1] < b.word[words - 1];
	}
};

template <typename Key>
static DevSortStatus
merge_pairs(SortArrays *arrays, void *temp, size_t *bytes, cudaStream_t stream)
{
	CHECK_CUDA(cub::DeviceMergeSort::SortPairs(temp, *bytes, (Key *) arrays->keys, arrays->values,
											   (uint32_t) arrays->n, Less<Key>(), stream),
			   "merge sorting with CUB");
	return status_ok();
}

template <typename Key>
static DevSortStatus
merge_keys(SortArrays *arrays, void *temp, size_t *bytes, cudaStream_t stream)
{
	CHECK_CUDA(cub::DeviceMergeSort::SortKeys(temp, *bytes, (Key *) arrays->keys, (uint32_t) arrays->n,
											  Less<Key>(), stream),
			   "merge sorting with CUB");
	return status_ok();
}

static DevSortStatus
merge_dispatch(SortArrays *arrays, void *temp, size_t *bytes, cudaStream_t stream)
{
	bool wide = arrays->type->key_bytes == 8;

	arrays->result_keys = arrays->keys;
	arrays->result_values = arrays->values;
	if (arrays->type->floats)
		return merge_keys<float>(arrays, temp, bytes, stream);
	if (arrays->values)
		return wide ? merge_pairs<uint64_t>(arrays, temp, bytes, stream)
					: merge_pairs<uint32_t>(arrays, temp, bytes, stream);
	return wide ? merge_keys<uint64_t>(arrays, temp, bytes, stream)
				: merge_keys<uint32_t>(arrays, temp, bytes, stream);
}

/* With values only. */
static DevSortStatus
merge_wide_dispatch(SortArrays *arrays, void *temp, size_t *bytes, cudaStream_t stream)
{
	arrays->result_keys = arrays->keys;
	arrays->result_values = arrays->values;
	switch (arrays->type->key_bytes)
	{
		case 16:
			return merge_pairs<WideKey<2>>(arrays, temp, bytes, stream);
		case 24:
			return merge_pairs<WideKey<3>>(arrays, temp, bytes, stream);
		default:
			return merge_pairs<WideKey<4>>(arrays, temp, bytes, stream);
	}
}

static DevSortStatus
merge_memory(const SortArrays *arrays, size_t *bytes)
{
	SortArrays copy = *arrays;

	return merge_dispatch(&copy, NULL, bytes, NULL);
}

static DevSortStatus
merge_sort(SortArrays *arrays, cudaStream_t stream)
{
	size_t bytes = arrays->workspace_bytes;

	return merge_dispatch(arrays, arrays->workspace, &bytes, stream);
}

static DevSortStatus
merge_wide_memory(const SortArrays *arrays, size_t *bytes)
{
	SortArrays copy = *arrays;

	return merge_wide_dispatch(&copy, NULL, bytes, NULL);
}

static DevSortStatus
merge_wide_sort(SortArrays *arrays, cudaStream_t stream)
{
	size_t bytes = arrays->workspace_bytes;

	return merge_wide_dispatch(arrays, arrays->workspace, &bytes, stream);
}

const Contender contender_cub_merge = {"cub-merge", true, merge_memory, merge_sort};
const Contender contender_cub_merge_wide = {"cub-merge", true, merge_wide_memory, merge_wide_sort};
