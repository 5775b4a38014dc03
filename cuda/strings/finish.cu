/*
 * finish.cu
 *		Segments of few strings, sorted at once.
 *
 * A block looks at FINISH_THREADS sorted rows, a thread each, and sorts the segments that begin in the first
 * ones and are small enough to end among them.  The next block begins where this one's segments may begin
 * last.  In a step, every string's next characters are loaded as one word of codes; a string's rank in its
 * group is the number of words below its own, and those that are equal are a group of the next step.  Strings
 * move to their ranks, so groups stay together; where all words of a group are equal, nothing is ranked.  It
 * ends when no group has two strings that go on.
 *
 * A segment that has not come to its end after FINISH_STEPS is left as it was, to the rounds.
 */
#include "primitives/block_scan.cuh"
#include "strings/finish.h"
#include "strings/text.cuh"

#define FINISH_THREADS 1024
#define FINISH_WARPS (FINISH_THREADS / WARP_SIZE)

/* Words of codes that are compared at most: a block waits for its slowest segment. */
#define FINISH_STEPS 24

/* What a block shares. */
struct FinishBlock
{
	uint64_t words[FINISH_THREADS];
	uint32_t rows[FINISH_THREADS];
	uint32_t groups[FINISH_THREADS]; /* see pack_group */
	uint32_t borders[FINISH_WARPS];	 /* a bit a row: it is not of the segment of the row before */
	uint32_t unequal[FINISH_WARPS];	 /* a bit a row: its group, which begins here, has different words */
	uint32_t kept[FINISH_WARPS];	 /* a bit a row: its segment, which begins here, is left to the rounds */
	uint32_t code[256];
};

/* Rows [begin, end) of a block. */
struct RowRange
{
	int begin;
	int end;
};

/* A group and how many characters its words hold, of a row that has moved. */
static __device__ __forceinline__ uint32_t
pack_group(RowRange group, uint32_t taken)
{
	return (uint32_t) group.begin | (uint32_t) group.end << 10 | taken << 21;
}

static __device__ __forceinline__ RowRange
unpack_group(uint32_t packed)
{
	return {(int) (packed & 1023), (int) (packed >> 10 & 2047)};
}

/* Where the last border up to row t is; -1 if there is none. */
static __device__ __forceinline__ int
border_before(const uint32_t *borders, int t)
{
	uint32_t bits = borders[t / 32] & (0xFFFFFFFFu >> (31 - t % 32));
	int word = t / 32;

	while (bits == 0 && word > 0)
		bits = borders[--word];
	return bits == 0 ? -1 : word * 32 + 31 - __clz((int) bits);
}

/* Where the first border after row t is; FINISH_THREADS if there is none. */
static __device__ __forceinline__ int
border_after(const uint32_t *borders, int t)
{
	uint32_t bits = t % 32 == 31 ? 0 : borders[t / 32] & (0xFFFFFFFEu << (t % 32));
	int word = t / 32;

	while (bits == 0 && word < FINISH_WARPS - 1)
		bits = borders[++word];
	return bits == 0 ? FINISH_THREADS : word * 32 + 31 - __clz((int) (bits & (0u - bits)));
}

/*
 * The segment of this thread's row if this block is to finish it, else an empty range.  All threads call it;
 * *any: some segment is.
 */
static __device__ RowRange
block_find_segment(const SegmentRounds &rounds, uint64_t base, int largest, FinishBlock *block, bool *any)
{
	int t = threadIdx.x;
	uint64_t i = base + t;
	bool unsettled = i < rounds.count && (rounds.unsettled[i / 32] >> (i % 32) & 1);
	bool border = !unsettled || (rounds.heads[i / 32] >> (i % 32) & 1);
	uint32_t borders = __ballot_sync(ALL_LANES, border);
	RowRange segment = {0, 0};

	if (t % 32 == 0)
	{
		block->borders[t / 32] = borders;
		block->kept[t / 32] = 0;
	}
	__syncthreads();
	if (unsettled)
	{
		segment.begin = border_before(block->borders, t);
		segment.end = border_after(block->borders, t);

		/* If it began earlier, it is another block's; so it is if it began too late. */
		if (segment.begin < 0 || segment.begin >= FINISH_THREADS - largest ||
			segment.end - segment.begin > largest)
			segment = {0, 0};
	}
	*any = __syncthreads_or(segment.end > 0) != 0;
	return segment;
}

/*
 * Ranks this thread's row in its group by the words, and moves it there with its new group: empty if it needs
 * no more sorting.
 */
static __device__ __forceinline__ void
block_move_row(FinishBlock *block, uint64_t word, uint32_t row, RowRange group)
{
	int t = threadIdx.x;
	int below = 0;
	int equal_before = 0;
	int equal = 0;

	for (int j = group.begin; j < t; j++)
	{
		below += block->words[j] < word;
		equal_before += block->words[j] == word;
	}
	for (int j = t; j < group.end; j++)
	{
		below += block->words[j] < word;
		equal += block->words[j] == word;
	}
	equal += equal_before;

	int begin = group.begin + below;
	uint32_t taken = (uint32_t) (word & STRING_TAKEN_MASK);
	RowRange same = {begin, begin + equal};

	if (equal == 1 || taken == 0)
		same = {0, 0};
	block->rows[begin + equal_before] = row;
	block->groups[begin + equal_before] = pack_group(same, taken);
}

/*
 * One step: moves the rows of every group to their ranks by their words, unless all of these are equal.  row
 * and group are those of this thread's row before and after.  Returns how many characters the row's word
 * holds.  All threads call it; those without a group to sort have an empty one.
 */
static __device__ __forceinline__ uint32_t
block_rank_step(FinishBlock *block, uint64_t word, uint32_t *row, RowRange *group)
{
	int t = threadIdx.x;
	int begin = group->begin;
	bool sorting = group->end > begin;
	uint32_t taken = (uint32_t) (word & STRING_TAKEN_MASK);
	bool moving;

	block->words[t] = word;
	if (t % 32 == 0)
		block->unequal[t / 32] = 0;
	__syncthreads();
	if (sorting && block->words[begin] != word)
		atomicOr(&block->unequal[begin / 32], 1u << (begin % 32));
	__syncthreads();
	moving = sorting && (block->unequal[begin / 32] >> (begin % 32) & 1);
	if (moving)
		block_move_row(block, word, *row, *group);
	else if (taken == 0)
		*group = {0, 0};
	__syncthreads();
	if (moving)
	{
		*row = block->rows[t];
		*group = unpack_group(block->groups[t]);
		taken = block->groups[t] >> 21;
	}
	return taken;
}

/* A segment is finished by the block among whose first FINISH_THREADS - largest rows it begins. */
static __global__ void
__launch_bounds__(FINISH_THREADS)
	finish_kernel(SegmentRounds rounds, StringText text, StringCodes codes, const uint32_t *sorted_rows,
				  const uint32_t *places, const uint32_t *head_depths, uint32_t *finished, int largest)
{
	__shared__ FinishBlock block;
	int t = threadIdx.x;
	uint64_t base = blockIdx.x * (uint64_t) (FINISH_THREADS - largest);
	bool any;
	RowRange segment = block_find_segment(rounds, base, largest, &block, &any);
	RowRange group = segment;
	uint32_t row = 0;
	uint64_t depth = 0;

	if (!any)
		return;
	block_copy_codes(codes, block.code);
	if (segment.end > 0)
	{
		row = sorted_rows[base + t];
		depth = head_depths[base + segment.begin];
	}
	for (int step = 0; step < FINISH_STEPS; step++)
	{
		uint64_t word = 0;

		if (group.end > 0)
			word = string_load_codes(string_rest(text, row, depth), block.code, codes.end_bits,
									 64 - STRING_TAKEN_BITS);
		depth += block_rank_step(&block, word, &row, &group);
		if (__syncthreads_or(group.end > 0) == 0)
			break;
	}
	if (group.end > 0)
		atomicOr(&block.kept[segment.begin / 32], 1u << (segment.begin % 32));
	__syncthreads();

	bool placed = segment.end > 0 && !(block.kept[segment.begin / 32] >> (segment.begin % 32) & 1);
	uint32_t placed_word = __ballot_sync(ALL_LANES, placed);

	if (placed)
		rounds.order[places ? places[base + t] : base + t] = row;
	if (t % 32 == 0 && placed_word != 0)
		atomicOr(&finished[(base + t) / 32], placed_word);
}

DevSortStatus
string_finish(SegmentRounds *rounds, const StringText *text, const StringCodes *codes, uint32_t *finished,
			  cudaStream_t stream)
{
	int largest = rounds->unsettled_count <= FINISH_FEW_ROWS ? FINISH_LARGEST_OF_FEW : FINISH_LARGEST;
	uint64_t stride = (uint64_t) (FINISH_THREADS - largest);
	unsigned blocks = (unsigned) ((rounds->count + stride - 1) / stride);

	CHECK_CUDA(cudaMemsetAsync(finished, 0, segment_rounds_words(rounds->count) * sizeof(*finished), stream),
			   "clearing the marks of finished strings");
	finish_kernel<<<blocks, FINISH_THREADS, 0, stream>>>(*rounds, *text, *codes,
														 segment_rounds_sorted_rows(rounds),
														 segment_rounds_places(rounds),
														 segment_rounds_head_depths(rounds), finished,
														 largest);
	CHECK_LAUNCH("finishing small segments of strings");
	return segment_rounds_drop(rounds, finished, stream);
}
