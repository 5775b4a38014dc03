/*
 * plan/ranges_groups.c
 *		Groups that each process of a parallel plan forms of ranges of one sort.
 *
 * PostgreSQL's workers form parts of groups, which one process puts together.  That saves nothing where most
 * rows have a group of their own.  A process that reads ranges of a GpuSortRanges has whole groups, and no
 * other process has rows of these.  So a grouping or a DISTINCT above such a node is a partial path of its
 * rel, with all that PostgreSQL does with those: a query around a sub-select joins or aggregates the groups
 * in all processes.  PostgreSQL puts no Gather above the groups of a query themselves, so that is done here.
 */
#include "postgres.h"

#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "plan/cost.h"
#include "plan/group_columns.h"
#include "plan/hashed_groups.h"
#include "plan/path_chain.h"
#include "plan/predict.h"
#include "plan/ranges_groups.h"
#include "plan/ranges_path.h"

/*
 * Rows of each group in each process from which on PostgreSQL's workers save most of the rows by forming the
 * groups in part.
 */
#define ROWS_OF_FEW_GROUPS 10

/* Does the path want one row of each group, whichever it is? */
static bool
wants_one_row(const Path *path)
{
	return IsA(path, GroupPath) || IsA(path, UpperUniquePath);
}

/* Does only one node form groups, right above the sort, and may workers do it? */
static bool
may_be_offered(const SortToOffer *sort, Path *top, const Path *below)
{
	const Path *input = path_input(top);

	while (input != below && IsA(input, ProjectionPath))
		input = path_input(unconstify(Path *, input));
	return input == below && !IsA(top, WindowAggPath) && !IS_OTHER_REL(sort->rel) &&
		   sort->rel->consider_parallel && ranges_are_possible(sort);
}

static bool
has_groups_enough(const SortToOffer *sort, const Path *top)
{
	return gpusort_mode == GPUSORT_MODE_FORCE ||
		   top->rows >= (double) GROUPS_PER_PROCESS * (sort->partial->parallel_workers + 1);
}

/* Milliseconds that it takes to pass the groups through a Gather, whose launch the sort's time has. */
static double
passing_ms(const SortExpectation *expected, const Path *gather)
{
	SortShape groups = expected->shape;

	groups.rows = gather->rows;
	groups.width = gather->pathtarget->width;
	return predict_gather(&groups) - predict_launch(&groups);
}

/* Over a path of its own: the planner frees a partial path that it does not take. */
static Path *
gather_groups(const SortToOffer *sort, Path *partial, double rows)
{
	Path *input = path_without_order(sort->root, partial);

	return (Path *) create_gather_path(sort->root, sort->rel, input, input->pathtarget, NULL, &rows);
}

/*
 * Sets the costs of the chain over the ranges, and of the Gather above it, as their times compare with
 * hashing.  False: they take longer.  Fills whether the Gather takes less, too.
 */
static bool
compare_with_hashing(const SortToOffer *sort, const SortExpectation *expected, Path *ranges, Path *partial,
					 Path *gather, bool *gather_is_faster)
{
	SortExpectation passed = *expected;
	Path *input = ((GatherPath *) gather)->subpath;
	Cost cost;

	passed.ms += passing_ms(expected, gather);
	*gather_is_faster = hashed_groups_cost(sort->root, sort->hashed, &passed, gather, &gather->total_cost);
	if (!hashed_groups_cost(sort->root, sort->hashed, expected, partial, &cost))
		return false;
	gpusort_path_set_chain_cost(partial, ranges, sort->input->total_cost, cost);
	input->startup_cost = partial->startup_cost;
	input->total_cost = partial->total_cost;
	gather->startup_cost = Min(partial->startup_cost + parallel_setup_cost, gather->total_cost);
	return true;
}

/*
 * Does it cost clearly less than the others?  It may read another input, and hardly any difference is known.
 */
static bool
costs_less(const Path *path, const RelOptInfo *rel)
{
	const Path *cheapest = rival_cheapest(rel, 1, false);

	return cheapest == NULL || path->total_cost < WORTH_SHARE * cheapest->total_cost;
}

/* Is this a column of a sub-select that is computed by its aggregates? */
static bool
is_result(const Query *query, const Var *column)
{
	const RangeTblEntry *rte = rt_fetch(column->varno, query->rtable);
	const TargetEntry *output;

	if (rte->rtekind != RTE_SUBQUERY || column->varlevelsup > 0 || column->varattno <= 0)
		return false;
	output = get_tle_by_resno(rte->subquery->targetList, column->varattno);
	return output != NULL && contain_agg_clause((Node *) output->expr);
}

/*
 * Does the query around this one form groups by what aggregates return?  PostgreSQL takes such columns to
 * have few values, whatever they are.  Over a partial path it would therefore form the groups in part, and
 * pass nearly all rows on, to be grouped once more.
 */
static bool
groups_by_results(const PlannerInfo *outer)
{
	const Query *query = outer->parse;
	List *clauses = list_concat_copy(query->groupClause, query->distinctClause);
	List *keys;
	List *columns;
	ListCell *cell;

	/* a sub-select within an expression is planned before the output is known */
	if (outer->processed_tlist == NIL)
		return false;
	keys = get_sortgrouplist_exprs(clauses, outer->processed_tlist);
	columns = pull_var_clause((Node *) keys,
							  PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_RECURSE_PLACEHOLDERS);
	foreach(cell, columns)
	{
		if (is_result(query, lfirst_node(Var, cell)))
			return true;
	}
	return false;
}

/* May what is above the groups run in workers, too? */
static bool
may_be_partial(const SortToOffer *sort, const Path *partial)
{
	const PlannerInfo *outer = sort->root->parent_root;

	return costs_less(partial, sort->rel) && (outer == NULL || !groups_by_results(outer));
}

/*
 * Does PostgreSQL neither sort the rows in one process nor hash them?  Mode force does not doubt: its costs
 * are those of each version.
 */
static bool
replaces_another(const SortToOffer *sort, const Path *top)
{
	return gpusort_mode != GPUSORT_MODE_FORCE && sort->hashed == NULL &&
		   rival_cheapest(sort->rel, 1, false) != top;
}

/* Are the groups likely few?  The planner takes most expressions to have as many values as their columns. */
static bool
groups_are_few(const SortShape *shape)
{
	return shape->rows >= ROWS_OF_FEW_GROUPS * shape->processes * likely_groups(shape);
}

void
ranges_offer_groups(const SortToOffer *sort, const Rival *rival, Path *top, const Path *below)
{
	SortToOffer wanted = *sort;
	int ncolumns = group_columns_of_chain(sort->root, top, below);
	SortExpectation expected;
	Path *ranges;
	Path *partial;
	Path *gather;
	bool is_faster = true;

	if (ncolumns == 0 || !may_be_offered(sort, top, below) || !has_groups_enough(sort, top))
		return;
	wanted.grouped = ncolumns;
	wanted.group_columns = wants_one_row(top) ? ncolumns : 0;
	ranges = gpusort_path_ranges(&wanted, rival, &expected);
	if (ranges == NULL)
		return;
	if (replaces_another(sort, top) && groups_are_few(&expected.shape))
		return;
	partial = ranges_chain(sort->root, top, below, ranges, ranges->rows / sort->rows);
	if (replaces_another(sort, top))
		cost_add_doubt(partial, sort->partial->total_cost);
	gather = gather_groups(sort, partial, top->rows);
	if (sort->hashed != NULL && !compare_with_hashing(sort, &expected, ranges, partial, gather, &is_faster))
		return;
	is_faster &= costs_less(gather, sort->rel);
	if (may_be_partial(sort, partial))
		add_partial_path(sort->rel, partial);
	/* add_path may free the paths that the new one is better than */
	if (is_faster)
		add_path(sort->rel, gather);
}
