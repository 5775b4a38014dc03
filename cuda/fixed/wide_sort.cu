/*
 * wide_sort.cu
 *		Sorting keys of 16, 24 or 32 bytes: by 64 of their bits at a time, and one gather at the end.
 *
 * Moving a wide key through every step of a sort costs its width each time.  So only pairs of 64 bits and a
 * row number are sorted:
 *
 *	1. one reading pass finds the bits that vary at all (wide_survey.h, squeeze.h);
 *	2. the first 64 of them are extracted and sorted with the row number; where many keys begin alike, codes
 *	   stand for what they have in common (prefix_codes.h);
 *	3. if rows agree in these, the bits are found by which any two of them differ; they go on, in rounds, with
 *	   these (segments/rounds.h), until no two agree or all bits have been sorted by; of random keys no rows
 *	   are left after the first sort;
 *	4. keys and payloads are gathered by the row numbers in their order, once.
 *
 * The job's own arrays serve as scratch memory while they are not needed: sorted_keys, until the gather, for
 * the 64-bit keys; sorted_indexes for the row numbers, or right away for the result where payloads are row
 * numbers.
 */
#include "fixed/extract.cuh"
#include "fixed/prefix_codes.h"
#include "fixed/wide_gather.h"
#include "fixed/wide_sort.h"
#include "fixed/wide_survey.h"
#include "pairs/pair_sort.h"
#include "primitives/row_numbers.h"
#include "segments/rounds.h"

/* Two arrays of 64-bit keys, aligned, fit in one of wider keys from half as many rows on. */
#define FEW_ROWS (WORKSPACE_ALIGNMENT / sizeof(uint64_t))

struct WidePieces
{
	unsigned long long *varying; /* of the surveys */
	PrefixCodes *codes;
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
	pieces->varying = wide_survey_take(workspace);
	pieces->codes = workspace_take<PrefixCodes>(workspace, 1);
}

void
wide_sort_measure(Workspace *workspace, const DevSortFixedJob *job)
{
	WidePieces unused;

	take_pieces(workspace, job, &unused);
	pair_sort_measure<uint64_t>(workspace, job->algorithm, job->n, true, job->samples);
}

/* Loads a round's keys: the segment's number, and below it the bits of the slice. */
static __global__ void
__launch_bounds__(EXTRACT_THREADS)
	extract_kernel(RoundRows input, const uint64_t *__restrict__ keys, int words,
				   const __grid_constant__ SqueezePlan slice, KeyOrder order)
{
	uint64_t first = blockIdx.x * (uint64_t) (EXTRACT_THREADS * EXTRACT_ITEMS) + threadIdx.x;
	const uint64_t *key[EXTRACT_ITEMS];
	uint64_t value[EXTRACT_ITEMS];

#pragma unroll
	for (int item = 0; item < EXTRACT_ITEMS; item++)
	{
		uint64_t i = first + item * EXTRACT_THREADS;

		key[item] = keys;
		value[item] = 0;
		if (i < input.count)
		{
			key[item] = keys + round_row(input, i) * (uint64_t) words;
			value[item] = round_segment(input, i);
		}
	}
	extract_slice(slice, order, key, value);
#pragma unroll
	for (int item = 0; item < EXTRACT_ITEMS; item++)
	{
		if (first + item * EXTRACT_THREADS < input.count)
			input.keys[first + item * EXTRACT_THREADS] = value[item];
	}
}

static DevSortStatus
extract(const DevSortFixedJob *job, RoundRows input, SqueezePlan slice, cudaStream_t stream)
{
	const int block_rows = EXTRACT_THREADS * EXTRACT_ITEMS;
	uint64_t blocks = (input.count + block_rows - 1) / block_rows;

	extract_kernel<<<(unsigned) blocks, EXTRACT_THREADS, 0, stream>>>(input, (const uint64_t *) job->keys,
																	  job->key_bytes / 8, slice,
																	  key_order_make<uint64_t>(
																		  job->format == DEVSORT_KEY_BYTES));
	CHECK_LAUNCH("extracting bits of keys");
	return status_ok();
}

/* Sorts all rows by the first 64 bits, or codes, and settles those that this tells apart from all others. */
static DevSortStatus
sort_first_round(const DevSortFixedJob *job, WidePieces *pieces, const SqueezePlan *plan, bool coded,
				 const Workspace *workspace, cudaStream_t stream)
{
	SegmentRounds *rounds = &pieces->rounds;
	RoundRows input = segment_rounds_input(rounds);
	SettleRule ties_go_on = {0, 0};

	RETURN_IF_FAILED(coded ? prefix_codes_extract(job, plan, pieces->codes, input, stream)
						   : extract(job, input, squeeze_slice(plan, 0, 64), stream));
	RETURN_IF_FAILED(segment_rounds_sort(rounds, job->stages, workspace, stream));

	/* If that was everything, the result is complete without a look. */
	if (plan->bits <= 64)
	{
		RETURN_IF_FAILED(segment_rounds_finish_sort(rounds, workspace, stream));
		rounds->count = 0;
		return status_ok();
	}
	stage_begin(job->stages, "ties", stream);
	return segment_rounds_settle(rounds, ties_go_on, workspace, stream);
}

/* Sorts the rows that are left by all bits of the rest, in as many rounds as that takes. */
static DevSortStatus
sort_rest(const DevSortFixedJob *job, WidePieces *pieces, const SqueezePlan *rest, const Workspace *workspace,
		  cudaStream_t stream)
{
	SegmentRounds *rounds = &pieces->rounds;
	int from = 0;

	while (rounds->count > 0)
	{
		int room = 64 - segment_rounds_bits(rounds);
		int take = rest->bits - from < room ? rest->bits - from : room;
		bool is_last = from + take == rest->bits;
		SettleRule rule = {0, is_last ? UINT64_C(1) : UINT64_C(0)};

		RETURN_IF_FAILED(extract(job, segment_rounds_input(rounds), squeeze_slice(rest, from, take), stream));
		RETURN_IF_FAILED(segment_rounds_sort(rounds, NULL, workspace, stream));
		RETURN_IF_FAILED(segment_rounds_settle(rounds, rule, workspace, stream));
		from += take;
	}
	return status_ok();
}

/* Sorts row numbers by all bits of the plan. */
static DevSortStatus
sort_rows(const DevSortFixedJob *job, WidePieces *pieces, const SqueezePlan *plan, const Workspace *workspace,
		  cudaStream_t stream)
{
	bool coded = prefix_codes_wanted(job, plan);
	SqueezePlan rest;

	segment_rounds_begin(&pieces->rounds, job->n);
	if (coded)
		RETURN_IF_FAILED(prefix_codes_choose(job, plan, pieces->codes, stream));
	RETURN_IF_FAILED(sort_first_round(job, pieces, plan, coded, workspace, stream));
	if (pieces->rounds.count == 0)
		return status_ok();

	/* Keys with the same code may differ anywhere, others behind what was sorted by. */
	if (coded)
		RETURN_IF_FAILED(prefix_codes_any(pieces->codes, &coded, stream));
	rest = coded ? *plan : squeeze_slice(plan, 64, plan->bits - 64);
	RETURN_IF_FAILED(wide_survey_segments(job, &pieces->rounds, pieces->varying, &rest, stream));

	/* The first round sorts into the result: equal rows are in their places. */
	return rest.bits == 0 ? status_ok() : sort_rest(job, pieces, &rest, workspace, stream);
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
	RETURN_IF_FAILED(wide_survey_keys(job, pieces.varying, &plan, stream));
	if (plan.bits == 0)
		RETURN_IF_FAILED(row_numbers_fill(pieces.rounds.order, job->n, stream));
	else
		RETURN_IF_FAILED(sort_rows(job, &pieces, &plan, &mine, stream));

	stage_begin(job->stages, "gather", stream);
	RETURN_IF_FAILED(wide_gather(job, pieces.rounds.order, stream));
	stage_begin(job->stages, NULL, stream);
	return status_ok();
}
