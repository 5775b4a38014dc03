/*
 * index/coded_columns.c
 *		The columns of an index whose values get codes while it is built.
 *
 * Indexes are often made before their table is analyzed.  Without statistics a column is tried: the feed ends
 * codes soon if few values repeat (sort_key_coding_ends).  How often values must come differs from queries
 * (plan/predict_codes.c): there is no SortShape, and the tuples of a build can be made of ranks.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/syscache.h"

#include "base/guc.h"
#include "base/limits.h"
#include "index/coded_columns.h"
#include "key/coded.h"
#include "key/key_row_coded.h"
#include "plan/predict_codes.h"

/*
 * Values that come so often on average get codes: those of keys that guess the order, and others.  Short
 * strings that compare as bytes cost little without.  Processor time of builds by one process, 2 million
 * rows, 2026-11-30, with codes as a part of that without: strings of 55 bytes in C that come 8 times 0.92, 16
 * times 0.83; of 10 bytes 8 times 1.27, 32 times 0.93; ICU, 55 bytes, 4 times 1.0; en_US.UTF-8, 10 bytes, 8
 * times 0.78.
 */
#define TIMES_GUESSED 4
#define TIMES 8
#define TIMES_SHORT_BYTES 32
#define SHORT_BYTES 24

/* A column without statistics is taken to have one value for so many rows. */
#define ROWS_PER_VALUE 32

/* What statistics say of a column of the table, or of an expression of the index; values is 0: nothing. */
typedef struct KnownColumn
{
	double values;
	int width;
} KnownColumn;

static KnownColumn
known_column(const CodedIndex *index, int column, double rows)
{
	AttrNumber attno = index->columns[column];
	HeapTuple tuple =
		SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(attno != 0 ? index->heap : index->index),
						Int16GetDatum(attno != 0 ? attno : column + 1), BoolGetDatum(false));
	KnownColumn known = {0};
	Form_pg_statistic form;

	if (!HeapTupleIsValid(tuple))
		return known;
	form = (Form_pg_statistic) GETSTRUCT(tuple);
	known.values = form->stadistinct >= 0 ? form->stadistinct : -form->stadistinct * rows;
	known.width = form->stawidth;
	ReleaseSysCache(tuple);
	return known;
}

static double
least_times(const SortKey *key, int column, const KnownColumn *known)
{
	if (sort_key_bytewise(key) >> column & 1)
		return known->width >= SHORT_BYTES ? TIMES : TIMES_SHORT_BYTES;
	return key->verified ? TIMES_GUESSED : TIMES;
}

/* Notes what is known of the columns.  False: codes do not pay. */
static bool
look_at_columns(const CodedIndex *index, const SortKey *key, double rows, int processes, CodedColumns *coded)
{
	bool is_unique = index->is_unique && key->ncols == 2;
	double largest = 0;

	for (int i = 0; i < key->ncols && i < 32; i++)
	{
		KnownColumn known;
		double times;

		if ((coded->columns >> i & 1) == 0)
			continue;
		known = known_column(index, i, rows);
		times = least_times(key, i, &known);
		largest = Max(largest, predict_values_bytes(known.values, known.width));
		if (known.values == 0)
			coded->times = Max(coded->times, times);
		if (known.values == 0)
			known.values = is_unique ? rows : rows / ROWS_PER_VALUE;
		coded->values = Max(coded->values, known.values);
		if (known.values * times > rows)
			return false;
	}
	return predict_tables_fit(largest, pg_popcount32(coded->columns), processes,
							  maintenance_work_mem * 1024.0);
}

CodedColumns
index_coded_columns(const CodedIndex *index, SortKey *key, double rows, int processes)
{
	bool is_forced = gpusort_dictionary == GPUSORT_DICTIONARY_ON;
	CodedColumns coded = {.columns = sort_key_codable(key, PG_UINT32_MAX)};
	SortKeyTables tables = {.columns = coded.columns};
	const SortKey *coded_key;

	if (coded.columns == 0 || gpusort_dictionary == GPUSORT_DICTIONARY_OFF ||
		maintenance_work_mem < (int) (CODES_MEMORY_MIN / 1024) || (rows < CODES_ROWS_MIN && !is_forced) ||
		(!look_at_columns(index, key, rows, processes, &coded) && !is_forced))
		return (CodedColumns){0};
	if (is_forced)
		coded.times = 0;
	coded_key = sort_key_create_coded(key, &tables);
	coded.key_bytes = coded_key->width;
	coded.alone = index->ncolumns == key->ncols - 1 && key_row_possible_coded(key, coded.columns);
	return coded;
}
