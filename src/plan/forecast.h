/*
 * plan/forecast.h
 *		The time of a sort of a finished plan, by PostgreSQL's Sort and by a GpuSort in its place.
 */
#ifndef GPUSORT_PLAN_FORECAST_H
#define GPUSORT_PLAN_FORECAST_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "plan/predict_terms.h"
#include "plan/sort_plan.h"

typedef struct SortForecast
{
	SortShape postgres_shape;
	SortTime postgres;
	double input_ms;	   /* time of the sort's input, derived from its cost */
	Cost plan_cost;		   /* cost of the whole plan; 0 for a sub-select's sorts, which may run many times */
	bool read_to_end;	   /* do the nodes above certainly read all rows? */
	SortShape shape;	   /* shape of a GpuSort, on the faster one of the allowed devices */
	SortTime ours;		   /* time of the GpuSort */
	SortExpected expected; /* expected.ms is -1 if no GpuSort can do it */
} SortForecast;

/*
 * Fills the forecast of a Sort or IncrementalSort of `rows` rows, below these ancestors.  If several
 * processes sort, the forecast assumes that they feed one GpuSort.  False: no GpuSort can do it, and *why_not
 * says why.
 */
extern bool forecast_sort(SortForecast *forecast, const PlannedStmt *stmt, const Plan *sort, List *ancestors,
						  double rows, Declined *why_not);

/*
 * Returns the expectations of a GpuSort of this shape.  postgres_ms: the time of the sort that it replaces.
 * input_ms: the time of the input, which both sorts have in addition.
 */
extern SortExpected forecast_gpusort(const SortShape *shape, double input_ms, double postgres_ms);

/*
 * Do the keys only guess the order on a card too?  Keys with codes do not, if a card has room for all rows.
 */
extern bool forecast_guesses(const SortShape *shape);

/*
 * For the wanted rows, is the gain of the GpuSort large enough compared with the input and the whole plan?
 */
extern bool forecast_is_worth(const SortForecast *forecast);

/* Is forecast_is_worth true, and also true for the first row if the nodes above may read fewer rows? */
extern bool forecast_is_faster(const SortForecast *forecast);

/*
 * Sets the costs of a GpuSort in the Sort's place, at most the Sort's costs, from which the costs above were
 * computed.
 */
extern void forecast_set_costs(const SortForecast *forecast, const Sort *sort, Plan *gpusort);

#endif /* GPUSORT_PLAN_FORECAST_H */
