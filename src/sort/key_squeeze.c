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

#include "sort/key_squeeze.h"

#define WORD_BITS 64
#define KEY_BITS (KEY_MAX_WORDS * WORD_BITS)

/* Runs of bits to keep: bit 0 is the key's most significant one. */
typedef struct BitRun
{
	int start;
	int end; /* one past the last bit */
} BitRun;

/* Cutting at the ends of squeezed words makes this many more pieces at most. */
#define MAX_RUNS (KEY_SQUEEZE_MAX_PIECES - (KEY_MAX_WORDS - 1))

/* The runs of varying bits, cut at the ends of words.  Returns how many. */
static int
find_runs(const KeyVariation *variation, int full_words, BitRun *runs)
{
	int nruns = 0;

	for (int bit = 0; bit < full_words * WORD_BITS; bit++)
	{
		if (((variation->differs[bit / WORD_BITS] >> (WORD_BITS - 1 - bit % WORD_BITS)) & 1) == 0)
			continue;
		if (nruns > 0 && runs[nruns - 1].end == bit && bit % WORD_BITS != 0)
			runs[nruns - 1].end++;
		else
		{
			runs[nruns].start = bit;
			runs[nruns].end = bit + 1;
			nruns++;
		}
	}
	return nruns;
}

static int
count_bits(const BitRun *runs, int nruns)
{
	int nbits = 0;

	for (int r = 0; r < nruns; r++)
		nbits += runs[r].end - runs[r].start;
	return nbits;
}

/* The run with the narrowest gap to its successor in the same word, or -1 if there is none. */
static int
narrowest_gap(const BitRun *runs, int nruns)
{
	int best = -1;
	int best_gap = WORD_BITS;

	for (int r = 0; r + 1 < nruns; r++)
	{
		int gap = runs[r + 1].start - runs[r].end;

		if (runs[r].start / WORD_BITS == runs[r + 1].start / WORD_BITS && gap < best_gap)
		{
			best = r;
			best_gap = gap;
		}
	}
	return best;
}

/* Joins run number at and the next one. */
static void
join_runs(BitRun *runs, int *nruns, int at)
{
	runs[at].end = runs[at + 1].end;
	memmove(&runs[at + 1], &runs[at + 2], (*nruns - at - 2) * sizeof(BitRun));
	(*nruns)--;
}

/* Gives every run its place in the squeezed key, cutting those that straddle words. */
static void
lay_out(KeySqueeze *squeeze, const BitRun *runs, int nruns)
{
	int nbits = count_bits(runs, nruns);
	int pos = 0;

	squeeze->nwords = Max(1, (nbits + WORD_BITS - 1) / WORD_BITS);
	squeeze->npieces = 0;
	for (int r = 0; r < nruns; r++)
	{
		int start = runs[r].start;

		while (start < runs[r].end)
		{
			KeySqueezePiece *piece = &squeeze->pieces[squeeze->npieces++];
			int to_word = pos / WORD_BITS;
			int word_bits = to_word == squeeze->nwords - 1 ? nbits - to_word * WORD_BITS : WORD_BITS;
			int at = pos % WORD_BITS;
			int len = Min(runs[r].end - start, word_bits - at);

			Assert(squeeze->npieces <= KEY_SQUEEZE_MAX_PIECES);
			piece->from_word = start / WORD_BITS;
			piece->from_shift = WORD_BITS - (start % WORD_BITS + len);
			piece->to_word = to_word;
			piece->to_shift = word_bits - at - len;
			piece->mask = len == WORD_BITS ? ~UINT64CONST(0) : (UINT64CONST(1) << len) - 1;
			start += len;
			pos += len;
		}
	}
}

void
key_squeeze_plan(KeySqueeze *squeeze, const KeyVariation *variation, int full_words)
{
	BitRun runs[KEY_BITS];
	int nruns;
	int nbits;
	int room;

	Assert(full_words >= 1 && full_words <= KEY_MAX_WORDS);

	nruns = find_runs(variation, full_words, runs);
	nbits = count_bits(runs, nruns);
	room = TYPEALIGN(WORD_BITS, Max(nbits, 1)) - nbits;

	for (;;)
	{
		int at = narrowest_gap(runs, nruns);
		int gap;

		if (at < 0)
			break;
		gap = runs[at + 1].start - runs[at].end;
		if (gap > room && nruns <= MAX_RUNS)
			break;
		room -= gap; /* may go below zero: then a word more is the price of few pieces */
		join_runs(runs, &nruns, at);
	}

	squeeze->full_words = full_words;
	lay_out(squeeze, runs, nruns);
	for (int w = 0; w < full_words; w++)
		squeeze->constant[w] = variation->first[w];
	for (int p = 0; p < squeeze->npieces; p++)
	{
		const KeySqueezePiece *piece = &squeeze->pieces[p];

		squeeze->constant[piece->from_word] &= ~(piece->mask << piece->from_shift);
	}
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
