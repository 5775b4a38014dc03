/*
 * exec/explained_plan.c
 *		The plan of a node as EXPLAIN should print it: with the aggregates of the query.
 *
 * What an Agg above a GpuAggInput evaluates are other calls than the query's.  The columns of the nodes above
 * it are found in its plan, too, on the way from plan to plan.  So these nodes need copies as well.  Plans
 * may be cached, so they themselves are left alone.  The executor has made all that it needs of them.
 */
#include "postgres.h"

#include "nodes/plannodes.h"

#include "exec/explained_plan.h"
#include "plan/agg_input.h"
#include "plan/sort_plan.h"

/* The size of a plan that may be copied; 0: others show expressions as they are executed. */
static Size
size_of(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Agg:
			return sizeof(Agg);
		case T_Sort:
			return sizeof(Sort);
		case T_IncrementalSort:
			return sizeof(IncrementalSort);
		case T_WindowAgg:
			return sizeof(WindowAgg);
		case T_Unique:
			return sizeof(Unique);
		case T_Limit:
			return sizeof(Limit);
		case T_Result:
			return sizeof(Result);
		case T_ProjectSet:
			return sizeof(ProjectSet);
		case T_Hash:
			return sizeof(Hash);
		case T_Material:
			return sizeof(Material);
		case T_HashJoin:
			return sizeof(HashJoin);
		case T_MergeJoin:
			return sizeof(MergeJoin);
		case T_NestLoop:
			return sizeof(NestLoop);
		case T_CustomScan:
			return sort_plan_is_gpusort(plan) || agg_input_is(plan) || window_plan_is_window(plan)
					   ? sizeof(CustomScan)
					   : 0;
		default:
			return 0;
	}
}

/* The plan, or a copy of it over these plans, if they are others. */
static Plan *
plan_over(Plan *plan, Plan *outer, Plan *inner)
{
	Size size = size_of(plan);
	Plan *copy;

	if ((outer == plan->lefttree && inner == plan->righttree) || size == 0)
		return plan;
	copy = palloc(size);
	memcpy(copy, plan, size);
	copy->lefttree = outer;
	copy->righttree = inner;
	return copy;
}

static Plan *
plan_of(const PlanState *node, Plan *without)
{
	return node != NULL ? node->plan : without;
}

void
explained_plan_set(PlanState *node, const PlanState *parent)
{
	const Plan *input = node->plan->lefttree;
	MemoryContext old;

	/* workers get the plan of a Gather's child, and execute it */
	if (parent != NULL && (IsA(parent, GatherState) || IsA(parent, GatherMergeState)))
		return;
	old = MemoryContextSwitchTo(node->state->es_query_cxt);
	if (IsA(node, AggState) && input != NULL && agg_input_is(input))
		node->plan = &agg_input_explained((const CustomScan *) input, (const Agg *) node->plan)->plan;
	node->plan = plan_over(node->plan, plan_of(outerPlanState(node), node->plan->lefttree),
						   plan_of(innerPlanState(node), node->plan->righttree));
	MemoryContextSwitchTo(old);
}
