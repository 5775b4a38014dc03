/*
 * files/row_keys.c
 *		Sort keys made again out of rows, so that runs need not hold them.
 */
#include "postgres.h"

#include "executor/tuptable.h"

#include "files/row_keys.h"
#include "sort/chunk.h"

struct RowKeys
{
	SortKey *encoder;
	TupleTableSlot *slot;
};

RowKeys *
row_keys_create(const SortKey *key, TupleDesc desc)
{
	RowKeys *keys = palloc(sizeof(RowKeys));

	keys->encoder = sort_key_create_twin(key);
	keys->slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	return keys;
}

void
row_keys_fixed(RowKeys *keys, MinimalTuple row, uint64 *words)
{
	ExecStoreMinimalTuple(row, keys->slot, false);
	sort_key_encode_fixed(keys->encoder, keys->slot, (uint8 *) words);
	for (int i = 0; i < keys->encoder->width / (int) sizeof(uint64); i++)
		words[i] = KEY_WORD_TO_HOST(words[i]);
}

const uint8 *
row_keys_variable(RowKeys *keys, MinimalTuple row, Size *size)
{
	ExecStoreMinimalTuple(row, keys->slot, false);
	return sort_key_encode_variable(keys->encoder, keys->slot, size);
}

void
row_keys_end(RowKeys *keys)
{
	ExecDropSingleTupleTableSlot(keys->slot);
	pfree(keys);
}
