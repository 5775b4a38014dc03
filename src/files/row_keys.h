/*
 * files/row_keys.h
 *		Sort keys made again from rows, so that runs need not have them.
 */
#ifndef GPUSORT_FILES_ROW_KEYS_H
#define GPUSORT_FILES_ROW_KEYS_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"

#include "key/types.h"

typedef struct RowKeys RowKeys;

/*
 * Makes keys for rows of this descriptor, which have all their sort columns, in CurrentMemoryContext. desc
 * must outlive the result.  Rows are index tuples if the key says so.
 */
extern RowKeys *row_keys_create(const SortKey *key, TupleDesc desc);

/*
 * Sets whether keys that guess the order have their images from now on.  Keys that are only compared need no
 * images.
 */
extern void row_keys_make_images(RowKeys *keys, bool make);

/* Returns the row's fixed key, with words in host order. */
extern void row_keys_fixed(RowKeys *keys, StoredRow row, uint64 *words);

/* Returns the row's variable key, *size bytes, valid until the next call. */
extern const uint8 *row_keys_variable(RowKeys *keys, StoredRow row, Size *size);

extern void row_keys_end(RowKeys *keys);

#endif /* GPUSORT_FILES_ROW_KEYS_H */
