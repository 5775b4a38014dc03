/*
 * wide_gather.cu
 *		Gathering keys of 16, 24 or 32 bytes, and their payloads, by row number.
 *
 * A key is one, two or three vectors, and as many neighbouring threads take one each: writes are coalesced,
 * and what is read of a key is read at once.  Every thread has several independent reads under way: these are
 * random accesses, and latency is all there is to hide.
 */
#include "fixed/wide_gather.h"

#define GATHER_THREADS 256
#define GATHER_ITEMS 4
#define GATHER_ROWS (GATHER_THREADS * GATHER_ITEMS)

template <typename Vector, int VECTORS>
static __global__ void
__launch_bounds__(GATHER_THREADS)
	gather_kernel(const Vector *__restrict__ keys, Vector *__restrict__ sorted_keys,
				  const uint32_t *__restrict__ indexes, uint32_t *__restrict__ sorted_indexes,
				  const uint32_t *__restrict__ order, uint64_t n)
{
	uint64_t first = blockIdx.x * (uint64_t) GATHER_ROWS;
	int rows = n - first < GATHER_ROWS ? (int) (n - first) : GATHER_ROWS;

	for (int start = threadIdx.x; start < rows * VECTORS; start += GATHER_ROWS)
	{
		Vector vector[GATHER_ITEMS];

#pragma unroll
		for (int item = 0; item < GATHER_ITEMS; item++)
		{
			int at = start + item * GATHER_THREADS;

			if (at < rows * VECTORS)
				vector[item] = keys[order[first + at / VECTORS] * (uint64_t) VECTORS + at % VECTORS];
		}
#pragma unroll
		for (int item = 0; item < GATHER_ITEMS; item++)
		{
			int at = start + item * GATHER_THREADS;

			if (at < rows * VECTORS)
				sorted_keys[first * VECTORS + at] = vector[item];
		}
	}
	if (indexes == NULL || sorted_indexes == NULL)
		return;

#pragma unroll
	for (int item = 0; item < GATHER_ITEMS; item++)
	{
		int at = threadIdx.x + item * GATHER_THREADS;

		if (at < rows)
			sorted_indexes[first + at] = indexes[order[first + at]];
	}
}

template <typename Vector, int VECTORS>
static void
launch_gather(const DevSortFixedJob *job, const uint32_t *order, cudaStream_t stream)
{
	uint64_t blocks = (job->n + GATHER_ROWS - 1) / GATHER_ROWS;

	gather_kernel<Vector, VECTORS>
		<<<(unsigned) blocks, GATHER_THREADS, 0, stream>>>((const Vector *) job->keys,
														   (Vector *) job->sorted_keys, job->indexes,
														   job->sorted_indexes, order, job->n);
}

DevSortStatus
wide_gather(const DevSortFixedJob *job, const uint32_t *order, cudaStream_t stream)
{
	if (job->key_bytes == 16)
		launch_gather<ulonglong2, 1>(job, order, stream);
	else if (job->key_bytes == 24)
		launch_gather<uint64_t, 3>(job, order, stream);
	else
		launch_gather<ulonglong2, 2>(job, order, stream);
	CHECK_LAUNCH("gathering sorted keys");
	return status_ok();
}
