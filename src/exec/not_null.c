/*
 * exec/not_null.c
 *		Columns of a sort's input in which no row has a NULL.
 *
 * Those of a table's scan that the table declares NOT NULL, or for which the scan's condition is never true
 * if they are NULL.  It is found out when the executor starts, of the table itself, which is locked then: so
 * a plan need not be made anew when a constraint is dropped, and it is the partition or child that counts,
 * not its parent.  Nothing stands between sort and scan that could add NULLs, as an outer join does.
 *
 * A snapshot that is older than the constraint may see rows with a NULL, which somebody has changed or
 * deleted since; so the constraint counts if the scan's snapshot sees the catalogs' row that it is in.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

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

/*
 * Does this snapshot see a row of a catalog that says something of the table?  What this transaction has done
 * counts if it has made the table, too: else others may have changed rows after the snapshot was taken.
 */
static bool
is_seen(HeapTuple row, Relation table, Snapshot snapshot)
{
	TransactionId xmin = HeapTupleHeaderGetXmin(row->t_data);

	if (TransactionIdIsCurrentTransactionId(xmin))
		return table->rd_createSubid != InvalidSubTransactionId &&
			   HeapTupleHeaderGetCmin(row->t_data) < snapshot->curcid;
	return !XidInMVCCSnapshot(xmin, snapshot);
}

/* Does the table forbid NULLs there, and did it when this snapshot was taken? */
static bool
forbids_nulls(Relation table, AttrNumber column, Snapshot snapshot)
{
	HeapTuple row;
	bool seen;

	if (!table_forbids_nulls(table, column) || snapshot == NULL || snapshot->snapshot_type != SNAPSHOT_MVCC)
		return false;
	row = not_null_catalog_row(RelationGetRelid(table), column);
	if (row == NULL)
		return false;
	seen = is_seen(row, table, snapshot);
	heap_freetuple(row);
	return seen;
}

static bool
is_users_function(Oid function, void *context)
{
	return function >= FirstNormalObjectId;
}

/* Does an expression call a function that might be replaced? */
static bool
may_change(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return check_functions_in_node(node, is_users_function, context) ||
		   expression_tree_walker(node, may_change, context);
}

/*
 * The columns that are not NULL where the condition is true.  A user's function that is strict now may have
 * been replaced by another one when a worker begins.
 */
static List *
columns_proved(List *qual)
{
	List *lasting = NIL;
	ListCell *cell;

	foreach(cell, qual)
	{
		if (!may_change(lfirst(cell), NULL))
			lasting = lappend(lasting, lfirst(cell));
	}
	return find_nonnullable_vars((Node *) lasting);
}

/* Is the table's column one in which no row that the scan returns has a NULL? */
static bool
is_never_null(const ScanState *state, AttrNumber column, List *proved)
{
	Relation table = state->ss_currentRelation;
	Index scanrelid = ((const Scan *) state->ps.plan)->scanrelid;

	if (column == 0)
		return false;
	return nonnullable_vars_contain(proved, scanrelid, column) ||
		   forbids_nulls(table, column, state->ps.state->es_snapshot);
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
	proved = columns_proved(scan->plan.qual);
	for (int i = 0; i < ncolumns; i++)
	{
		AttrNumber column = table_column(scan, columns[i].attno);

		columns[i].not_null = is_never_null(state, column, proved);
	}
}
