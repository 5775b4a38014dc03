/*
 * check/instead.c
 *		What a node of a finished plan does instead of sorting.
 *
 * A node is recognized by the number of rows that were expected of it when a plan with a sort was offered in
 * its place (plan/rival.h).
 */
#include "postgres.h"

#include "check/instead.h"
#include "plan/sort_plan.h"

static const struct
{
	const char *replaced;
	const char *why_not;
} words[] = {
	[RIVAL_PLAN_NONE] = {NULL, NULL},
	[RIVAL_PLAN_WORKERS] = {.replaced = "in place of groups formed in workers",
							.why_not = "groups formed in workers: expected to be cheaper"},
	[RIVAL_PLAN_HASHED] = {.replaced = "in place of hashed groups",
						   .why_not = "hashed groups: expected to be cheaper"},
};

const char *
rival_plan_replaced(RivalPlan rival)
{
	return words[rival].replaced;
}

const char *
rival_plan_why_not(RivalPlan rival)
{
	return words[rival].why_not;
}

/* ---------------------------------------------------------------- the finished plan */

static bool
was_offered(const OfferedPlans *offered, double rows)
{
	ListCell *cell;

	foreach(cell, offered->rows)
	{
		if (*(const double *) lfirst(cell) == rows)
			return true;
	}
	return false;
}

static bool
is_gather(const Plan *plan)
{
	return IsA(plan, Gather) || IsA(plan, GatherMerge);
}

static bool
forms_groups(const Plan *plan)
{
	return IsA(plan, Agg) || IsA(plan, Group) || IsA(plan, Unique);
}

static bool
is_sort(const Plan *plan)
{
	return IsA(plan, Sort) || IsA(plan, IncrementalSort) || sort_plan_is_gpusort(plan);
}

static const Plan *
input_below_sort(const Plan *plan)
{
	plan = plan->lefttree;
	return plan != NULL && is_sort(plan) ? plan->lefttree : plan;
}

/* Are the groups put together of those that workers have formed? */
static bool
puts_groups_together(const Plan *plan)
{
	const Plan *input = input_below_sort(plan);

	return input != NULL && is_gather(input) && forms_groups(input_below_sort(input));
}

/* Does a process of a parallel plan form them of its rows?  Then another node puts them together. */
static bool
is_in_worker(List *ancestors)
{
	ListCell *cell;

	foreach(cell, ancestors)
	{
		if (!is_sort(lfirst(cell)))
			return is_gather(lfirst(cell));
	}
	return false;
}

static RivalPlan
kind_of_groups(const Plan *plan, List *ancestors)
{
	if (is_in_worker(ancestors))
		return RIVAL_PLAN_NONE;
	if (puts_groups_together(plan))
		return RIVAL_PLAN_WORKERS;
	return IsA(plan, Agg) && ((const Agg *) plan)->aggstrategy == AGG_HASHED ? RIVAL_PLAN_HASHED
																			 : RIVAL_PLAN_NONE;
}

RivalPlan
rival_plan_of(const OfferedPlans *offered, const Plan *plan, List *ancestors)
{
	if (!forms_groups(plan) || !was_offered(offered, plan->plan_rows))
		return RIVAL_PLAN_NONE;
	return kind_of_groups(plan, ancestors);
}
