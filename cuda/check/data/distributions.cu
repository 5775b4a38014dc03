/*
 * distributions.cu
 *		Keys of known distributions.
 *
 * Randomness is hashing: the finaliser of a 64-bit mixer over (seed, number of the value, index of the key).
 * All arithmetic is on integers, zipf's included, so that host and device agree to the bit.
 */
#include <cstring>

#include "base/status.h"
#include "check/data/distributions.h"

/* The blocks of the sample sort paper's distributions. */
#define PAPER_BLOCKS UINT64_C(240)

#define FILL_THREADS 256

static const char *const distribution_names[NCHECKED_DISTRIBUTIONS] = {
	"uniform",		 "gaussian",	   "bucket-sorted", "staggered",   "deterministic-duplicates",
	"sorted",		 "reversed",	   "zipf",			"all-equal",   "two-values",
	"shared-prefix", "mid-duplicates", "near-sorted",	"low-entropy", "last-differs",
	"extremes",		 "long-prefix",
};

const char *
distribution_name(int distribution)
{
	if (distribution < 0 || distribution >= NCHECKED_DISTRIBUTIONS)
		return NULL;
	return distribution_names[distribution];
}

int
distribution_by_name(const char *name)
{
	for (int i = 0; i < NCHECKED_DISTRIBUTIONS; i++)
	{
		if (strcmp(name, distribution_names[i]) == 0)
			return i;
	}
	return -1;
}

static __host__ __device__ uint64_t
mix_bits(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xBF58476D1CE4E5B9);
	x ^= x >> 27;
	x *= UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

__host__ __device__ uint64_t
distribution_random(uint64_t seed, uint64_t i, uint64_t number)
{
	uint64_t start = mix_bits(seed + (number + 1) * UINT64_C(0xD1342543DE82EF95));

	return mix_bits(start + (i + 1) * UINT64_C(0x9E3779B97F4A7C15));
}

/* The upper half of the product: a random value below `limit` from a random value. */
static __host__ __device__ uint64_t
scale_to(uint64_t random, uint64_t limit)
{
#ifdef __CUDA_ARCH__
	return __umul64hi(random, limit);
#else
	return (uint64_t) (((unsigned __int128) random * limit) >> 64);
#endif
}

/* A random value from the slot-th of PAPER_BLOCKS equal ranges. */
static __host__ __device__ uint64_t
value_in_slot(uint64_t slot, uint64_t random)
{
	uint64_t width = UINT64_MAX / PAPER_BLOCKS;

	return slot * width + scale_to(random, width);
}

/* The block's run decides the range: run r of every block is from the r-th. */
static __host__ __device__ uint64_t
bucket_sorted_value(uint64_t i, uint64_t n, uint64_t random)
{
	return value_in_slot(i * PAPER_BLOCKS * PAPER_BLOCKS / n % PAPER_BLOCKS, random);
}

/* The blocks of the first half take the odd ranges, those of the second the even ones. */
static __host__ __device__ uint64_t
staggered_value(uint64_t i, uint64_t n, uint64_t random)
{
	uint64_t block = i * PAPER_BLOCKS / n;

	if (block < PAPER_BLOCKS / 2)
		return value_in_slot(2 * block + 1, random);
	return value_in_slot(2 * block - PAPER_BLOCKS, random);
}

/* Rises with i, and is different for every i. */
static __host__ __device__ uint64_t
rising_value(uint64_t i, uint64_t n, uint64_t random)
{
	uint64_t step = UINT64_MAX / n;

	return i * step + scale_to(random, step);
}

static __host__ __device__ uint64_t
floor_log2(uint64_t x)
{
	uint64_t log = 0;

	while (x >>= 1)
		log++;
	return log;
}

/* Every halving of the blocks that are left takes one off log n. */
static __host__ __device__ uint64_t
duplicates_value(uint64_t i, uint64_t n)
{
	uint64_t left = PAPER_BLOCKS - i * PAPER_BLOCKS / n;
	uint64_t value = floor_log2(n);

	for (uint64_t limit = PAPER_BLOCKS; left * 2 <= limit && value > 0; limit /= 2)
		value--;
	return value;
}

/*
 * A rank k >= 1 drawn with density 1 / k: 2 to the power of a uniform exponent.
 *
 * Exponents have 32 fractional bits; 2^f and log2(1 + m) are the parabolas that meet them at 0 and 1.
 */
static __host__ __device__ uint64_t
zipf_value(uint64_t n, uint64_t random)
{
	const uint64_t one = UINT64_C(1) << 32;
	uint64_t ranks = n / 8 < 2 ? 2 : n / 8;
	uint64_t whole = floor_log2(ranks + 1);
	uint64_t mantissa = ((ranks + 1) << 32 >> whole) - one;
	uint64_t log =
		(whole << 32) + (mantissa * (UINT64_C(5783174049) - (UINT64_C(1488206753) * mantissa >> 32)) >> 32);
	uint64_t exponent = scale_to(random, log);
	uint64_t fraction = exponent & (one - 1);
	uint64_t power =
		one + (fraction * (UINT64_C(2819646063) + (UINT64_C(1475321233) * fraction >> 32)) >> 32);
	uint64_t rank = power << (exponent >> 32) >> 32;

	return rank > ranks ? ranks : rank;
}

/* The leading 64 bits, for the distributions that are about these. */
static __host__ __device__ uint64_t
leading_value(Distribution distribution, uint64_t seed, uint64_t i, uint64_t n)
{
	uint64_t random = distribution_random(seed, i, 0);

	switch (distribution)
	{
		case GAUSSIAN:
			return random / 4 + distribution_random(seed, i, 4) / 4 + distribution_random(seed, i, 5) / 4 +
				   distribution_random(seed, i, 6) / 4;
		case BUCKET_SORTED:
			return bucket_sorted_value(i, n, random);
		case STAGGERED:
			return staggered_value(i, n, random);
		case SORTED:
			return rising_value(i, n, random);
		case REVERSED:
			return rising_value(n - 1 - i, n, random);
		case NEAR_SORTED:
			return distribution_random(seed, i, 4) % 64 == 0 ? random : rising_value(i, n, random);
		default:
			return random;
	}
}

/* A small integer: zeros before it. */
static __host__ __device__ void
set_small(uint64_t value, int nwords, uint64_t words[4])
{
	for (int w = 0; w < nwords; w++)
		words[w] = 0;
	words[nwords - 1] = value;
}

/* All words from the same few sources: the random key of index `which`. */
static __host__ __device__ void
set_random(uint64_t seed, uint64_t which, int nwords, uint64_t words[4])
{
	for (int w = 0; w < nwords; w++)
		words[w] = distribution_random(seed, which, w);
}

/* One of few values at the front: a word of a wide key, half of a narrow one. */
static __host__ __device__ void
set_shared_prefix(uint64_t seed, uint64_t i, int key_bytes, uint64_t words[4])
{
	uint64_t prefix = distribution_random(seed, distribution_random(seed, i, 4) % 16, 5);
	int shift = key_bytes == 4 ? 48 : 32;

	set_random(seed, i, (key_bytes + 7) / 8, words);
	words[0] = key_bytes > 8 ? prefix : (prefix >> shift << shift) | (words[0] >> (64 - shift));
}

/*
 * One of few values of all words but the last, and of some keys of the first word alone, but for its last
 * bits; a key of one or two words is as with a shared prefix.
 */
static __host__ __device__ void
set_long_prefix(uint64_t seed, uint64_t i, int key_bytes, uint64_t words[4])
{
	uint64_t source = distribution_random(seed, i, 4) % 16;
	bool is_short = distribution_random(seed, i, 5) % 4096 == 0;
	int nwords = (key_bytes + 7) / 8;

	set_shared_prefix(seed, i, key_bytes, words);
	if (is_short && nwords > 2)
		words[0] ^= distribution_random(seed, i, 6) % 4;
	for (int w = 1; w < nwords - 1 && !is_short; w++)
		words[w] = distribution_random(seed, source, w + 5);
}

static __host__ __device__ void
set_low_entropy(uint64_t seed, uint64_t i, int nwords, uint64_t words[4])
{
	for (int w = 0; w < nwords; w++)
		words[w] = distribution_random(seed, i, w) & distribution_random(seed, i, w + 4) &
				   distribution_random(seed, i, w + 8);
}

/* The last bit of a key is set, but not that of the last one. */
static __host__ __device__ void
set_last_differs(uint64_t seed, bool last, int key_bytes, uint64_t words[4])
{
	int nwords = (key_bytes + 7) / 8;
	uint64_t bit = key_bytes == 4 ? UINT64_C(1) << 32 : 1;

	set_random(seed, 0, nwords, words);
	words[nwords - 1] |= bit;
	if (last)
		words[nwords - 1] ^= bit;
}

/* 0, 1, the largest key or the one before it; else a random one. */
static __host__ __device__ void
set_extreme(uint64_t seed, uint64_t i, int nwords, uint64_t words[4])
{
	uint64_t which = distribution_random(seed, i, 4) % 8;

	set_random(seed, i, nwords, words);
	if (which >= 4)
		return;
	for (int w = 0; w < nwords; w++)
		words[w] = which < 2 ? 0 : UINT64_MAX;
	words[nwords - 1] ^= which & 1;
}

__host__ __device__ void
distribution_key(Distribution distribution, uint64_t seed, uint64_t i, uint64_t n, int key_bytes,
				 uint64_t words[4])
{
	int nwords = (key_bytes + 7) / 8;

	switch (distribution)
	{
		case DETERMINISTIC_DUPLICATES:
			set_small(duplicates_value(i, n), nwords, words);
			return;
		case ZIPF:
			set_small(zipf_value(n, distribution_random(seed, i, 0)), nwords, words);
			return;
		case ALL_EQUAL:
			set_random(seed, 0, nwords, words);
			break;
		case TWO_VALUES:
			set_random(seed, distribution_random(seed, i, 4) & 1, nwords, words);
			break;
		case MID_DUPLICATES:
			set_random(seed, distribution_random(seed, i, 4) % (n / 30 + 1), nwords, words);
			break;
		case SHARED_PREFIX:
			set_shared_prefix(seed, i, key_bytes, words);
			break;
		case LONG_PREFIX:
			set_long_prefix(seed, i, key_bytes, words);
			break;
		case LOW_ENTROPY:
			set_low_entropy(seed, i, nwords, words);
			break;
		case LAST_DIFFERS:
			set_last_differs(seed, i == n - 1, key_bytes, words);
			break;
		case EXTREMES:
			set_extreme(seed, i, nwords, words);
			break;
		default:
			set_random(seed, i, nwords, words);
			words[0] = leading_value(distribution, seed, i, n);
			break;
	}
	if (key_bytes == 4)
		words[0] >>= 32;
}

static __device__ uint64_t
swap_bytes(uint64_t word)
{
	uint32_t high = (uint32_t) (word >> 32);

	return (uint64_t) __byte_perm((uint32_t) word, 0, 0x0123) << 32 | __byte_perm(high, 0, 0x0123);
}

static __global__ void
fill_kernel(Distribution distribution, uint64_t seed, uint64_t n, int key_bytes, bool swap, void *keys)
{
	uint64_t i = (uint64_t) blockIdx.x * FILL_THREADS + threadIdx.x;
	int nwords = key_bytes / 8;
	uint64_t words[4];

	if (i >= n)
		return;
	distribution_key(distribution, seed, i, n, key_bytes, words);
	if (key_bytes == 4)
	{
		uint32_t word = (uint32_t) words[0];

		((uint32_t *) keys)[i] = swap ? __byte_perm(word, 0, 0x0123) : word;
		return;
	}
	for (int w = 0; w < nwords; w++)
		((uint64_t *) keys)[i * nwords + w] = swap ? swap_bytes(words[w]) : words[w];
}

DevSortStatus
distribution_fill(Distribution distribution, uint64_t seed, uint64_t n, int key_bytes,
				  DevSortKeyFormat format, void *device_keys, cudaStream_t stream)
{
	unsigned int blocks = (unsigned int) ((n + FILL_THREADS - 1) / FILL_THREADS);

	if (n == 0)
		return status_ok();
	fill_kernel<<<blocks, FILL_THREADS, 0, stream>>>(distribution, seed, n, key_bytes,
													 format == DEVSORT_KEY_BYTES, device_keys);
	return status_from_cuda(cudaGetLastError(), "making keys");
}
