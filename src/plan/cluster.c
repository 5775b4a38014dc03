/*
 * plan/cluster.c
 *		Has CLUSTER and REPACK sort a table's rows where that is faster than to fetch them by the index.
 *
 * The heap's access method can do both, and is told what to do by plan_cluster_use_sort().  That compares the
 * cost of a sort with the cost of an index scan, which it makes up in a planner's state of its own.  A hook
 * sees the table in that state, and exchanges the function that its B-trees' costs are asked of.  Ours knows
 * the index that is meant.  If the sort is to be chosen, it makes the index scan dear.  Nothing but that
 * state is changed: it is gone when the choice is made, or an error ends the statement.
 *
 * A sort that PostgreSQL chooses stays: its cost knows which tables are not in memory, and our times do not.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/tableam.h"
#include "catalog/catalog.h"
#include "catalog/pg_am_d.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/index_selfuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "monitor/counters.h"
#include "plan/choice.h"
#include "plan/cluster.h"
#include "plan/cost.h"
#include "plan/predict.h"
#include "plan/predict_postgres.h"
#include "plan/shape.h"

/* What an index scan costs that is not to be chosen: more than any sort. */
#define NEVER_COST 1.0e30

/*
 * Measured on AMD EPYC, 2 cores, PostgreSQL 15.18, with 2 million rows of 120 bytes (decision 36): CLUSTER's
 * sort takes 1.4 to 3 times as long as a Sort of such rows is expected to, since it keeps heap tuples, and
 * takes them apart again; and a page that is not in shared_buffers, but in the kernel's cache, takes so long.
 */
#define HEAP_TUPLES_FACTOR 2.0
#define MISS_MS 0.0025

static relation_info_hook_type previous_relation_info_hook;

/* PostgreSQL is asked what it would choose by itself. */
static bool asking_postgres = false;

/* Where the choice is noted, instead of being counted. */
static ClusterChoice *noted_in = NULL;

/* ---------------------------------------------------------------- times */

static Node *
index_column(const IndexOptInfo *index, int i)
{
	return (Node *) list_nth_node(TargetEntry, index->indextlist, i)->expr;
}

/* The order of the index as that of a Sort. */
static SortColumnSpec
sort_column(const IndexOptInfo *index, int i)
{
	Oid type = index->opcintype[i];
	int16 strategy = index->reverse_sort[i] ? BTGreaterStrategyNumber : BTLessStrategyNumber;

	return (SortColumnSpec){.attno = i + 1,
							.type = exprType(index_column(index, i)),
							.sortop = get_opfamily_member(index->sortopfamily[i], type, type, strategy),
							.collation = index->indexcollations[i],
							.nulls_first = index->nulls_first[i]};
}

/* PostgreSQL's sort of the whole rows. */
static SortShape
describe_sort(PlannerInfo *root, const IndexOptInfo *index)
{
	SortColumnSpec *columns = palloc(sizeof(SortColumnSpec) * index->nkeycolumns);
	ColumnStats *stats = palloc(sizeof(ColumnStats) * index->nkeycolumns);
	SortShape shape;
	Declined why_not;

	for (int i = 0; i < index->nkeycolumns; i++)
	{
		columns[i] = sort_column(index, i);
		stats[i] = column_stats_of_expr(root, index_column(index, i));
	}
	(void) shape_init(&shape, index->nkeycolumns, columns, stats, &why_not);
	shape.rows = index->rel->tuples;
	shape.width = index->rel->reltarget->width;
	shape_set_rows(&shape, index->nkeycolumns + 1, columns, &stats[0], true);
	shape.memory = maintenance_work_mem * 1024.0;
	shape.table_bytes = (double) index->rel->pages * BLCKSZ;
	return shape;
}

/*
 * What the index scan takes longer than a scan of the table.  Rows with the same key come in the order of the
 * table, so a page is looked for at most once for each key.
 */
static double
predict_index_scan(const SortShape *shape)
{
	double pages = shape->table_bytes / BLCKSZ;
	double share = Min(1, shape_groups(shape, shape->nkeys) * pages / Max(1, shape->rows));
	double elsewhere = 1 - shape->correlation * shape->correlation;
	double missed = Max(0, 1 - NBuffers / Max(1, pages));

	return share * (predict_fetches(shape) + MISS_MS * shape->rows * elsewhere * missed);
}

/* ---------------------------------------------------------------- the choice */

static bool
table_is_ours(Oid table, Declined *why_not)
{
	Relation heap = RelationIdGetRelation(table);
	bool is_system = IsSystemRelation(heap);
	bool is_heap = heap->rd_tableam == GetHeapamTableAmRoutine();

	RelationClose(heap);
	if (is_system)
		return declined_because(why_not, DECLINED_TABLE, "the table is a system catalog or a toast table");
	if (!is_heap)
		return declined_because(why_not, DECLINED_TABLE, "the table's access method is not heap");
	return true;
}

/* In mode auto. */
static bool
sort_is_faster(const SortShape *shape, const ClusterChoice *choice, Declined *why_not)
{
	double files = predict_postgres_temp(shape);

	if (choice->sort_ms > WORTH_SHARE * choice->index_ms)
		return declined_because(why_not, DECLINED_COST,
								"the rows are fetched by the index, which is expected to be cheaper");
	if (temp_is_clearly_more(files, 0) && !is_worth_files(choice->sort_ms, choice->index_ms))
		return declined_because(
			why_not, DECLINED_COST,
			psprintf("the rows are fetched by the index: a sort is expected to write about %.0f MB of "
					 "temporary files",
					 files / (1024 * 1024)));
	return true;
}

/* Should the rows be sorted, which PostgreSQL would fetch by the index? */
static bool
is_to_be_sorted(PlannerInfo *root, const IndexOptInfo *index, ClusterChoice *choice, Declined *why_not)
{
	SortShape shape = describe_sort(root, index);
	SortTime sort = predict_postgres_sort(&shape);

	choice->sort_ms = HEAP_TUPLES_FACTOR * (sort.first + sort.rest);
	choice->index_ms = predict_index_scan(&shape);
	if (gpusort_mode == GPUSORT_MODE_FORCE)
		return true;
	if (!enable_sort)
		return declined_because(why_not, DECLINED_COST, "enable_sort is off");
	if (!sort_has_rows_enough(shape.rows))
		return declined_because(why_not, DECLINED_FEW_ROWS,
								psprintf("about %.0f rows are expected, and gpusort.min_rows is %d",
										 shape.rows, gpusort_min_rows));
	if (index->indexprs != NIL)
		return declined_because(why_not, DECLINED_KIND,
								"the index has expressions, which a sort would evaluate in each comparison");
	return sort_is_faster(&shape, choice, why_not);
}

/* What the planner chooses: by itself (alone), or as the hook would have it, with a note of that. */
static bool
plan_choice(Oid table, Oid index, bool alone, ClusterChoice *note)
{
	ClusterChoice *outer = noted_in;
	volatile bool sorts = false;

	asking_postgres = alone;
	noted_in = note;
	PG_TRY();
	{
		sorts = plan_cluster_use_sort(table, index);
	}
	PG_FINALLY();
	{
		asking_postgres = false;
		noted_in = outer;
	}
	PG_END_TRY();
	return sorts;
}

static bool
choose_sort(PlannerInfo *root, const IndexOptInfo *index)
{
	Oid table = planner_rt_fetch(index->rel->relid, root)->relid;
	ClusterChoice choice = {.sort_ms = -1, .index_ms = -1};

	if (plan_choice(table, index->indexoid, true, noted_in))
		return false;
	choice.by_us =
		table_is_ours(table, &choice.why_not) && is_to_be_sorted(root, index, &choice, &choice.why_not);
	if (noted_in != NULL)
		*noted_in = choice;
	else if (choice.by_us)
		stats_count_cluster_sort();
	return choice.by_us;
}

/* ---------------------------------------------------------------- hooks */

static void
estimate_index_scan(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
					Selectivity *selectivity, double *correlation, double *pages)
{
	btcostestimate(root, path, loop_count, startup, total, selectivity, correlation, pages);
	if (choose_sort(root, path->indexinfo))
		*total += NEVER_COST;
}

/* The table that the planner looks at is CLUSTER's if the query has no FROM, which any other has. */
static void
see_relation(relation_info_hook_parameters)
{
	ListCell *cell;

	if (previous_relation_info_hook != NULL)
		previous_relation_info_hook(relation_info_hook_arguments);
	if (root->parse->jointree != NULL || asking_postgres || gpusort_mode == GPUSORT_MODE_OFF)
		return;
	foreach(cell, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, cell);

		if (index->relam == BTREE_AM_OID)
			index->amcostestimate = estimate_index_scan;
	}
}

bool
cluster_would_sort(Oid table, Oid index, ClusterChoice *choice)
{
	*choice = (ClusterChoice){.sort_ms = -1, .index_ms = -1};
	return plan_choice(table, index, false, choice);
}

void
cluster_install_hook(void)
{
	previous_relation_info_hook = relation_info_hook;
	relation_info_hook = see_relation;
}
