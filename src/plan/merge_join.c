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

#include <math.h>

#include "access/htup_details.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/float.h"
#include "utils/lsyscache.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "plan/choice.h"
#include "plan/cost.h"
#include "plan/gpusort_path.h"
#include "plan/merge_join.h"
#include "plan/own_scan.h"
#include "plan/remembered.h"
#include "plan/rival.h"
#include "plan/rival_plan.h"

/*
 * A GpuSort costs about this part of PostgreSQL's Sort of the same rows at least; what many processes or a
 * card save beyond that is small beside PLAN_SHARE.
 */
#define LEAST_SORT_SHARE 0.1

/*
 * No more is to be gained from a join that costs less, in some milliseconds, than planning another way takes.
 */
#define LEAST_JOIN 1000

/* An input of the join, and the columns that it must be sorted by first; NIL: it comes in order. */
typedef struct MergeInput
{
	Path *path;
	List *sort_keys;
	bool is_gpusort;
} MergeInput;

/* What has been worked out for an input, which may be that of many joins. */
typedef struct RememberedInput
{
	const RelOptInfo *rel;
	List *pathkeys;
	MergeInput input;
} RememberedInput;

/* All of the query that is being planned; they last as long as its relations. */
static Remembered inputs = {.entries = NIL};

/* The input in this order; by a GpuSort if one is faster than a Sort of the cheapest path. */
static MergeInput
sort_input(PlannerInfo *root, RelOptInfo *rel, List *pathkeys)
{
	Path *cheapest = rel->cheapest_total_path;
	MergeInput input = {.path = cheapest, .sort_keys = pathkeys};
	SortToOffer sort = {.root = root,
						.rel = rel,
						.input = cheapest,
						.rows = cheapest->rows,
						.pathkeys = pathkeys,
						.fraction = 1,
						.wanted = -1};
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

/* The same, remembered. */
static MergeInput
sorted_input(PlannerInfo *root, RelOptInfo *rel, List *pathkeys)
{
	RememberedInput *entry;
	ListCell *cell;

	foreach(cell, remembered_in(&inputs, CurrentMemoryContext))
	{
		entry = lfirst(cell);
		if (entry->rel == rel && compare_pathkeys(entry->pathkeys, pathkeys) == PATHKEYS_EQUAL)
			return entry->input;
	}
	entry = palloc(sizeof(*entry));
	*entry = (RememberedInput){.rel = rel, .pathkeys = pathkeys, .input = sort_input(root, rel, pathkeys)};
	remember(&inputs, entry);
	return entry->input;
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
		join_is_right_semi(type) || outer->cheapest_total_path->param_info != NULL ||
		inner->cheapest_total_path->param_info != NULL)
		return false;
	return !join_returns_inner_rows(type) || decides_by_clauses(joinrel, clauses, extra);
}

/* What the input costs at least, put in order and compared with the other one. */
static Cost
least_cost(const RelOptInfo *input)
{
	double rows = Max(input->rows, 2);

	return input->cheapest_total_path->total_cost + rows * cpu_operator_cost +
		   LEAST_SORT_SHARE * 2 * cpu_operator_cost * rows * log2(rows);
}

/*
 * The cheapest that PostgreSQL has found so far.  A join by several processes is one that counts here, too: a
 * Gather comes above it later, or a node that several processes run, and what a row takes in that is less
 * than PostgreSQL's cost of it.
 */
static Cost
cheapest_join(const RelOptInfo *joinrel)
{
	Cost cheapest = get_float8_infinity();
	Cost gather = parallel_setup_cost + PASSED_ROW_SHARE * parallel_tuple_cost * joinrel->rows;
	ListCell *cell;

	foreach(cell, joinrel->pathlist)
	{
		const Path *path = lfirst(cell);

		if (path->param_info == NULL)
			cheapest = Min(cheapest, path->total_cost);
	}
	if (joinrel->partial_pathlist != NIL)
		cheapest = Min(cheapest, ((const Path *) linitial(joinrel->partial_pathlist))->total_cost + gather);
	return cheapest;
}

/* PostgreSQL does so to a Sort that is in files, for a merge goes back in its inner input. */
static Path *
materialized_if_in_files(RelOptInfo *rel, Path *gpusort)
{
	return enable_material && gpusort_path_is_in_files((CustomPath *) gpusort)
			   ? (Path *) create_material_path(rel, gpusort, true)
			   : gpusort;
}

/* Notes what the join would be without GpuSorts; of inputs that other joins may have, too. */
static void
note_rival(const RelOptInfo *joinrel, MergeInput *left, MergeInput *right)
{
	const Path *cheapest = joinrel->pathlist != NIL ? linitial(joinrel->pathlist) : NULL;
	const Path *partial = joinrel->partial_pathlist != NIL ? linitial(joinrel->partial_pathlist) : NULL;
	RivalPlan rival = RIVAL_PLAN_NONE;

	if (cheapest == NULL || (partial != NULL && partial->total_cost < cheapest->total_cost))
		cheapest = partial;
	if (cheapest != NULL && IsA(cheapest, HashPath))
		rival = RIVAL_PLAN_HASH_JOIN;
	else if (cheapest != NULL && IsA(cheapest, NestPath))
		rival = RIVAL_PLAN_NESTED_LOOP;
	if (left->is_gpusort)
		left->path = &gpusort_path_in_place_of((CustomPath *) left->path, rival)->path;
	if (right->is_gpusort)
		right->path = &gpusort_path_in_place_of((CustomPath *) right->path, rival)->path;
	rival_plan_offered(joinrel, joinrel->rows);
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
	Cost cheapest;
	Cost least;

	if (extra->mergeclause_list == NIL ||
		!(sort_has_rows_enough(outer->rows) || sort_has_rows_enough(inner->rows)))
		return;
	cheapest =
		gpusort_mode == GPUSORT_MODE_FORCE ? get_float8_infinity() : PLAN_SHARE * cheapest_join(joinrel);
	if (cheapest < LEAST_JOIN ||
		outer->cheapest_total_path->total_cost + inner->cheapest_total_path->total_cost >= cheapest)
		return;
	least = least_cost(outer) + least_cost(inner) + joinrel->rows * cpu_tuple_cost;
	if (least >= cheapest)
		return;
	clauses = clauses_to_merge_by(extra->mergeclause_list);
	if (!may_merge(joinrel, outer, inner, type, clauses, extra))
		return;
	outer_keys = select_outer_pathkeys_for_merge(root, clauses, joinrel);
	clauses = find_mergeclauses_for_outer_pathkeys(root, outer_keys, clauses);
	left = sorted_input(root, outer, outer_keys);
	if (least - least_cost(outer) + left.path->total_cost >= cheapest)
		return;
	right = sorted_input(root, inner, make_inner_pathkeys_for_merge(root, clauses, outer_keys));
	if (!left.is_gpusort && !right.is_gpusort)
		return;
	if (rival_plan_is_noted())
		note_rival(joinrel, &left, &right);
	if (right.is_gpusort)
		right.path = materialized_if_in_files(inner, right.path);
	initial_cost_mergejoin(root, &workspace, type, clauses, left.path, right.path, left.sort_keys,
						   right.sort_keys, 0, extra);
	pathkeys = build_join_pathkeys(root, joinrel, type, outer_keys);
	path = create_mergejoin_path(root, joinrel, type, &workspace, extra, left.path, right.path,
								 extra->restrictlist, pathkeys, NULL, clauses, left.sort_keys,
								 right.sort_keys, 0);
	if (path->jpath.path.total_cost >= cheapest)
		return;
	cost_add_doubt(&path->jpath.path, 0);
	add_path(joinrel, &path->jpath.path);
}
