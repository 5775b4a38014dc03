/*
 * plan/expression_values.h
 *		How many values an expression over columns has.
 */
#ifndef GPUSORT_PLAN_EXPRESSION_VALUES_H
#define GPUSORT_PLAN_EXPRESSION_VALUES_H

#include "postgres.h"

#include "nodes/primnodes.h"

#include "plan/column_stats.h"

/* Finds the statistics of a column that stands in the expression. */
typedef ColumnStats (*StatsOfVar)(Var *var, void *context);

/* The expected number of different values; 0: nothing is known of it. */
extern double expression_values(Node *expr, StatsOfVar stats_of, void *context);

#endif /* GPUSORT_PLAN_EXPRESSION_VALUES_H */
