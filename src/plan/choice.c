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
#include "plan/predict.h"
#include "plan/predict_gpusort.h"
#include "plan/predict_postgres.h"
#include "plan/window_plan.h"
#include "plan/shape.h"
#include "plan/sort_plan.h"

/* ---------------------------------------------------------------- decisions */

bool
sort_has_rows_enough(double rows)
{
	return gpusort_mode == GPUSORT_MODE_FORCE ||
		   (gpusort_mode == GPUSORT_MODE_AUTO && rows >= gpusort_min_rows);
}

static bool
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
		   (IsA(parent, ForeignScan) ||
			(IsA(parent, CustomScan) && !sort_plan_is_gpusort(parent) && !sort_plan_is_feed(parent) &&
			 !sort_plan_is_ranges(parent) && !window_plan_is_window(parent)));
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

/* What becomes of a sort. */
typedef enum Verdict
{
	TAKEN,
	FEW_ROWS,
	IMPOSSIBLE,	   /* its place or its columns do not allow a GpuSort */
	GONE_BACK_IN,  /* a merge join would go back in temporary files */
	WRITES_MORE,   /* clearly more temporary files than PostgreSQL's sort */
	SAVES_LITTLE,  /* in the whole plan */
	PARTLY_SORTED, /* an incremental sort is cheaper */
	LIMITED,	   /* a LIMIT keeps few rows */
	SLOWER
} Verdict;

/* The category of a sort that is possible and is declined. */
static DeclinedReason
reason_of(Verdict verdict)
{
	if (verdict == FEW_ROWS)
		return DECLINED_FEW_ROWS;
	return verdict == LIMITED ? DECLINED_LIMIT : DECLINED_COST;
}

static Verdict
verdict_by_forecast(const SortForecast *forecast, const Plan *sort, List *ancestors)
{
	const SortShape *shape = &forecast->postgres_shape;
	double temp = predict_gpusort_temp(&forecast->shape);

	if (gpusort_mode == GPUSORT_MODE_AUTO && temp > 0 && is_gone_back_in(sort, ancestors))
		return GONE_BACK_IN;
	if (gpusort_mode == GPUSORT_MODE_AUTO &&
		!is_worth_files(forecast->expected.ms, forecast->expected.postgres_ms) &&
		temp_is_clearly_more(temp, predict_postgres_temp(shape)))
		return WRITES_MORE;
	if (gpusort_mode == GPUSORT_MODE_FORCE || forecast_is_faster(forecast))
		return TAKEN;
	if (forecast->expected.ms < forecast->expected.postgres_ms && !forecast_is_worth(forecast))
		return SAVES_LITTLE;
	if (IsA(sort, IncrementalSort))
		return PARTLY_SORTED;
	return shape->wanted >= 0 && shape->wanted < shape->rows ? LIMITED : SLOWER;
}

/*
 * Fills the forecast if there are rows enough and the place allows a GpuSort; why_not if the verdict is
 * IMPOSSIBLE.  The keys are described late, because that may open collations.
 */
static Verdict
verdict_of(const PlannedStmt *stmt, const Plan *sort, List *ancestors, SortForecast *forecast,
		   Declined *why_not)
{
	double rows = plan_likely_rows(stmt, sort);

	if (!sort_has_rows_enough(rows))
		return FEW_ROWS;
	if (!place_supported(ancestors, why_not) ||
		!forecast_sort(forecast, stmt, sort, ancestors, rows, why_not))
		return IMPOSSIBLE;
	return verdict_by_forecast(forecast, sort, ancestors);
}

bool
sort_to_be_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors, SortForecast *forecast,
				 DeclinedReason *reason)
{
	Declined why_not;
	Verdict verdict = verdict_of(stmt, sort, ancestors, forecast, &why_not);

	if (verdict == TAKEN)
		return true;
	*reason = verdict == IMPOSSIBLE ? why_not.reason : reason_of(verdict);
	return false;
}

/* ---------------------------------------------------------------- reasons in words */

/* Fills *why_not, in words for a person. */
static bool
decline(Verdict verdict, const SortForecast *forecast, Declined *why_not)
{
	const SortShape *shape = &forecast->postgres_shape;
	double temp = predict_gpusort_temp(&forecast->shape) / 1e6;

	switch (verdict)
	{
		case GONE_BACK_IN:
			return declined_because(why_not, DECLINED_COST,
									psprintf("about %.0f MB of temporary files are expected here, and a "
											 "merge join would go back in them",
											 temp));
		case WRITES_MORE:
			return declined_because(why_not, DECLINED_COST,
									psprintf("about %.0f MB of temporary files are expected here, and "
											 "%.0f MB with PostgreSQL's own sort",
											 temp, predict_postgres_temp(shape) / 1e6));
		case SAVES_LITTLE:
			return declined_because(
				why_not, DECLINED_COST,
				psprintf("about %.1f ms of %.1f ms would be saved: too little to change the plan",
						 forecast->expected.postgres_ms - forecast->expected.ms,
						 Max(PLAN_UNIT_MS * forecast->plan_cost,
							 forecast->input_ms + forecast->expected.postgres_ms)));
		case PARTLY_SORTED:
			return declined_because(
				why_not, DECLINED_COST,
				"the input is in order by its first columns: an incremental sort is expected to be cheaper");
		case LIMITED:
			return declined_because(why_not, DECLINED_LIMIT,
									psprintf("the LIMIT keeps %.0f of about %.0f rows: PostgreSQL's own sort "
											 "is expected to be cheaper",
											 shape->wanted, shape->rows));
		case SLOWER:
			return declined_because(why_not, DECLINED_COST,
									"PostgreSQL's own sort is expected to be cheaper");
		default:
			return declined_because(why_not, DECLINED_KIND,
									"another extension made the plan without calling gpusort's planner_hook");
	}
}

Declined
sort_why_not_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors)
{
	Declined why_not;
	SortForecast forecast;
	Verdict verdict;

	if (!columns_supported(sort, &why_not) || !sort_worth_taking(plan_likely_rows(stmt, sort), &why_not))
		return why_not;
	verdict = verdict_of(stmt, sort, ancestors, &forecast, &why_not);
	if (verdict != IMPOSSIBLE)
		(void) decline(verdict, &forecast, &why_not);
	return why_not;
}
