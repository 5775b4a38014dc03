/*
 * index/choice.c
 *		Which builds of indexes are ours, and why others are not.
 *
 * index_builds_are_on asks the settings, index_table_is_ours the table as well, index_build_is_ours the index
 * as well.  takeover.c, check.c and index_build.c call these, so the reason that gpusort_check gives is the
 * one by which a build is left to PostgreSQL.  docs/limits.md lists the reasons.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "catalog/catalog.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "storage/bufmgr.h"

#include "base/guc.h"
#include "index/choice.h"
#include "index/index_key.h"

/*
 * In mode auto, tables that are expected to have no more rows are left alone: their builds take a millisecond
 * either way (docs/performance.md).
 */
#define ROWS_MIN 1000

/* Kilobytes of maintenance_work_mem that a process needs, whatever the table's parallel_workers. */
#define KILOBYTES_PER_PROCESS_MIN 512

bool
index_builds_are_on(Declined *why_not)
{
	if (gpusort_mode == GPUSORT_MODE_OFF)
		return declined_because(why_not, DECLINED_MODE_OFF, "gpusort.mode is off");
	if (!gpusort_create_index)
		return declined_because(why_not, DECLINED_MODE_OFF, "gpusort.create_index is off");
	return true;
}

double
index_build_rows(Relation heap)
{
	BlockNumber pages;
	double rows;
	double all_visible;

	table_relation_estimate_size(heap, NULL, &pages, &rows, &all_visible);
	return rows;
}

/* A table that holds nothing, or whose file does, has no need of an estimate. */
static bool
is_large_enough(Relation heap, Declined *why_not)
{
	double rows;

	if (gpusort_mode == GPUSORT_MODE_FORCE)
		return true;
	rows = RelationGetNumberOfBlocks(heap) > 0 ? index_build_rows(heap) : 0;
	if (rows > ROWS_MIN)
		return true;
	return declined_because(why_not, DECLINED_FEW_ROWS,
							psprintf("the table has about %.0f rows, which is not more than %d", rows,
									 ROWS_MIN));
}

bool
index_is_parallel_safe(Node *expression)
{
	Query query = {.type = T_Query,
				   .targetList = list_make1(makeTargetEntry((Expr *) expression, 1, NULL, false))};

	return expression == NULL || max_parallel_hazard(&query) == PROPARALLEL_SAFE;
}

int
index_build_workers(int nworkers)
{
	return Max(Min(nworkers, maintenance_work_mem / KILOBYTES_PER_PROCESS_MIN - 1), 0);
}

/* By the rules of plan_create_index_workers(), in their order. */
const char *
index_build_why_few_workers(Relation heap, Relation index, int nworkers)
{
	int limit = RelationGetParallelWorkers(heap, -1);

	if (heap->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return "the table is temporary";
	if (!index_is_parallel_safe((Node *) RelationGetIndexExpressions(index)) ||
		!index_is_parallel_safe((Node *) RelationGetIndexPredicate(index)))
		return "an expression of the index is not parallel safe";
	if (limit >= 0 && nworkers == limit)
		return "the table's parallel_workers sets this number";
	if (limit >= 0 && nworkers == index_build_workers(limit))
		return "maintenance_work_mem is less than 512 kB for each process";
	if (maintenance_work_mem / (nworkers + 2) < INDEX_KILOBYTES_PER_PROCESS)
		return "maintenance_work_mem is less than 32 MB for each process";
	return "the table is not large enough for more, see min_parallel_table_scan_size";
}

bool
index_table_is_ours(Relation heap, Declined *why_not)
{
	if (!index_builds_are_on(why_not))
		return false;
	if (IsSystemRelation(heap))
		return declined_because(why_not, DECLINED_TABLE, "the table is a system catalog or a toast table");
	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		return declined_because(why_not, DECLINED_TABLE, "the table's access method is not heap");
	return is_large_enough(heap, why_not);
}

bool
index_build_is_ours(Relation heap, Relation index, Declined *why_not)
{
	return index_table_is_ours(heap, why_not) && index_key_supported(index, why_not);
}
