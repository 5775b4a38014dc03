/*
 * string_keys.cu
 *		The keys of a round of the string sort, of codes (strings/codes.h), against the strings themselves.
 *		Needs no device.
 */
#include <algorithm>
#include <cstring>

#include "check/harness/check.h"
#include "strings/codes.h"

#define PAIRS 20000
#define MAX_CODED_LENGTH 40

/* A string for keys of codes, and how likely its bytes are: one of LIKELIHOODS. */
typedef struct CodedString
{
	uint8_t bytes[MAX_CODED_LENGTH];
	uint64_t length;
} CodedString;

#define LIKELIHOODS 4

/* Bytes of an alphabet of 2, 5, or 256 values, or nearly always the same; often the last one counted. */
static uint8_t
random_byte(Check *check, int likelihood)
{
	static const uint8_t alphabet[] = {0, 'a', 'b', 'y', 255};

	switch (likelihood)
	{
		case 0:
			return (uint8_t) ('a' + check_random_below(check, 2));
		case 1:
			return alphabet[check_random_below(check, sizeof(alphabet))];
		case 2:
			return (uint8_t) check_random(check);
		default:
			return check_random_below(check, 50) > 0 ? 'x' : (uint8_t) check_random(check);
	}
}

static CodedString
random_coded_string(Check *check, int likelihood)
{
	CodedString string = {};

	string.length = check_random_below(check, MAX_CODED_LENGTH + 1);
	for (uint64_t i = 0; i < string.length; i++)
		string.bytes[i] = random_byte(check, likelihood);
	return string;
}

/* Another string that begins as this one does, and mostly differs near a key's end. */
static CodedString
random_relative(Check *check, const CodedString *string, int likelihood)
{
	CodedString other = random_coded_string(check, likelihood);
	uint64_t common = check_random_below(check, string->length + 1);

	memcpy(other.bytes, string->bytes, std::min(common, string->length));
	other.length = std::max(other.length, common);
	if (check_random_below(check, 4) == 0)
		return *string;
	return other;
}

/* Codes of the values that a few strings have: maybe not all. */
static StringCodes
random_codes(Check *check, int likelihood, bool all_values)
{
	uint32_t counts[256] = {};
	uint32_t ends = 0;
	uint64_t strings = check_random_below(check, 30);

	for (uint64_t i = 0; i < strings; i++)
	{
		CodedString string = random_coded_string(check, likelihood);

		for (uint64_t at = 0; at < string.length; at++)
			counts[string.bytes[at]]++;
		ends++;
	}
	return string_codes_make(counts, ends, all_values);
}

static uint64_t
coded_key(const CodedString *string, const StringCodes *codes, int room)
{
	StringCoding coding = {};
	uint64_t most = std::min<uint64_t>(string->length, STRING_MOST_TAKEN);

	for (uint64_t at = 0; at < most; at++)
	{
		if (!string_coding_append(&coding, codes->code[string->bytes[at]], room))
			break;
	}
	return string_coding_key(&coding, string->length, codes->end_bits, room);
}

static uint64_t
coded_common(const CodedString *a, const CodedString *b)
{
	uint64_t common = 0;

	while (common < std::min(a->length, b->length) && a->bytes[common] == b->bytes[common])
		common++;
	return common;
}

/*
 * Keys come in the strings' order.  Equal ones say that strings are equal, or how many characters they have
 * in common; with codes for all values that is one at least.
 */
static bool
codes_are_right(const CodedString *a, const CodedString *b, const StringCodes *codes, bool all_values,
				int room, Why *why)
{
	uint64_t key_a = coded_key(a, codes, room);
	uint64_t key_b = coded_key(b, codes, room);
	uint64_t common = coded_common(a, b);
	uint64_t taken = key_a & STRING_TAKEN_MASK;
	bool less = common < b->length && (common == a->length || a->bytes[common] < b->bytes[common]);

	if (key_a >> (room + STRING_TAKEN_BITS - 1) > 1)
		return why_say(why, "room of %d bits: a key has more", room);
	if (key_a != key_b)
		return (key_a < key_b) == less || why_say(why, "room of %d bits: the wrong order", room);
	if (taken == STRING_NONE_TAKEN)
		return !all_values || why_say(why, "a value has no code");
	if (taken == 0)
		return (common == a->length && common == b->length) ||
			   why_say(why, "room of %d bits: different strings have one key", room);
	return common >= taken || why_say(why, "room of %d bits: more is said to be common than is", room);
}

/* Many pairs of strings for each of many codes. */
static bool
check_codes(Check *check, int likelihood, bool all_values, Why *why)
{
	bool passed = true;

	for (int i = 0; i < PAIRS / 20 && passed; i++)
	{
		StringCodes codes = random_codes(check, likelihood, all_values);

		for (int pair = 0; pair < 100 && passed; pair++)
		{
			CodedString a = random_coded_string(check, likelihood);
			CodedString b = random_relative(check, &a, likelihood);
			int room = STRING_CODE_MAX_BITS + (int) check_random_below(check, 60 - STRING_CODE_MAX_BITS);

			passed = codes_are_right(&a, &b, &codes, all_values, room, why);
		}
	}
	return passed;
}

static void
check_coded_keys(Check *check)
{
	Why why = {};

	if (!check_group_begin(check, "string-keys: codes, what they say, and their order"))
		return;
	for (int likelihood = 0; likelihood < LIKELIHOODS; likelihood++)
	{
		for (int all_values = 0; all_values < 2; all_values++)
		{
			bool passed = check_codes(check, likelihood, all_values != 0, &why);

			check_case(check, passed, &why, "likelihood %d, all values %d", likelihood, all_values);
		}
	}
	check_group_end(check);
}

void
check_string_keys(Check *check)
{
	check_coded_keys(check);
}
