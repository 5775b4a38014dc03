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
 * That is asked as PostgreSQL asks it of each relation: no temporary table, no function in a condition or an
 * output column that isn't safe.  And of the functions only PostgreSQL's own, in C, that aren't volatile: any
 * other may start a command or a subtransaction, whatever its declaration says, which is an error in parallel
 * mode.  And no sub-select, nor a parameter that the executor computes: an InitPlan may write.  Only plain
 * scans of one table are looked at.
 *
 * What else PostgreSQL relies on where it plans nothing in parallel is listed in exec/README.md.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/pg_compat.h"
#include "plan/own_scan.h"
#include "plan/rival.h"

/* Is this a function that processes in parallel mode must not call here, or this user? */
static bool
is_doubtful_function(Oid function, void *context)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	const FormData_pg_proc *proc;
	bool doubtful;

	if (!HeapTupleIsValid(tuple)) /* it was dropped since */
		return true;
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	doubtful = proc->prolang != INTERNALlanguageId || proc->provolatile == PROVOLATILE_VOLATILE;
	ReleaseSysCache(tuple);
	return doubtful || proc_aclcheck(function, GetUserId()) != ACLCHECK_OK;
}

/* Does IN look for a value by such a function's hashes?  PostgreSQL's walk over functions leaves it out. */
static bool
hashes_doubtfully(const ScalarArrayOpExpr *in)
{
	return OidIsValid(in->hashfuncid) && is_doubtful_function(in->hashfuncid, NULL);
}

/*
 * Does the executor make ready, when it starts, by which version of a type a row is put together, or by which
 * function of a type that is not PostgreSQL's own values compare?  Workers, which start later, would by
 * others if the type is altered in between.
 */
static bool
depends_on_start(const Node *node)
{
	if (IsA(node, RowExpr))
		return ((const RowExpr *) node)->row_typeid != RECORDOID;
	return IsA(node, MinMaxExpr) && ((const MinMaxExpr *) node)->minmaxtype >= FirstNormalObjectId;
}

/* Is there anything in the expression that must not be evaluated in such a scan? */
static bool
is_doubtful(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
		check_functions_in_node(node, is_doubtful_function, NULL) || depends_on_start(node))
		return true;
	if (IsA(node, Param) && ((Param *) node)->paramkind != PARAM_EXTERN)
		return true;
	if (IsA(node, ScalarArrayOpExpr) && hashes_doubtfully((ScalarArrayOpExpr *) node))
		return true;
	return expression_tree_walker(node, is_doubtful, context);
}

bool
own_scan_may_evaluate(Node *exprs)
{
	return !is_doubtful(exprs, NULL);
}

/* May workers evaluate these expressions? */
static bool
are_safe(PlannerInfo *root, Node *exprs)
{
	return is_parallel_safe(root, exprs) && own_scan_may_evaluate(exprs);
}

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
		   are_safe(root, (Node *) extract_actual_clauses(rel->baserestrictinfo, false));
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
		!may_be_shared(root, rel) || !are_safe(root, (Node *) input->pathtarget->exprs))
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
