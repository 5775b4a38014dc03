/*
 * plan/take_windows.h
 *		Taking the windows above the GpuSorts of a finished plan.
 */
#ifndef GPUSORT_PLAN_TAKE_WINDOWS_H
#define GPUSORT_PLAN_TAKE_WINDOWS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* The statement, or a copy, with GpuRanks in the place of WindowAggs, as far as they can take it. */
extern PlannedStmt *take_windows(PlannedStmt *stmt);

#endif /* GPUSORT_PLAN_TAKE_WINDOWS_H */
