/*
 * sort/key_squeeze.h
 *		Fixed keys without the bits in which all keys agree.
 *
 * The feed notes which bits differ between any two keys (KeyVariation).  A bit in which all keys agree cannot
 * decide a comparison.  A squeezed key holds only the other bits, in the same order, in as few 64-bit words
 * as they need.  No information is lost: expanding returns the full key.
 */
#ifndef GPUSORT_SORT_KEY_SQUEEZE_H
#define GPUSORT_SORT_KEY_SQUEEZE_H

#include "postgres.h"

#include "sort/chunk.h"

#define KEY_SQUEEZE_MAX_PIECES 16

/*
 * The bits that the keys of one sort have in common.  Words are in host order, i.e.  byte-swapped on
 * little-endian machines.
 */
typedef struct KeyVariation
{
	uint64 first[KEY_MAX_WORDS];   /* the first key */
	uint64 differs[KEY_MAX_WORDS]; /* bits in which some key differs from the first key */
} KeyVariation;

/*
 * One run of neighbouring bits, which is within one word of the full key and of the squeezed key: its place
 * in both.
 */
typedef struct KeySqueezePiece
{
	int from_word;
	int from_shift; /* distance of its lowest bit from bit 0 of from_word */
	int to_word;
	int to_shift;
	uint64 mask; /* the bits of the piece, moved down to bit 0 */
} KeySqueezePiece;

typedef struct KeySqueeze
{
	int full_words;									/* words of a full key */
	int nwords;										/* words of a squeezed key, at least 1 */
	int npieces;									/* 0 if all keys are equal */
	KeySqueezePiece pieces[KEY_SQUEEZE_MAX_PIECES]; /* from the most significant one down */
	uint64 constant[KEY_MAX_WORDS];					/* the full key's bits outside the pieces */
} KeySqueeze;

/* Plans the squeezing of keys of full_words words (1 .. KEY_MAX_WORDS). */
extern void key_squeeze_plan(KeySqueeze *squeeze, const KeyVariation *variation, int full_words);

/* Makes the plan that changes only the byte order. */
extern void key_squeeze_plan_identity(KeySqueeze *squeeze, int full_words);

/* Returns the words of the full key, in host order, from a squeezed key. */
extern void key_squeeze_expand_words(const KeySqueeze *squeeze, const uint64 *squeezed, uint64 *words);

/* Returns the full key as key bytes (memcmp order) from a squeezed key. */
extern void key_squeeze_expand(const KeySqueeze *squeeze, const uint64 *squeezed, uint8 *full);

/* Returns the bits of one piece, at their place in the word of the squeezed key. */
static pg_attribute_always_inline uint64
key_squeeze_piece(const KeySqueezePiece *piece, const uint64 *full)
{
	return ((KEY_WORD_TO_HOST(full[piece->from_word]) >> piece->from_shift) & piece->mask) << piece->to_shift;
}

/*
 * Squeezes the key at `full` (key bytes, 8-byte aligned) into `squeezed`, which has nwords words.  npieces
 * and nwords are those of the plan; a hot loop passes constants, so that its copy unrolls.
 */
static pg_attribute_always_inline void
key_squeeze_apply(const KeySqueeze *squeeze, int npieces, int nwords, const uint64 *full, uint64 *squeezed)
{
	for (int w = 0; w < nwords; w++)
		squeezed[w] = 0;
	for (int p = 0; p < npieces; p++)
		squeezed[nwords == 1 ? 0 : squeeze->pieces[p].to_word] |=
			key_squeeze_piece(&squeeze->pieces[p], full);
}

#endif /* GPUSORT_SORT_KEY_SQUEEZE_H */
