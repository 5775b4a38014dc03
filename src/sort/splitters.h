/*
 * sort/splitters.h
 *		Keys that cut the order of a sort into parts.  Each part can be sorted elsewhere, and the results
 *		follow each other.
 *
 * Only its key says which part a row belongs to.  Therefore all rows of equal keys are in one part, and each
 * row is in exactly one part.  Any splitters give the right order, if all processes that feed the sort have
 * the same splitters.  The splitters only decide how equal the parts are.  They are chosen from a sample of
 * keys.  The sample has the share of the rows between two of its keys, like the statistics of a column.
 */
#ifndef GPUSORT_SORT_SPLITTERS_H
#define GPUSORT_SORT_SPLITTERS_H

#include "postgres.h"

#include "sort/key_words.h"

/* The most parts. */
#define SPLIT_PARTS_MAX 16

/*
 * The most bytes of a key that a splitter has, from its beginning.  Keys that agree in more bytes are not
 * told apart.
 */
#define SPLITTER_BYTES 256

typedef struct Splitter
{
	Size size;
	uint8 bytes[SPLITTER_BYTES];
} Splitter;

/*
 * The splitters, one fewer than parts, ascending.  The struct has no pointers, so that processes can share
 * it.
 */
typedef struct SortSplitters
{
	int n;
	/* first words of the splitters, as key_first_word returns them */
	uint64 first_words[SPLIT_PARTS_MAX - 1];
	Splitter splitters[SPLIT_PARTS_MAX - 1];
} SortSplitters;

/* A key, or its first bytes, and the shares of rows around it. */
typedef struct KeySampleEntry
{
	Splitter key;
	double before; /* share of all rows: the rows above the key before this one, and below this key */
	double at;	   /* share of all rows: the rows that have this key */
} KeySampleEntry;

typedef struct KeySample
{
	int n;
	KeySampleEntry *entries; /* in any order until key_sample_sort; the sum of the shares is 1 */
} KeySample;

/* Sets the splitter to the first bytes of a key. */
extern void splitter_set(Splitter *splitter, const uint8 *key, Size size);

/* Puts the entries in the order of their keys. */
extern void key_sample_sort(KeySample *sample);

/*
 * Chooses splitters from a sample that is in order.  parts: the most parts.  Returns the share of the rows
 * that the largest part is expected to have.
 */
extern double splitters_choose(SortSplitters *splitters, const KeySample *sample, int parts);

/* splitters_find by all bytes, for a key whose first word is a splitter's. */
extern int splitters_find_by_bytes(const SortSplitters *splitters, const uint8 *key, Size size);

/*
 * Returns the part, from 0, of a row with this key.  Fixed keys have at least 8 bytes.  Keys come in no
 * order, so a processor could not predict at which splitter to stop.  Therefore the function compares all
 * first words.
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
