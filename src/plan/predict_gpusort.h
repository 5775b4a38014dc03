/*
 * plan/predict_gpusort.h
 *		The work of a sort by GpuSort.
 */
#ifndef GPUSORT_PLAN_PREDICT_GPUSORT_H
#define GPUSORT_PLAN_PREDICT_GPUSORT_H

#include "postgres.h"

#include "plan/predict_terms.h"

/* Returns the number of rows that are not dropped when they come, because of a LIMIT or of groups. */
extern double predict_gpusort_kept(const SortShape *shape);

/* Are rows dropped that are not among the first of their group? */
extern bool predict_gpusort_drops_in_groups(const SortShape *shape);

/*
 * Returns the columns whose values get codes (predict_codes.h), as bits, and the most values of one of them.
 */
extern uint32 predict_gpusort_coded(const SortShape *shape, double *values);

/* Returns the counts of each term. */
extern CostCounts count_gpusort(const SortShape *shape);

/*
 * Returns the bytes that the sort needs to keep everything in memory, regardless of its limit: of the card's
 * memory, if the sort is on a card.
 */
extern double predict_gpusort_memory(const SortShape *shape);

/* Returns the bytes of temporary files that the sort is expected to write, each counted once. */
extern double predict_gpusort_temp(const SortShape *shape);

#endif /* GPUSORT_PLAN_PREDICT_GPUSORT_H */
