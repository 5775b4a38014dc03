/*
 * plan/window_plan.c
 *		The plan node GpuWindow: a WindowAgg whose functions need few rows at a time, in a CustomScan.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "base/pg_compat.h"
#include "plan/plan_walk.h"
#include "plan/sort_plan.h"
#include "plan/window_functions.h"
#include "plan/window_plan.h"

/* Members of custom_exprs. */
enum
{
	EXPRS_RUN_CONDITION,
	EXPRS_FUNCTIONS /* WindowFuncs, each once */
};

static const CustomScanMethods *node_methods;

void
window_plan_register(const CustomScanMethods *methods)
{
	node_methods = methods;
	RegisterCustomScanMethods(methods);
}

/* ---------------------------------------------------------------- which windows */

/* Adds the functions of a window's expression to the list (arg), each once. */
static bool
find_functions(Node *node, void *arg)
{
	List **functions = arg;

	if (node == NULL)
		return false;
	if (!IsA(node, WindowFunc))
		return expression_tree_walker(node, find_functions, functions);
	*functions = list_append_unique(*functions, node);
	return false;
}

static List *
functions_of(const WindowAgg *window)
{
	List *functions = NIL;

	(void) find_functions((Node *) window->plan.targetlist, &functions);
	(void) find_functions((Node *) window->plan.qual, &functions);
	return functions;
}

/* Can the frame's rows be taken in as they come? */
static const char *
frame_why_not(const WindowAgg *window)
{
	if (!(window->frameOptions & FRAMEOPTION_START_UNBOUNDED_PRECEDING))
		return "the frame does not begin with the partition";
	if (window->frameOptions & FRAMEOPTION_EXCLUSION)
		return "the frame excludes rows";
	return NULL;
}

static const char *
function_why_not(const PlannedStmt *stmt, const WindowAgg *window, const WindowFunc *function)
{
	const char *why_not = NULL;
	WindowCall call = window_call(function, &why_not);

	if (call.kind == WINDOW_OTHER)
		return why_not;
	if (expression_is_volatile(stmt->subplans, function))
		return "an argument is volatile";
	return window_kind_has_frame(call.kind) ? frame_why_not(window) : NULL;
}

/*
 * A WindowAgg computes its output also of rows that it then leaves out, which shows if that is volatile; and
 * it raises errors about the offsets of a frame that nobody looks at.
 */
const char *
window_plan_why_not(const PlannedStmt *stmt, const WindowAgg *window)
{
	const char *why_not = NULL;
	ListCell *cell;

	if (!FLOAT8PASSBYVAL)
		return "this server passes 64-bit values by reference";
	if (window->startOffset != NULL || window->endOffset != NULL)
		return "the frame has an offset";
	foreach(cell, functions_of(window))
	{
		why_not = function_why_not(stmt, window, lfirst(cell));
		if (why_not != NULL)
			return why_not;
	}
	if ((window->runCondition != NIL || window->plan.qual != NIL) &&
		expression_is_volatile(stmt->subplans, window->plan.targetlist))
		return "a condition on the window leaves rows out, and the output is volatile";
	return NULL;
}

/* ---------------------------------------------------------------- making the node */

/* The scan tuple: columns of the input, results of functions, and constants. */
typedef struct ScanTuple
{
	List *columns;	 /* expressions */
	List *functions; /* those that are WindowFuncs */
} ScanTuple;

/* The column of the scan tuple that has this value; there may be several with the same constant. */
static Node *
tuple_column(ScanTuple *tuple, Node *value)
{
	int column = 0;

	while (column < list_length(tuple->columns) &&
		   (IsA(value, Const) || !equal(list_nth(tuple->columns, column), value)))
		column++;
	if (column == list_length(tuple->columns))
	{
		tuple->columns = lappend(tuple->columns, value);
		if (IsA(value, WindowFunc))
			tuple->functions = lappend(tuple->functions, value);
	}
	return (Node *) makeVar(INDEX_VAR, column + 1, exprType(value), exprTypmod(value), exprCollation(value),
							0);
}

/* Has columns of the scan tuple in the place of the input's, and of functions. */
static Node *
refer_to_tuple(Node *node, void *tuple)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, WindowFunc) || IsA(node, Var))
		return tuple_column(tuple, node);
	return expression_tree_mutator(node, refer_to_tuple, tuple);
}

/*
 * The output, which is the scan tuple itself, and not computed, where it has only columns, results and
 * constants, each column once.
 */
static List *
refer_output_to_tuple(List *output, ScanTuple *tuple)
{
	List *columns = NIL;
	ListCell *cell;

	foreach(cell, output)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst(cell));
		const Const *constant = (const Const *) entry->expr;

		if (IsA(constant, Const) && (constant->constisnull || constant->constbyval))
			entry->expr = (Expr *) tuple_column(tuple, (Node *) constant);
		else
			entry->expr = (Expr *) refer_to_tuple((Node *) entry->expr, tuple);
		columns = lappend(columns, entry);
	}
	return columns;
}

/*
 * Has the output's expressions (arg) in the place of its columns, to which setrefs.c has made a run condition
 * refer: a GpuWindow computes no output of a row that it leaves out.
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

/* An aggregate as EXPLAIN prints it, with its FILTER and its star. */
static Expr *
explained_aggregate(const WindowFunc *function)
{
	Aggref *aggregate = makeNode(Aggref);
	ListCell *cell;

	aggregate->aggfnoid = function->winfnoid;
	aggregate->aggtype = function->wintype;
	aggregate->aggcollid = function->wincollid;
	aggregate->inputcollid = function->inputcollid;
	aggregate->aggfilter = function->aggfilter;
	aggregate->aggstar = function->winstar;
	aggregate->aggkind = AGGKIND_NORMAL;
	aggregate->aggsplit = AGGSPLIT_SIMPLE;
	foreach(cell, function->args)
	{
		int number = list_length(aggregate->args) + 1;

		aggregate->args = lappend(aggregate->args, makeTargetEntry(lfirst(cell), number, NULL, false));
		aggregate->aggargtypes = lappend_oid(aggregate->aggargtypes, exprType(lfirst(cell)));
	}
	return (Expr *) aggregate;
}

/* For EXPLAIN, which does not know what window a function belongs to, functions are plain ones. */
static Expr *
explained_function(const WindowFunc *function)
{
	if (function->winagg)
		return explained_aggregate(function);
	return (Expr *) makeFuncExpr(function->winfnoid, function->wintype, function->args, function->wincollid,
								 function->inputcollid, COERCE_EXPLICIT_CALL);
}

/* The scan tuple as the node has it. */
static List *
scan_columns(const ScanTuple *tuple)
{
	List *columns = NIL;
	ListCell *cell;

	foreach(cell, tuple->columns)
	{
		Expr *value = lfirst(cell);

		columns =
			lappend(columns,
					makeTargetEntry(IsA(value, WindowFunc) ? explained_function((WindowFunc *) value) : value,
									list_length(columns) + 1, NULL, false));
	}
	return columns;
}

/* What of the window the node tells. */
static WindowAgg *
window_columns(const WindowAgg *window)
{
	WindowAgg *columns = makeNode(WindowAgg);

	*columns = *window;
	columns->plan = (Plan){.type = T_WindowAgg};
	columns->runCondition = NIL;
	return columns;
}

CustomScan *
window_plan_from_window(const WindowAgg *window)
{
	CustomScan *plan = makeNode(CustomScan);
	ScanTuple tuple = {NIL, NIL};
	Node *run_condition = expand_output((Node *) window->runCondition, window->plan.targetlist);

	plan->scan.plan = window->plan;
	NodeSetTag(plan, T_CustomScan);
	plan->scan.plan.targetlist = refer_output_to_tuple(window->plan.targetlist, &tuple);
	plan->scan.plan.qual = (List *) refer_to_tuple((Node *) window->plan.qual, &tuple);
	run_condition = refer_to_tuple(run_condition, &tuple);
	plan->custom_exprs = list_make2(run_condition, tuple.functions);
	plan->custom_scan_tlist = scan_columns(&tuple);
	plan->custom_private = list_make1(window_columns(window));
	plan->methods = node_methods;
	return plan;
}

/* ---------------------------------------------------------------- what the node says */

bool
window_plan_is_window(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == node_methods;
}

bool
window_plan_numbers_rows(const Plan *plan)
{
	List *functions = IsA(plan, WindowAgg) ? functions_of((const WindowAgg *) plan)
										   : window_plan_functions((const CustomScan *) plan);
	ListCell *cell;

	foreach(cell, functions)
	{
		WindowKind kind = window_call(lfirst(cell), NULL).kind;

		if (kind != WINDOW_ROW_NUMBER && kind != WINDOW_RANK && kind != WINDOW_DENSE_RANK)
			return false;
	}
	return functions != NIL;
}

static const WindowAgg *
columns_of(const CustomScan *plan)
{
	return linitial_node(WindowAgg, plan->custom_private);
}

WindowColumns
window_plan_partition(const CustomScan *plan)
{
	const WindowAgg *window = columns_of(plan);

	return (WindowColumns){window->partNumCols, window->partColIdx, window->partOperators,
						   window->partCollations};
}

WindowColumns
window_plan_order(const CustomScan *plan)
{
	const WindowAgg *window = columns_of(plan);

	return (WindowColumns){window->ordNumCols, window->ordColIdx, window->ordOperators,
						   window->ordCollations};
}

/* Does a function look at more rows of its frame than the first one? */
static bool
looks_at_frame(const CustomScan *plan)
{
	ListCell *cell;

	foreach(cell, window_plan_functions(plan))
	{
		WindowCall call = window_call(lfirst(cell), NULL);

		if (window_kind_has_frame(call.kind) && !(call.kind == WINDOW_NTH_VALUE && call.offset == 1))
			return true;
	}
	return false;
}

WindowUnit
window_plan_unit(const CustomScan *plan)
{
	int options = columns_of(plan)->frameOptions;

	if (!looks_at_frame(plan))
		return UNIT_ROW;
	if (options & FRAMEOPTION_END_UNBOUNDED_FOLLOWING)
		return UNIT_PARTITION;
	return options & FRAMEOPTION_ROWS ? UNIT_ROW : UNIT_PEERS;
}

List *
window_plan_functions(const CustomScan *plan)
{
	return list_nth(plan->custom_exprs, EXPRS_FUNCTIONS);
}

List *
window_plan_run_condition(const CustomScan *plan)
{
	return list_nth(plan->custom_exprs, EXPRS_RUN_CONDITION);
}

bool
window_plan_is_top(const CustomScan *plan)
{
	return columns_of(plan)->topWindow;
}
