/*
 * plan/likely_rows.h
 *		How many rows a node of a finished plan may well return, where the planner's estimate is in doubt.
 */
#ifndef GPUSORT_PLAN_LIKELY_ROWS_H
#define GPUSORT_PLAN_LIKELY_ROWS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * Above joins and recursive queries the middle, by orders of magnitude, between the planner's estimate and
 * the rows of the largest input; else the estimate.  Of one process, as plan_rows is.  plan: a part of stmt.
 */
extern double plan_likely_rows(const PlannedStmt *stmt, const Plan *plan);

#endif /* GPUSORT_PLAN_LIKELY_ROWS_H */
