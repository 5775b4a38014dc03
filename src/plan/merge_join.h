/*
 * plan/merge_join.h
 *		Offers merge joins of inputs that GpuSorts sort.
 */
#ifndef GPUSORT_PLAN_MERGE_JOIN_H
#define GPUSORT_PLAN_MERGE_JOIN_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Adds to joinrel a merge join of outer and inner, with GpuSorts where these are expected to be faster. */
extern void merge_join_offer(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
							 JoinType type, JoinPathExtraData *extra);

#endif /* GPUSORT_PLAN_MERGE_JOIN_H */
