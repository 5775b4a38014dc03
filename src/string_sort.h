/*
 * string_sort.h
 *		Sort of variable keys in host memory, out of chunks.
 *
 * Source: the segment-id scheme of Deshpande and Narayanan ("Can GPUs sort strings
 * efficiently?", HiPC 2013), in the shape that suits a CPU: the items are
 * sorted by 8 bytes of their keys at a time, and only the segments whose 8 bytes are
 * equal go on to the next bytes, so no common prefix is compared twice.
 */
#ifndef GPUSORT_STRING_SORT_H
#define GPUSORT_STRING_SORT_H

#include "postgres.h"

#include "chunk.h"

typedef struct StringSortItem
{
	uint64		word;			/* 8 bytes of the key at the current depth, host order; undefined after the sort */
	char	   *record;			/* the record in its chunk: key length, key, row; see chunk.h */
} StringSortItem;

/*
 * Sorts the entries of variable-key chunks.  items has room for nrows items; on return it
 * holds them in key order.  Scratch memory as for sample_sort_chunks.  Checks for interrupts.
 */
extern void string_sort_chunks(const Chunk *chunks, uint64 nrows, StringSortItem *items);
extern Size string_sort_scratch_size(uint64 nrows);

#endif							/* GPUSORT_STRING_SORT_H */
