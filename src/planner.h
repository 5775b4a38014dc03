/*
 * planner.h
 *		Offering GpuSort to the planner.
 */
#ifndef GPUSORT_PLANNER_H
#define GPUSORT_PLANNER_H

#include "postgres.h"

/* Installs the planner hooks; once, when the library is loaded. */
extern void planner_install_hooks(void);

/*
 * Is a sort of so many rows (an estimate), of which limit_rows at most are wanted (-1: all), one that the
 * settings leave to PostgreSQL whatever its keys?  Then *why_not says why, palloc'd or static.
 */
extern bool sort_worth_taking(double rows, double limit_rows, const char **why_not);

#endif							/* GPUSORT_PLANNER_H */
