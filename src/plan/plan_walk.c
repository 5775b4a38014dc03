/*
 * plan/plan_walk.c
 *		Visiting the nodes of a plan.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"

#include "plan/plan_walk.h"
#include "plan/window_plan.h"

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

/* The same of the part of a plan that begins here, sub-selects not included. */
static void
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

/* Is there a parameter in the expression that is not put down for the plan (arg) as one of its own? */
static bool
has_hidden_parameter(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC &&
			   !bms_is_member(((Param *) node)->paramid, ((Plan *) arg)->allParam);
	return expression_tree_walker(node, has_hidden_parameter, arg);
}

static bool
hides_parameter(const Plan *plan)
{
	List *condition = NIL;

	if (IsA(plan, WindowAgg))
		condition = ((const WindowAgg *) plan)->runCondition;
	else if (window_plan_is_window(plan))
		condition = window_plan_run_condition((const CustomScan *) plan);
	return has_hidden_parameter((Node *) condition, unconstify(Plan *, plan));
}

bool
plan_hides_parameters(const Plan *plan)
{
	return has(plan, hides_parameter);
}

PlannedStmt *
plan_to_change(PlannedStmt *stmt)
{
	return GetMemoryChunkContext(stmt) == CurrentMemoryContext ? stmt : copyObject(stmt);
}

/* ---------------------------------------------------------------- can it be read again? */

/*
 * What a node evaluates for each of its rows, or once a scan, is looked at, with the sub-selects in that.
 * Sub-selects that are evaluated once for the whole plan, and CTEs, keep their rows.  The conditions of index
 * and TID scans, of hash and merge joins can't be volatile.  The plan may be one that setrefs.c has not seen
 * yet.
 */
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

/* Most expressions are columns, and what there is to know of these is seen at once. */
static bool
is_column(const Node *expr)
{
	if (expr != NULL && IsA(expr, TargetEntry))
		expr = (const Node *) ((const TargetEntry *) expr)->expr;
	return expr == NULL || IsA(expr, Var) || IsA(expr, Const);
}

static bool
is_volatile(List *subplans, Node *expr)
{
	return !is_column(expr) &&
		   (contain_volatile_functions(expr) || (subplans != NIL && has_volatile_subplan(expr, subplans)));
}

bool
expression_is_volatile(List *subplans, const void *expression)
{
	Node *node = unconstify(void *, expression);
	ListCell *cell;

	if (node == NULL || !IsA(node, List))
		return is_volatile(subplans, node);
	foreach(cell, (List *) node)
	{
		if (is_volatile(subplans, lfirst(cell)))
			return true;
	}
	return false;
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
