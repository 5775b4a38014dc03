/*
 * plan/predict_postgres.h
 *		The work of a sort by PostgreSQL's Sort.
 */
#ifndef GPUSORT_PLAN_PREDICT_POSTGRES_H
#define GPUSORT_PLAN_PREDICT_POSTGRES_H

#include "postgres.h"

#include "plan/predict_terms.h"

/* Returns the counts of each term. */
extern CostCounts count_postgres_sort(const SortShape *shape);

/*
 * Returns the bytes that each process needs to keep everything in memory, regardless of its limit.
 */
extern double predict_postgres_memory(const SortShape *shape);

/* Returns the bytes of temporary files that the sort is expected to write, each counted once. */
extern double predict_postgres_temp(const SortShape *shape);

#endif /* GPUSORT_PLAN_PREDICT_POSTGRES_H */
