/*
 * plan/ranges_groups.h
 *		Groups that each process of a parallel plan forms of ranges of one sort.
 */
#ifndef GPUSORT_PLAN_RANGES_GROUPS_H
#define GPUSORT_PLAN_RANGES_GROUPS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/gpusort_path.h"

/*
 * Offers the groups above a sort as a partial path of their rel, over a GpuSortRanges, and below a Gather, if
 * there is only a grouping or a DISTINCT above it.  top: PostgreSQL's path; below: the sort below it, which
 * is `sort`.
 */
extern void ranges_offer_groups(const SortToOffer *sort, const Rival *rival, Path *top, const Path *below);

#endif /* GPUSORT_PLAN_RANGES_GROUPS_H */
