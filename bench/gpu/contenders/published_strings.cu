/*
 * published_strings.cu
 *		The string sort of Deshpande and Narayanan as it was published.
 */
#include "gpu/contenders/published_key.h"
#include "gpu/contenders/published_strings.h"
#include "segments/rounds.h"
#include "strings/text.cuh"

#define LOAD_THREADS 256

/* Bits of segment numbers that are not fitted to their number. */
#define FIXED_SEGMENT_BITS 32

static __global__ void
__launch_bounds__(LOAD_THREADS) load_kernel(RoundRows input, StringText text, uint64_t depth, int bytes)
{
	uint64_t i = blockIdx.x * (uint64_t) LOAD_THREADS + threadIdx.x;

	if (i >= input.count)
		return;

	uint64_t segment = round_segment(input, i);
	StringRest rest = string_rest(text, round_row(input, i), depth);
	uint64_t next = 0;

	if (rest.remaining > 0)
		next = string_load_word(rest.at, rest.remaining < (uint64_t) bytes ? (int) rest.remaining : bytes);
	input.keys[i] = string_key_pack(segment, next, rest.remaining, bytes);
}

/* Loads the keys: the next `bytes` bytes of all strings, from byte `depth` on. */
static DevSortStatus
load(const RoundRows *input, const StringText *text, uint64_t depth, int bytes, cudaStream_t stream)
{
	load_kernel<<<(unsigned) ((input->count + LOAD_THREADS - 1) / LOAD_THREADS), LOAD_THREADS, 0, stream>>>(
		*input, *text, depth, bytes);
	CHECK_LAUNCH("loading the next bytes of strings");
	return status_ok();
}

/* The workspace: these arrays, and after them what the rounds' sorts need. */
static void
take_rounds(Workspace *workspace, const DevSortStringsJob *job, SegmentRounds *rounds)
{
	rounds->keys = workspace_take<uint64_t>(workspace, job->n);
	rounds->sorted_keys = workspace_take<uint64_t>(workspace, job->n);
	rounds->rows = workspace_take<uint32_t>(workspace, job->n);
	segment_rounds_take(workspace, job->n, rounds);
}

size_t
published_strings_memory(const DevSortStringsJob *job)
{
	Workspace measured = workspace_measure();
	SegmentRounds unused = {};

	take_rounds(&measured, job, &unused);
	pair_sort_measure<uint64_t>(&measured, job->algorithm, job->n, true, 0);
	return workspace_bytes(&measured);
}

/*
 * A round of the paper: the next bytes of all strings that are left, all from the same depth on.  Moves
 * *depth.
 */
static DevSortStatus
sort_round(const DevSortStringsJob *job, PublishedSwitches switches, SegmentRounds *rounds,
		   const StringText *text, uint64_t *depth, const Workspace *workspace, cudaStream_t stream)
{
	RoundRows input = segment_rounds_input(rounds);
	int bytes =
		string_key_bytes(switches.fixed_segment_ids ? FIXED_SEGMENT_BITS : segment_rounds_bits(rounds));
	SettleRule rule = {STRING_COUNT_MASK, string_key_limit(bytes)};

	stage_begin(job->stages, "load", stream);
	RETURN_IF_FAILED(load(&input, text, *depth, bytes, stream));
	*depth += (uint64_t) bytes;

	stage_begin(job->stages, "sort", stream);
	RETURN_IF_FAILED(segment_rounds_sort(rounds, NULL, workspace, stream));

	stage_begin(job->stages, "segments", stream);
	return segment_rounds_settle(rounds, rule, workspace, stream);
}

DevSortStatus
published_strings_sort(const DevSortStringsJob *job, PublishedSwitches switches, void *workspace_memory,
					   cudaStream_t stream)
{
	Workspace workspace = workspace_open(workspace_memory);
	StringText text = {job->bytes, job->offsets};
	SegmentRounds rounds = {};
	uint64_t depth = 0;

	take_rounds(&workspace, job, &rounds);
	rounds.order = job->sorted_indexes;
	rounds.algorithm = job->algorithm;
	rounds.seed = job->seed;
	rounds.keep_settled = switches.keep_singletons;
	segment_rounds_begin(&rounds, job->n);
	while (rounds.count > 0)
		RETURN_IF_FAILED(sort_round(job, switches, &rounds, &text, &depth, &workspace, stream));
	stage_begin(job->stages, NULL, stream);
	if (job->rounds)
		*job->rounds = rounds.round;
	return status_ok();
}
