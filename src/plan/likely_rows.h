/*
 * plan/likely_rows.h
 *		How many rows a node of a finished plan may well return, where the planner's estimate is in doubt.
 */
#ifndef GPUSORT_PLAN_LIKELY_ROWS_H
#define GPUSORT_PLAN_LIKELY_ROWS_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * Above joins and recursive queries the middle, by orders of magnitude, between the planner's estimate and
 * the rows of the largest input; of groups, and a sort of them, as many as the grouping columns have values
 * if the planner expects more; else the planner's estimate.  Of one process, as plan_rows is.  plan: a part
 * of stmt.
 */
extern double plan_likely_rows(const PlannedStmt *stmt, const Plan *plan);

/* The same of groups while the query is planned; of all other paths the planner's estimate. */
extern double path_likely_rows(PlannerInfo *root, const Path *path);

#endif /* GPUSORT_PLAN_LIKELY_ROWS_H */
