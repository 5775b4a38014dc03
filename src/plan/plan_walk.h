/*
 * plan/plan_walk.h
 *		Visiting the nodes of a plan; whether it may be read again.
 */
#ifndef GPUSORT_PLAN_PLAN_WALK_H
#define GPUSORT_PLAN_PLAN_WALK_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * Called for a node before its children; place: where its parent, or the statement, has it, so that it can be
 * exchanged for another; ancestors: the Plan nodes above it, the parent first.
 */
typedef void (*plan_visitor)(Plan **place, List *ancestors, void *context);

/* Visits the statement's plan and those of its sub-selects, each with all below it. */
extern void plan_walk_statement(PlannedStmt *stmt, plan_visitor visit, void *context);

/* Is there any such node in the statement?  Takes no memory, and next to no time. */
extern bool plan_has(const PlannedStmt *stmt, bool (*is_such)(const Plan *plan));

/*
 * The statement, which is to be changed, or a copy: another extension may keep a plan, and would see nodes in
 * it that may be gone before it is.  What is not in the memory context that plans are made in is copied.
 */
extern PlannedStmt *plan_to_change(PlannedStmt *stmt);

/*
 * Could running this part of a plan, with the query's sub-selects, once more give other rows?  Foreign scans
 * and those of other extensions are taken to give the same rows, as a rescan of them does, unless they were
 * given volatile expressions.
 */
extern bool plan_is_volatile(List *subplans, Plan *plan);

/* The same of an expression, or a list of them. */
extern bool expression_is_volatile(List *subplans, const void *expression);

#endif /* GPUSORT_PLAN_PLAN_WALK_H */
