/*
 * exec/explained_plan.h
 *		The plan of a node as EXPLAIN should print it: with the aggregates of the query.
 */
#ifndef GPUSORT_EXEC_EXPLAINED_PLAN_H
#define GPUSORT_EXEC_EXPLAINED_PLAN_H

#include "postgres.h"

#include "nodes/execnodes.h"

/*
 * Exchanges the node's plan for a copy, if there is a GpuAggInput below it.  The nodes below have been
 * visited; parent: the node above, or NULL.
 */
extern void explained_plan_set(PlanState *node, const PlanState *parent);

#endif /* GPUSORT_EXEC_EXPLAINED_PLAN_H */
