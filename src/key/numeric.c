/*
 * key/numeric.c
 *		Variable sort keys of numeric.
 *
 * A numeric is a sign, a weight and digits to base 10000, the first of them times 10000^weight.  For positive
 * values the weight decides first, then the digits one by one, and the one with digits left when the other
 * has none is the larger.  The scale that it is shown with does not count.
 *
 * The key is one byte for sign and weight, chosen from 02 - FE so that it needs no marker before it, then the
 * digits:
 *
 *	02 -infinity			81 weight below -40, as two bytes more
 *	03 large negative		82 - FB weight -40 to 81
 *	04 - 7D negative		FC weight above 81, as two bytes more
 *	7E small negative		FD +infinity
 *	80 zero					FE NaN
 *
 * Digits take 14 bits each, as 4096 + digit.  That is 01... or 1... in bits, so two zero bits end the digits:
 * less than any digit, and never read as the start of one, which makes the encoding prefix-free.  The last
 * byte is filled up with zero bits.  Four digits are 7 bytes: with the first byte the 8 bytes that a sort
 * looks at first hold 13 to 16 decimal digits.
 *
 * A negative value is the complement of all the bytes of its positive one.
 */
#include "postgres.h"

#include "key/builder.h"
#include "key/encoders.h"
#include "key/numbers.h"

/*
 * The type's format on disk, which pg_upgrade relies on: a 16-bit header, in the long form a 16-bit weight,
 * and 16-bit digits.  See the comments on struct NumericData in PostgreSQL's numeric.c.
 */
#define HEADER_FORM_MASK 0xC000
#define HEADER_LONG_NEGATIVE 0x4000
#define HEADER_SHORT 0x8000
#define HEADER_SPECIAL 0xC000
#define SPECIAL_INFINITE 0x1000
#define SPECIAL_NEGATIVE 0x2000
#define SHORT_NEGATIVE 0x2000
#define SHORT_WEIGHT_SIGN 0x0040
#define SHORT_WEIGHT_MASK 0x003F

#define CODE_MINUS_INFINITY 0x02
#define CODE_ZERO 0x80
#define CODE_SMALL 0x81
#define CODE_FIRST 0x82
#define CODE_LARGE 0xFC
#define CODE_PLUS_INFINITY 0xFD
#define CODE_NAN 0xFE

#define WEIGHT_MIN (-40)
#define WEIGHT_MAX (WEIGHT_MIN + CODE_LARGE - CODE_FIRST - 1)

#define DIGIT_BITS 14
#define DIGIT_BIAS 4096
#define END_BITS 2

typedef struct NumericParts
{
	bool negative;
	int weight;
	int ndigits;
	const char *digits; /* int16 each, maybe not aligned */
} NumericParts;

static inline uint64
biased_digit(const char *digits, int i)
{
	int16 digit;

	memcpy(&digit, digits + i * sizeof(digit), sizeof(digit));
	Assert(digit >= 0 && digit < 10000);
	return digit + DIGIT_BIAS;
}

/* Takes a numeric apart.  False if it is no finite number: then *code is its key. */
static inline bool
parse_numeric(struct varlena *value, NumericParts *parts, uint8 *code)
{
	const char *data = VARDATA_ANY(value);
	Size size = VARSIZE_ANY_EXHDR(value);
	uint16 header;

	memcpy(&header, data, sizeof(header));
	parts->digits = data + sizeof(header);

	if ((header & HEADER_FORM_MASK) == HEADER_SHORT)
	{
		parts->negative = (header & SHORT_NEGATIVE) != 0;
		parts->weight = header & SHORT_WEIGHT_MASK;
		if (header & SHORT_WEIGHT_SIGN)
			parts->weight -= SHORT_WEIGHT_MASK + 1;
	}
	else if ((header & HEADER_FORM_MASK) == HEADER_SPECIAL)
	{
		*code = !(header & SPECIAL_INFINITE)  ? CODE_NAN
				: (header & SPECIAL_NEGATIVE) ? CODE_MINUS_INFINITY
											  : CODE_PLUS_INFINITY;
		return false;
	}
	else
	{
		int16 weight;

		memcpy(&weight, parts->digits, sizeof(weight));
		parts->digits += sizeof(weight);
		parts->negative = (header & HEADER_FORM_MASK) == HEADER_LONG_NEGATIVE;
		parts->weight = weight;
	}
	Assert(data + size >= parts->digits && (data + size - parts->digits) % sizeof(int16) == 0);
	parts->ndigits = (data + size - parts->digits) / sizeof(int16);
	return true;
}

/* Leaves out zero digits at both ends, should some function have left them. */
static inline void
strip_zero_digits(NumericParts *parts)
{
	while (parts->ndigits > 0 && biased_digit(parts->digits, 0) == DIGIT_BIAS)
	{
		parts->digits += sizeof(int16);
		parts->ndigits--;
		parts->weight--;
	}
	while (parts->ndigits > 0 && biased_digit(parts->digits, parts->ndigits - 1) == DIGIT_BIAS)
		parts->ndigits--;
}

/* Stores the code of the weight; returns the end of it. */
static inline uint8 *
store_weight(uint8 *dst, int weight, uint64 invert)
{
	if (likely(weight >= WEIGHT_MIN && weight <= WEIGHT_MAX))
	{
		*dst++ = (uint8) (CODE_FIRST + weight - WEIGHT_MIN) ^ (uint8) invert;
		return dst;
	}
	*dst++ = (weight < 0 ? CODE_SMALL : CODE_LARGE) ^ (uint8) invert;
	sort_key_store16(dst, sort_key_order_int16((int16) weight) ^ (uint16) invert);
	return dst + sizeof(uint16);
}

/* Stores the digits and their end, up to 8 bytes more than it uses; returns the end of it. */
static inline uint8 *
store_digits(uint8 *dst, const char *digits, int ndigits, uint64 invert)
{
	uint64 word = 0;

	for (; ndigits >= 4; ndigits -= 4)
	{
		for (int i = 0; i < 4; i++)
			word = word << DIGIT_BITS | biased_digit(digits, i);
		sort_key_store64(dst, (word << (64 - 4 * DIGIT_BITS)) ^ invert);
		dst += 4 * DIGIT_BITS / BITS_PER_BYTE;
		digits += 4 * sizeof(int16);
		word = 0;
	}

	for (int i = 0; i < ndigits; i++)
		word |= biased_digit(digits, i) << (64 - (i + 1) * DIGIT_BITS);
	sort_key_store64(dst, word ^ invert);
	return dst + (ndigits * DIGIT_BITS + END_BITS + BITS_PER_BYTE - 1) / BITS_PER_BYTE;
}

void
sort_key_append_numeric(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	NumericParts parts;
	uint8 code = CODE_ZERO;
	uint64 invert;
	uint8 *start;
	uint8 *end;

	if (parse_numeric(sort_key_detoast(key, value), &parts, &code))
		strip_zero_digits(&parts);
	else
		parts.ndigits = 0;

	if (parts.ndigits == 0)
	{
		*sort_key_reserve(key, 1) = code;
		key->length++;
		return;
	}

	invert = parts.negative ? PG_UINT64_MAX : 0;
	start = sort_key_reserve(key, 1 + sizeof(uint16) + parts.ndigits * sizeof(int16) + sizeof(uint64));
	end = store_weight(start, parts.weight, invert);
	end = store_digits(end, parts.digits, parts.ndigits, invert);
	key->length += end - start;
}
