/*
 * wide_survey.cu
 *		Looking at wide keys for the bits that tell them apart: of all keys, and within segments.
 */
#include "fixed/wide_survey.h"

#define SURVEY_THREADS 256

/*
 * Blocks of the pass that finds varying bits: 8 a multiprocessor of an H100, and a multiple of 3 (see there).
 */
#define VARYING_BLOCKS 1056

/*
 * And of the pass over segments: enough that none is waited for long, but not so many that it takes time to
 * begin and end them where little is to be looked at.  A block for each 256 of 2^27 rows made low-entropy
 * keys slower by 1 ms on an H100, 8 a multiprocessor those that are there 30 times by 0.8 ms (2026-11-25).
 */
#define SEGMENT_BLOCKS 32768

/* The bits of all lanes together. */
static __device__ __forceinline__ uint64_t
warp_or(uint64_t bits)
{
	for (int distance = 16; distance > 0; distance /= 2)
		bits |= __shfl_xor_sync(0xFFFFFFFFu, (unsigned long long) bits, distance);
	return bits;
}

/*
 * Finds the bits in which any key differs from the first.  Keys are read as pairs of words; as the number of
 * threads is a multiple of 6, a thread meets the same two words of a key (of 2, 3 or 4 words) all the time.
 */
static __global__ void
__launch_bounds__(SURVEY_THREADS) find_varying_kernel(const uint64_t *__restrict__ keys, uint64_t total_words,
													  int words, unsigned long long *varying)
{
	__shared__ unsigned long long of_block[SQUEEZE_MAX_WORDS];
	const ulonglong2 *pairs = (const ulonglong2 *) keys;
	uint64_t thread = blockIdx.x * (uint64_t) SURVEY_THREADS + threadIdx.x;
	uint64_t threads = gridDim.x * (uint64_t) SURVEY_THREADS;
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

		differs = warp_or(differs);
		if (threadIdx.x % 32 == 0 && differs != 0)
			atomicOr(&of_block[word], (unsigned long long) differs);
	}
	__syncthreads();
	if (threadIdx.x < words && of_block[threadIdx.x] != 0)
		atomicOr(&varying[threadIdx.x], of_block[threadIdx.x]);
}

/* Loads a row's key, by as few accesses as there can be: they are random. */
template <int WORDS>
static __device__ __forceinline__ void
load_key(const uint64_t *keys, uint32_t row, uint64_t (&key)[WORDS])
{
	const uint64_t *from = keys + row * (uint64_t) WORDS;

	if constexpr (WORDS % 2 == 0)
	{
#pragma unroll
		for (int word = 0; word < WORDS; word += 2)
		{
			ulonglong2 pair = *(const ulonglong2 *) (from + word);

			key[word] = pair.x;
			key[word + 1] = pair.y;
		}
	}
	else
	{
#pragma unroll
		for (int word = 0; word < WORDS; word++)
			key[word] = from[word];
	}
}

/* Adds bits that a warp has found to those that all have; returns both.  What lane 0 returns counts. */
static __device__ __forceinline__ uint64_t
tell_bits(unsigned long long *varying, uint64_t bits)
{
	uint64_t of_all = *(volatile unsigned long long *) varying;

	if (threadIdx.x % 32 == 0 && (bits & ~of_all) != 0)
		of_all = atomicOr(varying, (unsigned long long) bits);
	return of_all | bits;
}

/*
 * Finds the bits in which any row that is left differs from the one before it in its segment.  A warp that
 * has heard of `enough` bits leaves the rest of its rows out.
 */
template <int WORDS>
static __global__ void
__launch_bounds__(SURVEY_THREADS)
	find_varying_in_segments_kernel(RoundRows input, const uint64_t *__restrict__ keys, int enough,
									unsigned long long *varying)
{
	int lane = threadIdx.x % 32;
	uint64_t known[WORDS];
	int found = 0;

#pragma unroll
	for (int word = 0; word < WORDS; word++)
	{
		uint64_t told = *(volatile unsigned long long *) &varying[word];

		known[word] = __shfl_sync(0xFFFFFFFFu, (unsigned long long) told, 0);
		found += __popcll(known[word]);
	}
	for (uint64_t first = blockIdx.x * (uint64_t) SURVEY_THREADS + threadIdx.x - lane;
		 first < input.count && found < enough; first += gridDim.x * (uint64_t) SURVEY_THREADS)
	{
		uint64_t i = min(first + lane, input.count - 1);
		uint32_t segment = input.segments[i];
		uint64_t key[WORDS];
		uint64_t before[WORDS];
		uint32_t segment_before = __shfl_up_sync(0xFFFFFFFFu, segment, 1);
		bool news = false;

		load_key(keys, input.rows[i], key);
		if (lane == 0)
		{
			segment_before = input.segments[i > 0 ? i - 1 : 0];
			load_key(keys, input.rows[i > 0 ? i - 1 : 0], before);
		}
#pragma unroll
		for (int word = 0; word < WORDS; word++)
		{
			uint64_t of_lane_before = __shfl_up_sync(0xFFFFFFFFu, (unsigned long long) key[word], 1);

			before[word] = lane == 0 ? before[word] : of_lane_before;
			key[word] = segment == segment_before ? key[word] ^ before[word] : 0;
			news = news || (key[word] & ~known[word]) != 0;
		}
		if (!__any_sync(0xFFFFFFFFu, news))
			continue;
		found = 0;
#pragma unroll
		for (int word = 0; word < WORDS; word++)
		{
			uint64_t bits = tell_bits(&varying[word], known[word] | warp_or(key[word]));

			known[word] = __shfl_sync(0xFFFFFFFFu, (unsigned long long) bits, 0);
			found += __popcll(known[word]);
		}
	}
}

/* Reads the masks of varying bits, as integers in the keys' order.  Waits for the stream. */
static DevSortStatus
read_masks(const DevSortFixedJob *job, const unsigned long long *varying, uint64_t *masks,
		   cudaStream_t stream)
{
	CHECK_CUDA(cudaMemcpyAsync(masks, varying, SQUEEZE_MAX_WORDS * sizeof(*masks), cudaMemcpyDeviceToHost,
							   stream),
			   "reading the mask of varying bits");
	CHECK_CUDA(cudaStreamSynchronize(stream), "looking for varying bits");
	for (int word = 0; word < job->key_bytes / 8 && job->format == DEVSORT_KEY_BYTES; word++)
		masks[word] = __builtin_bswap64(masks[word]);
	return status_ok();
}

static DevSortStatus
clear_masks(unsigned long long *varying, cudaStream_t stream)
{
	CHECK_CUDA(cudaMemsetAsync(varying, 0, SQUEEZE_MAX_WORDS * sizeof(*varying), stream),
			   "clearing the mask of varying bits");
	return status_ok();
}

DevSortStatus
wide_survey_keys(const DevSortFixedJob *job, unsigned long long *varying, SqueezePlan *plan,
				 cudaStream_t stream)
{
	int words = job->key_bytes / 8;
	uint64_t total_words = job->n * (uint64_t) words;
	uint64_t blocks = (total_words / 2 + SURVEY_THREADS - 1) / SURVEY_THREADS;
	uint64_t masks[SQUEEZE_MAX_WORDS];

	/* At least one pair a thread; a multiple of 3, as VARYING_BLOCKS is. */
	blocks = blocks < VARYING_BLOCKS ? (blocks + 2) / 3 * 3 : VARYING_BLOCKS;
	RETURN_IF_FAILED(clear_masks(varying, stream));
	find_varying_kernel<<<(unsigned) blocks, SURVEY_THREADS, 0, stream>>>((const uint64_t *) job->keys,
																		  total_words, words, varying);
	CHECK_LAUNCH("looking for varying bits");
	RETURN_IF_FAILED(read_masks(job, varying, masks, stream));
	*plan = squeeze_plan(masks, words);
	return status_ok();
}

template <int WORDS>
static void
find_varying_in_segments(const DevSortFixedJob *job, const SegmentRounds *rounds, int enough,
						 unsigned long long *varying, cudaStream_t stream)
{
	uint64_t blocks = (rounds->count + SURVEY_THREADS - 1) / SURVEY_THREADS;

	blocks = blocks < SEGMENT_BLOCKS ? blocks : SEGMENT_BLOCKS;
	find_varying_in_segments_kernel<WORDS>
		<<<(unsigned) blocks, SURVEY_THREADS, 0, stream>>>(segment_rounds_input(rounds),
														   (const uint64_t *) job->keys, enough, varying);
}

DevSortStatus
wide_survey_segments(const DevSortFixedJob *job, const SegmentRounds *rounds, unsigned long long *varying,
					 SqueezePlan *rest, cudaStream_t stream)
{
	int words = job->key_bytes / 8;
	int room = 64 - segment_rounds_bits(rounds);
	/* Of so many bits as many rounds are made as of the whole rest; of a rest for one round, of any bit. */
	int enough = (rest->bits - 1) / room * room + 1;
	uint64_t masks[SQUEEZE_MAX_WORDS];
	int found = 0;

	RETURN_IF_FAILED(clear_masks(varying, stream));
	if (words == 2)
		find_varying_in_segments<2>(job, rounds, enough, varying, stream);
	else if (words == 3)
		find_varying_in_segments<3>(job, rounds, enough, varying, stream);
	else
		find_varying_in_segments<4>(job, rounds, enough, varying, stream);
	CHECK_LAUNCH("comparing keys that tie");
	RETURN_IF_FAILED(read_masks(job, varying, masks, stream));
	for (int word = 0; word < words; word++)
		found += __builtin_popcountll(masks[word]);
	if (found < enough)
		*rest = squeeze_plan(masks, words);
	return status_ok();
}
