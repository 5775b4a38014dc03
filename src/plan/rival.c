/*
 * plan/rival.c
 *		PostgreSQL's own path for a sort, which a GpuSort has to be faster than.
 *
 * Paths are gone when a query has been planned.  Plans without a sort, for which gpusort has offered one with
 * a sort, are therefore noted while gpusort_check plans.
 */
#include "postgres.h"

#include "nodes/nodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "plan/rival.h"

/* Must an input of the merge be sorted? The plan gets Sort nodes over those that come in another order. */
static bool
merge_append_sorts(const MergeAppendPath *merge)
{
	ListCell *cell;

	foreach(cell, merge->subpaths)
	{
		const Path *input = lfirst(cell);

		if (!pathkeys_contained_in(merge->path.pathkeys, input->pathkeys) || path_sorts(input))
			return true;
	}
	return false;
}

bool
path_sorts(const Path *path)
{
	if (IsA(path, ProjectionPath))
		return path_sorts(((const ProjectionPath *) path)->subpath);
	if (IsA(path, GatherMergePath))
		return path_sorts(((const GatherMergePath *) path)->subpath);
	if (IsA(path, MergeAppendPath))
		return merge_append_sorts((const MergeAppendPath *) path);
	return IsA(path, SortPath) || IsA(path, IncrementalSortPath);
}

const Path *
path_below_projection(const Path *path)
{
	while (IsA(path, ProjectionPath))
		path = ((const ProjectionPath *) path)->subpath;
	return path;
}

bool
path_fetches_by_index(const Path *path)
{
	path = path_below_projection(path);
	if (IsA(path, GatherMergePath))
		path = path_below_projection(((const GatherMergePath *) path)->subpath);
	return IsA(path, IndexPath) && path->pathtype == T_IndexScan;
}

const Path *
rival_cheapest(const RelOptInfo *rel, double fraction, bool sorting_only)
{
	Path *best = NULL;
	ListCell *cell;

	foreach(cell, rel->pathlist)
	{
		Path *path = lfirst(cell);

		if (path->param_info != NULL || (sorting_only && !path_sorts(path)))
			continue;
		if (best == NULL || compare_fractional_path_costs(path, best, fraction) < 0)
			best = path;
	}
	return best;
}

void
rival_describe(const RelOptInfo *input_rel, const Path *path, Rival *rival)
{
	const Path *sort = path_below_projection(path);

	rival->path = sort;
	rival->processes = 1;
	rival->columns_in_order = 0;
	if (IsA(sort, GatherMergePath))
	{
		rival->processes =
			((const GatherMergePath *) sort)->num_workers + (parallel_leader_participation ? 1 : 0);
		sort = path_below_projection(((const GatherMergePath *) sort)->subpath);
	}
	if (path_fetches_by_index(sort))
	{
		rival->input = NULL;
		return;
	}
	if (IsA(sort, IncrementalSortPath))
		rival->columns_in_order = ((const IncrementalSortPath *) sort)->nPresortedCols;
	if (IsA(sort, SortPath) || IsA(sort, IncrementalSortPath))
		rival->input = ((const SortPath *) sort)->subpath;
	else
		rival->input = input_rel->cheapest_total_path; /* a merge of sorts, as if it were one of all rows */
}

bool
rival_fetches_rows(const Rival *rival)
{
	return rival->input == NULL || (rival->columns_in_order > 0 && path_fetches_by_index(rival->input));
}

bool
rival_find(const RelOptInfo *input_rel, const RelOptInfo *ordered_rel, double fraction, bool sorting_only,
		   Rival *rival)
{
	const Path *path = rival_cheapest(ordered_rel, fraction, sorting_only);

	if (path == NULL || !(path_sorts(path) || path_fetches_by_index(path)))
		return false;
	rival_describe(input_rel, path, rival);
	return true;
}

/* ---------------------------------------------------------------- plans without a sort */

static OfferedPlans *noted_in = NULL;

OfferedPlans *
rival_plan_note_in(OfferedPlans *offered)
{
	OfferedPlans *before = noted_in;

	noted_in = offered;
	return before;
}

bool
rival_plan_is_noted(void)
{
	return noted_in != NULL;
}

void
rival_plan_offered(double rows)
{
	MemoryContext before = MemoryContextSwitchTo(noted_in->context);
	double *noted = palloc(sizeof(*noted));

	*noted = rows;
	noted_in->rows = lappend(noted_in->rows, noted);
	MemoryContextSwitchTo(before);
}
