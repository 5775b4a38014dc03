/*
 * plan/volatile_plan.c
 *		Whether a part of a finished plan gives the same rows when it runs once more.
 *
 * What a node evaluates for each of its rows, or once a scan, is looked at, with the sub-selects in that.
 * Sub-selects that are evaluated once for the whole plan, and CTEs, keep their rows.  The conditions of index
 * and TID scans, of hash and merge joins can't be volatile.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "plan/plan_walk.h"
#include "plan/rank_plan.h"
#include "plan/sort_plan.h"
#include "plan/volatile_plan.h"

typedef struct VolatileContext
{
	const PlannedStmt *stmt;
	bool found;
} VolatileContext;

/* Is there a sub-select in the expression that is volatile? */
static bool
has_volatile_subplan(Node *node, void *stmt)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) &&
		plan_is_volatile(stmt, list_nth(((PlannedStmt *) stmt)->subplans, ((SubPlan *) node)->plan_id - 1)))
		return true;
	return expression_tree_walker(node, has_volatile_subplan, stmt);
}

bool
expression_is_volatile(const PlannedStmt *stmt, const void *expression)
{
	Node *node = unconstify(void *, expression);

	return contain_volatile_functions(node) || has_volatile_subplan(node, unconstify(PlannedStmt *, stmt));
}

/* The same of what a node of this kind has besides output columns and a filter. */
static bool
has_volatile_part(const PlannedStmt *stmt, const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Result:
			return expression_is_volatile(stmt, ((const Result *) plan)->resconstantqual);
		case T_FunctionScan:
			return expression_is_volatile(stmt, ((const FunctionScan *) plan)->functions);
		case T_ValuesScan:
			return expression_is_volatile(stmt, ((const ValuesScan *) plan)->values_lists);
		case T_TableFuncScan:
			return expression_is_volatile(stmt, ((const TableFuncScan *) plan)->tablefunc);
		case T_SampleScan:
			return expression_is_volatile(stmt, ((const SampleScan *) plan)->tablesample);
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
			return expression_is_volatile(stmt, ((const Join *) plan)->joinqual);
		case T_WindowAgg:
			return expression_is_volatile(stmt, ((const WindowAgg *) plan)->startOffset) ||
				   expression_is_volatile(stmt, ((const WindowAgg *) plan)->endOffset);
		case T_Limit:
			return expression_is_volatile(stmt, ((const Limit *) plan)->limitOffset) ||
				   expression_is_volatile(stmt, ((const Limit *) plan)->limitCount);
		case T_CustomScan:
			return !sort_plan_is_gpusort(plan) && !sort_plan_is_feed(plan) && !rank_plan_is_rank(plan);
		case T_ForeignScan:
		case T_ModifyTable:
			return true; /* nobody knows, or it does something */
		default:
			return false;
	}
}

static void
look_at_node(Plan **place, List *ancestors, void *arg)
{
	VolatileContext *context = arg;
	const Plan *plan = *place;

	context->found = context->found || expression_is_volatile(context->stmt, plan->targetlist) ||
					 expression_is_volatile(context->stmt, plan->qual) ||
					 has_volatile_part(context->stmt, plan);
}

bool
plan_is_volatile(const PlannedStmt *stmt, Plan *plan)
{
	VolatileContext context = {.stmt = stmt};

	plan_walk(&plan, NIL, look_at_node, &context);
	return context.found;
}
