/*
 * plan/column_stats.c
 *		What the statistics say of a sort column.
 *
 * The width of its values, how many there are, how many of their first 8 bytes there are (an abbreviated key
 * holds no more), and whether the table has them in order.  All of that is read from one row of pg_statistic,
 * which is in the system's cache.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "base/pg_compat.h"
#include "plan/column_stats.h"
#include "plan/sort_plan.h"

/* As many bytes of a string as an abbreviated key has. */
#define LEADING_BYTES 8

/*
 * If at least this part of a histogram's bounds differ from the one before in their first bytes, nearly all
 * values do.
 */
#define ALL_DIFFER 0.9

/* ---------------------------------------------------------------- a row of pg_statistic */

static bool
same_leading_bytes(Datum a, Datum b)
{
	const struct varlena *string = (const struct varlena *) DatumGetPointer(a);
	const struct varlena *other = (const struct varlena *) DatumGetPointer(b);
	Size size = Min(VARSIZE_ANY_EXHDR(string), LEADING_BYTES);

	return size == Min(VARSIZE_ANY_EXHDR(other), LEADING_BYTES) &&
		   memcmp(VARDATA_ANY(string), VARDATA_ANY(other), size) == 0;
}

/*
 * How many different first bytes strings have, from a histogram of them.  Of b bounds u differ from the one
 * before: where u is small there are about so many, and the more of them differ, the more there must be
 * between two of them.
 */
static double
leading_values(HeapTuple tuple)
{
	AttStatsSlot slot;
	double differ = 1;
	double bounds;

	if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES))
		return 0;
	bounds = slot.nvalues;
	for (int i = 1; i < slot.nvalues; i++)
		differ += same_leading_bytes(slot.values[i - 1], slot.values[i]) ? 0 : 1;
	free_attstatsslot(&slot);
	return differ >= ALL_DIFFER * bounds ? 0 : differ * bounds / (bounds - differ + 1);
}

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

static bool
is_string(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == BYTEAOID;
}

static ColumnStats
stats_of_type(Oid type, int32 typmod)
{
	return (ColumnStats){.width = get_typavgwidth(type, typmod)};
}

/* may_read: may the user see values of the table? */
static ColumnStats
stats_of_tuple(HeapTuple tuple, Oid type, double table_rows, bool may_read)
{
	Form_pg_statistic form = (Form_pg_statistic) GETSTRUCT(tuple);
	ColumnStats stats = {.width = form->stawidth};

	stats.distinct = form->stadistinct >= 0 ? form->stadistinct : -form->stadistinct * table_rows;
	stats.correlation = correlation(tuple);
	if (may_read && is_string(getBaseType(type)))
		stats.leading = leading_values(tuple);
	return stats;
}

/* ---------------------------------------------------------------- while planning */

ColumnStats
column_stats_of_expr(PlannerInfo *root, Node *expr)
{
	VariableStatData variable;
	ColumnStats stats = stats_of_type(exprType(expr), exprTypmod(expr));

	/* the output columns of UNION and the like belong to no relation */
	if (bms_is_member(0, pull_varnos(root, expr)))
		return stats;
	examine_variable(root, expr, 0, &variable);
	if (HeapTupleIsValid(variable.statsTuple))
	{
		stats = stats_of_tuple(variable.statsTuple, exprType(expr),
							   variable.rel != NULL ? variable.rel->tuples : 0, variable.acl_ok);
		if (variable.isunique && variable.rel != NULL)
			stats.distinct = variable.rel->tuples;
	}
	ReleaseVariableStats(variable);
	return stats;
}

/* ---------------------------------------------------------------- of a finished plan */

/* The column of a table that this one of the plan's output, or of its scan tuple, shows, if it shows one. */
static bool
find_table_column(const Plan *plan, const List *columns, AttrNumber attno, List *rtable, Oid *relid,
				  AttrNumber *column)
{
	const TargetEntry *entry = list_nth_node(TargetEntry, columns, attno - 1);
	const Node *expr = strip_implicit_coercions((Node *) entry->expr);
	const Var *var = (const Var *) expr;
	const RangeTblEntry *table;
	const Plan *input = NULL;

	if (!IsA(expr, Var) || var->varattno <= 0)
		return false;
	if (var->varno == INDEX_VAR && sort_plan_is_gpusort(plan))
		return find_table_column(plan, ((const CustomScan *) plan)->custom_scan_tlist, var->varattno, rtable,
								 relid, column);
	if (var->varno == OUTER_VAR)
		input = plan->lefttree;
	else if (var->varno == INNER_VAR)
		input = plan->righttree;
	else if (!IS_SPECIAL_VARNO(var->varno) && IsA(plan, SubqueryScan))
		input = ((const SubqueryScan *) plan)->subplan;
	if (input != NULL)
		return find_table_column(input, input->targetlist, var->varattno, rtable, relid, column);
	if (IS_SPECIAL_VARNO(var->varno) || IsA(plan, SubqueryScan))
		return false;
	table = rt_fetch(var->varno, rtable);
	*relid = table->relid;
	*column = var->varattno;
	return table->rtekind == RTE_RELATION;
}

static double
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

ColumnStats
column_stats_of_plan(const Plan *plan, AttrNumber attno, List *rtable)
{
	const TargetEntry *entry = list_nth_node(TargetEntry, plan->targetlist, attno - 1);
	Oid type = exprType((Node *) entry->expr);
	ColumnStats stats = stats_of_type(type, exprTypmod((Node *) entry->expr));
	Oid relid;
	AttrNumber column;
	HeapTuple tuple;

	if (!find_table_column(plan, plan->targetlist, attno, rtable, &relid, &column))
		return stats;
	tuple =
		SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid), Int16GetDatum(column), BoolGetDatum(false));
	if (!HeapTupleIsValid(tuple))
		return stats;
	stats = stats_of_tuple(tuple, type, table_rows(relid),
						   pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK);
	ReleaseSysCache(tuple);
	return stats;
}
