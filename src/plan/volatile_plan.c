/*
 * plan/volatile_plan.c
 *		Whether a part of a plan gives the same rows when it runs once more.
 *
 * What a node evaluates for each of its rows, or once a scan, is looked at, with the sub-selects in that.
 * Sub-selects that are evaluated once for the whole plan, and CTEs, keep their rows.  The conditions of index
 * and TID scans, of hash and merge joins can't be volatile.  The plan may be one that setrefs.c has not seen
 * yet.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "plan/plan_walk.h"
#include "plan/volatile_plan.h"

typedef struct VolatileContext
{
	List *subplans;
	bool found;
} VolatileContext;

/* Is there a sub-select in the expression that is volatile? */
static bool
has_volatile_subplan(Node *node, void *subplans)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) && plan_is_volatile(subplans, list_nth(subplans, ((SubPlan *) node)->plan_id - 1)))
		return true;
	return expression_tree_walker(node, has_volatile_subplan, subplans);
}

bool
expression_is_volatile(List *subplans, const void *expression)
{
	Node *node = unconstify(void *, expression);

	return contain_volatile_functions(node) || has_volatile_subplan(node, subplans);
}

/* The same of what a node of this kind has besides output columns and a filter. */
static bool
has_volatile_part(List *subplans, const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Result:
			return expression_is_volatile(subplans, ((const Result *) plan)->resconstantqual);
		case T_FunctionScan:
			return expression_is_volatile(subplans, ((const FunctionScan *) plan)->functions);
		case T_ValuesScan:
			return expression_is_volatile(subplans, ((const ValuesScan *) plan)->values_lists);
		case T_TableFuncScan:
			return expression_is_volatile(subplans, ((const TableFuncScan *) plan)->tablefunc);
		case T_SampleScan:
			return expression_is_volatile(subplans, ((const SampleScan *) plan)->tablesample);
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
			return expression_is_volatile(subplans, ((const Join *) plan)->joinqual);
		case T_WindowAgg:
			return expression_is_volatile(subplans, ((const WindowAgg *) plan)->startOffset) ||
				   expression_is_volatile(subplans, ((const WindowAgg *) plan)->endOffset);
		case T_Limit:
			return expression_is_volatile(subplans, ((const Limit *) plan)->limitOffset) ||
				   expression_is_volatile(subplans, ((const Limit *) plan)->limitCount);
		case T_CustomScan:
			return expression_is_volatile(subplans, ((const CustomScan *) plan)->custom_exprs);
		case T_ForeignScan:
			return expression_is_volatile(subplans, ((const ForeignScan *) plan)->fdw_exprs);
		case T_ModifyTable:
			return true;
		default:
			return false;
	}
}

static void
look_at_node(Plan **place, List *ancestors, void *arg)
{
	VolatileContext *context = arg;
	const Plan *plan = *place;

	context->found = context->found || expression_is_volatile(context->subplans, plan->targetlist) ||
					 expression_is_volatile(context->subplans, plan->qual) ||
					 has_volatile_part(context->subplans, plan);
}

bool
plan_is_volatile(List *subplans, Plan *plan)
{
	VolatileContext context = {.subplans = subplans};

	plan_walk(&plan, NIL, look_at_node, &context);
	return context.found;
}
