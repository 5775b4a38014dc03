/*
 * text.cuh
 *		Reading strings on the device: eight bytes at a time, and as codes of the characters that occur.
 *
 * Only aligned words that hold a wanted byte are loaded, so nothing beyond the multiple of 8 bytes after a
 * string is touched.
 */
#ifndef DEVSORT_STRING_TEXT_CUH
#define DEVSORT_STRING_TEXT_CUH

#include "primitives/key_order.cuh"
#include "strings/codes.h"

/* The rest of a string. */
struct StringRest
{
	const uint8_t *at;
	uint64_t remaining;
};

/* What is left of a string from byte `depth` on. */
static __device__ __forceinline__ StringRest
string_rest(const StringText &text, uint32_t row, uint64_t depth)
{
	uint64_t begin = text.offsets[row] + depth;
	uint64_t end = text.offsets[(uint64_t) row + 1];

	return {text.bytes + begin, begin < end ? end - begin : 0};
}

/*
 * The next bytes of a string, the first one uppermost, of which `wanted` (1 to 8) matter.  Loads only aligned
 * words that hold one of them.
 */
static __device__ __forceinline__ uint64_t
string_load_word(const uint8_t *at, int wanted)
{
	const KeyOrder big_endian = {0x4567u, 0x0123u};
	const uint64_t *word = (const uint64_t *) ((uintptr_t) at & ~(uintptr_t) 7);
	int skip = (int) ((uintptr_t) at & 7);
	uint64_t bytes = word[0] >> (8 * skip);

	if (skip + wanted > 8)
		bytes |= word[1] << (64 - 8 * skip);
	return key_order_apply(big_endian, bytes);
}

/* How many bytes two rests have in common; stops looking at `enough` bytes. */
static __device__ __forceinline__ uint64_t
string_count_common(StringRest a, StringRest b, uint64_t enough)
{
	uint64_t length = a.remaining < b.remaining ? a.remaining : b.remaining;
	uint64_t at = 0;

	if (enough < length)
		length = enough;
	while (at < length)
	{
		int wanted = length - at < 8 ? (int) (length - at) : 8;
		uint64_t differs = string_load_word(a.at + at, wanted) ^ string_load_word(b.at + at, wanted);
		int equal = __clzll((long long) differs) / 8;

		if (equal < wanted)
			return at + equal;
		at += wanted;
	}
	return at;
}

/*
 * Returns the codes of the next characters, as many as have room: a key of room + STRING_TAKEN_BITS bits; see
 * codes.h.
 */
static __device__ __forceinline__ uint64_t
string_load_codes(StringRest rest, const uint32_t *code, int end_bits, int room)
{
	int present = rest.remaining < STRING_MOST_TAKEN ? (int) rest.remaining : STRING_MOST_TAKEN;
	const uint64_t *word = (const uint64_t *) ((uintptr_t) rest.at & ~(uintptr_t) 7);
	int skip = (int) ((uintptr_t) rest.at & 7);
	uint64_t low = present > 0 ? *word : 0;
	StringCoding coding = {};
	bool room_left = true;

	for (int at = 0; at < present && room_left; at += 8)
	{
		/* The next word is under way while this one is coded. */
		uint64_t high = present - at > 8 - skip ? *++word : 0;
		uint64_t bytes = low >> (8 * skip) | high << 1 << (63 - 8 * skip);

#pragma unroll
		for (int i = 0; i < 8 && room_left; i++)
		{
			room_left = at + i < present;
			if (room_left)
				room_left = string_coding_append(&coding, code[bytes >> (8 * i) & 0xFF], room);
		}
		low = high;
	}
	return string_coding_key(&coding, rest.remaining, end_bits, room);
}

/* Copies the codes to shared memory.  All threads of the block call it. */
static __device__ __forceinline__ void
block_copy_codes(const StringCodes &codes, uint32_t *shared)
{
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		shared[i] = codes.code[i];
	__syncthreads();
}

#endif /* DEVSORT_STRING_TEXT_CUH */
