/*
 * key/key_row.h
 *		Rows that are restored from their keys, and need not be kept beside them.
 */
#ifndef GPUSORT_KEY_KEY_ROW_H
#define GPUSORT_KEY_KEY_ROW_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/bitmapset.h"

#include "key/types.h"

/*
 * Makes a KeyRow, in CurrentMemoryContext, that restores rows of this descriptor from keys of this SortKey.
 * Unused columns (attnos) are NULL in the rows.  NULL: keys do not have all other columns.
 */
extern KeyRow *key_row_create(const SortKey *key, TupleDesc desc, const Bitmapset *unused);

/*
 * Makes a KeyRow for rows that are index tuples (IndexRow): desc has the index's columns, and behind them the
 * tuple's tid.
 */
extern KeyRow *key_row_create_index(const SortKey *key, TupleDesc desc);

/* Does the key tell the slot's whole row?  A fixed key without codes always does. */
extern bool key_row_tells(const KeyRow *rows, const TupleTableSlot *slot);

/*
 * Do these sort columns tell a whole row of natts columns?  The key is fixed, or variable for index tuples.
 * All columns must be supported.  This is for the planner, which does not know unused columns.
 */
extern bool key_row_possible(int ncolumns, const SortColumnSpec *columns, int natts);

/*
 * Returns the row of this key.  It is in memory of the KeyRow, a multiple of 8 bytes, until the next call.
 */
extern StoredRow key_row_make(KeyRow *rows, const uint8 *key);

/* Returns the row of a variable key, which must tell the whole row and have its trailing zero bytes. */
extern StoredRow key_row_make_variable(KeyRow *rows, const uint8 *key, Size size);

#endif /* GPUSORT_KEY_KEY_ROW_H */
