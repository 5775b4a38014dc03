/*
 * plan/ranges_windows.c
 *		Windows that each process of a parallel plan computes for ranges of one sort.
 *
 * PostgreSQL has no partial path for windows, because no process of its parallel plans has all rows of a
 * partition.  A process that reads ranges of a GpuSortRanges has them.  So the windows above such a node are
 * a partial path of their rel, and the query around the sub-select filters, joins or aggregates their rows in
 * all processes.  A row that goes through a Gather takes longer than its windows.  Therefore only windows of
 * a sub-select are offered: PostgreSQL adds the Gather above, by its own costs.
 *
 * PostgreSQL lets no worker compute a rel with window functions: if two processes compute the same windows,
 * they may find the rows of peers in different orders.  Here each row is computed once.  The rel gets a
 * partial path; its other paths remain those of one process.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "plan/gpusort_path.h"
#include "plan/path_chain.h"
#include "plan/ranges_path.h"
#include "plan/ranges_windows.h"

/* ---------------------------------------------------------------- what workers may compute */

/*
 * The expression with arguments and filters in the place of window functions.  context: bool *, set to false
 * if a function itself is not parallel safe.
 */
static Node *
without_functions(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, WindowFunc))
	{
		const WindowFunc *function = (const WindowFunc *) node;
		RowExpr *parts = makeNode(RowExpr);

		*(bool *) context &= func_parallel(function->winfnoid) == PROPARALLEL_SAFE;
		parts->args = lappend(list_copy(function->args), function->aggfilter);
		parts->row_typeid = RECORDOID;
		return (Node *) parts;
	}
	return expression_tree_mutator(node, without_functions, context);
}

/* May workers compute this, but for the order of a window's rows? */
static bool
workers_may_compute(PlannerInfo *root, List *exprs)
{
	bool functions_are_safe = true;
	Node *parts = without_functions((Node *) exprs, &functions_are_safe);

	return functions_are_safe && is_parallel_safe(root, parts);
}

/* ---------------------------------------------------------------- which windows */

/* The partition's pathkeys, if they are the first ones of the sort; else NIL. */
static List *
partition_pathkeys(PlannerInfo *root, const WindowClause *window, const Path *sort)
{
	List *pathkeys;

	if (window->partitionClause == NIL)
		return NIL;
	pathkeys = make_pathkeys_for_sortclauses(root, window->partitionClause, root->processed_tlist);
	return pathkeys_contained_in(pathkeys, sort->pathkeys) ? pathkeys : NIL;
}

static bool
has_partitions_enough(PlannerInfo *root, const WindowAggPath *window, double rows, int processes)
{
	List *columns = get_sortgrouplist_exprs(window->winclause->partitionClause, root->processed_tlist);

	return gpusort_mode == GPUSORT_MODE_FORCE ||
		   estimate_num_groups(root, columns, rows, NULL, NULL) >= (double) GROUPS_PER_PROCESS * processes;
}

/*
 * The first columns of the sort such that processes which have all rows that are equal in them have the
 * partitions of all windows; 0: there are none, or processes may not compute the windows, or have too few
 * partitions.
 *
 * A run condition lets a GpuSort of one query drop rows as they come, which gains more.
 */
static int
find_group_columns(PlannerInfo *root, Path *top, const Path *sort, int processes)
{
	int ncolumns = list_length(sort->pathkeys);

	for (Path *path = top; path != sort; path = path_input(path))
	{
		const WindowAggPath *window = (const WindowAggPath *) path;

		if (!workers_may_compute(root, path->pathtarget->exprs))
			return 0;
		if (IsA(path, ProjectionPath))
			continue;
		if (!IsA(path, WindowAggPath) || window_path_run_condition(window) != NIL ||
			!workers_may_compute(root, window->qual) ||
			!is_parallel_safe(root, window->winclause->startOffset) ||
			!is_parallel_safe(root, window->winclause->endOffset))
			return 0;
		ncolumns = Min(ncolumns, list_length(partition_pathkeys(root, window->winclause, sort)));
		if (ncolumns == 0 || !has_partitions_enough(root, window, sort->rows, processes))
			return 0;
	}
	return ncolumns;
}

/* ---------------------------------------------------------------- the path */

/* Is the sort for windows of a sub-select, whose rows the query around it may take from several processes? */
static bool
may_be_offered(const SortToOffer *sort, const Path *top)
{
	Query *query = sort->root->parse;

	/* set-returning functions of the output come above the windows later, and are not looked at then */
	return sort->root->parent_root != NULL && IsA(top, WindowAggPath) && query->sortClause == NIL &&
		   !query->hasTargetSRFs && !limit_needed(query) && sort->root->glob->parallelModeOK &&
		   sort->partial != NULL && gpusort_backend != GPUSORT_BACKEND_CUDA;
}

void
ranges_offer_windows(const SortToOffer *sort, const Rival *rival, Path *top, const Path *below)
{
	Path *ranges;
	int group_columns;

	if (!may_be_offered(sort, top))
		return;
	group_columns = find_group_columns(sort->root, top, below, sort->partial->parallel_workers + 1);
	ranges = group_columns > 0 ? gpusort_path_ranges(sort, rival, group_columns, NULL) : NULL;
	if (ranges == NULL)
		return;
	sort->rel->consider_parallel = true;
	add_partial_path(sort->rel, ranges_chain(sort->root, top, below, ranges, ranges->rows / sort->rows));
}
