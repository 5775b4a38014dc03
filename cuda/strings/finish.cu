/*
 * finish.cu
 *		Segments of few strings, sorted at once.
 *
 * A block looks at as many rows as it has threads, and sorts the segments that begin in the first ones and
 * are small enough to end among them.  The next block begins where this one's segments may begin last.  In a
 * step, every string's next characters are loaded as one word of codes; a string's rank in its group is the
 * number of words below its own, and those that are equal are a group of the next step.  Strings move to
 * their ranks, so groups stay together; where all words of a group are equal, nothing is ranked.  Where they
 * were, the next step begins behind what the group's strings have in common with its first one.  It ends when
 * no group has two strings that go on.
 *
 * A segment that has not come to its end after FINISH_STEPS is left as it was, to the rounds.
 */
#include "primitives/block_scan.cuh"
#include "strings/finish.h"
#include "strings/text.cuh"

/* Words of codes that are compared at most: a block waits for its slowest segment. */
#define FINISH_STEPS 24

/* Bytes that a step skips at most. */
#define FINISH_SKIP_LIMIT 1024

/* What a block shares. */
template <int THREADS>
struct FinishBlock
{
	uint64_t words[THREADS];
	uint32_t rows[THREADS];
	uint32_t groups[THREADS];			   /* see pack_group */
	uint32_t borders[THREADS / WARP_SIZE]; /* a bit a row: it is not of the segment of the row before */
	/* a bit a row: its group, which begins here, has different words */
	uint32_t unequal[THREADS / WARP_SIZE];
	uint32_t common[THREADS];			/* bytes that a group, which begins here, has in common */
	uint32_t kept[THREADS / WARP_SIZE]; /* a bit a row: its segment, which begins here, is left as it is */
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

/* Where the first border after row t is; THREADS if there is none. */
template <int THREADS>
static __device__ __forceinline__ int
border_after(const uint32_t *borders, int t)
{
	uint32_t bits = t % 32 == 31 ? 0 : borders[t / 32] & (0xFFFFFFFEu << (t % 32));
	int word = t / 32;

	while (bits == 0 && word < THREADS / WARP_SIZE - 1)
		bits = borders[++word];
	return bits == 0 ? THREADS : word * 32 + 31 - __clz((int) (bits & (0u - bits)));
}

/*
 * The segment of this thread's row if this block is to finish it, else an empty range.  All threads call it;
 * *any: some segment is.
 */
template <int THREADS>
static __device__ RowRange
block_find_segment(const SegmentRounds &rounds, uint64_t base, int smallest, int largest,
				   FinishBlock<THREADS> *block, bool *any)
{
	int t = threadIdx.x;
	uint64_t i = base + t;
	bool is_row = i < rounds.count;
	bool border = !is_row || i == 0 || rounds.row_segments[i - 1] != rounds.row_segments[i];
	uint32_t borders = __ballot_sync(ALL_LANES, border);
	RowRange segment = {0, 0};

	if (t % 32 == 0)
	{
		block->borders[t / 32] = borders;
		block->kept[t / 32] = 0;
	}
	__syncthreads();
	if (is_row)
	{
		segment.begin = border_before(block->borders, t);
		segment.end = border_after<THREADS>(block->borders, t);

		/* If it began earlier, it is another block's; so it is if it began too late. */
		if (segment.begin < 0 || segment.begin >= THREADS - largest ||
			segment.end - segment.begin < smallest || segment.end - segment.begin > largest)
			segment = {0, 0};
	}
	*any = __syncthreads_or(segment.end > 0) != 0;
	return segment;
}

/*
 * Ranks this thread's row in its group by the words, and moves it there with its new group: empty if it needs
 * no more sorting.
 */
template <int THREADS>
static __device__ __forceinline__ void
block_move_row(FinishBlock<THREADS> *block, uint64_t word, uint32_t row, RowRange group)
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
template <int THREADS>
static __device__ __forceinline__ uint32_t
block_rank_step(FinishBlock<THREADS> *block, uint64_t word, uint32_t *row, RowRange *group)
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

/*
 * How many bytes the strings of this thread's group have in common from `depth` on, if it is to skip them;
 * else 0.  All threads call it.
 */
template <int THREADS>
static __device__ __forceinline__ uint32_t
block_skip(FinishBlock<THREADS> *block, const StringText &text, uint32_t row, uint64_t depth, RowRange group,
		   bool skipping)
{
	int t = threadIdx.x;

	block->common[t] = FINISH_SKIP_LIMIT;
	__syncthreads();
	if (skipping && t != group.begin)
	{
		StringRest first = string_rest(text, block->rows[group.begin], depth);
		StringRest mine = string_rest(text, row, depth);

		atomicMin(&block->common[group.begin],
				  (uint32_t) string_count_common(first, mine, FINISH_SKIP_LIMIT));
	}
	__syncthreads();
	return skipping ? block->common[group.begin] : 0;
}

/* A segment of the right size is finished by the block among whose first THREADS - largest rows it begins. */
template <int THREADS>
static __global__ void
__launch_bounds__(THREADS) finish_kernel(SegmentRounds rounds, StringText text, StringCodes codes,
										 uint32_t *finished, int smallest, int largest)
{
	__shared__ FinishBlock<THREADS> block;
	int t = threadIdx.x;
	uint64_t base = blockIdx.x * (uint64_t) (THREADS - largest);
	bool any;
	bool skipping = false; /* the group is the same as before the last step */
	RowRange segment = block_find_segment(rounds, base, smallest, largest, &block, &any);
	RowRange group = segment;
	uint32_t row = 0;
	uint64_t depth = 0;

	if (!any)
		return;
	block_copy_codes(codes, block.code);
	if (segment.end > 0)
	{
		row = rounds.rows[base + t];
		block.rows[t] = row;
		depth = rounds.depths[rounds.row_segments[base + t]];
	}
	for (int step = 0; step < FINISH_STEPS; step++)
	{
		uint64_t word = 0;
		int begin = group.begin;
		int end = group.end;

		if (__syncthreads_or(skipping) != 0)
			depth += block_skip(&block, text, row, depth, group, skipping);
		if (group.end > 0)
			word = string_load_codes(string_rest(text, row, depth), block.code, codes.end_bits,
									 64 - STRING_TAKEN_BITS);
		depth += block_rank_step(&block, word, &row, &group);
		skipping = group.end > 0 && group.begin == begin && group.end == end;
		if (__syncthreads_or(group.end > 0) == 0)
			break;
	}
	if (group.end > 0)
		atomicOr(&block.kept[segment.begin / 32], 1u << (segment.begin % 32));
	__syncthreads();

	bool placed = segment.end > 0 && !(block.kept[segment.begin / 32] >> (segment.begin % 32) & 1);
	uint32_t placed_word = __ballot_sync(ALL_LANES, placed);
	uint64_t first = base + t / 32 * 32;

	if (placed)
		rounds.order[rounds.places[base + t]] = row;
	if (t % 32 == 0 && placed_word != 0)
	{
		atomicOr(&finished[first / 32], placed_word << (first % 32));
		if (first % 32 != 0 && placed_word >> (32 - first % 32) != 0)
			atomicOr(&finished[first / 32 + 1], placed_word >> (32 - first % 32));
	}
}

/* Queues the finishing of segments of smallest to largest rows. */
template <int THREADS>
static DevSortStatus
finish_sizes(SegmentRounds *rounds, const StringText *text, const StringCodes *codes, uint32_t *finished,
			 int smallest, int largest, cudaStream_t stream)
{
	uint64_t stride = (uint64_t) (THREADS - largest);
	unsigned blocks = (unsigned) ((rounds->count + stride - 1) / stride);

	finish_kernel<THREADS>
		<<<blocks, THREADS, 0, stream>>>(*rounds, *text, *codes, finished, smallest, largest);
	CHECK_LAUNCH("finishing small segments of strings");
	return status_ok();
}

DevSortStatus
string_finish(SegmentRounds *rounds, const StringText *text, const StringCodes *codes, uint32_t *finished,
			  cudaStream_t stream)
{
	bool few = rounds->count <= FINISH_FEW_ROWS;

	if (rounds->count / rounds->segments >= FINISH_MEAN_SIZE)
		return status_ok();
	CHECK_CUDA(cudaMemsetAsync(finished, 0, segment_rounds_words(rounds->count) * sizeof(*finished), stream),
			   "clearing the marks of finished strings");
	RETURN_IF_FAILED(
		finish_sizes<FINISH_TINY_THREADS>(rounds, text, codes, finished, 2, FINISH_TINY, stream));
	RETURN_IF_FAILED(finish_sizes<FINISH_THREADS>(rounds, text, codes, finished, FINISH_TINY + 1,
												  few ? FINISH_LARGEST_OF_FEW : FINISH_LARGEST, stream));
	return segment_rounds_drop(rounds, finished, stream);
}
