/*
 * plan/agg_join.h
 *		The plan node GpuAggJoin: the results of several Aggs over the same rows, side by side.
 *
 * Each input (custom_plans) returns one row for each group, in the order of the groups, so the rows of all
 * inputs belong together by their numbers.  The scan tuple has the columns of all inputs, one after the
 * other.  Its expressions are the query's, so nodes above find aggregates there as in an Agg.
 */
#ifndef GPUSORT_PLAN_AGG_JOIN_H
#define GPUSORT_PLAN_AGG_JOIN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

/* The name in EXPLAIN, which is also the name of the registered methods. */
#define GPUAGGJOIN_NODE_NAME "GpuAggJoin"

/* Registers the node's methods; once, when the library is loaded. */
extern void agg_join_register(const CustomScanMethods *methods);

/*
 * Makes a path of a grouping, its cost not set.  inputs: paths of groups.  columns: the query's expressions
 * for the columns of all inputs.  having: the condition of the groups, a list or NULL.
 */
extern CustomPath *agg_join_path(RelOptInfo *rel, List *inputs, List *columns, Node *having);

#endif /* GPUSORT_PLAN_AGG_JOIN_H */
