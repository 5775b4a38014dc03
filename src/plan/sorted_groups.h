/*
 * plan/sorted_groups.h
 *		Paths that sort for a grouping, DISTINCT or UNION, if the planner has kept none.
 */
#ifndef GPUSORT_PLAN_SORTED_GROUPS_H
#define GPUSORT_PLAN_SORTED_GROUPS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* The input of a UNION, with its duplicates. */
typedef struct UnionInput
{
	Path *serial;	/* NULL: the rel is not a UNION */
	Path *partial;	/* the input of several processes, or NULL */
	List *pathkeys; /* pathkeys of a sort by all columns; NIL: sorting is impossible */
	double rows;	/* rows that are expected without duplicates */
	/* what the UNION returns: in an INTERSECT or EXCEPT, another column, too, or columns of other types */
	PathTarget *target;
} UnionInput;

/*
 * Returns PostgreSQL's own path of rel, over a Sort, for the grouping (UPPERREL_GROUP_AGG, with the hook's
 * extra) or DISTINCT of these rows.  NULL: sorting is impossible, or it is a grouping of a partition.
 */
extern Path *sorted_groups_path(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *rel, Path *input,
								const void *extra);

/*
 * Returns PostgreSQL's own path of rel for a grouping with aggregates, or aggregates of all rows, over a Sort
 * by these pathkeys, the first of which are those of the groups.
 */
extern Path *sorted_aggregates_path(PlannerInfo *root, RelOptInfo *rel, Path *input, List *pathkeys,
									const GroupPathExtraData *extra);

/*
 * Returns PostgreSQL's own path of rel for aggregates of these rows, or a part of them, with this output.
 * having: the condition of the groups.
 */
extern Path *aggregates_path(PlannerInfo *root, RelOptInfo *rel, Path *input, PathTarget *target,
							 AggStrategy strategy, AggSplit split, List *having,
							 const GroupPathExtraData *extra);

/*
 * union_input: finds the input of a UNION among the paths of rel, a set operation.  sorted_union_path:
 * returns PostgreSQL's own path for it over a Sort.
 */
extern UnionInput union_input(PlannerInfo *root, const RelOptInfo *rel);
extern Path *sorted_union_path(PlannerInfo *root, RelOptInfo *rel, const UnionInput *input);

#endif /* GPUSORT_PLAN_SORTED_GROUPS_H */
