/*
 * plan/rival_plan.h
 *		What PostgreSQL does where it does not sort at all, and gpusort has offered a plan that does: for
 *		gpusort_check to tell which of the two was chosen.
 */
#ifndef GPUSORT_PLAN_RIVAL_PLAN_H
#define GPUSORT_PLAN_RIVAL_PLAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

typedef enum RivalPlan
{
	RIVAL_PLAN_NONE, /* it sorts, or reads an index in order */
	RIVAL_PLAN_WORKERS,
	RIVAL_PLAN_HASHED,
	RIVAL_PLAN_HASH_JOIN,
	RIVAL_PLAN_NESTED_LOOP
} RivalPlan;

/* What was offered while a query was planned, and the memory context that this is noted in. */
typedef struct OfferedPlans
{
	MemoryContext context;
	List *plans;
} OfferedPlans;

/* From now on planning notes there what it offers, if that is not NULL; returns where it did before. */
extern OfferedPlans *rival_plan_note_in(OfferedPlans *offered);

/* Does it? */
extern bool rival_plan_is_noted(void);

/* Notes that a plan that sorts has been offered for a join, or for groups, of so many rows. */
extern void rival_plan_offered(const RelOptInfo *rel, double rows);

/* What the node does instead of sorting, if a plan that sorts has been offered in its place. */
extern RivalPlan rival_plan_of(const OfferedPlans *offered, const Plan *plan, List *ancestors);

/* In words: of a sort that was chosen instead; why there is none. */
extern const char *rival_plan_replaced(RivalPlan rival);
extern const char *rival_plan_why_not(RivalPlan rival);

#endif /* GPUSORT_PLAN_RIVAL_PLAN_H */
