/*
 * plan/plan_walk.c
 *		Visiting the nodes of a finished plan.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "plan/plan_walk.h"

/* The children that stand in a list. */
static List *
listed_children(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Append:
			return ((const Append *) plan)->appendplans;
		case T_MergeAppend:
			return ((const MergeAppend *) plan)->mergeplans;
		case T_CustomScan:
			return ((const CustomScan *) plan)->custom_plans;
		default:
			return NIL;
	}
}

void
plan_walk(Plan **place, List *ancestors, plan_visitor visit, void *context)
{
	Plan *plan;
	List *below;
	ListCell *cell;

	check_stack_depth();
	if (*place == NULL)
		return;
	visit(place, ancestors, context);

	plan = *place;
	below = lcons(plan, list_copy(ancestors));
	plan_walk(&plan->lefttree, below, visit, context);
	plan_walk(&plan->righttree, below, visit, context);
	if (IsA(plan, SubqueryScan))
		plan_walk(&((SubqueryScan *) plan)->subplan, below, visit, context);
	foreach(cell, listed_children(plan))
		plan_walk((Plan **) &lfirst(cell), below, visit, context);
}

void
plan_walk_statement(PlannedStmt *stmt, plan_visitor visit, void *context)
{
	ListCell *cell;

	plan_walk(&stmt->planTree, NIL, visit, context);
	foreach(cell, stmt->subplans)
		plan_walk((Plan **) &lfirst(cell), NIL, visit, context);
}

const Plan *
plan_top(const Plan *plan, List *ancestors)
{
	return ancestors != NIL ? llast(ancestors) : plan;
}

/* ---------------------------------------------------------------- is there any? */

/* Is it a node that sorts its input, or one of a grouping's own sorts? */
static bool
sorts_itself(const Plan *plan)
{
	return IsA(plan, Sort) || IsA(plan, IncrementalSort) ||
		   (IsA(plan, Agg) && ((const Agg *) plan)->chain != NIL);
}

static bool
has_sorts(const Plan *plan)
{
	ListCell *cell;

	check_stack_depth();
	if (plan == NULL)
		return false;
	if (sorts_itself(plan) || has_sorts(plan->lefttree) || has_sorts(plan->righttree))
		return true;
	if (IsA(plan, SubqueryScan))
		return has_sorts(((const SubqueryScan *) plan)->subplan);
	foreach(cell, listed_children(plan))
	{
		if (has_sorts(lfirst(cell)))
			return true;
	}
	return false;
}

bool
plan_has_sorts(const PlannedStmt *stmt)
{
	ListCell *cell;

	if (has_sorts(stmt->planTree))
		return true;
	foreach(cell, stmt->subplans)
	{
		if (has_sorts(lfirst(cell)))
			return true;
	}
	return false;
}
