/*
 * plan/likely_rows.h
 *		The number of rows that a node of a finished plan may return if the planner's estimate is in doubt.
 */
#ifndef GPUSORT_PLAN_LIKELY_ROWS_H
#define GPUSORT_PLAN_LIKELY_ROWS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * Above joins and recursive queries it returns the geometric mean of the planner's estimate and the rows of
 * the largest input; otherwise the estimate.  It is for one process, as plan_rows. plan: a part of stmt.
 */
extern double plan_likely_rows(const PlannedStmt *stmt, const Plan *plan);

#endif /* GPUSORT_PLAN_LIKELY_ROWS_H */
