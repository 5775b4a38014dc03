/*
 * survey.cu
 *		A look at the strings before the first round.
 *
 * Four kernels.  One counts characters of a sample and compares its strings with the first one; one makes
 * codes of the counts, so that the first round can be loaded before the host has seen them.  If need be, one
 * does the same comparison for all strings, and another one reads all bytes and marks in shared memory which
 * values there are.
 */
#include <algorithm>

#include "strings/codes.cuh"
#include "strings/survey.h"
#include "strings/text.cuh"

/* The sample: so many strings, so many bytes of each at most, a multiple of 8. */
#define SAMPLE_STRINGS 4096
#define SAMPLE_BYTES 32
#define SAMPLE_THREADS 128

static_assert(sizeof(StringSurvey) <= READ_BACK_BYTES, "the survey is read back at once");

#define SURVEY_THREADS 256

/* Blocks of the kernels that look at all strings; few strings keep few of them busy. */
#define SURVEY_BLOCKS 1056

/* Loads that a thread has under way. */
#define SURVEY_LOADS 4

/* A thread does not compare more bytes than these. */
#define STRING_PREFIX_MAX 4096

/* Counts the next eight characters of a string, or as many as there are, in shared memory. */
static __device__ __forceinline__ void
count_characters(StringRest rest, uint32_t *counts)
{
	int present = rest.remaining < 8 ? (int) rest.remaining : 8;
	uint64_t bytes = present > 0 ? string_load_word(rest.at, present) : 0;

	for (int i = 0; i < present; i++, bytes <<= 8)
		atomicAdd(&counts[bytes >> 56], 1u);
}

/* What the threads of a warp found that all their strings have in common, and how long the longest is. */
static __device__ __forceinline__ void
warp_note_prefix(uint32_t prefix, uint32_t longest, StringSurvey *survey)
{
	for (int distance = 16; distance > 0; distance /= 2)
	{
		uint32_t other_prefix = __shfl_xor_sync(0xFFFFFFFFu, prefix, distance);
		uint32_t other_longest = __shfl_xor_sync(0xFFFFFFFFu, longest, distance);

		prefix = other_prefix < prefix ? other_prefix : prefix;
		longest = other_longest > longest ? other_longest : longest;
	}
	if (threadIdx.x % 32 != 0)
		return;
	if (STRING_PREFIX_MAX - prefix > *(volatile uint32_t *) &survey->unshared)
		atomicMax(&survey->unshared, STRING_PREFIX_MAX - prefix);
	if (longest > *(volatile uint32_t *) &survey->longest)
		atomicMax(&survey->longest, longest);
}

/*
 * Looks at `samples` of the n strings.  A thread counts eight characters of a string; the first of a string's
 * threads does the rest.
 */
static __global__ void
__launch_bounds__(SAMPLE_THREADS)
	sample_kernel(StringText text, uint64_t n, uint32_t samples, StringSurvey *survey)
{
	__shared__ uint32_t counts[256];
	uint32_t thread = blockIdx.x * SAMPLE_THREADS + threadIdx.x;
	uint32_t sample = thread / (SAMPLE_BYTES / 8);
	uint32_t part = thread % (SAMPLE_BYTES / 8);
	uint32_t prefix = STRING_PREFIX_MAX;
	uint32_t length = 0;
	bool ends = false;
	int all_ends;

	for (int value = threadIdx.x; value < 256; value += SAMPLE_THREADS)
		counts[value] = 0;
	__syncthreads();
	if (sample < samples)
	{
		uint32_t row = (uint32_t) (sample * n / samples);

		count_characters(string_rest(text, row, 8 * part), counts);
		if (part == 0)
		{
			StringRest mine = string_rest(text, row, 0);

			length = mine.remaining < UINT32_MAX ? (uint32_t) mine.remaining : UINT32_MAX;
			ends = length <= SAMPLE_BYTES;
			prefix = (uint32_t) string_count_common(string_rest(text, 0, 0), mine, STRING_PREFIX_MAX);
		}
	}
	all_ends = __syncthreads_count(ends);
	for (int value = threadIdx.x; value < 256; value += SAMPLE_THREADS)
	{
		if (counts[value] > 0)
			atomicAdd(&survey->counts[value], counts[value]);
	}
	warp_note_prefix(prefix, length, survey);
	if (threadIdx.x == 0 && all_ends > 0)
		atomicAdd(&survey->ends, (uint32_t) all_ends);
	if (thread == 0)
		survey->bytes = text.offsets[n] - text.offsets[0];
}

/* Makes the codes, and says whether the sample tells all.  One block. */
static __global__ void
__launch_bounds__(CODES_THREADS) make_codes_kernel(StringSurvey *survey, StringCodes *codes)
{
	int values = block_make_codes(survey->counts, survey->ends, codes);

	if (threadIdx.x == 0)
		survey->tells_all =
			values > 1 && survey->unshared == STRING_PREFIX_MAX && survey->bytes <= STRING_LONGEST;
}

/* Marks the four bytes of a word.  All who write to a byte of `seen` write the same. */
static __device__ __forceinline__ void
mark_bytes(volatile uint8_t *seen, uint32_t word)
{
	seen[word & 0xFF] = 1;
	seen[word >> 8 & 0xFF] = 1;
	seen[word >> 16 & 0xFF] = 1;
	seen[word >> 24] = 1;
}

/* Marks the bytes of the loads that this thread does between two aligned addresses. */
static __device__ __forceinline__ void
mark_aligned(volatile uint8_t *seen, const uint4 *loads, uint64_t count)
{
	const uint64_t step = (uint64_t) gridDim.x * SURVEY_THREADS;

	for (uint64_t i = blockIdx.x * (uint64_t) SURVEY_THREADS + threadIdx.x; i < count;
		 i += SURVEY_LOADS * step)
	{
		uint4 load[SURVEY_LOADS];

#pragma unroll
		for (int k = 0; k < SURVEY_LOADS; k++)
			load[k] = loads[i + k * step < count ? i + k * step : i];
#pragma unroll
		for (int k = 0; k < SURVEY_LOADS; k++)
		{
			mark_bytes(seen, load[k].x);
			mark_bytes(seen, load[k].y);
			mark_bytes(seen, load[k].z);
			mark_bytes(seen, load[k].w);
		}
	}
}

/* Finds the byte values that occur. */
static __global__ void
__launch_bounds__(SURVEY_THREADS) find_values_kernel(StringText text, uint64_t n, StringSurvey *survey)
{
	__shared__ uint8_t seen[256];
	uintptr_t begin = (uintptr_t) text.bytes + text.offsets[0];
	uintptr_t end = (uintptr_t) text.bytes + text.offsets[n];
	uintptr_t first = (begin + 15) & ~(uintptr_t) 15;
	uintptr_t last = end & ~(uintptr_t) 15;
	uint32_t word = 0;

	seen[threadIdx.x] = 0;
	__syncthreads();
	if (first < last)
		mark_aligned(seen, (const uint4 *) first, (last - first) / 16);

	/* What comes before the first and after the last load: less than 16 bytes each, or all there is. */
	if (blockIdx.x == 0 && threadIdx.x < 32)
	{
		uintptr_t before = begin + threadIdx.x;
		uintptr_t after = last + threadIdx.x;

		if (before < end && before < first)
			seen[*(const uint8_t *) before] = 1;
		if (after >= begin && after < end)
			seen[*(const uint8_t *) after] = 1;
	}
	__syncthreads();
	word = __ballot_sync(0xFFFFFFFFu, seen[threadIdx.x] != 0);
	if (threadIdx.x % 32 == 0 && (word & ~*(volatile uint32_t *) &survey->found[threadIdx.x / 32]) != 0)
		atomicOr(&survey->found[threadIdx.x / 32], word);
}

/* Finds what all strings have in common with string 0, and how long the longest is. */
static __global__ void
__launch_bounds__(SURVEY_THREADS) find_prefix_kernel(StringText text, uint64_t n, StringSurvey *survey)
{
	const uint64_t step = (uint64_t) gridDim.x * SURVEY_THREADS;
	const StringRest first = string_rest(text, 0, 0);
	uint32_t prefix = STRING_PREFIX_MAX;
	uint32_t longest = 0;

	for (uint64_t i = blockIdx.x * (uint64_t) SURVEY_THREADS + threadIdx.x; i < n; i += step)
	{
		StringRest mine = string_rest(text, (uint32_t) i, 0);
		uint32_t length = mine.remaining < UINT32_MAX ? (uint32_t) mine.remaining : UINT32_MAX;

		prefix = (uint32_t) string_count_common(first, mine, prefix);
		longest = length > longest ? length : longest;
	}
	__syncwarp();
	warp_note_prefix(prefix, longest, survey);
}

/* Has the sample at most one byte value? */
static bool
counted_one_character(const StringSurvey *survey)
{
	int values = 0;

	for (uint32_t count : survey->counts)
		values += count > 0;
	return values <= 1;
}

/* Have all strings together? */
static bool
found_one_character(const StringSurvey *survey)
{
	int values = 0;

	for (int value = 0; value < 256; value++)
		values += survey->found[value / 32] >> (value % 32) & 1;
	return values <= 1;
}

static DevSortStatus
read_survey(const StringSurvey *survey, StringSurvey *result, cudaStream_t stream)
{
	CHECK_CUDA(cudaMemcpyAsync(result, survey, sizeof(*result), cudaMemcpyDeviceToHost, stream),
			   "reading the survey of strings");
	CHECK_CUDA(cudaStreamSynchronize(stream), "surveying strings");
	return status_ok();
}

static DevSortStatus
find_prefix(const StringText *text, uint64_t n, StringSurvey *survey, cudaStream_t stream)
{
	find_prefix_kernel<<<SURVEY_BLOCKS, SURVEY_THREADS, 0, stream>>>(*text, n, survey);
	CHECK_LAUNCH("finding what strings have in common");
	return status_ok();
}

static DevSortStatus
find_values(const StringText *text, uint64_t n, StringSurvey *survey, cudaStream_t stream)
{
	find_values_kernel<<<SURVEY_BLOCKS, SURVEY_THREADS, 0, stream>>>(*text, n, survey);
	CHECK_LAUNCH("finding the bytes that occur in strings");
	return status_ok();
}

/* Have the strings nothing but their common beginning, and that is not empty? */
static bool
seem_equal(const StringSurvey *survey)
{
	uint32_t prefix = STRING_PREFIX_MAX - survey->unshared;

	return prefix > 0 && survey->longest == prefix;
}

DevSortStatus
string_survey_begin(const StringText *text, uint64_t n, StringSurvey *survey, StringCodes *codes,
					ReadBack *read, cudaStream_t stream)
{
	uint32_t samples = n < SAMPLE_STRINGS ? (uint32_t) n : SAMPLE_STRINGS;
	uint32_t threads = samples * (SAMPLE_BYTES / 8);
	uint32_t blocks = (threads + SAMPLE_THREADS - 1) / SAMPLE_THREADS;

	CHECK_CUDA(cudaMemsetAsync(survey, 0, sizeof(*survey), stream), "clearing the survey of strings");
	sample_kernel<<<blocks, SAMPLE_THREADS, 0, stream>>>(*text, n, samples, survey);
	CHECK_LAUNCH("sampling strings");
	make_codes_kernel<<<1, CODES_THREADS, 0, stream>>>(survey, codes);
	CHECK_LAUNCH("making codes of characters");
	return read_back_begin(read, survey, sizeof(*survey), "reading the survey of strings", stream);
}

/*
 * Looks at all strings where the sample leaves something open.  To know that strings are equal, values need
 * not be looked at.
 */
static DevSortStatus
survey_all(const StringText *text, uint64_t n, StringSurvey *survey, StringSurvey *result, StringFacts *facts,
		   cudaStream_t stream)
{
	bool has_prefix = result->unshared < STRING_PREFIX_MAX;
	bool one_character = counted_one_character(result);
	bool equal = seem_equal(result);

	if (has_prefix || result->bytes > STRING_LONGEST)
		RETURN_IF_FAILED(find_prefix(text, n, survey, stream));
	if (one_character && !equal)
		RETURN_IF_FAILED(find_values(text, n, survey, stream));
	RETURN_IF_FAILED(read_survey(survey, result, stream));
	facts->all_equal = seem_equal(result);
	if (facts->all_equal)
		return status_ok();
	if (one_character && equal)
	{
		RETURN_IF_FAILED(find_values(text, n, survey, stream));
		RETURN_IF_FAILED(read_survey(survey, result, stream));
	}
	facts->one_character = one_character && found_one_character(result);
	return status_ok();
}

DevSortStatus
string_survey_end(const StringText *text, uint64_t n, StringSurvey *survey, ReadBack *read,
				  StringFacts *facts, bool *told_all, cudaStream_t stream)
{
	StringSurvey result;

	*facts = {};
	RETURN_IF_FAILED(read_back_end(read, &result, sizeof(result), "surveying strings"));
	*told_all = result.tells_all != 0;
	if (!*told_all)
		RETURN_IF_FAILED(survey_all(text, n, survey, &result, facts, stream));
	facts->longest = result.longest;
	facts->prefix = STRING_PREFIX_MAX - result.unshared;
	std::copy(result.counts, result.counts + 256, facts->counts);
	facts->ends = result.ends;
	return status_ok();
}
