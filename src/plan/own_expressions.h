/*
 * plan/own_expressions.h
 *		Expressions that workers of a sort's own may evaluate.
 */
#ifndef GPUSORT_PLAN_OWN_EXPRESSIONS_H
#define GPUSORT_PLAN_OWN_EXPRESSIONS_H

#include "postgres.h"

#include "nodes/nodes.h"

/*
 * May a scan evaluate these expressions in a parallel mode of the sort's own, for the user of this moment?
 * Asked by the planner, and again when the sort begins.
 */
extern bool own_workers_may_evaluate(Node *exprs);

#endif /* GPUSORT_PLAN_OWN_EXPRESSIONS_H */
