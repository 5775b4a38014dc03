/*
 * plan/take_sorts.h
 *		Replaces the Sort nodes of a finished plan, and the windows above sorts.
 */
#ifndef GPUSORT_PLAN_TAKE_SORTS_H
#define GPUSORT_PLAN_TAKE_SORTS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * Returns the plan with GpuSorts in the place of Sorts; a copy if another extension may keep the plan.
 * count: count sorts that are left to PostgreSQL in pg_stat_gpusort.  Do not call it in mode off.
 */
extern PlannedStmt *take_sorts(PlannedStmt *stmt, bool count);

/* Returns the plan with GpuWindows in the place of WindowAggs above sorts, as far as possible. */
extern PlannedStmt *take_windows(PlannedStmt *stmt);

#endif /* GPUSORT_PLAN_TAKE_SORTS_H */
