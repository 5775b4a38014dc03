/*
 * plan/rank_plan.h
 *		The plan node GpuRank: a WindowAgg that numbers rows, in a CustomScan.
 *
 * row_number(), rank() and dense_rank() need nothing of their partition but the row before: a GpuRank keeps
 * no rows.  Its input is its lefttree.  Its scan tuple is the input's columns, and after them the functions'
 * results, one column each.  The run condition stands in custom_exprs, all else in custom_private.
 */
#ifndef GPUSORT_PLAN_RANK_PLAN_H
#define GPUSORT_PLAN_RANK_PLAN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* The name in EXPLAIN, and under which the node's methods are registered. */
#define GPURANK_NODE_NAME "GpuRank"

/* The most results that there are: row_number(), rank(), dense_rank(). */
#define RANK_FUNCTIONS 3

/* Registers the node's methods; once, when the library is loaded. */
extern void rank_plan_register(const CustomScanMethods *methods);

/* Can a GpuRank do what this WindowAgg of a finished plan does? */
extern bool rank_plan_is_possible(const PlannedStmt *stmt, const WindowAgg *window);

/* A GpuRank in its place, after setrefs.c, over its input; it shares what is not changed. */
extern CustomScan *rank_plan_from_window(const WindowAgg *window);

/* Is this a GpuRank? */
extern bool rank_plan_is_rank(const Plan *plan);

/* Columns of the input, and how they are compared; the plan's arrays. */
typedef struct RankColumns
{
	int n;
	AttrNumber *attnos;
	Oid *operators; /* of equality */
	Oid *collations;
} RankColumns;

/* Rows equal in these are a partition; and, within one, peers. */
extern RankColumns rank_plan_partition(const CustomScan *plan);
extern RankColumns rank_plan_order(const CustomScan *plan);

/* The functions (oids) whose results are the last columns of the scan tuple. */
extern List *rank_plan_functions(const CustomScan *plan);

/* Is it the topmost window of its query?  Then nobody wants the rows that its run condition leaves out. */
extern bool rank_plan_is_top(const CustomScan *plan);

#endif /* GPUSORT_PLAN_RANK_PLAN_H */
