/*
 * key/key_row_coded.c
 *		Index tuples that are made of keys with codes or ranks, from the entries of the tables of values.
 *
 * In an index the same columns often follow each other, with other tids.  Such a row is not made again: it
 * gets only its tid.
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "key/column.h"
#include "key/key_row_coded.h"
#include "key/key_row_layout.h"

/* ---------------------------------------------------------------- which keys */

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

		if (is_coded ? !is_told_by_rank(&plain->cols[i]) : key_row_value_length(&plain->cols[i]) == 0)
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
	return plain->kind == SORT_KEY_NAME || key_row_has_short_headers(att);
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
		if (!column->is_coded && !key_row_find_column(coded, desc, i, column))
			return NULL;
		if (column->is_coded && !is_told_by_code(&plain->cols[i], att))
			return NULL;
		if (column->is_coded)
		{
			key_row_describe_column(&plain->cols[i], att, column);
			column->length = 0;
			column->marked = true;
			column->offset_in_key = rows->columns_size + 1;
		}
		if (i < rows->ncolumns)
			rows->columns_size += sort_key_marker_bytes(&coded->cols[i]) + coded->cols[i].width;
		size += MAXIMUM_ALIGNOF + (column->length > 0 ? column->length : KEY_ROW_STRING_MAX);
	}
	if (size > KEY_ROW_INDEX_TUPLE_MAX)
		return NULL;
	rows->full_row = palloc0(INDEX_ROW_HEADER + KEY_ROW_INDEX_TUPLE_MAX + 1);
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

/* ---------------------------------------------------------------- rows */

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
	return key_row_head_string(column, row, dst, length);
}

/* Makes the columns of full_row anew. */
static void
make_coded_columns(KeyRow *rows, const uint8 *key, bool has_nulls)
{
	StoredRow row = rows->full_row;
	char *dst = (char *) row + key_row_begin(rows, row, has_nulls);

	for (int i = 0; i < rows->ncolumns; i++)
	{
		const KeyRowColumn *column = &rows->columns[i];
		const uint8 *value = key + column->offset_in_key;

		if (key_row_is_null(column, key))
			continue;
		if (column->is_coded)
			dst = append_entry(column, row, dst, column->values[sort_key_load32(value)]);
		else
		{
			dst = key_row_pad(dst, row, column->align);
			key_row_decode_value(column, value, dst);
			dst += column->length;
		}
		key_row_note_value(rows, row, column, has_nulls);
	}
	key_row_end_columns(rows, row, dst);
}

StoredRow
key_row_make_coded(KeyRow *rows, const uint8 *key)
{
	bool has_nulls = false;

	rows->repeats = rows->has_last && begins_as_last(rows, (const uint64 *) key);
	if (likely(rows->repeats))
		return rows->full_row;
	for (int i = 0; i < rows->ncolumns; i++)
		has_nulls |= key_row_is_null(&rows->columns[i], key);
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
