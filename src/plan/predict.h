/*
 * plan/predict.h
 *		The time of a sort, by PostgreSQL's Sort and by GpuSort.
 *
 * A prediction is for the sort alone, without the time of its input.
 */
#ifndef GPUSORT_PLAN_PREDICT_H
#define GPUSORT_PLAN_PREDICT_H

#include "postgres.h"

#include "plan/predict_terms.h"

/* Return the time of a sort for this shape's processes. */
extern SortTime predict_postgres_sort(const SortShape *shape);
extern SortTime predict_gpusort(const SortShape *shape);

/* Returns the total time for all rows, or for the wanted rows. */
extern double sort_time_total(const SortShape *shape, SortTime time);

/* Returns the milliseconds for the launch of a sort's processes. */
extern double predict_launch(const SortShape *shape);

/*
 * Returns the milliseconds that a Gather needs to pass all rows, in addition to the time of its processes.
 */
extern double predict_gather(const SortShape *shape);

/* Returns the additional milliseconds of an index scan for random access to the table. */
extern double predict_fetches(const SortShape *shape);

/* Are gpusort's temporary files clearly larger than PostgreSQL's? */
extern bool temp_is_clearly_more(double ours, double theirs);

/* Is gpusort's sort fast enough to write them anyway? */
extern bool is_worth_files(double ours, double theirs);

/* Returns the milliseconds of an input with this cost. */
extern double predict_input(double cost);

#endif /* GPUSORT_PLAN_PREDICT_H */
