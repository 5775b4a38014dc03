/*
 * plan/column_values.h
 *		What the values in a column's row of pg_statistic say.
 *
 * To take values out of that row takes longer than to plan a small query, so it is done where they decide
 * something.
 */
#ifndef GPUSORT_PLAN_COLUMN_VALUES_H
#define GPUSORT_PLAN_COLUMN_VALUES_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "plan/column_stats.h"

/* How many different first bytes strings have: 0: not known, perhaps as many as values. */
extern double column_leading_values(const ColumnStats *stats, Oid type, Size bytes);

/* The most common value, or NULL, has this share of the rows; 1: no values are known. */
extern double column_largest_share(const ColumnStats *stats);

/*
 * How far the least and the greatest value are apart, of numbers, and in seconds of dates and times; -1: not
 * known.
 */
extern double column_span(const ColumnStats *stats);

/*
 * How many different members a column of jsonb documents has where steps lead, FuncExprs and OpExprs of
 * FUNCTION_MEMBER with constant keys, the first one applied first; 0: not known.
 */
extern double column_member_values(const ColumnStats *stats, List *steps);

#endif /* GPUSORT_PLAN_COLUMN_VALUES_H */
