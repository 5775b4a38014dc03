/*
 * extract.cuh
 *		Taking the bits of a plan out of wide keys.
 */
#ifndef DEVSORT_EXTRACT_CUH
#define DEVSORT_EXTRACT_CUH

#include "fixed/squeeze.h"
#include "primitives/key_order.cuh"

#define EXTRACT_THREADS 256

/* Rows a thread. */
#define EXTRACT_ITEMS 4

/* Puts the slice's bits of each key below what its value has. */
static __device__ __forceinline__ void
extract_slice(const SqueezePlan &slice, KeyOrder order, const uint64_t *const (&key)[EXTRACT_ITEMS],
			  uint64_t (&value)[EXTRACT_ITEMS])
{
	for (int run = 0; run < slice.runs; run++)
	{
#pragma unroll
		for (int item = 0; item < EXTRACT_ITEMS; item++)
			value[item] = squeeze_append(value[item], key_order_apply(order, key[item][slice.run[run].word]),
										 slice.run[run]);
	}
}

/* The bits from .. from + count - 1 of the plan, of one key: up to 64, fewer if the plan has no more. */
static __device__ __forceinline__ uint64_t
extract_bits(const SqueezePlan &plan, KeyOrder order, const uint64_t *key, int from, int count)
{
	uint64_t value = 0;
	int at = 0;

	for (int i = 0; i < plan.runs; i++)
	{
		SqueezeRun run = plan.run[i];
		int first = max(from - at, 0);
		int end = min(from + count - at, (int) run.length);

		at += run.length;
		if (first >= end)
			continue;
		run.shift = (uint8_t) (run.shift + run.length - end);
		run.length = (uint8_t) (end - first);
		value = squeeze_append(value, key_order_apply(order, key[run.word]), run);
	}
	return value;
}

#endif /* DEVSORT_EXTRACT_CUH */
