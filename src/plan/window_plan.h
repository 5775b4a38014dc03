/*
 * plan/window_plan.h
 *		The plan node GpuWindow: a WindowAgg whose functions need few rows at a time, in a CustomScan.
 *
 * Its input is its lefttree.  Its scan tuple has the columns of the input that the output needs, the results
 * of functions, and constants: in the order of the output, so that there is nothing to compute.  In
 * custom_scan_tlist, results are what is neither a Var nor a Const.  The run condition and the calls of the
 * functions are in custom_exprs, and everything else in custom_private.  window_functions.h says which
 * functions a GpuWindow computes.
 */
#ifndef GPUSORT_PLAN_WINDOW_PLAN_H
#define GPUSORT_PLAN_WINDOW_PLAN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* The name in EXPLAIN, which is also the name of the registered methods. */
#define GPUWINDOW_NODE_NAME "GpuWindow"

/* Registers the node's methods; once, when the library is loaded. */
extern void window_plan_register(const CustomScanMethods *methods);

/*
 * Returns the reason why a GpuWindow cannot replace this WindowAgg of a finished plan, in words for a person.
 * NULL: it can.
 */
extern const char *window_plan_why_not(const PlannedStmt *stmt, const WindowAgg *window);

/*
 * Returns a GpuWindow in the place of the WindowAgg, after setrefs.c, over the same input.  It shares
 * unchanged nodes with the WindowAgg.
 */
extern CustomScan *window_plan_from_window(const WindowAgg *window);

/* Is this a GpuWindow? */
extern bool window_plan_is_window(const Plan *plan);

/* Does this WindowAgg or GpuWindow have only functions that number rows? */
extern bool window_plan_numbers_rows(const Plan *plan);

/* Columns of the input, and how they are compared; the plan's arrays. */
typedef struct WindowColumns
{
	int n;
	AttrNumber *attnos;
	Oid *operators; /* of equality */
	Oid *collations;
} WindowColumns;

/* Return the columns in which rows of a partition are equal, and the columns in which peers are equal. */
extern WindowColumns window_plan_partition(const CustomScan *plan);
extern WindowColumns window_plan_order(const CustomScan *plan);

/*
 * The rows at whose last one a frame ends, seen from the current row.  Every frame that matters begins with
 * the partition.
 */
typedef enum WindowUnit
{
	UNIT_ROW,
	UNIT_PEERS,
	UNIT_PARTITION
} WindowUnit;

extern WindowUnit window_plan_unit(const CustomScan *plan);

/* The functions (WindowFuncs over the outer plan's columns), in the order of their results. */
extern List *window_plan_functions(const CustomScan *plan);

/* The run condition, over the scan tuple. */
extern List *window_plan_run_condition(const CustomScan *plan);

/* Is it the topmost window of its query?  Then no node needs the rows that its run condition leaves out. */
extern bool window_plan_is_top(const CustomScan *plan);

#endif /* GPUSORT_PLAN_WINDOW_PLAN_H */
