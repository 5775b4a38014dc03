/*
 * plan/forecast.h
 *		How long a sort of a finished plan takes, by PostgreSQL's Sort and by a GpuSort in its place.
 */
#ifndef GPUSORT_PLAN_FORECAST_H
#define GPUSORT_PLAN_FORECAST_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "plan/predict.h"
#include "plan/sort_plan.h"

typedef struct SortForecast
{
	SortShape postgres_shape;
	SortTime postgres;
	double input_ms;	   /* what the sort's input takes, as far as its cost says */
	Cost plan_cost;		   /* of the whole plan; 0 of a sub-select's sorts, which may run many times */
	bool read_to_end;	   /* do the nodes above surely read all rows? */
	SortShape shape;	   /* of a GpuSort, on the faster of the devices that the settings allow */
	SortTime ours;		   /* of that */
	SortExpected expected; /* expected.ms is -1 if no GpuSort can do it */
} SortForecast;

/*
 * Of a Sort or IncrementalSort, below these ancestors.  Where several processes sort, they are taken to feed
 * one GpuSort.  False: no GpuSort can do it, and *why_not says why.
 */
extern bool forecast_sort(SortForecast *forecast, const PlannedStmt *stmt, const Plan *sort, List *ancestors,
						  Declined *why_not);

/*
 * What is expected of a GpuSort of this shape in the place of a sort that takes so long, besides so many
 * milliseconds for the input of either.
 */
extern SortExpected forecast_gpusort(const SortShape *shape, double input_ms, double postgres_ms);

/* Is the GpuSort so much faster, for the rows wanted, that it counts beside the input, and in the plan? */
extern bool forecast_is_worth(const SortForecast *forecast);

/* The same; and is it for the first row, if the nodes above may need fewer? */
extern bool forecast_is_faster(const SortForecast *forecast);

/*
 * The costs of a GpuSort in the Sort's place; never more than the Sort's, with which those above were made.
 */
extern void forecast_set_costs(const SortForecast *forecast, const Sort *sort, Plan *gpusort);

#endif /* GPUSORT_PLAN_FORECAST_H */
