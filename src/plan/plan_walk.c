/*
 * plan/plan_walk.c
 *		Visiting the nodes of a finished plan.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "plan/plan_walk.h"

/* The children that are not in lefttree and righttree. */
static List *
listed_children(Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Append:
			return ((Append *) plan)->appendplans;
		case T_MergeAppend:
			return ((MergeAppend *) plan)->mergeplans;
		case T_CustomScan:
			return ((CustomScan *) plan)->custom_plans;
		case T_SubqueryScan:
			return list_make1(((SubqueryScan *) plan)->subplan);
		default:
			return NIL;
	}
}

void
plan_walk(Plan *plan, List *ancestors, plan_visitor visit, void *context)
{
	List *below;
	ListCell *cell;

	check_stack_depth();
	if (plan == NULL)
		return;
	visit(plan, ancestors, context);

	below = lcons(plan, list_copy(ancestors));
	plan_walk(plan->lefttree, below, visit, context);
	plan_walk(plan->righttree, below, visit, context);
	foreach(cell, listed_children(plan))
		plan_walk(lfirst(cell), below, visit, context);
}
