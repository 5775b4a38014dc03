/*
 * sort/value_bound.h
 *		Decides by the first column which rows can still be among the first ones that are wanted, if this
 *		column has codes in the place of values (key/coded.h).
 *
 * Codes have no order, and plain keys may only guess at it.  So the values are compared: each process keeps
 * the lowest values so far, in order, with the number of rows that it kept with each of them.  If n rows have
 * lower values than a row, the row is not wanted.  A value is compared when it comes first.  After that, its
 * code tells whether it is above the values that are kept, and the kept values only become fewer and lower.
 *
 * Each process that feeds the sort has a ValueFilter.  When coding ends, a process drops no more rows.
 */
#ifndef GPUSORT_SORT_VALUE_BOUND_H
#define GPUSORT_SORT_VALUE_BOUND_H

#include "postgres.h"

#include "port/atomics.h"

#include "key/coded.h"
#include "key/numbers.h"

/* In memory of all processes of the sort. */
typedef struct ValueBound
{
	uint64 rows;	  /* number of the first rows that are wanted; at least 1 */
	bool drops_equal; /* need only that many rows be kept, of those that equal each other? */
	/* number of rows that were dropped, by processes that have ended their filter */
	pg_atomic_uint64 dropped;
} ValueBound;

/* Rows of one value of the first column. */
typedef struct ValueRows
{
	const uint8 *key; /* of the value, by the plain key of the column alone */
	Size size;
	uint64 rows;   /* number of rows that were kept */
	bool is_above; /* n rows have lower values */
} ValueRows;

/* The filter of one process. */
typedef struct ValueFilter
{
	ValueBound *bound;
	CodedColumn *coded;				  /* the first column */
	struct SortKeyComparer *comparer; /* NULL: keys of values are exact */
	MemoryContext context;
	/* the values that this process has met: NULLs, and then by their code; NULL: not met */
	ValueRows **by_code;
	uint32 ncodes;		/* number of these places */
	ValueRows **lowest; /* the values that are not above, in order */
	int nlowest;
	int most;	 /* number of values that there is room for */
	uint64 rows; /* number of rows of these values */
	/* rows of this value are not wanted any more, though they are not above; NULL: none */
	const ValueRows *full;
	uint64 dropped;
} ValueFilter;

/* Can a filter tell which of the first rows are not wanted, if these columns are coded? */
static inline bool
value_bound_is_possible(uint32 coded)
{
	return (coded & 1) != 0;
}

/* Makes a bound of the first rows by this key, whose first column is coded. */
extern void value_bound_init(ValueBound *bound, const SortKey *key, uint64 rows, bool with_ties);

/* Makes the filter of one process, in CurrentMemoryContext. */
extern ValueFilter *value_filter_create(ValueBound *bound, const SortKey *key);

/* Adds the filter's count to the bound. */
extern void value_filter_end(ValueFilter *filter);

/* Finds what is known of a value that was not met before, by its place in by_code. */
extern const ValueRows *value_filter_meet(ValueFilter *filter, uint32 place);

/* Notes that the row with this key, which was asked about, is kept. */
extern void value_filter_note(ValueFilter *filter, const uint8 *key);

/* Returns the place in by_code of the value that a key has. */
static inline uint32
value_filter_place(const ValueFilter *filter, const uint8 *key)
{
	const CodedColumn *coded = filter->coded;

	return key[coded->marker] == coded->value_marker ? sort_key_load32(key + coded->offset) + 1 : 0;
}

/* May the row with this key be dropped?  This process has encoded it. */
static inline bool
value_filter_drops(ValueFilter *filter, const uint8 *key)
{
	uint32 place = value_filter_place(filter, key);
	const ValueRows *value = place < filter->ncodes ? filter->by_code[place] : NULL;

	if (unlikely(value == NULL))
		value = value_filter_meet(filter, place);
	if (!value->is_above && value != filter->full)
		return false;
	filter->dropped++;
	return true;
}

#endif /* GPUSORT_SORT_VALUE_BOUND_H */
