/*
 * plan/sorted_groups.c
 *		Paths that sort for a grouping, DISTINCT or UNION, where the planner has kept none.
 *
 * PostgreSQL makes such paths by itself, but drops those that cost more than another one in the same order,
 * such as one of groups that workers have formed in part.  Of a UNION versions up to 16 make one path alone,
 * that hashes or sorts.  With a GpuSort the one that sorts may be the cheapest: so it is made once more, by
 * PostgreSQL's own functions.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "base/pg_compat.h"
#include "plan/sorted_groups.h"

/* ---------------------------------------------------------------- groupings, DISTINCT */

static double
number_of_groups(PlannerInfo *root, List *clause, const Path *input, const GroupPathExtraData *extra)
{
	if (clause == NIL)
		return 1;
	return estimate_num_groups(root, get_sortgrouplist_exprs(clause, extra->targetList), input->rows, NULL,
							   NULL);
}

Path *
aggregates_path(PlannerInfo *root, RelOptInfo *rel, Path *input, PathTarget *target, AggStrategy strategy,
				AggSplit split, List *having, const GroupPathExtraData *extra)
{
	List *clause = processed_group_clause(root);
	AggClauseCosts costs = {0};

	/* as if none were split: not all of the query's aggregates have the functions for that */
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	return (Path *) create_agg_path(root, rel, input, target, strategy, split, clause, having, &costs,
									number_of_groups(root, clause, input, extra));
}

Path *
sorted_aggregates_path(PlannerInfo *root, RelOptInfo *rel, Path *input, List *pathkeys,
					   const GroupPathExtraData *extra)
{
	Path *sort = (Path *) create_sort_path(root, rel, input, pathkeys, -1);

	/* without rows there is no group, also if its columns are constants, which the clause leaves out */
	return aggregates_path(root, rel, sort, rel->reltarget,
						   root->parse->groupClause != NIL ? AGG_SORTED : AGG_PLAIN, AGGSPLIT_SIMPLE,
						   (List *) extra->havingQual, extra);
}

static Path *
sorted_grouping(PlannerInfo *root, RelOptInfo *rel, Path *input, const GroupPathExtraData *extra)
{
	List *clause = processed_group_clause(root);
	double groups;

	if (root->group_pathkeys == NIL || root->parse->groupingSets != NIL ||
		(extra->flags & GROUPING_CAN_USE_SORT) == 0)
		return NULL;
	if (root->parse->hasAggs)
		return sorted_aggregates_path(root, rel, input, root->group_pathkeys, extra);
	groups = number_of_groups(root, clause, input, extra);
	return (Path *) create_group_path(root, rel,
									  (Path *) create_sort_path(root, rel, input, root->group_pathkeys, -1),
									  clause, (List *) extra->havingQual, groups);
}

static Path *
sorted_distinct(PlannerInfo *root, RelOptInfo *rel, Path *input)
{
	int ncolumns = list_length(root->distinct_pathkeys);
	Path *sort;

	if (ncolumns == 0 || root->parse->hasDistinctOn || rel->pathlist == NIL ||
		!grouping_is_sortable(root->parse->distinctClause))
		return NULL;
	sort = (Path *) create_sort_path(root, rel, input, root->distinct_pathkeys, -1);
	return (Path *) create_upper_unique_path(root, rel, sort, ncolumns,
											 ((Path *) linitial(rel->pathlist))->rows);
}

Path *
sorted_groups_path(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *rel, Path *input,
				   const void *extra)
{
	if (IS_OTHER_REL(rel))
		return NULL;
	if (stage == UPPERREL_GROUP_AGG)
		return sorted_grouping(root, rel, input, extra);
	return stage == UPPERREL_DISTINCT ? sorted_distinct(root, rel, input) : NULL;
}

/* ---------------------------------------------------------------- UNION */

/* Adds what a path that takes duplicates out, if it is one, says of the UNION and its input. */
static void
note_union_path(PlannerInfo *root, const Path *path, UnionInput *result)
{
	Path *input;

	if (IsA(path, AggPath) && ((const AggPath *) path)->aggstrategy == AGG_HASHED)
	{
		List *groups = ((const AggPath *) path)->groupClause;

		input = ((const AggPath *) path)->subpath;
		if (result->pathkeys == NIL && grouping_is_sortable(groups))
			result->pathkeys =
				make_pathkeys_for_sortclauses(root, groups, make_tlist_from_pathtarget(path->pathtarget));
	}
	else if (IsA(path, UpperUniquePath) && IsA(((const UpperUniquePath *) path)->subpath, SortPath))
	{
		const SortPath *sort = (const SortPath *) ((const UpperUniquePath *) path)->subpath;

		input = sort->subpath;
		result->pathkeys = sort->path.pathkeys;
	}
	else
		return;
	result->rows = path->rows;
	result->target = path->pathtarget;
	if (IsA(input, GatherPath))
		result->partial = ((const GatherPath *) input)->subpath;
	if (result->serial == NULL || input->total_cost < result->serial->total_cost)
		result->serial = input;
}

UnionInput
union_input(PlannerInfo *root, const RelOptInfo *rel)
{
	UnionInput result = {.serial = NULL};
	ListCell *cell;

	foreach(cell, rel->pathlist)
		note_union_path(root, lfirst(cell), &result);
	return result;
}

Path *
sorted_union_path(PlannerInfo *root, RelOptInfo *rel, const UnionInput *input)
{
	Path *sort = (Path *) create_sort_path(root, rel, input->serial, input->pathkeys, -1);
	Path *path;

	path = (Path *) create_upper_unique_path(root, rel, sort, list_length(input->pathkeys), input->rows);
	if (equal(input->target->exprs, path->pathtarget->exprs))
		return path;
	return (Path *) create_projection_path(root, rel, path, input->target);
}
