/*
 * wide_sort.cu
 *		Sorting keys of 16, 24 or 32 bytes: by 64 of their bits at a time, and one gather at the end.
 *
 * Moving a wide key through every step of a sort costs its width each time.  So only pairs of 64 bits and a
 * row number are sorted:
 *
 *	1. one reading pass finds the bits that vary at all (squeeze.h);
 *	2. the first 64 of them are extracted and sorted with the row number;
 *	3. rows that agree in these go on, in rounds, with the next bits (segments/rounds.h), until no two agree
 *	   or all bits have been sorted by; of random keys no rows are left after the first sort;
 *	4. keys and payloads are gathered by the row numbers in their order, once.
 *
 * The job's own arrays serve as scratch memory while they are not needed: sorted_keys, until the gather, for
 * the 64-bit keys; sorted_indexes for the row numbers, or right away for the result where payloads are row
 * numbers.
 */
#include "fixed/squeeze.h"
#include "fixed/wide_gather.h"
#include "fixed/wide_sort.h"
#include "pairs/pair_sort.h"
#include "primitives/key_order.cuh"
#include "primitives/row_numbers.h"
#include "segments/rounds.h"

#define WIDE_THREADS 256

/*
 * Blocks of the pass that finds varying bits: 8 a multiprocessor of an H100, and a multiple of 3 (see there).
 */
#define VARYING_BLOCKS 1056

/* Rows a thread of the extraction. */
#define EXTRACT_ITEMS 4

/* Two arrays of 64-bit keys, aligned, fit in one of wider keys from half as many rows on. */
#define FEW_ROWS (WORKSPACE_ALIGNMENT / sizeof(uint64_t))

struct WidePieces
{
	unsigned long long *varying; /* SQUEEZE_MAX_WORDS words */
	SegmentRounds rounds;
};

/*
 * Takes the second array of 64-bit keys, behind the first one in sorted_keys if keys are wider than 16 bytes.
 * There it has room but for very few rows, because of the alignment; these get it from the workspace, which
 * has as much for all others too: more rows must not need less memory.
 */
static uint64_t *
take_second_keys(Workspace *workspace, Workspace *sorted_keys, const DevSortFixedJob *job)
{
	uint64_t *few;

	if (job->key_bytes <= 2 * (int) sizeof(uint64_t))
		return workspace_take<uint64_t>(workspace, job->n);
	few = workspace_take<uint64_t>(workspace, FEW_ROWS);
	if (sorted_keys->used + job->n * sizeof(uint64_t) > job->n * (uint64_t) job->key_bytes)
		return few;
	return workspace_take<uint64_t>(sorted_keys, job->n);
}

/*
 * The workspace: what the job's own arrays have no room for, then what the rounds' sorts need.  sorted_keys
 * has room for one array of 64-bit keys, or two.
 */
static void
take_pieces(Workspace *workspace, const DevSortFixedJob *job, WidePieces *pieces)
{
	Workspace sorted_keys = workspace_open(job->sorted_keys);
	SegmentRounds *rounds = &pieces->rounds;

	rounds->keys = workspace_take<uint64_t>(&sorted_keys, job->n);
	rounds->sorted_keys = take_second_keys(workspace, &sorted_keys, job);

	/* Payloads that are row numbers are the order itself; others are written by the gather only. */
	rounds->order = job->sorted_indexes && !job->indexes ? job->sorted_indexes
														 : workspace_take<uint32_t>(workspace, job->n);
	rounds->rows = job->sorted_indexes && job->indexes ? job->sorted_indexes
													   : workspace_take<uint32_t>(workspace, job->n);
	segment_rounds_take(workspace, job->n, rounds);
	pieces->varying = workspace_take<unsigned long long>(workspace, SQUEEZE_MAX_WORDS);
}

void
wide_sort_measure(Workspace *workspace, const DevSortFixedJob *job)
{
	WidePieces unused;

	take_pieces(workspace, job, &unused);
	pair_sort_measure<uint64_t>(workspace, job->algorithm, job->n, true, job->samples);
}

/*
 * Finds the bits in which any key differs from the first.  Keys are read as pairs of words; as the number of
 * threads is a multiple of 6, a thread meets the same two words of a key (of 2, 3 or 4 words) all the time.
 */
static __global__ void
__launch_bounds__(WIDE_THREADS) find_varying_kernel(const uint64_t *__restrict__ keys, uint64_t total_words,
													int words, unsigned long long *varying)
{
	__shared__ unsigned long long of_block[SQUEEZE_MAX_WORDS];
	const ulonglong2 *pairs = (const ulonglong2 *) keys;
	uint64_t thread = blockIdx.x * (uint64_t) WIDE_THREADS + threadIdx.x;
	uint64_t threads = gridDim.x * (uint64_t) WIDE_THREADS;
	int low = (int) (2 * thread % words);
	int high = (int) ((2 * thread + 1) % words);
	uint64_t first_low = keys[low];
	uint64_t first_high = keys[high];
	uint64_t differs_low = 0;
	uint64_t differs_high = 0;
	uint64_t differs_last = 0;

	if (threadIdx.x < SQUEEZE_MAX_WORDS)
		of_block[threadIdx.x] = 0;
	__syncthreads();

#pragma unroll 4
	for (uint64_t i = thread; i < total_words / 2; i += threads)
	{
		ulonglong2 pair = pairs[i];

		differs_low |= pair.x ^ first_low;
		differs_high |= pair.y ^ first_high;
	}
	if (thread == 0 && total_words % 2 != 0)
		differs_last = keys[total_words - 1] ^ keys[words - 1];

	for (int word = 0; word < words; word++)
	{
		uint64_t differs = (word == low ? differs_low : 0) | (word == high ? differs_high : 0) |
						   (word == words - 1 ? differs_last : 0);

		for (int distance = 16; distance > 0; distance /= 2)
			differs |= __shfl_xor_sync(0xFFFFFFFFu, (unsigned long long) differs, distance);
		if (threadIdx.x % 32 == 0 && differs != 0)
			atomicOr(&of_block[word], (unsigned long long) differs);
	}
	__syncthreads();
	if (threadIdx.x < words && of_block[threadIdx.x] != 0)
		atomicOr(&varying[threadIdx.x], of_block[threadIdx.x]);
}

/* Finds the bits that vary, and plans what to take.  Waits for the stream. */
static DevSortStatus
plan_squeeze(const DevSortFixedJob *job, unsigned long long *varying, SqueezePlan *plan, cudaStream_t stream)
{
	int words = job->key_bytes / 8;
	uint64_t total_words = job->n * (uint64_t) words;
	uint64_t blocks = (total_words / 2 + WIDE_THREADS - 1) / WIDE_THREADS;
	uint64_t masks[SQUEEZE_MAX_WORDS];

	/* At least one pair a thread; a multiple of 3, as VARYING_BLOCKS is. */
	blocks = blocks < VARYING_BLOCKS ? (blocks + 2) / 3 * 3 : VARYING_BLOCKS;
	CHECK_CUDA(cudaMemsetAsync(varying, 0, sizeof(masks), stream), "clearing the mask of varying bits");
	find_varying_kernel<<<(unsigned) blocks, WIDE_THREADS, 0, stream>>>((const uint64_t *) job->keys,
																		total_words, words, varying);
	CHECK_LAUNCH("looking for varying bits");
	CHECK_CUDA(cudaMemcpyAsync(masks, varying, sizeof(masks), cudaMemcpyDeviceToHost, stream),
			   "reading the mask of varying bits");
	CHECK_CUDA(cudaStreamSynchronize(stream), "looking for varying bits");

	if (job->format == DEVSORT_KEY_BYTES)
	{
		for (int word = 0; word < words; word++)
			masks[word] = __builtin_bswap64(masks[word]);
	}
	*plan = squeeze_plan(masks, words);
	return status_ok();
}

/* Loads a round's keys: the segment's number, and below it the bits of the slice. */
static __global__ void
__launch_bounds__(WIDE_THREADS) extract_kernel(RoundRows input, const uint64_t *__restrict__ keys, int words,
											   const __grid_constant__ SqueezePlan slice, KeyOrder order)
{
	uint64_t first = blockIdx.x * (uint64_t) (WIDE_THREADS * EXTRACT_ITEMS) + threadIdx.x;
	const uint64_t *key[EXTRACT_ITEMS];
	uint64_t value[EXTRACT_ITEMS];

#pragma unroll
	for (int item = 0; item < EXTRACT_ITEMS; item++)
	{
		uint64_t i = first + item * WIDE_THREADS;

		key[item] = keys;
		value[item] = 0;
		if (i < input.count)
		{
			key[item] = keys + round_row(input, i) * (uint64_t) words;
			value[item] = round_segment(input, i);
		}
	}
	for (int run = 0; run < slice.runs; run++)
	{
#pragma unroll
		for (int item = 0; item < EXTRACT_ITEMS; item++)
			value[item] = squeeze_append(value[item], key_order_apply(order, key[item][slice.run[run].word]),
										 slice.run[run]);
	}
#pragma unroll
	for (int item = 0; item < EXTRACT_ITEMS; item++)
	{
		if (first + item * WIDE_THREADS < input.count)
			input.keys[first + item * WIDE_THREADS] = value[item];
	}
}

static DevSortStatus
extract(const DevSortFixedJob *job, RoundRows input, SqueezePlan slice, cudaStream_t stream)
{
	const int block_rows = WIDE_THREADS * EXTRACT_ITEMS;
	uint64_t blocks = (input.count + block_rows - 1) / block_rows;

	extract_kernel<<<(unsigned) blocks, WIDE_THREADS, 0, stream>>>(input, (const uint64_t *) job->keys,
																   job->key_bytes / 8, slice,
																   key_order_make<uint64_t>(
																	   job->format == DEVSORT_KEY_BYTES));
	CHECK_LAUNCH("extracting bits of keys");
	return status_ok();
}

/* Notes whether any row that is left differs, as a whole, from the one before it in its segment. */
static __global__ void
__launch_bounds__(WIDE_THREADS) find_difference_kernel(RoundRows input, const uint64_t *__restrict__ keys,
													   int words, unsigned long long *differs)
{
	uint64_t i = blockIdx.x * (uint64_t) WIDE_THREADS + threadIdx.x;
	const uint64_t *one;
	const uint64_t *other;

	if (i == 0 || i >= input.count || input.segments[i - 1] != input.segments[i] ||
		*(volatile unsigned long long *) differs)
		return;
	one = keys + input.rows[i - 1] * (uint64_t) words;
	other = keys + input.rows[i] * (uint64_t) words;
	for (int word = 0; word < words; word++)
		if (one[word] != other[word])
			*differs = 1;
}

/*
 * Are the rows of each segment all equal, so that there is nothing left to sort?  Repeated keys would else
 * take part in every round.  Waits for the stream.
 */
static DevSortStatus
segments_are_equal(const DevSortFixedJob *job, const WidePieces *pieces, bool *equal, cudaStream_t stream)
{
	RoundRows input = segment_rounds_input(&pieces->rounds);
	uint64_t blocks = (input.count + WIDE_THREADS - 1) / WIDE_THREADS;
	unsigned long long differs;

	CHECK_CUDA(cudaMemsetAsync(pieces->varying, 0, sizeof(differs), stream),
			   "clearing the mark of a difference");
	find_difference_kernel<<<(unsigned) blocks, WIDE_THREADS, 0, stream>>>(input,
																		   (const uint64_t *) job->keys,
																		   job->key_bytes / 8,
																		   pieces->varying);
	CHECK_LAUNCH("comparing keys that tie");
	CHECK_CUDA(cudaMemcpyAsync(&differs, pieces->varying, sizeof(differs), cudaMemcpyDeviceToHost, stream),
			   "reading the mark of a difference");
	CHECK_CUDA(cudaStreamSynchronize(stream), "comparing keys that tie");
	*equal = differs == 0;
	return status_ok();
}

/* Sorts row numbers by all bits of the plan, in as many rounds as that takes. */
static DevSortStatus
sort_rounds(const DevSortFixedJob *job, WidePieces *pieces, const SqueezePlan *plan,
			const Workspace *workspace, cudaStream_t stream)
{
	SegmentRounds *rounds = &pieces->rounds;
	int from = 0;

	while (rounds->count > 0)
	{
		int room = 64 - segment_rounds_bits(rounds);
		int take = plan->bits - from < room ? plan->bits - from : room;
		bool is_last = from + take == plan->bits;
		SettleRule rule = {0, is_last ? UINT64_C(1) : UINT64_C(0)};

		RETURN_IF_FAILED(extract(job, segment_rounds_input(rounds), squeeze_slice(plan, from, take), stream));
		RETURN_IF_FAILED(segment_rounds_sort(rounds, from == 0 ? job->stages : NULL, workspace, stream));

		/* If the first round sorts by everything, its result is complete without a look. */
		if (is_last && from == 0)
			return segment_rounds_finish_sort(rounds, workspace, stream);
		stage_begin(job->stages, "ties", stream);
		RETURN_IF_FAILED(segment_rounds_settle(rounds, rule, workspace, stream));
		/* The first round sorts into the result: equal rows are in their places. */
		if (from == 0 && rounds->count > 0)
		{
			bool equal = false;

			RETURN_IF_FAILED(segments_are_equal(job, pieces, &equal, stream));
			if (equal)
				return status_ok();
		}
		from += take;
	}
	return status_ok();
}

DevSortStatus
wide_sort(const DevSortFixedJob *job, const Workspace *workspace, cudaStream_t stream)
{
	Workspace mine = *workspace;
	WidePieces pieces = {};
	SqueezePlan plan;

	take_pieces(&mine, job, &pieces);
	pieces.rounds.algorithm = job->algorithm;
	pieces.rounds.seed = job->seed;
	pieces.rounds.samples = job->samples;

	stage_begin(job->stages, "squeeze", stream);
	RETURN_IF_FAILED(plan_squeeze(job, pieces.varying, &plan, stream));
	if (plan.bits == 0)
		RETURN_IF_FAILED(row_numbers_fill(pieces.rounds.order, job->n, stream));
	else
	{
		segment_rounds_begin(&pieces.rounds, job->n);
		RETURN_IF_FAILED(sort_rounds(job, &pieces, &plan, &mine, stream));
	}

	stage_begin(job->stages, "gather", stream);
	RETURN_IF_FAILED(wide_gather(job, pieces.rounds.order, stream));
	stage_begin(job->stages, NULL, stream);
	return status_ok();
}
