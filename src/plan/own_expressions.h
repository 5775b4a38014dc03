/*
 * plan/own_expressions.h
 *		Expressions that a sort's own workers may evaluate.
 */
#ifndef GPUSORT_PLAN_OWN_EXPRESSIONS_H
#define GPUSORT_PLAN_OWN_EXPRESSIONS_H

#include "postgres.h"

#include "nodes/nodes.h"

/*
 * May a scan evaluate these expressions in a parallel mode of the sort's own, for the current user?  The
 * planner calls this function, and the executor calls it again when the sort begins.
 */
extern bool own_workers_may_evaluate(Node *exprs);

#endif /* GPUSORT_PLAN_OWN_EXPRESSIONS_H */
