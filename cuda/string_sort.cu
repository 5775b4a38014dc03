/*
 * string_sort.cu
 *		Sorting byte strings: segment-id radix sort.
 *
 * Deshpande and Narayanan, "Can GPUs Sort Strings Efficiently?" (HiPC 2013), algorithm 1.  Rounds (segment_rounds.h) sort
 * a few bytes of every string that has not found its place, together with the number of its segment; a segment are the
 * strings that agree in all bytes so far.  Both optimisations of their section III are here and can be switched off: singletons leave
 * (III.A), and segment numbers take as few bits as they need, so that keys hold as many bytes of the string as they can (III.B).
 *
 * Different from the paper: strings have offsets and may hold any byte, so keys say where a string ends (string_key.h);
 * equal strings leave together as soon as they have ended; and segment numbers are fitted by the bit, not by the byte.
 */
#include "key_order.cuh"
#include "segment_rounds.h"
#include "string_key.h"

#define LOAD_THREADS 256

/* Bits of segment numbers that are not fitted to their number. */
#define FIXED_SEGMENT_BITS 32

static DevSortStatus
check_shape(const DevSortStringsJob *job)
{
	if (job == NULL)
		return status_make(DEVSORT_INVALID, "no job is given");
	if ((int) job->algorithm < DEVSORT_AUTO || (int) job->algorithm > DEVSORT_RADIX)
		return status_make(DEVSORT_INVALID, "algorithm %d does not exist; allowed are %d to %d", (int) job->algorithm,
						   (int) DEVSORT_AUTO, (int) DEVSORT_RADIX);
	if (job->n > DEVSORT_MAX_ROWS)
		return status_make(DEVSORT_INVALID, "%llu strings are too many; at most %llu can be sorted",
						   (unsigned long long) job->n, (unsigned long long) DEVSORT_MAX_ROWS);
	return status_ok();
}

/* bytes may be NULL: all strings may be empty. */
static DevSortStatus
check_pointers(const DevSortStringsJob *job)
{
	if (job->offsets == NULL || (uintptr_t) job->offsets % 16 != 0)
		return status_make(DEVSORT_INVALID, "offsets is %p; an address aligned to 16 bytes is needed", (const void *) job->offsets);
	if (job->sorted_indexes == NULL || (uintptr_t) job->sorted_indexes % 16 != 0)
		return status_make(DEVSORT_INVALID, "sorted_indexes is %p; an address aligned to 16 bytes is needed",
						   (void *) job->sorted_indexes);
	return status_ok();
}

/* The workspace: the rounds' arrays, and after them what the rounds' sorts need. */
static void
take_rounds(Workspace *workspace, const DevSortStringsJob *job, SegmentRounds *rounds)
{
	rounds->keys = workspace_take<uint64_t>(workspace, job->n);
	rounds->sorted_keys = workspace_take<uint64_t>(workspace, job->n);
	rounds->rows = workspace_take<uint32_t>(workspace, job->n);
	segment_rounds_take(workspace, job->n, rounds);
}

static void
measure(Workspace *workspace, const DevSortStringsJob *job)
{
	SegmentRounds unused;

	take_rounds(workspace, job, &unused);
	pair_sort_measure<uint64_t>(workspace, job->algorithm, job->n, true, 0);
}

DevSortStatus
devsort_strings_memory(const DevSortStringsJob *job, size_t *workspace_size)
{
	Workspace	measured = workspace_measure();

	RETURN_IF_FAILED(check_shape(job));
	if (workspace_size == NULL)
		return status_make(DEVSORT_INVALID, "workspace_bytes is NULL");
	measure(&measured, job);
	*workspace_size = workspace_bytes(&measured);
	return status_ok();
}

/*
 * The next bytes of a string, the first one uppermost, of which `wanted` (1 to 7) matter.  Loads only aligned words that
 * hold one of them.
 */
static __device__ __forceinline__ uint64_t
load_bytes(const uint8_t *at, int wanted, KeyOrder big_endian)
{
	const uint64_t *word = (const uint64_t *) ((uintptr_t) at & ~(uintptr_t) 7);
	int			skip = (int) ((uintptr_t) at & 7);
	uint64_t	bytes = word[0] >> (8 * skip);

	if (skip + wanted > 8)
		bytes |= word[1] << (64 - 8 * skip);
	return key_order_apply(big_endian, bytes);
}

/* Loads the keys of a round that begins at byte `depth` of every string and takes `bytes` of them. */
static __global__ void __launch_bounds__(LOAD_THREADS)
load_kernel(RoundRows input, const uint8_t *strings, const uint64_t *offsets, uint64_t depth, int bytes, KeyOrder big_endian)
{
	uint64_t	i = blockIdx.x * (uint64_t) LOAD_THREADS + threadIdx.x;

	if (i >= input.count)
		return;

	uint32_t	row = round_row(input, i);
	uint64_t	segment = round_segment(input, i);
	uint64_t	begin = offsets[row] + depth;
	uint64_t	end = offsets[(uint64_t) row + 1];
	uint64_t	remaining = begin < end ? end - begin : 0;
	uint64_t	next = 0;

	if (remaining > 0)
		next = load_bytes(strings + begin, remaining < (uint64_t) bytes ? (int) remaining : bytes, big_endian);
	input.keys[i] = string_key_pack(segment, next, remaining, bytes);
}

/* One round: load, sort, settle.  Returns the bytes it took in *bytes. */
static DevSortStatus
sort_round(const DevSortStringsJob *job, SegmentRounds *rounds, uint64_t depth, int *bytes, const Workspace *workspace,
		   cudaStream_t stream)
{
	RoundRows	input = segment_rounds_input(rounds);
	unsigned	blocks = (unsigned) ((input.count + LOAD_THREADS - 1) / LOAD_THREADS);
	SettleRule	rule;

	*bytes = string_key_bytes(job->fixed_segment_ids ? FIXED_SEGMENT_BITS : segment_rounds_bits(rounds));
	stage_begin(job->stages, "load", stream);
	load_kernel<<<blocks, LOAD_THREADS, 0, stream>>>(input, job->bytes, job->offsets, depth, *bytes,
													 key_order_make<uint64_t>(true));
	CHECK_LAUNCH("loading the next bytes of strings");

	stage_begin(job->stages, "sort", stream);
	RETURN_IF_FAILED(segment_rounds_sort(rounds, NULL, workspace, stream));

	stage_begin(job->stages, "segments", stream);
	rule.mask = STRING_COUNT_MASK;
	rule.below = string_key_limit(*bytes);
	return segment_rounds_settle(rounds, rule, stream);
}

DevSortStatus
devsort_strings(const DevSortStringsJob *job, void *workspace_memory, size_t workspace_size, DevSortStream stream)
{
	Workspace	measured = workspace_measure();
	Workspace	workspace;
	SegmentRounds rounds = {};
	uint64_t	depth = 0;
	int			bytes;

	RETURN_IF_FAILED(check_shape(job));
	if (job->rounds)
		*job->rounds = 0;
	if (job->n == 0)
		return status_ok();
	RETURN_IF_FAILED(check_pointers(job));
	measure(&measured, job);
	RETURN_IF_FAILED(workspace_check(workspace_memory, workspace_size, &measured, &workspace));

	take_rounds(&workspace, job, &rounds);
	rounds.order = job->sorted_indexes;
	rounds.algorithm = job->algorithm;
	rounds.seed = job->seed;
	rounds.keep_settled = job->keep_singletons;
	segment_rounds_begin(&rounds, job->n);
	while (rounds.count > 0)
	{
		RETURN_IF_FAILED(sort_round(job, &rounds, depth, &bytes, &workspace, stream));
		depth += (uint64_t) bytes;
	}
	stage_begin(job->stages, NULL, stream);
	if (job->rounds)
		*job->rounds = rounds.round;
	return status_ok();
}
