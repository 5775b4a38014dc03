/*
 * prefix_codes.h
 *		The first 64 bits to sort wide keys by, where many keys begin alike.
 *
 * Keys that agree in the first 64 of their bits tie in the first round and take part in a second one.  Where
 * a sample has many such keys, their common prefixes get codes, which leave room for the bits that follow.
 * Each prefix is of as many bits as the sample's keys have in common that agree in the first 64.  A code says
 * which prefix a key has, or where it lies between them, so that codes are in the order of the keys:
 *
 *	4 p			below the first 64 bits of prefix p, and above those of the one before; the key's first bits follow
 *	4 p + 1		its first 64 bits are those of prefix p, but it lies below it; the bits behind these 64 follow
 *	4 p + 2		it has prefix p; the bits behind the prefix follow
 *	4 p + 3		its first 64 bits are those of prefix p, but it lies above it; the bits behind these 64 follow
 *
 * So keys are in order as far as they are told apart, whatever the sample was like.  Those that tie may
 * differ in any bit of the plan.
 */
#ifndef DEVSORT_PREFIX_CODES_H
#define DEVSORT_PREFIX_CODES_H

#include "base/tuning.cuh"
#include "base/workspace.h"
#include "fixed/squeeze.h"
#include "segments/rounds.h"

/* As many as a sample of PREFIX_SAMPLE keys can have. */
#define PREFIX_CODES_MOST (PREFIX_SAMPLE / PREFIX_LEAST_SHARES)

struct PrefixCode
{
	uint64_t first;						/* its first 64 bits */
	uint64_t mask[SQUEEZE_MAX_WORDS];	/* of the words: the bits that the prefix has */
	uint64_t prefix[SQUEEZE_MAX_WORDS]; /* these bits */
	int bits;							/* of the plan: from 64 to all but one */
};

/* In device memory. */
struct PrefixCodes
{
	int count;
	int code_bits; /* what the codes take of 64; 0 if there are none */
	PrefixCode codes[PREFIX_CODES_MOST];
};

#ifdef DEVSORT_FAULTS

/* For tests: codes for fewer rows than are worth it, and how many sorts had any. */
typedef struct PrefixRareWays
{
	uint64_t least_rows; /* instead of PREFIX_LEAST_ROWS */
	uint64_t coded;
} PrefixRareWays;

extern PrefixRareWays prefix_rare_ways;
#endif

/* Is it worth a look whether keys of this plan begin alike? */
bool prefix_codes_wanted(const DevSortFixedJob *job, const SqueezePlan *plan);

/* Chooses codes; there are none if few keys of a sample begin alike. */
DevSortStatus prefix_codes_choose(const DevSortFixedJob *job, const SqueezePlan *plan, PrefixCodes *codes,
								  cudaStream_t stream);

/* Loads the keys of the first round: the first 64 bits of the plan, or a code and the bits that follow. */
DevSortStatus prefix_codes_extract(const DevSortFixedJob *job, const SqueezePlan *plan,
								   const PrefixCodes *codes, RoundRows input, cudaStream_t stream);

/* Are there any?  Waits for the stream. */
DevSortStatus prefix_codes_any(const PrefixCodes *codes, bool *any, cudaStream_t stream);

#endif /* DEVSORT_PREFIX_CODES_H */
