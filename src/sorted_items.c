/*
 * sorted_items.c
 *		The rows of a list of chunks in key order, as an array of items that point to them.
 *
 * Inputs that are in order already, forwards or backwards, are recognised by what the feed noted in the
 * chunks: their items need only be listed.
 */
#include "postgres.h"

#include "huge_memory.h"
#include "sample_sort.h"
#include "sorted_items.h"
#include "string_sort.h"

/* How many rows ahead of the reader rows are prefetched, and records whose key's length says where their row is. */
#define ROW_PREFETCH_DISTANCE 12
#define RECORD_PREFETCH_DISTANCE 24

static int
key_words(const SortKey *key)
{
	return key->width / sizeof(uint64);
}

Size
sorted_items_memory(const SortKey *key, uint64 nrows)
{
	if (key->variable)
		return nrows * sizeof(StringSortItem) + string_sort_scratch_size(nrows);
	return nrows * SAMPLE_SORT_ITEM_SIZE(key_words(key)) + sample_sort_scratch_size(nrows, key_words(key));
}

/* ---------------------------------------------------------------- the order of the input */

static const char *
first_entry(const Chunk *chunk)
{
	return chunk->base;
}

static const char *
last_entry(const Chunk *chunk, Size entry_size)
{
	return chunk->base + chunk->front - entry_size;
}

static const char *
entry_record(const Chunk *chunk, const char *entry)
{
	return chunk->base + ((const uint64 *) entry)[1];
}

/* Compares the last key of a chunk with the first of another. */
static int
compare_across(const SortKey *key, const Chunk *chunk, const Chunk *next)
{
	const char *last = last_entry(chunk, chunk_entry_size(key->width));

	if (key->variable)
		return record_compare_keys(entry_record(chunk, last), entry_record(next, first_entry(next)));
	return memcmp(last, first_entry(next), key->width);
}

/* Are the rows in order as they came (ascending), or is the reverse of it in order (descending)? */
static void
input_order(const SortKey *key, const Chunk *chunks, bool *ascending, bool *descending)
{
	*ascending = *descending = true;
	for (const Chunk *chunk = chunks; chunk != NULL && (*ascending || *descending); chunk = chunk->next)
	{
		*ascending &= chunk->ascending;
		*descending &= chunk->descending;
		if (chunk->next != NULL)
		{
			int			order = compare_across(key, chunk, chunk->next);

			*ascending &= order <= 0;
			*descending &= order > 0;
		}
	}
}

/* ---------------------------------------------------------------- keys */

/* What the fixed keys of all chunks have in common. */
static void
find_variation(const SortKey *key, const Chunk *chunks, KeyVariation *variation)
{
	const uint64 *first = (const uint64 *) first_entry(chunks);

	memset(variation, 0, sizeof(*variation));
	for (int w = 0; w < key_words(key); w++)
	{
		variation->first[w] = KEY_WORD_TO_HOST(first[w]);
		for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
		{
			uint64		differs = chunk->key_differs[w] | (((const uint64 *) first_entry(chunk))[w] ^ first[w]);

			variation->differs[w] |= KEY_WORD_TO_HOST(differs);
		}
	}
}

/* ---------------------------------------------------------------- items of an input in order */

static void
make_item(const SortedItems *sorted, const Chunk *chunk, const char *entry, uint64 *item)
{
	const KeySqueeze *squeeze = &sorted->squeeze;

	if (sorted->variable)
	{
		item[0] = 0;
		item[1] = (uintptr_t) entry_record(chunk, entry);
		return;
	}
	key_squeeze_apply(squeeze, squeeze->npieces, squeeze->nwords, (const uint64 *) entry, item);
	item[squeeze->nwords] = (uintptr_t) chunk->base + ((const uint64 *) entry)[squeeze->full_words];
}

/* Lists the rows as they came, or the other way round. */
static void
list_items(SortedItems *sorted, const SortKey *key, const Chunk *chunks, bool backwards)
{
	Size		entry_size = chunk_entry_size(key->width);
	ssize_t		step = backwards ? -(ssize_t) sorted->item_size : (ssize_t) sorted->item_size;
	char	   *item = backwards ? sorted->items + (sorted->nrows - 1) * sorted->item_size : sorted->items;

	for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
	{
		for (uint64 i = 0; i < chunk->nrows; i++)
		{
			make_item(sorted, chunk, chunk->base + i * entry_size, (uint64 *) item);
			item += step;
		}
	}
}

/* ---------------------------------------------------------------- the sort */

void
sorted_items_make(SortedItems *sorted, const SortKey *key, const Chunk *chunks, uint64 nrows)
{
	bool		ascending;
	bool		descending;

	memset(sorted, 0, sizeof(*sorted));
	sorted->variable = key->variable;
	sorted->nrows = nrows;
	sorted->method = key->variable ? "string sort" : "sample sort";
	if (nrows == 0)
		return;

	if (key->variable)
		sorted->item_size = sizeof(StringSortItem);
	else
	{
		KeyVariation variation;

		find_variation(key, chunks, &variation);
		key_squeeze_plan(&sorted->squeeze, &variation, key_words(key));
		sorted->item_size = SAMPLE_SORT_ITEM_SIZE(sorted->squeeze.nwords);
	}
	sorted->items = huge_alloc(nrows * sorted->item_size);

	input_order(key, chunks, &ascending, &descending);
	if (ascending || descending)
	{
		sorted->method = ascending ? "already in order" : "reversal";
		list_items(sorted, key, chunks, !ascending);
	}
	else if (key->variable)
		string_sort_chunks(chunks, nrows, (StringSortItem *) sorted->items);
	else
		sample_sort_chunks(chunks, nrows, &sorted->squeeze, sorted->items);
}

void
sorted_items_free(SortedItems *sorted)
{
	if (sorted->items != NULL)
		pfree(sorted->items);
	sorted->items = NULL;
	sorted->nrows = 0;
}

/* ---------------------------------------------------------------- reading */

static inline void
prefetch_row(const char *row)
{
	__builtin_prefetch(row);
	__builtin_prefetch(row + 64);
}

void
sorted_items_prefetch(const SortedItems *sorted, uint64 i, int direction)
{
	int64		near = (int64) i + direction * ROW_PREFETCH_DISTANCE;
	int64		far = (int64) i + direction * RECORD_PREFETCH_DISTANCE;

	if (near >= 0 && near < (int64) sorted->nrows)
		prefetch_row((const char *) sorted_items_row(sorted, near));
	if (sorted->variable && far >= 0 && far < (int64) sorted->nrows)
		__builtin_prefetch(sorted_items_record(sorted, far));
}
