/*
 * sort/splitters.h
 *		Keys that cut the order of a sort into parts, so that each part can be sorted elsewhere and the
 *		results follow each other.
 *
 * Which part a row belongs to, its key alone says: so all rows of equal keys are in one part, and each row is
 * in exactly one.  Any splitters give the right order, if all processes that feed the sort have the same;
 * they decide how equal the parts are alone.  They are chosen from a sample of keys that says what part of
 * the rows comes between two of them, as the statistics of a column do.
 */
#ifndef GPUSORT_SORT_SPLITTERS_H
#define GPUSORT_SORT_SPLITTERS_H

#include "postgres.h"

#include "sort/key_words.h"

/* So many parts at most. */
#define SPLIT_PARTS_MAX 16

/* So many of its first bytes a splitter has of a key.  Where keys agree in more, they are not told apart. */
#define SPLITTER_BYTES 256

typedef struct Splitter
{
	Size size;
	uint8 bytes[SPLITTER_BYTES];
} Splitter;

/* One less than there are parts, ascending; no pointers, so that processes can share them as they are. */
typedef struct SortSplitters
{
	int n;
	uint64 first_words[SPLIT_PARTS_MAX - 1]; /* of the splitters, as key_first_word has them */
	Splitter splitters[SPLIT_PARTS_MAX - 1];
} SortSplitters;

/* A key, or its first bytes, and what is known of rows around it. */
typedef struct KeySampleEntry
{
	Splitter key;
	double before; /* share of all rows: those above the key before this one, and below this one */
	double at;	   /* those that have this key */
} KeySampleEntry;

typedef struct KeySample
{
	int n;
	KeySampleEntry *entries; /* in any order until key_sample_sort; the shares are of 1 together */
} KeySample;

/* As much of a key as a splitter has. */
extern void splitter_set(Splitter *splitter, const uint8 *key, Size size);

/* Puts the entries in the order of their keys. */
extern void key_sample_sort(KeySample *sample);

/*
 * Chooses splitters for so many parts, of a sample in order; returns what share of the rows the largest part
 * is expected to have.
 */
extern double splitters_choose(SortSplitters *splitters, const KeySample *sample, int parts);

/* The same by all bytes, for a key whose first word is a splitter's. */
extern int splitters_find_by_bytes(const SortSplitters *splitters, const uint8 *key, Size size);

/*
 * The part, from 0, that a row with this key belongs to.  Fixed keys have at least 8 bytes.  Keys come in no
 * order, so that a processor could not tell at which splitter to stop: it looks at all first words.
 */
static inline int
splitters_find(const SortSplitters *splitters, const uint8 *key, Size size)
{
	uint64 word = key_first_word(key, size);
	int part = 0;

	for (int i = 0; i < splitters->n; i++)
		part += word >= splitters->first_words[i];
	if (unlikely(part > 0 && word == splitters->first_words[part - 1]))
		return splitters_find_by_bytes(splitters, key, size);
	return part;
}

#endif /* GPUSORT_SORT_SPLITTERS_H */
