/*
 * check/advice.h
 *		Advice that would change how a sort is done, in words for a person.
 */
#ifndef GPUSORT_CHECK_ADVICE_H
#define GPUSORT_CHECK_ADVICE_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "base/declined.h"
#include "plan/forecast.h"
#include "plan/rival.h"

/* Returns the setting with which a GpuSort of this shape would write no temporary files. */
extern const char *advice_on_memory(const SortShape *shape);

/*
 * Returns the same advice for a setting by its name. bytes: the memory that the sort needs. processes: the
 * processes that fill it.
 */
extern const char *advice_on_setting(const char *setting, double bytes, int processes);

/*
 * May a sort by `processes` processes exceed the limit, although only `bytes` bytes are expected?
 */
extern bool advice_memory_is_scarce(double bytes, double limit, int processes);

/*
 * Returns the setting with which gpusort would take a declined sort. forecast: for a sort of a plan,
 * otherwise NULL.  NULL: no setting, or the reason names it.
 */
extern const char *advice_to_take(DeclinedReason reason, const SortForecast *forecast);

/* Returns the setting with which PostgreSQL would sort instead. */
extern const char *advice_on_rival(RivalPlan rival);

#endif /* GPUSORT_CHECK_ADVICE_H */
