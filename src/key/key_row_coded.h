/*
 * key/key_row_coded.h
 *		Index tuples that are made of keys with codes or ranks (coded.h).
 */
#ifndef GPUSORT_KEY_KEY_ROW_CODED_H
#define GPUSORT_KEY_KEY_ROW_CODED_H

#include "postgres.h"

#include "access/itup.h"

#include "key/types.h"
#include "key/value_table.h"

/*
 * Makes a KeyRow, in CurrentMemoryContext, as key_row_create_index does, for keys with codes or ranks.
 * plain: the key without codes.  NULL also if equal values may differ in their bytes: one rank then stands
 * for several values.
 */
extern KeyRow *key_row_create_coded(const SortKey *coded, const SortKey *plain, TupleDesc desc);

/*
 * Do keys with codes of these columns (bits) tell a row of the key's columns?  plain: the key without codes.
 */
extern bool key_row_possible_coded(const SortKey *plain, uint32 coded);

/*
 * Sets the values of a key's coded columns, from the first one on, by the numbers that the key has: codes or
 * ranks.  The values must be set before a row is made.
 */
extern void key_row_set_values(KeyRow *rows, int coded, const ValueEntry *const *values);

/* Returns the row of this key without the tuple's tid, for key_row_make. */
extern StoredRow key_row_make_coded(KeyRow *rows, const uint8 *key);

/* Is this tuple of the row that was made last, and has it the columns of the row that was made before? */
extern bool key_row_repeats(const KeyRow *rows, const IndexTupleData *tuple);

#endif /* GPUSORT_KEY_KEY_ROW_CODED_H */
