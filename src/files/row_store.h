/*
 * files/row_store.h
 *		Sorted rows in a temporary file, read in both directions from any place.
 *
 * What a spilled sort becomes when it must be read backwards or again: scroll cursors, mark and restore.
 */
#ifndef GPUSORT_FILES_ROW_STORE_H
#define GPUSORT_FILES_ROW_STORE_H

#include "postgres.h"

#include "storage/buffile.h"

#include "sort/chunk.h"

/* A position: on a row, or before the first, or after the last. */
typedef struct RowStorePosition
{
	bool on_row;
	uint64 offset; /* of the row, or where the next one would start */
	uint64 size;   /* of the row in the file */
} RowStorePosition;

typedef struct RowStore
{
	MemoryContext context; /* the one it was made in */
	BufFile *file;
	uint64 bytes;
	RowStorePosition position;
	MinimalTuple row; /* the row last read */
	Size row_capacity;
} RowStore;

extern RowStore *row_store_create(void);
extern void row_store_write(RowStore *store, MinimalTuple row);

/* Back before the first row. */
extern void row_store_rewind(RowStore *store);

/* The row after or before the position, which moves to it, or NULL; good until the next call. */
extern MinimalTuple row_store_next(RowStore *store, bool forward);

extern void row_store_drop(RowStore *store);

#endif /* GPUSORT_FILES_ROW_STORE_H */
