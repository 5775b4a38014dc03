/*
 * sort/verify.h
 *		Items that were sorted by keys which only guess at the order, put right by comparisons.
 */
#ifndef GPUSORT_SORT_VERIFY_H
#define GPUSORT_SORT_VERIFY_H

#include "postgres.h"

#include "key/compare.h"
#include "sort/string_sort.h"

/*
 * Puts items in order, in place, that mostly are: one comparison each, and those of a sort for the others.
 * Returns how many were taken out and put in elsewhere.  Takes memory for as many, in CurrentMemoryContext.
 * Checks for interrupts.
 */
extern uint64 verify_items(SortKeyComparer *comparer, StringSortItem *items, uint64 nitems);

/*
 * The same for items of which the first ones are in order, and the others too: one comparison if that is all.
 */
extern uint64 verify_join(SortKeyComparer *comparer, StringSortItem *items, uint64 nfirst, uint64 nitems);

#endif /* GPUSORT_SORT_VERIFY_H */
