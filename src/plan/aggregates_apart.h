/*
 * plan/aggregates_apart.h
 *		Aggregates of one query that need different orders are computed apart, each from rows in its order.
 */
#ifndef GPUSORT_PLAN_AGGREGATES_APART_H
#define GPUSORT_PLAN_AGGREGATES_APART_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/gpusort_path.h"

/*
 * Adds a path that computes the aggregates of a grouping apart, if it is expected to be faster.  sort: its
 * rel, its input and their rows.
 */
extern bool aggregates_apart_offer(const SortToOffer *sort, const RelOptInfo *input_rel,
								   const GroupPathExtraData *extra);

#endif /* GPUSORT_PLAN_AGGREGATES_APART_H */
