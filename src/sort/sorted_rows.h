/*
 * sort/sorted_rows.h
 *		The rows of a list of chunks in key order.
 *
 * Either an array of items that point to the rows; or, if the rows were in order or in reverse order already,
 * the chunks themselves.
 */
#ifndef GPUSORT_SORT_SORTED_ROWS_H
#define GPUSORT_SORT_SORTED_ROWS_H

#include "postgres.h"

#include "key/key_row.h"
#include "key/types.h"
#include "sort/chunk.h"
#include "sort/key_squeeze.h"
#include "sort/parallel_sort.h"
#include "sort/record.h"
#include "sort/tuning.h"

typedef struct SortedRows
{
	bool variable;
	SortKeyEnds ends;
	const char *method; /* how they were sorted, in words */
	uint64 nrows;
	uint64 corrected;	/* of them were put right, if the order is verified */
	KeySqueeze squeeze; /* fixed keys */
	KeyRow *rows;		/* what makes them of their keys; NULL: there are rows */
	Size row_size;		/* bytes of a row, or of a record without one, on average; 0: not known */

	/* SampleSort items or StringSortItems, nrows of them; NULL: the chunks are in order. */
	char *items;
	SortItemKind item;
	Size item_size;
	bool own_items; /* to be freed with the rest */

	/* The chunks. */
	bool backwards; /* the last row is the first */
	Size entry_size;
	const Chunk **chunks;
	uint64 *first_row;		   /* of each chunk, and nrows after the last */
	int current;			   /* the chunk looked at last */
	uint64 key[KEY_MAX_WORDS]; /* the squeezed key asked for last */
} SortedRows;

/* Bytes that sorting nrows rows takes at most, besides the chunks. */
extern Size sorted_rows_memory(const SortKey *key, uint64 nrows);

/* Bytes that sorting these rows did take, by one process. */
extern Size sorted_rows_used(const SortedRows *sorted);

/*
 * Sorts the rows of the chunks, in CurrentMemoryContext, by their keys.  If these only guess at the order, it
 * is to be verified and put right then.
 */
extern void sorted_rows_make(SortedRows *sorted, const SortKey *key, const Chunk *chunks, uint64 nrows);
extern void sorted_rows_verify(SortedRows *sorted, const SortKey *key);

/*
 * The same by several processes, in steps: sorted_rows_prepare finds out whether there is anything to sort,
 * false if not, but for keys that only guess at the order, which the processes must verify; then
 * sorted_rows_share lays the sort out in memory of sorted_rows_shared_size bytes that all have at the same
 * address, as they have the chunks.  When all have run it (parallel_sort_run), the rows can be read, as long
 * as that memory is there.
 */
extern bool sorted_rows_prepare(SortedRows *sorted, const SortKey *key, const Chunk *chunks, uint64 nrows);
extern Size sorted_rows_shared_size(const SortedRows *sorted, uint64 nchunks, int nprocesses);
extern ParallelSort *sorted_rows_share(SortedRows *sorted, void *memory, const Chunk *chunks, int nprocesses);

/* Bytes that sorting nrows rows of so many chunks takes at most, shared and private, besides the chunks. */
extern Size sorted_rows_parallel_memory(const SortKey *key, uint64 nrows, uint64 nchunks, int nprocesses);

/* How rows that are not in order already are sorted, in words. */
static inline const char *
sorted_rows_method(const SortedRows *sorted)
{
	return sorted->variable ? "string sort" : "sample sort";
}

extern void sorted_rows_free(SortedRows *sorted);

/* The place of the i-th entry, where rows are read from the chunks. */
extern const char *sorted_rows_entry(SortedRows *sorted, uint64 i);

/* The address of the i-th row, or of its record if keys are variable, where there are rows. */
static inline char *
sorted_rows_address(SortedRows *sorted, uint64 i)
{
	const char *entry;

	if (likely(sorted->items != NULL))
		return *(char *const *) (sorted->items + (i + 1) * sorted->item_size - sizeof(char *));
	entry = sorted_rows_entry(sorted, i);
	return sorted->chunks[sorted->current]->base +
		   *(const uint64 *) (entry + sorted->entry_size - sizeof(uint64));
}

/* The i-th row, where rows are made of their keys. */
extern MinimalTuple sorted_rows_make_row(SortedRows *sorted, uint64 i);

/* The i-th row, good until the next call; touches it only where keys are variable. */
static inline MinimalTuple
sorted_rows_row(SortedRows *sorted, uint64 i)
{
	char *address;

	if (sorted->rows != NULL)
		return sorted_rows_make_row(sorted, i);
	address = sorted_rows_address(sorted, i);
	return sorted->variable ? record_row(address) : (MinimalTuple) address;
}

/* The i-th squeezed key, fixed keys only; good until the next call. */
static inline const uint64 *
sorted_rows_key(SortedRows *sorted, uint64 i)
{
	if (sorted->items != NULL)
		return (const uint64 *) (sorted->items + i * sorted->item_size);
	key_squeeze_apply(&sorted->squeeze, sorted->squeeze.npieces, sorted->squeeze.nwords,
					  (const uint64 *) sorted_rows_entry(sorted, i), sorted->key);
	return sorted->key;
}

/* For sorted_rows_prefetch. */
extern void sorted_rows_prefetch_batch(SortedRows *sorted, uint64 i, int direction);

/*
 * Asks for the rows that come some places after the i-th to be brought into the cache; to be called for each
 * row that is read.  direction is 1 or -1.
 */
static inline void
sorted_rows_prefetch(SortedRows *sorted, uint64 i, int direction)
{
	if (i % SORT_ROW_BATCH == 0)
		sorted_rows_prefetch_batch(sorted, i, direction);
}

#endif /* GPUSORT_SORT_SORTED_ROWS_H */
