/*
 * plan/rank_plan.c
 *		The plan node GpuRank: a WindowAgg that numbers rows, in a CustomScan.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"

#include "base/pg_compat.h"
#include "plan/plan_walk.h"
#include "plan/rank_plan.h"
#include "plan/sort_plan.h"

/* Members of custom_private. */
enum
{
	PRIVATE_FUNCTIONS, /* list of oids */
	PRIVATE_WINDOW	   /* a WindowAgg with nothing but its columns, and whether it is the topmost one */
};

static const CustomScanMethods *node_methods;

void
rank_plan_register(const CustomScanMethods *methods)
{
	node_methods = methods;
	RegisterCustomScanMethods(methods);
}

/* ---------------------------------------------------------------- which windows */

/* What is found in the expressions of a window. */
typedef struct WindowFunctions
{
	List *oids; /* each once */
	bool others;
} WindowFunctions;

static bool
numbers_rows(const WindowFunc *function)
{
	return (function->winfnoid == F_ROW_NUMBER || function->winfnoid == F_RANK_ ||
			function->winfnoid == F_DENSE_RANK_) &&
		   function->aggfilter == NULL && !windowfunc_has_null_treatment(function);
}

static bool
find_functions(Node *node, void *arg)
{
	WindowFunctions *found = arg;

	if (node == NULL)
		return false;
	if (!IsA(node, WindowFunc))
		return expression_tree_walker(node, find_functions, found);
	found->oids = list_append_unique_oid(found->oids, ((WindowFunc *) node)->winfnoid);
	found->others |= !numbers_rows((WindowFunc *) node);
	return false;
}

static WindowFunctions
functions_of(const WindowAgg *window)
{
	WindowFunctions found = {NIL, false};

	(void) find_functions((Node *) window->plan.targetlist, &found);
	(void) find_functions((Node *) window->plan.qual, &found);
	return found;
}

bool
rank_plan_numbers_rows(const WindowAgg *window)
{
	WindowFunctions functions = functions_of(window);

	return !functions.others && functions.oids != NIL;
}

/*
 * A WindowAgg computes its output also of rows that it then leaves out, which shows if that is volatile; and
 * it raises errors about the offsets of a frame that nobody looks at.
 */
bool
rank_plan_is_possible(const PlannedStmt *stmt, const WindowAgg *window)
{
	WindowFunctions functions;

	if (!FLOAT8PASSBYVAL || window->startOffset != NULL || window->endOffset != NULL)
		return false;
	functions = functions_of(window);
	if (functions.others || functions.oids == NIL)
		return false;
	return (window->runCondition == NIL && window->plan.qual == NIL) ||
		   !expression_is_volatile(stmt->subplans, window->plan.targetlist);
}

/* ---------------------------------------------------------------- making the node */

/* The scan tuple: columns of the input, and then the results of functions. */
typedef struct ScanTuple
{
	List *input; /* TargetEntries */
	List *functions;
} ScanTuple;

static Expr *
result_column(const WindowFunc *function, const ScanTuple *tuple)
{
	int column = list_length(tuple->input) + 1;
	ListCell *cell;

	foreach(cell, tuple->functions)
	{
		if (lfirst_oid(cell) == function->winfnoid)
			break;
		column++;
	}
	return (Expr *) makeVar(INDEX_VAR, column, INT8OID, -1, InvalidOid, 0);
}

/* Has columns of the scan tuple in the place of the input's, and of functions. */
static Node *
refer_to_tuple(Node *node, void *tuple)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, WindowFunc))
		return (Node *) result_column((WindowFunc *) node, tuple);
	if (IsA(node, Var))
	{
		Var *column = copyObject((Var *) node);

		column->varno = INDEX_VAR;
		return (Node *) column;
	}
	return expression_tree_mutator(node, refer_to_tuple, tuple);
}

/*
 * Has the output's expressions (arg) in the place of its columns, to which setrefs.c has made a run condition
 * refer: a GpuRank computes no output of a row that it leaves out.
 */
static Node *
expand_output(Node *node, void *arg)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return copyObject((Node *) list_nth_node(TargetEntry, arg, ((Var *) node)->varattno - 1)->expr);
	return expression_tree_mutator(node, expand_output, arg);
}

/*
 * The scan tuple as the node has it.  For EXPLAIN, which does not know what window a function belongs to, the
 * functions are plain ones.
 */
static List *
tuple_columns(const ScanTuple *tuple)
{
	List *columns = plan_refer_to_columns(tuple->input, OUTER_VAR);
	ListCell *cell;

	foreach(cell, tuple->functions)
	{
		Expr *function = (Expr *) makeFuncExpr(lfirst_oid(cell), INT8OID, NIL, InvalidOid, InvalidOid,
											   COERCE_EXPLICIT_CALL);

		columns = lappend(columns, makeTargetEntry(function, list_length(columns) + 1, NULL, false));
	}
	return columns;
}

/* What of the window the node tells. */
static WindowAgg *
window_columns(const WindowAgg *window)
{
	WindowAgg *columns = makeNode(WindowAgg);

	columns->partNumCols = window->partNumCols;
	columns->partColIdx = window->partColIdx;
	columns->partOperators = window->partOperators;
	columns->partCollations = window->partCollations;
	columns->ordNumCols = window->ordNumCols;
	columns->ordColIdx = window->ordColIdx;
	columns->ordOperators = window->ordOperators;
	columns->ordCollations = window->ordCollations;
	columns->topWindow = window->topWindow;
	return columns;
}

CustomScan *
rank_plan_from_window(const WindowAgg *window)
{
	CustomScan *plan = makeNode(CustomScan);
	ScanTuple tuple = {window->plan.lefttree->targetlist, functions_of(window).oids};
	Node *run_condition = expand_output((Node *) window->runCondition, window->plan.targetlist);

	plan->scan.plan = window->plan;
	NodeSetTag(plan, T_CustomScan);
	plan->scan.plan.targetlist = (List *) refer_to_tuple((Node *) window->plan.targetlist, &tuple);
	plan->scan.plan.qual = (List *) refer_to_tuple((Node *) window->plan.qual, &tuple);
	plan->custom_exprs = (List *) refer_to_tuple(run_condition, &tuple);
	plan->custom_scan_tlist = tuple_columns(&tuple);
	plan->custom_private = list_make2(tuple.functions, window_columns(window));
	plan->methods = node_methods;
	return plan;
}

/* ---------------------------------------------------------------- what the node says */

bool
rank_plan_is_rank(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == node_methods;
}

RankColumns
rank_plan_partition(const CustomScan *plan)
{
	const WindowAgg *window = list_nth(plan->custom_private, PRIVATE_WINDOW);

	return (RankColumns){window->partNumCols, window->partColIdx, window->partOperators,
						 window->partCollations};
}

RankColumns
rank_plan_order(const CustomScan *plan)
{
	const WindowAgg *window = list_nth(plan->custom_private, PRIVATE_WINDOW);

	return (RankColumns){window->ordNumCols, window->ordColIdx, window->ordOperators, window->ordCollations};
}

List *
rank_plan_functions(const CustomScan *plan)
{
	return list_nth(plan->custom_private, PRIVATE_FUNCTIONS);
}

bool
rank_plan_is_top(const CustomScan *plan)
{
	return ((const WindowAgg *) list_nth(plan->custom_private, PRIVATE_WINDOW))->topWindow;
}
