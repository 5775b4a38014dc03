/*
 * rank_keys.cu
 *		The kernel that replaces codes by ranks: a thread a key.
 *
 * The bytes of a code may stand anywhere in a key.  They are read and written one by one: neighbours' bytes
 * are in the same lines of the cache, and the ranks, which are read in no order, take longer.
 */
#include "daemon/device/cuda/rank_keys.h"
#include "base/launch.cuh"

#define RANK_THREADS 256

static __global__ void
__launch_bounds__(RANK_THREADS)
	rank_keys_kernel(uint8_t *keys, uint64_t n, uint32_t key_bytes, RankColumns columns,
					 const uint32_t *ranks, uint32_t *without_rank)
{
	uint64_t i = blockIdx.x * (uint64_t) RANK_THREADS + threadIdx.x;

	if (i < n && !rank_columns_give(&columns, ranks, keys + i * key_bytes))
		*without_rank = 1;
}

DevSortStatus
rank_keys(uint8_t *keys, uint64_t n, uint32_t key_bytes, const RankColumns *columns, const uint32_t *ranks,
		  uint32_t *without_rank, cudaStream_t stream)
{
	return launch("replacing codes by ranks", rank_keys_kernel,
				  (unsigned int) ((n + RANK_THREADS - 1) / RANK_THREADS), RANK_THREADS, stream, keys, n,
				  key_bytes, *columns, ranks, without_rank);
}
