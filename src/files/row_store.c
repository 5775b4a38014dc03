/*
 * files/row_store.c
 *		Sorted rows in a temporary file, read in both directions from any place.
 *
 * A row stands between two copies of its length (t_len), so that either neighbour can be found.  What
 * precedes its infomask2, that length and padding, is not written besides.
 */
#include "postgres.h"

#include "base/pg_compat.h"
#include "files/row_store.h"

/* Where a row begins in the file. */
#define ROW_BODY_OFFSET offsetof(MinimalTupleData, t_infomask2)

#define LENGTH_FIELD sizeof(uint32)

/* Bytes that a row of this length takes in the file. */
static inline uint64
stored_size(uint32 length)
{
	return length - ROW_BODY_OFFSET + 2 * LENGTH_FIELD;
}

RowStore *
row_store_create(void)
{
	RowStore *store = palloc0(sizeof(RowStore));

	store->context = CurrentMemoryContext;
	store->file = BufFileCreateTemp(false);
	return store;
}

void
row_store_write(RowStore *store, MinimalTuple row)
{
	buffile_write(store->file, &row->t_len, LENGTH_FIELD);
	buffile_write(store->file, (const char *) row + ROW_BODY_OFFSET, row->t_len - ROW_BODY_OFFSET);
	buffile_write(store->file, &row->t_len, LENGTH_FIELD);
	store->bytes += stored_size(row->t_len);
}

void
row_store_rewind(RowStore *store)
{
	memset(&store->position, 0, sizeof(store->position));
}

static void
read_at(RowStore *store, uint64 offset, void *dst, Size size)
{
	if (BufFileSeek(store->file, 0, offset, SEEK_SET) != 0 || buffile_read(store->file, dst, size) != size)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not read a sort's temporary file: it ends too early")));
}

static MinimalTuple
read_row(RowStore *store, uint64 offset, uint32 length)
{
	if (length > store->row_capacity)
	{
		if (store->row != NULL)
			pfree(store->row);
		store->row = MemoryContextAllocHuge(store->context, length);
		store->row_capacity = length;
		memset(store->row, 0, ROW_BODY_OFFSET);
	}
	store->row->t_len = length;
	read_at(store, offset + LENGTH_FIELD, (char *) store->row + ROW_BODY_OFFSET, length - ROW_BODY_OFFSET);
	store->position.on_row = true;
	store->position.offset = offset;
	store->position.size = stored_size(length);
	return store->row;
}

/* Leaves the rows; offset is 0 or the end of the file. */
static MinimalTuple
step_off(RowStore *store, uint64 offset)
{
	store->position.on_row = false;
	store->position.offset = offset;
	return NULL;
}

MinimalTuple
row_store_next(RowStore *store, bool forward)
{
	RowStorePosition *position = &store->position;
	uint32 length;

	if (forward)
	{
		uint64 next = position->on_row ? position->offset + position->size : position->offset;

		if (next == store->bytes)
			return step_off(store, store->bytes);
		read_at(store, next, &length, LENGTH_FIELD);
		return read_row(store, next, length);
	}
	if (position->offset == 0)
		return step_off(store, 0);
	read_at(store, position->offset - LENGTH_FIELD, &length, LENGTH_FIELD);
	return read_row(store, position->offset - stored_size(length), length);
}

void
row_store_drop(RowStore *store)
{
	BufFileClose(store->file);
	if (store->row != NULL)
		pfree(store->row);
	pfree(store);
}
