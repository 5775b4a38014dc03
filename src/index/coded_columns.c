/*
 * index/coded_columns.c
 *		The columns of an index whose values get codes while it is built.
 *
 * Indexes are often made before their table is analyzed.  Without statistics a column is tried: the feed ends
 * codes soon if few values repeat (sort_key_coding_ends).
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "utils/syscache.h"

#include "base/guc.h"
#include "index/coded_columns.h"
#include "key/coded.h"

/* Values that come so often on average get codes. */
#define TIMES 4

/* Builds of fewer rows take no tables. */
#define ROWS_MIN 4096

/* A column without statistics is taken to have one value for so many rows. */
#define ROWS_PER_VALUE 16

/*
 * How many values a column has by statistics, of the table's column or of the index's expression; 0: not
 * known.
 */
static double
known_values(Relation heap, Relation index, int column, double rows)
{
	AttrNumber attno = index->rd_index->indkey.values[column];
	HeapTuple tuple =
		SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(RelationGetRelid(attno != 0 ? heap : index)),
						Int16GetDatum(attno != 0 ? attno : column + 1), BoolGetDatum(false));
	double distinct;

	if (!HeapTupleIsValid(tuple))
		return 0;
	distinct = ((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct;
	ReleaseSysCache(tuple);
	return distinct >= 0 ? distinct : -distinct * rows;
}

uint32
index_coded_columns(Relation heap, Relation index, const SortKey *key, double rows, double *values)
{
	uint32 codable = gpusort_dictionary == GPUSORT_DICTIONARY_OFF ? 0 : sort_key_codable(key, PG_UINT32_MAX);
	bool is_forced = gpusort_dictionary == GPUSORT_DICTIONARY_ON;

	*values = 0;
	if (rows < ROWS_MIN && !is_forced)
		return 0;
	for (int i = 0; i < key->ncols - 1; i++)
	{
		double known;

		if (i >= 32 || (codable >> i & 1) == 0)
			continue;
		known = known_values(heap, index, i, rows);
		if (known == 0)
			known = index->rd_index->indisunique && key->ncols == 2 ? rows : rows / ROWS_PER_VALUE;
		if (known * TIMES > rows && !is_forced)
			return 0;
		*values = Max(*values, known);
	}
	return codable;
}
