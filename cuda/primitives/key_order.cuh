/*
 * key_order.cuh
 *		Keys as integers, whichever way round their bytes stand in memory.
 *
 * A byte string in memcmp order is a big-endian integer.  One byte permutation with selectors that the host
 * chose turns what was loaded into an integer and back, at the same cost for both formats and without a
 * second copy of each kernel.
 */
#ifndef DEVSORT_KEY_ORDER_CUH
#define DEVSORT_KEY_ORDER_CUH

#include "primitives/wide_key.cuh"

struct KeyOrder
{
	uint32_t low;  /* selects the bytes of the integer's lower half */
	uint32_t high; /* and of its upper half */
};

/* Keys that are integers already. */
static __host__ __device__ inline KeyOrder
key_order_native(void)
{
	return {0x3210u, 0x7654u};
}

template <typename Key>
static inline KeyOrder
key_order_make(bool big_endian)
{
	if (!big_endian)
		return key_order_native();
	return sizeof(Key) >= 8 ? KeyOrder{0x4567u, 0x0123u} : KeyOrder{0x0123u, 0x0123u};
}

/* From memory to an integer and back: the permutation is its own inverse. */
static __device__ __forceinline__ uint64_t
key_order_apply(KeyOrder order, uint64_t key)
{
	uint32_t lower = (uint32_t) key;
	uint32_t upper = (uint32_t) (key >> 32);

	return (uint64_t) __byte_perm(lower, upper, order.high) << 32 | __byte_perm(lower, upper, order.low);
}

static __device__ __forceinline__ uint32_t
key_order_apply(KeyOrder order, uint32_t key)
{
	return __byte_perm(key, 0, order.low);
}

static __device__ __forceinline__ WideKey
key_order_apply(KeyOrder order, const WideKey &key)
{
	return WideKey(key_order_apply(order, key.high), key_order_apply(order, key.low));
}

/*
 * Lowers `count` by one if the key `other` at place other_at comes before `key` at place `at`: the borrow of
 * one long subtraction of key and place, of which comparisons take twice as many instructions.
 */
static __device__ __forceinline__ void
count_down_if_before(uint32_t *count, uint32_t other, uint32_t other_at, uint32_t key, uint32_t at)
{
	asm("{\n\t"
		".reg .u32 unused;\n\t"
		"sub.cc.u32 unused, %1, %2;\n\t"
		"subc.cc.u32 unused, %3, %4;\n\t"
		"subc.u32 %0, %0, 0;\n\t"
		"}"
		: "+r"(*count)
		: "r"(other_at), "r"(at), "r"(other), "r"(key));
}

static __device__ __forceinline__ void
count_down_if_before(uint32_t *count, uint64_t other, uint32_t other_at, uint64_t key, uint32_t at)
{
	asm("{\n\t"
		".reg .u32 unused;\n\t"
		"sub.cc.u32 unused, %1, %2;\n\t"
		"subc.cc.u32 unused, %3, %4;\n\t"
		"subc.cc.u32 unused, %5, %6;\n\t"
		"subc.u32 %0, %0, 0;\n\t"
		"}"
		: "+r"(*count)
		: "r"(other_at), "r"(at), "r"((uint32_t) other), "r"((uint32_t) key), "r"((uint32_t) (other >> 32)),
		  "r"((uint32_t) (key >> 32)));
}

static __device__ __forceinline__ void
count_down_if_before(uint32_t *count, const WideKey &other, uint32_t other_at, const WideKey &key,
					 uint32_t at)
{
	asm("{\n\t"
		".reg .u32 unused;\n\t"
		"sub.cc.u32 unused, %1, %2;\n\t"
		"subc.cc.u32 unused, %3, %4;\n\t"
		"subc.cc.u32 unused, %5, %6;\n\t"
		"subc.cc.u32 unused, %7, %8;\n\t"
		"subc.cc.u32 unused, %9, %10;\n\t"
		"subc.u32 %0, %0, 0;\n\t"
		"}"
		: "+r"(*count)
		: "r"(other_at), "r"(at), "r"((uint32_t) other.low), "r"((uint32_t) key.low),
		  "r"((uint32_t) (other.low >> 32)), "r"((uint32_t) (key.low >> 32)), "r"((uint32_t) other.high),
		  "r"((uint32_t) key.high), "r"((uint32_t) (other.high >> 32)), "r"((uint32_t) (key.high >> 32)));
}

/* Number of significant bits. */
static __device__ __forceinline__ int
key_width(uint64_t key)
{
	return 64 - __clzll((long long) key);
}

static __device__ __forceinline__ int
key_width(uint32_t key)
{
	return 32 - __clz((int) key);
}

static __device__ __forceinline__ int
key_width(const WideKey &key)
{
	return key.high != 0 ? 64 + key_width(key.high) : key_width(key.low);
}

#endif /* DEVSORT_KEY_ORDER_CUH */
