/*
 * sort/sample_sort_packed.h
 *		The base case's core: sorts up to 128 packed keys without a branch on data.
 *
 * A packed key is a 64-bit number: a window of an item's key bits, then the item's index.  The top bits are
 * set so that the number is also a positive, normal double.  These doubles have the order of the numbers.
 * The reason is that baseline x86-64 has vector minimum and maximum for doubles, but not for 64-bit integers.
 *
 * A sorting network sorts a tile as two interleaved columns, one column in each vector lane.  The columns are
 * then merged from both ends at once.
 */
#ifndef GPUSORT_SORT_SAMPLE_SORT_PACKED_H
#define GPUSORT_SORT_SAMPLE_SORT_PACKED_H

#include "postgres.h"

#if defined(__SSE2__) && !defined(SORT_PORTABLE)
#include <emmintrin.h>
#endif

#define PACKED_MAX 128 /* keys in one sort */
#define PACKED_TILE 32 /* keys in the largest network */
#define PACKED_INDEX_BITS 8
#define PACKED_WINDOW_BITS 53
#define PACKED_TOP (UINT64CONST(1) << 61)
#define PACKED_PAD (PACKED_TOP | (PACKED_TOP - 1)) /* not below any packed key */

#define PACKED_INDEX_MASK ((UINT64CONST(1) << PACKED_INDEX_BITS) - 1)
#define PACKED_LOST_BITS ((UINT64CONST(1) << (64 - PACKED_WINDOW_BITS)) - 1)

/* Packs the upper PACKED_WINDOW_BITS of bits with an index. */
#define PACKED_KEY(bits, index) \
	(PACKED_TOP | (((bits) >> (64 - PACKED_WINDOW_BITS)) << PACKED_INDEX_BITS) | (uint64) (index))

StaticAssertDecl(PACKED_MAX <= (1 << PACKED_INDEX_BITS), "an index must fit");
StaticAssertDecl(PACKED_INDEX_BITS + PACKED_WINDOW_BITS == 61, "a packed key must be a normal double");

/* Working space of one sort. */
typedef struct PackedKeys
{
	pg_attribute_aligned(64) uint64 keys[PACKED_MAX];
	pg_attribute_aligned(64) uint64 other[PACKED_MAX];
} PackedKeys;

#if defined(__SSE2__) && !defined(SORT_PORTABLE)
typedef __m128d PackedPair;

#define packed_pair_load(p) _mm_load_pd((const double *) (p))
#define packed_pair_store(p, v) _mm_store_pd((double *) (p), (v))
#define packed_pair_min(a, b) _mm_min_pd((a), (b))
#define packed_pair_max(a, b) _mm_max_pd((a), (b))
#else
typedef int64 PackedPair __attribute__((vector_size(16), may_alias));

#define packed_pair_load(p) (*(const PackedPair *) (p))
#define packed_pair_store(p, v) (*(PackedPair *) (p) = (v))
#define packed_pair_min(a, b) (((a) & ((a) < (b))) | ((b) & ~((a) < (b))))
#define packed_pair_max(a, b) (((b) & ((a) < (b))) | ((a) & ~((a) < (b))))
#endif

/*
 * Merges two sorted runs of len keys each into out.  The front and the back of out are filled at once: two
 * chains of dependent steps instead of one.  stride: distance of a run's keys.
 */
static pg_attribute_always_inline void
packed_merge(const uint64 *a, const uint64 *b, int len, int stride, uint64 *out)
{
	const uint64 *a_back = a + (len - 1) * stride;
	const uint64 *b_back = b + (len - 1) * stride;
	uint64 *out_back = out + 2 * len - 1;

	for (int t = 0; t < len; t++)
	{
		uint64 va = *a;
		uint64 vb = *b;
		uint64 ua = *a_back;
		uint64 ub = *b_back;
		ptrdiff_t from_a = va <= vb;
		ptrdiff_t from_a_back = ua > ub;

		*out++ = from_a ? va : vb;
		a += from_a * stride;
		b += stride - from_a * stride;
		*out_back-- = from_a_back ? ua : ub;
		a_back -= from_a_back * stride;
		b_back -= stride - from_a_back * stride;
	}
}

#define EXCHANGE(i, j)                                 \
	do                                                 \
	{                                                  \
		PackedPair low_ = packed_pair_min(v[i], v[j]); \
                                                       \
		v[j] = packed_pair_max(v[i], v[j]);            \
		v[i] = low_;                                   \
	} while (0)

#define EXCHANGE_4(i, j, k, l, m, n, o, p) \
	do                                     \
	{                                      \
		EXCHANGE(i, j);                    \
		EXCHANGE(k, l);                    \
		EXCHANGE(m, n);                    \
		EXCHANGE(o, p);                    \
	} while (0)

/* Sorts the two columns of 4, 8 or 16 rows (then by Green's network of 60 exchanges), and merges them. */
static pg_attribute_always_inline void
packed_sort_tile(uint64 *keys, int rows, uint64 *out)
{
	PackedPair v[PACKED_TILE / 2];

	for (int r = 0; r < rows; r++)
		v[r] = packed_pair_load(keys + 2 * r);
	if (rows == 4)
	{
		EXCHANGE(0, 1);
		EXCHANGE(2, 3);
		EXCHANGE(0, 2);
		EXCHANGE(1, 3);
		EXCHANGE(1, 2);
	}
	else if (rows == 8)
	{
		EXCHANGE_4(0, 2, 1, 3, 4, 6, 5, 7);
		EXCHANGE_4(0, 4, 1, 5, 2, 6, 3, 7);
		EXCHANGE_4(0, 1, 2, 3, 4, 5, 6, 7);
		EXCHANGE_4(2, 4, 3, 5, 1, 4, 3, 6);
		EXCHANGE(1, 2);
		EXCHANGE(3, 4);
		EXCHANGE(5, 6);
	}
	else
	{
		EXCHANGE_4(0, 13, 1, 12, 2, 15, 3, 14);
		EXCHANGE_4(4, 8, 5, 6, 7, 11, 9, 10);
		EXCHANGE_4(0, 5, 1, 7, 2, 9, 3, 4);
		EXCHANGE_4(6, 13, 8, 14, 10, 15, 11, 12);
		EXCHANGE_4(0, 1, 2, 3, 4, 5, 6, 8);
		EXCHANGE_4(7, 9, 10, 11, 12, 13, 14, 15);
		EXCHANGE_4(0, 2, 1, 3, 4, 10, 5, 11);
		EXCHANGE_4(6, 7, 8, 9, 12, 14, 13, 15);
		EXCHANGE_4(1, 2, 3, 12, 4, 6, 5, 7);
		EXCHANGE_4(8, 10, 9, 11, 13, 14, 1, 4);
		EXCHANGE_4(2, 6, 5, 8, 7, 10, 9, 13);
		EXCHANGE_4(11, 14, 2, 4, 3, 6, 9, 12);
		EXCHANGE_4(11, 13, 3, 5, 6, 8, 7, 9);
		EXCHANGE_4(10, 12, 3, 4, 5, 6, 7, 8);
		EXCHANGE_4(9, 10, 11, 12, 6, 7, 8, 9);
	}
	for (int r = 0; r < rows; r++)
		packed_pair_store(keys + 2 * r, v[r]);
	packed_merge(keys, keys + 1, rows, 2, out);
}

#undef EXCHANGE_4
#undef EXCHANGE

/* Sorts packed->keys[0 .. n); n is at most PACKED_MAX.  Returns the address of the result in *packed. */
static inline const uint64 *
packed_sort(PackedKeys *packed, int n)
{
	uint64 *from = packed->keys;
	uint64 *to = packed->other;
	int padded = n <= 8 ? 8 : n <= 16 ? 16 : n <= 32 ? 32 : n <= 64 ? 64 : PACKED_MAX;

	for (int i = n; i < padded; i++)
		from[i] = PACKED_PAD;

	if (padded == 8)
		packed_sort_tile(from, 4, to);
	else if (padded == 16)
		packed_sort_tile(from, 8, to);
	else
	{
		for (int t = 0; t < padded; t += PACKED_TILE)
			packed_sort_tile(from + t, PACKED_TILE / 2, to + t);
	}
	for (int len = PACKED_TILE; len < padded; len *= 2)
	{
		uint64 *swap = from;

		from = to;
		to = swap;
		for (int t = 0; t < padded; t += 2 * len)
			packed_merge(from + t, from + t + len, len, 1, to + t);
	}
	return to;
}

#endif /* GPUSORT_SORT_SAMPLE_SORT_PACKED_H */
