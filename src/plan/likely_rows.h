/*
 * plan/likely_rows.h
 *		The number of rows that a node of a finished plan may return if the planner's estimate is in doubt.
 */
#ifndef GPUSORT_PLAN_LIKELY_ROWS_H
#define GPUSORT_PLAN_LIKELY_ROWS_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * Above joins and recursive queries it returns the geometric mean of the planner's estimate and the rows of
 * the largest input.  For the rows of an outer join without a match it returns half of the largest input.
 * For groups, and for a sort of groups, it returns the number of values of the grouping columns if the
 * planner's estimate is higher.  Otherwise it returns the estimate.  It is for one process, as plan_rows.
 * plan: a part of stmt.
 */
extern double plan_likely_rows(const PlannedStmt *stmt, const Plan *plan);

/*
 * The same while the query is planned, of groups, and of a table's rows that an expression has one value for;
 * of all other paths the planner's estimate.
 */
extern double path_likely_rows(PlannerInfo *root, const Path *path);

#endif /* GPUSORT_PLAN_LIKELY_ROWS_H */
