/*
 * key/key_row_layout.h
 *		Where the columns of a row are in its key, and how values are put into the row.
 *
 * The functions are inline because they run for every row.  Only key_row*.c include this header.
 */
#ifndef GPUSORT_KEY_KEY_ROW_LAYOUT_H
#define GPUSORT_KEY_KEY_ROW_LAYOUT_H

#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/itup.h"
#include "access/tupmacs.h"

#include "key/fixed.h"
#include "key/types.h"
#include "key/value_table.h"

/* Every column of a fixed key takes at least a byte of it: its value, and a marker unless it is NOT NULL. */
#define KEY_ROW_COLUMNS_MAX INDEX_MAX_KEYS
StaticAssertDecl(KEY_ROW_COLUMNS_MAX >= SORT_KEY_MAX_FIXED_WIDTH, "there is room for the columns of any key");

/* Bytes of the largest index tuple. */
#define KEY_ROW_INDEX_TUPLE_MAX INDEX_SIZE_MASK

/* Of the string that a key tells, with its header, at most. */
#define KEY_ROW_STRING_MAX TOAST_INDEX_TARGET

/* A column of the row. */
typedef struct KeyRowColumn
{
	int index;
	int length; /* in bytes; 0: a string */
	char align;
	uint32 offset; /* in a row without NULLs; fixed keys */

	/* In the key. */
	int offset_in_key; /* of the value; fixed keys */
	bool marked;	   /* there is a marker before it */
	uint8 value_marker;
	SortKeyKind kind;
	uint64 flip;
	bool has_sort_key; /* strings: there is one, that of ICU, before the bytes */

	/* Keys with codes. */
	bool is_coded;
	const ValueEntry *const *values; /* by the number that the key has */
} KeyRowColumn;

struct KeyRow
{
	int natts;
	int ncolumns;								   /* that are not left out */
	KeyRowColumn columns[KEY_ROW_COLUMNS_MAX + 1]; /* index tuples: behind those that of the tuple's tid */
	Size null_bits;								   /* where a row has its null bitmap */
	Size row_size;								   /* bytes that any row fits in */
	bool is_index;								   /* are the rows index tuples? */
	StoredRow full_row;	   /* one without NULLs except in the columns left out; variable keys: any */
	StoredRow partial_row; /* any other */

	/* Keys with codes: full_row is the row of `last`, except its tid. */
	bool has_codes;
	bool has_last;
	bool repeats;	   /* has the row that was made last the columns of the one before? */
	Size columns_size; /* bytes of a key before the tid's column */
	uint64 last[SORT_KEY_MAX_FIXED_WIDTH / sizeof(uint64)];
};

/* Returns the bytes of a value in a row; 0: the value cannot be told from its encoding. */
extern int key_row_value_length(const SortKeyColumn *sort_column);

/* Has no string of the row's column the long header if the string does not need it? */
extern bool key_row_has_short_headers(Form_pg_attribute att);

/* Notes what the row's column is, and its value in the key. */
extern void key_row_describe_column(const SortKeyColumn *sort_column, Form_pg_attribute att,
									KeyRowColumn *column);

/* Finds this column of the row in a fixed key; false: it is not there, or does not tell the value. */
extern bool key_row_find_column(const SortKey *key, TupleDesc desc, int index, KeyRowColumn *column);

/* ---------------------------------------------------------------- values in keys */

/* Is the value of this column NULL in a fixed key? */
static inline bool
key_row_is_null(const KeyRowColumn *column, const uint8 *key)
{
	return column->marked && key[column->offset_in_key - 1] != column->value_marker;
}

static inline void
key_row_decode_bytes(const uint8 *src, int n, uint64 invert, char *dst)
{
	for (int i = 0; i < n; i++)
		dst[i] = src[i] ^ (uint8) invert;
}

static inline void
key_row_decode_tid(const uint8 *src, uint64 invert, ItemPointer value)
{
	ItemPointerSet(value, sort_key_load32(src) ^ (uint32) invert, sort_key_load16(src + 4) ^ (uint16) invert);
}

static inline void
key_row_decode_timetz(const uint8 *src, uint64 invert, TimeTzADT *value)
{
	int64 utc = (int64) sort_key_order_int64(sort_key_load64(src) ^ invert);

	value->zone = (int32) sort_key_order_int32(sort_key_load32(src + 8) ^ (uint32) invert);
	value->time = utc - value->zone * USECS_PER_SEC;
}

/* Writes the value that src encodes to its place in a row. */
static inline void
key_row_decode_value(const KeyRowColumn *column, const uint8 *src, char *dst)
{
	uint64 flip = column->flip;

	switch (column->kind)
	{
		case SORT_KEY_UINT8:
			*(uint8 *) dst = *src ^ (uint8) flip;
			break;
		case SORT_KEY_INT16:
			*(uint16 *) dst = sort_key_load16(src) ^ (uint16) flip;
			break;
		case SORT_KEY_INT32:
		case SORT_KEY_UINT32:
			*(uint32 *) dst = sort_key_load32(src) ^ (uint32) flip;
			break;
		case SORT_KEY_INT64:
		case SORT_KEY_UINT64:
			*(uint64 *) dst = sort_key_load64(src) ^ flip;
			break;
		case SORT_KEY_BYTES6:
		case SORT_KEY_BYTES8:
		case SORT_KEY_BYTES16:
			key_row_decode_bytes(src, column->length, flip, dst);
			break;
		case SORT_KEY_TID:
			key_row_decode_tid(src, flip, (ItemPointer) dst);
			break;
		case SORT_KEY_TIMETZ:
			key_row_decode_timetz(src, flip, (TimeTzADT *) dst);
			break;
		default:
			pg_unreachable();
	}
}

/* ---------------------------------------------------------------- rows: begin and end */

/* The header of a MinimalTuple; returns where its columns begin. */
static inline uint32
key_row_begin_minimal(MinimalTuple row, int natts, bool has_nulls)
{
	uint32 length = MAXALIGN(SizeofMinimalTupleHeader + (has_nulls ? BITMAPLEN(natts) : 0));

	memset(row, 0, length);
	row->t_hoff = length + MINIMAL_TUPLE_OFFSET;
	row->t_infomask |= has_nulls ? HEAP_HASNULL : 0;
	HeapTupleHeaderSetNatts(row, natts);
	return length;
}

/* The same of an index tuple. */
static inline uint32
key_row_begin_index(IndexRow *row, bool has_nulls)
{
	unsigned short info = has_nulls ? INDEX_NULL_MASK : 0;
	uint32 length = INDEX_ROW_HEADER + IndexInfoFindDataOffset(info);

	memset(row, 0, length);
	row->tuple.t_info = info;
	return length;
}

static inline uint32
key_row_begin(const KeyRow *rows, StoredRow row, bool has_nulls)
{
	return rows->is_index ? key_row_begin_index((IndexRow *) row, has_nulls)
						  : key_row_begin_minimal(row, rows->natts, has_nulls);
}

/* The row's columns end there. */
static inline void
key_row_end(const KeyRow *rows, StoredRow row, uint32 length)
{
	if (rows->is_index)
	{
		length = MAXALIGN(length);
		((IndexRow *) row)->tuple.t_info |= length - INDEX_ROW_HEADER;
	}
	row->t_len = length;
}

/* This column of the row is not NULL; for rows that have any. */
static inline void
key_row_note_not_null(const KeyRow *rows, StoredRow row, int index)
{
	uint8 *bits = (uint8 *) row + rows->null_bits;

	bits[index >> 3] |= 1 << (index & 7);
}

/* ---------------------------------------------------------------- rows of values that vary in length */

/* Fills the row with zeros from there up to an address that is aligned so; returns that. */
static inline char *
key_row_pad(char *dst, StoredRow row, char align)
{
	char *aligned = (char *) row + att_align_nominal(dst - (char *) row, align);

	while (dst < aligned)
		*dst++ = 0;
	return dst;
}

/*
 * Puts a header before the string's bytes, which stand behind the place of a short one, and may have to move;
 * returns what is behind the value.
 */
static inline char *
key_row_head_string(const KeyRowColumn *column, StoredRow row, char *dst, Size length)
{
	char *bytes = dst + VARHDRSZ_SHORT;
	char *aligned;

	if (likely(length + VARHDRSZ_SHORT <= VARATT_SHORT_MAX))
	{
		SET_VARSIZE_SHORT(dst, length + VARHDRSZ_SHORT);
		return bytes + length;
	}
	aligned = (char *) row + att_align_nominal(dst - (char *) row, column->align);
	memmove(aligned + VARHDRSZ, bytes, length);
	(void) key_row_pad(dst, row, column->align);
	SET_VARSIZE(aligned, length + VARHDRSZ);
	return aligned + VARHDRSZ + length;
}

/* The value was put into the row. */
static inline void
key_row_note_value(const KeyRow *rows, StoredRow row, const KeyRowColumn *column, bool has_nulls)
{
	if (has_nulls)
		key_row_note_not_null(rows, row, column->index);
}

/* The row's columns end there, behind values that vary in length. */
static inline void
key_row_end_columns(const KeyRow *rows, StoredRow row, char *dst)
{
	dst = key_row_pad(dst, row, TYPALIGN_DOUBLE);
	key_row_end(rows, row, dst - (char *) row);
}

#endif /* GPUSORT_KEY_KEY_ROW_LAYOUT_H */
