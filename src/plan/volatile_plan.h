/*
 * plan/volatile_plan.h
 *		Whether a part of a finished plan gives the same rows when it runs once more.
 */
#ifndef GPUSORT_PLAN_VOLATILE_PLAN_H
#define GPUSORT_PLAN_VOLATILE_PLAN_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Could running this part of the statement's plan once more give other rows, or do something twice? */
extern bool plan_is_volatile(const PlannedStmt *stmt, Plan *plan);

/* The same of an expression, or a list of them. */
extern bool expression_is_volatile(const PlannedStmt *stmt, const void *expression);

#endif /* GPUSORT_PLAN_VOLATILE_PLAN_H */
