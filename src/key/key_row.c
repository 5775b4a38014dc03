/*
 * key/key_row.c
 *		Rows that are made of their keys: the encoders of fixed.h the other way round.
 *
 * Values are written where they stand in the row, as the bytes that they are there.  Rows without NULLs, or
 * all of them with the same columns left out, have these at the same places: their header is made once.
 */
#include "postgres.h"

#include "access/tupmacs.h"

#include "key/fixed.h"
#include "key/key_row.h"

/* Every column takes at least two bytes of the key: its marker and a value. */
#define MAX_COLUMNS (SORT_KEY_MAX_FIXED_WIDTH / 2)

/* A column of the row. */
typedef struct KeyRowColumn
{
	int index;
	int length; /* in bytes */
	char align;
	uint32 offset; /* in a row without NULLs */

	/* In the key. */
	int marker_offset; /* the value is behind it */
	uint8 value_marker;
	SortKeyKind kind;
	uint64 invert;
} KeyRowColumn;

struct KeyRow
{
	int natts;
	int ncolumns; /* that are not left out */
	KeyRowColumn columns[MAX_COLUMNS];
	Size null_bits;			  /* where a row has its null bitmap */
	Size row_size;			  /* bytes that any row fits in */
	bool is_index;			  /* are the rows index tuples? */
	KeyRowColumn tid;		  /* then that of the tuple */
	MinimalTuple full_row;	  /* one without NULLs but for the columns left out */
	MinimalTuple partial_row; /* any other */
};

/* ---------------------------------------------------------------- values */

/* Bytes of a value in a row; 0: it can't be told from its encoding. */
static int
value_length(SortKeyKind kind)
{
	switch (kind)
	{
		case SORT_KEY_BOOL:
		case SORT_KEY_UINT8:
			return 1;
		case SORT_KEY_INT16:
			return 2;
		case SORT_KEY_INT32:
		case SORT_KEY_UINT32:
			return 4;
		case SORT_KEY_BYTES6:
		case SORT_KEY_TID:
			return 6;
		case SORT_KEY_INT64:
		case SORT_KEY_UINT64:
		case SORT_KEY_BYTES8:
			return 8;
		case SORT_KEY_TIMETZ:
			return 12;
		case SORT_KEY_BYTES16:
			return 16;
		default:
			return 0; /* of floats the zeros and NaNs, of intervals the months, of enums the oids are lost */
	}
}

static inline void
decode_bytes(const uint8 *src, int n, uint64 invert, char *dst)
{
	for (int i = 0; i < n; i++)
		dst[i] = src[i] ^ (uint8) invert;
}

static inline void
decode_tid(const uint8 *src, uint64 invert, ItemPointer value)
{
	ItemPointerSet(value, sort_key_load32(src) ^ (uint32) invert, sort_key_load16(src + 4) ^ (uint16) invert);
}

static inline void
decode_timetz(const uint8 *src, uint64 invert, TimeTzADT *value)
{
	int64 utc = (int64) sort_key_order_int64(sort_key_load64(src) ^ invert);

	value->zone = (int32) sort_key_order_int32(sort_key_load32(src + 8) ^ (uint32) invert);
	value->time = utc - value->zone * USECS_PER_SEC;
}

/*
 * Writes the value that src encodes to its place in a row; the sign bit of integers is turned back as it was
 * turned.
 */
static inline void
decode_value(const KeyRowColumn *column, const uint8 *src, char *dst)
{
	uint64 invert = column->invert;

	switch (column->kind)
	{
		case SORT_KEY_BOOL:
		case SORT_KEY_UINT8:
			*(uint8 *) dst = *src ^ (uint8) invert;
			break;
		case SORT_KEY_INT16:
			*(uint16 *) dst = sort_key_order_int16(sort_key_load16(src) ^ (uint16) invert);
			break;
		case SORT_KEY_INT32:
			*(uint32 *) dst = sort_key_order_int32(sort_key_load32(src) ^ (uint32) invert);
			break;
		case SORT_KEY_UINT32:
			*(uint32 *) dst = sort_key_load32(src) ^ (uint32) invert;
			break;
		case SORT_KEY_INT64:
			*(uint64 *) dst = sort_key_order_int64(sort_key_load64(src) ^ invert);
			break;
		case SORT_KEY_UINT64:
			*(uint64 *) dst = sort_key_load64(src) ^ invert;
			break;
		case SORT_KEY_BYTES6:
		case SORT_KEY_BYTES8:
		case SORT_KEY_BYTES16:
			decode_bytes(src, column->length, invert, dst);
			break;
		case SORT_KEY_TID:
			decode_tid(src, invert, (ItemPointer) dst);
			break;
		case SORT_KEY_TIMETZ:
			decode_timetz(src, invert, (TimeTzADT *) dst);
			break;
		default:
			pg_unreachable();
	}
}

/* ---------------------------------------------------------------- rows */

/* The header of a MinimalTuple; returns where its columns begin. */
static uint32
begin_minimal_tuple(MinimalTuple row, int natts, bool has_nulls)
{
	uint32 length = MAXALIGN(SizeofMinimalTupleHeader + (has_nulls ? BITMAPLEN(natts) : 0));

	memset(row, 0, length);
	row->t_hoff = length + MINIMAL_TUPLE_OFFSET;
	row->t_infomask |= has_nulls ? HEAP_HASNULL : 0;
	HeapTupleHeaderSetNatts(row, natts);
	return length;
}

/* The same of an index tuple. */
static uint32
begin_index_tuple(IndexRow *row, bool has_nulls)
{
	unsigned short info = has_nulls ? INDEX_NULL_MASK : 0;
	uint32 length = INDEX_ROW_HEADER + IndexInfoFindDataOffset(info);

	memset(row, 0, length);
	row->tuple.t_info = info;
	return length;
}

static uint32
begin_row(const KeyRow *rows, MinimalTuple row, bool has_nulls)
{
	return rows->is_index ? begin_index_tuple((IndexRow *) row, has_nulls)
						  : begin_minimal_tuple(row, rows->natts, has_nulls);
}

/* The row's columns end there. */
static void
end_row(const KeyRow *rows, MinimalTuple row, uint32 length)
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
note_not_null(const KeyRow *rows, MinimalTuple row, int index)
{
	uint8 *bits = (uint8 *) row + rows->null_bits;

	bits[index >> 3] |= 1 << (index & 7);
}

/* Finds this column of the row in the key; false: it isn't there, or does not tell the value. */
static bool
find_column(const SortKey *key, TupleDesc desc, int index, KeyRowColumn *column)
{
	Form_pg_attribute att = TupleDescAttr(desc, index);
	int marker_offset = 0;

	for (int i = 0; i < key->ncols; i++)
	{
		const SortKeyColumn *sort_column = &key->cols[i];

		if (sort_column->attidx == index && !att->attisdropped)
		{
			column->index = index;
			column->length = value_length(sort_column->kind);
			column->align = att->attalign;
			column->marker_offset = marker_offset;
			column->value_marker = sort_column->value_marker;
			column->kind = sort_column->kind;
			column->invert = sort_column->invert;
			return column->length > 0 && column->length == att->attlen;
		}
		marker_offset += 1 + sort_column->width;
	}
	return false;
}

/* Places the columns in rows without NULLs. */
static void
make_full_row(KeyRow *rows)
{
	bool has_nulls = rows->ncolumns < rows->natts;
	uint32 offset = begin_row(rows, rows->full_row, has_nulls);

	for (int i = 0; i < rows->ncolumns; i++)
	{
		KeyRowColumn *column = &rows->columns[i];

		column->offset = att_align_nominal(offset, column->align);
		offset = column->offset + column->length;
		if (has_nulls)
			note_not_null(rows, rows->full_row, column->index);
	}
	end_row(rows, rows->full_row, offset);
}

/* A copy of this description, with its rows. */
static KeyRow *
finish_create(KeyRow *rows)
{
	/* as much as all columns take, each aligned */
	Size header = Max(MAXALIGN(SizeofMinimalTupleHeader + BITMAPLEN(rows->natts)),
					  INDEX_ROW_HEADER + IndexInfoFindDataOffset(INDEX_NULL_MASK));
	Size size = header + 2 * SORT_KEY_MAX_FIXED_WIDTH;
	KeyRow *result = palloc(sizeof(KeyRow));

	rows->row_size = size;
	rows->full_row = palloc0(size);
	rows->partial_row = palloc0(size);
	make_full_row(rows);
	*result = *rows;
	return result;
}

KeyRow *
key_row_create(const SortKey *key, TupleDesc desc, const Bitmapset *unused)
{
	KeyRow rows = {.natts = desc->natts, .null_bits = offsetof(MinimalTupleData, t_bits)};

	if (key->variable)
		return NULL;
	for (int i = 0; i < desc->natts; i++)
	{
		if (bms_is_member(i + 1, unused))
			continue;
		if (!find_column(key, desc, i, &rows.columns[rows.ncolumns]))
			return NULL;
		rows.ncolumns++;
	}
	return finish_create(&rows);
}

KeyRow *
key_row_create_index(const SortKey *key, TupleDesc desc)
{
	KeyRow rows = {.natts = desc->natts - 1,
				   .ncolumns = desc->natts - 1,
				   .null_bits = INDEX_ROW_HEADER + sizeof(IndexTupleData),
				   .is_index = true};

	if (key->variable)
		return NULL;
	for (int i = 0; i < rows.natts; i++)
	{
		if (!find_column(key, desc, i, &rows.columns[i]))
			return NULL;
	}
	if (!find_column(key, desc, rows.natts, &rows.tid))
		return NULL;
	return finish_create(&rows);
}

bool
key_row_possible(int ncolumns, const SortColumnSpec *columns, int natts)
{
	Bitmapset *told = NULL;

	for (int i = 0; i < ncolumns; i++)
	{
		SortKeyColumn column;
		Declined why_not;

		if (sort_key_describe(&columns[i], &column, &why_not) && value_length(column.kind) > 0)
			told = bms_add_member(told, columns[i].attno);
	}
	return bms_num_members(told) == natts;
}

static inline bool
is_null(const KeyRowColumn *column, const uint8 *key)
{
	return key[column->marker_offset] != column->value_marker;
}

/* A row some of whose columns are NULL. */
static pg_noinline MinimalTuple
make_partial_row(const KeyRow *rows, const uint8 *key)
{
	MinimalTuple row = rows->partial_row;
	uint32 offset;

	memset(row, 0, rows->row_size); /* what lies between and behind columns is the same in equal rows */
	offset = begin_row(rows, row, true);
	for (int i = 0; i < rows->ncolumns; i++)
	{
		const KeyRowColumn *column = &rows->columns[i];

		if (is_null(column, key))
			continue;
		offset = att_align_nominal(offset, column->align);
		decode_value(column, key + column->marker_offset + 1, (char *) row + offset);
		offset += column->length;
		note_not_null(rows, row, column->index);
	}
	end_row(rows, row, offset);
	return row;
}

/* The row of this key, but for the tuple's tid. */
static inline MinimalTuple
make_columns(KeyRow *rows, const uint8 *key)
{
	for (int i = 0; i < rows->ncolumns; i++)
	{
		const KeyRowColumn *column = &rows->columns[i];

		if (unlikely(is_null(column, key)))
			return make_partial_row(rows, key);
		decode_value(column, key + column->marker_offset + 1, (char *) rows->full_row + column->offset);
	}
	return rows->full_row;
}

MinimalTuple
key_row_make(KeyRow *rows, const uint8 *key)
{
	MinimalTuple row = make_columns(rows, key);

	if (rows->is_index)
		decode_tid(key + rows->tid.marker_offset + 1, rows->tid.invert, &((IndexRow *) row)->tuple.t_tid);
	return row;
}
