/*
 * plan/planner.h
 *		Offering GpuSort to the planner.
 */
#ifndef GPUSORT_PLAN_PLANNER_H
#define GPUSORT_PLAN_PLANNER_H

#include "postgres.h"

#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

#include "plan/plan_settings.h"
#include "plan/rival.h"

/* Installs the planner hooks; once, when the library is loaded. */
extern void planner_install_hooks(void);

/*
 * Plans a query without counting it in pg_stat_gpusort, which counts only queries that will run.  Notes the
 * offered plans and the settings. params: the known parameters, or NULL.
 */
extern PlannedStmt *planner_plan_uncounted(Query *query, const char *query_string, int cursor_options,
										   ParamListInfo params, OfferedPlans *offered,
										   PlanSettings *settings);

#endif /* GPUSORT_PLAN_PLANNER_H */
