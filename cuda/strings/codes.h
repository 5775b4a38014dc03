/*
 * codes.h
 *		Characters in few bits: an alphabetic code by frequency.
 *
 * The byte values, and the end of a string before all of them, get a code each: frequent ones few bits, none
 * is the beginning of another, and all in ascending order.  So codes written one behind the other compare as
 * the strings do, a string before its continuations, whatever bytes there are (Gilbert and Moore,
 * "Variable-Length Binary Encodings", Bell System Technical Journal 38, 1959).  The end is all zeros.
 *
 * What a round sorts of a string, below the number of its segment: as many bits of its codes as there is room
 * for, and in the lowest STRING_TAKEN_BITS how many characters these are.  The last one may be there in part;
 * it does not count and is looked at again.  Zero says that the string ended within these bits, so strings
 * with the same such key are equal.  A string of bits can be read in one way only.  Therefore the count
 * changes no order, with one exception: strings that end after as many characters as the count can tell come
 * before strings that continue.
 *
 * How frequent a value is, is known from a sample.  A value that this lacks has a code too, a long one; but
 * where frequent values have such neighbours on both sides, their own codes become a bit longer.  So there
 * are codes of the values in the sample alone.  Another value is coded as the largest string that begins with
 * the value before it: it can't be told from others between the same two, but is in order with all the rest.
 * Of such a key nothing counts as looked at, which STRING_NONE_TAKEN says; the next round, with codes for all
 * values, begins where this one did.
 *
 * Strings of a single character differ in their lengths only: then the key is what remains of a string.
 */
#ifndef DEVSORT_STRING_CODES_H
#define DEVSORT_STRING_CODES_H

#include <cstdint>

#define STRING_TAKEN_BITS 5
#define STRING_TAKEN_MASK 31
#define STRING_NONE_TAKEN 31
#define STRING_MOST_TAKEN 30

/*
 * The maximum number of bits of a code.  With the largest segment number, of 30 bits, there is still room for
 * a character.
 */
#define STRING_CODE_MAX_BITS 20

/*
 * A code's bits stand from the uppermost down; how many there are, in the lowest eight.  There,
 * STRING_CODE_BORROWED is added if the code is that of the value before.
 */
#define STRING_CODE_LENGTH_MASK 255
#define STRING_CODE_BORROWED 128

/* What has a code: the end of a string, and the byte values. */
#define STRING_SYMBOLS 257

/*
 * The least weight of a symbol is that of one character in this number.  If codes become too long, it is
 * raised, until all weights are equal.
 */
#define STRING_RARE_SHARE 16384

struct StringCodes
{
	uint32_t code[256]; /* of a byte value */
	int end_bits;		/* of the end of a string */
	bool lengths;		/* strings of one character: there are no codes */
};

/* The strings of a job. */
struct StringText
{
	const uint8_t *bytes;
	const uint64_t *offsets;
};

/* What of a string has been coded. */
struct StringCoding
{
	uint64_t bits; /* from the uppermost down */
	int used;
	uint32_t taken; /* characters that are there as a whole; or STRING_NONE_TAKEN */
};

#ifdef __CUDACC__
#define STRING_CODE_FUNCTION static inline __host__ __device__
#else
#define STRING_CODE_FUNCTION static inline
#endif

/*
 * Appends a character, to at most STRING_MOST_TAKEN.  False if there is no room for more, be it for a part of
 * this one, or if no more would help.
 */
STRING_CODE_FUNCTION bool
string_coding_append(StringCoding *coding, uint32_t code, int room)
{
	coding->bits |= (uint64_t) (code & ~(uint32_t) STRING_CODE_LENGTH_MASK) << 32 >> coding->used;
	coding->used += (int) (code & STRING_CODE_LENGTH_MASK);
	if (coding->used <= room)
	{
		coding->taken++;
		return true;
	}
	/* A borrowed code, as a whole: the largest code that begins with it. */
	if (coding->used >= STRING_CODE_BORROWED && coding->used - STRING_CODE_BORROWED <= room)
	{
		coding->bits |= ~UINT64_C(0) >> (coding->used - STRING_CODE_BORROWED);
		coding->taken = STRING_NONE_TAKEN;
	}
	return false;
}

/* The key, of room + STRING_TAKEN_BITS bits, when no more is appended; `remaining` characters there were. */
STRING_CODE_FUNCTION uint64_t
string_coding_key(const StringCoding *coding, uint64_t remaining, int end_bits, int room)
{
	bool ended = coding->taken == remaining && coding->used + end_bits <= room;

	if (coding->taken == STRING_NONE_TAKEN)
		ended = false;
	return coding->bits >> (64 - room) << STRING_TAKEN_BITS | (ended ? 0 : coding->taken);
}

/*
 * Where the symbols first .. last - 1, two or more, are cut in two; before[i] are the weights of all before
 * symbol i.
 */
STRING_CODE_FUNCTION int
string_code_cut(const uint64_t *before, int first, int last)
{
	uint64_t half = before[first] + (before[last] - before[first]) / 2;
	int cut = first + 1;
	int end = last - 1;

	/* The first that has half of it before, or the last. */
	while (cut < end)
	{
		int middle = (cut + end) / 2;

		if (before[middle] < half)
			cut = middle + 1;
		else
			end = middle;
	}
	if (cut > first + 1 && half - before[cut - 1] < before[cut] - half)
		cut--;
	return cut;
}

/*
 * Makes codes of how often byte values occur and strings end, in a part of the strings; numbers below 2^32.
 * Values that do not occur there have codes of their own if all have.
 */
StringCodes string_codes_make(const uint32_t counts[256], uint32_t ends, bool all_values);

#endif /* DEVSORT_STRING_CODES_H */
