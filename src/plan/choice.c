/*
 * plan/choice.c
 *		Which sorts are worth taking, and why those of a finished plan were not taken.
 *
 * Who offers or takes sorts (planner.c, take_sorts.c) and who tells a person about it (check.c) decide by the
 * same predicates, so that the reason given is the reason there was.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/optimizer.h"

#include "base/guc.h"
#include "key/supported.h"
#include "plan/choice.h"
#include "plan/cost.h"
#include "plan/likely_rows.h"
#include "plan/plan_walk.h"
#include "plan/rank_plan.h"
#include "plan/shape.h"
#include "plan/sort_plan.h"

/* ---------------------------------------------------------------- decisions */

bool
sort_has_rows_enough(double rows)
{
	return gpusort_mode == GPUSORT_MODE_FORCE ||
		   (gpusort_mode == GPUSORT_MODE_AUTO && rows >= gpusort_min_rows);
}

bool
sort_worth_taking(double rows, Declined *why_not)
{
	if (gpusort_mode == GPUSORT_MODE_OFF)
		return declined_because(why_not, DECLINED_MODE_OFF, "gpusort.mode is off");
	if (!sort_has_rows_enough(rows))
		return declined_because(why_not, DECLINED_FEW_ROWS,
								psprintf("%s expected, and gpusort.min_rows is %d",
										 rint(rows) == 1 ? "one row is"
														 : psprintf("about %.0f rows are", rows),
										 gpusort_min_rows));
	return true;
}

bool
sort_repeats_volatile(List *exprs)
{
	for (int i = 0; i < list_length(exprs); i++)
	{
		Node *expr = list_nth(exprs, i);

		for (int j = 0; j < i && !IsA(expr, Var); j++)
		{
			if (equal(list_nth(exprs, j), expr) && contain_volatile_functions(expr))
				return true;
		}
	}
	return false;
}

/* ---------------------------------------------------------------- finished plans */

/* May a node above look at which kind of node its input is? */
static bool
belongs_to_another(List *ancestors)
{
	const Plan *parent = ancestors != NIL ? linitial(ancestors) : NULL;

	return parent != NULL &&
		   (IsA(parent, ForeignScan) || (IsA(parent, CustomScan) && !sort_plan_is_gpusort(parent) &&
										 !sort_plan_is_feed(parent) && !rank_plan_is_rank(parent)));
}

/* Can keys be made of the columns of this sort? */
static bool
columns_supported(const Plan *sort, Declined *why_not)
{
	int ncolumns;
	SortColumnSpec *columns = sort_plan_columns(sort, &ncolumns);

	for (int i = 0; i < ncolumns; i++)
	{
		bool verified;

		if (!sort_key_supported_if_verified(&columns[i], &verified, why_not))
			return false;
	}
	return true;
}

/* Does the place where the sort stands let a GpuSort stand there? */
static bool
place_supported(List *ancestors, Declined *why_not)
{
	if (belongs_to_another(ancestors))
		return declined_because(why_not, DECLINED_KIND, "the sort is the input of another extension's scan");
	return true;
}

/* Is it what a merge join goes back in, without a Material above it? */
static bool
is_gone_back_in(const Plan *sort, List *ancestors)
{
	const Plan *parent = ancestors != NIL ? linitial(ancestors) : NULL;

	return parent != NULL && IsA(parent, MergeJoin) && parent->righttree == sort &&
		   !((const MergeJoin *) parent)->skip_mark_restore;
}

/* Is it, by the mode and the forecast, one to be taken? */
static bool
forecast_favours(const SortForecast *forecast, const Plan *sort, List *ancestors, Declined *why_not)
{
	const SortShape *shape = &forecast->postgres_shape;
	double our_temp = predict_gpusort_temp(&forecast->shape);
	double temp = predict_postgres_temp(shape);

	if (gpusort_mode == GPUSORT_MODE_AUTO && our_temp > 0 && is_gone_back_in(sort, ancestors))
		return declined_because(why_not, DECLINED_COST,
								psprintf("about %.0f MB of temporary files are expected here, and a "
										 "merge join would go back in them",
										 our_temp / 1e6));
	if (gpusort_mode == GPUSORT_MODE_AUTO &&
		!is_worth_files(forecast->expected.ms, forecast->expected.postgres_ms) &&
		temp_is_clearly_more(our_temp, temp))
		return declined_because(
			why_not, DECLINED_COST,
			psprintf(
				"about %.0f MB of temporary files are expected here, and %.0f MB with PostgreSQL's own sort",
				our_temp / 1e6, temp / 1e6));
	if (gpusort_mode == GPUSORT_MODE_FORCE || forecast_is_faster(forecast))
		return true;
	if (forecast->expected.ms < forecast->expected.postgres_ms && !forecast_is_worth(forecast))
		return declined_because(
			why_not, DECLINED_COST,
			psprintf("about %.1f ms of %.1f ms would be saved: too little to change the plan",
					 forecast->expected.postgres_ms - forecast->expected.ms,
					 Max(PLAN_UNIT_MS * forecast->plan_cost,
						 forecast->input_ms + forecast->expected.postgres_ms)));
	if (IsA(sort, IncrementalSort))
		return declined_because(
			why_not, DECLINED_COST,
			"the input is in order by its first columns: an incremental sort is expected to be cheaper");
	if (shape->wanted >= 0 && shape->wanted < shape->rows)
		return declined_because(
			why_not, DECLINED_LIMIT,
			psprintf(
				"the LIMIT keeps %.0f of about %.0f rows: PostgreSQL's own sort is expected to be cheaper",
				shape->wanted, shape->rows));
	return declined_because(why_not, DECLINED_COST, "PostgreSQL's own sort is expected to be cheaper");
}

/* Asks for the keys late, for that may open collations. */
bool
sort_to_be_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors, SortForecast *forecast,
				 Declined *why_not)
{
	return sort_worth_taking(plan_likely_rows(stmt, sort), why_not) && place_supported(ancestors, why_not) &&
		   forecast_sort(forecast, stmt, sort, ancestors, why_not) &&
		   forecast_favours(forecast, sort, ancestors, why_not);
}

Declined
sort_why_not_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors)
{
	Declined why_not;
	SortForecast forecast;

	if (columns_supported(sort, &why_not) && sort_to_be_taken(stmt, sort, ancestors, &forecast, &why_not))
		(void) declined_because(&why_not, DECLINED_KIND,
								"another extension made the plan without calling gpusort's planner_hook");
	return why_not;
}
