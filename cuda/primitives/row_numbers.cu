/*
 * row_numbers.cu
 *		The payload of rows that have none of their own: 0, 1, 2, ...
 */
#include "primitives/row_numbers.h"

#define FILL_THREADS 256

static __global__ void
__launch_bounds__(FILL_THREADS) fill_kernel(uint32_t *rows, uint64_t n)
{
	uint64_t i = blockIdx.x * (uint64_t) FILL_THREADS + threadIdx.x;

	if (i < n)
		rows[i] = (uint32_t) i;
}

DevSortStatus
row_numbers_fill(uint32_t *rows, uint64_t n, cudaStream_t stream)
{
	if (n == 0)
		return status_ok();
	fill_kernel<<<(unsigned) ((n + FILL_THREADS - 1) / FILL_THREADS), FILL_THREADS, 0, stream>>>(rows, n);
	CHECK_LAUNCH("numbering rows");
	return status_ok();
}
