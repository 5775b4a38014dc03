/*
 * plan/sorted_aggregates.h
 *		The order of rows that spares a grouping the sorts of its aggregates.
 */
#ifndef GPUSORT_PLAN_SORTED_AGGREGATES_H
#define GPUSORT_PLAN_SORTED_AGGREGATES_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* An order for a grouping's input: of the groups, then of the arguments of an aggregate. */
typedef struct AggregateOrder
{
	List *pathkeys;	   /* NIL: no aggregate sorts in a way that could be spared */
	List *computed;	   /* expressions of them that the input does not have */
	bool one_of_equal; /* is one of equal rows enough for all aggregates? */
} AggregateOrder;

/* Finds the order for the query's aggregates over this input. */
extern AggregateOrder sorted_aggregates_order(PlannerInfo *root, const Path *input);

/* Returns the path, of one process or several, with these expressions computed, too. */
extern Path *sorted_aggregates_input(PlannerInfo *root, Path *path, List *computed);

#endif /* GPUSORT_PLAN_SORTED_AGGREGATES_H */
