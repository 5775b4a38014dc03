/*
 * plan/column_stats.c
 *		What the statistics say of a sort column.
 *
 * The width of its values, how many there are, and whether the table has them in order: all of that is read
 * from one row of pg_statistic, which is in the system's cache.  Of an expression expression_values.c has the
 * number of values, and derived_values.c that of a column which a sub-select returns.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "base/pg_compat.h"
#include "plan/agg_input.h"
#include "plan/column_stats.h"
#include "plan/derived_values.h"
#include "plan/expression_values.h"
#include "plan/remembered.h"
#include "plan/sort_plan.h"
#include "plan/window_plan.h"

/* ---------------------------------------------------------------- a row of pg_statistic */

static double
correlation(HeapTuple tuple)
{
	AttStatsSlot slot;
	double result = 0;

	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers == 1)
			result = slot.numbers[0];
		free_attstatsslot(&slot);
	}
	return result;
}

static ColumnStats
stats_of_type(Oid type, int32 typmod)
{
	return (ColumnStats){.width = get_typavgwidth(type, typmod)};
}

/* may_read: may the user see values of the table? */
static ColumnStats
stats_of_tuple(HeapTuple tuple, double table_rows, bool may_read)
{
	Form_pg_statistic form = (Form_pg_statistic) GETSTRUCT(tuple);

	return (ColumnStats){.width = form->stawidth,
						 .distinct =
							 form->stadistinct >= 0 ? form->stadistinct : -form->stadistinct * table_rows,
						 .correlation = correlation(tuple),
						 .table = may_read ? form->starelid : InvalidOid,
						 .column = form->staattnum,
						 .inherited = form->stainherit};
}

/* ---------------------------------------------------------------- while planning */

static ColumnStats
stats_of_var(Var *var, void *root)
{
	return column_stats_of_expr(root, (Node *) var);
}

/* Output columns of UNION and the like belong to no relation. */
static bool
belongs_to_no_relation(PlannerInfo *root, Node *expr)
{
	if (IsA(expr, Var))
		return ((const Var *) expr)->varno == 0;
	return bms_is_member(0, pull_varnos(root, expr));
}

static ColumnStats
stats_of_set(PlannerInfo *root, Node *expr)
{
	ColumnStats stats = stats_of_type(exprType(expr), exprTypmod(expr));

	if (IsA(expr, Var))
		stats.distinct = derived_values(root, (const Var *) expr);
	return stats;
}

static ColumnStats
find_stats_of_expr(PlannerInfo *root, Node *expr)
{
	VariableStatData variable;
	ColumnStats stats;

	if (belongs_to_no_relation(root, expr))
		return stats_of_set(root, expr);
	examine_variable(root, expr, 0, &variable);
	if (HeapTupleIsValid(variable.statsTuple))
		stats = stats_of_tuple(variable.statsTuple, variable.rel != NULL ? variable.rel->tuples : 0,
							   variable.acl_ok);
	else
	{
		stats = stats_of_type(exprType(expr), exprTypmod(expr));
		stats.distinct = IsA(variable.var, Var) ? derived_values(root, (const Var *) variable.var)
												: expression_values(variable.var, stats_of_var, root);
	}
	if (variable.isunique && variable.rel != NULL)
		stats.distinct = variable.rel->tuples;
	ReleaseVariableStats(variable);
	return stats;
}

/* What is known of an expression; it is asked of each place where its values are grouped or sorted. */
typedef struct KnownStats
{
	const PlannerInfo *root;
	Node *expr;
	ColumnStats stats;
} KnownStats;

static Remembered known = {.entries = NIL};

static void
remember_stats(const PlannerInfo *root, Node *expr, const ColumnStats *stats)
{
	KnownStats *entry = MemoryContextAlloc(root->planner_cxt, sizeof(*entry));

	*entry = (KnownStats){.root = root, .expr = expr, .stats = *stats};
	(void) remembered_in(&known, root->planner_cxt);
	remember(&known, entry);
}

ColumnStats
column_stats_of_expr(PlannerInfo *root, Node *expr)
{
	ColumnStats stats;
	ListCell *cell;

	foreach(cell, remembered_in(&known, root->planner_cxt))
	{
		const KnownStats *entry = lfirst(cell);

		if (entry->root == root && nodeTag(entry->expr) == nodeTag(expr) && equal(entry->expr, expr))
			return entry->stats;
	}
	stats = find_stats_of_expr(root, expr);
	/* of a set operation more may be known when its other arms are planned */
	if (stats.distinct > 0 || !belongs_to_no_relation(root, expr))
		remember_stats(root, expr, &stats);
	return stats;
}

/* ---------------------------------------------------------------- of a finished plan */

/* An expression of a node of a plan. */
typedef struct PlanExpr
{
	const Plan *plan;
	Node *expr;
	List *rtable;
} PlanExpr;

/*
 * The output or scan tuple that this column of the plan's expressions is of, and whose plan; NIL: a table's.
 */
static List *
columns_below(const Plan **plan, const Var *var)
{
	const Plan *of = *plan;
	const Plan *below = NULL;

	if (var->varno == INDEX_VAR && (sort_plan_is_gpusort(of) || sort_plan_is_feed(of) ||
									sort_plan_is_ranges(of) || window_plan_is_window(of) || agg_input_is(of)))
		return ((const CustomScan *) of)->custom_scan_tlist;
	if (var->varno == OUTER_VAR)
		below = of->lefttree;
	else if (var->varno == INNER_VAR)
		below = of->righttree;
	else if (!IS_SPECIAL_VARNO(var->varno) && IsA(of, SubqueryScan))
		below = ((const SubqueryScan *) of)->subplan;
	if (below == NULL)
		return NIL;
	*plan = below;
	return below->targetlist;
}

/* Where the expression is computed: what it shows, if it only shows a column of the plan's input. */
static PlanExpr
source_of(PlanExpr at)
{
	for (;;)
	{
		const Var *var = (const Var *) (at.expr = strip_implicit_coercions(at.expr));
		List *columns;

		if (!IsA(var, Var) || var->varattno <= 0)
			return at;
		columns = columns_below(&at.plan, var);
		if (columns == NIL)
			return at;
		at.expr = (Node *) list_nth_node(TargetEntry, columns, var->varattno - 1)->expr;
	}
}

/* Where this column of the plan's output is computed. */
static PlanExpr
source_of_column(const Plan *plan, AttrNumber attno, List *rtable)
{
	const TargetEntry *entry = list_nth_node(TargetEntry, plan->targetlist, attno - 1);

	return source_of((PlanExpr){.plan = plan, .expr = (Node *) entry->expr, .rtable = rtable});
}

/* The table's column that the expression is; false: it is none. */
static bool
is_table_column(const PlanExpr *at, Oid *relid, AttrNumber *column)
{
	const Var *var = (const Var *) at->expr;
	const RangeTblEntry *table;

	if (!IsA(var, Var) || var->varattno <= 0 || IS_SPECIAL_VARNO(var->varno) || IsA(at->plan, SubqueryScan))
		return false;
	table = rt_fetch(var->varno, at->rtable);
	*relid = table->relid;
	*column = var->varattno;
	return table->rtekind == RTE_RELATION;
}

double
table_rows(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	double rows = 0;

	if (HeapTupleIsValid(tuple))
	{
		rows = Max(0, ((Form_pg_class) GETSTRUCT(tuple))->reltuples);
		ReleaseSysCache(tuple);
	}
	return rows;
}

/* The statistics of the table's column that the expression is; NULL: there are none. */
static HeapTuple
tuple_of(const PlanExpr *at, Oid *relid)
{
	AttrNumber column;
	HeapTuple tuple;

	if (!is_table_column(at, relid, &column))
		return NULL;
	tuple =
		SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(*relid), Int16GetDatum(column), BoolGetDatum(false));
	return HeapTupleIsValid(tuple) ? tuple : NULL;
}

/* May this user see values of the table? */
static bool
may_read_table(Oid relid)
{
	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}

static Oid
column_type(const Plan *plan, AttrNumber attno)
{
	return exprType((Node *) list_nth_node(TargetEntry, plan->targetlist, attno - 1)->expr);
}

static ColumnStats stats_of_var_of_plan(Var *var, void *at);

/* An expression that is no column has as many values as are expected of it. */
static ColumnStats
stats_of_source(PlanExpr *at)
{
	ColumnStats stats = stats_of_type(exprType(at->expr), exprTypmod(at->expr));
	Oid relid;
	HeapTuple tuple = tuple_of(at, &relid);

	if (tuple != NULL)
	{
		stats = stats_of_tuple(tuple, table_rows(relid), may_read_table(relid));
		ReleaseSysCache(tuple);
	}
	else if (!IsA(at->expr, Var))
		stats.distinct = expression_values(at->expr, stats_of_var_of_plan, at);
	else if (((const Var *) at->expr)->varno == OUTER_VAR)
		stats.distinct = derived_values_of_plan(at->plan, (const Var *) at->expr, at->rtable);
	return stats;
}

static ColumnStats
stats_of_var_of_plan(Var *var, void *at)
{
	PlanExpr column = *(const PlanExpr *) at;

	column.expr = (Node *) var;
	column = source_of(column);
	return stats_of_source(&column);
}

const Node *
column_source_of_plan(const Plan *plan, AttrNumber attno)
{
	return source_of_column(plan, attno, NIL).expr;
}

ColumnStats
column_stats_of_plan(const Plan *plan, AttrNumber attno, List *rtable)
{
	PlanExpr source = source_of_column(plan, attno, rtable);

	return stats_of_source(&source);
}

/* ---------------------------------------------------------------- values */

/* Is a value of the column that has the statistics, as it stands, one of the type that is sorted? */
static bool
is_of_type(Oid value_type, Oid type)
{
	return getBaseType(value_type) == getBaseType(type) ||
		   (type != RECORDOID && IsBinaryCoercible(value_type, type));
}

static void
add_values(ColumnSample *sample, const AttStatsSlot *slot, const float4 *shares, double between)
{
	Size size = (sample->nvalues + slot->nvalues) * sizeof(SampleValue);
	bool by_value;
	int16 length;

	get_typlenbyval(slot->valuetype, &length, &by_value);
	sample->values = sample->values != NULL ? repalloc(sample->values, size) : palloc(size);
	for (int i = 0; i < slot->nvalues; i++)
		sample->values[sample->nvalues++] =
			(SampleValue){.value = datumCopy(slot->values[i], by_value, length),
						  .before = shares == NULL && i > 0 ? between : 0,
						  .at = shares != NULL ? shares[i] : 0};
}

/* The most common values; returns what share of the rows they have. */
static double
add_common_values(ColumnSample *sample, HeapTuple tuple, Oid type)
{
	AttStatsSlot slot;
	double share = 0;

	if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCV, InvalidOid,
						  ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
		return 0;
	if (is_of_type(slot.valuetype, type) && slot.nnumbers == slot.nvalues)
	{
		add_values(sample, &slot, slot.numbers, 0);
		for (int i = 0; i < slot.nnumbers; i++)
			share += slot.numbers[i];
	}
	free_attstatsslot(&slot);
	return share;
}

/* The bounds of the histogram, between which is an equal share each of the rows that the others leave. */
static void
add_histogram(ColumnSample *sample, HeapTuple tuple, Oid type, double share)
{
	AttStatsSlot slot;

	if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES))
		return;
	if (is_of_type(slot.valuetype, type) && slot.nvalues > 1)
	{
		add_values(sample, &slot, NULL, Max(0, share) / (slot.nvalues - 1));
	}
	free_attstatsslot(&slot);
}

bool
column_sample_of_plan(const Plan *plan, AttrNumber attno, List *rtable, ColumnSample *sample)
{
	Oid type = column_type(plan, attno);
	Oid relid;
	PlanExpr source = source_of_column(plan, attno, rtable);
	HeapTuple tuple = tuple_of(&source, &relid);
	double common;

	memset(sample, 0, sizeof(*sample));
	if (tuple == NULL)
		return false;
	if (may_read_table(relid))
	{
		sample->nulls = ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
		common = add_common_values(sample, tuple, type);
		add_histogram(sample, tuple, type, 1 - sample->nulls - common);
	}
	ReleaseSysCache(tuple);
	return sample->nvalues > 0;
}
