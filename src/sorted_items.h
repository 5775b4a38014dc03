/*
 * sorted_items.h
 *		The rows of a list of chunks in key order, as an array of items that point to them.
 */
#ifndef GPUSORT_SORTED_ITEMS_H
#define GPUSORT_SORTED_ITEMS_H

#include "postgres.h"

#include "chunk.h"
#include "key_squeeze.h"
#include "sort_key.h"

typedef struct SortedItems
{
	bool		variable;
	const char *method;			/* how they were sorted, in words */
	uint64		nrows;
	Size		item_size;
	char	   *items;			/* SampleSort items or StringSortItems, nrows of them; NULL: none */
	KeySqueeze	squeeze;		/* fixed keys: what the items' keys are */
} SortedItems;

/* Bytes that sorting nrows rows takes at most, besides the chunks. */
extern Size sorted_items_memory(const SortKey *key, uint64 nrows);

/* Sorts the rows of the chunks, in CurrentMemoryContext. */
extern void sorted_items_make(SortedItems *sorted, const SortKey *key, const Chunk *chunks, uint64 nrows);

extern void sorted_items_free(SortedItems *sorted);

/* The i-th row; touches the row only where keys are variable. */
static inline MinimalTuple
sorted_items_row(const SortedItems *sorted, uint64 i)
{
	char	   *address = *(char *const *) (sorted->items + (i + 1) * sorted->item_size - sizeof(char *));

	return sorted->variable ? record_row(address) : (MinimalTuple) address;
}

/* The i-th squeezed key, fixed keys only. */
static inline const uint64 *
sorted_items_key(const SortedItems *sorted, uint64 i)
{
	return (const uint64 *) (sorted->items + i * sorted->item_size);
}

/* The i-th record, variable keys only. */
static inline const char *
sorted_items_record(const SortedItems *sorted, uint64 i)
{
	return *(char *const *) (sorted->items + (i + 1) * sorted->item_size - sizeof(char *));
}

/* Asks for the rows a few places on to be brought into the cache; direction is 1 or -1. */
extern void sorted_items_prefetch(const SortedItems *sorted, uint64 i, int direction);

#endif							/* GPUSORT_SORTED_ITEMS_H */
