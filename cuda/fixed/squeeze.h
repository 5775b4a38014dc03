/*
 * squeeze.h
 *		Leaving out the bits of wide keys that never vary.
 *
 * A bit that is the same in all keys does not change their order.  Wide keys are full of such bits: zero
 * padding, signs, high bytes of small numbers, the upper half of ASCII digits.  What is left is squeezed
 * together: first the most significant bit that varies, and so on.  Where 64 bits are sorted at a time, fewer
 * bits are fewer sorts.
 *
 * A plan lists the runs of neighbouring bits to take.  If there are too many runs, the narrowest gaps between
 * them are taken too: their bits do not vary and so do no harm but take space.
 *
 * Words are integers, word 0 the most significant.
 */
#ifndef DEVSORT_SQUEEZE_H
#define DEVSORT_SQUEEZE_H

#include <cstdint>

#define SQUEEZE_MAX_WORDS 4
#define SQUEEZE_MAX_RUNS 32

/* Bits shift .. shift + length - 1 of a word; bit 0 is the least significant. */
struct SqueezeRun
{
	uint8_t word;
	uint8_t shift;
	uint8_t length; /* 1 to 64 */
};

struct SqueezePlan
{
	int bits; /* of all runs together */
	int runs;
	SqueezeRun run[SQUEEZE_MAX_RUNS]; /* the most significant first */
};

#ifdef __CUDACC__
#define SQUEEZE_FUNCTION static inline __host__ __device__
#else
#define SQUEEZE_FUNCTION static inline
#endif

/*
 * Puts the run's bits of its word below those that were taken before; all of a value together are at most 64.
 */
SQUEEZE_FUNCTION uint64_t
squeeze_append(uint64_t value, uint64_t word, SqueezeRun run)
{
	if (run.length == 64)
		return word;
	return value << run.length | (word >> run.shift & ((UINT64_C(1) << run.length) - 1));
}

/*
 * Plans for words words, at most SQUEEZE_MAX_WORDS, of which varying has the bits that differ between keys.
 */
SqueezePlan squeeze_plan(const uint64_t *varying, int words);

/* The plan for bits from .. from + count - 1 of the squeezed key, 0 being the first and most significant. */
SqueezePlan squeeze_slice(const SqueezePlan *plan, int from, int count);

#endif /* DEVSORT_SQUEEZE_H */
