/*
 * plan/choice.h
 *		Which sorts are worth taking, and why those of a finished plan were not taken.
 */
#ifndef GPUSORT_PLAN_CHOICE_H
#define GPUSORT_PLAN_CHOICE_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "base/declined.h"
#include "plan/forecast.h"

/* Do the settings let sorts of so many rows (an estimate) be taken, if their keys allow it? */
extern bool sort_has_rows_enough(double rows);

/* The same; if not, *why_not says why. */
extern bool sort_worth_taking(double rows, Declined *why_not);

/*
 * Does a list of output columns compute one volatile expression twice?  setrefs.c finds the columns of a
 * custom scan by comparing expressions and would take one for the other.
 */
extern bool sort_repeats_volatile(List *exprs);

/*
 * Is this Sort or IncrementalSort of a finished plan, below these ancestors, the innermost first, one to be
 * taken?  Then the forecast is filled; else *why_not says why not.
 */
extern bool sort_to_be_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors,
							 SortForecast *forecast, Declined *why_not);

/* Why was it left to PostgreSQL? */
extern Declined sort_why_not_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors);

#endif /* GPUSORT_PLAN_CHOICE_H */
