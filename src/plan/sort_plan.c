/*
 * plan/sort_plan.c
 *		The plan nodes GpuSort and GpuSortFeed: what a Sort node says, in a CustomScan.
 */
#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "access/sysattr.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "plan/sort_plan.h"

/* Members of custom_private, lists: the first four are as long as there are sort columns. */
enum
{
	PRIVATE_ATTNOS,		 /* ints */
	PRIVATE_SORTOPS,	 /* oids */
	PRIVATE_COLLATIONS,	 /* oids */
	PRIVATE_NULLS_FIRST, /* ints */
	PRIVATE_OPTIONS,	 /* one int of the bits below */
	/* Integer, three Floats: bytes of a key, milliseconds here, by PostgreSQL's sort and on the cpu device */
	PRIVATE_EXPECTED,
	PRIVATE_UNUSED /* ints, attnos of the input; set when the plan is finished */
};

enum
{
	OPTION_JUNK_IS_UNUSED = 1,
	OPTION_RESTARTABLE = 2,
	OPTION_ON_GPU = 4
};

static const CustomScanMethods *node_methods;
static const CustomScanMethods *feed_node_methods;

void
sort_plan_register(const CustomScanMethods *gpusort_methods, const CustomScanMethods *feed_methods)
{
	node_methods = gpusort_methods;
	feed_node_methods = feed_methods;
	RegisterCustomScanMethods(gpusort_methods);
	RegisterCustomScanMethods(feed_methods);
}

static List *
columns_to_private(const Sort *sort, const SortPlanOptions *options)
{
	List *attnos = NIL;
	List *sortops = NIL;
	List *collations = NIL;
	List *nulls_first = NIL;
	int bits = (options->junk_is_unused ? OPTION_JUNK_IS_UNUSED : 0) |
			   (options->restartable ? OPTION_RESTARTABLE : 0) | (options->on_gpu ? OPTION_ON_GPU : 0);

	for (int i = 0; i < sort->numCols; i++)
	{
		attnos = lappend_int(attnos, sort->sortColIdx[i]);
		sortops = lappend_oid(sortops, sort->sortOperators[i]);
		collations = lappend_oid(collations, sort->collations[i]);
		nulls_first = lappend_int(nulls_first, sort->nullsFirst[i]);
	}
	return lappend(lappend(lappend(list_make4(attnos, sortops, collations, nulls_first),
								   list_make1_int(bits)),
						   list_make4(makeInteger(options->key_bytes),
									  makeFloat(psprintf("%.3f", options->expected_ms)),
									  makeFloat(psprintf("%.3f", options->postgres_ms)),
									  makeFloat(psprintf("%.3f", options->cpu_ms)))),
				   NIL);
}

CustomScan *
sort_plan_from_sort(const Sort *sort, List *targetlist, const SortPlanOptions *options)
{
	CustomScan *plan = makeNode(CustomScan);

	plan->scan.plan.targetlist = targetlist;
	plan->scan.plan.lefttree = sort->plan.lefttree;
	plan->flags =
		CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE | CUSTOMPATH_SUPPORT_PROJECTION;
	plan->custom_scan_tlist = copyObject(sort->plan.targetlist);
	plan->custom_private = columns_to_private(sort, options);
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

bool
sort_plan_is_gpusort(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == node_methods;
}

static bool
is_feed(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == feed_node_methods;
}

CustomScan *
sort_plan_feed_of(const CustomScan *plan)
{
	Plan *input = plan->scan.plan.lefttree;

	if (IsA(input, Gather) && is_feed(input->lefttree))
		return (CustomScan *) input->lefttree;
	return NULL;
}

static Oid
column_type(const Plan *plan, AttrNumber attno)
{
	const TargetEntry *column = list_nth_node(TargetEntry, plan->lefttree->targetlist, attno - 1);

	return exprType((Node *) column->expr);
}

static SortColumnSpec *
gpusort_columns(const CustomScan *plan, int *ncolumns)
{
	List *attnos = list_nth(plan->custom_private, PRIVATE_ATTNOS);
	SortColumnSpec *columns = palloc(sizeof(SortColumnSpec) * list_length(attnos));

	*ncolumns = list_length(attnos);
	for (int i = 0; i < *ncolumns; i++)
	{
		columns[i].attno = list_nth_int(attnos, i);
		columns[i].type = column_type(&plan->scan.plan, columns[i].attno);
		columns[i].sortop = list_nth_oid(list_nth(plan->custom_private, PRIVATE_SORTOPS), i);
		columns[i].collation = list_nth_oid(list_nth(plan->custom_private, PRIVATE_COLLATIONS), i);
		columns[i].nulls_first = list_nth_int(list_nth(plan->custom_private, PRIVATE_NULLS_FIRST), i);
	}
	return columns;
}

static SortColumnSpec *
sort_columns(const Sort *sort, int *ncolumns)
{
	SortColumnSpec *columns = palloc(sizeof(SortColumnSpec) * sort->numCols);

	*ncolumns = sort->numCols;
	for (int i = 0; i < *ncolumns; i++)
	{
		columns[i].attno = sort->sortColIdx[i];
		columns[i].type = column_type(&sort->plan, columns[i].attno);
		columns[i].sortop = sort->sortOperators[i];
		columns[i].collation = sort->collations[i];
		columns[i].nulls_first = sort->nullsFirst[i];
	}
	return columns;
}

SortColumnSpec *
sort_plan_columns(const Plan *plan, int *ncolumns)
{
	if (IsA(plan, CustomScan))
		return gpusort_columns((const CustomScan *) plan, ncolumns);
	return sort_columns((const Sort *) plan, ncolumns);
}

static bool
has_option(const CustomScan *plan, int bit)
{
	return (linitial_int(list_nth(plan->custom_private, PRIVATE_OPTIONS)) & bit) != 0;
}

bool
sort_plan_is_restartable(const CustomScan *plan)
{
	return has_option(plan, OPTION_RESTARTABLE);
}

bool
sort_plan_is_on_gpu(const CustomScan *plan)
{
	return has_option(plan, OPTION_ON_GPU);
}

int
sort_plan_key_bytes(const CustomScan *plan)
{
	return intVal(linitial(list_nth(plan->custom_private, PRIVATE_EXPECTED)));
}

double
sort_plan_expected_ms(const CustomScan *plan)
{
	return floatVal(lsecond(list_nth(plan->custom_private, PRIVATE_EXPECTED)));
}

double
sort_plan_postgres_ms(const CustomScan *plan)
{
	return floatVal(lthird(list_nth(plan->custom_private, PRIVATE_EXPECTED)));
}

double
sort_plan_cpu_ms(const CustomScan *plan)
{
	return floatVal(lfourth(list_nth(plan->custom_private, PRIVATE_EXPECTED)));
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

/* Is the output column there for the sort alone? */
static bool
is_sort_junk(const TargetEntry *column)
{
	return column->resjunk && column->ressortgroupref != 0 && IsA(column->expr, Var);
}

/* The input's columns that no output column needs but those that are there for the sort alone. */
static List *
find_unused_columns(const CustomScan *plan)
{
	Bitmapset *used = NULL;
	List *unused = NIL;
	ListCell *cell;

	foreach(cell, plan->scan.plan.targetlist)
	{
		if (!is_sort_junk(lfirst_node(TargetEntry, cell)))
			pull_varattnos((Node *) lfirst(cell), INDEX_VAR, &used);
	}
	for (int attno = 1; attno <= list_length(plan->custom_scan_tlist); attno++)
	{
		if (!bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, used))
			unused = lappend_int(unused, attno);
	}
	return unused;
}

/* Makes the scan tuple refer to the input's columns. */
static void
refer_to_input(CustomScan *plan)
{
	ListCell *cell;

	foreach(cell, plan->custom_scan_tlist)
	{
		TargetEntry *column = lfirst_node(TargetEntry, cell);
		TargetEntry *input =
			list_nth_node(TargetEntry, plan->scan.plan.lefttree->targetlist, column->resno - 1);

		column->expr = (Expr *) makeVarFromTargetEntry(OUTER_VAR, input);
	}
}

void
sort_plan_finish(CustomScan *plan)
{
	if (has_option(plan, OPTION_JUNK_IS_UNUSED))
		lfirst(list_nth_cell(plan->custom_private, PRIVATE_UNUSED)) = find_unused_columns(plan);
	refer_to_input(plan);
}

void
sort_plan_finish_feed(CustomScan *feed, const CustomScan *gpusort)
{
	ListCell *cell;

	feed->custom_private = copyObject(gpusort->custom_private);
	refer_to_input(feed);

	/*
	 * setrefs.c leaves constants in the output, and takes one of two equal columns for the other: here it is
	 * the scan tuple, column by column
	 */
	foreach(cell, feed->scan.plan.targetlist)
	{
		TargetEntry *column = lfirst_node(TargetEntry, cell);
		TargetEntry *scan_column = list_nth_node(TargetEntry, feed->custom_scan_tlist, column->resno - 1);

		column->expr = (Expr *) makeVarFromTargetEntry(INDEX_VAR, scan_column);
	}
}
