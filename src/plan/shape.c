/*
 * plan/shape.c
 *		The shape of a sort, as its time is predicted from, by its columns and their statistics.
 *
 * What parallel_setup_cost and parallel_tuple_cost say, compared with their defaults, is how much of the time
 * that it takes to launch processes and to pass rows between them is charged: who sets them to nothing wants
 * parallel plans.
 */
#include "postgres.h"

#include <math.h>
#include <sched.h>

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "key/collation.h"
#include "key/icu.h"
#include "key/key_row.h"
#include "key/supported.h"
#include "plan/column_values.h"
#include "plan/first_of_groups.h"
#include "plan/shape.h"
#include "plan/sort_plan.h"
#include "service/state.h"

/*
 * From this correlation with the table's order on rows are taken to be in order: one of ten thousand out of
 * place makes less.
 */
#define IN_ORDER_CORRELATION 0.99999

/* As many bytes of a string as an abbreviated key has. */
#define LEADING_BYTES 8

/* From this one on nearly so: one row of a hundred out of place makes less. */
#define NEARLY_CORRELATION 0.98

/* ---------------------------------------------------------------- the machine */

/* Processors that this process may use; a parallel plan is taken to have two, or nobody would want any. */
static int
count_cores(void)
{
	static int cores;
	cpu_set_t set;

	if (cores == 0)
		cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 2;
	return Max(cores, 2);
}

/* ---------------------------------------------------------------- columns */

static SortKeyClass
class_of_text(Oid collation)
{
	if (!OidIsValid(collation) || pg_collate_is_c(collation))
		return KEY_TEXT;
	switch (sort_key_text_order(collation))
	{
		case TEXT_LIBC:
			return KEY_LIBC;
		case TEXT_LIBC_BYTEWISE:
			return KEY_LIBC_BYTES;
		default:
			return KEY_ICU;
	}
}

/* Are values of the type made of others?  Those of extensions are taken to be, if they have any length. */
static bool
is_made_of_others(Oid type)
{
	switch (get_typtype(type))
	{
		case TYPTYPE_BASE:
			if (type >= FirstNormalObjectId && get_typlen(type) == -1)
				return true;
			return OidIsValid(get_element_type(type));
		case TYPTYPE_COMPOSITE:
		case TYPTYPE_RANGE:
		case TYPTYPE_MULTIRANGE:
			return true;
		default:
			return false;
	}
}

/* type: the column's, without domains. */
static SortKeyClass
class_of(const SortColumnSpec *column, Oid type)
{
	switch (type)
	{
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return KEY_INT;
		case INT2OID:
		case OIDOID:
		case FLOAT4OID:
		case FLOAT8OID:
			return KEY_PLAIN;
		case UUIDOID:
		case MACADDROID:
		case INETOID:
		case CIDROID:
			return KEY_ABBREVIATED;
		case NUMERICOID:
			return KEY_NUMERIC;
		case BYTEAOID:
			return KEY_TEXT;
		case JSONBOID:
		case TSVECTOROID:
		case RECORDOID:
			return KEY_MADE;
		default:
			if (is_made_of_others(type))
				return KEY_MADE;
			return type_is_collatable(type) ? class_of_text(column->collation) : KEY_FUNCTION;
	}
}

/* Are first bytes compared: by a Sort, which abbreviates the first column, or by the C library? */
static bool
asks_for_leading(SortKeyClass class, int place)
{
	return class == KEY_LIBC || (place == 0 && class >= KEY_TEXT && class <= KEY_LIBC_BYTES);
}

/* The order of rows that come in that of their table. */
static RowOrder
order_of(int ncolumns, const SortColumnSpec *column, const ColumnStats *stats, double rows)
{
	Oid opfamily;
	Oid type;
	CompareType direction;

	if (fabs(stats->correlation) < NEARLY_CORRELATION || (ncolumns > 1 && stats->distinct < rows) ||
		!get_ordering_op_properties(column->sortop, &opfamily, &type, &direction))
		return ORDER_NONE;
	if ((direction == COMPARE_GT) != (stats->correlation < 0))
		return fabs(stats->correlation) < IN_ORDER_CORRELATION ? ORDER_NONE : ORDER_REVERSED;
	return fabs(stats->correlation) < IN_ORDER_CORRELATION ? ORDER_NEARLY : ORDER_EXACT;
}

/* ---------------------------------------------------------------- shapes */

bool
shape_init(SortShape *shape, int ncolumns, const SortColumnSpec *columns, const ColumnStats *stats,
		   Declined *why_not)
{
	SortKeyShape *keys = palloc(sizeof(SortKeyShape) * ncolumns);
	double *widths = palloc(sizeof(double) * ncolumns);
	SortKeyEstimate key;
	bool supported;

	memset(shape, 0, sizeof(*shape));
	for (int i = 0; i < ncolumns; i++)
		widths[i] = stats[i].width;
	supported = sort_key_estimate(ncolumns, columns, widths, &key, why_not);
	for (int i = 0; i < ncolumns; i++)
	{
		Oid type = getBaseType(columns[i].type);

		keys[i] = (SortKeyShape){.class = class_of(&columns[i], type),
								 .width = stats[i].width,
								 .padded = type == BPCHAROID,
								 .distinct = stats[i].distinct,
								 .verified = key.column_verified[i],
								 .largest = 1};
		if (asks_for_leading(keys[i].class, i))
			keys[i].leading = column_leading_values(&stats[i], type, LEADING_BYTES);
		keys[i].known =
			supported && keys[i].class == KEY_ICU && sort_key_knows_collation(columns[i].collation);
	}
	if (gpu_service_ready())
		keys[0].largest = column_largest_share(&stats[0]); /* nobody else asks */
	shape->wanted = -1;
	shape->nkeys = ncolumns;
	shape->keys = keys;
	shape->correlation = stats[0].correlation;
	shape->memory = (double) work_mem * 1024;
	shape->processes = 1;
	shape->cores = count_cores();
	shape->launch = parallel_setup_cost / DEFAULT_PARALLEL_SETUP_COST;
	shape->key_bytes = key.bytes;
	shape->fixed_key = key.is_fixed;
	shape->verified = key.verified;
	if (gpusort_dictionary != GPUSORT_DICTIONARY_OFF)
	{
		shape->codable = key.codable;
		shape->coded_bytes = key.coded_bytes;
	}
	return supported;
}

void
shape_set_rows(SortShape *shape, int row_columns, const SortColumnSpec *columns, const ColumnStats *first,
			   bool table_order)
{
	shape->single_column = row_columns == 1;
	shape->order = table_order ? order_of(shape->nkeys, &columns[0], first, shape->rows) : ORDER_NONE;
	shape->keys_alone = shape->fixed_key && row_columns <= shape->nkeys &&
						key_row_possible(shape->nkeys, columns, row_columns);
}

double
shape_groups(const SortShape *shape, int columns_in_order)
{
	double groups = 1;

	for (int i = 0; i < Min(columns_in_order, shape->nkeys); i++)
		groups *= shape->keys[i].distinct > 0 ? shape->keys[i].distinct : shape->rows;
	return Max(1, Min(groups, shape->rows));
}

/* Are they in order whoever reads which of them? */
static bool
all_rows_are_equal(const SortShape *shape)
{
	for (int i = 0; i < shape->nkeys; i++)
	{
		if (shape->keys[i].distinct != 1)
			return false;
	}
	return true;
}

SortShape
shape_for_gpusort(const SortShape *shape)
{
	SortShape ours = *shape;

	ours.memory =
		shape->beside > 0 ? guc_sort_memory_of_each(shape->beside) : guc_sort_memory(shape->processes);
	ours.groups = 0;
	if (shape->processes > 1 && shape->order == ORDER_EXACT && !all_rows_are_equal(shape))
		ours.order = ORDER_NEARLY;
	return ours;
}

/* ---------------------------------------------------------------- finished plans */

static double
const_or(Node *node, double otherwise)
{
	if (node != NULL && IsA(node, Const) && !((Const *) node)->constisnull)
		return (double) DatumGetInt64(((Const *) node)->constvalue);
	return otherwise;
}

/* Does the node ask of each input for no more rows than are wanted of it? */
static bool
passes_wanted_rows(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Gather:
		case T_GatherMerge:
		case T_Result:
		case T_LockRows:
		case T_Append:
		case T_MergeAppend:
			return true;
		case T_SubqueryScan:
			return plan->qual == NIL;
		default:
			return false;
	}
}

/* The LIMIT that the sort's rows go to, if nothing on the way needs all of them; else NULL. */
static const Limit *
limit_above(List *ancestors)
{
	ListCell *cell;

	foreach(cell, ancestors)
	{
		const Plan *plan = lfirst(cell);

		if (IsA(plan, Limit))
			return (const Limit *) plan;
		if (!passes_wanted_rows(plan))
			return NULL;
	}
	return NULL;
}

/* The number of wanted rows of a sort of a finished plan; -1: all. */
static double
rows_wanted_of_plan(List *ancestors)
{
	const Limit *limit = limit_above(ancestors);

	if (limit == NULL || limit->limitCount == NULL)
		return -1;
	return const_or(limit->limitCount, limit->plan.plan_rows) + const_or(limit->limitOffset, 0);
}

/* How many rows of each group the node above the sort wants; a limit that is a parameter is taken to be 1. */
static void
set_groups(SortShape *shape, const PlannedStmt *stmt, const Plan *sort, List *ancestors)
{
	GroupsWanted wanted;
	FirstOfGroups first;

	if (ancestors == NIL || !first_of_groups(stmt, linitial(ancestors), sort, &wanted) || wanted.columns == 0)
		return;
	first = first_of_groups_in_plan(&wanted);
	shape->rows_of_group = first.n;
	shape->group_columns = first.columns;
}

/* The processes that run what stands below a Gather or Gather Merge; 0: the plan is no such node. */
static int
gathered_processes(const Plan *plan)
{
	int leader = parallel_leader_participation ? 1 : 0;

	if (IsA(plan, GatherMerge))
		return Max(1, ((const GatherMerge *) plan)->num_workers + leader);
	if (!IsA(plan, Gather))
		return 0;
	return Max(1, ((const Gather *) plan)->num_workers + (((const Gather *) plan)->single_copy ? 0 : leader));
}

/*
 * How many processes of a parallel plan do such a sort each; 0: none but the leader runs it.  A sub-select
 * that is parallel safe may stand in an expression of workers.
 */
static int
parallel_processes(const PlannedStmt *stmt, const Plan *sort, List *ancestors)
{
	const Plan *top = ancestors != NIL ? llast(ancestors) : sort;
	ListCell *cell;

	foreach(cell, ancestors)
	{
		int processes = gathered_processes(lfirst(cell));

		if (processes > 0)
			return processes;
	}
	return stmt->parallelModeNeeded && top != stmt->planTree && top->parallel_safe
			   ? 1 + max_parallel_workers_per_gather
			   : 0;
}

/* The processes above do one sort; the node's rows are those of one process. */
static void
shape_of_ranges(SortShape *shape)
{
	shape->processes = Max(1, shape->beside);
	shape->rows *= shape->processes;
	shape->beside = 0;
}

bool
shape_of_plan(SortShape *shape, const PlannedStmt *stmt, const Plan *sort, List *ancestors, double rows,
			  Declined *why_not)
{
	int ncolumns;
	SortColumnSpec *columns = sort_plan_columns(sort, &ncolumns);
	ColumnStats *stats = palloc(sizeof(ColumnStats) * ncolumns);
	bool supported;

	for (int i = 0; i < ncolumns; i++)
		stats[i] = column_stats_of_plan(sort->lefttree, columns[i].attno, stmt->rtable);
	supported = shape_init(shape, ncolumns, columns, stats, why_not);
	shape->rows = rows;
	shape->width = sort->lefttree->plan_width;
	shape_set_rows(shape, list_length(sort->lefttree->targetlist), columns, &stats[0],
				   IsA(sort->lefttree, SeqScan));
	shape->wanted = rows_wanted_of_plan(ancestors);
	shape->formed = !IsA(sort->lefttree, SeqScan);
	set_groups(shape, stmt, sort, ancestors);
	shape->beside = parallel_processes(stmt, sort, ancestors);
	if (sort_plan_is_gpusort(sort))
		shape->processes = Max(1, gathered_processes(sort->lefttree));
	if (sort_plan_is_ranges(sort))
		shape_of_ranges(shape);
	if (IsA(sort, IncrementalSort))
		shape->groups = shape_groups(shape, ((const IncrementalSort *) sort)->nPresortedCols);
	return supported;
}
