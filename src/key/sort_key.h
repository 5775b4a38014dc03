/*
 * key/sort_key.h
 *		Normalized sort keys: bytes whose order is the SQL order.
 *
 * Every supported sort key, of one or more columns, becomes a byte string.  Comparing two byte strings as
 * unsigned bytes (memcmp) gives exactly PostgreSQL's order.  Equal keys are equal for PostgreSQL too.
 *
 *	- All columns of fixed width: a *fixed key* of SortKey.width bytes, a multiple of 8, padded with zero
 *	  bytes at its end.
 *	- Otherwise: a *variable key*.  Apart from trailing zero bytes, no key is a proper prefix of another.
 *	  Keys compare as if zero bytes followed without end, and trailing zero bytes may be left out.
 *
 * Some text has keys that only guess the order.  A sort of such keys (SortKey.verified) is verified by
 * comparisons (compare.h), and corrected where the comparisons differ.
 */
#ifndef GPUSORT_KEY_SORT_KEY_H
#define GPUSORT_KEY_SORT_KEY_H

#include "postgres.h"

#include "executor/tuptable.h"

#include "key/types.h"

/* Returns how keys show their end.  Call it when the policy is set. */
extern SortKeyEnds sort_key_ends(const SortKey *key);

/*
 * Makes an encoder in CurrentMemoryContext, for the columns by the present catalogs.  All its memory is in
 * that context.  Every column must have been supported when the plan was made.  It may raise errors when it
 * opens a collation.
 */
extern SortKey *sort_key_create(int ncols, const SortColumnSpec *columns);

/* Returns the bytes of the first columns of a fixed key. */
extern Size sort_key_prefix_width(const SortKey *key, int ncolumns);

/*
 * Makes another encoder of the same keys in CurrentMemoryContext, which must not outlive the first one.  Use
 * it while the result of the first one is still needed.
 */
extern SortKey *sort_key_create_twin(const SortKey *key);

/*
 * sort_key_unmarked: returns the columns of the key without a marker as bits; the lowest bit is the first
 * column.  sort_key_set_unmarked: sets the same for the columns of another process's key of the same rows,
 * which must agree.
 */
extern uint32 sort_key_unmarked(const SortKey *key);
extern void sort_key_set_unmarked(int ncols, SortColumnSpec *columns, uint32 unmarked);

/*
 * Encodes the slot's row into key->width bytes at dst (8-byte aligned).  Raises an error if the values of an
 * enum were renumbered meanwhile, and for a NULL in a column that must have none.  Variable keys also raise
 * an error if a composite type was altered meanwhile.
 */
extern void sort_key_encode_fixed(SortKey *key, TupleTableSlot *slot, uint8 *dst);

/*
 * Encodes a row in a table's page.  False: a slot must deform the row first, and the bytes at dst are not
 * valid.
 */
extern bool sort_key_encode_stored(SortKey *key, TupleDesc desc, HeapTupleHeader row, uint8 *dst);

/*
 * Encodes the slot's row and returns the key, *len bytes long.  Trailing zero bytes are dropped unless rows
 * are restored from keys.  The result is valid until the next call, and belongs to the SortKey.
 */
extern const uint8 *sort_key_encode_variable(SortKey *key, TupleTableSlot *slot, Size *len);

/* Encodes a row in a table's page.  NULL: a slot must deform the row first. */
extern const uint8 *sort_key_encode_variable_stored(SortKey *key, TupleDesc desc, HeapTupleHeader row,
													Size *len);

#endif /* GPUSORT_KEY_SORT_KEY_H */
