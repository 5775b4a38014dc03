/*
 * check/instead.h
 *		What a node of a finished plan does instead of sorting.
 */
#ifndef GPUSORT_CHECK_INSTEAD_H
#define GPUSORT_CHECK_INSTEAD_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "plan/rival.h"

/* Returns what the node does instead of sorting, if a plan with a sort was offered in its place. */
extern RivalPlan rival_plan_of(const OfferedPlans *offered, const Plan *plan, List *ancestors);

/* Return words: for a sort that was chosen instead, and for the reason why there is no sort. */
extern const char *rival_plan_replaced(RivalPlan rival);
extern const char *rival_plan_why_not(RivalPlan rival);

#endif /* GPUSORT_CHECK_INSTEAD_H */
