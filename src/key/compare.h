/*
 * key/compare.h
 *		Compares keys that only guess the order (SortKey.verified) by PostgreSQL's own comparison.
 */
#ifndef GPUSORT_KEY_COMPARE_H
#define GPUSORT_KEY_COMPARE_H

#include "postgres.h"

#include "key/types.h"

typedef struct SortKeyComparer SortKeyComparer;

/* Makes a comparer for this SortKey, in CurrentMemoryContext; the SortKey must outlive it. */
extern SortKeyComparer *sort_key_comparer_create(const SortKey *key);

extern void sort_key_comparer_free(SortKeyComparer *comparer);

/*
 * Compares two keys as PostgreSQL compares their columns: less than, equal to or more than 0.  One key may
 * have images, and the other none.
 */
extern int sort_key_compare(SortKeyComparer *comparer, const uint8 *a, Size a_size, const uint8 *b,
							Size b_size);

/*
 * Appends builder.places, the places of the columns to be verified, to the key, which is otherwise complete.
 */
extern void sort_key_append_places(SortKey *key);

#endif /* GPUSORT_KEY_COMPARE_H */
