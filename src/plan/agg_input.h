/*
 * plan/agg_input.h
 *		The plan node GpuAggInput: what an Agg's own sorts would tell it, computed from rows in order.
 *
 * The Agg of a finished plan sorts for each aggregate with DISTINCT, ORDER BY or WITHIN GROUP.  Where its
 * input comes in that order from a GpuSort, a GpuAggInput between the two makes these sorts needless: it
 * marks, or returns alone, the first one of equal rows, and it computes percentiles and modes.  The Agg's
 * calls are rewritten to plain ones over the columns that it adds.
 *
 * A GpuAggInput's input is its lefttree, a GpuSort.  Its output is its scan tuple: the input's columns, then
 * one column for each call that has a result (agg_input_has_result).  In custom_scan_tlist, these are neither
 * Vars nor Consts.
 */
#ifndef GPUSORT_PLAN_AGG_INPUT_H
#define GPUSORT_PLAN_AGG_INPUT_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "plan/window_plan.h"

/* The name in EXPLAIN, which is also the name of the registered methods. */
#define GPUAGGINPUT_NODE_NAME "GpuAggInput"

/* Registers the node's methods; once, when the library is loaded. */
extern void agg_input_register(const CustomScanMethods *methods);

/* Is this a GpuAggInput? */
extern bool agg_input_is(const Plan *plan);

/* The rows that it returns. */
typedef enum AggInputRows
{
	AGG_INPUT_ALL,
	AGG_INPUT_FIRSTS, /* the first one of equal rows */
	AGG_INPUT_ONE,	  /* one row of each group */
	AGG_INPUT_COUNTS  /* one row of each group, with the numbers of rows that differ in the sort columns */
} AggInputRows;

/*
 * Makes the node between this Agg and its input, before the Agg's calls are rewritten. columns: its scan
 * tuple (custom_scan_tlist).  calls: those that it serves, which are copied.  id: the number of the node.
 */
extern Plan *agg_input_make(const Agg *agg, AggInputRows rows, List *calls, List *columns, int id);

/* ---------------------------------------------------------------- what the node says */

extern AggInputRows agg_input_rows(const CustomScan *plan);

/* May its input leave out rows that equal another one in all columns of the sort? */
extern bool agg_input_drops_equal(const CustomScan *plan);

/* Returns the columns in which rows of a group are equal. */
extern WindowColumns agg_input_groups(const CustomScan *plan);

/* Returns the calls (Aggrefs over the input's columns) as the query has them, each once. */
extern List *agg_input_calls(const CustomScan *plan);

/*
 * Returns the Agg above the node as EXPLAIN should print it: with the calls that the query has.  The copy
 * shares everything with `agg` that differs in nothing.
 */
extern Agg *agg_input_explained(const CustomScan *plan, const Agg *agg);

#endif /* GPUSORT_PLAN_AGG_INPUT_H */
