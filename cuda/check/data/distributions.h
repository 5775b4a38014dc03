/*
 * distributions.h
 *		Keys of known distributions, for the checks and the benchmarks.
 *
 * Key i of n is a pure function of (distribution, seed, i, n, width), the same on the host and on the device:
 * there is no generator state, so keys can be made in any order, and any of them again.
 *
 * A key of W bytes is an unsigned integer of 8 W bits.  The first six distributions are those of Leischner,
 * Osipov and Sanders, GPU Sample Sort, section 6, with p = 240 blocks, stretched from 31 bits to the width of
 * the key: their values are the leading bits, and random bits follow.  Distributions of small integers
 * (deterministic duplicates, zipf) stand in the last bits, after zeros.
 */
#ifndef CHECK_DISTRIBUTIONS_H
#define CHECK_DISTRIBUTIONS_H

#include <cuda_runtime_api.h>

#include "devsort.h"

enum Distribution
{
	UNIFORM,
	GAUSSIAN,				  /* the average of four random values */
	BUCKET_SORTED,			  /* blocks, each of p runs of random values from rising ranges */
	STAGGERED,				  /* blocks, each random in a range of its own, the ranges interleaved */
	DETERMINISTIC_DUPLICATES, /* log n half of the time, log(n / 2) a quarter of it, and so on */
	SORTED,
	REVERSED,
	ZIPF, /* n / 8 distinct values, the k-th about as often as 1 / k */
	ALL_EQUAL,
	TWO_VALUES,
	NDISTRIBUTIONS,					/* how many the benchmarks know; those below are for the checks only */
	SHARED_PREFIX = NDISTRIBUTIONS, /* few values of the leading word, the rest random */
	MID_DUPLICATES,					/* every value about 30 times */
	NEAR_SORTED,					/* sorted, except one key in 64 */
	LOW_ENTROPY,					/* the AND of three random keys */
	LAST_DIFFERS,					/* all equal, except one bit of the last key, which is the least */
	EXTREMES,						/* half of them the least and the largest key, and those next to them */
	LONG_PREFIX, /* few values of all words but the last; one key in 4096 begins like others */
	NCHECKED_DISTRIBUTIONS
};

/* Its name in small letters with dashes; NULL if there is no such distribution. */
const char *distribution_name(int distribution);

/* The distribution of that name; -1 if there is none. */
int distribution_by_name(const char *name);

/* The number-th random value of key i: uniform in 64 bits. */
__host__ __device__ uint64_t distribution_random(uint64_t seed, uint64_t i, uint64_t number);

/*
 * Key i of n (i < n <= 2^32) as native words, the most significant first; a key of 4 bytes is in the low half
 * of words[0].  key_bytes is 4, or a multiple of 8 up to 32.  Device code can call it only from
 * distributions.cu.
 */
__host__ __device__ void distribution_key(Distribution distribution, uint64_t seed, uint64_t i, uint64_t n,
										  int key_bytes, uint64_t words[4]);

/* Queues the making of n keys at device_keys, in the given format. */
DevSortStatus distribution_fill(Distribution distribution, uint64_t seed, uint64_t n, int key_bytes,
								DevSortKeyFormat format, void *device_keys, cudaStream_t stream);

#endif /* CHECK_DISTRIBUTIONS_H */
