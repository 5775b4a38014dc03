/*
 * plan/sorted_input.h
 *		Offering a GpuSort below what a query does with sorted rows.
 */
#ifndef GPUSORT_PLAN_SORTED_INPUT_H
#define GPUSORT_PLAN_SORTED_INPUT_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Adds to output_rel, of window functions, a grouping or DISTINCT, a path like its own that sorts, with a
 * GpuSort, if that is expected to be faster.  Stage and extra are create_upper_paths_hook's.
 */
extern void sorted_input_offer(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
							   RelOptInfo *output_rel, const void *extra);

/* The same of rel if it is a UNION. */
extern void sorted_input_offer_union(PlannerInfo *root, RelOptInfo *rel);

/*
 * Takes the paths that sort input_rel's rows (NULL: any) out of output_rel's, in favour of one to be added.
 */
extern void remove_sorting_paths(const RelOptInfo *input_rel, RelOptInfo *output_rel);

#endif /* GPUSORT_PLAN_SORTED_INPUT_H */
