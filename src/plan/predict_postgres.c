/*
 * plan/predict_postgres.c
 *		What PostgreSQL's Sort does for a sort: the counts that its time is predicted from.
 *
 * In memory: every row is copied into a tuple, its first column abbreviated where the type can be; a
 * quicksort that puts equal values aside, so that d different values take log2(d) levels and one more; the
 * rows are returned from where they were put.  A level is cheap where the first column decides, and dear
 * where an abbreviated key or the first column ties: the rows themselves are looked at then.
 *
 * Past its memory it writes sorted runs and merges them, comparing whole values, since abbreviated keys are
 * not kept.  With a bound that fits in memory it keeps a heap of the rows wanted, without abbreviated keys.
 * A parallel plan is a Sort in each process and a Gather Merge.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"

#include "base/pg_compat.h"
#include "plan/predict_postgres.h"

/* Bytes a row takes in memory besides its tuple: an entry to sort, and what the allocator keeps. */
#define SORT_ENTRY_BYTES 24
#define ALLOCATION_BYTES 16

/* A run that is merged has a buffer of this size, within these limits of how many are merged at once. */
#define MERGE_BUFFER_BYTES (264.0 * 1024)
#define MERGE_ORDER_MIN 6.0
#define MERGE_ORDER_MAX 500.0

/* An incremental sort sorts so many rows at a time, however small their groups are. */
#define INCREMENTAL_MIN_ROWS 32

/* A group of so many is sorted by itself. */
#define INCREMENTAL_LARGE_ROWS 64

/* Abbreviated keys are given up where they tell fewer values apart than this part of all. */
#define ABBREVIATION_WORTH 0.1

/*
 * What a radix sort takes, as a part of the comparisons in its place: a Sort of 20 million int8, serial, took
 * 1.75 s where it had taken 2.9 s, in which comparisons were 1.3 s.
 */
#define RADIX_SHARE 0.15

static double
tuple_bytes(const SortShape *shape)
{
	if (!shape->single_column)
		return MAXALIGN(SizeofMinimalTupleHeader + shape->width);
	return shape->width <= 8 && shape->fixed_key ? 0 : MAXALIGN(shape->width);
}

static double
memory_bytes(const SortShape *shape)
{
	double tuple = tuple_bytes(shape);

	return SORT_ENTRY_BYTES + (tuple > 0 ? tuple + ALLOCATION_BYTES : 0);
}

/* Bytes that a row takes in a temporary file. */
static double
temp_bytes(const SortShape *shape)
{
	double tuple = tuple_bytes(shape);

	return tuple > 0 ? tuple + sizeof(uint32) * 2 : sizeof(Datum) + sizeof(uint32);
}

/* ---------------------------------------------------------------- comparisons */

/*
 * What the first column is compared by, where that is not by all of the value.  If rows are in order, or
 * nearly, the processor foresees what comes out.
 */
static CostTerm
leading_term(const SortShape *shape)
{
	const SortKeyShape *key = &shape->keys[0];

	if (key->class == KEY_MADE)
		return COST_PG_LEVEL_MADE;
	if (shape->order != ORDER_NONE && key->class != KEY_FUNCTION)
		return COST_PG_LEVEL_NEARLY;
	switch (key->class)
	{
		case KEY_INT:
			return COST_PG_LEVEL_INT;
		case KEY_FUNCTION:
			return COST_PG_LEVEL_FUNCTION;
		case KEY_ABBREVIATED:
		case KEY_TEXT:
		case KEY_ICU:
			return COST_PG_LEVEL_ABBREVIATED;
		default:
			return COST_PG_LEVEL_PLAIN;
	}
}

static bool
is_libc(const SortKeyShape *key)
{
	return key->class == KEY_LIBC || key->class == KEY_LIBC_BYTES;
}

/* Counts comparisons by this column's whole values, of so many rows, of which such a part is far away. */
static void
count_ties(const SortKeyShape *key, double rows, double times, double far, double *counts)
{
	counts[COST_PG_TIE] += times;
	counts[COST_PG_TIE_FAR] += times * far;
	if (key->padded)
		counts[COST_PG_TIE_BLANK] += times * key->width;
	if (key->class == KEY_NUMERIC)
		counts[COST_PG_TIE_NUMERIC] += times;
	else if (key->class == KEY_TEXT)
		counts[COST_PG_TIE_TEXT] += times;
	else if (key->class == KEY_ICU)
		counts[COST_PG_TIE_ICU] += times;
	else if (key->class == KEY_MADE)
		counts[COST_PG_LEVEL_MADE] += times;
	else if (is_libc(key))
	{
		counts[COST_PG_TIE_LIBC] += times;
		counts[COST_PG_TIE_LIBC_FAR] += times * far;
		counts[COST_PG_TIE_LIBC_BYTE] += times * compared_bytes(key, rows);
	}
}

static bool
is_string(const SortKeyShape *key)
{
	return key->class == KEY_TEXT || key->class == KEY_ICU || is_libc(key);
}

/* Strings that the C library compares never are: PostgreSQL does not trust its images. */
static bool
can_be_abbreviated(const SortKeyShape *key)
{
	return key->class == KEY_TEXT || key->class == KEY_ICU || key->class == KEY_NUMERIC ||
		   key->class == KEY_ABBREVIATED;
}

/* With a bound no column is abbreviated. */
static bool
is_abbreviated(const SortShape *shape)
{
	return shape->wanted < 0 && can_be_abbreviated(&shape->keys[0]);
}

static bool
by_radix(const SortShape *shape)
{
	return postgres_sorts_by_radix && (shape->keys[0].class == KEY_INT ||
									   (is_abbreviated(shape) && shape->keys[0].class != KEY_NUMERIC));
}

/* How many different abbreviated keys there are; 0: they are not worth having. */
static double
abbreviated_values(const SortShape *shape, double rows)
{
	const SortKeyShape *key = &shape->keys[0];
	double values = key_values(key, rows);
	double leading = key->leading > 0 ? Min(key->leading, values) : values;

	if (!is_string(key))
		return values;
	return leading < ABBREVIATION_WORTH * values ? 0 : leading;
}

/* In how many levels of a quicksort does what is compared first decide, abbreviated or the whole column? */
static double
first_levels(const SortShape *shape, double rows)
{
	const SortKeyShape *key = &shape->keys[0];

	if (is_abbreviated(shape))
		return levels_of(abbreviated_values(shape, rows)) + (is_string(key) ? 0 : 1);
	if (can_be_abbreviated(key) || is_libc(key))
		return 0;
	return levels_of(key_values(key, rows)) + 1;
}

/* Is the first column's whole value looked at where what is compared first does not decide? */
static bool
has_whole_first(const SortShape *shape)
{
	return can_be_abbreviated(&shape->keys[0]) || is_libc(&shape->keys[0]);
}

/*
 * Counts comparisons of whole rows that this column decides: those before it were compared, too, and found
 * equal.  The row is far away once.  The first columns may be in order: their strings are the same bytes
 * then, which the C library is not asked about.
 */
static void
count_decided(const SortShape *shape, int in_order, int column, double rows, double times, double far,
			  double *counts)
{
	for (int i = has_whole_first(shape) ? 0 : Min(1, column); i <= column; i++)
	{
		SortKeyShape key = shape->keys[i];

		if (i < in_order)
			key.width = 0;
		count_ties(&key, rows, times, far, counts);
		far = 0;
	}
}

/*
 * How many rows are told apart with this column, of those that differ in columns before it by so many.  Of a
 * column of which nothing is known it is the middle, by orders of magnitude, of none more and all: if it
 * tells few apart the columns behind it are compared.
 */
static double
told_apart(const SortShape *shape, int column, double before, double rows)
{
	const SortKeyShape *key = &shape->keys[column];

	if (key->distinct == 0 && column < shape->nkeys - 1)
		return sqrt(before * rows);
	return Min(rows, before * key_values(key, rows));
}

/* Counts the comparisons that sort so many rows in memory, so many rows at a time. */
static void
count_quicksort(const SortShape *shape, double total, double rows, double *counts)
{
	double most = shape->order == ORDER_EXACT ? 1 : levels_of(rows);
	double far = share_far(shape, rows * memory_bytes(shape));
	double seen = 1;   /* rows told apart so far */
	double levels = 0; /* that took so many */

	for (int i = 0; i < shape->nkeys && levels < most; i++)
	{
		double together = told_apart(shape, i, seen, rows);
		bool last = i == shape->nkeys - 1 || together >= rows;
		double more = Min(most - levels, levels_of(together) - levels + (last ? 1 : 0));
		double cheap = i == 0 ? Min(more, first_levels(shape, rows)) : 0;

		if (cheap > 0)
			counts[leading_term(shape)] += total * cheap * (by_radix(shape) ? RADIX_SHARE : 1);
		count_decided(shape, 0, i, rows, total * (more - cheap), far, counts);
		seen = together;
		levels += more;
	}
}

/* The column by which rows that are near each other in the order are told apart. */
static int
deciding_column(const SortShape *shape, double rows)
{
	double seen = 1;
	int i = 0;

	for (; i < shape->nkeys - 1; i++)
	{
		seen = told_apart(shape, i, seen, rows);
		if (seen >= rows)
			break;
	}
	return i;
}

/* Counts so many comparisons of whole values, up to this column, of rows with so many columns in order. */
static void
count_whole_comparisons(const SortShape *shape, int in_order, int column, double times, double *counts)
{
	SortKeyClass class = shape->keys[0].class;

	if (!has_whole_first(shape))
		counts[class == KEY_MADE	   ? COST_PG_LEVEL_MADE
			   : class == KEY_FUNCTION ? COST_PG_LEVEL_FUNCTION
									   : COST_PG_LEVEL_PLAIN] += times;
	if (column > 0 || has_whole_first(shape))
		count_decided(shape, in_order, column, shape->rows, times, 0, counts);
}

/* ---------------------------------------------------------------- rows */

static void
count_put(const SortShape *shape, double rows, double *counts)
{
	if (!shape->single_column)
		counts[COST_PG_PUT] += rows;
}

static void
count_abbreviation(const SortShape *shape, double rows, double *counts)
{
	const SortKeyShape *key = &shape->keys[0];

	if (!is_abbreviated(shape))
		return;
	if (key->class == KEY_NUMERIC)
		counts[COST_PG_CONVERT_NUMERIC] += rows;
	else if (is_string(key) && abbreviated_values(shape, rows) > 0)
		counts[key->class == KEY_ICU ? COST_PG_CONVERT_ICU : COST_PG_CONVERT_TEXT] += rows;
}

static void
count_get(const SortShape *shape, double rows, bool in_sequence, double *counts)
{
	counts[shape->single_column ? COST_PG_GET_DATUM : COST_PG_GET] += rows;
	if (!in_sequence && tuple_bytes(shape) > 0)
		counts[COST_PG_GET_FAR] += rows * share_far(shape, rows * memory_bytes(shape));
}

/* ---------------------------------------------------------------- kinds of sorts */

static void
count_in_memory(const SortShape *shape, double rows, CostCounts *counts)
{
	count_put(shape, rows, counts->first);
	count_abbreviation(shape, rows, counts->first);
	count_quicksort(shape, rows, rows, counts->first);
	counts->first[COST_PG_MEMORY_BYTE] += bytes_beyond_cache(rows * memory_bytes(shape));
	count_get(shape, rows, false, counts->rest);
}

static void
count_external(const SortShape *shape, double rows, CostCounts *counts)
{
	double runs = Max(2, ceil(rows * memory_bytes(shape) / shape->memory));
	double order = Min(MERGE_ORDER_MAX, Max(MERGE_ORDER_MIN, shape->memory / MERGE_BUFFER_BYTES));
	double passes = Max(1, ceil(log(runs) / log(order)));
	double bytes = temp_bytes(shape);
	int last = deciding_column(shape, rows);

	count_put(shape, rows, counts->first);
	count_abbreviation(shape, rows, counts->first);
	count_quicksort(shape, rows, rows / runs, counts->first);
	counts->first[COST_PG_SPILL] += rows * (passes - 0.5);
	counts->first[COST_PG_SPILL_BYTE] += rows * bytes * (passes - 0.5);
	counts->rest[COST_PG_SPILL] += rows * 0.5;
	counts->rest[COST_PG_SPILL_BYTE] += rows * bytes * 0.5;
	if (shape->order == ORDER_EXACT)
		counts->rest[COST_PG_LEVEL_NEARLY] += rows; /* of one run after the other */
	else
	{
		count_whole_comparisons(shape, 0, last, rows * levels_of(Min(runs, order)), counts->rest);
		count_whole_comparisons(shape, 0, last, rows * Max(0, levels_of(runs) - levels_of(order)),
								counts->first);
	}
	count_get(shape, rows, true, counts->rest);
}

/* A heap of the rows wanted: each row is compared once, and those that are kept go down the heap. */
static void
count_top_n(const SortShape *shape, double rows, double wanted, CostCounts *counts)
{
	double in_heap = 2 * rows_kept(shape, rows, wanted) * levels_of(wanted);

	count_put(shape, rows, counts->first);
	counts->first[COST_PG_HEAP_BYTE] += bytes_beyond_cache(rows * tuple_bytes(shape));
	if (shape->formed && !shape->single_column)
		counts->first[COST_PG_HEAP_FORM] += rows;
	count_whole_comparisons(shape, 0, 0, rows, counts->first);
	if (has_whole_first(shape) || shape->keys[0].class == KEY_MADE)
		count_whole_comparisons(shape, 0, 0, in_heap, counts->first);
	else
		counts->first[COST_PG_HEAP_LEVEL] += in_heap;
	counts->first[COST_PG_HEAP_FAR] += in_heap * share_far(shape, wanted * memory_bytes(shape));
	count_get(shape, rows, false, counts->rest);
}

/* How many of the first columns make the groups that the rows come in. */
static int
columns_of_groups(const SortShape *shape, double rows)
{
	double groups = 1;
	int columns = 0;

	while (columns < shape->nkeys && groups < shape->groups)
		groups *= key_values(&shape->keys[columns++], rows);
	return Max(1, columns);
}

/*
 * Sorts group after group; the first row is there after the first of them.  Small groups are sorted together,
 * by all columns, of which none is abbreviated; one that is not small is a sort of its own, by the columns
 * that do not make the groups.
 */
static void
count_incremental(const SortShape *shape, double rows, CostCounts *counts)
{
	double sorts = Max(1, Min(shape->groups, rows / INCREMENTAL_MIN_ROWS));
	double group = rows / sorts;
	int first = columns_of_groups(shape, rows);
	double apart; /* levels that tell groups apart which are sorted together */
	CostCounts one = {.first = {0}};

	if (group < INCREMENTAL_LARGE_ROWS || first == shape->nkeys)
	{
		count_put(shape, group, one.first);
		apart = levels_of(Min(group, group * shape->groups / rows));
		count_whole_comparisons(shape, 0, first - 1, group * apart, one.first);
		count_whole_comparisons(shape, first, deciding_column(shape, rows),
								group * (levels_of(group) - apart), one.first);
		count_get(shape, group, true, one.rest);
	}
	else
	{
		SortShape alone = *shape;

		alone.keys += first;
		alone.nkeys -= first;
		alone.order = ORDER_NONE;
		if (group * memory_bytes(&alone) > alone.memory)
			count_external(&alone, group, &one);
		else
			count_in_memory(&alone, group, &one);
	}
	for (int i = 0; i < COST_TERMS; i++)
	{
		counts->first[i] += one.first[i] + one.rest[i];
		counts->rest[i] += (sorts - 1) * (one.first[i] + one.rest[i]);
	}
}

/*
 * What a row of a heap takes: tuples are allocated one by one, in sizes that are powers of two, and the array
 * of entries has been doubled as long as there was room.
 */
static double
heap_bytes(const SortShape *shape)
{
	double tuple = tuple_bytes(shape);

	return 1.5 * SORT_ENTRY_BYTES + (tuple > 0 ? exp2(ceil(log2(tuple))) + ALLOCATION_BYTES : 0);
}

/* Does a heap of the rows wanted do? */
static bool
is_top_n(const SortShape *shape, double rows, double wanted)
{
	return wanted * 2 < rows && wanted * heap_bytes(shape) <= shape->memory;
}

static double
rows_wanted(const SortShape *shape, double rows)
{
	return shape->wanted < 0 ? rows : Max(1, shape->wanted);
}

static void
count_serial(const SortShape *shape, double rows, CostCounts *counts)
{
	double wanted = rows_wanted(shape, rows);

	if (shape->groups > 0)
		count_incremental(shape, rows, counts);
	else if (is_top_n(shape, rows, wanted))
		count_top_n(shape, rows, wanted, counts);
	else if (rows * memory_bytes(shape) > shape->memory)
		count_external(shape, rows, counts);
	else
		count_in_memory(shape, rows, counts);
}

double
predict_postgres_memory(const SortShape *shape)
{
	double rows = shape->rows / Max(1, shape->processes);
	double at_a_time = shape->groups > 0 ? rows / Max(1, shape->groups) : rows;
	double wanted = rows_wanted(shape, rows);

	return is_top_n(shape, rows, wanted) ? wanted * heap_bytes(shape) : at_a_time * memory_bytes(shape);
}

double
predict_postgres_temp(const SortShape *shape)
{
	return predict_postgres_memory(shape) <= shape->memory ? 0 : shape->rows * temp_bytes(shape);
}

CostCounts
count_postgres_sort(const SortShape *shape)
{
	double rows = Max(shape->rows, 2);
	double processes = Max(1, shape->processes);
	CostCounts counts = {.first = {0}};

	count_serial(shape, Max(rows / processes, 2), &counts);
	if (shape->processes <= 1)
		return counts;

	/*
	 * Each did that; as many as there are cores at the same time.  Rows that came in order come back from one
	 * process after the other, while the others wait.
	 */
	for (int i = 0; i < COST_TERMS; i++)
	{
		counts.first[i] *= processes / running_processes(shape);
		counts.rest[i] *= processes / (shape->order == ORDER_NONE ? running_processes(shape) : 1);
	}
	counts.rest[COST_PG_GATHER] += rows;
	counts.rest[COST_PG_GATHER_BYTE] += rows * tuple_bytes(shape);
	count_launch(shape, &counts);
	return counts;
}
