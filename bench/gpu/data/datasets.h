/*
 * datasets.h
 *		The ten data sets of Deshpande, Narayanan, Can GPUs Sort Strings Efficiently?, table I, and what they
 *		measured on them.
 *
 * Names and numbers of strings are theirs.  Real data comes from DIR/NAME, a string a line, where there is
 * such a file; everything else is generated, to similar lengths and tie lengths.
 */
#ifndef GPUBENCH_DATASETS_H
#define GPUBENCH_DATASETS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/* Strings one after the other; string i is offsets[i] up to offsets[i + 1]. */
struct StringSet
{
	std::vector<uint8_t> bytes;
	std::vector<uint64_t> offsets;
	std::string source; /* where it comes from, for people */
};

/* Writes string i to out, which has room for STRING_MAX bytes; its length. */
typedef size_t (*StringWriter)(uint64_t i, uint64_t seed, uint8_t *out);

#define STRING_MAX 1024

typedef struct Dataset
{
	const char *name;
	uint64_t n;
	StringWriter writer;
	bool real;			   /* may come from a file */
	double paper_tie;	   /* average tie length: table I */
	int paper_rounds;	   /* table II */
	double paper_ms;	   /* t1 + t2 + t3: table IV, adaptive ids */
	double paper_fixed_ms; /* table IV, fixed ids */
	double paper_kept_ms;  /* table III, fixed ids, no singleton removal; 0: not there */
	double paper_speed_up; /* over their Thrust comparator sort, with memory setup: table II */
} Dataset;

#define NDATASETS 10

extern const Dataset datasets[NDATASETS];

/* Makes or reads the n strings; data may be NULL. */
void dataset_make(const Dataset *dataset, uint64_t n, const char *data, uint64_t seed, StringSet *set);

/* Figure 4: every k-th byte of each string, or each byte k times. */
void dataset_thin(const StringSet *set, int k, StringSet *result);
void dataset_stretch(const StringSet *set, int k, StringSet *result);

/* Table VII: all strings twice. */
void dataset_double(const StringSet *set, StringSet *result);

/* The writers of text.cu. */
size_t write_dictcalls(uint64_t i, uint64_t seed, uint8_t *out);
size_t write_words(uint64_t i, uint64_t seed, uint8_t *out);
size_t write_url(uint64_t i, uint64_t seed, uint8_t *out);
size_t write_sentences(uint64_t i, uint64_t seed, uint8_t *out);
size_t write_pc_filelist(uint64_t i, uint64_t seed, uint8_t *out);

/* A stream of random numbers, one for each string. */
struct StringRandom
{
	uint64_t state;

	StringRandom(uint64_t seed, uint64_t i) : state(seed + i * UINT64_C(0xD1342543DE82EF95))
	{
	}

	uint64_t next()
	{
		uint64_t x = state += UINT64_C(0x9E3779B97F4A7C15);

		x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
		x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
		return x ^ (x >> 31);
	}

	/* Below limit, which is small. */
	uint64_t below(uint64_t limit)
	{
		return (next() >> 32) * limit >> 32;
	}

	/* From 0 to 1. */
	double fraction()
	{
		return (double) (next() >> 11) / 9007199254740992.0;
	}
};

#endif /* GPUBENCH_DATASETS_H */
