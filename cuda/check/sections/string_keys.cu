/*
 * string_keys.cu
 *		The keys of a round of the string sort (strings/key.h), against the strings themselves.  Needs no
 *		device.
 *
 * Strings are short, of few different bytes, zero among them, so that many are equal, or begin alike.
 */
#include <algorithm>
#include <cstring>

#include "check/harness/check.h"
#include "strings/key.h"

#define PAIRS 20000
#define MAX_LENGTH 10
#define SEGMENT 5

typedef struct ShortString
{
	uint8_t bytes[MAX_LENGTH];
	uint64_t length;
} ShortString;

static ShortString
random_string(Check *check)
{
	static const uint8_t alphabet[] = {0, 0, 1, 255};
	ShortString string;

	string.length = check_random_below(check, MAX_LENGTH + 1);
	for (uint8_t &byte : string.bytes)
		byte = alphabet[check_random_below(check, sizeof(alphabet))];
	return string;
}

/* The bytes behind the string's end are in what is packed, too. */
static uint64_t
key_of(const ShortString *string, int bytes)
{
	uint64_t next = 0;

	for (int i = 0; i < 8; i++)
		next = next << 8 | string->bytes[i];
	return string_key_pack(SEGMENT, next, string->length, bytes);
}

static int
compare(const ShortString *a, const ShortString *b)
{
	int order = memcmp(a->bytes, b->bytes, std::min(a->length, b->length));

	return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* What a key says of its own string. */
static bool
key_is_right(const ShortString *string, int bytes, Why *why)
{
	uint64_t key = key_of(string, bytes);
	bool says_end = (key & STRING_COUNT_MASK) < string_key_limit(bytes);
	bool ends = string->length <= (uint64_t) std::min(bytes, STRING_COUNT_MASK - 1);

	if (key >> (8 * bytes + STRING_COUNT_BITS) != SEGMENT)
		return why_say(why, "the segment is lost");
	return says_end == ends || why_say(why, "%d bytes of a string of %llu: that it ends there is %s", bytes,
									   (unsigned long long) string->length, says_end ? "not so" : "not said");
}

/* Keys come in the strings' order, and are equal only if the strings are, or go on. */
static bool
order_is_right(const ShortString *a, const ShortString *b, int bytes, Why *why)
{
	uint64_t key_a = key_of(a, bytes);
	uint64_t key_b = key_of(b, bytes);
	int order = compare(a, b);

	if (key_a != key_b)
		return (key_a < key_b) == (order < 0) || why_say(why, "%d bytes: the wrong order", bytes);
	return order == 0 || (key_a & STRING_COUNT_MASK) == string_key_limit(bytes) ||
		   why_say(why, "%d bytes: different strings have one key", bytes);
}

void
check_string_keys(Check *check)
{
	Why why = {};

	if (!check_group_begin(check, "string-keys: what they say, and their order"))
		return;
	for (int bytes = 3; bytes <= STRING_MAX_BYTES; bytes++)
	{
		bool passed = true;

		for (int i = 0; i < PAIRS && passed; i++)
		{
			ShortString a = random_string(check);
			ShortString b = random_string(check);

			passed = key_is_right(&a, bytes, &why) && order_is_right(&a, &b, bytes, &why);
		}
		check_case(check, passed, &why, "keys of %d bytes", bytes);
	}
	check_group_end(check);
}
