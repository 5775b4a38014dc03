/*
 * plan/first_of_groups.c
 *		Whether the node above a GpuSort wants only the first rows of each group of them.
 *
 * The columns of the groups must be the first columns of the sort, all of them: then rows of a group come one
 * after the other, and what is left out comes after what is wanted.  Ranks also ask that the sort's other
 * columns are those of the window: rows that are equal for the window must be equal for the sort.
 *
 * PostgreSQL makes a run condition of a condition on the number of a row, if nobody above sees the rows that
 * it leaves out.  Only the topmost window does not return such rows.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "base/pg_compat.h"
#include "plan/first_of_groups.h"
#include "plan/agg_input.h"
#include "plan/plan_walk.h"
#include "plan/sort_columns.h"
#include "plan/sort_plan.h"
#include "plan/window_plan.h"

/* ---------------------------------------------------------------- windows */

/* A window, be it a WindowAgg or a GpuWindow in its place. */
typedef struct Window
{
	WindowColumns partition;
	WindowColumns order;
	List *conditions; /* on numbers of rows */
	List *output;	  /* TargetEntries that the columns in conditions refer to */
} Window;

static Window
window_of_gpuwindow(const CustomScan *plan)
{
	return (Window){.partition = window_plan_partition(plan),
					.order = window_plan_order(plan),
					.conditions = window_plan_run_condition(plan),
					.output = plan->custom_scan_tlist};
}

static Window
window_of(const WindowAgg *window)
{
	return (
		Window){.partition = {window->partNumCols, window->partColIdx, window->partOperators,
							  window->partCollations},
				.order = {window->ordNumCols, window->ordColIdx, window->ordOperators, window->ordCollations},
				.conditions = window->runCondition,
				.output = window->plan.targetlist};
}

/* The function whose result this column is, as a WindowAgg's output or a GpuWindow's scan tuple has it. */
static Oid
function_of(const Node *column, List *output)
{
	const Expr *expr;

	if (!IsA(column, Var) || ((const Var *) column)->varattno > list_length(output))
		return InvalidOid;
	expr = list_nth_node(TargetEntry, output, ((const Var *) column)->varattno - 1)->expr;
	if (IsA(expr, WindowFunc))
		return ((const WindowFunc *) expr)->winfnoid;
	return IsA(expr, FuncExpr) ? ((const FuncExpr *) expr)->funcid : InvalidOid;
}

/* Are numbers below its other side wanted (or not above it), if this operator is true? */
static bool
compares_below(Oid operator, bool swapped, bool *below)
{
	int less = swapped ? BTGreaterStrategyNumber : BTLessStrategyNumber;
	int or_equal = swapped ? BTGreaterEqualStrategyNumber : BTLessEqualStrategyNumber;
	int strategy = get_op_opfamily_strategy(operator, INTEGER_BTREE_FAM_OID);

	*below = strategy == less;
	return strategy == less || strategy == or_equal;
}

/* What a condition says of the rows of each group; false: nothing that a sort could use. */
static bool
rows_of_condition(const Node *condition, List *output, GroupsWanted *wanted, bool *ranks)
{
	const OpExpr *comparison = (const OpExpr *) condition;
	bool swapped;
	Node *limit;
	Oid function;

	if (!IsA(condition, OpExpr) || list_length(comparison->args) != 2)
		return false;
	swapped = IsA(lsecond(comparison->args), Var);
	limit = swapped ? linitial(comparison->args) : lsecond(comparison->args);
	if ((!IsA(limit, Const) && !IsA(limit, Param)) ||
		!compares_below(comparison->opno, swapped, &wanted->below))
		return false;
	function = function_of(swapped ? lsecond(comparison->args) : linitial(comparison->args), output);
	wanted->limit = (Expr *) limit;
	wanted->type = exprType(limit);
	wanted->kind = function == F_ROW_NUMBER ? GROUP_ROW_NUMBERS
				   : function == F_RANK_	? GROUP_RANKS
											: GROUP_DENSE_RANKS;
	*ranks = function != F_ROW_NUMBER;
	return function == F_ROW_NUMBER || function == F_RANK_ || function == F_DENSE_RANK_;
}

/* Does `one` ask for fewer rows of each group than `other`, as far as the plan tells? */
static bool
wants_fewer(const GroupsWanted *one, const GroupsWanted *other)
{
	if (!first_of_groups_is_known(one) || !first_of_groups_is_known(other))
		return first_of_groups_is_known(one);
	return first_of_groups_in_plan(one).n < first_of_groups_in_plan(other).n;
}

/* The condition that leaves the fewest rows of each group: versions list them in different orders. */
static bool
wanted_by_window(const Window *window, const Plan *sort, GroupsWanted *wanted)
{
	bool found = false;
	ListCell *cell;

	foreach(cell, window->conditions)
	{
		GroupsWanted by;
		bool ranks;

		if (!rows_of_condition(lfirst(cell), window->output, &by, &ranks))
			continue;
		by.columns = sort_columns_of_groups(sort, &window->partition, ranks ? &window->order : NULL);
		if (by.columns < 0 || (found && !wants_fewer(&by, wanted)))
			continue;
		*wanted = by;
		found = true;
	}
	return found;
}

/* ---------------------------------------------------------------- all of them */

/* The first row of each group of equal rows. */
static bool
wanted_one(WindowColumns groups, const Plan *sort, GroupsWanted *wanted)
{
	*wanted =
		(GroupsWanted){.kind = GROUP_ROW_NUMBERS, .columns = sort_columns_of_groups(sort, &groups, NULL)};
	return wanted->columns > 0;
}

/* Of all columns of the sort. */
static bool
wanted_one_of_equal(const Plan *sort, GroupsWanted *wanted)
{
	*wanted = (GroupsWanted){.kind = GROUP_ROW_NUMBERS};
	(void) sort_plan_columns(sort, &wanted->columns);
	return true;
}

bool
first_of_groups(const PlannedStmt *stmt, const Plan *above, const Plan *sort, GroupsWanted *wanted)
{
	Window window;

	switch (nodeTag(above))
	{
		case T_Unique:
		{
			const Unique *unique = (const Unique *) above;

			return wanted_one((WindowColumns){unique->numCols, unique->uniqColIdx, unique->uniqOperators,
											  unique->uniqCollations},
							  sort, wanted);
		}
		case T_Group:
		{
			const Group *group = (const Group *) above;

			return wanted_one((WindowColumns){group->numCols, group->grpColIdx, group->grpOperators,
											  group->grpCollations},
							  sort, wanted);
		}
		case T_WindowAgg:
			/* a volatile output would be computed for fewer rows */
			if (!((const WindowAgg *) above)->topWindow || !window_plan_numbers_rows(above) ||
				expression_is_volatile(stmt->subplans, above->targetlist))
				return false;
			window = window_of((const WindowAgg *) above);
			return wanted_by_window(&window, sort, wanted);
		default:
			if (agg_input_is(above) && agg_input_drops_equal((const CustomScan *) above))
				return wanted_one_of_equal(sort, wanted);
			if (!window_plan_is_window(above) || !window_plan_is_top((const CustomScan *) above) ||
				!window_plan_numbers_rows(above))
				return false;
			window = window_of_gpuwindow((const CustomScan *) above);
			return wanted_by_window(&window, sort, wanted);
	}
}

FirstOfGroups
first_of_groups_by(const GroupsWanted *wanted, Datum limit, bool isnull)
{
	FirstOfGroups first = {.n = 1, .kind = wanted->kind, .columns = wanted->columns};
	int64 number = 0;

	if (wanted->limit == NULL)
		return first;
	/* without a limit no row is wanted, but one */
	if (!isnull)
		number = wanted->type == INT8OID   ? DatumGetInt64(limit)
				 : wanted->type == INT4OID ? DatumGetInt32(limit)
										   : DatumGetInt16(limit);
	if (wanted->below && number > 0)
		number--;
	first.n = Max(number, 1);
	return first;
}

bool
first_of_groups_is_known(const GroupsWanted *wanted)
{
	return wanted->limit == NULL || IsA(wanted->limit, Const);
}

FirstOfGroups
first_of_groups_in_plan(const GroupsWanted *wanted)
{
	const Const *limit = (const Const *) wanted->limit;

	if (limit == NULL || !IsA(limit, Const))
		return first_of_groups_by(wanted, (Datum) 0, true);
	return first_of_groups_by(wanted, limit->constvalue, limit->constisnull);
}
