/*
 * files/row_keys.h
 *		Sort keys made again out of rows, so that runs need not hold them.
 */
#ifndef GPUSORT_FILES_ROW_KEYS_H
#define GPUSORT_FILES_ROW_KEYS_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"

#include "key/sort_key.h"

typedef struct RowKeys RowKeys;

/*
 * For rows of this kind, which hold all their sort columns; in CurrentMemoryContext.  desc must outlive it.
 * Rows are index tuples if the key says so.
 */
extern RowKeys *row_keys_create(const SortKey *key, TupleDesc desc);

/* Do keys that guess at the order have their images from now on?  Those that are only compared need none. */
extern void row_keys_make_images(RowKeys *keys, bool make);

/* The row's fixed key, its words in host order. */
extern void row_keys_fixed(RowKeys *keys, MinimalTuple row, uint64 *words);

/* The row's variable key, *size bytes; good until the next call. */
extern const uint8 *row_keys_variable(RowKeys *keys, MinimalTuple row, Size *size);

extern void row_keys_end(RowKeys *keys);

#endif /* GPUSORT_FILES_ROW_KEYS_H */
