/*
 * plan/choice.h
 *		The sorts that are worth taking, and why sorts of a finished plan were not taken.
 */
#ifndef GPUSORT_PLAN_CHOICE_H
#define GPUSORT_PLAN_CHOICE_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "base/declined.h"
#include "plan/forecast.h"

/* Do the settings allow a sort of `rows` rows (an estimate), if its keys allow it? */
extern bool sort_has_rows_enough(double rows);

/*
 * Does a list of output columns compute one volatile expression twice?  setrefs.c finds the columns of a
 * custom scan by comparing expressions, and would confuse the two.
 */
extern bool sort_repeats_volatile(List *exprs);

/*
 * Should gpusort take this Sort or IncrementalSort of a finished plan? ancestors: the nodes above it, the
 * innermost first.  If so, the forecast is filled; otherwise *reason says why not.
 */
extern bool sort_to_be_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors,
							 SortForecast *forecast, DeclinedReason *reason);

/* Returns why the sort was left to PostgreSQL. */
extern Declined sort_why_not_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors);

#endif /* GPUSORT_PLAN_CHOICE_H */
