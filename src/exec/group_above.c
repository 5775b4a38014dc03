/*
 * exec/group_above.c
 *		The node above a GpuSort, if it wants only the first rows of each group of them.
 *
 * plan/first_of_groups.c says what is wanted.  The limit may be a parameter, which has its value when the
 * first row is wanted.  A sub-select that has not run yet is not run for this: PostgreSQL runs it only if
 * there is a row.
 */
#include "postgres.h"

#include "executor/executor.h"

#include "exec/group_above.h"

struct GroupAbove
{
	GroupsWanted wanted;
	ExprState *limit; /* NULL: one row */
};

GroupAbove *
group_above_find(PlanState *parent, PlanState *sort)
{
	GroupsWanted wanted = {.limit = NULL};
	GroupAbove *above;

	if (parent == NULL || !first_of_groups(sort->state->es_plannedstmt, parent->plan, sort->plan, &wanted))
		return NULL;
	above = palloc(sizeof(GroupAbove));
	above->wanted = wanted;
	above->limit = wanted.limit != NULL ? ExecInitExpr(wanted.limit, sort) : NULL;
	return above;
}

const GroupsWanted *
group_above_wanted(const GroupAbove *above)
{
	return above != NULL ? &above->wanted : NULL;
}

/* Is it the result of a sub-select that has not run yet? */
static bool
is_unknown(const Expr *limit, const EState *estate)
{
	return limit != NULL && IsA(limit, Param) && ((const Param *) limit)->paramkind == PARAM_EXEC &&
		   estate->es_param_exec_vals[((const Param *) limit)->paramid].execPlan != NULL;
}

/* The first rows of the only group are the first rows of all. */
static void
want_rows(RowsWanted *wanted, const FirstOfGroups *first)
{
	if (first->kind == GROUP_DENSE_RANKS || wanted->rows != 0)
		return;
	wanted->rows = first->n;
	wanted->with_ties = first->kind == GROUP_RANKS;
}

void
group_above_evaluate(const GroupAbove *above, PlanState *sort, RowsWanted *wanted)
{
	FirstOfGroups first;
	Datum limit = 0;
	bool isnull = false;

	if (above == NULL || is_unknown(above->wanted.limit, sort->state))
		return;
	if (above->limit != NULL)
		limit = ExecEvalExprSwitchContext(above->limit, sort->ps_ExprContext, &isnull);
	first = first_of_groups_by(&above->wanted, limit, isnull);
	if (first.columns == 0)
		want_rows(wanted, &first);
	else
		wanted->first = first;
}
