/*
 * plan/predict_groups.h
 *		The time of forming groups, by hashing rows and from rows in order.
 */
#ifndef GPUSORT_PLAN_PREDICT_GROUPS_H
#define GPUSORT_PLAN_PREDICT_GROUPS_H

#include "postgres.h"

#include "plan/predict_terms.h"

/* Groups of rows, which may be sorted by the grouping columns. */
typedef struct GroupShape
{
	const SortShape *sorted; /* shape of the sort that may put the rows in order */
	double groups;
	double entry_bytes; /* bytes of a group in a hash table */
	double memory;		/* bytes that grouping may use */
} GroupShape;

/* Return the counts of each term, without the input and the work of aggregates. */
extern CostCounts count_hashed_groups(const GroupShape *shape);
extern CostCounts count_ordered_groups(const GroupShape *shape);

/* Return milliseconds. */ extern double predict_hashed_groups(const GroupShape *shape);
extern double predict_ordered_groups(const GroupShape *shape);

/* Returns the bytes of temporary files that hashing is expected to write, each counted once. */
extern double predict_hashed_groups_temp(const GroupShape *shape);

#endif /* GPUSORT_PLAN_PREDICT_GROUPS_H */
