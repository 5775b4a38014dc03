/*
 * exec/not_null.c
 *		Columns of a sort's input in which no row has a NULL.
 *
 * Those of a table's scan that the table declares NOT NULL, or for which the scan's condition is never true
 * if they are NULL.  It is found out when the sort begins, of the table itself, which is locked then: so a
 * plan need not be made anew when a constraint is dropped, and it is the partition or child that counts, not
 * its parent.  Nothing stands between sort and scan that could add NULLs, as an outer join does.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "optimizer/clauses.h"
#include "utils/rel.h"

#include "base/pg_compat.h"
#include "exec/not_null.h"
#include "plan/sort_plan.h"

/* The scan of a table whose rows these are, or NULL. */
static ScanState *
scan_of_table(PlanState *input)
{
	if (IsA(input, GatherState) && sort_plan_is_feed(outerPlan(input->plan)))
		input = outerPlanState(outerPlanState(input));
	switch (nodeTag(input))
	{
		case T_SeqScanState:
		case T_SampleScanState:
		case T_IndexScanState:
		case T_BitmapHeapScanState:
		case T_TidScanState:
		case T_TidRangeScanState:
			return (ScanState *) input;
		default:
			return NULL;
	}
}

/* The table's column that this one of the scan's output is, as it stands; 0: none. */
static AttrNumber
table_column(const Scan *scan, AttrNumber attno)
{
	const Expr *expr = list_nth_node(TargetEntry, scan->plan.targetlist, attno - 1)->expr;
	const Var *var = (const Var *) expr;

	return IsA(expr, Var) && (Index) var->varno == scan->scanrelid && var->varattno > 0 ? var->varattno : 0;
}

/* Is the table's column one in which no row that the scan returns has a NULL? */
static bool
is_never_null(const ScanState *state, AttrNumber column, List *proved)
{
	Relation table = state->ss_currentRelation;
	Index scanrelid = ((const Scan *) state->ps.plan)->scanrelid;

	if (column == 0 || column_may_be_lost(table, column))
		return false;
	return table_forbids_nulls(table, column) || nonnullable_vars_contain(proved, scanrelid, column);
}

void
not_null_columns(PlanState *input, int ncolumns, SortColumnSpec *columns)
{
	ScanState *state = scan_of_table(input);
	const Scan *scan;
	List *proved;

	if (state == NULL)
		return;
	scan = (const Scan *) state->ps.plan;
	proved = find_nonnullable_vars((Node *) scan->plan.qual);
	for (int i = 0; i < ncolumns; i++)
	{
		AttrNumber column = table_column(scan, columns[i].attno);

		columns[i].not_null = is_never_null(state, column, proved);
	}
}
