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

#include "utils/lsyscache.h"

#include "key/describe.h"
#include "key/encoders.h"
#include "key/key_row.h"
#include "key/key_row_coded.h"
#include "key/key_row_layout.h"

/* ---------------------------------------------------------------- creating */

/* Places the columns in rows without NULLs. */
static void
make_full_row(KeyRow *rows)
{
	bool has_nulls = rows->ncolumns < rows->natts;
	uint32 offset = key_row_begin(rows, rows->full_row, has_nulls);

	for (int i = 0; i < rows->ncolumns; i++)
	{
		KeyRowColumn *column = &rows->columns[i];

		column->offset = att_align_nominal(offset, column->align);
		offset = column->offset + column->length;
		if (has_nulls)
			key_row_note_not_null(rows, rows->full_row, column->index);
	}
	key_row_end(rows, rows->full_row, offset);
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
		if (!key_row_find_column(key, desc, i, &rows->columns[found++]))
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

/* Are the bytes of this column of the row in the key, and those of its headers known? */
static bool
is_told_string(const SortKeyColumn *sort_column, Form_pg_attribute att)
{
	return tells_string(sort_column->kind) && key_row_has_short_headers(att) && has_bytes(sort_column);
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
		key_row_describe_column(sort_column, att, column);
		column->has_sort_key = sort_column->append == sort_key_append_icu;
		if (column->length != Max(att->attlen, 0) ||
			(column->length == 0 && !is_told_string(sort_column, att)))
			return NULL;
		size += MAXIMUM_ALIGNOF + (column->length > 0 ? column->length : KEY_ROW_STRING_MAX);
	}
	if (size > KEY_ROW_INDEX_TUPLE_MAX)
		return NULL;
	rows->ncolumns = rows->natts;
	rows->full_row = palloc0(INDEX_ROW_HEADER + KEY_ROW_INDEX_TUPLE_MAX + 1);
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

bool
key_row_possible(int ncolumns, const SortColumnSpec *columns, int natts)
{
	Bitmapset *told = NULL;

	for (int i = 0; i < ncolumns; i++)
	{
		SortKeyColumn column;
		Declined why_not;

		if (sort_key_describe(&columns[i], &column, &why_not) &&
			(key_row_value_length(&column) > 0 ||
			 (tells_string(column.kind) && column.append != sort_key_append_imaged)))
			told = bms_add_member(told, columns[i].attno);
	}
	return bms_num_members(told) == natts;
}

/* ---------------------------------------------------------------- rows of fixed keys */

/* A row some of whose columns are NULL. */
static pg_noinline StoredRow
make_partial_row(const KeyRow *rows, const uint8 *key)
{
	StoredRow row = rows->partial_row;
	uint32 offset;

	memset(row, 0, rows->row_size); /* what lies between and behind columns is the same in equal rows */
	offset = key_row_begin(rows, row, true);
	for (int i = 0; i < rows->ncolumns; i++)
	{
		const KeyRowColumn *column = &rows->columns[i];

		if (key_row_is_null(column, key))
			continue;
		offset = att_align_nominal(offset, column->align);
		key_row_decode_value(column, key + column->offset_in_key, (char *) row + offset);
		offset += column->length;
		key_row_note_not_null(rows, row, column->index);
	}
	key_row_end(rows, row, offset);
	return row;
}

/* The row of this key, but for the tuple's tid. */
static inline StoredRow
make_columns(KeyRow *rows, const uint8 *key)
{
	for (int i = 0; i < rows->ncolumns; i++)
	{
		const KeyRowColumn *column = &rows->columns[i];

		if (unlikely(key_row_is_null(column, key)))
			return make_partial_row(rows, key);
		key_row_decode_value(column, key + column->offset_in_key, (char *) rows->full_row + column->offset);
	}
	return rows->full_row;
}

StoredRow
key_row_make(KeyRow *rows, const uint8 *key)
{
	const KeyRowColumn *tid = &rows->columns[rows->ncolumns];
	StoredRow row = rows->has_codes ? key_row_make_coded(rows, key) : make_columns(rows, key);

	if (rows->is_index)
		key_row_decode_tid(key + tid->offset_in_key, tid->flip, &((IndexRow *) row)->tuple.t_tid);
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
	if (VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value) || VARSIZE_ANY(value) > KEY_ROW_STRING_MAX)
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
			key_row_decode_bytes(key->at, length, column->flip, dst);
		dst += length;
		key->at = zero + 1;
		if (column->kind != SORT_KEY_BYTEA)
			return dst;
		if (*key->at++ == *zero)
			return dst;
		*dst++ = 0; /* the zero byte stands for itself */
	}
}
static inline char *
append_string(KeyCursor *key, const KeyRowColumn *column, StoredRow row, char *dst)
{
	char *bytes = dst + VARHDRSZ_SHORT;

	if (column->has_sort_key)
		key->at = find_zero(key, column) + 1;
	return key_row_head_string(column, row, dst, decode_string(key, column, bytes) - bytes);
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
	dst = key_row_pad(dst, row, column->align);
	key_row_decode_value(column, key->at, dst);
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
	char *dst = (char *) row + key_row_begin(rows, row, has_nulls);

	for (int i = 0; i < rows->ncolumns; i++)
	{
		const KeyRowColumn *column = &rows->columns[i];

		if (*key->at++ == column->value_marker)
		{
			dst = append_value(key, column, row, dst);
			key_row_note_value(rows, row, column, has_nulls);
		}
		else if (!has_nulls)
			return false;
	}
	key_row_end_columns(rows, row, dst);
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
	key_row_decode_tid(key.at + 1, rows->columns[rows->ncolumns].flip,
					   &((IndexRow *) rows->full_row)->tuple.t_tid);
	return rows->full_row;
}
