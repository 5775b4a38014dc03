/*
 * files/row_store.c
 *		Rows in a temporary file, read in both directions.
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
row_store_clear(RowStore *store)
{
	store->bytes = 0;
	if (BufFileSeek(store->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not rewind a sort's temporary file")));
}

void
row_store_go_behind(RowStore *store)
{
	store->offset = store->bytes;
	store->size = 0;
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
	store->offset = offset;
	store->size = stored_size(length);
	return store->row;
}

MinimalTuple
row_store_next(RowStore *store, bool forward)
{
	uint64 next = store->offset + store->size;
	uint32 length;

	Assert(forward ? next < store->bytes : store->offset > 0);
	if (forward)
	{
		read_at(store, next, &length, LENGTH_FIELD);
		return read_row(store, next, length);
	}
	read_at(store, store->offset - LENGTH_FIELD, &length, LENGTH_FIELD);
	return read_row(store, store->offset - stored_size(length), length);
}

void
row_store_drop(RowStore *store)
{
	BufFileClose(store->file);
	if (store->row != NULL)
		pfree(store->row);
	pfree(store);
}
