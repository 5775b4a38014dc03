/*
 * check/advice.c
 *		What would change how a sort is done, in words for a person: a setting with a value, or another way to
 *		write the query.
 *
 * It is not said that this would be faster: that is what the times tell, and who tries it.  docs/limits.md
 * lists all of it.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "base/guc.h"
#include "check/advice.h"
#include "check/deparse.h"
#include "plan/predict_gpusort.h"

#define MEGABYTE (1024.0 * 1024.0)

/*
 * What a sort takes more than is predicted: chunks are not full to the last byte, least of all where each
 * process has its own.  Sorts of 20,000 to 1,000,000 rows took up to a sixth more, by three processes up to a
 * third (PostgreSQL 15, 28 November 2026).
 */
#define MEMORY_SLACK 1.25
#define MEMORY_SLACK_JOINT 1.5

/* ---------------------------------------------------------------- memory */

static double
with_slack(double bytes, int processes)
{
	return bytes * (processes > 1 ? MEMORY_SLACK_JOINT : MEMORY_SLACK);
}

bool
advice_memory_is_scarce(double bytes, double limit, int processes)
{
	return with_slack(bytes, processes) > limit;
}

const char *
advice_on_setting(const char *setting, double bytes, int processes)
{
	return psprintf("a %s of about %.0f MB would keep the sort in memory", setting,
					ceil(with_slack(bytes, processes) / MEGABYTE));
}

const char *
advice_on_memory(const SortShape *shape)
{
	SortShape roomy = *shape;
	double bytes;
	double all;

	roomy.memory = DBL_MAX;
	bytes = predict_gpusort_memory(&roomy);
	all = bytes * Max(1, shape->beside);
	if (gpusort_max_work_mem != -1 && with_slack(all, shape->processes) > gpusort_max_work_mem * 1024.0)
		return advice_on_setting("gpusort.max_work_mem", all, shape->processes);
	if (gpusort_work_mem != -1)
		return advice_on_setting("gpusort.work_mem", all, shape->processes);
	return advice_on_setting("work_mem", bytes / shape->processes, shape->processes);
}

/* ---------------------------------------------------------------- settings */

const char *
advice_to_take(DeclinedReason reason, const SortForecast *forecast)
{
	const char *force = "gpusort.mode = force would take the sort";

	switch (reason)
	{
		case DECLINED_FEW_ROWS:
		case DECLINED_LIMIT:
			return force;
		case DECLINED_COST:
			if (forecast != NULL && forecast->shape.device == DEVICE_CPU &&
				predict_gpusort_temp(&forecast->shape) > 0)
				return psprintf("%s; %s", advice_on_memory(&forecast->shape), force);
			return force;
		default:
			return NULL;
	}
}

const char *
advice_on_rival(RivalPlan rival)
{
	switch (rival)
	{
		case RIVAL_PLAN_WORKERS:
			return "max_parallel_workers_per_gather = 0 would avoid such groups";
		case RIVAL_PLAN_HASHED:
			return "enable_hashagg = off would avoid hashing";
		case RIVAL_PLAN_HASH_JOIN:
			return "enable_hashjoin = off would avoid the hash join";
		default:
			return NULL;
	}
}

/* ---------------------------------------------------------------- aggregates */

/* The call without DISTINCT and ORDER BY. */
static char *
deparse_plain_call(const Aggref *aggregate, List *context)
{
	Aggref *plain = copyObject(unconstify(Aggref *, aggregate));

	plain->aggdistinct = plain->aggorder = NIL;
	return deparse_expression((Node *) plain, context, false, true);
}

/* Do two aggregates sort by the same columns in the same way? */
static bool
sort_alike(const Aggref *a, const Aggref *b)
{
	const ListCell *of_a;
	const ListCell *of_b;

	if (list_length(a->aggorder) != list_length(b->aggorder))
		return false;
	forboth(of_a, a->aggorder, of_b, b->aggorder)
	{
		const SortGroupClause *x = lfirst(of_a);
		const SortGroupClause *y = lfirst(of_b);

		if (x->sortop != y->sortop || x->nulls_first != y->nulls_first ||
			!equal(get_sortgroupclause_expr(unconstify(SortGroupClause *, x), a->args),
				   get_sortgroupclause_expr(unconstify(SortGroupClause *, y), b->args)))
			return false;
	}
	return true;
}

/*
 * May the other aggregate of the node read what one sub-select returns for the first?  DISTINCT leaves rows
 * out for both.  An order of the other's own is one that PostgreSQL may bring all rows into, from 16 on.
 */
static bool
may_share_input(const Aggref *aggregate, const Aggref *other)
{
	if (aggregate->aggdistinct != NIL)
		return other->aggdistinct != NIL && other->aggfilter == NULL && equal(aggregate->args, other->args) &&
			   sort_alike(aggregate, other);
	return other->aggdistinct == NIL &&
		   (other->aggorder == NIL || other->aggkind != AGGKIND_NORMAL || sort_alike(aggregate, other));
}

/* Can the query be written with one sub-select for all of the node's aggregates? */
static bool
can_be_rewritten(const Aggref *aggregate, const AggregatePlace *place)
{
	const Agg *agg = place->agg;
	ListCell *cell;

	if (aggregate->aggkind != AGGKIND_NORMAL || aggregate->aggfilter != NULL || agg->groupingSets != NIL ||
		agg->chain != NIL || (agg->aggstrategy != AGG_PLAIN && !place->has_all_columns))
		return false;
	foreach(cell, place->aggregates)
	{
		if (!may_share_input(aggregate, lfirst_node(Aggref, cell)))
			return false;
	}
	return true;
}

/* Is the result of values in another order another one?  Not a count or a sum, of numbers or truth values. */
static bool
depends_on_order(const Aggref *aggregate)
{
	char category;
	bool is_preferred;

	if (aggregate->aggorder != NIL)
		return true;
	get_type_category_preferred(aggregate->aggtype, &category, &is_preferred);
	return category != TYPCATEGORY_NUMERIC && category != TYPCATEGORY_BOOLEAN;
}

/* What the sub-select returns to group by, and the names of it, each with a comma behind it. */
static void
name_groups(const Agg *agg, List *context, bool use_prefix, StringInfo columns, StringInfo names)
{
	for (int i = 0; i < agg->numCols; i++)
	{
		const char *column = deparse_input_column(agg->plan.lefttree, agg->grpColIdx[i], context, use_prefix);
		bool is_name = strspn(column, "abcdefghijklmnopqrstuvwxyz_0123456789") == strlen(column);
		const char *name = is_name ? column : psprintf("g%d", i + 1);

		appendStringInfo(columns, is_name ? "%s, " : "%s AS %s, ", column, name);
		appendStringInfo(names, "%s, ", name);
	}
}

/* Of a node that groups. */
static const char *
advice_with_groups(const Aggref *aggregate, const AggregatePlace *place, List *context, bool use_prefix,
				   const char *distinct)
{
	StringInfoData columns;
	StringInfoData names;

	initStringInfo(&columns);
	initStringInfo(&names);
	name_groups(place->agg, context, use_prefix, &columns, &names);
	return psprintf("%s FROM (SELECT %s%s...%s) AS s GROUP BY %s may be taken",
					deparse_plain_call(aggregate, context), distinct, columns.data,
					depends_on_order(aggregate) ? psprintf(" ORDER BY %s...", names.data) : "",
					pnstrdup(names.data, names.len - strlen(", ")));
}

/*
 * With groups the sub-select is ordered by them first.  Rows of a group come in that order then, whether
 * PostgreSQL hashes or finds its input in order; an order by the aggregate's columns alone would be lost
 * where it sorts by the groups.  Nor may it have a reason to sort in another way: an ORDER BY is to be
 * further out.
 */
const char *
advice_on_aggregate(const Aggref *aggregate, const AggregatePlace *place, List *context, bool use_prefix)
{
	const char *distinct = aggregate->aggdistinct != NIL ? "DISTINCT " : "";
	const char *advice;

	if (!can_be_rewritten(aggregate, place))
		return NULL;
	if (place->agg->numCols > 0)
	{
		advice = advice_with_groups(aggregate, place, context, use_prefix, distinct);
		if (!depends_on_order(aggregate) || !place->is_ordered)
			return advice;
		return psprintf("%s, with the ORDER BY in a query around it", advice);
	}
	return psprintf("%s FROM (SELECT %s...%s) AS s may be taken", deparse_plain_call(aggregate, context),
					distinct, depends_on_order(aggregate) ? " ORDER BY ..." : "");
}
