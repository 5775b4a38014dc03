/*
 * codes.cuh
 *		Makes an alphabetic code on the device, the same one that string_codes_make makes from the
 *		frequencies.
 *
 * A thread a symbol, which goes down the cuts to its own place.
 */
#ifndef DEVSORT_STRING_CODES_CUH
#define DEVSORT_STRING_CODES_CUH

#include "primitives/block_scan.cuh"
#include "strings/codes.h"

/* Threads that make codes: one for each symbol, in whole warps. */
#define CODES_THREADS 288

/* The code of the symbol `at` of `count`; longer than STRING_CODE_MAX_BITS: it became too long. */
static __device__ __forceinline__ uint32_t
walk_to_code(const uint64_t *before, int count, int at)
{
	int first = 0;
	int last = count;
	uint32_t bits = 0;
	uint32_t length = 0;

	while (last - first > 1 && length <= STRING_CODE_MAX_BITS)
	{
		int cut = string_code_cut(before, first, last);

		if (at < cut)
			last = cut;
		else
		{
			first = cut;
			bits |= UINT32_C(0x80000000) >> length;
		}
		length++;
	}
	return bits | length;
}

/*
 * Makes the codes of how often byte values occur and strings end; values that do not occur borrow theirs.
 * Returns how many values occur.  All CODES_THREADS threads of the block call it.
 */
static __device__ __forceinline__ int
block_make_codes(const uint32_t *counts, uint32_t ends, StringCodes *codes)
{
	__shared__ uint32_t warp_sums[WARP_SIZE + 1];
	__shared__ uint64_t before[STRING_SYMBOLS + 1];
	__shared__ uint32_t code[STRING_SYMBOLS];
	int symbol = threadIdx.x; /* 0 is the end, value + 1 a byte value */
	bool is_symbol = symbol < STRING_SYMBOLS;
	uint32_t weight = symbol == 0 ? ends : is_symbol ? counts[symbol - 1] : 0;
	bool has_code = symbol == 0 || weight > 0;
	uint32_t sum;
	uint32_t count;
	uint32_t weight_before = block_exclusive_sum(weight, warp_sums, &sum);
	uint64_t total = sum > 0 ? sum : 1;
	uint64_t rare_share = STRING_RARE_SHARE;
	uint32_t at;
	uint32_t mine;

	__syncthreads();
	at = block_exclusive_sum(has_code, warp_sums, &count);
	for (;; rare_share /= 4)
	{
		if (has_code)
			before[at] = weight_before * rare_share + at * total;
		if (symbol == 0)
			before[count] = sum * rare_share + count * total;
		__syncthreads();
		mine = has_code ? walk_to_code(before, (int) count, (int) at) : 0;
		if (__syncthreads_or((mine & STRING_CODE_LENGTH_MASK) > STRING_CODE_MAX_BITS) == 0)
			break;
	}
	if (has_code)
		code[at] = mine;
	__syncthreads();
	if (symbol == 0)
	{
		codes->end_bits = (int) code[0];
		codes->lengths = false;
	}
	else if (is_symbol)
		codes->code[symbol - 1] = has_code ? mine : code[at - 1] + STRING_CODE_BORROWED;
	return (int) count - 1;
}

#endif /* DEVSORT_STRING_CODES_CUH */
