/*
 * codes.cu
 *		Making an alphabetic code: every part of the symbols is cut where the weights of both sides are most
 *		alike.
 *
 * Codes are at most two bits longer on average than the entropy has it (Horibe, "An improved bound for
 * weight-balanced tree", Information and Control 34, 1977).
 */
#include <algorithm>

#include "strings/codes.h"

/* The symbols that have codes of their own, in ascending order, and their weights. */
struct Alphabet
{
	int count;
	int symbols[STRING_SYMBOLS];		 /* 0 is the end, value + 1 a byte value */
	uint64_t before[STRING_SYMBOLS + 1]; /* the weights of all that come before */
};

static void
choose_symbols(const uint32_t counts[256], uint32_t ends, bool all_values, uint64_t rare_share,
			   Alphabet *alphabet)
{
	uint64_t total = ends;

	for (int value = 0; value < 256; value++)
		total += counts[value];
	total = std::max<uint64_t>(total, 1);
	alphabet->count = 0;
	alphabet->before[0] = 0;
	for (int symbol = 0; symbol < STRING_SYMBOLS; symbol++)
	{
		uint64_t count = symbol == 0 ? ends : counts[symbol - 1];
		int at = alphabet->count;

		if (symbol > 0 && count == 0 && !all_values)
			continue;
		alphabet->symbols[at] = symbol;
		alphabet->before[at + 1] = alphabet->before[at] + count * rare_share + total;
		alphabet->count++;
	}
}

/* Gives the symbols first .. last - 1 codes that begin with these bits; false if one becomes too long. */
static bool
assign_codes(const Alphabet *alphabet, int first, int last, uint32_t bits, int length, StringCodes *codes)
{
	int cut;

	if (last - first == 1)
	{
		if (alphabet->symbols[first] == 0)
			codes->end_bits = length;
		else
			codes->code[alphabet->symbols[first] - 1] = bits | (uint32_t) length;
		return true;
	}
	if (length == STRING_CODE_MAX_BITS)
		return false;
	cut = string_code_cut(alphabet->before, first, last);
	return assign_codes(alphabet, first, cut, bits, length + 1, codes) &&
		   assign_codes(alphabet, cut, last, bits | UINT32_C(0x80000000) >> length, length + 1, codes);
}

/* Values without a code get that of the value before, or of the end. */
static void
borrow_codes(const Alphabet *alphabet, StringCodes *codes)
{
	uint32_t before = (uint32_t) codes->end_bits;
	int at = 1;

	for (int value = 0; value < 256; value++)
	{
		if (at < alphabet->count && alphabet->symbols[at] == value + 1)
		{
			before = codes->code[value];
			at++;
		}
		else
			codes->code[value] = before + STRING_CODE_BORROWED;
	}
}

StringCodes
string_codes_make(const uint32_t counts[256], uint32_t ends, bool all_values)
{
	StringCodes codes = {};
	Alphabet alphabet;
	uint64_t rare_share = STRING_RARE_SHARE;

	choose_symbols(counts, ends, all_values, rare_share, &alphabet);
	while (!assign_codes(&alphabet, 0, alphabet.count, 0, 0, &codes))
	{
		rare_share /= 4;
		choose_symbols(counts, ends, all_values, rare_share, &alphabet);
	}
	borrow_codes(&alphabet, &codes);
	return codes;
}
