/*
 * strings.h
 *		Strings on the device, their order, and Thrust's sort of them.
 */
#ifndef GPUBENCH_BASELINES_STRINGS_H
#define GPUBENCH_BASELINES_STRINGS_H

#include "base/status.h"
#include "devsort.h"

/* What must be readable after the last string. */
#define STRINGS_PADDING 16

/* As devsort_strings takes them; `bytes` is 8-byte aligned and padded. */
typedef struct DeviceStrings
{
	uint64_t n;
	const uint8_t *bytes;
	const uint64_t *offsets;
} DeviceStrings;

/* Workspace for thrust_strings_sort. */
size_t thrust_strings_memory(uint64_t n);

/* Sorts indexes by the strings they number, with thrust::sort and a comparator. */
DevSortStatus thrust_strings_sort(const DeviceStrings *strings, uint32_t *indexes, void *workspace,
								  size_t workspace_bytes, cudaStream_t stream);

#ifdef __CUDACC__

/* Eight bytes from any address, the first the most significant. */
static __device__ __forceinline__ uint64_t
strings_load(const uint8_t *bytes, uint64_t at)
{
	const uint64_t *words = (const uint64_t *) bytes + at / 8;
	int shift = (int) (at % 8) * 8;
	uint64_t word = words[0] >> shift;

	if (shift)
		word |= words[1] << (64 - shift);
	return (uint64_t) __byte_perm((uint32_t) word, 0, 0x0123) << 32 |
		   __byte_perm((uint32_t) (word >> 32), 0, 0x0123);
}

/* Bytes that two strings have in common at their beginnings. */
static __device__ __forceinline__ uint64_t
strings_common(const DeviceStrings &strings, uint32_t a, uint32_t b)
{
	uint64_t a_at = strings.offsets[a];
	uint64_t b_at = strings.offsets[b];
	uint64_t a_length = strings.offsets[a + (uint64_t) 1] - a_at;
	uint64_t b_length = strings.offsets[b + (uint64_t) 1] - b_at;
	uint64_t shorter = a_length < b_length ? a_length : b_length;

	for (uint64_t i = 0; i < shorter; i += 8)
	{
		uint64_t difference = strings_load(strings.bytes, a_at + i) ^ strings_load(strings.bytes, b_at + i);

		if (difference)
		{
			uint64_t same = i + __clzll((long long) difference) / 8;

			return same < shorter ? same : shorter;
		}
	}
	return shorter;
}

/* As memcmp, eight bytes at a time; a string comes before its continuations. */
static __device__ __forceinline__ int
strings_compare(const DeviceStrings &strings, uint32_t a, uint32_t b)
{
	uint64_t a_at = strings.offsets[a];
	uint64_t b_at = strings.offsets[b];
	uint64_t a_length = strings.offsets[a + (uint64_t) 1] - a_at;
	uint64_t b_length = strings.offsets[b + (uint64_t) 1] - b_at;
	uint64_t shorter = a_length < b_length ? a_length : b_length;

	for (uint64_t i = 0; i < shorter; i += 8)
	{
		uint64_t a_word = strings_load(strings.bytes, a_at + i);
		uint64_t b_word = strings_load(strings.bytes, b_at + i);

		if (a_word != b_word)
		{
			if (i + __clzll((long long) (a_word ^ b_word)) / 8 < shorter)
				return a_word < b_word ? -1 : 1;
			break;
		}
	}
	return a_length < b_length ? -1 : a_length > b_length;
}

#endif

#endif /* GPUBENCH_BASELINES_STRINGS_H */
