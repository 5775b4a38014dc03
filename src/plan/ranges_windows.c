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
#include "plan/group_columns.h"
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

static bool
has_partitions_enough(PlannerInfo *root, const WindowAggPath *window, double rows, int processes)
{
	List *columns = get_sortgrouplist_exprs(window->winclause->partitionClause, root->processed_tlist);

	return gpusort_mode == GPUSORT_MODE_FORCE ||
		   estimate_num_groups(root, columns, rows, NULL, NULL) >= (double) GROUPS_PER_PROCESS * processes;
}

/*
 * May processes compute the windows, each with all rows of its partitions, and have partitions enough?
 *
 * A run condition lets a GpuSort of one query drop rows as they come, which gains more.
 */
static bool
processes_may_compute(PlannerInfo *root, Path *top, const Path *sort, int processes)
{
	for (Path *path = top; path != sort; path = path_input(path))
	{
		const WindowAggPath *window = (const WindowAggPath *) path;

		if (!workers_may_compute(root, path->pathtarget->exprs))
			return false;
		if (IsA(path, ProjectionPath))
			continue;
		if (!IsA(path, WindowAggPath) || window_path_run_condition(window) != NIL ||
			!workers_may_compute(root, window->qual) ||
			!is_parallel_safe(root, window->winclause->startOffset) ||
			!is_parallel_safe(root, window->winclause->endOffset) ||
			!has_partitions_enough(root, window, sort->rows, processes))
			return false;
	}
	return true;
}

/* ---------------------------------------------------------------- the path */

/* Is the sort for windows of a sub-select, whose rows the query around it may take from several processes? */
static bool
may_be_offered(const SortToOffer *sort, const Path *top)
{
	Query *query = sort->root->parse;

	/* set-returning functions of the output come above the windows later, and are not looked at then */
	return sort->root->parent_root != NULL && IsA(top, WindowAggPath) && query->sortClause == NIL &&
		   !query->hasTargetSRFs && !limit_needed(query) && ranges_are_possible(sort);
}

void
ranges_offer_windows(const SortToOffer *sort, const Rival *rival, Path *top, const Path *below)
{
	SortToOffer grouping = *sort;
	Path *ranges;

	if (!may_be_offered(sort, top))
		return;
	grouping.grouped = group_columns_of_chain(sort->root, top, below);
	if (grouping.grouped == 0 ||
		!processes_may_compute(sort->root, top, below, sort->partial->parallel_workers + 1))
		return;
	ranges = gpusort_path_ranges(&grouping, rival, NULL);
	if (ranges == NULL)
		return;
	sort->rel->consider_parallel = true;
	add_partial_path(sort->rel, ranges_chain(sort->root, top, below, ranges, ranges->rows / sort->rows));
}
