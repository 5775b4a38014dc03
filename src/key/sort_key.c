/*
 * key/sort_key.c
 *		Normalized sort keys: the encoder of whole rows.
 *
 * describe.c decides what each column becomes; fixed.h encodes values of fixed width, and the functions of
 * encoders.h the others.  Here the columns are put one after the other.  column.h says why the result orders
 * as PostgreSQL does.
 */
#include "postgres.h"

#include "key/builder.h"
#include "key/changes.h"
#include "key/compare.h"
#include "key/describe.h"
#include "key/encoders.h"
#include "key/fixed.h"
#include "key/prepare.h"
#include "key/sort_key.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#define INITIAL_BUFFER_SIZE 1024

/*
 * Where all columns are verified they can be told apart as they stand; where some are, their places are noted
 * at the key's end.
 */
static void
prepare_places(SortKey *key)
{
	int nverified = 0;

	for (int i = 0; i < key->ncols; i++)
		nverified += key->cols[i].verified;
	key->nplaces = nverified < key->ncols ? nverified : 0;
	key->builder.places = palloc(sizeof(uint64) * nverified);
}

SortKey *
sort_key_create(int ncols, const SortColumnSpec *columns)
{
	SortKey *key = palloc0(sizeof(SortKey));

	key->ncols = ncols;
	key->cols = palloc0(ncols * sizeof(SortKeyColumn));

	for (int i = 0; i < ncols; i++)
	{
		SortKeyColumn *col = &key->cols[i];
		Declined why_not;

		(void) sort_key_describe_anyhow(&columns[i], col, &why_not);
		key->verified |= col->verified;
		key->uses_icu |= col->uses_icu;
		key->last_attno = Max(key->last_attno, columns[i].attno);
	}
	key->description = sort_key_hash_columns(ncols, key->cols, InvalidOid);
	for (int i = 0; i < ncols; i++)
		sort_key_prepare_column(&key->cols[i]);
	prepare_places(key);

	key->width = sort_key_fixed_width(ncols, key->cols);
	key->variable = key->width == 0;
	if (key->variable)
	{
		for (int i = 0; i < ncols; i++)
			key->cols[i].unmarked = false;
		key->builder.buffer_size = INITIAL_BUFFER_SIZE;
		key->builder.buffer = palloc(INITIAL_BUFFER_SIZE);
		key->builder.scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort detoasted sort keys",
													 ALLOCSET_DEFAULT_SIZES);
	}
	return key;
}

/* ---------------------------------------------------------------- ends */

SortKeyEnds
sort_key_ends(const SortKey *key)
{
	const SortKeyColumn *col = key->cols;
	bool imaged = col->append == sort_key_append_imaged;

	return (SortKeyEnds){
		.shown = key->ncols == 1 && (imaged || col->append == sort_key_append_text) && !key->policy.alone,
		.imaged = imaged,
		.descending = col->descending,
	};
}

Size
sort_key_prefix_width(const SortKey *key, int ncolumns)
{
	Size width = 0;

	for (int i = 0; i < ncolumns; i++)
		width += sort_key_marker_bytes(&key->cols[i]) + key->cols[i].width;
	return width;
}

SortKey *
sort_key_create_twin(const SortKey *key)
{
	SortKey *twin = palloc(sizeof(SortKey));

	*twin = *key;
	if (twin->variable)
		twin->builder.buffer = MemoryContextAllocHuge(CurrentMemoryContext, key->builder.buffer_size);
	return twin;
}

StaticAssertDecl(SORT_KEY_MAX_FIXED_WIDTH <= 32, "each column of a fixed key has a bit");

uint32
sort_key_unmarked(const SortKey *key)
{
	uint32 unmarked = 0;

	for (int i = 0; i < key->ncols; i++)
	{
		if (key->cols[i].unmarked)
			unmarked |= (uint32) 1 << i;
	}
	return unmarked;
}

void
sort_key_set_unmarked(int ncols, SortColumnSpec *columns, uint32 unmarked)
{
	for (int i = 0; i < ncols; i++)
		columns[i].not_null = i < 32 && (unmarked >> i & 1) != 0;
}

/* A NULL in a column of a table that forbids them: the table is damaged. */
static pg_noinline void
report_null(const SortKeyColumn *col)
{
	ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("a sort column that is NOT NULL contains a NULL"),
					errdetail("The column is number %d of the rows to be sorted, and has type %s.",
							  col->attidx + 1, format_type_be(col->type)),
					errhint("The table or its catalog entries are damaged. Set gpusort.mode to off to sort "
							"the rows nevertheless.")));
}

/* A single column of 8 bytes or 4: whole words, the marker, if any, stored with the value. */
static inline bool
encode_single(const SortKeyColumn *col, Datum value, bool isnull, uint8 *dst)
{
	uint64 marker = (uint64) (isnull ? col->null_marker : col->value_marker) << 56;
	uint64 word;

	if (unlikely(isnull && col->unmarked))
		report_null(col);
	if (col->width == 8 && col->unmarked)
	{
		sort_key_store64(dst, sort_key_order64(col, value));
		return true;
	}
	if (col->width == 8)
	{
		word = isnull ? 0 : sort_key_order64(col, value);
		sort_key_store64(dst, marker | word >> 8);
		sort_key_store64(dst + 8, word << 56);
		return true;
	}
	if (col->width == 4)
	{
		word = isnull ? 0 : sort_key_order32(col, value);
		sort_key_store64(dst, col->unmarked ? word << 32 : marker | word << 24);
		return true;
	}
	return false;
}

/* Does a table's row have all columns that the key needs, and no NULL? */
static inline bool
row_is_complete(const SortKey *key, HeapTupleHeader row)
{
	return (row->t_infomask & HEAP_HASNULL) == 0 && HeapTupleHeaderGetNatts(row) >= key->last_attno;
}

/* A column's value in such a row; false: its place is not the same in all rows. */
static inline bool
find_value(TupleDesc desc, int column, HeapTupleHeader row, Datum *value)
{
	const CompactAttribute *att = TupleDescCompactAttr(desc, column);

	if (att->attcacheoff < 0)
		return false;
	*value = fetchatt(att, (const char *) row + row->t_hoff + att->attcacheoff);
	return true;
}

/* Writes a column's part of a key; returns where the next one's begins. */
static inline uint8 *
encode_column(const SortKeyColumn *col, Datum value, bool isnull, uint8 *dst)
{
	if (unlikely(isnull))
	{
		if (unlikely(col->unmarked))
			report_null(col);
		*dst++ = col->null_marker;
		memset(dst, 0, col->width);
	}
	else
	{
		if (!col->unmarked)
			*dst++ = col->value_marker;
		sort_key_store_fixed(col, value, dst);
	}
	return dst + col->width;
}

/* Zeros where a key is padded; columns overwrite what is theirs. */
static inline void
clear_padding(const SortKey *key, uint8 *dst)
{
	memset(dst + key->width - 8, 0, 8);
}

bool
sort_key_encode_stored(SortKey *key, TupleDesc desc, HeapTupleHeader row, uint8 *dst)
{
	const SortKeyColumn *col = key->cols;
	const SortKeyColumn *end = col + key->ncols;
	Datum value;

	if (!row_is_complete(key, row))
		return false;
	if (key->ncols == 1 && find_value(desc, col->attidx, row, &value) &&
		encode_single(col, value, false, dst))
		return true;
	clear_padding(key, dst);
	for (; col < end; col++)
	{
		if (!find_value(desc, col->attidx, row, &value))
			return false;
		dst = encode_column(col, value, false, dst);
	}
	return true;
}

void
sort_key_encode_fixed(SortKey *key, TupleTableSlot *slot, uint8 *dst)
{
	const SortKeyColumn *col = key->cols;
	const SortKeyColumn *end = col + key->ncols;

	if (slot->tts_nvalid < key->last_attno && (TTS_IS_BUFFERTUPLE(slot) || TTS_IS_HEAPTUPLE(slot)) &&
		sort_key_encode_stored(key, slot->tts_tupleDescriptor, ((HeapTupleTableSlot *) slot)->tuple->t_data,
							   dst))
		return;
	slot_getsomeattrs(slot, key->last_attno);
	if (key->ncols == 1 &&
		encode_single(col, slot->tts_values[col->attidx], slot->tts_isnull[col->attidx], dst))
		return;
	clear_padding(key, dst);
	for (; col < end; col++)
		dst = encode_column(col, slot->tts_values[col->attidx], slot->tts_isnull[col->attidx], dst);
}

static inline void
drop_trailing_zeros(SortKeyBuilder *key)
{
	while (key->length > 0 && key->buffer[key->length - 1] == 0)
		key->length--;
}

/*
 * A slot's columns, or, without a slot, those of a complete row of a table; NULL: one of them is not found.
 */
static pg_attribute_always_inline const uint8 *
encode_variable(SortKey *key, TupleTableSlot *slot, TupleDesc desc, HeapTupleHeader row, Size *len)
{
	SortKeyBuilder *builder = &key->builder;
	int nplaces = 0;

	builder->length = 0;
	builder->tail = NULL;
	builder->tail_end = 0;
	for (int i = 0; i < key->ncols; i++)
	{
		SortKeyColumn *col = &key->cols[i];
		bool isnull = slot != NULL && slot->tts_isnull[col->attidx];
		Datum value;

		if (slot != NULL)
			value = slot->tts_values[col->attidx];
		else if (!find_value(desc, col->attidx, row, &value))
			return NULL;
		if (unlikely(col->verified))
			builder->places[nplaces++] = builder->length;
		sort_key_append_column(builder, col, value, isnull);
		if (i + 1 == builder->group_columns)
			builder->group_end = builder->length;
	}

	if (unlikely(key->nplaces > 0))
		sort_key_append_places(key);
	if (builder->tail_end != builder->length || key->cols[key->ncols - 1].descending)
		builder->tail = NULL;

	if (unlikely(builder->detoasted))
	{
		MemoryContextReset(builder->scratch);
		builder->detoasted = false;
	}

	if (!key->policy.alone)
		drop_trailing_zeros(builder);
	*len = builder->length;
	return builder->buffer;
}

const uint8 *
sort_key_encode_variable(SortKey *key, TupleTableSlot *slot, Size *len)
{
	slot_getsomeattrs(slot, key->last_attno);
	return encode_variable(key, slot, NULL, NULL, len);
}

const uint8 *
sort_key_encode_variable_stored(SortKey *key, TupleDesc desc, HeapTupleHeader row, Size *len)
{
	return row_is_complete(key, row) ? encode_variable(key, NULL, desc, row, len) : NULL;
}
