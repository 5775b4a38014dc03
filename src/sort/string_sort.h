/*
 * sort/string_sort.h
 *		Sort of variable keys in host memory, out of chunks.
 *
 * Source: the segment-id scheme of Deshpande and Narayanan ("Can GPUs sort strings efficiently?", HiPC 2013),
 * in a form that suits a CPU.  The items are sorted by 8 bytes of their keys at a time.  Only segments whose
 * 8 bytes are equal go on to the next bytes.  Therefore no common prefix is compared twice.
 */
#ifndef GPUSORT_SORT_STRING_SORT_H
#define GPUSORT_SORT_STRING_SORT_H

#include "postgres.h"

#include "key/sort_key.h"
#include "sort/chunk.h"
#include "sort/record.h"

typedef struct StringSortItem
{
	uint64 word;  /* 8 bytes of the key at the current depth, host order; undefined after the sort */
	char *record; /* the record in its chunk: key length, key, row; see chunk.h */
} StringSortItem;

/*
 * Sorts the entries of variable-key chunks.  items: has room for nrows items; on return it holds them in key
 * order.  Keys that agree up to where they end are in any order.  Scratch memory as for sample_sort_chunks.
 * Checks for interrupts.
 */
extern void string_sort_chunks(const Chunk *chunks, uint64 nrows, SortKeyEnds ends, StringSortItem *items);
extern Size string_sort_scratch_size(uint64 nrows);

/*
 * The core of string_sort_chunks for items in place, called many times with the same scratch memory.
 * max_items: the most items of one sort; depth: the keys agree in the bytes before it, a multiple of 8;
 * loaded: the items' words are those at depth, otherwise they are loaded.  The memory, again within
 * string_sort_scratch_size, is in CurrentMemoryContext.
 */
typedef struct StringSorter StringSorter;

extern StringSorter *string_sorter_create(uint64 max_items, SortKeyEnds ends);
extern void string_sorter_sort(StringSorter *sorter, StringSortItem *items, uint64 nitems, uint64 depth,
							   bool loaded);
extern void string_sorter_free(StringSorter *sorter);

/*
 * Returns the first depth in [depth, end) at which two keys differ, or end.  depth: a multiple of 8.  Checks
 * for interrupts.
 */
extern uint64 record_key_agreement(const char *a, const char *b, uint64 depth, uint64 end);

#endif /* GPUSORT_SORT_STRING_SORT_H */
