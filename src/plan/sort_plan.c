/*
 * plan/sort_plan.c
 *		The plan nodes GpuSort, GpuSortFeed and GpuSortRanges: what a Sort node says, in a CustomScan.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "plan/column_stats.h"
#include "plan/devices.h"
#include "plan/sort_plan.h"

/* Members of custom_private. */
enum
{
	PRIVATE_SORT,		 /* a Sort without an input: its columns, and the input's by reference */
	PRIVATE_RESTARTABLE, /* Integer */
	PRIVATE_EXPECTED,	 /* a Const: the bytes of a SortExpected */
	PRIVATE_UNUSED,		 /* list of ints, attnos of the input */
	PRIVATE_BESIDE,		 /* Integer */
	PRIVATE_GROUPS,		 /* Integer */
	PRIVATE_ROWS		 /* list of the sort columns' row_of_types */
};

static const CustomScanMethods *node_methods;
static const CustomScanMethods *feed_node_methods;
static const CustomScanMethods *ranges_node_methods;

void
sort_plan_register(const CustomScanMethods *gpusort_methods, const CustomScanMethods *feed_methods,
				   const CustomScanMethods *ranges_methods)
{
	node_methods = gpusort_methods;
	feed_node_methods = feed_methods;
	ranges_node_methods = ranges_methods;
	RegisterCustomScanMethods(gpusort_methods);
	RegisterCustomScanMethods(feed_methods);
	RegisterCustomScanMethods(ranges_methods);
}

/* ---------------------------------------------------------------- columns that nothing looks at */

/* Expressions of the output, and the columns of the input that they need. */
typedef struct NeededColumns
{
	List *input; /* TargetEntries */
	Bitmapset *resnos;
	bool all; /* not known: any of them */
} NeededColumns;

/* Does setrefs.c take this expression of the output for that column of the input? */
static bool
is_column(const Node *expr, const TargetEntry *column)
{
	const Node *input = (const Node *) column->expr;

	if (nodeTag(expr) != nodeTag(input))
		return false;
	if (IsA(expr, Var))
		return ((const Var *) expr)->varno == ((const Var *) input)->varno &&
			   ((const Var *) expr)->varattno == ((const Var *) input)->varattno;
	if (IsA(expr, PlaceHolderVar))
		return ((const PlaceHolderVar *) expr)->phid == ((const PlaceHolderVar *) input)->phid;
	return equal(expr, input);
}

/* The input's column (resno) that setrefs.c takes for this expression, the first that is it; 0: none. */
static AttrNumber
column_of(const Node *expr, List *input)
{
	ListCell *cell;

	foreach(cell, input)
	{
		if (is_column(expr, lfirst_node(TargetEntry, cell)))
			return lfirst_node(TargetEntry, cell)->resno;
	}
	return 0;
}

/*
 * Notes the columns that an expression needs, as setrefs.c finds them: the whole of it, or its parts, but for
 * constants.
 */
static bool
note_needed(Node *expr, void *arg)
{
	NeededColumns *needed = arg;
	AttrNumber resno;

	if (expr == NULL || IsA(expr, Const))
		return false;
	resno = column_of(expr, needed->input);
	if (resno != 0)
	{
		needed->resnos = bms_add_member(needed->resnos, resno);
		return false;
	}
	needed->all |= IsA(expr, Var);
	return expression_tree_walker(expr, note_needed, arg);
}

/* The input's columns (attnos) that no output column needs but those that are there for the sort alone. */
static List *
find_unused_columns(List *targetlist, List *input, const SortPlanOptions *options)
{
	NeededColumns needed = {.input = input, .all = options->output_is_used};
	List *unused = NIL;
	ListCell *cell;

	foreach(cell, targetlist)
	{
		TargetEntry *output = lfirst_node(TargetEntry, cell);

		if (!bms_is_member(output->resno, options->sort_junk) || column_of((Node *) output->expr, input) == 0)
			(void) note_needed((Node *) output->expr, &needed);
	}
	for (int attno = 1; !needed.all && attno <= list_length(input); attno++)
	{
		if (!bms_is_member(attno, needed.resnos))
			unused = lappend_int(unused, attno);
	}
	return unused;
}

/* ---------------------------------------------------------------- records without a named type */

/* Does the expression make a record of which it alone says what columns there are? */
static bool
makes_row(const Node *expr)
{
	return IsA(expr, RowExpr) && ((const RowExpr *) expr)->row_typeid == RECORDOID;
}

TupleDesc
sort_plan_row(const Node *expr)
{
	return expr != NULL && makes_row(expr) ? ExecTypeFromExprList(((const RowExpr *) expr)->args) : NULL;
}

/*
 * The expression that makes the records of a sort column; NULL: that is not known, or they have a named type.
 */
static const Node *
row_of_column(const Plan *input, AttrNumber attno)
{
	const TargetEntry *column = list_nth_node(TargetEntry, input->targetlist, attno - 1);
	const Node *source;

	if (exprType((Node *) column->expr) != RECORDOID)
		return NULL;
	source = column_source_of_plan(input, attno);
	return makes_row(source) ? source : NULL;
}

/* The same with NULLs in place of the values: what the node below computes is none of the plan's concern. */
static Node *
row_of_types(const Node *row)
{
	RowExpr *types = makeNode(RowExpr);
	ListCell *cell;

	types->row_typeid = RECORDOID;
	foreach(cell, ((const RowExpr *) row)->args)
	{
		const Node *value = lfirst(cell);

		types->args =
			lappend(types->args, makeNullConst(exprType(value), exprTypmod(value), exprCollation(value)));
	}
	return (Node *) types;
}

/* One for each sort column; NIL: all are NULL. */
static List *
rows_of_types(const Sort *sort)
{
	List *rows = NIL;
	bool any = false;

	for (int i = 0; i < sort->numCols; i++)
	{
		const Node *row = row_of_column(sort->plan.lefttree, sort->sortColIdx[i]);

		rows = lappend(rows, row != NULL ? row_of_types(row) : NULL);
		any |= row != NULL;
	}
	return any ? rows : NIL;
}

/* What is known of a sort column's records. */
static TupleDesc
row_of_sort_column(const Plan *plan, const Sort *sort, int column)
{
	List *rows;

	if (!IsA(plan, CustomScan))
		return sort_plan_row(row_of_column(plan->lefttree, sort->sortColIdx[column]));
	rows = list_nth(((const CustomScan *) plan)->custom_private, PRIVATE_ROWS);
	return rows != NIL ? sort_plan_row(list_nth(rows, column)) : NULL;
}

/* ---------------------------------------------------------------- making nodes */

List *
plan_refer_to_columns(List *input, int varno)
{
	List *references = NIL;
	ListCell *cell;

	foreach(cell, input)
	{
		TargetEntry *reference = flatCopyTargetEntry(lfirst_node(TargetEntry, cell));

		reference->expr = (Expr *) makeVarFromTargetEntry(varno, lfirst_node(TargetEntry, cell));
		references = lappend(references, reference);
	}
	return references;
}

/*
 * One node of bytes, which any function for nodes copies and passes to workers: a node for each number, as
 * digits, would take longer than all else here.
 */
static Const *
expected_to_node(const SortExpected *expected)
{
	Size size = VARHDRSZ + sizeof(*expected);
	bytea *bytes = palloc0(size);

	SET_VARSIZE(bytes, size);
	memcpy(VARDATA(bytes), expected, sizeof(*expected));
	return makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(bytes), false, false);
}

static SortExpected
expected_from_node(const Const *node)
{
	SortExpected expected;

	memcpy(&expected, VARDATA(DatumGetPointer(node->constvalue)), sizeof(expected));
	return expected;
}

static List *
make_private(const Sort *sort, List *targetlist, const SortPlanOptions *options)
{
	Sort *columns = makeNode(Sort);
	List *members;

	columns->plan.targetlist = plan_refer_to_columns(sort->plan.targetlist, OUTER_VAR);
	columns->numCols = sort->numCols;
	columns->sortColIdx = sort->sortColIdx;
	columns->sortOperators = sort->sortOperators;
	columns->collations = sort->collations;
	columns->nullsFirst = sort->nullsFirst;
	members = list_make5(columns, makeInteger(options->restartable), expected_to_node(&options->expected),
						 find_unused_columns(targetlist, sort->plan.targetlist, options),
						 makeInteger(options->beside));
	return lappend(lappend(members, makeInteger(options->group_columns)), rows_of_types(sort));
}

/* What a GpuSort can do besides. */
#define NODE_FLAGS \
	(CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE | CUSTOMPATH_SUPPORT_PROJECTION)

CustomScan *
sort_plan_from_sort(const Sort *sort, List *targetlist, const SortPlanOptions *options)
{
	CustomScan *plan = makeNode(CustomScan);
	Plan *input = sort->plan.lefttree;

	plan->scan.plan.targetlist = targetlist;
	plan->scan.plan.lefttree = input;
	plan->flags = options->group_columns > 0 ? CUSTOMPATH_SUPPORT_PROJECTION : NODE_FLAGS;
	plan->custom_scan_tlist = copyObject(sort->plan.targetlist);
	plan->custom_private = make_private(sort, targetlist, options);
	plan->methods = options->group_columns > 0 ? ranges_node_methods : node_methods;
	if (IsA(input, Gather) && sort_plan_is_feed(input->lefttree))
		((CustomScan *) input->lefttree)->custom_private = plan->custom_private;
	return plan;
}

CustomScan *
sort_plan_from_finished_sort(const Sort *sort, const SortPlanOptions *options)
{
	CustomScan *plan = makeNode(CustomScan);

	plan->scan.plan = sort->plan;
	NodeSetTag(plan, T_CustomScan);
	plan->scan.plan.targetlist = plan_refer_to_columns(sort->plan.targetlist, INDEX_VAR);
	plan->flags = NODE_FLAGS;
	/* or PostgreSQL would not tell the node that there are workers */
	plan->scan.plan.parallel_aware = options->beside > 0;
	plan->custom_scan_tlist = sort->plan.targetlist;
	plan->custom_private = make_private(sort, NIL, options);
	plan->methods = node_methods;
	return plan;
}

CustomScan *
sort_plan_feed(Plan *input, List *targetlist)
{
	CustomScan *plan = makeNode(CustomScan);

	plan->scan.plan.targetlist = targetlist;
	plan->scan.plan.lefttree = input;
	plan->custom_scan_tlist = copyObject(input->targetlist);
	plan->methods = feed_node_methods;
	return plan;
}

void
sort_plan_refer_to_input(Plan *plan)
{
	CustomScan *scan = (CustomScan *) plan;

	if (sort_plan_is_gpusort(plan) || sort_plan_is_feed(plan) || sort_plan_is_ranges(plan))
		scan->custom_scan_tlist = ((const Sort *) linitial(scan->custom_private))->plan.targetlist;
}

/* ---------------------------------------------------------------- what nodes say */

bool
sort_plan_is_gpusort(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == node_methods;
}

bool
sort_plan_is_feed(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == feed_node_methods;
}

bool
sort_plan_is_ranges(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == ranges_node_methods;
}

int
sort_plan_group_columns(const CustomScan *plan)
{
	return intVal(list_nth(plan->custom_private, PRIVATE_GROUPS));
}

static Oid
column_type(const Plan *plan, AttrNumber attno)
{
	const TargetEntry *column = list_nth_node(TargetEntry, plan->lefttree->targetlist, attno - 1);

	return exprType((Node *) column->expr);
}

SortColumnSpec *
sort_plan_columns(const Plan *plan, int *ncolumns)
{
	const Sort *sort = (const Sort *) plan;
	SortColumnSpec *columns;

	if (IsA(plan, CustomScan))
		sort = linitial(((const CustomScan *) plan)->custom_private);
	columns = palloc0(sizeof(SortColumnSpec) * sort->numCols);
	*ncolumns = sort->numCols;
	for (int i = 0; i < *ncolumns; i++)
		columns[i] = (SortColumnSpec){.attno = sort->sortColIdx[i],
									  .type = column_type(plan, sort->sortColIdx[i]),
									  .row = row_of_sort_column(plan, sort, i),
									  .sortop = sort->sortOperators[i],
									  .collation = sort->collations[i],
									  .nulls_first = sort->nullsFirst[i]};
	return columns;
}

bool
sort_plan_is_restartable(const CustomScan *plan)
{
	return intVal(list_nth(plan->custom_private, PRIVATE_RESTARTABLE)) != 0;
}

int
sort_plan_beside(const CustomScan *plan)
{
	return intVal(list_nth(plan->custom_private, PRIVATE_BESIDE));
}

SortExpected
sort_plan_expected(const CustomScan *plan)
{
	return expected_from_node(list_nth_node(Const, plan->custom_private, PRIVATE_EXPECTED));
}

uint32
sort_plan_coded(const CustomScan *plan)
{
	switch (gpusort_dictionary)
	{
		case GPUSORT_DICTIONARY_OFF:
			return 0;
		case GPUSORT_DICTIONARY_ON:
			return PG_UINT32_MAX;
		default:
			return sort_plan_expected(plan).coded;
	}
}

void
sort_plan_prefer_cpu(CustomScan *plan)
{
	SortExpected expected = sort_plan_expected(plan);

	expected.device = expected.limited = DEVICE_CPU;
	lfirst(list_nth_cell(plan->custom_private, PRIVATE_EXPECTED)) = expected_to_node(&expected);
}

DeviceKind
sort_plan_device(const CustomScan *plan, bool verified, uint64 rows_wanted)
{
	SortExpected expected = sort_plan_expected(plan);
	DeviceKind fastest = expected.device;

	if (rows_wanted > 0)
		fastest = rows_wanted >= expected.limited_from ? expected.limited : DEVICE_CPU;
	return device_or_allowed(fastest, verified, sort_plan_beside(plan));
}

Bitmapset *
sort_plan_unused_columns(const CustomScan *plan)
{
	Bitmapset *unused = NULL;
	ListCell *cell;

	foreach(cell, (List *) list_nth(plan->custom_private, PRIVATE_UNUSED))
		unused = bms_add_member(unused, lfirst_int(cell));
	return unused;
}
