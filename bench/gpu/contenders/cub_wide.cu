/*
 * cub_wide.cu
 *		CUB's radix sort of keys of 16, 24 and 32 bytes, by a decomposer: word after word, the last word
 *		first.
 */
#include <cub/device/device_radix_sort.cuh>
#include <cub/version.cuh>
#include <cuda/std/tuple>

#include "gpu/contenders/contenders.h"

#if CUB_VERSION >= 200200

struct DecomposeTwo
{
	__host__ __device__ cuda::std::tuple<uint64_t &, uint64_t &> operator()(WideKey<2> &key) const
	{
		return {key.word[0], key.word[1]};
	}
};

struct DecomposeThree
{
	__host__ __device__ cuda::std::tuple<uint64_t &, uint64_t &, uint64_t &> operator()(WideKey<3> &key) const
	{
		return {key.word[0], key.word[1], key.word[2]};
	}
};

struct DecomposeFour
{
	__host__ __device__ cuda::std::tuple<uint64_t &, uint64_t &, uint64_t &, uint64_t &> operator()(
		WideKey<4> &key) const
	{
		return {key.word[0], key.word[1], key.word[2], key.word[3]};
	}
};

template <int words, typename Decomposer>
static DevSortStatus
radix_wide(SortArrays *arrays, void *temp, size_t *bytes, cudaStream_t stream)
{
	CHECK_CUDA(cub::DeviceRadixSort::SortPairs(temp, *bytes, (const WideKey<words> *) arrays->keys,
											   (WideKey<words> *) arrays->sorted_keys,
											   (const uint32_t *) arrays->values, arrays->sorted_values,
											   (uint32_t) arrays->n, Decomposer{}, stream),
			   "sorting with CUB");
	return status_ok();
}

#else

struct DecomposeTwo;
struct DecomposeThree;
struct DecomposeFour;

template <int words, typename Decomposer>
static DevSortStatus
radix_wide(SortArrays *, void *, size_t *, cudaStream_t)
{
	return status_make(DEVSORT_INVALID, "the radix sort of wide keys came with CUB 2.2, in CUDA 12.3");
}

#endif

static DevSortStatus
wide_dispatch(SortArrays *arrays, void *temp, size_t *bytes, cudaStream_t stream)
{
	arrays->result_keys = arrays->sorted_keys;
	arrays->result_values = arrays->sorted_values;
	switch (arrays->type->key_bytes)
	{
		case 16:
			return radix_wide<2, DecomposeTwo>(arrays, temp, bytes, stream);
		case 24:
			return radix_wide<3, DecomposeThree>(arrays, temp, bytes, stream);
		default:
			return radix_wide<4, DecomposeFour>(arrays, temp, bytes, stream);
	}
}

static DevSortStatus
wide_memory(const SortArrays *arrays, size_t *bytes)
{
	SortArrays copy = *arrays;

	return wide_dispatch(&copy, NULL, bytes, NULL);
}

static DevSortStatus
wide_sort(SortArrays *arrays, cudaStream_t stream)
{
	size_t bytes = arrays->workspace_bytes;

	return wide_dispatch(arrays, arrays->workspace, &bytes, stream);
}

const Contender contender_cub_radix_wide = {"cub-radix", false, wide_memory, wide_sort};
