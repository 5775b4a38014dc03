/*
 * plan/agg_input.c
 *		The plan node GpuAggInput as data.
 */
#include "postgres.h"

#include "plan/agg_input.h"
#include "plan/sort_plan.h"

/* Members of custom_private. */
enum
{
	PRIVATE_ROWS,		/* Integer, AggInputRows */
	PRIVATE_GROUPS,		/* a Group with its columns alone */
	PRIVATE_TARGETLIST, /* of the Agg, before its calls were rewritten */
	PRIVATE_QUAL
};

static const CustomScanMethods *node_methods;

void
agg_input_register(const CustomScanMethods *methods)
{
	node_methods = methods;
	RegisterCustomScanMethods(methods);
}

bool
agg_input_is(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == node_methods;
}

/* ---------------------------------------------------------------- making the node */

static Group *
group_columns(const Agg *agg)
{
	Group *group = makeNode(Group);

	group->numCols = agg->numCols;
	group->grpColIdx = agg->grpColIdx;
	group->grpOperators = agg->grpOperators;
	group->grpCollations = agg->grpCollations;
	return group;
}

Plan *
agg_input_make(const Agg *agg, AggInputRows rows, List *calls, List *columns, int id)
{
	CustomScan *node = makeNode(CustomScan);

	node->scan.plan = *agg->plan.lefttree;
	NodeSetTag(node, T_CustomScan);
	node->scan.plan.parallel_aware = false;
	node->scan.plan.plan_node_id = id;
	node->scan.plan.qual = NIL;
	node->scan.plan.initPlan = NIL;
	node->scan.plan.lefttree = agg->plan.lefttree;
	node->custom_scan_tlist = columns;
	node->scan.plan.targetlist = plan_refer_to_columns(node->custom_scan_tlist, INDEX_VAR);
	node->custom_exprs = copyObject(calls);
	node->custom_private =
		list_make4(makeInteger(rows), group_columns(agg), agg->plan.targetlist, agg->plan.qual);
	node->methods = node_methods;
	return &node->scan.plan;
}

/* ---------------------------------------------------------------- what the node says */

AggInputRows
agg_input_rows(const CustomScan *plan)
{
	return intVal(list_nth(plan->custom_private, PRIVATE_ROWS));
}

bool
agg_input_drops_equal(const CustomScan *plan)
{
	AggInputRows rows = agg_input_rows(plan);

	return rows == AGG_INPUT_FIRSTS || rows == AGG_INPUT_COUNTS;
}

WindowColumns
agg_input_groups(const CustomScan *plan)
{
	const Group *group = list_nth_node(Group, plan->custom_private, PRIVATE_GROUPS);

	return (WindowColumns){group->numCols, group->grpColIdx, group->grpOperators, group->grpCollations};
}

List *
agg_input_calls(const CustomScan *plan)
{
	return plan->custom_exprs;
}

Agg *
agg_input_explained(const CustomScan *plan, const Agg *agg)
{
	Agg *explained = makeNode(Agg);

	*explained = *agg;
	explained->plan.targetlist = list_nth(plan->custom_private, PRIVATE_TARGETLIST);
	explained->plan.qual = list_nth(plan->custom_private, PRIVATE_QUAL);
	return explained;
}
