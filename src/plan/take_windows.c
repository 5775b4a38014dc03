/*
 * plan/take_windows.c
 *		Taking the windows above the sorts of a finished plan.
 *
 * A WindowAgg copies every row to a tuplestore, whatever its functions need, which takes longer than the sort
 * below it.  Those that only number rows are exchanged for GpuRanks (rank_plan.h), one for one, where they
 * read what a sort returns, be it a GpuSort or one that is left to PostgreSQL, or another GpuRank above one.
 * Windows over fewer rows than gpusort sorts, and those over an index scan, are left as they are.
 */
#include "postgres.h"

#include "plan/choice.h"
#include "plan/plan_walk.h"
#include "plan/rank_plan.h"
#include "plan/sort_plan.h"
#include "plan/take_windows.h"

/* Does it return rows that it has sorted, or that processes below it have? */
static bool
is_sort(const Plan *plan)
{
	return sort_plan_is_gpusort(plan) ||
		   ((IsA(plan, Sort) || IsA(plan, IncrementalSort) || IsA(plan, GatherMerge)) &&
			sort_has_rows_enough(plan->plan_rows));
}

static bool
is_window_over_sort(const Plan *plan)
{
	while (plan != NULL && IsA(plan, WindowAgg))
	{
		plan = plan->lefttree;
		if (is_sort(plan))
			return true;
	}
	return false;
}

/* Is it a sort, or a window that is taken? */
static bool
is_taken(const PlannedStmt *stmt, const Plan *plan)
{
	if (!IsA(plan, WindowAgg))
		return is_sort(plan) || rank_plan_is_rank(plan);
	return is_taken(stmt, plan->lefttree) && rank_plan_is_possible(stmt, (const WindowAgg *) plan);
}

static void
take_node(Plan **place, List *ancestors, void *stmt)
{
	if (IsA(*place, WindowAgg) && is_taken(stmt, *place))
		*place = &rank_plan_from_window((const WindowAgg *) *place)->scan.plan;
}

PlannedStmt *
take_windows(PlannedStmt *stmt)
{
	if (!plan_has(stmt, is_window_over_sort))
		return stmt;
	stmt = plan_to_change(stmt);
	plan_walk_statement(stmt, take_node, stmt);
	return stmt;
}
