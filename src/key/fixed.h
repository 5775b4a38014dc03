/*
 * key/fixed.h
 *		Encoders of the types of fixed width.
 *
 * Inline, as they run for every row: one switch on the column's kind, one or two stores.  Values become
 * unsigned numbers in the order of the type, and are stored with the most significant byte first.
 */
#ifndef GPUSORT_KEY_FIXED_H
#define GPUSORT_KEY_FIXED_H

#include "key/coded.h"
#include "key/enum.h"
#include "key/numbers.h"

#include "storage/itemptr.h"
#include "utils/date.h"
#include "utils/timestamp.h"

/* By the time in UTC, then by the zone: 12 bytes. */
static inline void
sort_key_store_timetz(uint8 *dst, const TimeTzADT *value, uint64 invert)
{
	int64 utc = value->time + value->zone * USECS_PER_SEC;

	sort_key_store64(dst, sort_key_order_int64(utc) ^ invert);
	sort_key_store32(dst + 8, sort_key_order_int32(value->zone) ^ (uint32) invert);
}

/*
 * An interval orders by its length, a month being 30 days and a day 24 hours: whole days, rounded down, and
 * the microseconds left, 5 bytes each.  Fewer than 2^37 days of either sign are possible, and a day has fewer
 * than 2^37 microseconds.  The infinities of 17 and later are the extreme values.
 */
static inline void
sort_key_store_interval(uint8 *dst, const Interval *value, uint64 invert)
{
	int64 days = value->month * INT64CONST(30) + value->day;
	int64 rest = value->time % USECS_PER_DAY;
	uint64 high;

	days += value->time / USECS_PER_DAY;
	if (rest < 0)
	{
		days--;
		rest += USECS_PER_DAY;
	}

	high = ((uint64) (days + (INT64CONST(1) << 39)) << 24) | ((uint64) rest >> 16);
	sort_key_store64(dst, high ^ invert);
	sort_key_store16(dst + 8, (uint16) rest ^ (uint16) invert);
}

/* By block, then by line number. */
static inline void
sort_key_store_tid(uint8 *dst, ItemPointer value, uint64 invert)
{
	sort_key_store32(dst, ItemPointerGetBlockNumberNoCheck(value) ^ (uint32) invert);
	sort_key_store16(dst + 4, ItemPointerGetOffsetNumberNoCheck(value) ^ (uint16) invert);
}

/* The value of a column of 8 bytes as a number. */
static inline uint64
sort_key_order64(const SortKeyColumn *col, Datum value)
{
	switch (col->kind)
	{
		case SORT_KEY_INT64:
		case SORT_KEY_UINT64:
			return DatumGetUInt64(value) ^ col->flip;
		case SORT_KEY_FLOAT8:
			return sort_key_order_float8(DatumGetFloat8(value)) ^ col->flip;
		case SORT_KEY_BYTES8:
			return sort_key_load64((uint8 *) DatumGetPointer(value)) ^ col->flip;
		default:
			pg_unreachable();
	}
}

/* The value of a column of 4 bytes as a number. */
static inline uint32
sort_key_order32(const SortKeyColumn *col, Datum value)
{
	uint32 flip = (uint32) col->flip;

	switch (col->kind)
	{
		case SORT_KEY_INT32:
		case SORT_KEY_UINT32:
			return DatumGetUInt32(value) ^ flip;
		case SORT_KEY_FLOAT4:
			return sort_key_order_float4(DatumGetFloat4(value)) ^ flip;
		case SORT_KEY_ENUM:
			return sort_key_enum_order(col->enum_order, DatumGetObjectId(value)) ^ flip;
		case SORT_KEY_CODE:
			return sort_key_code(col->coded, value);
		default:
			pg_unreachable();
	}
}

/* Stores the col->width bytes of a value, complemented if the column is descending. */
static inline void
sort_key_store_fixed(const SortKeyColumn *col, Datum value, uint8 *dst)
{
	const uint8 *bytes = (const uint8 *) DatumGetPointer(value); /* of kinds that are stored so */

	switch (col->kind)
	{
		case SORT_KEY_UINT8:
			*dst = DatumGetUInt8(value) ^ (uint8) col->flip;
			break;
		case SORT_KEY_INT16:
		case SORT_KEY_UINT16:
			sort_key_store16(dst, DatumGetUInt16(value) ^ (uint16) col->flip);
			break;
		case SORT_KEY_INT32:
		case SORT_KEY_UINT32:
		case SORT_KEY_FLOAT4:
		case SORT_KEY_ENUM:
		case SORT_KEY_CODE:
			sort_key_store32(dst, sort_key_order32(col, value));
			break;
		case SORT_KEY_INT64:
		case SORT_KEY_UINT64:
		case SORT_KEY_FLOAT8:
		case SORT_KEY_BYTES8:
			sort_key_store64(dst, sort_key_order64(col, value));
			break;
		case SORT_KEY_BYTES6:
			for (int i = 0; i < 6; i++)
				dst[i] = bytes[i] ^ (uint8) col->flip;
			break;
		case SORT_KEY_BYTES16:
			sort_key_store64(dst, sort_key_load64(bytes) ^ col->flip);
			sort_key_store64(dst + 8, sort_key_load64(bytes + 8) ^ col->flip);
			break;
		case SORT_KEY_TID:
			sort_key_store_tid(dst, (ItemPointer) DatumGetPointer(value), col->flip);
			break;
		case SORT_KEY_TIMETZ:
			sort_key_store_timetz(dst, (TimeTzADT *) DatumGetPointer(value), col->flip);
			break;
		case SORT_KEY_INTERVAL:
			sort_key_store_interval(dst, (Interval *) DatumGetPointer(value), col->flip);
			break;
		default:
			pg_unreachable();
	}
}

#endif /* GPUSORT_KEY_FIXED_H */
