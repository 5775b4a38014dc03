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
	List *pathkeys;
	List *calls;	   /* Aggrefs that it serves; the first one has all of its columns */
	List *computed;	   /* expressions of these columns that the input does not have */
	bool one_of_equal; /* is one of equal rows enough for these calls? */
	bool only_counts;  /* do these calls count values, which must only come together? */
} AggregateOrder;

/*
 * Returns the orders (AggregateOrders) that spare the query's aggregates over this input their sorts, the
 * longest one first.  rest: the calls that none of them serves.  presorted: also orders in which PostgreSQL
 * would sort the input.
 */
extern List *sorted_aggregates_orders(PlannerInfo *root, const Path *input, bool presorted, List **rest);

/* Do all calls for whose order PostgreSQL sorts the input count values, which must only come together? */
extern bool sorted_aggregates_presorted_count(const PlannerInfo *root);

/* Returns the reason why the arguments of a call cannot be sorted below its Agg; NULL: they can. */
extern const char *sorted_aggregates_why_not(const Aggref *call);

/* Returns the path, of one process or several, with these expressions computed, too. */
extern Path *sorted_aggregates_input(PlannerInfo *root, Path *path, List *computed);

#endif /* GPUSORT_PLAN_SORTED_AGGREGATES_H */
