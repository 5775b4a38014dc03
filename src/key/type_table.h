/*
 * key/type_table.h
 *		The table of types: the encoding of each type's values, in which order.
 */
#ifndef GPUSORT_KEY_TYPE_TABLE_H
#define GPUSORT_KEY_TYPE_TABLE_H

#include "key/column.h"

/* Returns the encoding of values of the base type in its default order; NULL: there is no exact one. */
extern const SortKeyType *sort_key_find_type(Oid type);

/*
 * Returns the encoding in the order of this operator class.  *bytewise: is the order bytewise for any
 * collation?
 */
extern const SortKeyType *sort_key_find_order(Oid type, Oid opfamily, Oid opcintype, bool *bytewise);

/*
 * Returns the encoding of values of this typlen and typbyval in the order of their bytes, as record_image_ops
 * compares columns; NULL: they are not compared.
 */
extern const SortKeyType *sort_key_find_image(int16 length, bool by_value);

#endif /* GPUSORT_KEY_TYPE_TABLE_H */
