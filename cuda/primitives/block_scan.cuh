/*
 * block_scan.cuh
 *		Sums over the threads of a block.
 */
#ifndef DEVSORT_BLOCK_SCAN_CUH
#define DEVSORT_BLOCK_SCAN_CUH

#include <cstdint>

#define WARP_SIZE 32
#define ALL_LANES 0xFFFFFFFFu

/* The inclusive sum of the values of this and the lower lanes. */
static __device__ __forceinline__ uint32_t
warp_inclusive_sum(uint32_t value)
{
	int lane = threadIdx.x % WARP_SIZE;

	for (int distance = 1; distance < WARP_SIZE; distance *= 2)
	{
		uint32_t below = __shfl_up_sync(ALL_LANES, value, distance);

		if (lane >= distance)
			value += below;
	}
	return value;
}

/*
 * The sum of the values of all threads before this one, and of all threads.  All threads of the block call
 * it; warp_sums are 33 words of shared memory, which may be used again after the next barrier.
 */
static __device__ __forceinline__ uint32_t
block_exclusive_sum(uint32_t value, uint32_t *warp_sums, uint32_t *total)
{
	int warp = threadIdx.x / WARP_SIZE;
	int lane = threadIdx.x % WARP_SIZE;
	int nwarps = blockDim.x / WARP_SIZE;
	uint32_t inclusive = warp_inclusive_sum(value);

	if (lane == WARP_SIZE - 1)
		warp_sums[warp] = inclusive;
	__syncthreads();
	if (warp == 0)
	{
		uint32_t of_warp = lane < nwarps ? warp_sums[lane] : 0;
		uint32_t up_to_warp = warp_inclusive_sum(of_warp);

		warp_sums[lane] = up_to_warp - of_warp;
		if (lane == WARP_SIZE - 1)
			warp_sums[WARP_SIZE] = up_to_warp;
	}
	__syncthreads();
	*total = warp_sums[WARP_SIZE];
	return warp_sums[warp] + inclusive - value;
}

#endif /* DEVSORT_BLOCK_SCAN_CUH */
