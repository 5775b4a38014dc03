/*
 * plan/group_columns.c
 *		The columns of a sort that only bring the rows of groups together.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/paths.h"

#include "base/pg_compat.h"
#include "plan/group_columns.h"
#include "plan/path_chain.h"
#include "plan/sort_columns.h"

/* The partition's columns, if they are the first ones of the sort; else 0. */
static int
columns_of_partition(PlannerInfo *root, const WindowClause *window, const Path *sort)
{
	List *pathkeys;

	if (window->partitionClause == NIL)
		return 0;
	pathkeys = make_pathkeys_for_sortclauses(root, window->partitionClause, root->processed_tlist);
	return pathkeys_contained_in(pathkeys, sort->pathkeys) ? list_length(pathkeys) : 0;
}

static int
columns_of_path(PlannerInfo *root, const Path *path, const Path *sort)
{
	const AggPath *agg = (const AggPath *) path;

	switch (nodeTag(path))
	{
		case T_AggPath:
			if (agg->aggstrategy != AGG_SORTED || agg->aggsplit != AGGSPLIT_SIMPLE)
				return 0;
			return list_length(groupby_pathkeys(root));
		case T_GroupPath:
			return list_length(groupby_pathkeys(root));
		case T_UpperUniquePath:
			return ((const UpperUniquePath *) path)->numkeys;
		case T_WindowAggPath:
			return columns_of_partition(root, ((const WindowAggPath *) path)->winclause, sort);
		default:
			return 0;
	}
}

int
group_columns_of_chain(PlannerInfo *root, Path *top, const Path *sort)
{
	int ncolumns = list_length(sort->pathkeys);

	for (Path *path = top; path != sort; path = path_input(path))
	{
		if (path == NULL)
			return 0;
		if (!IsA(path, ProjectionPath))
			ncolumns = Min(ncolumns, columns_of_path(root, path, sort));
	}
	return ncolumns;
}

/* Is the order by these pathkeys of some use where rows are wanted in that one? */
static bool
is_useful(const List *pathkeys, const List *wanted)
{
	return wanted != NIL && linitial(wanted) == linitial(pathkeys);
}

bool
group_order_is_free(const PlannerInfo *root, UpperRelationKind stage, const List *pathkeys)
{
	switch (stage)
	{
		case UPPERREL_GROUP_AGG:
			return !is_useful(pathkeys, root->window_pathkeys) &&
				   !is_useful(pathkeys, root->distinct_pathkeys) && !is_useful(pathkeys, root->sort_pathkeys);
		case UPPERREL_WINDOW:
			return !is_useful(pathkeys, root->distinct_pathkeys) && !is_useful(pathkeys, root->sort_pathkeys);
		case UPPERREL_DISTINCT:
			return !is_useful(pathkeys, root->sort_pathkeys);
		case UPPERREL_SETOP:
			/* the pathkeys of its ORDER BY are not known yet */
			return root->parse->sortClause == NIL;
		default:
			return false;
	}
}

bool
group_order_differs(const List *pathkeys, int ncolumns)
{
	for (int i = 0; i < ncolumns; i++)
	{
		const PathKey *pathkey = list_nth_node(PathKey, pathkeys, i);
		Oid collation = pathkey->pk_eclass->ec_collation;

		if (sort_collation_of_groups(pathkey->pk_opfamily, collation) != collation)
			return true;
	}
	return false;
}
