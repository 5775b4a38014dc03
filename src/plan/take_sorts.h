/*
 * plan/take_sorts.h
 *		Replaces the Sort nodes of a finished plan, the windows above sorts, and sorts within aggregates.
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

/* Returns the plan with GpuAggInputs between Aggs and GpuSorts, as far as the order serves aggregates. */
extern PlannedStmt *take_aggregates(PlannedStmt *stmt);

#endif /* GPUSORT_PLAN_TAKE_SORTS_H */
