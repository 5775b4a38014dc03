/*
 * plan/volatile_plan.h
 *		Whether a part of a plan gives the same rows when it runs once more.
 */
#ifndef GPUSORT_PLAN_VOLATILE_PLAN_H
#define GPUSORT_PLAN_VOLATILE_PLAN_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * Could running this part of a plan, with the query's sub-selects, once more give other rows, or do something
 * twice?
 */
extern bool plan_is_volatile(List *subplans, Plan *plan);

/* The same of an expression, or a list of them. */
extern bool expression_is_volatile(List *subplans, const void *expression);

#endif /* GPUSORT_PLAN_VOLATILE_PLAN_H */
