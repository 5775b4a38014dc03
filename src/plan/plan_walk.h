/*
 * plan/plan_walk.h
 *		Visiting the nodes of a plan; whether it may be read again.
 */
#ifndef GPUSORT_PLAN_PLAN_WALK_H
#define GPUSORT_PLAN_PLAN_WALK_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * Called for a node before its children. place: the pointer in its parent, or in the statement, so that the
 * node can be replaced. ancestors: the Plan nodes above it, the parent first.
 */
typedef void (*plan_visitor)(Plan **place, List *ancestors, void *context);

/* Visits all nodes of the statement's plan and of its sub-selects' plans. */
extern void plan_walk_statement(PlannedStmt *stmt, plan_visitor visit, void *context);

/* Does the statement have such a node?  Allocates no memory and takes almost no time. */
extern bool plan_has(const PlannedStmt *stmt, bool (*is_such)(const Plan *plan));

/*
 * Has a window of this part of a plan a run condition with parameters of which the nodes above do not know?
 * PostgreSQL does not look for parameters there, so that a change of one is none for these nodes (chgParam).
 * Its own Sort sorts again all the same.
 */
extern bool plan_hides_parameters(const Plan *plan);

/*
 * Returns the statement for changes, or a copy.  Another extension may keep a plan, and nodes that gpusort
 * adds may be freed before that plan.  Therefore a plan outside the planner's memory context is copied.
 */
extern PlannedStmt *plan_to_change(PlannedStmt *stmt);

/*
 * Could this part of a plan, with the query's sub-selects, return other rows when it runs again?  Foreign
 * scans and scans of other extensions are assumed to return the same rows, as in a rescan, unless they have
 * volatile expressions.
 */
extern bool plan_is_volatile(List *subplans, Plan *plan);

/* The same for an expression, or a list of expressions. */
extern bool expression_is_volatile(List *subplans, const void *expression);

#endif /* GPUSORT_PLAN_PLAN_WALK_H */
