/*
 * key/key_row.h
 *		Rows that are made of their keys, and need not be kept beside them.
 */
#ifndef GPUSORT_KEY_KEY_ROW_H
#define GPUSORT_KEY_KEY_ROW_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/itup.h"
#include "access/tupdesc.h"
#include "nodes/bitmapset.h"

#include "key/sort_key.h"

typedef struct KeyRow KeyRow;

/*
 * An index tuple as a row: whatever takes MinimalTuples takes it, for that looks at t_len alone, and carries
 * what is behind the header.  t_len counts all of it.
 */
typedef struct IndexRow
{
	uint32 t_len;
	char unused[12]; /* zeros */
	IndexTupleData tuple;
} IndexRow;

#define INDEX_ROW_HEADER offsetof(IndexRow, tuple)

/*
 * What makes rows of this kind, their unused columns (attnos) NULL, of keys that SortKey encodes; NULL: keys
 * don't say all of the others.  In CurrentMemoryContext.
 */
extern KeyRow *key_row_create(const SortKey *key, TupleDesc desc, const Bitmapset *unused);

/*
 * The same for rows that are index tuples (IndexRow): desc has the index's columns, and behind them one of
 * type tid, the tuple's.
 */
extern KeyRow *key_row_create_index(const SortKey *key, TupleDesc desc);

/* Does its key say all of the slot's row?  A fixed one does. */
extern bool key_row_tells(const KeyRow *rows, const TupleTableSlot *slot);

/*
 * Do sort columns of fixed keys, or variable ones of index tuples, say all of a row of so many columns?  All
 * of them must be supported.  For the planner, which doesn't know of unused columns.
 */
extern bool key_row_possible(int ncolumns, const SortColumnSpec *columns, int natts);

/* The row of this key.  It stands in memory of the KeyRow, a multiple of 8 bytes, until the next call. */
extern MinimalTuple key_row_make(KeyRow *rows, const uint8 *key);

/* The same of a variable key, which says all of its row, and has its trailing zero bytes. */
extern MinimalTuple key_row_make_variable(KeyRow *rows, const uint8 *key, Size size);

#endif /* GPUSORT_KEY_KEY_ROW_H */
