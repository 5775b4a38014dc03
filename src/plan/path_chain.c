/*
 * plan/path_chain.c
 *		Chains of paths with one input each, and their copies.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"

#include "base/pg_compat.h"
#include "plan/path_chain.h"

/* Where such a path has its input, and the path's size; NULL: it is of no such kind. */
static Path **
input_place(Path *path, Size *size)
{
	switch (nodeTag(path))
	{
		case T_WindowAggPath:
			*size = sizeof(WindowAggPath);
			return &((WindowAggPath *) path)->subpath;
		case T_AggPath:
			*size = sizeof(AggPath);
			return &((AggPath *) path)->subpath;
		case T_GroupPath:
			*size = sizeof(GroupPath);
			return &((GroupPath *) path)->subpath;
		case T_UpperUniquePath:
			*size = sizeof(UpperUniquePath);
			return &((UpperUniquePath *) path)->subpath;
		case T_ProjectionPath:
			*size = sizeof(ProjectionPath);
			return &((ProjectionPath *) path)->subpath;
		case T_SortPath:
			*size = sizeof(SortPath);
			return &((SortPath *) path)->subpath;
		case T_IncrementalSortPath:
			*size = sizeof(IncrementalSortPath);
			return &((IncrementalSortPath *) path)->spath.subpath;
		default:
			return NULL;
	}
}

Path *
path_input(Path *path)
{
	Size size;
	Path **place = input_place(path, &size);

	return place != NULL ? *place : NULL;
}

Path *
path_below(Path *path)
{
	if (IsA(path, GatherPath))
		return ((GatherPath *) path)->subpath;
	if (IsA(path, GatherMergePath))
		return ((GatherMergePath *) path)->subpath;
	return path_input(path);
}

Path *
path_copy_over(Path *path, Path *input)
{
	Size size = 0;
	Path *copy;

	(void) input_place(path, &size);
	copy = palloc(size);
	memcpy(copy, path, size);
	*input_place(copy, &size) = input;
	return copy;
}

/* The planner makes no node of a projection to the same columns. */
Path *
path_without_order(PlannerInfo *root, Path *path)
{
	Path *result = (Path *) create_projection_path(root, path->parent, path, path->pathtarget);

	result->pathkeys = NIL;
	return result;
}
