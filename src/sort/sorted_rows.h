/*
 * sort/sorted_rows.h
 *		The rows of a list of chunks in key order.
 *
 * They are an array of items that point to the rows.  If the rows came in order or in reverse order, they are
 * the chunks themselves.
 */
#ifndef GPUSORT_SORT_SORTED_ROWS_H
#define GPUSORT_SORT_SORTED_ROWS_H

#include "postgres.h"

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
	const char *method; /* how the rows were sorted, in words */
	uint64 nrows;
	uint64 corrected;	/* number of rows that were put right, if the order is verified */
	KeySqueeze squeeze; /* the squeezing of fixed keys */
	KeyRow *rows;		/* makes the rows of their keys; NULL: there are rows */
	Size row_size;		/* bytes of a row, or of a record without one, on average; 0: not known */

	/* SampleSort items or StringSortItems, nrows of them; NULL: the chunks are in order. */
	char *items;
	SortItemKind item;
	Size item_size;
	bool own_items;			 /* the items are freed with the rest */
	ParallelSort *on_demand; /* puts items into their places when rows are read; NULL: they are there */

	/* The chunks. */
	bool backwards; /* the last row is the first */
	Size entry_size;
	const Chunk **chunks;
	uint64 *first_row;		   /* number of the first row of each chunk, and nrows after the last */
	int current;			   /* the chunk that was read last */
	uint64 key[KEY_MAX_WORDS]; /* the squeezed key that was asked for last */
} SortedRows;

/* Returns the most bytes that sorting nrows rows takes, without the chunks. */
extern Size sorted_rows_memory(const SortKey *key, uint64 nrows);

/* Returns the bytes that sorting these rows took, by one process. */
extern Size sorted_rows_used(const SortedRows *sorted);

/*
 * sorted_rows_make sorts the rows of the chunks by their keys, in CurrentMemoryContext.  If the keys only
 * guess at the order, the caller must then call sorted_rows_verify, which verifies the order and puts it
 * right.
 */
extern void sorted_rows_make(SortedRows *sorted, const SortKey *key, const Chunk *chunks, uint64 nrows);
extern void sorted_rows_verify(SortedRows *sorted, const SortKey *key);

/*
 * sorted_rows_make by several processes, in steps.  sorted_rows_prepare returns true if there is anything to
 * sort.  It also returns true if keys only guess at the order, which the processes must then verify.
 * sorted_rows_share lays the sort out in memory of sorted_rows_shared_size bytes.  This memory and the chunks
 * have the same addresses in all processes.  When all have run the sort (parallel_sort_run), the rows can be
 * read, as long as that memory exists.  on_demand: by one process alone, which calls sorted_rows_settle for
 * each row before it reads it, or sorted_rows_settle_all.  Keys that only guess at the order cannot do that.
 */
extern bool sorted_rows_prepare(SortedRows *sorted, const SortKey *key, const Chunk *chunks, uint64 nrows);
extern Size sorted_rows_shared_size(const SortedRows *sorted, uint64 nchunks, int nprocesses);
extern ParallelSort *sorted_rows_share(SortedRows *sorted, void *memory, const Chunk *chunks, int nprocesses,
									   bool on_demand);

/*
 * Returns the most bytes, shared and private, that sorting nrows rows of nchunks chunks takes, without the
 * chunks.
 */
extern Size sorted_rows_parallel_memory(const SortKey *key, uint64 nrows, uint64 nchunks, int nprocesses);

static inline void
sorted_rows_settle(SortedRows *sorted, uint64 i)
{
	if (unlikely(sorted->on_demand != NULL))
		parallel_sort_settle(sorted->on_demand, i);
}

extern void sorted_rows_settle_all(SortedRows *sorted);

/* Returns how rows that are not in order already are sorted, in words. */
static inline const char *
sorted_rows_method(const SortedRows *sorted)
{
	if (sorted->on_demand != NULL)
		return sorted->variable ? "string sort of what is read" : "sample sort of what is read";
	return sorted->variable ? "string sort" : "sample sort";
}

extern void sorted_rows_free(SortedRows *sorted);

/* Returns the address of the i-th entry, if rows are read from the chunks. */
extern const char *sorted_rows_entry(SortedRows *sorted, uint64 i);

/* Returns the address of the i-th row, or of its record if keys are variable, if there are rows. */
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

/* Returns the i-th row, if rows are made of their keys. */
extern MinimalTuple sorted_rows_make_row(SortedRows *sorted, uint64 i);

/* Returns the i-th row, valid until the next call.  Touches the row only if keys are variable. */
static inline MinimalTuple
sorted_rows_row(SortedRows *sorted, uint64 i)
{
	char *address;

	if (sorted->rows != NULL)
		return sorted_rows_make_row(sorted, i);
	address = sorted_rows_address(sorted, i);
	return sorted->variable ? record_row(address) : (MinimalTuple) address;
}

/* Returns the i-th squeezed key, fixed keys only; valid until the next call. */
static inline const uint64 *
sorted_rows_key(SortedRows *sorted, uint64 i)
{
	if (sorted->items != NULL)
		return (const uint64 *) (sorted->items + i * sorted->item_size);
	key_squeeze_apply(&sorted->squeeze, sorted->squeeze.npieces, sorted->squeeze.nwords,
					  (const uint64 *) sorted_rows_entry(sorted, i), sorted->key);
	return sorted->key;
}

/*
 * Returns the number of different keys of the rows from `first` to before `end`.  The keys must not only
 * guess at the order.  Touches the rows only if keys are variable.  Checks for interrupts.
 */
extern uint64 sorted_rows_count_keys(SortedRows *sorted, uint64 first, uint64 end);

/* For sorted_rows_prefetch. */
extern void sorted_rows_prefetch_batch(SortedRows *sorted, uint64 i, int direction);

/*
 * Asks for the rows that come some places after the i-th to be fetched into the cache.  To be called for each
 * row that is read.  direction: 1 or -1.
 */
static inline void
sorted_rows_prefetch(SortedRows *sorted, uint64 i, int direction)
{
	if (i % SORT_ROW_BATCH == 0)
		sorted_rows_prefetch_batch(sorted, i, direction);
}

#endif /* GPUSORT_SORT_SORTED_ROWS_H */
