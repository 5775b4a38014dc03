/*
 * plan/choice.c
 *		Which sorts are worth taking, and why those of a finished plan were not taken.
 *
 * The planner's part in gpusort (planner.c) and whoever tells a person about it decide by the same
 * predicates, so that the reason given is the reason there was.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "base/guc.h"
#include "monitor/counters.h"
#include "plan/choice.h"
#include "plan/plan_walk.h"
#include "plan/shape.h"
#include "plan/sort_plan.h"
#include "service/state.h"

/* ---------------------------------------------------------------- decisions */

bool
sort_worth_taking(double rows, Declined *why_not)
{
	if (gpusort_mode == GPUSORT_MODE_OFF)
		return declined_because(why_not, DECLINED_MODE_OFF, "gpusort.mode is off");
	if (gpusort_mode == GPUSORT_MODE_AUTO && rows < gpusort_min_rows)
		return declined_because(why_not, DECLINED_FEW_ROWS,
								psprintf("about %.0f rows are expected, gpusort.min_rows is %d", rows,
										 gpusort_min_rows));
	return true;
}

bool
sort_may_use_gpu(void)
{
	return gpusort_backend == GPUSORT_BACKEND_CUDA ||
		   (gpusort_backend == GPUSORT_BACKEND_AUTO && gpu_service_ready());
}

bool
sort_repeats_volatile(List *exprs)
{
	if (!contain_volatile_functions((Node *) exprs))
		return false;
	for (int i = 0; i < list_length(exprs); i++)
	{
		Node *expr = list_nth(exprs, i);

		if (!contain_volatile_functions(expr))
			continue;
		for (int j = 0; j < i; j++)
		{
			if (equal(list_nth(exprs, j), expr))
				return true;
		}
	}
	return false;
}

/* ---------------------------------------------------------------- finished plans */

/* What the sort is for, if that is not an ORDER BY; else NULL. */
static const char *
purpose(const Plan *parent)
{
	if (parent == NULL)
		return NULL;
	switch (nodeTag(parent))
	{
		case T_MergeJoin:
			return "a merge join";
		case T_Agg:
		case T_Group:
			return "GROUP BY or DISTINCT";
		case T_Unique:
			return "DISTINCT or UNION";
		case T_WindowAgg:
			return "a window function";
		case T_SetOp:
			return "INTERSECT or EXCEPT";
		case T_MergeAppend:
			return "a merge of several inputs";
		default:
			return NULL;
	}
}

/* Is one of the plans a Gather or Gather Merge? */
static bool
is_parallel(List *ancestors)
{
	ListCell *cell;

	foreach(cell, ancestors)
	{
		if (IsA(lfirst(cell), Gather) || IsA(lfirst(cell), GatherMerge))
			return true;
	}
	return false;
}

/* Do the columns that the plan puts out compute one volatile expression twice? */
static bool
output_repeats_volatile(const Plan *plan)
{
	List *exprs = NIL;
	ListCell *cell;

	foreach(cell, plan->targetlist)
		exprs = lappend(exprs, lfirst_node(TargetEntry, cell)->expr);
	return sort_repeats_volatile(exprs);
}

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

Declined
sort_why_not_taken(const Plan *sort, List *ancestors)
{
	const char *use = purpose(ancestors != NIL ? linitial(ancestors) : NULL);
	double wanted = shape_rows_wanted(ancestors);
	Declined why_not = {.reason = DECLINED_COST};

	if (!columns_supported(sort, &why_not) || !sort_worth_taking(shape_rows(sort, ancestors), &why_not))
		return why_not;
	if (use != NULL)
	{
		why_not.reason = DECLINED_PURPOSE;
		why_not.words = psprintf("the sort is for %s; only sorts for ORDER BY are taken", use);
	}
	else if (output_repeats_volatile(sort->lefttree))
	{
		why_not.reason = DECLINED_VOLATILE;
		why_not.words = "the sort's input computes one volatile expression twice";
	}
	else if (wanted >= 0 && wanted < shape_rows(sort, ancestors))
	{
		why_not.reason = DECLINED_LIMIT;
		why_not.words = psprintf(
			"the LIMIT keeps %.0f of about %.0f rows: PostgreSQL's own sort is expected to be cheaper",
			wanted, shape_rows(sort, ancestors));
	}
	else if (IsA(sort, IncrementalSort))
		why_not.words =
			"the input is in order by its first columns: an incremental sort is expected to be cheaper";
	else if (is_parallel(ancestors))
		why_not.words = "PostgreSQL's parallel plan is expected to be cheaper";
	else
		why_not.words = "PostgreSQL's own sort is expected to be cheaper";
	return why_not;
}

/* Asks for the keys last, for that may open collations: not worth it in each plan of a small query. */
static void
count_node(Plan *plan, List *ancestors, void *context)
{
	Declined why_not;

	if (!IsA(plan, Sort) && !IsA(plan, IncrementalSort))
		return;
	if (sort_worth_taking(shape_rows(plan, ancestors), &why_not))
		why_not = sort_why_not_taken(plan, ancestors);
	stats_count_declined(why_not.reason);
}

void
sort_count_declined(const PlannedStmt *stmt)
{
	ListCell *cell;

	plan_walk(stmt->planTree, NIL, count_node, NULL);
	foreach(cell, stmt->subplans)
		plan_walk(lfirst(cell), NIL, count_node, NULL);
}
