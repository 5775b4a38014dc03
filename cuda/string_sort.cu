/*
 * string_sort.cu
 *		Sorting byte strings: segment-id radix sort.
 *
 * Deshpande and Narayanan, "Can GPUs Sort Strings Efficiently?" (HiPC 2013), algorithm 1.  Rounds (segment_rounds.h) sort
 * a few bytes of every string that has not found its place, together with the number of its segment; a segment are the
 * strings that agree in all bytes so far.  Both optimisations of their section III are here and can be switched off:
 * singletons leave (III.A), and segment numbers take as few bits as they need, so that keys hold as many bytes of the
 * string as they can (III.B).
 *
 * Different from the paper: strings have offsets and may hold any byte, so keys say where a string ends (string_key.h);
 * equal strings leave together as soon as they have ended; segment numbers are fitted by the bit, not by the byte; and
 * after a round that told no strings apart, the bytes that all segments have in common are skipped at once, however
 * many they are.
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
		return status_make(DEVSORT_INVALID, "offsets is %p; an address aligned to 16 bytes is needed",
						   (const void *) job->offsets);
	if (job->sorted_indexes == NULL || (uintptr_t) job->sorted_indexes % 16 != 0)
		return status_make(DEVSORT_INVALID, "sorted_indexes is %p; an address aligned to 16 bytes is needed",
						   (void *) job->sorted_indexes);
	return status_ok();
}

/* The arrays of a sort. */
struct StringPieces
{
	SegmentRounds rounds;
	unsigned long long *common; /* bytes that the strings of every segment have in common */
};

/* The workspace: these arrays, and after them what the rounds' sorts need. */
static void
take_pieces(Workspace *workspace, const DevSortStringsJob *job, StringPieces *pieces)
{
	SegmentRounds *rounds = &pieces->rounds;

	pieces->common = workspace_take<unsigned long long>(workspace, 1);
	rounds->keys = workspace_take<uint64_t>(workspace, job->n);
	rounds->sorted_keys = workspace_take<uint64_t>(workspace, job->n);
	rounds->rows = workspace_take<uint32_t>(workspace, job->n);
	segment_rounds_take(workspace, job->n, rounds);
}

static void
measure(Workspace *workspace, const DevSortStringsJob *job)
{
	StringPieces unused;

	take_pieces(workspace, job, &unused);
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
 * The next bytes of a string, the first one uppermost, of which `wanted` (1 to 8) matter.  Loads only aligned words that
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

/* How many bytes two strings have in common from byte `depth` on; may stop at *enough, which others may lower. */
static __device__ uint64_t
count_common(const uint8_t *strings, const uint64_t *offsets, uint32_t row_a, uint32_t row_b, uint64_t depth,
			 const volatile unsigned long long *enough, KeyOrder big_endian)
{
	const uint8_t *a = strings + offsets[row_a];
	const uint8_t *b = strings + offsets[row_b];
	uint64_t	length_a = offsets[(uint64_t) row_a + 1] - offsets[row_a];
	uint64_t	length_b = offsets[(uint64_t) row_b + 1] - offsets[row_b];
	uint64_t	length = length_a < length_b ? length_a : length_b;
	uint64_t	at = depth;

	while (at < length && at - depth < *enough)
	{
		int			wanted = length - at < 8 ? (int) (length - at) : 8;
		uint64_t	differs = load_bytes(a + at, wanted, big_endian) ^ load_bytes(b + at, wanted, big_endian);
		int			equal = __clzll((long long) differs) / 8;

		if (equal < wanted)
			return at + equal - depth;
		at += wanted;
	}
	return at - depth;
}

/* Lowers *common to the number of bytes from `depth` on in which the strings of every segment agree. */
static __global__ void __launch_bounds__(LOAD_THREADS)
count_common_kernel(RoundRows input, const uint8_t *strings, const uint64_t *offsets, uint64_t depth, unsigned long long *common,
					KeyOrder big_endian)
{
	uint64_t	i = blockIdx.x * (uint64_t) LOAD_THREADS + threadIdx.x;
	uint64_t	mine;

	if (i == 0 || i >= input.count || input.segments[i - 1] != input.segments[i])
		return;
	mine = count_common(strings, offsets, input.rows[i - 1], input.rows[i], depth, common, big_endian);
	if (mine < *(const volatile unsigned long long *) common)
		atomicMin(common, (unsigned long long) mine);
}

/*
 * Moves *depth behind the bytes that the strings of every segment have in common.  Not in the first round.  Waits for
 * the stream.
 */
static DevSortStatus
skip_common(const DevSortStringsJob *job, const StringPieces *pieces, uint64_t *depth, cudaStream_t stream)
{
	RoundRows	input = segment_rounds_input(&pieces->rounds);
	unsigned	blocks = (unsigned) ((input.count + LOAD_THREADS - 1) / LOAD_THREADS);
	unsigned long long common;

	stage_begin(job->stages, "load", stream);
	CHECK_CUDA(cudaMemsetAsync(pieces->common, 0xFF, sizeof(common), stream), "clearing the count of common bytes");
	count_common_kernel<<<blocks, LOAD_THREADS, 0, stream>>>(input, job->bytes, job->offsets, *depth, pieces->common,
															 key_order_make<uint64_t>(true));
	CHECK_LAUNCH("counting common bytes of strings");
	CHECK_CUDA(cudaMemcpyAsync(&common, pieces->common, sizeof(common), cudaMemcpyDeviceToHost, stream),
			   "reading the count of common bytes");
	CHECK_CUDA(cudaStreamSynchronize(stream), "counting common bytes of strings");
	*depth += common;
	return status_ok();
}

/* One round: load, sort, settle.  Moves *depth behind the bytes that it took. */
static DevSortStatus
sort_round(const DevSortStringsJob *job, SegmentRounds *rounds, uint64_t *depth, const Workspace *workspace, cudaStream_t stream)
{
	RoundRows	input = segment_rounds_input(rounds);
	unsigned	blocks = (unsigned) ((input.count + LOAD_THREADS - 1) / LOAD_THREADS);
	int			bytes = string_key_bytes(job->fixed_segment_ids ? FIXED_SEGMENT_BITS : segment_rounds_bits(rounds));
	SettleRule	rule = {STRING_COUNT_MASK, string_key_limit(bytes)};

	stage_begin(job->stages, "load", stream);
	load_kernel<<<blocks, LOAD_THREADS, 0, stream>>>(input, job->bytes, job->offsets, *depth, bytes,
													 key_order_make<uint64_t>(true));
	CHECK_LAUNCH("loading the next bytes of strings");
	*depth += (uint64_t) bytes;

	stage_begin(job->stages, "sort", stream);
	RETURN_IF_FAILED(segment_rounds_sort(rounds, NULL, workspace, stream));

	stage_begin(job->stages, "segments", stream);
	return segment_rounds_settle(rounds, rule, stream);
}

/* All rounds. */
static DevSortStatus
sort_rounds(const DevSortStringsJob *job, StringPieces *pieces, const Workspace *workspace, cudaStream_t stream)
{
	SegmentRounds *rounds = &pieces->rounds;
	uint64_t	depth = 0;

	segment_rounds_begin(rounds, job->n);
	while (rounds->count > 0)
	{
		uint64_t	count = rounds->count;
		uint64_t	segments = rounds->segments;

		RETURN_IF_FAILED(sort_round(job, rounds, &depth, workspace, stream));

		/* Nothing told apart: likely a common prefix.  Rows that are settled but kept have nothing left in common. */
		if (rounds->count == count && rounds->segments == segments && !job->keep_singletons)
			RETURN_IF_FAILED(skip_common(job, pieces, &depth, stream));
	}
	return status_ok();
}

DevSortStatus
devsort_strings(const DevSortStringsJob *job, void *workspace_memory, size_t workspace_size, DevSortStream stream)
{
	Workspace	measured = workspace_measure();
	Workspace	workspace;
	StringPieces pieces = {};

	RETURN_IF_FAILED(check_shape(job));
	if (job->rounds)
		*job->rounds = 0;
	if (job->n == 0)
		return status_ok();
	RETURN_IF_FAILED(check_pointers(job));
	measure(&measured, job);
	RETURN_IF_FAILED(workspace_check(workspace_memory, workspace_size, &measured, &workspace));

	take_pieces(&workspace, job, &pieces);
	pieces.rounds.order = job->sorted_indexes;
	pieces.rounds.algorithm = job->algorithm;
	pieces.rounds.seed = job->seed;
	pieces.rounds.keep_settled = job->keep_singletons;
	RETURN_IF_FAILED(sort_rounds(job, &pieces, &workspace, stream));
	stage_begin(job->stages, NULL, stream);
	if (job->rounds)
		*job->rounds = pieces.rounds.round;
	return status_ok();
}
