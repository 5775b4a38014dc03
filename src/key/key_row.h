/*
 * key/key_row.h
 *		Rows that are restored from their keys, and need not be kept beside them.
 */
#ifndef GPUSORT_KEY_KEY_ROW_H
#define GPUSORT_KEY_KEY_ROW_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/itup.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"

#include "key/types.h"
#include "key/value_table.h"

typedef struct KeyRow KeyRow;

/*
 * An index tuple as a row.  Code for MinimalTuples can handle it, because such code reads only t_len and
 * copies the bytes behind the header.  t_len counts all bytes.
 */
typedef struct IndexRow
{
	uint32 t_len;
	char unused[12]; /* zeros */
	IndexTupleData tuple;
} IndexRow;

#define INDEX_ROW_HEADER offsetof(IndexRow, tuple)

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

/*
 * Does the same for a key that has codes or ranks in the place of values (coded.h). plain: the key without
 * codes.  NULL also if equal values may differ in their bytes: one rank then stands for several values.
 */
extern KeyRow *key_row_create_coded(const SortKey *coded, const SortKey *plain, TupleDesc desc);

/*
 * Sets the values of a key's coded columns, from the first one on, by the numbers that the key has: codes or
 * ranks.  The values must be set before a row is made.
 */
extern void key_row_set_values(KeyRow *rows, int coded, const ValueEntry *const *values);

/*
 * Is this tuple of the row that was made last, of a key with codes, and has it the columns of the row that
 * was made before?
 */
extern bool key_row_repeats(const KeyRow *rows, const IndexTupleData *tuple);

/* Does the key tell the slot's whole row?  A fixed key without codes always does. */
extern bool key_row_tells(const KeyRow *rows, const TupleTableSlot *slot);

/*
 * Do these sort columns tell a whole row of natts columns?  The key is fixed, or variable for index tuples.
 * All columns must be supported.  This is for the planner, which does not know unused columns.
 */
extern bool key_row_possible(int ncolumns, const SortColumnSpec *columns, int natts);

/*
 * Do keys with codes of these columns (bits) tell a row of the key's columns?  plain: the key without codes.
 */
extern bool key_row_possible_coded(const SortKey *plain, uint32 coded);

/*
 * Returns the row of this key.  It is in memory of the KeyRow, a multiple of 8 bytes, until the next call.
 */
extern StoredRow key_row_make(KeyRow *rows, const uint8 *key);

/* Returns the row of a variable key, which must tell the whole row and have its trailing zero bytes. */
extern StoredRow key_row_make_variable(KeyRow *rows, const uint8 *key, Size size);

#endif /* GPUSORT_KEY_KEY_ROW_H */
