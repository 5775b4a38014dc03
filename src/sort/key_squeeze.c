/*
 * sort/key_squeeze.c
 *		Which bits of a fixed key to keep, and where to put them.
 *
 * The plan starts with the runs of varying bits, joins runs across the narrowest gaps as long as that costs
 * no word (fewer pieces make a faster squeeze; the bits of a gap are carried along, which changes no order),
 * and lays the pieces out one after the other from the most significant bit down.  A piece that would
 * straddle two words of the squeezed key is cut in two, so that every word but the last is full.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "sort/key_squeeze.h"

#define WORD_BITS 64

/* Cutting at the ends of squeezed words makes this many more pieces at most. */
#define MAX_RUNS (KEY_SQUEEZE_MAX_PIECES - (KEY_MAX_WORDS - 1))

/* Is this bit, of which number 0 is the key's most significant one, in the mask? */
static inline bool
has_bit(const uint64 *mask, int bit)
{
	return ((mask[bit / WORD_BITS] >> (WORD_BITS - 1 - bit % WORD_BITS)) & 1) != 0;
}

/*
 * The width of the narrowest gap between two bits to keep of one word, and which bit is the first one behind
 * it; 0: there is none.  Counts runs.
 */
static int
narrowest_gap(const uint64 *kept, int full_words, int *behind, int *nruns)
{
	int narrowest = WORD_BITS;
	int last = -1; /* the last bit to keep of this word */

	*nruns = 0;
	for (int bit = 0; bit < full_words * WORD_BITS; bit++)
	{
		if (bit % WORD_BITS == 0)
			last = -1;
		if (!has_bit(kept, bit))
			continue;
		if (last < 0 || last < bit - 1)
			(*nruns)++;
		if (last >= 0 && last < bit - 1 && bit - 1 - last < narrowest)
		{
			narrowest = bit - 1 - last;
			*behind = bit;
		}
		last = bit;
	}
	return narrowest < WORD_BITS ? narrowest : 0;
}

/* Gives every bit its place in the squeezed key, behind the one before it if both are neighbours. */
static void
lay_out(KeySqueeze *squeeze, const uint64 *kept, int nbits)
{
	int to = 0;

	squeeze->nwords = Max(1, (nbits + WORD_BITS - 1) / WORD_BITS);
	squeeze->npieces = 0;
	for (int bit = 0; bit < squeeze->full_words * WORD_BITS; bit++)
	{
		KeySqueezePiece *piece;

		if (!has_bit(kept, bit))
			continue;
		if (bit % WORD_BITS == 0 || to % WORD_BITS == 0 || !has_bit(kept, bit - 1))
			squeeze->pieces[squeeze->npieces++].mask = 0;
		Assert(squeeze->npieces <= KEY_SQUEEZE_MAX_PIECES);
		piece = &squeeze->pieces[squeeze->npieces - 1];
		piece->mask = piece->mask << 1 | 1;
		piece->from_word = bit / WORD_BITS;
		piece->from_shift = WORD_BITS - 1 - bit % WORD_BITS;
		piece->to_word = to / WORD_BITS;
		piece->to_shift = Min(nbits, (piece->to_word + 1) * WORD_BITS) - 1 - to;
		to++;
	}
}

void
key_squeeze_plan(KeySqueeze *squeeze, const KeyVariation *variation, int full_words)
{
	uint64 kept[KEY_MAX_WORDS];
	int nbits = 0;
	int room;
	int gap;
	int behind = 0;
	int nruns;

	Assert(full_words >= 1 && full_words <= KEY_MAX_WORDS);

	for (int w = 0; w < full_words; w++)
	{
		kept[w] = variation->differs[w];
		nbits += pg_popcount64(kept[w]);
	}
	room = TYPEALIGN(WORD_BITS, Max(nbits, 1)) - nbits;
	while ((gap = narrowest_gap(kept, full_words, &behind, &nruns)) > 0 && (gap <= room || nruns > MAX_RUNS))
	{
		room -= gap; /* may go below zero: then a word more is the price of few pieces */
		nbits += gap;
		kept[behind / WORD_BITS] |= ((UINT64CONST(1) << gap) - 1) << (WORD_BITS - behind % WORD_BITS);
	}

	squeeze->full_words = full_words;
	lay_out(squeeze, kept, nbits);
	for (int w = 0; w < full_words; w++)
		squeeze->constant[w] = variation->first[w] & ~kept[w];
}

void
key_squeeze_plan_identity(KeySqueeze *squeeze, int full_words)
{
	KeyVariation variation;

	memset(variation.first, 0, sizeof(variation.first));
	memset(variation.differs, 0xff, sizeof(variation.differs));
	key_squeeze_plan(squeeze, &variation, full_words);
}

void
key_squeeze_expand_words(const KeySqueeze *squeeze, const uint64 *squeezed, uint64 *words)
{
	for (int w = 0; w < squeeze->full_words; w++)
		words[w] = squeeze->constant[w];
	for (int p = 0; p < squeeze->npieces; p++)
	{
		const KeySqueezePiece *piece = &squeeze->pieces[p];

		words[piece->from_word] |= ((squeezed[piece->to_word] >> piece->to_shift) & piece->mask)
								   << piece->from_shift;
	}
}

void
key_squeeze_expand(const KeySqueeze *squeeze, const uint64 *squeezed, uint8 *full)
{
	uint64 words[KEY_MAX_WORDS];

	key_squeeze_expand_words(squeeze, squeezed, words);
	for (int w = 0; w < squeeze->full_words; w++)
		words[w] = KEY_WORD_TO_HOST(words[w]);
	memcpy(full, words, squeeze->full_words * sizeof(uint64));
}
