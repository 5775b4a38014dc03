/*
 * plan/expression_values.h
 *		The number of values of an expression over columns.
 */
#ifndef GPUSORT_PLAN_EXPRESSION_VALUES_H
#define GPUSORT_PLAN_EXPRESSION_VALUES_H

#include "postgres.h"

#include "nodes/primnodes.h"

#include "plan/column_values.h"

/* Finds the statistics of a column in the expression. */
typedef ColumnStats (*StatsOfVar)(Var *var, void *context);

/* Returns the expected number of different values; 0: not known. */
extern double expression_values(Node *expr, StatsOfVar stats_of, void *context);

#endif /* GPUSORT_PLAN_EXPRESSION_VALUES_H */
