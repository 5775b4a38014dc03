/*
 * check/finished_plan.h
 *		The sorts of a finished plan, for gpusort_check.
 */
#ifndef GPUSORT_CHECK_FINISHED_PLAN_H
#define GPUSORT_CHECK_FINISHED_PLAN_H

#include "postgres.h"

#include "nodes/params.h"
#include "nodes/parsenodes.h"

#include "check/result.h"

/* Puts the sorts of a query for the planner.  A user who may EXPLAIN the query may check it. */
extern void check_plan(Check *check, Query *query, int cursor_options, ParamListInfo params);

#endif /* GPUSORT_CHECK_FINISHED_PLAN_H */
