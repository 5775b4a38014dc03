/*
 * plan/ranges_windows.h
 *		Windows that each process of a parallel plan computes for ranges of one sort.
 */
#ifndef GPUSORT_PLAN_RANGES_WINDOWS_H
#define GPUSORT_PLAN_RANGES_WINDOWS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/gpusort_path.h"

/*
 * Offers windows above a sort as a partial path of their rel, over a GpuSortRanges, if there are only windows
 * above it, of a sub-select.  top: PostgreSQL's path; below: the sort below it, which is `sort`.
 */
extern void ranges_offer_windows(const SortToOffer *sort, const Rival *rival, Path *top, const Path *below);

#endif /* GPUSORT_PLAN_RANGES_WINDOWS_H */
