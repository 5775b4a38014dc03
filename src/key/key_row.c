/*
 * key/key_row.c
 *		Rows that are made of their keys: the encoders of fixed.h the other way round.
 *
 * Values are written where they stand in the row, as the bytes that they are there.  Rows of fixed keys
 * without NULLs, or all of them with the same columns left out, have these at the same places: their header
 * is made once.  Variable keys are read from their beginning to their end, for their columns are those of the
 * row, one after the other.
 *
 * A variable key tells strings as index_form_tuple() leaves them if there is nothing to be fetched from out
 * of line or compressed: their bytes, behind a header of one byte where that will do.
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/tupmacs.h"
#include "utils/lsyscache.h"

#include "key/describe.h"
#include "key/encoders.h"
#include "key/fixed.h"
#include "key/key_row.h"

/* Every column of a fixed key takes at least a byte of it: its value, and a marker unless it is NOT NULL. */
#define MAX_COLUMNS INDEX_MAX_KEYS
StaticAssertDecl(MAX_COLUMNS >= SORT_KEY_MAX_FIXED_WIDTH, "there is room for the columns of any key");

/* Bytes of the largest index tuple. */
#define INDEX_TUPLE_MAX INDEX_SIZE_MASK

/* Of the string that a key tells, with its header, at most. */
#define STRING_MAX TOAST_INDEX_TARGET

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
	int ncolumns;						   /* that are not left out */
	KeyRowColumn columns[MAX_COLUMNS + 1]; /* index tuples: behind those that of the tuple's tid */
	Size null_bits;						   /* where a row has its null bitmap */
	Size row_size;						   /* bytes that any row fits in */
	bool is_index;						   /* are the rows index tuples? */
	StoredRow full_row;	   /* one without NULLs but for the columns left out; variable keys: any */
	StoredRow partial_row; /* any other */

	/* Keys with codes: full_row is the row of `last`, but for the tid. */
	bool has_codes;
	bool has_last;
	bool repeats;	   /* has the row that was made last the columns of the one before? */
	Size columns_size; /* bytes of a key before the tid's column */
	uint64 last[SORT_KEY_MAX_FIXED_WIDTH / sizeof(uint64)];
};

/* ---------------------------------------------------------------- values */

/* Bytes of a value in a row; 0: it can't be told from its encoding. */
static int
value_length(const SortKeyColumn *sort_column)
{
	switch (sort_column->kind)
	{
		case SORT_KEY_FLOAT4: /* zeros and NaNs are lost */
		case SORT_KEY_FLOAT8:
		case SORT_KEY_INTERVAL: /* months */
		case SORT_KEY_ENUM:		/* oids */
			return 0;
		default:
			return sort_column->width;
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

/* Writes the value that src encodes to its place in a row. */
static inline void
decode_value(const KeyRowColumn *column, const uint8 *src, char *dst)
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
			decode_bytes(src, column->length, flip, dst);
			break;
		case SORT_KEY_TID:
			decode_tid(src, flip, (ItemPointer) dst);
			break;
		case SORT_KEY_TIMETZ:
			decode_timetz(src, flip, (TimeTzADT *) dst);
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
begin_row(const KeyRow *rows, StoredRow row, bool has_nulls)
{
	return rows->is_index ? begin_index_tuple((IndexRow *) row, has_nulls)
						  : begin_minimal_tuple(row, rows->natts, has_nulls);
}

/* The row's columns end there. */
static void
end_row(const KeyRow *rows, StoredRow row, uint32 length)
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
note_not_null(const KeyRow *rows, StoredRow row, int index)
{
	uint8 *bits = (uint8 *) row + rows->null_bits;

	bits[index >> 3] |= 1 << (index & 7);
}

/* What the row's column is, and its value in the key. */
static void
describe_column(const SortKeyColumn *sort_column, Form_pg_attribute att, KeyRowColumn *column)
{
	column->index = sort_column->attidx;
	column->length = value_length(sort_column);
	column->align = att->attalign;
	column->value_marker = sort_column->value_marker;
	column->kind = sort_column->kind;
	column->flip = sort_column->flip;
}

/* Finds this column of the row in the key; false: it isn't there, or does not tell the value. */
static bool
find_column(const SortKey *key, TupleDesc desc, int index, KeyRowColumn *column)
{
	Form_pg_attribute att = TupleDescAttr(desc, index);
	int offset = 0;

	for (int i = 0; i < key->ncols; i++)
	{
		const SortKeyColumn *sort_column = &key->cols[i];

		if (sort_column->attidx == index && !att->attisdropped)
		{
			describe_column(sort_column, att, column);
			column->marked = !sort_column->unmarked;
			column->offset_in_key = offset + sort_key_marker_bytes(sort_column);
			return column->length > 0 && column->length == att->attlen;
		}
		offset += sort_key_marker_bytes(sort_column) + sort_column->width;
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

/* Finds the row's columns in fixed keys; NULL: these don't tell all of them. */
static KeyRow *
create_fixed(KeyRow *rows, const SortKey *key, TupleDesc desc, const Bitmapset *unused)
{
	/* as much as all columns take, each aligned */
	Size header = Max(MAXALIGN(SizeofMinimalTupleHeader + BITMAPLEN(rows->natts)),
					  INDEX_ROW_HEADER + IndexInfoFindDataOffset(INDEX_NULL_MASK));
	int found = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		if (bms_is_member(i + 1, unused))
			continue;
		if (!find_column(key, desc, i, &rows->columns[found++]))
			return NULL;
	}
	rows->ncolumns = found - (desc->natts - rows->natts);
	rows->row_size = header + 2 * SORT_KEY_MAX_FIXED_WIDTH;
	rows->full_row = palloc0(rows->row_size);
	rows->partial_row = palloc0(rows->row_size);
	make_full_row(rows);
	return rows;
}

KeyRow *
key_row_create(const SortKey *key, TupleDesc desc, const Bitmapset *unused)
{
	KeyRow *rows = palloc0(sizeof(KeyRow));

	rows->natts = desc->natts;
	rows->null_bits = offsetof(MinimalTupleData, t_bits);
	return key->variable ? NULL : create_fixed(rows, key, desc, unused);
}

/* Is this a kind of strings whose bytes are in the key? */
static bool
tells_string(SortKeyKind kind)
{
	return kind == SORT_KEY_TEXT || kind == SORT_KEY_BPCHAR || kind == SORT_KEY_BYTEA;
}

/* Are the bytes of this column's strings in the key, as they are or behind a sort key? */
static bool
has_bytes(const SortKeyColumn *sort_column)
{
	if (sort_column->append == sort_key_append_icu)
		return get_collation_isdeterministic(sort_column->collation);
	return sort_column->append == sort_key_append_text || sort_column->append == sort_key_append_bytea;
}

/* Has no string of the row's column the long header if it need not? */
static bool
has_short_headers(Form_pg_attribute att)
{
	return att->attlen == -1 && att->attstorage != TYPSTORAGE_PLAIN;
}

/* Are the bytes of this column of the row in the key, and those of its headers known? */
static bool
is_told_string(const SortKeyColumn *sort_column, Form_pg_attribute att)
{
	return tells_string(sort_column->kind) && has_short_headers(att) && has_bytes(sort_column);
}

/* The columns of index tuples, as they come in variable keys; NULL: these don't tell all of them. */
static KeyRow *
create_variable(KeyRow *rows, const SortKey *key, TupleDesc desc)
{
	Size size = IndexInfoFindDataOffset(INDEX_NULL_MASK);

	if (key->ncols != desc->natts)
		return NULL;
	for (int i = 0; i < key->ncols; i++)
	{
		const SortKeyColumn *sort_column = &key->cols[i];
		Form_pg_attribute att = TupleDescAttr(desc, i);
		KeyRowColumn *column = &rows->columns[i];

		Assert(sort_column->attidx == i);
		describe_column(sort_column, att, column);
		column->has_sort_key = sort_column->append == sort_key_append_icu;
		if (column->length != Max(att->attlen, 0) ||
			(column->length == 0 && !is_told_string(sort_column, att)))
			return NULL;
		size += MAXIMUM_ALIGNOF + (column->length > 0 ? column->length : STRING_MAX);
	}
	if (size > INDEX_TUPLE_MAX)
		return NULL;
	rows->ncolumns = rows->natts;
	rows->full_row = palloc0(INDEX_ROW_HEADER + INDEX_TUPLE_MAX + 1);
	return rows;
}

KeyRow *
key_row_create_index(const SortKey *key, TupleDesc desc)
{
	KeyRow *rows = palloc0(sizeof(KeyRow));

	rows->natts = desc->natts - 1;
	rows->null_bits = INDEX_ROW_HEADER + sizeof(IndexTupleData);
	rows->is_index = true;
	return key->variable ? create_variable(rows, key, desc) : create_fixed(rows, key, desc, NULL);
}

/* Has one rank one value, byte for byte? */
static bool
is_told_by_rank(const SortKeyColumn *plain)
{
	if (plain->kind != SORT_KEY_NAME && plain->kind != SORT_KEY_TEXT && plain->kind != SORT_KEY_BPCHAR)
		return false;
	return !OidIsValid(plain->collation) || get_collation_isdeterministic(plain->collation);
}

bool
key_row_possible_coded(const SortKey *plain, uint32 coded)
{
	for (int i = 0; i < plain->ncols; i++)
	{
		bool is_coded = i < 32 && (coded >> i & 1) != 0;

		if (is_coded ? !is_told_by_rank(&plain->cols[i]) : value_length(&plain->cols[i]) == 0)
			return false;
	}
	return true;
}

/* The same of a column of the row.  Strings of char(n) have all their blanks. */
static bool
is_told_by_code(const SortKeyColumn *plain, Form_pg_attribute att)
{
	if (!is_told_by_rank(plain))
		return false;
	if (plain->kind == SORT_KEY_BPCHAR && att->atttypmod < VARHDRSZ)
		return false;
	return plain->kind == SORT_KEY_NAME || has_short_headers(att);
}

KeyRow *
key_row_create_coded(const SortKey *coded, const SortKey *plain, TupleDesc desc)
{
	KeyRow *rows = palloc0(sizeof(KeyRow));
	Size size = IndexInfoFindDataOffset(INDEX_NULL_MASK);

	rows->natts = rows->ncolumns = desc->natts - 1;
	rows->null_bits = INDEX_ROW_HEADER + sizeof(IndexTupleData);
	rows->is_index = rows->has_codes = true;
	if (coded->ncols != desc->natts)
		return NULL;
	for (int i = 0; i < coded->ncols; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		KeyRowColumn *column = &rows->columns[i];

		column->is_coded = coded->cols[i].kind == SORT_KEY_CODE;
		if (!column->is_coded && !find_column(coded, desc, i, column))
			return NULL;
		if (column->is_coded && !is_told_by_code(&plain->cols[i], att))
			return NULL;
		if (column->is_coded)
		{
			describe_column(&plain->cols[i], att, column);
			column->length = 0;
			column->marked = true;
			column->offset_in_key = rows->columns_size + 1;
		}
		if (i < rows->ncolumns)
			rows->columns_size += sort_key_marker_bytes(&coded->cols[i]) + coded->cols[i].width;
		size += MAXIMUM_ALIGNOF + (column->length > 0 ? column->length : STRING_MAX);
	}
	if (size > INDEX_TUPLE_MAX)
		return NULL;
	rows->full_row = palloc0(INDEX_ROW_HEADER + INDEX_TUPLE_MAX + 1);
	return rows;
}

void
key_row_set_values(KeyRow *rows, int coded, const ValueEntry *const *values)
{
	rows->has_last = false;
	for (int i = 0; i < rows->ncolumns; i++)
	{
		if (rows->columns[i].is_coded && coded-- == 0)
			rows->columns[i].values = values;
	}
}

bool
key_row_possible(int ncolumns, const SortColumnSpec *columns, int natts)
{
	Bitmapset *told = NULL;

	for (int i = 0; i < ncolumns; i++)
	{
		SortKeyColumn column;
		Declined why_not;

		if (sort_key_describe(&columns[i], &column, &why_not) &&
			(value_length(&column) > 0 ||
			 (tells_string(column.kind) && column.append != sort_key_append_imaged)))
			told = bms_add_member(told, columns[i].attno);
	}
	return bms_num_members(told) == natts;
}

static inline bool
is_null(const KeyRowColumn *column, const uint8 *key)
{
	return column->marked && key[column->offset_in_key - 1] != column->value_marker;
}

/* A row some of whose columns are NULL. */
static pg_noinline StoredRow
make_partial_row(const KeyRow *rows, const uint8 *key)
{
	StoredRow row = rows->partial_row;
	uint32 offset;

	memset(row, 0, rows->row_size); /* what lies between and behind columns is the same in equal rows */
	offset = begin_row(rows, row, true);
	for (int i = 0; i < rows->ncolumns; i++)
	{
		const KeyRowColumn *column = &rows->columns[i];

		if (is_null(column, key))
			continue;
		offset = att_align_nominal(offset, column->align);
		decode_value(column, key + column->offset_in_key, (char *) row + offset);
		offset += column->length;
		note_not_null(rows, row, column->index);
	}
	end_row(rows, row, offset);
	return row;
}

/* The row of this key, but for the tuple's tid. */
static inline StoredRow
make_columns(KeyRow *rows, const uint8 *key)
{
	for (int i = 0; i < rows->ncolumns; i++)
	{
		const KeyRowColumn *column = &rows->columns[i];

		if (unlikely(is_null(column, key)))
			return make_partial_row(rows, key);
		decode_value(column, key + column->offset_in_key, (char *) rows->full_row + column->offset);
	}
	return rows->full_row;
}

static StoredRow make_coded_row(KeyRow *rows, const uint8 *key);

StoredRow
key_row_make(KeyRow *rows, const uint8 *key)
{
	const KeyRowColumn *tid = &rows->columns[rows->ncolumns];
	StoredRow row = rows->has_codes ? make_coded_row(rows, key) : make_columns(rows, key);

	if (rows->is_index)
		decode_tid(key + tid->offset_in_key, tid->flip, &((IndexRow *) row)->tuple.t_tid);
	return row;
}

/* ---------------------------------------------------------------- rows of variable keys */

/* Is this value, not NULL, one that the key tells? */
static inline bool
tells_value(const KeyRowColumn *column, Datum datum)
{
	const struct varlena *value = (const struct varlena *) DatumGetPointer(datum);

	if (column->is_coded && column->kind == SORT_KEY_NAME)
		return true;
	if (VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value) || VARSIZE_ANY(value) > STRING_MAX)
		return false;
	/* blanks at the end are not in the key, but in the value that has the code */
	return column->is_coded || column->kind != SORT_KEY_BPCHAR || VARSIZE_ANY_EXHDR(value) == 0 ||
		   VARDATA_ANY(value)[VARSIZE_ANY_EXHDR(value) - 1] != ' ';
}

bool
key_row_tells(const KeyRow *rows, const TupleTableSlot *slot)
{
	for (int i = 0; i < rows->ncolumns; i++)
	{
		const KeyRowColumn *column = &rows->columns[i];

		if (column->length == 0 && !slot->tts_isnull[column->index] &&
			!tells_value(column, slot->tts_values[column->index]))
			return false;
	}
	return true;
}

/* A key that is being read. */
typedef struct KeyCursor
{
	const uint8 *at;
	const uint8 *end;
} KeyCursor;

/* The zero byte, of this column, that comes next in the key. */
static inline const uint8 *
find_zero(const KeyCursor *key, const KeyRowColumn *column)
{
	const uint8 *zero = memchr(key->at, (uint8) column->flip, key->end - key->at);

	if (unlikely(zero == NULL))
		elog(ERROR, "gpusort: a sort key has no end");
	return zero;
}

/* Reads the bytes of a string to dst; returns what is behind them there. */
static inline char *
decode_string(KeyCursor *key, const KeyRowColumn *column, char *dst)
{
	for (;;)
	{
		const uint8 *zero = find_zero(key, column);
		Size length = zero - key->at;

		if (column->flip == 0)
			memcpy(dst, key->at, length);
		else
			decode_bytes(key->at, length, column->flip, dst);
		dst += length;
		key->at = zero + 1;
		if (column->kind != SORT_KEY_BYTEA)
			return dst;
		if (*key->at++ == *zero)
			return dst;
		*dst++ = 0; /* the zero byte stands for itself */
	}
}

/* Fills the row with zeros from there up to an address that is aligned so; returns that. */
static inline char *
pad(char *dst, StoredRow row, char align)
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
head_string(const KeyRowColumn *column, StoredRow row, char *dst, Size length)
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
	(void) pad(dst, row, column->align);
	SET_VARSIZE(aligned, length + VARHDRSZ);
	return aligned + VARHDRSZ + length;
}

/* The row's columns end there. */
static inline void
end_columns(const KeyRow *rows, StoredRow row, char *dst)
{
	dst = pad(dst, row, TYPALIGN_DOUBLE);
	end_row(rows, row, dst - (char *) row);
}

/* The value was put into the row. */
static inline void
note_value(const KeyRow *rows, StoredRow row, const KeyRowColumn *column, bool has_nulls)
{
	if (has_nulls)
		note_not_null(rows, row, column->index);
}

/* Reads a string and puts it into the row as a value; returns what is behind that. */
static inline char *
append_string(KeyCursor *key, const KeyRowColumn *column, StoredRow row, char *dst)
{
	char *bytes = dst + VARHDRSZ_SHORT;

	if (column->has_sort_key)
		key->at = find_zero(key, column) + 1;
	return head_string(column, row, dst, decode_string(key, column, bytes) - bytes);
}

/* The same of any value. */
static inline char *
append_value(KeyCursor *key, const KeyRowColumn *column, StoredRow row, char *dst)
{
	if (column->length == 0)
	{
		((IndexRow *) row)->tuple.t_info |= INDEX_VAR_MASK;
		return append_string(key, column, row, dst);
	}
	dst = pad(dst, row, column->align);
	decode_value(column, key->at, dst);
	key->at += column->length;
	return dst + column->length;
}

/*
 * Makes the row of a key, with or without a map of NULLs, but for the tid, to which it moves the key; false:
 * there are NULLs, but no map.
 */
static inline bool
make_variable_row(const KeyRow *rows, KeyCursor *key, bool has_nulls)
{
	StoredRow row = rows->full_row;
	char *dst = (char *) row + begin_row(rows, row, has_nulls);

	for (int i = 0; i < rows->ncolumns; i++)
	{
		const KeyRowColumn *column = &rows->columns[i];

		if (*key->at++ == column->value_marker)
		{
			dst = append_value(key, column, row, dst);
			note_value(rows, row, column, has_nulls);
		}
		else if (!has_nulls)
			return false;
	}
	end_columns(rows, row, dst);
	return true;
}

StoredRow
key_row_make_variable(KeyRow *rows, const uint8 *bytes, Size size)
{
	KeyCursor key = {bytes, bytes + size};

	if (unlikely(!make_variable_row(rows, &key, false)))
	{
		key.at = bytes;
		(void) make_variable_row(rows, &key, true);
	}
	decode_tid(key.at + 1, rows->columns[rows->ncolumns].flip, &((IndexRow *) rows->full_row)->tuple.t_tid);
	return rows->full_row;
}

/* ---------------------------------------------------------------- rows of keys with codes */

/* Does the key begin as that of which the last row was made? */
static inline bool
begins_as_last(const KeyRow *rows, const uint64 *key)
{
	int nwords = rows->columns_size / sizeof(uint64);
	int more = rows->columns_size % sizeof(uint64) * BITS_PER_BYTE;

	for (int i = 0; i < nwords; i++)
	{
		if (rows->last[i] != key[i])
			return false;
	}
	return more == 0 || (sort_key_load64((const uint8 *) &rows->last[nwords]) ^
						 sort_key_load64((const uint8 *) &key[nwords])) >>
								(64 - more) ==
							0;
}

/* Appends a value of a table. */
static inline char *
append_entry(const KeyRowColumn *column, StoredRow row, char *dst, const ValueEntry *entry)
{
	Size length = VARSIZE_4B(&entry->header) - VARHDRSZ;

	((IndexRow *) row)->tuple.t_info |= INDEX_VAR_MASK;
	if (column->kind == SORT_KEY_NAME)
	{
		length = strnlen(entry->bytes, length);
		memcpy(dst, entry->bytes, length);
		dst[length] = 0;
		return dst + length + 1;
	}
	memcpy(dst + VARHDRSZ_SHORT, entry->bytes, length);
	return head_string(column, row, dst, length);
}

/* Makes the columns of full_row anew. */
static void
make_coded_columns(KeyRow *rows, const uint8 *key, bool has_nulls)
{
	StoredRow row = rows->full_row;
	char *dst = (char *) row + begin_row(rows, row, has_nulls);

	for (int i = 0; i < rows->ncolumns; i++)
	{
		const KeyRowColumn *column = &rows->columns[i];
		const uint8 *value = key + column->offset_in_key;

		if (is_null(column, key))
			continue;
		if (column->is_coded)
			dst = append_entry(column, row, dst, column->values[sort_key_load32(value)]);
		else
		{
			dst = pad(dst, row, column->align);
			decode_value(column, value, dst);
			dst += column->length;
		}
		note_value(rows, row, column, has_nulls);
	}
	end_columns(rows, row, dst);
}

static StoredRow
make_coded_row(KeyRow *rows, const uint8 *key)
{
	bool has_nulls = false;

	rows->repeats = rows->has_last && begins_as_last(rows, (const uint64 *) key);
	if (likely(rows->repeats))
		return rows->full_row;
	for (int i = 0; i < rows->ncolumns; i++)
		has_nulls |= is_null(&rows->columns[i], key);
	make_coded_columns(rows, key, has_nulls);
	memcpy(rows->last, key, TYPEALIGN(sizeof(uint64), rows->columns_size));
	rows->has_last = true;
	return rows->full_row;
}

bool
key_row_repeats(const KeyRow *rows, const IndexTupleData *tuple)
{
	return tuple == &((const IndexRow *) rows->full_row)->tuple && rows->repeats;
}
