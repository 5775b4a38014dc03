/*
 * codes.cu
 *		Characters in as few bits as their variety needs: the survey.
 *
 * Two kernels.  One reads all bytes and marks in shared memory which values there are.  The other compares
 * every string with the first one, and a thread ends as soon as it knows that they have nothing in common.
 */
#include "strings/text.cuh"

#define SURVEY_THREADS 256

/* Blocks of both kernels; few strings keep few of them busy. */
#define SURVEY_BLOCKS 1056

/* Loads that a thread has under way. */
#define SURVEY_LOADS 4

/* A thread does not compare more bytes than these. */
#define SURVEY_PREFIX_MAX 4096

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
	uint32_t prefix = first.remaining < SURVEY_PREFIX_MAX ? (uint32_t) first.remaining : SURVEY_PREFIX_MAX;
	uint32_t longest = 0;

	for (uint64_t i = blockIdx.x * (uint64_t) SURVEY_THREADS + threadIdx.x; i < n; i += step)
	{
		StringRest mine = string_rest(text, (uint32_t) i, 0);
		uint32_t length = mine.remaining < UINT32_MAX ? (uint32_t) mine.remaining : UINT32_MAX;

		prefix = (uint32_t) string_count_common(first, mine, prefix);
		longest = length > longest ? length : longest;
	}
	__syncwarp();
	for (int distance = 16; distance > 0; distance /= 2)
	{
		uint32_t other_prefix = __shfl_xor_sync(0xFFFFFFFFu, prefix, distance);
		uint32_t other_longest = __shfl_xor_sync(0xFFFFFFFFu, longest, distance);

		prefix = other_prefix < prefix ? other_prefix : prefix;
		longest = other_longest > longest ? other_longest : longest;
	}
	if (threadIdx.x % 32 == 0)
	{
		atomicMin(&survey->prefix, prefix);
		atomicMax(&survey->longest, longest);
	}
}

DevSortStatus
string_survey(const StringText *text, uint64_t n, StringSurvey *survey, StringSurvey *result,
			  cudaStream_t stream)
{
	CHECK_CUDA(cudaMemsetAsync(survey, 0, sizeof(*survey), stream), "clearing the survey of strings");
	CHECK_CUDA(cudaMemsetAsync(&survey->prefix, 0xFF, sizeof(survey->prefix), stream),
			   "clearing the survey of strings");
	find_values_kernel<<<SURVEY_BLOCKS, SURVEY_THREADS, 0, stream>>>(*text, n, survey);
	CHECK_LAUNCH("finding the bytes that occur in strings");
	find_prefix_kernel<<<SURVEY_BLOCKS, SURVEY_THREADS, 0, stream>>>(*text, n, survey);
	CHECK_LAUNCH("finding what strings have in common");
	CHECK_CUDA(cudaMemcpyAsync(result, survey, sizeof(*result), cudaMemcpyDeviceToHost, stream),
			   "reading the survey of strings");
	CHECK_CUDA(cudaStreamSynchronize(stream), "surveying strings");
	return status_ok();
}

StringCodes
string_codes_make(const StringSurvey *survey)
{
	StringCodes codes = {};
	int values = 0;

	for (int value = 0; value < 256; value++)
	{
		if (survey->found[value / 32] >> (value % 32) & 1)
			codes.code[value] = (uint16_t) ++values;
	}
	while (values > 1 && values >> codes.bits != 0)
		codes.bits++;
	return codes;
}
