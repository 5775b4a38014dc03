/*
 * plan/predict_groups.h
 *		How long it takes to form groups of rows, by hashing them and of rows in order.
 */
#ifndef GPUSORT_PLAN_PREDICT_GROUPS_H
#define GPUSORT_PLAN_PREDICT_GROUPS_H

#include "postgres.h"

#include "plan/predict.h"

/* Groups that are formed of rows, sorted by what makes the groups, or not. */
typedef struct GroupShape
{
	const SortShape *sorted; /* of the sort that may put them in order */
	double groups;
	double entry_bytes; /* of a group in a hash table */
	double memory;		/* bytes that this may take */
} GroupShape;

/* How many of each term, without the input and what aggregates compute. */
extern CostCounts count_hashed_groups(const GroupShape *shape);
extern CostCounts count_ordered_groups(const GroupShape *shape);

/* Milliseconds. */
extern double predict_hashed_groups(const GroupShape *shape);
extern double predict_ordered_groups(const GroupShape *shape);

/* Bytes of temporary files that hashing is expected to write, each counted once. */
extern double predict_hashed_groups_temp(const GroupShape *shape);

#endif /* GPUSORT_PLAN_PREDICT_GROUPS_H */
