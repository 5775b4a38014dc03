/*
 * plan/sorted_groups.h
 *		Paths that sort for a grouping, DISTINCT or UNION, where the planner has kept none.
 */
#ifndef GPUSORT_PLAN_SORTED_GROUPS_H
#define GPUSORT_PLAN_SORTED_GROUPS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* What a UNION takes the duplicates out of. */
typedef struct UnionInput
{
	Path *serial;	/* NULL: the rel is no UNION */
	Path *partial;	/* what several processes would read, or NULL */
	List *pathkeys; /* of a sort by all columns, NIL: it can't be done by sorting */
	double rows;	/* that are expected to remain */
} UnionInput;

/*
 * PostgreSQL's own path, of rel, for the grouping (UPPERREL_GROUP_AGG, with the hook's extra) or DISTINCT of
 * these rows, over a Sort.  NULL if that can't be done by sorting, or it is a grouping of a partition.
 */
extern Path *sorted_groups_path(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *rel, Path *input,
								const void *extra);

/* Finds the input of a UNION among the paths of rel, a set operation; and the same for that. */
extern UnionInput union_input(PlannerInfo *root, const RelOptInfo *rel);
extern Path *sorted_union_path(PlannerInfo *root, RelOptInfo *rel, const UnionInput *input);

#endif /* GPUSORT_PLAN_SORTED_GROUPS_H */
