/*
 * plan/agg_join.c
 *		The plan node GpuAggJoin: the results of several Aggs over the same rows, side by side.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"

#include "plan/agg_join.h"

static const CustomScanMethods *node_methods;

void
agg_join_register(const CustomScanMethods *methods)
{
	node_methods = methods;
	RegisterCustomScanMethods(methods);
}

static Plan *
plan_agg_join_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
				   List *custom_plans)
{
	CustomScan *plan = makeNode(CustomScan);
	ListCell *cell;

	foreach(cell, (List *) linitial(path->custom_private))
		plan->custom_scan_tlist =
			lappend(plan->custom_scan_tlist,
					makeTargetEntry(lfirst(cell), list_length(plan->custom_scan_tlist) + 1, NULL, false));
	plan->scan.plan.targetlist = tlist;
	plan->scan.plan.qual = lsecond(path->custom_private);
	plan->custom_plans = custom_plans;
	plan->flags = path->flags;
	plan->methods = node_methods;
	return &plan->scan.plan;
}

static const CustomPathMethods path_methods = {.CustomName = GPUAGGJOIN_NODE_NAME,
											   .PlanCustomPath = plan_agg_join_path};

CustomPath *
agg_join_path(RelOptInfo *rel, List *inputs, List *columns, Node *having)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.rows = ((const Path *) linitial(inputs))->rows;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = inputs;
	path->custom_private = list_make2(columns, having);
	path->methods = &path_methods;
	return path;
}
