/*
 * sort/sorted_rows.c
 *		The rows of a list of chunks in key order.
 *
 * Inputs that are in order already, forwards or backwards, are recognised by what the feed noted in the
 * chunks: nothing is sorted then, and no items are made.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/limits.h"
#include "key/key_row.h"
#include "key/sort_key.h"
#include "memory/alloc.h"
#include "sort/record.h"
#include "sort/sample_sort.h"
#include "sort/sorted_rows.h"
#include "sort/string_sort.h"
#include "sort/verify.h"

/*
 * So many bytes of a row are prefetched at most; whoever reads all of a wide row gets the rest from the
 * processor's own prefetching.
 */
#define PREFETCHED_ROW_BYTES 72

/* Keys that are counted before it looks for interrupts. */
#define KEYS_BEFORE_INTERRUPT UINT64CONST(65536)

static int
key_words(const SortKey *key)
{
	return key->width / sizeof(uint64);
}

/* The widest items that there may be. */
static SortItemKind
widest_item(const SortKey *key)
{
	return key->variable ? (SortItemKind){1, true} : (SortItemKind){key_words(key), !key->policy.alone};
}

Size
sorted_rows_parallel_memory(const SortKey *key, uint64 nrows, uint64 nchunks, int nprocesses)
{
	SortItemKind item = widest_item(key);

	return parallel_sort_shared_size(key->variable, item, nrows, nchunks, nprocesses) +
		   parallel_sort_private_size(key->variable, item, nrows, nprocesses);
}

/* Of one process that sorts nrows rows to such items. */
static Size
sort_memory(bool variable, SortItemKind item, uint64 nrows)
{
	return nrows * sort_item_size(item) +
		   (variable ? string_sort_scratch_size(nrows) : sample_sort_scratch_size(nrows, item));
}

Size
sorted_rows_memory(const SortKey *key, uint64 nrows)
{
	return sort_memory(key->variable, widest_item(key), nrows);
}

Size
sorted_rows_used(const SortedRows *sorted)
{
	return sorted->items != NULL ? sort_memory(sorted->variable, sorted->item, sorted->nrows) : 0;
}

/* ---------------------------------------------------------------- the order of the input */

/* Compares the last key of a chunk with the first of another. */
static int
compare_across(const SortKey *key, const Chunk *chunk, const Chunk *next)
{
	const char *last = chunk->base + chunk->front - chunk->entry_size;

	if (key->variable)
		return record_compare_keys(chunk->base + ((const uint64 *) last)[1],
								   next->base + ((const uint64 *) next->base)[1]);
	return memcmp(last, next->base, key->width);
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
			int order = compare_across(key, chunk, chunk->next);

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
	const uint64 *first = (const uint64 *) chunks->base;

	memset(variation, 0, sizeof(*variation));
	for (int w = 0; w < key_words(key); w++)
	{
		variation->first[w] = KEY_WORD_TO_HOST(first[w]);
		for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
		{
			uint64 differs = chunk->key_differs[w] | (((const uint64 *) chunk->base)[w] ^ first[w]);

			variation->differs[w] |= KEY_WORD_TO_HOST(differs);
		}
	}
}

/* ---------------------------------------------------------------- an input in order */

/* Lists the chunks, for sorted_rows_entry to find rows in. */
static void
list_chunks(SortedRows *sorted, const Chunk *chunks, bool backwards)
{
	int n = 0;

	for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
		n++;
	sorted->chunks = palloc(sizeof(Chunk *) * n);
	sorted->first_row = palloc(sizeof(uint64) * (n + 1));
	sorted->first_row[0] = 0;
	n = 0;
	for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
	{
		sorted->chunks[n++] = chunk;
		sorted->first_row[n] = sorted->first_row[n - 1] + chunk->nrows;
	}
	sorted->backwards = backwards;
}

const char *
sorted_rows_entry(SortedRows *sorted, uint64 i)
{
	uint64 row = sorted->backwards ? sorted->nrows - 1 - i : i;

	while (unlikely(row < sorted->first_row[sorted->current]))
		sorted->current--;
	while (unlikely(row >= sorted->first_row[sorted->current + 1]))
		sorted->current++;
	return sorted->chunks[sorted->current]->base +
		   (row - sorted->first_row[sorted->current]) * sorted->entry_size;
}

/* ---------------------------------------------------------------- the sort */

static void
make_items(SortedRows *sorted, const Chunk *chunks)
{
	sorted->items = huge_alloc(sorted->nrows * sorted->item_size);
	if (sorted->variable)
		string_sort_chunks(chunks, sorted->nrows, sorted->ends, (StringSortItem *) sorted->items);
	else
		sample_sort_chunks(chunks, sorted->nrows, &sorted->squeeze, sorted->items);
}

/* Of rows, or of records. */
static Size
average_row_size(const Chunk *chunks, uint64 nrows)
{
	uint64 bytes = 0;

	for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
		bytes += chunk->size - chunk->back;
	return bytes / nrows;
}

bool
sorted_rows_prepare(SortedRows *sorted, const SortKey *key, const Chunk *chunks, uint64 nrows)
{
	bool ascending;
	bool descending;

	memset(sorted, 0, sizeof(*sorted));
	sorted->variable = key->variable;
	sorted->ends = sort_key_ends(key);
	sorted->nrows = nrows;
	sorted->row_size = PREFETCHED_ROW_BYTES;
	sorted->method = sorted_rows_method(sorted);
	if (nrows == 0)
		return false;

	sorted->entry_size = chunks->entry_size;
	sorted->rows = key->policy.alone ? key->policy.rows : NULL;
	if (!key->variable)
	{
		KeyVariation variation;

		find_variation(key, chunks, &variation);
		key_squeeze_plan(&sorted->squeeze, &variation, key_words(key));
	}
	if (!key->variable || key->policy.alone)
		sorted->row_size = average_row_size(chunks, nrows);
	sorted->item = sort_item_kind(chunks, key->variable ? 1 : sorted->squeeze.nwords);
	sorted->item_size = sort_item_size(sorted->item);
	if (key->verified)
		return true; /* the order that the feed saw is a guess, and items can be put right */
	input_order(key, chunks, &ascending, &descending);
	if (!ascending && !descending)
		return true;
	sorted->method = ascending ? "already in order" : "reversal";
	list_chunks(sorted, chunks, !ascending);
	return false;
}

void
sorted_rows_make(SortedRows *sorted, const SortKey *key, const Chunk *chunks, uint64 nrows)
{
	if (sorted_rows_prepare(sorted, key, chunks, nrows))
	{
		sorted->own_items = true;
		make_items(sorted, chunks);
	}
}

void
sorted_rows_verify(SortedRows *sorted, const SortKey *key)
{
	SortKeyComparer *comparer = sort_key_comparer_create(key);

	sorted->corrected = verify_items(comparer, (StringSortItem *) sorted->items, sorted->nrows);
	sort_key_comparer_free(comparer);
}

Size
sorted_rows_shared_size(const SortedRows *sorted, uint64 nchunks, int nprocesses)
{
	return parallel_sort_shared_size(sorted->variable, sorted->item, sorted->nrows, nchunks, nprocesses);
}

ParallelSort *
sorted_rows_share(SortedRows *sorted, void *memory, const Chunk *chunks, int nprocesses, bool on_demand)
{
	ParallelSortInput input = {.nprocesses = nprocesses,
							   .chunks = chunks,
							   .nrows = sorted->nrows,
							   .variable = sorted->variable,
							   .ends = sorted->ends,
							   .squeeze = sorted->squeeze,
							   .on_demand = on_demand};
	ParallelSort *sort = parallel_sort_init(memory, &input);

	sorted->items = parallel_sort_items(sort);
	sorted->on_demand = parallel_sort_is_on_demand(sort) ? sort : NULL;
	return sort;
}

void
sorted_rows_settle_all(SortedRows *sorted)
{
	if (sorted->on_demand != NULL)
		parallel_sort_settle_all(sorted->on_demand);
	sorted->on_demand = NULL;
}

void
sorted_rows_free(SortedRows *sorted)
{
	if (sorted->own_items)
		huge_free(sorted->items);
	if (sorted->chunks != NULL)
	{
		pfree(sorted->chunks);
		pfree(sorted->first_row);
	}
	memset(sorted, 0, sizeof(*sorted));
}

/* ---------------------------------------------------------------- reading */

/* The row of a record. */
static inline MinimalTuple
make_record_row(KeyRow *rows, const char *record)
{
	if (unlikely(record_has_row(record)))
		return record_row(record);
	return key_row_make_variable(rows, (const uint8 *) record_key(record), record_key_length(record));
}

MinimalTuple
sorted_rows_make_row(SortedRows *sorted, uint64 i)
{
	uint64 key[KEY_MAX_WORDS];

	if (sorted->variable)
		return make_record_row(sorted->rows, sorted_rows_address(sorted, i));
	if (sorted->items == NULL)
		return key_row_make(sorted->rows, (const uint8 *) sorted_rows_entry(sorted, i));
	key_squeeze_expand(&sorted->squeeze, (const uint64 *) (sorted->items + i * sorted->item_size),
					   (uint8 *) key);
	return key_row_make(sorted->rows, (const uint8 *) key);
}

static inline bool
has_row(const SortedRows *sorted, int64 row)
{
	return row >= 0 && row < (int64) sorted->nrows;
}

/*
 * The rows of the next batch, and the records of the one after that, for a record says where its row is; or
 * the records alone, of which rows are made.
 */
void
sorted_rows_prefetch_batch(SortedRows *sorted, uint64 i, int direction)
{
	Size size = Min(Max(sorted->row_size, 1), PREFETCHED_ROW_BYTES);
	int64 row = (int64) i + direction * SORT_ROW_BATCH;
	bool makes_rows = sorted->rows != NULL;

	/* rows in order need no help, nor those that are made of the items' keys; others may not be in place */
	if (sorted->items == NULL || (makes_rows && !sorted->variable) || sorted->on_demand != NULL)
		return;
	for (int n = 0; n < SORT_ROW_BATCH && has_row(sorted, row); n++, row += direction)
	{
		const char *place =
			makes_rows ? sorted_rows_address(sorted, row) : (const char *) sorted_rows_row(sorted, row);

		/* the first bytes and the last ones: usually of one cache line or of two neighbours */
		__builtin_prefetch(place);
		__builtin_prefetch(place + size - 1);
	}
	if (!sorted->variable || makes_rows)
		return;
	for (int n = 0; n < SORT_ROW_BATCH && has_row(sorted, row); n++, row += direction)
		__builtin_prefetch(sorted_rows_address(sorted, row));
}

/* ---------------------------------------------------------------- different keys */

/* Are two keys equal?  Bytes of zero at their ends may be missing. */
static bool
records_agree(const char *a, const char *b)
{
	uint64 length = Max(record_key_length(a), record_key_length(b));

	for (uint64 depth = 0; depth < length; depth += sizeof(uint64))
	{
		if (record_key_word(a, depth) != record_key_word(b, depth))
			return false;
	}
	return true;
}

/* Of rows of variable keys: the first one is a new key. */
static uint64
count_records(SortedRows *sorted, uint64 first, uint64 end)
{
	const char *record = sorted_rows_address(sorted, first);
	uint64 n = 1;

	for (uint64 i = first + 1; i < end; i++)
	{
		const char *next = sorted_rows_address(sorted, i);

		if (i % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (sorted->items != NULL && i + SORT_ROW_BATCH < end)
			__builtin_prefetch(sorted_rows_address(sorted, i + SORT_ROW_BATCH));
		n += records_agree(record, next) ? 0 : 1;
		record = next;
	}
	return n;
}

/* Of keys of one word in items. */
static uint64
count_words(const SortedRows *sorted, uint64 first, uint64 end)
{
	const char *item = sorted->items + first * sorted->item_size;
	uint64 n = 1;

	for (uint64 i = first + 1; i < end; i++, item += sorted->item_size)
		n += *(const uint64 *) item != *(const uint64 *) (item + sorted->item_size);
	return n;
}

/* Of other fixed keys. */
static uint64
count_fixed(SortedRows *sorted, uint64 first, uint64 end)
{
	Size size = sorted->squeeze.nwords * sizeof(uint64);
	uint64 key[KEY_MAX_WORDS];
	uint64 n = 1;

	memcpy(key, sorted_rows_key(sorted, first), size);
	for (uint64 i = first + 1; i < end; i++)
	{
		const uint64 *next = sorted_rows_key(sorted, i);

		if (memcmp(key, next, size) == 0)
			continue;
		memcpy(key, next, size);
		n++;
	}
	return n;
}

uint64
sorted_rows_count_keys(SortedRows *sorted, uint64 first, uint64 end)
{
	uint64 n = 0;

	if (first >= end)
		return 0;
	if (sorted->variable)
		return count_records(sorted, first, end);
	/* a batch begins with the last row of the one before */
	for (uint64 from = first; n == 0 || from + 1 < end; from += Min(KEYS_BEFORE_INTERRUPT, end - 1 - from))
	{
		uint64 to = Min(from + KEYS_BEFORE_INTERRUPT + 1, end);
		uint64 counted = sorted->items != NULL && sorted->squeeze.nwords == 1 ? count_words(sorted, from, to)
																			  : count_fixed(sorted, from, to);

		CHECK_FOR_INTERRUPTS();
		n += n == 0 ? counted : counted - 1;
	}
	return n;
}
