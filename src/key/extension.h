/*
 * key/extension.h
 *		Types that extensions add, by the functions that compare their values.
 */
#ifndef GPUSORT_KEY_EXTENSION_H
#define GPUSORT_KEY_EXTENSION_H

#include "key/column.h"

/*
 * Returns the type whose values this function compares; NULL: an unknown function.  Then *builtin is the
 * function of PostgreSQL with the same code, or InvalidOid.
 */
extern const SortKeyType *sort_key_find_extension_type(Oid function, Oid *builtin);

#endif /* GPUSORT_KEY_EXTENSION_H */
