/*
 * plan/plan_walk.c
 *		Visiting the nodes of a finished plan.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

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

static bool
has(const Plan *plan, bool (*is_such)(const Plan *plan))
{
	ListCell *cell;

	check_stack_depth();
	if (plan == NULL)
		return false;
	if (is_such(plan) || has(plan->lefttree, is_such) || has(plan->righttree, is_such))
		return true;
	if (IsA(plan, SubqueryScan))
		return has(((const SubqueryScan *) plan)->subplan, is_such);
	foreach(cell, listed_children(plan))
	{
		if (has(lfirst(cell), is_such))
			return true;
	}
	return false;
}

bool
plan_has(const PlannedStmt *stmt, bool (*is_such)(const Plan *plan))
{
	ListCell *cell;

	if (has(stmt->planTree, is_such))
		return true;
	foreach(cell, stmt->subplans)
	{
		if (has(lfirst(cell), is_such))
			return true;
	}
	return false;
}

PlannedStmt *
plan_to_change(PlannedStmt *stmt)
{
	return GetMemoryChunkContext(stmt) == CurrentMemoryContext ? stmt : copyObject(stmt);
}
