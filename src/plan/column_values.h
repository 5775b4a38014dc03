/*
 * plan/column_values.h
 *		The values in a column's row of pg_statistic.
 *
 * Extracting values from that row takes longer than planning a small query, so it is done only if the values
 * decide something.
 */
#ifndef GPUSORT_PLAN_COLUMN_VALUES_H
#define GPUSORT_PLAN_COLUMN_VALUES_H

#include "postgres.h"

#include "access/attnum.h"
#include "nodes/pg_list.h"

/* The statistics of a column; column_stats.h finds them. */
typedef struct ColumnStats
{
	double width;	 /* bytes of a value on average */
	double distinct; /* number of different values; 0: not known, perhaps all differ */
	/* correlation with the order of the table: 1 ascending, -1 descending */
	double correlation;
	/* the row of pg_statistic; table is InvalidOid if there is no row, or the user may not see its values */
	Oid table;
	AttrNumber column;
	bool inherited;
} ColumnStats;

/*
 * Returns the number of different beginnings of `bytes` bytes of strings; 0: not known, perhaps as many as
 * values.
 */
extern double column_leading_values(const ColumnStats *stats, Oid type, Size bytes);

/* Returns the share of the rows with the most common value, or NULL; 1: no values are known. */
extern double column_largest_share(const ColumnStats *stats);

/*
 * Returns the difference of the greatest and the least value, for numbers; for dates and times in seconds.
 * -1: not known.
 */
extern double column_span(const ColumnStats *stats);

/*
 * Returns the number of different members of a column of jsonb documents at the end of these steps; 0: not
 * known. steps: FuncExprs and OpExprs of FUNCTION_MEMBER with constant keys, in the order of their
 * application.
 */
extern double column_member_values(const ColumnStats *stats, List *steps);

#endif /* GPUSORT_PLAN_COLUMN_VALUES_H */
