/*
 * check/finished_plan.c
 *		The sorts of a finished plan, for gpusort_check: those that are taken, and why the others are not.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/ruleutils.h"

#include "base/pg_compat.h"
#include "check/advice.h"
#include "check/deparse.h"
#include "check/finished_plan.h"
#include "check/how.h"
#include "check/instead.h"
#include "plan/agg_input.h"
#include "plan/agg_input_calls.h"
#include "plan/choice.h"
#include "plan/forecast.h"
#include "plan/likely_rows.h"
#include "plan/plan_settings.h"
#include "plan/plan_walk.h"
#include "plan/planner.h"
#include "plan/rival.h"
#include "plan/sort_plan.h"
#include "plan/sorted_aggregates.h"

/* What the walk over one plan needs. */
typedef struct CheckContext
{
	Check *check;
	List *deparse_context;
	bool use_prefix;
	PlannedStmt *stmt;
	const OfferedPlans *offered;
} CheckContext;

static char *
join_strings(List *strings)
{
	StringInfoData out;
	ListCell *cell;

	initStringInfo(&out);
	foreach(cell, strings)
		appendStringInfo(&out, "%s%s", out.len > 0 ? ", " : "", (char *) lfirst(cell));
	return out.data;
}

static List *
deparse_context_of(const CheckContext *context, Plan *plan, List *ancestors)
{
	return set_deparse_context_plan(context->deparse_context, plan, ancestors);
}

/* ---------------------------------------------------------------- sorts */

static const char *
sort_key_of(const CheckContext *context, Plan *plan, List *ancestors)
{
	return join_strings(
		deparse_sort_keys(plan, deparse_context_of(context, plan, ancestors), context->use_prefix));
}

/* How it is done, and the aggregates that need no sort of their own over it. */
static const char *
how_taken(const CheckContext *context, Plan *plan, List *ancestors)
{
	const char *how = check_how_taken(context->stmt, plan, ancestors);
	CustomScan *above = ancestors != NIL ? linitial(ancestors) : NULL;
	List *deparse_context;
	List *calls = NIL;
	ListCell *cell;

	if (above == NULL || !agg_input_is(&above->scan.plan))
		return how;
	deparse_context = deparse_context_of(context, &above->scan.plan, list_copy_tail(ancestors, 1));
	foreach(cell, agg_input_calls(above))
		calls = lappend(calls, deparse_expression(lfirst(cell), deparse_context, context->use_prefix, true));
	return psprintf("%s; in place of the sorts inside %s", how, join_strings(calls));
}

/* With the times that were predicted when it was taken. */
static void
put_taken(const CheckContext *context, Plan *plan, List *ancestors)
{
	SortExpected expected = sort_plan_expected((const CustomScan *) plan);
	CheckedSort sort = {.sort_key = sort_key_of(context, plan, ancestors),
						.replaced = rival_plan_replaced(expected.replaced),
						.how = how_taken(context, plan, ancestors),
						.expected_ms = expected.ms,
						.postgres_ms = expected.postgres_ms};

	check_put(context->check, &sort);
}

/* Of a node, or described by one. */
static void
put_declined(const CheckContext *context, Plan *plan, List *ancestors, const Declined *why_not)
{
	CheckedSort sort = {.sort_key = sort_key_of(context, plan, ancestors), .why_not = why_not->words};
	SortForecast forecast;
	Declined of_columns;

	(void) forecast_sort(&forecast, context->stmt, plan, ancestors, plan_likely_rows(context->stmt, plan),
						 &of_columns);
	sort.advice = advice_to_take(why_not->reason, &forecast);
	sort.how = check_how_declined(&forecast.postgres_shape);
	sort.expected_ms = forecast.expected.ms;
	sort.postgres_ms = forecast.expected.postgres_ms;
	check_put(context->check, &sort);
}

/* ---------------------------------------------------------------- groupings */

/*
 * The sorts of a grouping's own, from one order to the next; they know neither their input nor its columns.
 */
static void
put_chain(const CheckContext *context, const Agg *agg, List *ancestors)
{
	List *below = lcons(unconstify(Agg *, agg), list_copy(ancestors));
	Plan *input = agg->plan.lefttree;
	ListCell *cell;

	foreach(cell, agg->chain)
	{
		const Plan *own = lfirst_node(Agg, cell)->plan.lefttree;
		Declined why_not = {.reason = DECLINED_KIND,
							.words = "the sort is between two grouping sets of one GROUP BY"};
		Sort *sort;

		if (own == NULL)
			continue;
		sort = copyObject((Sort *) own);
		sort->plan.lefttree = input;
		sort->plan.targetlist = input->targetlist;
		sort->plan.plan_rows = input->plan_rows;
		put_declined(context, &sort->plan, below, &why_not);
	}
}

static bool
find_aggregates(Node *node, void *found)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
		*(List **) found = lappend(*(List **) found, node);
	return expression_tree_walker(node, find_aggregates, found);
}

/* Why the Agg itself sorts for the call. */
static const char *
why_inside(const Agg *agg, const Aggref *call)
{
	const Plan *input = agg->plan.lefttree;
	const char *why_not = agg_input_why_not(call);

	if (agg->groupingSets != NIL)
		why_not = "the query has grouping sets";
	if (why_not == NULL)
		why_not = sorted_aggregates_why_not(call);
	if (why_not == NULL && (agg_input_is(input) || sort_plan_is_gpusort(input)))
		why_not = "the rows have the order of another aggregate";
	return why_not != NULL ? why_not : "a sort of all rows is not expected to be faster";
}

/* Those that sort what they are given, but for those that a GpuAggInput serves. */
static void
put_aggregates(const CheckContext *context, Plan *plan, List *ancestors)
{
	List *deparse_context = deparse_context_of(context, plan, ancestors);
	const Plan *input = plan->lefttree;
	List *served = agg_input_is(input) ? agg_input_calls((const CustomScan *) input) : NIL;
	List *aggregates = NIL;
	ListCell *cell;

	(void) find_aggregates((Node *) plan->targetlist, &aggregates);
	(void) find_aggregates((Node *) plan->qual, &aggregates);
	foreach(cell, aggregates)
	{
		Aggref *aggregate = lfirst(cell);
		CheckedSort sort = {.why_not = "the sort is inside an aggregate",
							.how = check_how_within(1, work_mem),
							.expected_ms = -1,
							.postgres_ms = -1};

		if (!aggref_sorts(aggregate) || list_member(served, aggregate))
			continue;
		sort.why_not = psprintf("%s: %s", sort.why_not, why_inside((const Agg *) plan, aggregate));
		sort.sort_key = deparse_expression((Node *) aggregate, deparse_context, context->use_prefix, true);
		check_put(context->check, &sort);
	}
}

/* A grouping without a sort, where there might have been a GpuSort. */
static void
put_rival(const CheckContext *context, Plan *plan, List *ancestors)
{
	RivalPlan rival = rival_plan_of(context->offered, plan, ancestors);
	List *deparse_context;
	CheckedSort sort = {.why_not = rival_plan_why_not(rival),
						.advice = advice_on_rival(rival),
						.expected_ms = -1,
						.postgres_ms = -1};

	if (sort.why_not == NULL)
		return;
	deparse_context = deparse_context_of(context, plan, ancestors);
	sort.sort_key = join_strings(deparse_grouping_keys(plan, deparse_context, context->use_prefix));
	check_put(context->check, &sort);
}

/* ---------------------------------------------------------------- the plan */

static void
check_node(Plan **place, List *ancestors, void *arg)
{
	const CheckContext *context = arg;
	Plan *plan = *place;

	if (sort_plan_is_gpusort(plan) || sort_plan_is_ranges(plan))
		put_taken(context, plan, ancestors);
	else if (IsA(plan, Sort) || IsA(plan, IncrementalSort))
	{
		Declined why_not = sort_why_not_taken(context->stmt, plan, ancestors);

		put_declined(context, plan, ancestors, &why_not);
	}
	else if (IsA(plan, Agg))
	{
		put_aggregates(context, plan, ancestors);
		put_chain(context, (const Agg *) plan, ancestors);
	}
	put_rival(context, plan, ancestors);
}

/*
 * Has EXPLAIN's words for the columns of a GpuSort's input, and the query's aggregates, by which sorts were
 * judged.
 */
static void
prepare_node(Plan **place, List *ancestors, void *context)
{
	const Plan *input = (*place)->lefttree;

	sort_plan_refer_to_input(*place);
	if (IsA(*place, Agg) && agg_input_is(input))
		*place = &agg_input_explained((const CustomScan *) input, (const Agg *) *place)->plan;
}

static void
check_nodes(void *context)
{
	plan_walk_statement(((CheckContext *) context)->stmt, check_node, context);
}

/* The plan tells the planner's estimates, as EXPLAIN does. */
void
check_plan(Check *check, Query *query, int cursor_options, ParamListInfo params)
{
	OfferedPlans offered = {.context = CurrentMemoryContext};
	CheckContext context = {.check = check, .offered = &offered};
	PlanSettings settings;
	PlannedStmt *stmt;
	Bitmapset *relations = NULL;

	stmt = planner_plan_uncounted(query, check->text, cursor_options, params, &offered, &settings);
	context.stmt = stmt;
	context.use_prefix = explain_rtable_size(stmt->rtable) > 1;

	plan_check_permissions(stmt);
	check->why_none = query->sortClause != NIL
						  ? "the plan has no sort: its rows come in the order of the ORDER BY"
						  : "the plan has no sort";
	if (stmt->rtable != NIL)
		relations = bms_add_range(NULL, 1, list_length(stmt->rtable));
	context.deparse_context =
		deparse_context_for_plan_tree(stmt, select_rtable_names_for_explain(stmt->rtable, relations));
	plan_walk_statement(stmt, prepare_node, NULL);
	plan_settings_during(&settings, check_nodes, &context);
}
