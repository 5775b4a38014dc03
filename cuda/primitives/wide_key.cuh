/*
 * wide_key.cuh
 *		Keys of 16 bytes: unsigned integers of 128 bits, as two words.
 *
 * In memory the more significant word comes first, as in DEVSORT_KEY_WORDS; byte strings only have the bytes
 * of each word turned round (key_order.cuh).  The operators are those that the sorts use of integers.
 */
#ifndef DEVSORT_WIDE_KEY_CUH
#define DEVSORT_WIDE_KEY_CUH

#include <cstdint>

struct __align__(16) WideKey
{
	uint64_t high;
	uint64_t low;

	/* Uninitialised, so that there may be arrays of keys in shared memory. */
	WideKey() = default;

	__host__ __device__ constexpr WideKey(uint64_t high_word, uint64_t low_word)
		: high(high_word), low(low_word)
	{
	}

	/* A small number. */
	__host__ __device__ constexpr explicit WideKey(int number) : high(0), low((uint64_t) number)
	{
	}
};

static __host__ __device__ __forceinline__ bool
operator==(const WideKey &a, const WideKey &b)
{
	return a.high == b.high && a.low == b.low;
}

static __host__ __device__ __forceinline__ bool
operator!=(const WideKey &a, const WideKey &b)
{
	return !(a == b);
}

static __host__ __device__ __forceinline__ bool
operator<(const WideKey &a, const WideKey &b)
{
	return a.high < b.high || (a.high == b.high && a.low < b.low);
}

static __host__ __device__ __forceinline__ bool
operator>(const WideKey &a, const WideKey &b)
{
	return b < a;
}

static __host__ __device__ __forceinline__ bool
operator<=(const WideKey &a, const WideKey &b)
{
	return !(b < a);
}

static __host__ __device__ __forceinline__ WideKey
operator~(const WideKey &key)
{
	return WideKey(~key.high, ~key.low);
}

static __host__ __device__ __forceinline__ WideKey
operator-(const WideKey &a, const WideKey &b)
{
	return WideKey(a.high - b.high - (a.low < b.low), a.low - b.low);
}

static __host__ __device__ __forceinline__ WideKey
operator+(const WideKey &a, const WideKey &b)
{
	uint64_t low = a.low + b.low;

	return WideKey(a.high + b.high + (low < b.low), low);
}

static __host__ __device__ __forceinline__ WideKey
operator^(const WideKey &a, const WideKey &b)
{
	return WideKey(a.high ^ b.high, a.low ^ b.low);
}

/* The low 32 bits of key >> shift; shift from 0 to 127. */
static __host__ __device__ __forceinline__ uint32_t
key_bits_from(const WideKey &key, int shift)
{
	if (shift >= 64)
		return (uint32_t) (key.high >> (shift - 64));
	return (uint32_t) (key.low >> shift | (shift > 0 ? key.high << (64 - shift) : 0));
}

static __host__ __device__ __forceinline__ uint32_t
key_bits_from(uint64_t key, int shift)
{
	return (uint32_t) (key >> shift);
}

static __host__ __device__ __forceinline__ uint32_t
key_bits_from(uint32_t key, int shift)
{
	return key >> shift;
}

template <typename Key>
static __device__ __forceinline__ Key
key_min(const Key &a, const Key &b)
{
	return b < a ? b : a;
}

template <typename Key>
static __device__ __forceinline__ Key
key_max(const Key &a, const Key &b)
{
	return a < b ? b : a;
}

/* The key of the lane whose number differs in these bits. */
template <typename Key>
static __device__ __forceinline__ Key
key_shuffle_xor(uint32_t lanes, Key key, int bits)
{
	return __shfl_xor_sync(lanes, key, bits);
}

static __device__ __forceinline__ WideKey
key_shuffle_xor(uint32_t lanes, WideKey key, int bits)
{
	return WideKey(__shfl_xor_sync(lanes, (unsigned long long) key.high, bits),
				   __shfl_xor_sync(lanes, (unsigned long long) key.low, bits));
}

#endif /* DEVSORT_WIDE_KEY_CUH */
