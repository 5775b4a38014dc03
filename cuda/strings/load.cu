/*
 * load.cu
 *		What a round of the string sort loads, and what it need not look at.
 *
 * A thread a row.  Neighbours are of the same segment and so look alike, but lie anywhere in memory: what
 * counts is how many sectors of memory a row touches.
 */
#include <algorithm>

#include "strings/load.h"
#include "strings/text.cuh"

#define LOAD_THREADS 256

/* Blocks that load codes, at most: twice what a card of 132 multiprocessors holds at a time. */
#define LOAD_BLOCKS 2112

static unsigned
block_count(uint64_t rows)
{
	return (unsigned) ((rows + LOAD_THREADS - 1) / LOAD_THREADS);
}

/*
 * Loads the rows of a block's threads, of which each takes several if there are many: the codes come to
 * shared memory once a block.
 */
static __device__ __forceinline__ void
block_load_coded(const RoundRows &input, const StringText &text, const uint32_t *code, int end_bits,
				 bool lengths, uint32_t *depths, uint32_t first_depth, int piece_bits)
{
	const uint64_t step = gridDim.x * (uint64_t) LOAD_THREADS;
	int room = piece_bits - STRING_TAKEN_BITS;

	for (uint64_t i = blockIdx.x * (uint64_t) LOAD_THREADS + threadIdx.x; i < input.count; i += step)
	{
		uint64_t segment = round_segment(input, i);
		StringRest rest =
			string_rest(text, round_row(input, i), input.segments ? depths[segment] : first_depth);
		uint64_t key = lengths ? rest.remaining : string_load_codes(rest, code, end_bits, room);

		input.keys[i] = piece_bits < 64 ? segment << piece_bits | key : key;
		if (i == 0 && input.segments == NULL)
			depths[0] = first_depth;
	}
}

static __global__ void
__launch_bounds__(LOAD_THREADS) load_coded_kernel(RoundRows input, StringText text, StringCodes codes,
												  uint32_t *depths, uint32_t first_depth, int piece_bits)
{
	__shared__ uint32_t code[256];

	block_copy_codes(codes, code);
	block_load_coded(input, text, code, codes.end_bits, codes.lengths, depths, first_depth, piece_bits);
}

static __global__ void
__launch_bounds__(LOAD_THREADS)
	load_surveyed_kernel(RoundRows input, StringText text, const StringSurvey *survey,
						 const StringCodes *codes, uint32_t *depths)
{
	__shared__ uint32_t code[256];

	if (survey->tells_all == 0)
		return;
	block_copy_codes(*codes, code);
	block_load_coded(input, text, code, codes->end_bits, false, depths, 0, 64);
}

/* Lowers moved[segment] to where this row and the one before it differ. */
static __global__ void
__launch_bounds__(LOAD_THREADS) skip_common_kernel(RoundRows input, StringText text, const uint32_t *depths,
												   uint32_t *moved, uint32_t limit)
{
	uint64_t i = blockIdx.x * (uint64_t) LOAD_THREADS + threadIdx.x;

	if (i == 0 || i >= input.count || input.segments[i - 1] != input.segments[i])
		return;

	uint32_t segment = input.segments[i];
	uint32_t depth = depths[segment];
	uint32_t seen = *(volatile uint32_t *) &moved[segment];
	uint32_t enough = seen == UINT32_MAX || seen - depth > limit ? limit : seen - depth;

	if (enough == 0)
		return;

	StringRest before = string_rest(text, input.rows[i - 1], depth);
	StringRest mine = string_rest(text, input.rows[i], depth);
	uint32_t differ = depth + (uint32_t) string_count_common(before, mine, enough);

	if (differ < seen)
		atomicMin(&moved[segment], differ);
}

static unsigned
coded_block_count(uint64_t rows)
{
	return std::min(block_count(rows), (unsigned) LOAD_BLOCKS);
}

DevSortStatus
string_load_coded(const RoundRows *input, const StringText *text, const StringCodes *codes, uint32_t *depths,
				  uint32_t first_depth, int piece_bits, cudaStream_t stream)
{
	load_coded_kernel<<<coded_block_count(input->count), LOAD_THREADS, 0, stream>>>(*input, *text, *codes,
																					depths, first_depth,
																					piece_bits);
	CHECK_LAUNCH("loading the next characters of strings");
	return status_ok();
}

DevSortStatus
string_load_surveyed(const RoundRows *input, const StringText *text, const StringSurvey *survey,
					 const StringCodes *codes, uint32_t *depths, cudaStream_t stream)
{
	load_surveyed_kernel<<<coded_block_count(input->count), LOAD_THREADS, 0, stream>>>(*input, *text, survey,
																					   codes, depths);
	CHECK_LAUNCH("loading the first characters of strings");
	return status_ok();
}

DevSortStatus
string_skip_common(const RoundRows *input, const StringText *text, uint64_t segments, const uint32_t *depths,
				   uint32_t *moved, uint32_t limit, cudaStream_t stream)
{
	CHECK_CUDA(cudaMemsetAsync(moved, 0xFF, segments * sizeof(*moved), stream),
			   "clearing what strings have in common");
	skip_common_kernel<<<block_count(input->count), LOAD_THREADS, 0, stream>>>(*input, *text, depths, moved,
																			   limit);
	CHECK_LAUNCH("finding what strings have in common");
	return status_ok();
}
