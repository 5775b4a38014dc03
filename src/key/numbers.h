/*
 * key/numbers.h
 *		Numbers as bytes that compare, with the most significant byte first.
 */
#ifndef GPUSORT_KEY_NUMBERS_H
#define GPUSORT_KEY_NUMBERS_H

#include "postgres.h"

#include <math.h>

#include "port/pg_bswap.h"

static inline void
sort_key_store16(uint8 *dst, uint16 value)
{
	value = pg_hton16(value);
	memcpy(dst, &value, sizeof(value));
}

static inline void
sort_key_store32(uint8 *dst, uint32 value)
{
	value = pg_hton32(value);
	memcpy(dst, &value, sizeof(value));
}

static inline void
sort_key_store64(uint8 *dst, uint64 value)
{
	value = pg_hton64(value);
	memcpy(dst, &value, sizeof(value));
}

static inline uint16
sort_key_load16(const uint8 *src)
{
	uint16 value;

	memcpy(&value, src, sizeof(value));
	return pg_ntoh16(value);
}

static inline uint32
sort_key_load32(const uint8 *src)
{
	uint32 value;

	memcpy(&value, src, sizeof(value));
	return pg_ntoh32(value);
}

static inline uint64
sort_key_load64(const uint8 *src)
{
	uint64 value;

	memcpy(&value, src, sizeof(value));
	return pg_ntoh64(value);
}

static inline uint16
sort_key_order_int16(int16 value)
{
	return (uint16) value ^ UINT16_C(0x8000);
}

static inline uint32
sort_key_order_int32(int32 value)
{
	return (uint32) value ^ UINT32_C(0x80000000);
}

static inline uint64
sort_key_order_int64(int64 value)
{
	return (uint64) value ^ UINT64_C(0x8000000000000000);
}

/*
 * IEEE floats order as sign and magnitude: set the sign bit of positive ones, complement negative ones.
 * Adding zero makes -0 into +0; all NaNs are one value, larger than infinity.
 */
static inline uint32
sort_key_order_float4(float4 value)
{
	uint32 bits;

	if (unlikely(isnan(value)))
		return PG_UINT32_MAX;
	value += 0.0f;
	memcpy(&bits, &value, sizeof(bits));
	return bits ^ ((uint32) ((int32) bits >> 31) | UINT32_C(0x80000000));
}

static inline uint64
sort_key_order_float8(float8 value)
{
	uint64 bits;

	if (unlikely(isnan(value)))
		return PG_UINT64_MAX;
	value += 0.0;
	memcpy(&bits, &value, sizeof(bits));
	return bits ^ ((uint64) ((int64) bits >> 63) | UINT64_C(0x8000000000000000));
}

#endif /* GPUSORT_KEY_NUMBERS_H */
