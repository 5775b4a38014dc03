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

/* ---------------------------------------------------------------- making the node */

/*
 * Puts a GpuAggInput below the Agg of a finished plan, and rewrites the Agg's calls, if a GpuSort is its
 * input and has an order that some calls need.  next_id: a number that no node of the statement has, which is
 * then used.  False: nothing has changed.
 */
extern bool agg_input_take(Agg *agg, int next_id);

/* Could a GpuAggInput serve this call, of a query or a plan, if the rows came in the order that it needs? */
extern bool agg_input_serves(const Aggref *call);

/* Returns the reason why it could not, in words for a person; NULL: it could. */
extern const char *agg_input_why_not(const Aggref *call);

/* Returns the columns by which an Agg sorts for the call (SortGroupClauses of its arguments). */
extern List *agg_input_clauses(const Aggref *call);

/* ---------------------------------------------------------------- what the node says */

/* The rows that it returns. */
typedef enum AggInputRows
{
	AGG_INPUT_ALL,
	AGG_INPUT_FIRSTS, /* the first one of equal rows */
	AGG_INPUT_ONE,	  /* one row of each group */
	AGG_INPUT_COUNTS  /* one row of each group, with the numbers of rows that differ in the sort columns */
} AggInputRows;

extern AggInputRows agg_input_rows(const CustomScan *plan);

/* May its input leave out rows that equal another one in all columns of the sort? */
extern bool agg_input_drops_equal(const CustomScan *plan);

/* Returns the columns in which rows of a group are equal. */
extern WindowColumns agg_input_groups(const CustomScan *plan);

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

/* Has this kind of call a column of the scan tuple, unless the rows are AGG_INPUT_FIRSTS? */
extern bool agg_input_has_result(AggInputKind kind);

/* Returns the calls (Aggrefs over the input's columns) as the query has them, each once. */
extern List *agg_input_calls(const CustomScan *plan);

/* Returns the columns in which the rows of a call are compared: of DISTINCT, or of WITHIN GROUP. */
extern WindowColumns agg_input_compared(const Aggref *call);

/* Returns the fractions of a percentile as a constant: a float8, or an array of them. */
extern const Const *agg_input_fractions(const Aggref *call);

/*
 * Returns the Agg above the node as EXPLAIN should print it: with the calls that the query has.  The copy
 * shares everything with `agg` that differs in nothing.
 */
extern Agg *agg_input_explained(const CustomScan *plan, const Agg *agg);

#endif /* GPUSORT_PLAN_AGG_INPUT_H */
