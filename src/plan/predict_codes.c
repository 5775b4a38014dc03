/*
 * plan/predict_codes.c
 *		Sorts whose keys have codes in the place of values: of which columns, and their work.
 *
 * Each row's value is looked up in a table, and its code is replaced by a rank when all rows are there.  Each
 * value is encoded, sorted and, if keys guess, verified once, by one process.  All else is as in a sort by
 * keys of fixed width.
 */
#include "postgres.h"

#include "base/limits.h"
#include "plan/predict_codes.h"
#include "plan/predict_work.h"

/*
 * Values that come so often on average get codes (decision 41), because a value that comes first costs more
 * than a key.  Strings that compare as bytes: those that agree in their first 8 bytes, and those that these
 * bytes, which today's sort compares at once, tell apart.
 */
#define CODES_TIMES 4
#define CODES_TIMES_BYTES 8
#define CODES_TIMES_FIRST_BYTES 32

/*
 * The same where several processes want the first rows of groups: rows with keys of fixed width are dropped
 * and cut out sooner.  5 million rows, 25 of each value, three processes on two cores: 2084 and 1107 ms for
 * the rows that come last, 1099 and 569 for the first (2026-11-30).  With 8 of each, and in one process, it
 * gained nothing.
 */
#define CODES_TIMES_GROUPS 20

/* Bytes of such strings in a key, at least: all shorter ones are compared at once. */
#define CODES_BYTES_MIN 10

/*
 * Bytes of a value's entry and slots besides its string; the tables have one byte in so many of the memory.
 */
#define CODES_VALUE_BYTES 40
#define CODES_MEMORY_SHARE(processes) (VALUES_SHARE * VALUES_MEMORY_TIMES(processes))

/* What the tables take together with what ranks their values, in bytes for each byte of values. */
#define RANKING_FACTOR 3

/* ---------------------------------------------------------------- which columns */

static bool
has_column(uint32 columns, int i)
{
	return i < 32 && (columns >> i & 1) != 0;
}

static bool
is_bytewise(const SortKeyShape *key)
{
	return key->class == KEY_TEXT || key->class == KEY_LIBC_BYTES;
}

static double
times_to_code(const SortShape *shape, const SortKeyShape *key)
{
	if (!is_bytewise(key))
		return CODES_TIMES;
	if (shape->rows_of_group > 0 && shape->processes > 1)
		return CODES_TIMES_GROUPS;
	return key->leading > 0 && key->leading * 2 < key->distinct ? CODES_TIMES_BYTES : CODES_TIMES_FIRST_BYTES;
}

double
predict_values_bytes(double values, double width)
{
	return values * (width + CODES_VALUE_BYTES);
}

bool
predict_tables_fit(double largest, int ncolumns, int processes, double memory)
{
	return largest * ncolumns * CODES_MEMORY_SHARE(processes) <= memory;
}

static double
bytes_of_values(const SortKeyShape *key)
{
	return predict_values_bytes(key->distinct, key->width);
}

/* All columns must have fixed width then, so none of text may have values that come rarely. */
uint32
predict_coded_columns(const SortShape *shape, double *values)
{
	double largest = 0;
	double bytes = 0;
	int ncoded = 0;

	*values = 0;
	if (shape->coded_bytes <= 0 || shape->rows < CODES_ROWS_MIN || shape->memory < CODES_MEMORY_MIN)
		return 0;
	for (int i = 0; i < shape->nkeys; i++)
	{
		const SortKeyShape *key = &shape->keys[i];

		if (!has_column(shape->codable, i))
			continue;
		if (key->distinct <= 0 || key->distinct * times_to_code(shape, key) > shape->rows)
			return 0;
		ncoded++;
		*values = Max(*values, key->distinct);
		largest = Max(largest, bytes_of_values(key));
		bytes += is_bytewise(key) ? key->width : CODES_BYTES_MIN;
	}
	if (bytes < CODES_BYTES_MIN)
		return 0;
	return predict_tables_fit(largest, ncoded, shape->processes, shape->memory) ? shape->codable : 0;
}

double
predict_coded_values(const SortShape *shape, uint32 columns)
{
	double values = 0;

	for (int i = 0; i < shape->nkeys; i++)
		values += has_column(columns, i) ? key_values(&shape->keys[i], shape->rows) : 0;
	return values;
}

double
predict_tables_memory(const SortShape *coded)
{
	double bytes = 0;

	for (int i = 0; i < coded->nkeys; i++)
		bytes += work_has_code(coded, i) ? bytes_of_values(&coded->keys[i]) : 0;
	return RANKING_FACTOR * bytes;
}

/* With codes behind the groups, the order within groups is not known while the rows come. */
bool
predict_codes_are_within(const SortShape *shape, uint32 columns)
{
	return shape->group_columns >= 32 || columns >> shape->group_columns == 0;
}

/*
 * How many of the first rows are kept, where keys guess: those of all values of the first column that are
 * wanted; -1: all, since its order is not known while the rows come (sort/value_bound.h).
 */
static double
wanted_by_value(const SortShape *shape, uint32 columns)
{
	if (shape->wanted < 0 || !has_column(columns, 0))
		return -1;
	return Max(shape->wanted, shape->rows / key_values(&shape->keys[0], shape->rows));
}

SortShape
predict_shape_with_codes(const SortShape *shape, uint32 columns)
{
	SortShape coded = *shape;

	coded.wanted = wanted_by_value(shape, columns);
	if (!predict_codes_are_within(shape, columns))
		coded.rows_of_group = 0;
	coded.uncoded = shape;
	coded.coded = columns;
	coded.key_bytes = shape->coded_bytes;
	coded.fixed_key = true;
	coded.verified = false;
	coded.memory -= Min(shape->memory / VALUES_SHARE,
						VALUES_MEMORY_TIMES(shape->processes) *
							(VALUES_MEMORY_MIN + predict_coded_values(shape, columns) * VALUE_MEMORY));
	return coded;
}

/* ---------------------------------------------------------------- work */

void
count_codes(const SortShape *coded, double rows, double *counts)
{
	for (int i = 0; i < coded->nkeys; i++)
	{
		if (work_has_code(coded, i))
			counts[COST_CODE] += rows;
	}
}

void
count_values(const SortShape *coded, double *counts)
{
	for (int i = 0; i < coded->nkeys; i++)
	{
		const SortKeyShape *key = &coded->keys[i];
		double values = key_values(key, coded->rows);

		if (!work_has_code(coded, i))
			continue;
		counts[COST_CODE_VALUE] += values;
		count_first_strings_of(coded, key, values, counts);
		count_encoding_of(key, values, counts);
		count_verification_of(key, values, values, 0, counts);
		counts[COST_SORT_STRING_LEVEL] += values * levels_of(values);
	}
}
