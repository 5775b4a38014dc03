/*
 * plan/take_sorts.h
 *		Taking the Sort nodes of a finished plan.
 */
#ifndef GPUSORT_PLAN_TAKE_SORTS_H
#define GPUSORT_PLAN_TAKE_SORTS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * The plan with GpuSorts in the place of the Sorts that are to be taken; the same one, changed, or a copy
 * where somebody else may keep it.  count: those that are left to PostgreSQL count in pg_stat_gpusort.  Not
 * to be called in mode off.
 */
extern PlannedStmt *take_sorts(PlannedStmt *stmt, bool count);

#endif /* GPUSORT_PLAN_TAKE_SORTS_H */
