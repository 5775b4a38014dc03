/*
 * plan/ranges_path.h
 *		The nodes above a sort, in each process of a parallel plan, for ranges of one sort.
 */
#ifndef GPUSORT_PLAN_RANGES_PATH_H
#define GPUSORT_PLAN_RANGES_PATH_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/gpusort_path.h"

/*
 * The groups that each process must have at least, on average, because no group is divided among processes.
 */
#define GROUPS_PER_PROCESS 8

/* May processes of a parallel plan do this sort together, and each return ranges of it? */
extern bool ranges_are_possible(const SortToOffer *sort);

/*
 * Returns a copy of the chain of paths from the top down to the sort, with a GpuSortRanges in the place of
 * the sort.  Each process has this part of the rows and of their costs.  The rows of each process are in
 * order, but the planner is not told: a Gather Merge would read one range after the other, and let all
 * processes but one wait.
 */
extern Path *ranges_chain(PlannerInfo *root, Path *top, const Path *sort, Path *ranges, double part);

#endif /* GPUSORT_PLAN_RANGES_PATH_H */
