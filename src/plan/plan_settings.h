/*
 * plan/plan_settings.h
 *		The settings by which a query is planned.
 *
 * Another extension may change settings for the planning of one query, as pg_hint_plan does for Set(...), and
 * put them back before gpusort sees the finished plan.
 */
#ifndef GPUSORT_PLAN_PLAN_SETTINGS_H
#define GPUSORT_PLAN_PLAN_SETTINGS_H

#include "postgres.h"

/*
 * Those that decisions on finished plans read, PostgreSQL's included.  gpusort.max_... are not among them:
 * they bound what a session may have, whatever its queries say.
 */
typedef struct PlanSettings
{
	int mode;
	int backend;
	int min_rows;
	int gpusort_work_mem;
	int work_mem;
	bool leader_participation;
	double setup_cost;
} PlanSettings;

/* Those in force now. */
extern PlanSettings plan_settings_in_force(void);

/* Does this work with those settings in force, and puts back the ones before, also after an error. */
extern void plan_settings_during(const PlanSettings *settings, void (*work)(void *arg), void *arg);

#endif /* GPUSORT_PLAN_PLAN_SETTINGS_H */
