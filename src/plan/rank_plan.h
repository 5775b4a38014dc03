/*
 * plan/rank_plan.h
 *		The plan node GpuRank: a WindowAgg that numbers rows, in a CustomScan.
 *
 * row_number(), rank() and dense_rank() need only the row before in their partition, so a GpuRank keeps no
 * rows.  Its input is its lefttree.  Its scan tuple is the input's columns, and after them the functions'
 * results, one column each.  The run condition is in custom_exprs, and everything else in custom_private.
 */
#ifndef GPUSORT_PLAN_RANK_PLAN_H
#define GPUSORT_PLAN_RANK_PLAN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* The name in EXPLAIN, which is also the name of the registered methods. */
#define GPURANK_NODE_NAME "GpuRank"

/* The maximum number of results: row_number(), rank(), dense_rank(). */
#define RANK_FUNCTIONS 3

/* Registers the node's methods; once, when the library is loaded. */
extern void rank_plan_register(const CustomScanMethods *methods);

/* Does this WindowAgg have only functions that number rows? */
extern bool rank_plan_numbers_rows(const WindowAgg *window);

/* Can a GpuRank replace this WindowAgg of a finished plan? */
extern bool rank_plan_is_possible(const PlannedStmt *stmt, const WindowAgg *window);

/*
 * Returns a GpuRank in the place of the WindowAgg, after setrefs.c, over the same input.  It shares unchanged
 * nodes with the WindowAgg.
 */
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

/* Return the columns in which rows of a partition are equal, and the columns in which peers are equal. */
extern RankColumns rank_plan_partition(const CustomScan *plan);
extern RankColumns rank_plan_order(const CustomScan *plan);

/* The functions (oids) whose results are the last columns of the scan tuple. */
extern List *rank_plan_functions(const CustomScan *plan);

/* Is it the topmost window of its query?  Then no node needs the rows that its run condition leaves out. */
extern bool rank_plan_is_top(const CustomScan *plan);

#endif /* GPUSORT_PLAN_RANK_PLAN_H */
