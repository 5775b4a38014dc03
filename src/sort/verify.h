/*
 * sort/verify.h
 *		Corrects by comparisons the order of items that were sorted by keys which only guess at the order.
 */
#ifndef GPUSORT_SORT_VERIFY_H
#define GPUSORT_SORT_VERIFY_H

#include "postgres.h"

#include "key/compare.h"
#include "sort/string_sort.h"

/*
 * Puts items in order, in place, most of which are in order already.  It takes one comparison for each item,
 * and a sort of the other items.  Returns the number of items that were taken out and put in elsewhere.
 * Takes memory for this number of items, in CurrentMemoryContext.  Checks for interrupts.
 */
extern uint64 verify_items(SortKeyComparer *comparer, StringSortItem *items, uint64 nitems);

/*
 * verify_items for two sequences of items, each of which is in order: the first nfirst items, and the others.
 * It takes one comparison if all are in order.
 */
extern uint64 verify_join(SortKeyComparer *comparer, StringSortItem *items, uint64 nfirst, uint64 nitems);

#endif /* GPUSORT_SORT_VERIFY_H */
