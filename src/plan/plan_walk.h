/*
 * plan/plan_walk.h
 *		Visiting the nodes of a finished plan.
 */
#ifndef GPUSORT_PLAN_PLAN_WALK_H
#define GPUSORT_PLAN_PLAN_WALK_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Called for a node before its children; ancestors: the Plan nodes above it, the parent first. */
typedef void (*plan_visitor)(Plan *plan, List *ancestors, void *context);

/* Visits the plan and all below it, sub-selects (PlannedStmt.subplans) not included. */
extern void plan_walk(Plan *plan, List *ancestors, plan_visitor visit, void *context);

#endif /* GPUSORT_PLAN_PLAN_WALK_H */
