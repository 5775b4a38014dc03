/*
 * plan/merge_join.c
 *		Offering merge joins of inputs that GpuSorts put in order.
 *
 * PostgreSQL has offered its own paths when set_join_pathlist_hook is called, merge joins with a Sort of each
 * input's cheapest path among them.  The same join is offered with GpuSorts, in the order of clauses that
 * PostgreSQL tries first.  An input that has the order already is left as it is, one for which no GpuSort is
 * faster gets PostgreSQL's Sort.  PostgreSQL's own functions say what the join costs then, how much of an
 * input it skips or does not read, and whether the path is worth keeping beside the others.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "plan/choice.h"
#include "plan/gpusort_path.h"
#include "plan/merge_join.h"
#include "plan/own_scan.h"
#include "plan/rival.h"

/* An input of the join, and the columns that it must be sorted by first; NIL: it comes in order. */
typedef struct MergeInput
{
	Path *path;
	List *sort_keys;
	bool is_gpusort;
} MergeInput;

/* The input in this order; by a GpuSort if one is faster than a Sort of the cheapest path. */
static MergeInput
sorted_input(PlannerInfo *root, RelOptInfo *rel, List *pathkeys)
{
	Path *cheapest = rel->cheapest_total_path;
	MergeInput input = {.path = cheapest, .sort_keys = pathkeys};
	SortToOffer sort =
		{.root = root, .rel = rel, .input = cheapest, .pathkeys = pathkeys, .fraction = 1, .wanted = -1};
	Path *ordered = get_cheapest_path_for_pathkeys(rel->pathlist, pathkeys, NULL, TOTAL_COST, false);
	CustomPath *gpusort;
	Rival rival;

	if (sort_may_be_offered(cheapest, pathkeys))
	{
		sort.partial = rel->consider_parallel ? partial_input(rel, pathkeys) : own_scan_path(root, cheapest);
		rival_describe(rel, (Path *) create_sort_path(root, rel, cheapest, pathkeys, -1), &rival);
		gpusort = gpusort_path(&sort, &rival, NULL);
		if (gpusort != NULL)
			input = (MergeInput){.path = &gpusort->path, .is_gpusort = true};
	}
	if (ordered != NULL && (!input.is_gpusort || ordered->total_cost <= input.path->total_cost))
		input = (MergeInput){.path = ordered};
	return input;
}

/*
 * The clauses that a merge may go by.  One whose right side is the outer input's is turned round when the
 * plan is made, which takes a commutator; PostgreSQL itself looks for that in its newer versions alone.
 */
static List *
clauses_to_merge_by(List *clauses)
{
	List *result = NIL;
	ListCell *cell;

	foreach(cell, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, cell);

		if (clause->outer_is_left || OidIsValid(get_commutator(castNode(OpExpr, clause->clause)->opno)))
			result = lappend(result, clause);
	}
	return result;
}

/*
 * May a merge do a join that returns the inner input's rows without a partner?  It tells by its clauses alone
 * which these are, so all that decide which rows are partners must be among them, or constant.  PostgreSQL
 * has found that out, but does not say so to the hook.
 */
static bool
decides_by_clauses(const RelOptInfo *joinrel, const List *clauses, const JoinPathExtraData *extra)
{
	ListCell *cell;

	foreach(cell, extra->restrictlist)
	{
		const RestrictInfo *clause = lfirst_node(RestrictInfo, cell);

		if (!RINFO_IS_PUSHED_DOWN(clause, joinrel->relids) && !IsA(clause->clause, Const) &&
			!list_member_ptr(clauses, clause))
			return false;
	}
	return true;
}

/* Is it a join, of inputs that need nothing from each other, that a merge by these clauses may do? */
static bool
may_merge(const RelOptInfo *joinrel, const RelOptInfo *outer, const RelOptInfo *inner, JoinType type,
		  const List *clauses, const JoinPathExtraData *extra)
{
	if (clauses == NIL || type == JOIN_UNIQUE_OUTER || type == JOIN_UNIQUE_INNER ||
		outer->cheapest_total_path->param_info != NULL || inner->cheapest_total_path->param_info != NULL)
		return false;
	return !join_returns_inner_rows(type) || decides_by_clauses(joinrel, clauses, extra);
}

void
merge_join_offer(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
				 JoinPathExtraData *extra)
{
	JoinCostWorkspace workspace;
	List *outer_keys;
	List *clauses;
	List *pathkeys;
	MergeInput left;
	MergeInput right;
	MergePath *path;

	if (!(sort_has_rows_enough(outer->rows) || sort_has_rows_enough(inner->rows)))
		return;
	clauses = clauses_to_merge_by(extra->mergeclause_list);
	if (!may_merge(joinrel, outer, inner, type, clauses, extra))
		return;
	outer_keys = select_outer_pathkeys_for_merge(root, clauses, joinrel);
	clauses = find_mergeclauses_for_outer_pathkeys(root, outer_keys, clauses);
	left = sorted_input(root, outer, outer_keys);
	right = sorted_input(root, inner, make_inner_pathkeys_for_merge(root, clauses, outer_keys));
	if (!left.is_gpusort && !right.is_gpusort)
		return;
	initial_cost_mergejoin(root, &workspace, type, clauses, left.path, right.path, left.sort_keys,
						   right.sort_keys, 0, extra);
	pathkeys = build_join_pathkeys(root, joinrel, type, outer_keys);
	path = create_mergejoin_path(root, joinrel, type, &workspace, extra, left.path, right.path,
								 extra->restrictlist, pathkeys, NULL, clauses, left.sort_keys,
								 right.sort_keys, 0);
	add_path(joinrel, &path->jpath.path);
}
