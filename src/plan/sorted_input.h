/*
 * plan/sorted_input.h
 *		Offers a GpuSort below nodes that need sorted rows.
 */
#ifndef GPUSORT_PLAN_SORTED_INPUT_H
#define GPUSORT_PLAN_SORTED_INPUT_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Adds a path with a GpuSort to output_rel, the rel of window functions, a grouping or DISTINCT, if the
 * GpuSort is expected to be faster.  The path is otherwise like PostgreSQL's path that sorts. stage and extra
 * come from create_upper_paths_hook.
 */
extern void sorted_input_offer(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
							   RelOptInfo *output_rel, const void *extra);

/* Does the same for rel if it is a UNION. */
extern void sorted_input_offer_union(PlannerInfo *root, RelOptInfo *rel);

/*
 * Removes the paths that sort input_rel's rows (NULL: any rows) from output_rel, because a better path will
 * be added.
 */
extern void remove_sorting_paths(const RelOptInfo *input_rel, RelOptInfo *output_rel);

#endif /* GPUSORT_PLAN_SORTED_INPUT_H */
