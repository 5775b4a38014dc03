/*
 * plan/take_sorts.c
 *		Taking the Sort nodes of a finished plan, and the windows above sorts.
 *
 * What an ORDER BY sorts has been offered to the planner as paths (planner.c).  The Sorts that remain, under
 * window functions, merge joins, groupings and the like, are exchanged here, one for one: the plan is the one
 * that PostgreSQL chose, and nothing above or below a Sort can tell the GpuSort in its place from it.  Those
 * that processes of a parallel plan run, each for its part of the rows, stay theirs: each has a GpuSort.
 *
 * A WindowAgg copies every row to a tuplestore, whatever its functions need, which takes longer than the sort
 * below it.  Those whose functions need few rows at a time are exchanged for GpuWindows (window_plan.h), one
 * for one, whatever they read.  Windows that save little beside what all below them takes are left as they
 * are.
 *
 * The plan may come past no hook of ours: then its Sorts stay what they are.
 */
#include "postgres.h"

#include "base/guc.h"
#include "monitor/counters.h"
#include "plan/agg_input_take.h"
#include "plan/choice.h"
#include "plan/cost.h"
#include "plan/likely_rows.h"
#include "plan/plan_walk.h"
#include "plan/window_plan.h"
#include "plan/shape.h"
#include "plan/sort_plan.h"
#include "plan/take_sorts.h"

/* ---------------------------------------------------------------- sorts */

typedef struct TakeContext
{
	PlannedStmt *stmt;
	bool count;
} TakeContext;

static Plan *
make_gpusort(List *subplans, const Sort *sort, const SortForecast *forecast)
{
	SortPlanOptions options = {.output_is_used = true,
							   .restartable = !plan_is_volatile(subplans, sort->plan.lefttree),
							   .beside = forecast->shape.beside,
							   .expected = forecast->expected};
	Plan *plan = &sort_plan_from_finished_sort(sort, &options)->scan.plan;

	forecast_set_costs(forecast, sort, plan);
	return plan;
}

/* A grouping's sorts that are no nodes of their own. */
static void
count_chain(const Agg *agg)
{
	ListCell *cell;

	foreach(cell, agg->chain)
	{
		if (lfirst_node(Agg, cell)->plan.lefttree != NULL)
			stats_count_declined(DECLINED_KIND);
	}
}

static void
take_node(Plan **place, List *ancestors, void *arg)
{
	TakeContext *context = arg;
	Plan *plan = *place;
	SortForecast forecast;
	DeclinedReason reason;

	if (IsA(plan, Agg) && context->count)
		count_chain((const Agg *) plan);
	if (!IsA(plan, Sort) && !IsA(plan, IncrementalSort))
		return;
	if (sort_to_be_taken(context->stmt, plan, ancestors, &forecast, &reason))
		*place = make_gpusort(context->stmt->subplans, (const Sort *) plan, &forecast);
	else if (context->count)
		stats_count_declined(reason);
}

/* Is it a node that sorts its input, or has it sorts of its own, as a grouping may? */
static bool
has_sorts(const Plan *plan)
{
	return IsA(plan, Sort) || IsA(plan, IncrementalSort) ||
		   (IsA(plan, Agg) && ((const Agg *) plan)->chain != NIL);
}

PlannedStmt *
take_sorts(PlannedStmt *stmt, bool count)
{
	TakeContext context = {.count = count};

	if (!plan_has(stmt, has_sorts))
		return stmt;
	context.stmt = plan_to_change(stmt);
	plan_walk_statement(context.stmt, take_node, &context);
	return context.stmt;
}

/* ---------------------------------------------------------------- windows */

/* Milliseconds that a WindowAgg takes to copy a row, at least. */
#define COPY_MS 0.00019

/* Are there rows enough that copying them counts?  Of a GpuSort that is known. */
static bool
has_rows_enough(const Plan *input)
{
	return sort_plan_is_gpusort(input) || sort_plan_is_ranges(input) ||
		   sort_has_rows_enough(input->plan_rows);
}

static bool
is_window(const Plan *plan)
{
	return IsA(plan, WindowAgg) && has_rows_enough(plan->lefttree);
}

/* Does what it saves count beside what all below it takes? */
static bool
is_worth_taking(const PlannedStmt *stmt, const Plan *window)
{
	const Plan *input = window->lefttree;

	return gpusort_mode == GPUSORT_MODE_FORCE ||
		   plan_likely_rows(stmt, input) * COPY_MS > (1 - WORTH_SHARE) * PLAN_UNIT_MS * input->total_cost;
}

static void
take_window(Plan **place, List *ancestors, void *stmt)
{
	const WindowAgg *window = (const WindowAgg *) *place;

	if (is_window(*place) && window_plan_why_not(stmt, window) == NULL && is_worth_taking(stmt, *place))
		*place = &window_plan_from_window(window)->scan.plan;
}

PlannedStmt *
take_windows(PlannedStmt *stmt)
{
	if (!plan_has(stmt, is_window))
		return stmt;
	stmt = plan_to_change(stmt);
	plan_walk_statement(stmt, take_window, stmt);
	return stmt;
}

/* ---------------------------------------------------------------- aggregates */

static bool
is_agg_over_gpusort(const Plan *plan)
{
	return IsA(plan, Agg) && sort_plan_is_gpusort(plan->lefttree);
}

static void
note_highest_id(Plan **place, List *ancestors, void *highest)
{
	*(int *) highest = Max(*(int *) highest, (*place)->plan_node_id);
}

static void
take_aggregate(Plan **place, List *ancestors, void *highest_id)
{
	if (is_agg_over_gpusort(*place) && agg_input_take((Agg *) *place, *(int *) highest_id + 1))
		++*(int *) highest_id;
}

PlannedStmt *
take_aggregates(PlannedStmt *stmt)
{
	int highest_id = 0;

	if (!plan_has(stmt, is_agg_over_gpusort))
		return stmt;
	stmt = plan_to_change(stmt);
	plan_walk_statement(stmt, note_highest_id, &highest_id);
	plan_walk_statement(stmt, take_aggregate, &highest_id);
	return stmt;
}
