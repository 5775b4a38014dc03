/*
 * plan/derived_values.h
 *		The number of values in a column that a sub-select returns, such as an arm of a UNION.
 *
 * The planner itself expects as many groups of a UNION as it has rows.
 */
#ifndef GPUSORT_PLAN_DERIVED_VALUES_H
#define GPUSORT_PLAN_DERIVED_VALUES_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* While planning; 0: no sub-select returns the column, or not known. */
extern double derived_values(PlannerInfo *root, const Var *column);

/* column: of the output of an Append or MergeAppend; 0: the plan is another one, or the number not known. */
extern double derived_values_of_plan(const Plan *plan, const Var *column, List *rtable);

#endif /* GPUSORT_PLAN_DERIVED_VALUES_H */
