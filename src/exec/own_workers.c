/*
 * exec/own_workers.c
 *		A parallel mode of the sort's own, for as long as it reads its input.
 *
 * The executor is in parallel mode from a query's first row to its last, and only if it is certain that it
 * will be asked for all of them at once: not for cursors, nor for a client that fetches some rows at a time;
 * and there is no parallel plan for queries that write (plan/own_scan.c makes ours).  A sort reads all of its
 * input before it returns a row.  So nothing is written, and nobody is returned to, while its Gather runs,
 * and that alone is what parallel mode has to last for: no transaction id is assigned in it, no row is
 * changed, and what else the query does comes before and after.
 *
 * Rows are in the memory of the sort when the Gather is through (device/shared_files.c), so they need neither
 * the workers nor their dynamic shared memory any more.  What stands in that is gone when parallel mode ends;
 * but the plan may be read once more, by PostgreSQL's own nodes, which expect it for as long as the query
 * lasts.  So this is for a bare scan below the feed alone, whose place in the table is forgotten here.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"

#include "exec/own_workers.h"

/* The scan that is read through the Gather and the feed, or NULL. */
static SeqScanState *
scan_below(PlanState *gather)
{
	PlanState *input = outerPlanState(outerPlanState(gather));

	return IsA(input, SeqScanState) ? (SeqScanState *) input : NULL;
}

/* Ends the scan that the workers shared, as if it had not begun yet. */
static void
forget_scan(ScanState *scan)
{
	(void) ExecClearTuple(scan->ss_ScanTupleSlot);
	if (scan->ss_currentScanDesc != NULL)
		table_endscan(scan->ss_currentScanDesc);
	scan->ss_currentScanDesc = NULL;
}

bool
own_workers_begin(PlanState *gather)
{
	EState *estate = gather->state;

	/* a lock's recheck (EvalPlanQual) reads one row */
	if (estate->es_use_parallel_mode || estate->es_epq_active != NULL || IsParallelWorker() ||
		scan_below(gather) == NULL)
		return false;
	EnterParallelMode();
	estate->es_use_parallel_mode = true;
	return true;
}

void
own_workers_end(PlanState *gather)
{
	(void) ExecShutdownNode(gather);
	forget_scan(&scan_below(gather)->ss);
	gather->state->es_use_parallel_mode = false;
	ExitParallelMode();
}
