/*
 * key/key_row.h
 *		Rows that are made of their keys.
 *
 * A fixed key says all of a row whose columns are all sort columns, of types whose values can be told from
 * what they become in the key.  Such a row need not be kept beside its key.
 */
#ifndef GPUSORT_KEY_KEY_ROW_H
#define GPUSORT_KEY_KEY_ROW_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "nodes/bitmapset.h"

#include "key/sort_key.h"

typedef struct KeyRow KeyRow;

/*
 * What makes rows of this kind, their unused columns (attnos) NULL, of keys that SortKey encodes; NULL: keys
 * don't say all of the others.  In CurrentMemoryContext.
 */
extern KeyRow *key_row_create(const SortKey *key, TupleDesc desc, const Bitmapset *unused);

/* The row of this key.  It stands in memory of the KeyRow, a multiple of 8 bytes, until the next call. */
extern MinimalTuple key_row_make(KeyRow *rows, const uint8 *key);

#endif /* GPUSORT_KEY_KEY_ROW_H */
