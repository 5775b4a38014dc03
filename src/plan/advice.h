/*
 * plan/advice.h
 *		What would change how a sort is done, in words for a person.
 */
#ifndef GPUSORT_PLAN_ADVICE_H
#define GPUSORT_PLAN_ADVICE_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "base/declined.h"
#include "plan/forecast.h"
#include "plan/rival_plan.h"

/* Which setting would have a GpuSort of this shape write no temporary files. */
extern const char *advice_on_memory(const SortShape *shape);

/*
 * The same of a setting by its name, and of so many bytes that a sort takes in memory, which so many
 * processes fill.
 */
extern const char *advice_on_setting(const char *setting, double bytes, int processes);

/*
 * Might a sort of so many processes take more than the limit, though no more than so many bytes are expected?
 */
extern bool advice_memory_is_scarce(double bytes, double limit, int processes);

/*
 * Which setting would have a sort taken that is left to PostgreSQL; forecast: of a sort of a plan, else NULL.
 * NULL: none, or the reason itself names it.
 */
extern const char *advice_to_take(DeclinedReason reason, const SortForecast *forecast);

/* Which setting would have PostgreSQL sort instead. */
extern const char *advice_on_rival(RivalPlan rival);

/* Where an aggregate stands. */
typedef struct AggregatePlace
{
	const Agg *agg;
	List *aggregates;	  /* all of the node's, Aggrefs */
	bool has_all_columns; /* does the node group by as many columns as the query says? */
	bool is_ordered;	  /* may the query that groups have an ORDER BY? */
} AggregatePlace;

/*
 * How to write the query so that an aggregate's sort is a node, with the same result; the context is set to
 * the aggregate's node.  In place of each "..." are the aggregate's columns, with FROM and what follows it.
 * NULL: there is no such way.
 */
extern const char *advice_on_aggregate(const Aggref *aggregate, const AggregatePlace *place, List *context,
									   bool use_prefix);

#endif /* GPUSORT_PLAN_ADVICE_H */
