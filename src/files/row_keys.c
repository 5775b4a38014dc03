/*
 * files/row_keys.c
 *		Sort keys made again out of rows, so that runs need not hold them.
 */
#include "postgres.h"

#include "access/itup.h"
#include "executor/tuptable.h"

#include "base/pg_compat.h"
#include "files/row_keys.h"
#include "key/compare.h"
#include "key/sort_key.h"
#include "key/types.h"
#include "sort/chunk.h"

struct RowKeys
{
	SortKey *encoder;
	TupleTableSlot *slot;
	TupleDesc index_desc; /* of rows that are index tuples: of what they hold; else NULL */
};

/* The columns of an index, of those of its rows, the last of which is the tid. */
static TupleDesc
index_columns(TupleDesc rows)
{
	TupleDesc desc = CreateTemplateTupleDesc(rows->natts - 1);

	for (int i = 1; i <= desc->natts; i++)
		TupleDescCopyEntry(desc, i, rows, i);
	TupleDescFinalize(desc);
	return desc;
}

RowKeys *
row_keys_create(const SortKey *key, TupleDesc desc)
{
	RowKeys *keys = palloc0(sizeof(RowKeys));
	bool is_index = key->policy.index_rows != NULL;

	keys->encoder = sort_key_create_twin(key);
	keys->slot = MakeSingleTupleTableSlot(desc, is_index ? &TTSOpsVirtual : &TTSOpsMinimalTuple);
	if (is_index)
		keys->index_desc = index_columns(desc);
	return keys;
}

void
row_keys_make_images(RowKeys *keys, bool make)
{
	keys->encoder->builder.without_images = !make;
}

static inline void
store_index_row(RowKeys *keys, IndexRow *row)
{
	TupleTableSlot *slot = keys->slot;
	int tid = keys->index_desc->natts;

	ExecClearTuple(slot);
	index_deform_tuple(&row->tuple, keys->index_desc, slot->tts_values, slot->tts_isnull);
	slot->tts_values[tid] = PointerGetDatum(&row->tuple.t_tid); /* tts_isnull is false in a new slot */
	ExecStoreVirtualTuple(slot);
}

static inline void
store_row(RowKeys *keys, StoredRow row)
{
	if (keys->index_desc != NULL)
		store_index_row(keys, (IndexRow *) row);
	else
		ExecStoreMinimalTuple(row, keys->slot, false);
}

void
row_keys_fixed(RowKeys *keys, StoredRow row, uint64 *words)
{
	store_row(keys, row);
	sort_key_encode_fixed(keys->encoder, keys->slot, (uint8 *) words);
	for (int i = 0; i < keys->encoder->width / (int) sizeof(uint64); i++)
		words[i] = KEY_WORD_TO_HOST(words[i]);
}

const uint8 *
row_keys_variable(RowKeys *keys, StoredRow row, Size *size)
{
	store_row(keys, row);
	return sort_key_encode_variable(keys->encoder, keys->slot, size);
}

void
row_keys_end(RowKeys *keys)
{
	ExecDropSingleTupleTableSlot(keys->slot);
	pfree(keys);
}
