/*
 * files/row_store.h
 *		Rows in a temporary file, read in both directions.
 */
#ifndef GPUSORT_FILES_ROW_STORE_H
#define GPUSORT_FILES_ROW_STORE_H

#include "postgres.h"

#include "storage/buffile.h"

#include "sort/chunk.h"

typedef struct RowStore
{
	MemoryContext context; /* the one it was made in */
	BufFile *file;
	uint64 bytes;
	MinimalTuple row; /* the row last read */
	Size row_capacity;
	uint64 offset; /* of that row, or where the next one would start */
	uint64 size;   /* of that row in the file, or 0 */
} RowStore;

extern RowStore *row_store_create(void);
extern void row_store_write(RowStore *store, MinimalTuple row);

/* Forgets all rows, so that others can be written; the file keeps its size. */
extern void row_store_clear(RowStore *store);

/* To behind the last row, after rows were written. */
extern void row_store_go_behind(RowStore *store);

/* The row after or before the one last read, which there must be; good until the next call. */
extern MinimalTuple row_store_next(RowStore *store, bool forward);

extern void row_store_drop(RowStore *store);

#endif /* GPUSORT_FILES_ROW_STORE_H */
