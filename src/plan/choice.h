/*
 * plan/choice.h
 *		Which sorts are worth taking, and why those of a finished plan were not taken.
 */
#ifndef GPUSORT_PLAN_CHOICE_H
#define GPUSORT_PLAN_CHOICE_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "base/declined.h"

/*
 * Is a sort of so many rows (an estimate) one that the settings leave to PostgreSQL whatever its keys?  Then
 * *why_not says why.
 */
extern bool sort_worth_taking(double rows, Declined *why_not);

/*
 * Do the settings let sorts go to the GPU, and, where they leave the choice, is there one?  Of both it is
 * what is so now: of a plan that is made, or of a sort that begins.
 */
extern bool sort_may_use_gpu(void);

/*
 * Does a list of output columns compute one volatile expression twice?  setrefs.c finds the columns of a
 * custom scan by comparing expressions and would take one for the other.
 */
extern bool sort_repeats_volatile(List *exprs);

/*
 * Why is this Sort or IncrementalSort of a finished plan, below these ancestors, the innermost first, not a
 * GpuSort?
 */
extern Declined sort_why_not_taken(const Plan *sort, List *ancestors);

/* Counts the sorts of a finished plan that are left to PostgreSQL, by reason, for pg_stat_gpusort. */
extern void sort_count_declined(const PlannedStmt *stmt);

#endif /* GPUSORT_PLAN_CHOICE_H */
