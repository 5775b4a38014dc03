/*
 * plan/column_stats.c
 *		What the statistics say of a sort column.
 *
 * The width of its values, how many there are, how many of their first 8 bytes there are (an abbreviated key
 * holds no more), and whether the table has them in order.  All of that is read from one row of pg_statistic,
 * which is in the system's cache; but to take values out of that row takes longer than to plan a small query,
 * so it is done where they decide something.
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
#include "plan/column_stats.h"
#include "plan/sort_plan.h"

/* As many bytes of a string as an abbreviated key has. */
#define LEADING_BYTES 8

/* If this part of a histogram's bounds differ from the one before in their first bytes, all values do. */
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
leading_of_tuple(HeapTuple tuple)
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

static double
largest_of_tuple(HeapTuple tuple)
{
	double largest = ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
	bool known = false;
	AttStatsSlot slot;

	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCV, InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		known = slot.nnumbers > 1;
		largest = slot.nnumbers > 0 ? Max(largest, slot.numbers[0]) : largest;
		free_attstatsslot(&slot);
	}
	if (!known && get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, 0))
	{
		known = true;
		free_attstatsslot(&slot);
	}
	return known ? largest : 1;
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

/* What a function finds in the row of pg_statistic; otherwise: if there is none to be seen. */
static double
read_values(const ColumnStats *stats, double (*find)(HeapTuple), double otherwise)
{
	HeapTuple tuple;
	double result;

	if (!OidIsValid(stats->table))
		return otherwise;
	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(stats->table), Int16GetDatum(stats->column),
							BoolGetDatum(stats->inherited));
	if (!HeapTupleIsValid(tuple))
		return otherwise;
	result = find(tuple);
	ReleaseSysCache(tuple);
	return result;
}

double
column_leading_values(const ColumnStats *stats, Oid type)
{
	return is_string(getBaseType(type)) ? read_values(stats, leading_of_tuple, 0) : 0;
}

double
column_largest_share(const ColumnStats *stats)
{
	/* those of a table with children are not found again when the sort begins */
	return stats->inherited ? 1 : read_values(stats, largest_of_tuple, 1);
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
		stats = stats_of_tuple(variable.statsTuple, variable.rel != NULL ? variable.rel->tuples : 0,
							   variable.acl_ok);
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
	if (var->varno == INDEX_VAR && (sort_plan_is_gpusort(plan) || sort_plan_is_feed(plan)))
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

/* The statistics of the table's column that this one of the plan's output shows; NULL: there are none. */
static HeapTuple
tuple_of_plan(const Plan *plan, AttrNumber attno, List *rtable, Oid *relid)
{
	AttrNumber column;
	HeapTuple tuple;

	if (!find_table_column(plan, plan->targetlist, attno, rtable, relid, &column))
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

ColumnStats
column_stats_of_plan(const Plan *plan, AttrNumber attno, List *rtable)
{
	const TargetEntry *entry = list_nth_node(TargetEntry, plan->targetlist, attno - 1);
	Oid type = column_type(plan, attno);
	ColumnStats stats = stats_of_type(type, exprTypmod((Node *) entry->expr));
	Oid relid;
	HeapTuple tuple = tuple_of_plan(plan, attno, rtable, &relid);

	if (tuple == NULL)
		return stats;
	stats = stats_of_tuple(tuple, table_rows(relid), may_read_table(relid));
	ReleaseSysCache(tuple);
	return stats;
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
	HeapTuple tuple = tuple_of_plan(plan, attno, rtable, &relid);
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
