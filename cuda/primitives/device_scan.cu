/*
 * device_scan.cu
 *		CUB's scan, compiled once; few numbers are added up by one block, which is one launch instead of two.
 */
#include <cub/device/device_scan.cuh>

#include "primitives/block_scan.cuh"
#include "primitives/device_scan.h"

#define FEW_THREADS 1024
#define FEW_ITEMS 8

/* An upper bound of what CUB asks for over the architectures: it must be known without a device. */
void
exclusive_sum_measure(Workspace *workspace, uint64_t n)
{
	workspace_take<char>(workspace, n / 8 + 65536);
}

/* Up to FEW_THREADS * FEW_ITEMS numbers; one block. */
static __global__ void
__launch_bounds__(FEW_THREADS) sum_few_kernel(const uint32_t *numbers, uint32_t *sums, uint32_t n)
{
	__shared__ uint32_t warp_sums[WARP_SIZE + 1];
	uint32_t first = threadIdx.x * FEW_ITEMS;
	uint32_t number[FEW_ITEMS];
	uint32_t sum = 0;
	uint32_t total;

#pragma unroll
	for (int i = 0; i < FEW_ITEMS; i++)
	{
		number[i] = first + i < n ? numbers[first + i] : 0;
		sum += number[i];
	}
	sum = block_exclusive_sum(sum, warp_sums, &total);
#pragma unroll
	for (int i = 0; i < FEW_ITEMS; i++)
	{
		if (first + i < n)
			sums[first + i] = sum;
		sum += number[i];
	}
}

DevSortStatus
exclusive_sum(const uint32_t *numbers, uint32_t *sums, uint64_t n, const Workspace *workspace,
			  cudaStream_t stream)
{
	Workspace mine = *workspace;
	Workspace measured = workspace_measure();
	size_t bytes = 0;
	char *storage;

	if (n <= FEW_THREADS * FEW_ITEMS)
	{
		sum_few_kernel<<<1, FEW_THREADS, 0, stream>>>(numbers, sums, (uint32_t) n);
		CHECK_LAUNCH("adding up");
		return status_ok();
	}
	exclusive_sum_measure(&measured, n);
	storage = workspace_take<char>(&mine, measured.used);
	CHECK_CUDA(cub::DeviceScan::ExclusiveSum(NULL, bytes, numbers, sums, (uint32_t) n, stream),
			   "asking CUB for its memory");
	if (bytes > measured.used)
		return status_make(DEVSORT_DEVICE_FAILED,
						   "CUB's scan wants %zu bytes of workspace, more than the %zu expected", bytes,
						   measured.used);
	CHECK_CUDA(cub::DeviceScan::ExclusiveSum(storage, bytes, numbers, sums, (uint32_t) n, stream),
			   "adding up");
	return status_ok();
}
