/*
 * exec/nodes_above.c
 *		Tells each sort what the nodes above it want: a Limit, first rows of groups (group_above.h).
 *
 * A bound passes the nodes that return no row which their input did not, and every row that it did: those
 * that PostgreSQL's own ExecSetTupleBound passes, each input of an Append and of a MergeAppend included.
 *
 * FETCH FIRST ... WITH TIES wants all rows that equal the last one in the columns that it compares.  A sort
 * by more columns, such as a subquery's own, would drop some of them; so that bounds a sort only which is
 * right below it, and which sorts by no other columns.  (That a subquery stood between doesn't show: the
 * planner takes subquery scans out that do nothing.)
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "exec/explained_plan.h"
#include "exec/gpusort_state.h"
#include "exec/group_above.h"
#include "exec/node_gpusort.h"
#include "exec/node_ranges.h"
#include "exec/nodes_above.h"
#include "exec/ranges_state.h"
#include "plan/sort_plan.h"

static ExecutorStart_hook_type prev_executor_start_hook;

/* What is known above a node while a plan is walked through. */
typedef struct NodesAbove
{
	PlanState *parent;
	LimitState *limit; /* whose bound reaches the parent's input; NULL: none */
} NodesAbove;

/* ---------------------------------------------------------------- which Limit */

static bool
is_among(const PlanState *child, PlanState **children, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (children[i] == child)
			return true;
	}
	return false;
}

/* Does a bound pass from this node to this child? */
static bool
bound_passes(PlanState *parent, const PlanState *child)
{
	switch (nodeTag(parent))
	{
		case T_LimitState:
		case T_ResultState:
		case T_GatherState:
		case T_GatherMergeState:
			return child == outerPlanState(parent);
		case T_SubqueryScanState:
			return parent->qual == NULL && child == ((SubqueryScanState *) parent)->subplan;
		case T_AppendState:
			return is_among(child, ((AppendState *) parent)->appendplans,
							((AppendState *) parent)->as_nplans);
		case T_MergeAppendState:
			return is_among(child, ((MergeAppendState *) parent)->mergeplans,
							((MergeAppendState *) parent)->ms_nplans);
		default:
			return false;
	}
}

/* The Limit whose bound reaches this node, which is an input of another or a subplan of it. */
static LimitState *
limit_for(PlanState *node, const NodesAbove *above)
{
	if (above->parent == NULL || !bound_passes(above->parent, node))
		return NULL;
	return IsA(above->parent, LimitState) ? (LimitState *) above->parent : above->limit;
}

/* Does the Limit right above a GpuSort compare this sort column, one of its input, to find ties? */
static bool
compares_column(const Limit *limit, const Plan *sort, AttrNumber attno)
{
	for (int i = 0; i < limit->uniqNumCols; i++)
	{
		const TargetEntry *output = list_nth_node(TargetEntry, sort->targetlist, limit->uniqColIdx[i] - 1);

		if (IsA(output->expr, Var) && ((const Var *) output->expr)->varno == INDEX_VAR &&
			((const Var *) output->expr)->varattno == attno)
			return true;
	}
	return false;
}

/* May the sort leave out what comes after the rows that the Limit wants? */
static bool
may_bound(LimitState *limit, PlanState *sort, const NodesAbove *above)
{
	int ncolumns;
	SortColumnSpec *columns;
	bool all_compared = true;

	if (limit == NULL || limit->limitOption != LIMIT_OPTION_WITH_TIES)
		return limit != NULL;
	if (above->parent != &limit->ps)
		return false;
	columns = sort_plan_columns(sort->plan, &ncolumns);
	for (int i = 0; i < ncolumns; i++)
		all_compared &= compares_column((const Limit *) limit->ps.plan, sort->plan, columns[i].attno);
	pfree(columns);
	return all_compared;
}

/* Tells the GpuSorts from here on downwards. */
static bool
tell_sorts(PlanState *node, void *arg)
{
	LimitState *limit = limit_for(node, arg);
	NodesAbove here = {.parent = node, .limit = limit};

	if (node_is_gpusort(node))
	{
		((GpuSortState *) node)->limit = may_bound(limit, node, arg) ? limit : NULL;
		((GpuSortState *) node)->group_above = group_above_find(((const NodesAbove *) arg)->parent, node);
	}
	else if (node_is_ranges(node))
		((GpuSortRangesState *) node)->group_above =
			group_above_find(((const NodesAbove *) arg)->parent, node);
	(void) planstate_tree_walker(node, tell_sorts, &here);
	explained_plan_set(node, ((const NodesAbove *) arg)->parent);
	return false;
}

/* ---------------------------------------------------------------- the hook */

static uint64
count_made(void)
{
	return node_gpusort_count_made() + node_ranges_count_made();
}

static void
gpusort_executor_start(QueryDesc *query, int eflags)
{
	NodesAbove nothing = {NULL, NULL};
	uint64 before = count_made();

	if (prev_executor_start_hook != NULL)
		prev_executor_start_hook(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	/* here, or in a query that was started meanwhile */
	if (count_made() != before && query->planstate != NULL)
		(void) tell_sorts(query->planstate, &nothing);
}

void
nodes_above_install_hook(void)
{
	prev_executor_start_hook = ExecutorStart_hook;
	ExecutorStart_hook = gpusort_executor_start;
}
