/*
 * sort/value_ranks.c
 *		The order of the different values of a sort, and ranks in the place of codes.
 *
 * The values of a column are rows of a sort of their own: their chunks have the key of each value, and a row
 * that says its code.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "key/compare.h"
#include "key/key_row.h"
#include "key/key_row_coded.h"
#include "key/numbers.h"
#include "key/sort_key.h"
#include "memory/alloc.h"
#include "sort/record.h"
#include "sort/value_ranks.h"

#define VALUES_CHUNK_SIZE ((Size) 1024 * 1024)

/* The row of a value; the first field has the place of t_len in a MinimalTuple. */
typedef struct ValueRow
{
	uint32 t_len;
	uint32 code;
	uint64 key_size; /* bytes of the key, of which the record leaves out zeros at the end */
	const ValueEntry *entry;
} ValueRow;

/* ---------------------------------------------------------------- the values' keys */

/* The values of one column on their way to chunks. */
typedef struct ValueFeed
{
	CodedColumn *coded;
	Chunk *first;
	Chunk *last;
	uint64 nrows;
	Size memory;
} ValueFeed;

static Chunk *
chunk_for(ValueFeed *feed, Size bytes)
{
	Chunk *chunk = feed->last;

	if (chunk != NULL && chunk_has_room(chunk, bytes))
		return chunk;
	chunk = palloc0(sizeof(Chunk));
	chunk->size = Max(VALUES_CHUNK_SIZE, TYPEALIGN(8, bytes));
	chunk->base = huge_alloc(chunk->size);
	chunk->max_rows = PG_UINT64_MAX;
	chunk_set_layout(chunk, feed->coded->key);
	chunk_reset(chunk);
	feed->memory += chunk->size;
	if (feed->last != NULL)
		feed->last->next = chunk;
	else
		feed->first = chunk;
	return feed->last = chunk;
}

static void
put_value(const ValueEntry *entry, void *arg)
{
	ValueFeed *feed = arg;
	ValueRow row = {.t_len = sizeof(ValueRow), .code = entry->code, .entry = entry};
	Size size;
	const uint8 *key = sort_key_encode_value(feed->coded, entry, &size);
	Chunk *chunk;

	row.key_size = size;
	while (size > 0 && key[size - 1] == 0)
		size--;
	chunk = chunk_for(feed, chunk_entry_size(0, true) + record_whole_size(size, sizeof(ValueRow)));
	memcpy(chunk_append_variable(chunk, key, size, sizeof(ValueRow)), &row, sizeof(ValueRow));
	feed->nrows++;
}

static const ValueRow *
value_row(const char *record)
{
	return (const ValueRow *) record_row(record);
}

/* ---------------------------------------------------------------- ranks */

/* Do two records have the same value?  comparer: NULL if their keys tell. */
static bool
are_equal(SortKeyComparer *comparer, const char *a, const char *b)
{
	if (record_compare_keys(a, b) == 0)
		return true;
	return comparer != NULL && sort_key_compare(comparer, (const uint8 *) record_key(a), record_key_length(a),
												(const uint8 *) record_key(b), record_key_length(b)) == 0;
}

/* Gives the sorted values their ranks. */
static void
number_values(ValueRanks *ranks, int column, const SortKey *key, SortedRows *sorted)
{
	SortKeyComparer *comparer =
		key->verified && !sort_key_bytes_tell(key) ? sort_key_comparer_create(key) : NULL;
	const char **records = ranks->records[column];
	uint32 rank = 0;

	for (uint64 i = 0; i < sorted->nrows; i++)
	{
		const char *record = sorted_rows_address(sorted, i);

		if (i > 0 && !are_equal(comparer, records[rank], record))
			rank++;
		records[rank] = record;
		if (ranks->tables.values[column] != NULL)
			ranks->tables.values[column][rank] = value_row(record)->entry;
		ranks->tables.ranks[column][value_row(record)->code] = rank;
		if (i % SORT_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
	}
	ranks->tables.nvalues[column] = rank + 1;
	if (comparer != NULL)
		sort_key_comparer_free(comparer);
}

static void
rank_column(ValueRanks *ranks, int column)
{
	CodedColumn *coded = &ranks->key->coding->coded[column];
	ValueFeed feed = {.coded = coded};
	SortedRows sorted;
	uint32 ncodes;

	value_table_visit(coded->reader.table, put_value, &feed);
	/* no entry that was visited has a code from this one on */
	pg_read_barrier();
	ncodes = value_table_codes(coded->reader.table);
	ranks->ncodes[column] = ncodes;
	ranks->complete = ranks->complete && feed.nrows == ncodes;
	ranks->tables.ranks[column] = huge_alloc(sizeof(uint32) * (ncodes + 1));
	ranks->records[column] = huge_alloc(sizeof(char *) * (feed.nrows + 1));
	if (ranks->key->policy.alone)
		ranks->tables.values[column] = huge_alloc(sizeof(ValueEntry *) * (feed.nrows + 1));
	ranks->memory += feed.memory + ncodes * sizeof(uint32) + feed.nrows * 2 * sizeof(char *);
	if (feed.nrows == 0)
		return;
	sorted_rows_make(&sorted, coded->key, feed.first, feed.nrows);
	if (coded->key->verified)
		sorted_rows_verify(&sorted, coded->key);
	number_values(ranks, column, coded->key, &sorted);
	ranks->memory += sorted_rows_used(&sorted);
	sorted_rows_free(&sorted);
}

ValueRanks *
value_ranks_create(const SortKey *key)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "gpusort ranks of values", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ValueRanks *ranks = palloc0(sizeof(ValueRanks));

	ranks->key = key;
	ranks->expander = sort_key_create_twin(key->coding->plain);
	ranks->context = context;
	ranks->complete = true;
	ranks->tables.n = key->coding->ncoded;
	for (int i = 0; i < ranks->tables.n; i++)
		rank_column(ranks, i);
	MemoryContextSwitchTo(old);
	return ranks;
}

bool
value_ranks_have_all(const ValueRanks *ranks)
{
	for (int i = 0; i < ranks->tables.n; i++)
	{
		if (value_table_codes(ranks->key->coding->coded[i].reader.table) != ranks->ncodes[i])
			return false;
	}
	return ranks->complete;
}

void
value_ranks_free(ValueRanks *ranks)
{
	MemoryContextDelete(ranks->context);
}

void
value_ranks_make_rows(const RankTables *tables, const SortKey *key)
{
	for (int i = 0; i < tables->n && key->policy.alone; i++)
		key_row_set_values(key->policy.rows, i, tables->values[i]);
}

/* ---------------------------------------------------------------- chunks */

static inline void
give_rank(const CodedColumn *coded, const uint32 *ranks, uint8 *key)
{
	uint8 *code = key + coded->offset;

	if (key[coded->marker] == coded->value_marker)
		sort_key_store32(code, ranks[sort_key_load32(code)]);
}

void
value_ranks_give(const RankTables *tables, const SortKey *key, Chunk *chunk)
{
	uint64 nrows = chunk->nrows;
	SortKeyCoding *coding = key->coding;

	if (chunk->ranked)
		return;
	chunk->front = 0;
	chunk->nrows = 0;
	chunk->ascending = chunk->descending = true;
	memset(chunk->key_differs, 0, sizeof(chunk->key_differs));
	for (uint64 i = 0; i < nrows; i++)
	{
		for (int c = 0; c < tables->n; c++)
			give_rank(&coding->coded[c], tables->ranks[c], (uint8 *) chunk_reserve_key(chunk));
		chunk_commit_fixed(chunk, chunk->key_width);
	}
	chunk->ranked = true;
}

/* ---------------------------------------------------------------- plain keys */

static ValueKey
key_of_record(const char *record)
{
	return (ValueKey){.bytes = (const uint8 *) record_key(record),
					  .size = value_row(record)->key_size,
					  .stored = record_key_length(record)};
}

static ValueKey
find_by_rank(void *arg, int coded, uint32 rank)
{
	return key_of_record(((const ValueRanks *) arg)->records[coded][rank]);
}

const uint8 *
value_ranks_plain_key(const ValueRanks *ranks, SortedRows *sorted, uint64 i, Size *size)
{
	uint64 key[KEY_MAX_WORDS];

	key_squeeze_expand(&sorted->squeeze, sorted_rows_key(sorted, i), (uint8 *) key);
	return sort_key_expand(ranks->expander, ranks->key->coding, (const uint8 *) key, find_by_rank,
						   (void *) ranks, size);
}

/* ---------------------------------------------------------------- before there are ranks */

struct CodedValues
{
	const SortKey *key;
	SortKey *expander; /* a twin of the plain key */
	MemoryContext context;
	const ValueEntry **entries[CODED_COLUMNS_MAX]; /* by code */
	uint32 ncodes[CODED_COLUMNS_MAX];
	int column; /* the one whose entries are being noted */
};

static void
note_entry(const ValueEntry *entry, void *arg)
{
	CodedValues *values = arg;

	/* one that was added meanwhile is in no key at hand */
	if (entry->code < values->ncodes[values->column])
		values->entries[values->column][entry->code] = entry;
}

CodedValues *
coded_values_create(const SortKey *key)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "gpusort values by code", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	CodedValues *values = palloc0(sizeof(CodedValues));

	values->key = key;
	values->expander = sort_key_create_twin(key->coding->plain);
	values->context = context;
	for (int i = 0; i < key->coding->ncoded; i++)
	{
		ValueTable *table = key->coding->coded[i].reader.table;

		values->column = i;
		values->ncodes[i] = value_table_codes(table);
		values->entries[i] = huge_alloc(sizeof(ValueEntry *) * (values->ncodes[i] + 1));
		value_table_visit(table, note_entry, values);
		if (key->policy.alone)
			key_row_set_values(key->policy.rows, i, values->entries[i]);
	}
	MemoryContextSwitchTo(old);
	return values;
}

static ValueKey
find_by_code(void *arg, int coded, uint32 code)
{
	CodedValues *values = arg;
	ValueKey key;

	key.bytes =
		sort_key_encode_value(&values->key->coding->coded[coded], values->entries[coded][code], &key.size);
	key.stored = key.size;
	return key;
}

const uint8 *
coded_values_plain_key(CodedValues *values, const uint8 *key, Size *size)
{
	return sort_key_expand(values->expander, values->key->coding, key, find_by_code, values, size);
}

StoredRow
coded_values_row(CodedValues *values, const uint8 *key)
{
	return key_row_make(values->key->policy.rows, key);
}

void
coded_values_free(CodedValues *values)
{
	MemoryContextDelete(values->context);
}
