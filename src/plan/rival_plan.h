/*
 * plan/rival_plan.h
 *		PostgreSQL's plan without a sort where gpusort has offered a plan with a sort, so that gpusort_check
 *		can say which of the two was chosen.
 */
#ifndef GPUSORT_PLAN_RIVAL_PLAN_H
#define GPUSORT_PLAN_RIVAL_PLAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

typedef enum RivalPlan
{
	RIVAL_PLAN_NONE, /* PostgreSQL sorts, or reads an index in order */
	RIVAL_PLAN_WORKERS,
	RIVAL_PLAN_HASHED,
	RIVAL_PLAN_HASH_JOIN,
	RIVAL_PLAN_NESTED_LOOP
} RivalPlan;

/* The plans that were offered while a query was planned, and the memory context of these notes. */
typedef struct OfferedPlans
{
	MemoryContext context;
	List *plans;
} OfferedPlans;

/* From now on planning notes offered plans in `offered`, if it is not NULL. Returns the place before. */
extern OfferedPlans *rival_plan_note_in(OfferedPlans *offered);

/* Are offered plans noted? */
extern bool rival_plan_is_noted(void);

/* Notes that a plan with a sort was offered for a join or groups with this number of rows. */
extern void rival_plan_offered(const RelOptInfo *rel, double rows);

/* Returns what the node does instead of sorting, if a plan with a sort was offered in its place. */
extern RivalPlan rival_plan_of(const OfferedPlans *offered, const Plan *plan, List *ancestors);

/* Return words: for a sort that was chosen instead, and for the reason why there is no sort. */
extern const char *rival_plan_replaced(RivalPlan rival);
extern const char *rival_plan_why_not(RivalPlan rival);

#endif /* GPUSORT_PLAN_RIVAL_PLAN_H */
