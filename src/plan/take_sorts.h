/*
 * plan/take_sorts.h
 *		Taking the Sort nodes of a finished plan, and the windows above sorts.
 */
#ifndef GPUSORT_PLAN_TAKE_SORTS_H
#define GPUSORT_PLAN_TAKE_SORTS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * The plan, or a copy where somebody else may keep it, with GpuSorts in the place of Sorts.  count: those
 * that are left to PostgreSQL count in pg_stat_gpusort.  Not to be called in mode off.
 */
extern PlannedStmt *take_sorts(PlannedStmt *stmt, bool count);

/* The same with GpuRanks in the place of WindowAggs above sorts, as far as they can take it. */
extern PlannedStmt *take_windows(PlannedStmt *stmt);

#endif /* GPUSORT_PLAN_TAKE_SORTS_H */
