/*
 * plan/plan_settings.h
 *		The settings with which a query is planned.
 *
 * Another extension may change settings for the planning of one query, as pg_hint_plan does for Set(...), and
 * restore them before gpusort sees the finished plan.
 */
#ifndef GPUSORT_PLAN_PLAN_SETTINGS_H
#define GPUSORT_PLAN_PLAN_SETTINGS_H

#include "postgres.h"

/*
 * The settings that decisions on finished plans read, including PostgreSQL's.  They do not include
 * gpusort.max_...: these limit a session, regardless of its queries.
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

/* Returns the present settings. */
extern PlanSettings plan_settings_in_force(void);

/* Calls work(arg) with these settings, and restores the earlier ones, also after an error. */
extern void plan_settings_during(const PlanSettings *settings, void (*work)(void *arg), void *arg);

#endif /* GPUSORT_PLAN_PLAN_SETTINGS_H */
