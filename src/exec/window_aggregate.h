/*
 * exec/window_aggregate.h
 *		Running aggregates of a window: rows are added, and results are read in between.
 */
#ifndef GPUSORT_EXEC_WINDOW_AGGREGATE_H
#define GPUSORT_EXEC_WINDOW_AGGREGATE_H

#include "postgres.h"

#include "nodes/execnodes.h"

/* Raises an error if the user may not call the function; as a WindowAgg does before it calls it. */
extern void check_call_permission(Oid function, Oid user);

typedef struct WindowAggregate WindowAggregate;

/*
 * Makes the context in which a node's aggregates are called, in CurrentMemoryContext.  When its aggcontext is
 * reset, the states of all aggregates are gone, and each is to be begun.
 */
extern WindowAggState *window_aggregate_context(EState *estate);

/*
 * Makes an aggregate of this call, whose arguments are evaluated in the node.  Raises an error if the user
 * may not call the aggregate, or the aggregate's owner may not call its functions.
 */
extern WindowAggregate *window_aggregate_create(WindowAggState *context, const WindowFunc *function,
												PlanState *node);

/* Begins with no rows. */
extern void window_aggregate_begin(WindowAggregate *aggregate);

/* Adds the context's outer row.  Uses the context's per-tuple memory. */
extern void window_aggregate_add(WindowAggregate *aggregate, ExprContext *context);

/*
 * Returns the result for the rows so far, which is in CurrentMemoryContext, or in the state of the aggregate
 * until the next row is added.
 */
extern Datum window_aggregate_result(WindowAggregate *aggregate, bool *isnull);

#endif /* GPUSORT_EXEC_WINDOW_AGGREGATE_H */
