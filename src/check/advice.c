/*
 * check/advice.c
 *		What would change how a sort is done, in words for a person: a setting with a value.
 *
 * It is not said that this would be faster: that is what the times tell, and who tries it.  docs/limits.md
 * lists all of it.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "base/guc.h"
#include "check/advice.h"
#include "plan/predict_gpusort.h"

#define MEGABYTE (1024.0 * 1024.0)

/*
 * What a sort takes more than is predicted: chunks are not full to the last byte, least of all where each
 * process has its own.  Sorts of 20,000 to 1,000,000 rows took up to a sixth more, by three processes up to a
 * third (PostgreSQL 15, 28 November 2026).
 */
#define MEMORY_SLACK 1.25
#define MEMORY_SLACK_JOINT 1.5

/* ---------------------------------------------------------------- memory */

static double
with_slack(double bytes, int processes)
{
	return bytes * (processes > 1 ? MEMORY_SLACK_JOINT : MEMORY_SLACK);
}

bool
advice_memory_is_scarce(double bytes, double limit, int processes)
{
	return with_slack(bytes, processes) > limit;
}

const char *
advice_on_setting(const char *setting, double bytes, int processes)
{
	return psprintf("a %s of about %.0f MB would keep the sort in memory", setting,
					ceil(with_slack(bytes, processes) / MEGABYTE));
}

const char *
advice_on_memory(const SortShape *shape)
{
	SortShape roomy = *shape;
	double bytes;
	double all;

	roomy.memory = DBL_MAX;
	bytes = predict_gpusort_memory(&roomy);
	all = bytes * Max(1, shape->beside);
	if (gpusort_max_work_mem != -1 && with_slack(all, shape->processes) > gpusort_max_work_mem * 1024.0)
		return advice_on_setting("gpusort.max_work_mem", all, shape->processes);
	if (gpusort_work_mem != -1)
		return advice_on_setting("gpusort.work_mem", all, shape->processes);
	return advice_on_setting("work_mem", bytes / shape->processes, shape->processes);
}

/* ---------------------------------------------------------------- settings */

const char *
advice_to_take(DeclinedReason reason, const SortForecast *forecast)
{
	const char *force = "gpusort.mode = force would take the sort";

	switch (reason)
	{
		case DECLINED_FEW_ROWS:
		case DECLINED_LIMIT:
			return force;
		case DECLINED_COST:
			if (forecast != NULL && forecast->shape.device == DEVICE_CPU &&
				predict_gpusort_temp(&forecast->shape) > 0)
				return psprintf("%s; %s", advice_on_memory(&forecast->shape), force);
			return force;
		default:
			return NULL;
	}
}

const char *
advice_on_rival(RivalPlan rival)
{
	switch (rival)
	{
		case RIVAL_PLAN_WORKERS:
			return "max_parallel_workers_per_gather = 0 would avoid such groups";
		case RIVAL_PLAN_HASHED:
			return "enable_hashagg = off would avoid hashing";
		default:
			return NULL;
	}
}
