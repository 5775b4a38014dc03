/*
 * sort/verify.c
 *		Items that were sorted by keys which only guess at the order, put right by comparisons.
 *
 * Each item is compared with the one before it.  Where the two are out of order, one of them is out of place,
 * and nothing says which one: both are taken out, and the next item is compared with what is before them now.
 * What stays is in order, whatever the keys were, and for each item out of place at most one other was taken
 * out.  Those that were taken out are sorted by comparisons, and merged with what stayed.
 *
 * So keys that guess right cost one comparison an item, some wrong ones little more, and keys that are worth
 * nothing as much as a sort by comparisons.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/limits.h"
#include "sort/record.h"
#include "sort/tuning.h"
#include "sort/verify.h"

#define ASIDE_MIN 256 /* items */

/* Items that were taken out. */
typedef struct Aside
{
	StringSortItem *items;
	uint64 nitems;
	uint64 room;
} Aside;

static int
compare(SortKeyComparer *comparer, const StringSortItem *a, const StringSortItem *b)
{
	return sort_key_compare(comparer, (const uint8 *) record_key(a->record), record_key_length(a->record),
							(const uint8 *) record_key(b->record), record_key_length(b->record));
}

static int
compare_for_qsort(const void *a, const void *b, void *comparer)
{
	CHECK_FOR_INTERRUPTS();
	return compare(comparer, a, b);
}

static void
put_aside(Aside *aside, StringSortItem item)
{
	if (aside->nitems == aside->room)
	{
		Size size;

		aside->room = Max(2 * aside->room, ASIDE_MIN);
		size = aside->room * sizeof(StringSortItem);
		aside->items = aside->items == NULL ? MemoryContextAllocHuge(CurrentMemoryContext, size)
											: repalloc_huge(aside->items, size);
	}
	aside->items[aside->nitems++] = item;
}

/* Fetches a batch of records that come after this item; most keys that are verified take two lines. */
static inline void
look_ahead(const StringSortItem *items, uint64 i, uint64 nitems)
{
	if (i % INTERRUPTS_EVERY == 0)
		CHECK_FOR_INTERRUPTS();
	if (i % SORT_ROW_BATCH != 0)
		return;
	for (uint64 next = i + SORT_ROW_BATCH; next < Min(i + 2 * SORT_ROW_BATCH, nitems); next++)
	{
		__builtin_prefetch(items[next].record);
		__builtin_prefetch(items[next].record + SORT_CACHE_LINE);
	}
}

/* Takes items out until those that stay, at the beginning, are in order; returns how many these are. */
static uint64
take_out(SortKeyComparer *comparer, StringSortItem *items, uint64 nitems, Aside *aside)
{
	uint64 kept = 0;

	for (uint64 i = 0; i < nitems; i++)
	{
		look_ahead(items, i, nitems);
		if (kept == 0 || compare(comparer, &items[kept - 1], &items[i]) <= 0)
			items[kept++] = items[i];
		else
		{
			put_aside(aside, items[--kept]);
			put_aside(aside, items[i]);
		}
	}
	return kept;
}

/* How many of these items, which are in order, come before that one or are equal to it: mostly nearly all. */
static uint64
count_up_to(SortKeyComparer *comparer, const StringSortItem *items, uint64 nitems, const StringSortItem *item)
{
	uint64 step = 1;
	uint64 low;
	uint64 high;

	while (step <= nitems && compare(comparer, &items[nitems - step], item) > 0)
		step *= 2;
	low = step <= nitems ? nitems - step + 1 : 0;
	high = nitems - step / 2;
	while (low < high)
	{
		uint64 middle = low + (high - low) / 2;

		if (compare(comparer, &items[middle], item) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Merges items that are in order with those aside, which are as well; behind the items there is room for
 * these.
 */
static void
merge_aside(SortKeyComparer *comparer, StringSortItem *items, uint64 nitems, const Aside *aside)
{
	for (uint64 left = aside->nitems; left > 0; left--)
	{
		uint64 before = count_up_to(comparer, items, nitems, &aside->items[left - 1]);

		CHECK_FOR_INTERRUPTS();
		memmove(items + before + left, items + before, (nitems - before) * sizeof(StringSortItem));
		items[before + left - 1] = aside->items[left - 1];
		nitems = before;
	}
}

uint64
verify_items(SortKeyComparer *comparer, StringSortItem *items, uint64 nitems)
{
	Aside aside = {NULL};
	uint64 kept = take_out(comparer, items, nitems, &aside);

	if (aside.nitems == 0)
		return 0;
	qsort_arg(aside.items, aside.nitems, sizeof(StringSortItem), compare_for_qsort, comparer);
	merge_aside(comparer, items, kept, &aside);
	pfree(aside.items);
	return aside.nitems;
}

uint64
verify_join(SortKeyComparer *comparer, StringSortItem *items, uint64 nfirst, uint64 nitems)
{
	StringSortItem *others = items + nfirst;
	Aside aside = {NULL};

	if (nfirst == 0 || nfirst == nitems || compare(comparer, &items[nfirst - 1], &others[0]) <= 0)
		return 0;
	aside.nitems = count_up_to(comparer, others, nitems - nfirst, &items[nfirst - 1]);
	aside.items = MemoryContextAllocHuge(CurrentMemoryContext, aside.nitems * sizeof(StringSortItem));
	memcpy(aside.items, others, aside.nitems * sizeof(StringSortItem));
	merge_aside(comparer, items, nfirst, &aside);
	pfree(aside.items);
	return aside.nitems;
}
