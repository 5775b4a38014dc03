/*
 * plan/own_scan.c
 *		A scan shared by several processes, in a query that PostgreSQL has no parallel plan for.
 *
 * PostgreSQL plans nothing in parallel for a cursor, a loop of PL/pgSQL, INSERT ... SELECT, SELECT ... FOR
 * UPDATE, or a query that calls an unsafe function anywhere, since parallel mode lasts from its first row to
 * its last, and nothing may be written, or be left for a while, in between.  A sort is through with its input
 * before it returns a row; so it may have a parallel mode of its own, which begins and ends inside of that
 * (exec/own_workers.c), if what is read below it may be read by workers.
 *
 * Only plain scans of one table are looked at, of none that is temporary.  What workers may evaluate there is
 * listed in own_expressions.c.
 *
 * What else PostgreSQL relies on where it plans nothing in parallel is listed in exec/README.md.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "base/pg_compat.h"
#include "plan/own_expressions.h"
#include "plan/own_scan.h"
#include "plan/rival.h"

/* Could the query's processes scan the table? */
static bool
may_be_shared(PlannerInfo *root, const RelOptInfo *rel)
{
	const RangeTblEntry *rte;

	if (rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_RELATION)
		return false;
	rte = planner_rt_fetch(rel->relid, root);
	if (rte->tablesample != NULL || get_rel_persistence(rte->relid) == RELPERSISTENCE_TEMP)
		return false;
	/* a condition on no column is asked by a node above the scan */
	return extract_actual_clauses(rel->baserestrictinfo, true) == NIL &&
		   own_workers_may_evaluate((Node *) extract_actual_clauses(rel->baserestrictinfo, false));
}

/* Are there workers to be had, but no parallel plan, in this process? */
static bool
is_own_affair(const PlannerInfo *root)
{
	return !root->glob->parallelModeOK && max_parallel_workers_per_gather > 0 && IsUnderPostmaster &&
		   !IsParallelWorker();
}

/* The scan with the output that the input has. */
static Path *
with_target_of(PlannerInfo *root, Path *scan, const Path *input)
{
	Path *path = scan;

	if (input->pathtarget != scan->pathtarget)
		path = (Path *) create_projection_path(root, scan->parent, scan, input->pathtarget);
	path->parallel_safe = true;
	return path;
}

Path *
own_scan_path(PlannerInfo *root, Path *input)
{
	RelOptInfo *rel = path_below_projection(input)->parent;
	Path *scan;
	int workers;

	if (!is_own_affair(root) || path_below_projection(input)->pathtype != T_SeqScan ||
		!may_be_shared(root, rel) || !own_workers_may_evaluate((Node *) input->pathtarget->exprs))
		return NULL;
	workers = compute_parallel_worker(rel, rel->pages, -1, max_parallel_workers_per_gather);
	if (workers <= 0)
		return NULL;
	scan = create_seqscan_path(root, rel, NULL, workers);
	scan->parallel_safe = true;
	return with_target_of(root, scan, input);
}

void
own_scan_keep_serial(PlannerInfo *root)
{
	if (!root->glob->parallelModeOK)
		root->glob->parallelModeNeeded = false;
}
