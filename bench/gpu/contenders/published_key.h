/*
 * published_key.h
 *		What a round of the published string sort sorts: segment, next bytes and how many there are, in 64
 *		bits.
 *
 * From the top: the number of the row's segment in s bits, the next b bytes of the string, padded with zero
 * bytes, and in the lowest three bits min(bytes that remain, limit), where limit = min(b + 1, 7).  Strings
 * may hold zero bytes, so the padding alone would not tell "a" from "a\0"; the count does, and puts the
 * shorter one first.  It must not tell more: of two strings that both go on after the same b bytes, the
 * longer one may well come first.  That is why it stops at b + 1.  With b = 7 it stops at 7, and those that
 * end there are told from those that go on in the next round, where nothing remains of them.
 *
 * So a count below the limit says that the string ended within these bytes, and strings with the same such
 * key are equal.
 */
#ifndef GPUBENCH_PUBLISHED_KEY_H
#define GPUBENCH_PUBLISHED_KEY_H

#include <cstdint>

#define STRING_COUNT_BITS 3
#define STRING_COUNT_MASK 7
#define STRING_MAX_BYTES 7

#ifdef __CUDACC__
#define STRING_KEY_FUNCTION static inline __host__ __device__
#else
#define STRING_KEY_FUNCTION static inline
#endif

/* Returns the number of bytes of a string that fit beside a segment number of segment_bits bits; 3 to 7. */
STRING_KEY_FUNCTION int
string_key_bytes(int segment_bits)
{
	int bytes = (64 - STRING_COUNT_BITS - segment_bits) / 8;

	return bytes < STRING_MAX_BYTES ? bytes : STRING_MAX_BYTES;
}

/* Counts stop here. */
STRING_KEY_FUNCTION uint64_t
string_key_limit(int bytes)
{
	return bytes < STRING_COUNT_MASK ? (uint64_t) bytes + 1 : STRING_COUNT_MASK;
}

/*
 * Packs a key.  next holds the string's next bytes, the first one in its uppermost byte; what is in it beyond
 * those that remain does not matter.
 */
STRING_KEY_FUNCTION uint64_t
string_key_pack(uint64_t segment, uint64_t next, uint64_t remaining, int bytes)
{
	uint64_t limit = string_key_limit(bytes);
	uint64_t count = remaining < limit ? remaining : limit;
	int present = (int) (count < (uint64_t) bytes ? count : (uint64_t) bytes);
	uint64_t chunk = 0;

	if (present > 0)
		chunk = next >> (64 - 8 * present) << (8 * (bytes - present));
	return (segment << (8 * bytes) | chunk) << STRING_COUNT_BITS | count;
}

#endif /* GPUBENCH_PUBLISHED_KEY_H */
