/*
 * plan/agg_input_calls.h
 *		Calls of aggregates: what each needs of rows in order, and whether a GpuAggInput computes that.
 */
#ifndef GPUSORT_PLAN_AGG_INPUT_CALLS_H
#define GPUSORT_PLAN_AGG_INPUT_CALLS_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"

#include "plan/window_plan.h"

/* What a call of an aggregate needs of rows in order. */
typedef enum AggInputKind
{
	AGG_INPUT_OTHER,	/* nothing that a GpuAggInput computes */
	AGG_INPUT_IN_ORDER, /* only the order */
	AGG_INPUT_FIRST,	/* which row is the first one of those with equal values, a bool */
	AGG_INPUT_PERCENTILE_CONT,
	AGG_INPUT_PERCENTILE_DISC,
	AGG_INPUT_MODE
} AggInputKind;

extern AggInputKind agg_input_kind(const Aggref *call);

/* Is it count(DISTINCT column), which the node counts itself if one row of each group is returned? */
extern bool agg_input_is_count(const Aggref *call);

/* Is the call of this kind one with WITHIN GROUP? */
extern bool agg_input_is_ordered_set(AggInputKind kind);

/* Has this kind of call a column of the scan tuple, unless the rows are AGG_INPUT_FIRSTS? */
extern bool agg_input_has_result(AggInputKind kind);

/* Could a GpuAggInput serve this call, of a query or a plan, if the rows came in the order that it needs? */
extern bool agg_input_serves(const Aggref *call);

/* Returns the reason why it could not, in words for a person; NULL: it could. */
extern const char *agg_input_why_not(const Aggref *call);

/* Returns the columns by which an Agg sorts for the call (SortGroupClauses of its arguments). */
extern List *agg_input_clauses(const Aggref *call);

/* Returns the columns in which the rows of a call are compared: of DISTINCT, or of WITHIN GROUP. */
extern WindowColumns agg_input_compared(const Aggref *call);

/* Returns the fractions of a percentile as a constant: a float8, or an array of them. */
extern const Const *agg_input_fractions(const Aggref *call);

/* Returns the argument of a call that this clause of the call orders by. */
extern const TargetEntry *agg_input_clause_argument(const SortGroupClause *clause, const Aggref *call);

/*
 * Returns the column of the input that an argument is, perhaps as a type of the same bytes; 0: the argument
 * is another expression.
 */
extern AttrNumber agg_input_argument_column(const TargetEntry *argument);

/* Returns the aggregate that returns the only value that is not NULL; 0: there is none for the type. */
extern Oid agg_input_picking_aggregate(Oid type);

#endif /* GPUSORT_PLAN_AGG_INPUT_CALLS_H */
