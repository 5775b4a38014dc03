/*
 * sort/value_bound.c
 *		Which rows can still be among the first ones, by the values of a first column that has codes.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "key/compare.h"
#include "memory/alloc.h"
#include "sort/value_bound.h"

#define CODES_FIRST 1024
#define LOWEST_FIRST 64

/* All values that n rows precede when they come first. */
static ValueRows above = {.is_above = true};

/* ---------------------------------------------------------------- beginning, end */

void
value_bound_init(ValueBound *bound, const SortKey *key, uint64 rows, bool with_ties)
{
	bound->rows = rows;
	bound->drops_equal = key->ncols == 1 && !with_ties;
	pg_atomic_init_u64(&bound->dropped, 0);
}

ValueFilter *
value_filter_create(ValueBound *bound, const SortKey *key)
{
	ValueFilter *filter = palloc0(sizeof(ValueFilter));

	filter->bound = bound;
	filter->coded = &key->coding->coded[0];
	filter->comparer = filter->coded->key->verified ? sort_key_comparer_create(filter->coded->key) : NULL;
	filter->context = CurrentMemoryContext;
	value_table_note_entries(&filter->coded->reader);
	filter->most = LOWEST_FIRST;
	filter->lowest = palloc(sizeof(ValueRows *) * filter->most);
	return filter;
}

void
value_filter_end(ValueFilter *filter)
{
	pg_atomic_fetch_add_u64(&filter->bound->dropped, filter->dropped);
	filter->dropped = 0;
}

/* ---------------------------------------------------------------- values that come first */

/* Makes by_code have a place. */
static void
make_room(ValueFilter *filter, uint32 place)
{
	uint32 ncodes = Max(filter->ncodes, CODES_FIRST);
	ValueRows **by_code;

	while (ncodes <= place)
		ncodes *= 2;
	by_code = MemoryContextAllocHuge(filter->context, sizeof(ValueRows *) * (Size) ncodes);
	memset(by_code, 0, sizeof(ValueRows *) * (Size) ncodes);
	if (filter->by_code != NULL)
	{
		memcpy(by_code, filter->by_code, sizeof(ValueRows *) * (Size) filter->ncodes);
		pfree(filter->by_code);
	}
	filter->by_code = by_code;
	filter->ncodes = ncodes;
}

static int
compare_with(ValueFilter *filter, const uint8 *key, Size size, const ValueRows *value)
{
	if (filter->comparer != NULL)
		return sort_key_compare(filter->comparer, key, size, value->key, value->size);
	/* keys of one column: neither begins with the other */
	return memcmp(key, value->key, Min(size, value->size));
}

/* Finds the place of a value among the lowest ones; *is_there: an equal value has this place. */
static int
find_place(ValueFilter *filter, const uint8 *key, Size size, bool *is_there)
{
	int low = 0;
	int high = filter->nlowest;

	*is_there = false;
	/* most values are above all that are kept */
	if (high > 0 && compare_with(filter, key, size, filter->lowest[high - 1]) > 0)
		return high;
	while (low < high)
	{
		int middle = (low + high) / 2;
		int order = compare_with(filter, key, size, filter->lowest[middle]);

		if (order == 0)
		{
			*is_there = true;
			return middle;
		}
		if (order > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts a value at a place among the lowest ones. */
static ValueRows *
insert(ValueFilter *filter, int place, const uint8 *key, Size size)
{
	ValueRows *value = MemoryContextAllocZero(filter->context, sizeof(ValueRows));

	value->key = memcpy(MemoryContextAllocHuge(filter->context, size), key, size);
	value->size = size;
	if (filter->nlowest == filter->most)
	{
		filter->most *= 2;
		filter->lowest = repalloc_huge(filter->lowest, sizeof(ValueRows *) * (Size) filter->most);
	}
	memmove(filter->lowest + place + 1, filter->lowest + place,
			sizeof(ValueRows *) * (filter->nlowest - place));
	filter->lowest[place] = value;
	filter->nlowest++;
	return value;
}

const ValueRows *
value_filter_meet(ValueFilter *filter, uint32 place)
{
	bool is_there;
	Size size;
	const uint8 *key;
	int at;
	ValueRows *value;

	if (place >= filter->ncodes)
		make_room(filter, place);
	key = place == 0 ? sort_key_encode_null(filter->coded, &size)
					 : sort_key_encode_value(filter->coded, filter->coded->reader.entries[place - 1], &size);
	at = find_place(filter, key, size, &is_there);
	if (is_there)
		value = filter->lowest[at];
	else if (at == filter->nlowest && filter->rows >= filter->bound->rows)
		value = &above;
	else
		value = insert(filter, at, key, size);
	return filter->by_code[place] = value;
}

/* ---------------------------------------------------------------- rows that are kept */

void
value_filter_note(ValueFilter *filter, const uint8 *key)
{
	ValueRows *value = filter->by_code[value_filter_place(filter, key)];
	uint64 wanted = filter->bound->rows;
	ValueRows *highest;

	/* so it is with rows that were looked at before others were noted */
	if (value->is_above)
		return;
	value->rows++;
	filter->rows++;
	while (highest = filter->lowest[filter->nlowest - 1], filter->rows - highest->rows >= wanted)
	{
		highest->is_above = true;
		pfree((void *) highest->key);
		filter->rows -= highest->rows;
		filter->nlowest--;
	}
	if (filter->bound->drops_equal && filter->rows >= wanted)
		filter->full = highest;
}
