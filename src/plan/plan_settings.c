/*
 * plan/plan_settings.c
 *		The settings by which a query is planned.
 *
 * They are exchanged as variables, not by SET: nobody is to see that but the decisions that read them, and
 * plans that are kept stay.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "optimizer/optimizer.h"

#include "base/guc.h"
#include "plan/plan_settings.h"

PlanSettings
plan_settings_in_force(void)
{
	return (PlanSettings){.mode = gpusort_mode,
						  .backend = gpusort_backend,
						  .min_rows = gpusort_min_rows,
						  .gpusort_work_mem = gpusort_work_mem,
						  .work_mem = work_mem,
						  .leader_participation = parallel_leader_participation,
						  .setup_cost = parallel_setup_cost};
}

static void
put_in_force(const PlanSettings *settings)
{
	gpusort_mode = settings->mode;
	gpusort_backend = settings->backend;
	gpusort_min_rows = settings->min_rows;
	gpusort_work_mem = settings->gpusort_work_mem;
	work_mem = settings->work_mem;
	parallel_leader_participation = settings->leader_participation;
	parallel_setup_cost = settings->setup_cost;
}

void
plan_settings_during(const PlanSettings *settings, void (*work)(void *arg), void *arg)
{
	PlanSettings before = plan_settings_in_force();

	put_in_force(settings);
	PG_TRY();
	{
		work(arg);
	}
	PG_FINALLY();
	{
		put_in_force(&before);
	}
	PG_END_TRY();
}
