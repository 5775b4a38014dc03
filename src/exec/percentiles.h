/*
 * exec/percentiles.h
 *		Percentiles of values that come in order.
 *
 * The values of a group are counted or are known to be n.  Then the percentiles need those at a few
 * positions.
 */
#ifndef GPUSORT_EXEC_PERCENTILES_H
#define GPUSORT_EXEC_PERCENTILES_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/pg_list.h"

typedef struct Percentiles Percentiles;

/*
 * Makes the percentiles of these calls (Aggrefs, plan/agg_input.h), all of the same column and with the same
 * filter, in CurrentMemoryContext.
 */
extern Percentiles *percentiles_create(List *calls, TupleDesc rows, PlanState *node);

/* Returns the column of the values, an attno of the rows. */
extern AttrNumber percentiles_column(const Percentiles *percentiles);

/* Returns the number of the fractions of all calls. */
extern int percentiles_fractions(const Percentiles *percentiles);

/* Begins a group without values. */
extern void percentiles_begin(Percentiles *percentiles);

/* Keeps the value of the context's outer row if the row passes the filter.  Resets per-tuple memory. */
extern void percentiles_add(Percentiles *percentiles, ExprContext *context);

/* All values were added: finds those that are needed. */
extern void percentiles_end(Percentiles *percentiles);

/*
 * Instead of adding: the group has n values.  Then percentiles_wanted returns the position, from 0, of the
 * next value that is needed, in ascending order, and percentiles_give copies the value.  -1: none is.
 */
extern void percentiles_expect(Percentiles *percentiles, int64 n);
extern int64 percentiles_wanted(const Percentiles *percentiles);
extern void percentiles_give(Percentiles *percentiles, Datum value);

/* Returns the result of the call of that number, which is valid until the next group begins. */
extern Datum percentiles_result(const Percentiles *percentiles, int call, bool *isnull);

#endif /* GPUSORT_EXEC_PERCENTILES_H */
