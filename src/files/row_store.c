/*
 * files/row_store.c
 *		Sorted rows in a temporary file, read in both directions from any place.
 *
 * A row stands between two copies of its size, so that either neighbour can be found.
 */
#include "postgres.h"

#include "base/pg_compat.h"
#include "files/row_store.h"

#define SIZE_FIELD sizeof(uint64)

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
	uint64 size = row_stored_size(row);

	buffile_write(store->file, &size, SIZE_FIELD);
	buffile_write(store->file, row, size);
	buffile_write(store->file, &size, SIZE_FIELD);
	store->bytes += size + 2 * SIZE_FIELD;
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
read_row(RowStore *store, uint64 offset, uint64 size)
{
	if (size > store->row_capacity)
	{
		if (store->row != NULL)
			pfree(store->row);
		store->row = MemoryContextAllocHuge(store->context, size);
		store->row_capacity = size;
	}
	read_at(store, offset + SIZE_FIELD, store->row, size);
	store->position.on_row = true;
	store->position.offset = offset;
	store->position.size = size + 2 * SIZE_FIELD;
	return (MinimalTuple) store->row;
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
	uint64 size;

	if (forward)
	{
		uint64 next = position->on_row ? position->offset + position->size : position->offset;

		if (next == store->bytes)
			return step_off(store, store->bytes);
		read_at(store, next, &size, SIZE_FIELD);
		return read_row(store, next, size);
	}
	if (position->offset == 0)
		return step_off(store, 0);
	read_at(store, position->offset - SIZE_FIELD, &size, SIZE_FIELD);
	return read_row(store, position->offset - size - 2 * SIZE_FIELD, size);
}

void
row_store_drop(RowStore *store)
{
	BufFileClose(store->file);
	if (store->row != NULL)
		pfree(store->row);
	pfree(store);
}
