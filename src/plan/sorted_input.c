/*
 * plan/sorted_input.c
 *		Offering a GpuSort below what a query does with sorted rows: window functions, groupings, DISTINCT,
 *		UNION.
 *
 * The planner has made its own paths for these when create_upper_paths_hook is called, chains of nodes with
 * one input each.  The cheapest of those that sort the input relation's rows, in one process or below a
 * Gather Merge, is taken once more, with a GpuSort in the place of the sort; or the cheapest of all, if it
 * fetches the rows in order by an index.  So nothing that the planner knows of groups and windows is worked
 * out a second time.  Where no such path is left, sorted_groups.c makes one.
 */
#include "postgres.h"

#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "plan/aggregates_apart.h"
#include "plan/choice.h"
#include "plan/cost.h"
#include "plan/gpusort_path.h"
#include "plan/group_columns.h"
#include "plan/hashed_groups.h"
#include "plan/likely_rows.h"
#include "plan/own_scan.h"
#include "plan/path_chain.h"
#include "plan/ranges_groups.h"
#include "plan/ranges_windows.h"
#include "plan/rival.h"
#include "plan/sorted_aggregates.h"
#include "plan/sorted_groups.h"
#include "plan/sorted_input.h"

/* A path above a sort, and where the sort stands below it. */
typedef struct Chain
{
	Path *top; /* NULL: there is none */
	/* what a GpuSort can take the place of: a Sort, or an input that comes by a Gather Merge or an index */
	Path *sort;
} Chain;

/* ---------------------------------------------------------------- chains of paths */

/*
 * Finds the sort of input_rel's rows in the chain that the path is the top of; or what fetches them by an
 * index.
 */
static bool
find_sort(Path *path, const RelOptInfo *input_rel, Chain *chain)
{
	Path *above = NULL;

	chain->top = path;
	while (path->parent != input_rel)
	{
		above = path;
		path = path_input(path);
		if (path == NULL)
			return false;
	}
	if (above == NULL)
		return false;
	chain->sort = IsA(above, SortPath) || IsA(above, IncrementalSortPath) ? above : path;
	return chain->sort == above || path_fetches_by_index(path) ||
		   (IsA(path_below_projection(path), GatherMergePath) && path_sorts(path));
}

/* Mode force looks for sorts alone. */
static Chain
cheapest_chain(const RelOptInfo *input_rel, const RelOptInfo *output_rel, double fraction)
{
	const Path *cheapest = NULL;
	Chain best = {.top = NULL, .sort = NULL};
	ListCell *cell;

	if (gpusort_mode != GPUSORT_MODE_FORCE)
		cheapest = rival_cheapest(output_rel, fraction, false);
	foreach(cell, output_rel->pathlist)
	{
		Path *path = lfirst(cell);
		Chain chain;

		if (path->param_info == NULL && find_sort(path, input_rel, &chain) &&
			(path == cheapest || !path_fetches_by_index(chain.sort)) &&
			(best.top == NULL || compare_fractional_path_costs(path, best.top, fraction) < 0))
			best = chain;
	}
	return best;
}

/* Does the path sort input_rel's rows, in one process or in several?  NULL: any rows. */
static bool
sorts_rows_of(Path *path, const RelOptInfo *input_rel)
{
	for (; path != NULL && (input_rel == NULL || path->parent != input_rel); path = path_below(path))
	{
		/* of two windows the upper one's sort is of what the lower one returns */
		if ((IsA(path, SortPath) || IsA(path, IncrementalSortPath)) &&
			(input_rel == NULL || path_below(path)->parent == input_rel))
			return true;
	}
	return path != NULL && path_sorts(path);
}

void
remove_sorting_paths(const RelOptInfo *input_rel, RelOptInfo *output_rel)
{
	ListCell *cell;

	foreach(cell, output_rel->pathlist)
	{
		if (sorts_rows_of(lfirst(cell), input_rel))
			output_rel->pathlist = foreach_delete_current(output_rel->pathlist, cell);
	}
}

/* ---------------------------------------------------------------- another sort in a chain */

/* Does the node read all of its input before it returns a row? */
static bool
reads_all_at_once(const Path *path)
{
	return IsA(path, SortPath) ||
		   (IsA(path, AggPath) && (((const AggPath *) path)->aggstrategy == AGG_HASHED ||
								   ((const AggPath *) path)->aggstrategy == AGG_PLAIN));
}

/* A copy of the chain from this path on, down to the sort, which is exchanged. */
static Path *
copy_chain(Path *path, const Path *sort, Path *gpusort)
{
	Cost less_startup = sort->startup_cost - gpusort->startup_cost;
	Cost less_total = sort->total_cost - gpusort->total_cost;
	Path *copy;
	Path *input;

	if (path == sort)
		return gpusort;
	input = copy_chain(path_below(path), sort, gpusort);
	copy = path_copy_over(path, input);
	copy->total_cost = Max(input->total_cost, path->total_cost - less_total);
	copy->startup_cost = path->startup_cost - (reads_all_at_once(path) ? less_total : less_startup);
	copy->startup_cost = Max(input->startup_cost, Min(copy->startup_cost, copy->total_cost));
	copy->parallel_safe = path->parallel_safe && gpusort->parallel_safe;
	path_exchange_disabled(copy, sort, gpusort);
	return copy;
}

/* ---------------------------------------------------------------- offering */

/* What PostgreSQL would do: this path of rel, which it may not have kept, or a cheaper one. */
static Path *
cheapest_path(const RelOptInfo *rel, Path *path)
{
	ListCell *cell;

	foreach(cell, rel->pathlist)
	{
		Path *other = lfirst(cell);

		if (other->param_info == NULL && other->total_cost < path->total_cost)
			path = other;
	}
	return path;
}

/* What a path counts for rows that a Gather in it will not pass on if they are at most so many a process. */
static Cost
cost_of_rows_not_gathered(Path *path, const RelOptInfo *input_rel, double most)
{
	for (; path != NULL && path->parent != input_rel; path = path_below(path))
	{
		if (IsA(path, GatherPath) || IsA(path, GatherMergePath))
			return Max(0, path->rows - most * (path_below(path)->parallel_workers + 1)) * parallel_tuple_cost;
	}
	return 0;
}

/*
 * Groups are formed by a single process then, where PostgreSQL's workers form them in part; which saves them
 * nothing where most rows are a group, and more than its costs say where there are fewer groups than it
 * expects.
 */
static Cost
alone_cost(const SortToOffer *sort, const RelOptInfo *input_rel, Path *in_part,
		   const SortExpectation *expected)
{
	double workers = sort->partial != NULL ? sort->partial->parallel_workers : 0;
	double rows = Max(sort->input->rows, 1);
	double groups = likely_groups(&expected->shape);

	return (rows - groups) * GROUPED_ROW_SHARE * parallel_tuple_cost * workers / (workers + 1) +
		   cost_of_rows_not_gathered(in_part, input_rel, groups);
}

/* Do workers form the groups, for a node of the path to put them together? */
static bool
groups_in_workers(Path *path, const RelOptInfo *input_rel)
{
	bool gathered = false;

	for (; path != NULL && path->parent != input_rel; path = path_below(path))
	{
		if (gathered && (IsA(path, AggPath) || IsA(path, GroupPath) || IsA(path, UpperUniquePath)))
			return true;
		gathered |= IsA(path, GatherPath) || IsA(path, GatherMergePath);
	}
	return false;
}

/* What the path does instead of sorting. */
static RivalPlan
kind_of_groups(Path *path, const RelOptInfo *input_rel, bool hashed)
{
	if (hashed)
		return RIVAL_PLAN_HASHED;
	return groups_in_workers(path, input_rel) ? RIVAL_PLAN_WORKERS : RIVAL_PLAN_NONE;
}

/*
 * The path, whose groups, by the sort's first ngroups columns, may come in another order than the planner's.
 */
static Path *
in_its_order(const SortToOffer *sort, Path *path, int ngroups)
{
	return group_order_differs(sort->pathkeys, Min(ngroups, sort->grouped))
			   ? path_without_order(sort->root, path)
			   : path;
}

/* Adds the chain with a GpuSort, if that is faster.  The rows are those of input_rel; NULL: an Append's. */
static void
offer_in_chain(SortToOffer *sort, const RelOptInfo *input_rel, const Chain *chain)
{
	Rival rival;
	SortExpectation expected;
	CustomPath *gpusort;
	Path *path;
	Path *cheapest;
	Cost cost;
	bool is_faster = true;

	rival_describe(input_rel, chain->sort, &rival);
	cheapest = cheapest_path(sort->rel, chain->top);
	sort->hashed = hashed_groups_path(cheapest, sort->input);
	if (rival_plan_is_noted())
		sort->replaced = kind_of_groups(cheapest, input_rel, sort->hashed != NULL);
	gpusort = gpusort_path(sort, &rival, &expected);
	if (gpusort == NULL)
		return;
	if (sort->replaced != RIVAL_PLAN_NONE)
		rival_plan_offered(cheapest->rows);
	path = copy_chain(chain->top, chain->sort, &gpusort->path);
	if (sort->grouped > 0)
		path = in_its_order(sort, path, group_columns_of_chain(sort->root, chain->top, chain->sort));
	if (cheapest != chain->top && gpusort_mode != GPUSORT_MODE_FORCE)
	{
		path->total_cost += alone_cost(sort, input_rel, cheapest, &expected);
		cost_add_doubt(path, (sort->partial != NULL ? sort->partial : sort->input)->total_cost);
	}
	if (sort->hashed != NULL)
	{
		is_faster = hashed_groups_cost(sort->root, sort->hashed, &expected, path, &cost);
		/* where PostgreSQL would sort all the same, for the order of the groups, this sort takes less */
		if (expected.is_faster && gpusort_mode != GPUSORT_MODE_FORCE)
			cost = Min(cost, WORTH_SHARE * chain->top->total_cost);
		gpusort_path_set_chain_cost(path, &gpusort->path, sort->hashed->subpath->total_cost, cost);
	}
	if (gpusort_mode == GPUSORT_MODE_FORCE)
		remove_sorting_paths(input_rel, sort->rel);
	/* add_path may free the paths that the new one is better than */
	ranges_offer_windows(sort, &rival, chain->top, chain->sort);
	ranges_offer_groups(sort, &rival, chain->top, chain->sort);
	if (is_faster)
		add_path(sort->rel, path);
}

/* The cheapest of the planner's own, or if there is none, one that is made anew. */
static Chain
find_chain(PlannerInfo *root, UpperRelationKind stage, const RelOptInfo *input_rel, RelOptInfo *output_rel,
		   const void *extra, double fraction)
{
	Chain chain = cheapest_chain(input_rel, output_rel, fraction);

	if (chain.top != NULL)
		return chain;
	chain.top = sorted_groups_path(root, stage, output_rel, input_rel->cheapest_total_path, extra);
	if (chain.top != NULL)
		chain.sort = path_below(chain.top);
	return chain;
}

/* What part of the rows is wanted: all, if the groups are sorted in another order than they are formed in. */
static double
fraction_wanted_of(const PlannerInfo *root, UpperRelationKind stage, double rows)
{
	if (stage == UPPERREL_GROUP_AGG && !pathkeys_contained_in(root->sort_pathkeys, root->group_pathkeys))
		return 1;
	return wanted_fraction(root, rows);
}

/*
 * The first columns of the sort that form groups of which the path above it wants one row each; 0: all rows.
 */
static int
group_columns_of(const Chain *chain)
{
	const Path *top = path_below_projection(chain->top);

	if (IsA(top, UpperUniquePath) && ((const UpperUniquePath *) top)->subpath == chain->sort)
		return ((const UpperUniquePath *) top)->numkeys;
	return 0;
}

/* Does an Agg form the groups, rather than an index, or another server? */
static bool
groups_by_agg(const Path *path)
{
	return IsA(path_below_projection(path), AggPath);
}

/* Of a sort in PostgreSQL's plan: the columns that the groups and the counts above it want together. */
static int
columns_of_groups_and_counts(PlannerInfo *root, const Chain *chain, int ngroups)
{
	int ncolumns = list_length(chain->sort->pathkeys);

	/* the other columns are those of aggregates that PostgreSQL sorts for */
	return groups_by_agg(chain->top) && ngroups == list_length(groupby_pathkeys(root)) &&
				   ncolumns > ngroups && sorted_aggregates_presorted_count(root)
			   ? ncolumns
			   : ngroups;
}

/*
 * Notes that of these first columns of the sort equal values must only come together, if that is another
 * order than the planner's: nobody must ask for the groups, of the first ngroups, in their order.
 */
static void
note_columns_to_group(SortToOffer *sort, UpperRelationKind stage, int ngroups, int ncolumns)
{
	if (!IS_OTHER_REL(sort->rel) && group_order_differs(sort->pathkeys, ncolumns) &&
		(!group_order_differs(sort->pathkeys, ngroups) ||
		 group_order_is_free(sort->root, stage, sort->pathkeys)))
		sort->grouped = ncolumns;
}

/* ---------------------------------------------------------------- sorts within aggregates */

/* Are there groups, and does the path have their rows one after the other without a sort? */
static bool
groups_come_in_order(const PlannerInfo *root, const Path *path, const RelOptInfo *input_rel)
{
	return root->group_pathkeys != NIL && !sorts_rows_of(unconstify(Path *, path), input_rel);
}

/*
 * The rows that several processes would feed, with what is computed of them, if workers may compute that.
 */
static Path *
partial_for_aggregates(PlannerInfo *root, const RelOptInfo *input_rel, const AggregateOrder *order)
{
	Path *partial = partial_input(input_rel, order->pathkeys);

	if (!is_parallel_safe(root, (Node *) order->computed))
		return NULL;
	return sorted_aggregates_input(root, partial, order->computed);
}

/*
 * PostgreSQL's costs know nothing of the sorts within an Agg, up to 15, or of those of ordered sets.  So a
 * sort that takes their place, and is faster than PostgreSQL's sort of the same rows by the same columns,
 * makes the plan cheaper than PostgreSQL's cheapest one.
 */
static bool
offer_for_aggregates(SortToOffer *sort, const RelOptInfo *input_rel, const GroupPathExtraData *extra)
{
	List *rest;
	List *orders = sorted_aggregates_orders(sort->root, sort->input, false, &rest);
	const AggregateOrder *order = orders != NIL ? linitial(orders) : NULL;
	const Path *cheapest = rival_cheapest(sort->rel, 1, false);
	Chain fetching = {.top = NULL, .sort = NULL};
	bool come_in_order = false;
	int ngroups;
	Rival rival;
	CustomPath *gpusort;
	Path *top;
	Path *path;

	if (order == NULL || cheapest == NULL || !sort_may_be_offered(sort->input, order->pathkeys))
		return false;
	if (gpusort_mode != GPUSORT_MODE_FORCE && !groups_by_agg(cheapest))
		return false;
	/*
	 * Rows in the order of the groups are sorted in small parts: fetching them by an index must take longer,
	 * or all else that PostgreSQL's cost counts.
	 */
	if (gpusort_mode != GPUSORT_MODE_FORCE && groups_come_in_order(sort->root, cheapest, input_rel))
		come_in_order = !find_sort(unconstify(Path *, cheapest), input_rel, &fetching);
	sort->partial = partial_for_aggregates(sort->root, input_rel, order);
	sort->input = sorted_aggregates_input(sort->root, sort->input, order->computed);
	sort->pathkeys = order->pathkeys;
	if (order->one_of_equal && list_length(orders) == 1 && rest == NIL)
		sort->group_columns = list_length(order->pathkeys);
	ngroups = list_length(groupby_pathkeys(sort->root));
	note_columns_to_group(sort, UPPERREL_GROUP_AGG, ngroups,
						  order->only_counts ? list_length(order->pathkeys) : ngroups);
	top = sorted_aggregates_path(sort->root, sort->rel, sort->input, order->pathkeys, extra);
	rival_describe(input_rel, fetching.sort != NULL ? fetching.sort : path_below(top), &rival);
	gpusort = gpusort_path(sort, &rival, NULL);
	if (gpusort == NULL)
		return false;
	path = in_its_order(sort, copy_chain(top, path_below(top), &gpusort->path), ngroups);
	if (come_in_order)
	{
		cost_add_doubt(path, (sort->partial != NULL ? sort->partial : sort->input)->total_cost);
		if (path->total_cost > WORTH_SHARE * cheapest->total_cost)
			return false;
	}
	else
		gpusort_path_set_chain_cost(path, &gpusort->path, sort->input->total_cost,
									Min(path->total_cost, WORTH_SHARE * cheapest->total_cost));
	add_path(sort->rel, path);
	return true;
}

void
sorted_input_offer(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel, RelOptInfo *output_rel,
				   const void *extra)
{
	SortToOffer sort = {.root = root, .rel = output_rel, .wanted = -1};
	SortToOffer for_aggregates;
	Chain chain;
	int ngroups;

	if (input_rel == NULL || input_rel->cheapest_total_path == NULL)
		return;
	sort.input = input_rel->cheapest_total_path;
	sort.rows = Max(sort.input->rows, path_likely_rows(root, sort.input));
	if (!sort_has_rows_enough(sort.rows))
		return;
	sort.fraction = fraction_wanted_of(root, stage, sort.input->rows);
	for_aggregates = sort;
	if (stage == UPPERREL_GROUP_AGG && !IS_OTHER_REL(output_rel) &&
		(aggregates_apart_offer(&sort, input_rel, extra) ||
		 offer_for_aggregates(&for_aggregates, input_rel, extra)))
		return;
	chain = find_chain(root, stage, input_rel, output_rel, extra, sort.fraction);
	if (chain.top == NULL || !sort_may_be_offered(sort.input, chain.sort->pathkeys))
		return;
	sort.pathkeys = chain.sort->pathkeys;
	sort.group_columns = group_columns_of(&chain);
	ngroups = group_columns_of_chain(root, chain.top, chain.sort);
	note_columns_to_group(&sort, stage, ngroups, columns_of_groups_and_counts(root, &chain, ngroups));
	sort.partial = input_rel->consider_parallel ? partial_input(input_rel, sort.pathkeys)
												: own_scan_path(root, sort.input);
	offer_in_chain(&sort, input_rel, &chain);
}

void
sorted_input_offer_union(PlannerInfo *root, RelOptInfo *rel)
{
	SortToOffer sort = {.root = root, .rel = rel, .wanted = -1};
	UnionInput input;
	Chain chain;

	if (!sort_has_rows_enough(rel->rows))
		return;
	input = union_input(root, rel);
	if (input.pathkeys == NIL || !sort_may_be_offered(input.serial, input.pathkeys))
		return;
	sort.input = input.serial;
	sort.rows = sort.input->rows;
	sort.partial = input.partial;
	sort.pathkeys = input.pathkeys;
	sort.fraction = wanted_fraction(root, input.serial->rows);
	chain.top = sorted_union_path(root, rel, &input);
	chain.sort = path_below(unconstify(Path *, path_below_projection(chain.top)));
	sort.group_columns = group_columns_of(&chain);
	note_columns_to_group(&sort, UPPERREL_SETOP, list_length(sort.pathkeys), list_length(sort.pathkeys));
	offer_in_chain(&sort, NULL, &chain);
}
