/*
 * own.h
 *		gpusort's own sorts beside their rivals.
 */
#ifndef GPUSORT_RIVALS_OWN_H
#define GPUSORT_RIVALS_OWN_H

#include "postgres.h"

#include "cpu/rivals/items.h"

/*
 * Sorts the chunks as the extension does, by so many threads, into memory of own_memory_size bytes.  Returns
 * the items.
 */
extern Size own_memory_size(const CaseInput *input, int threads);
extern void *own_sort_chunks(const CaseInput *input, int threads, void *memory);

/* Sorts items in place by one thread, as the extension does with those of a bucket. */
extern void own_sort_items(const CaseInput *input, void *items);

/* How the items lie. */
static inline ItemLayout
own_layout(const CaseInput *input)
{
	if (input->nwords == 1)
		return input->has_rows ? KEY_THEN_ROW : KEYS;
	return input->has_rows ? WIDE_KEY_THEN_ROW : WIDE_KEYS;
}

#endif /* GPUSORT_RIVALS_OWN_H */
