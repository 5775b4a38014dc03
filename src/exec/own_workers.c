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
 * the workers nor their dynamic shared memory any more.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "executor/executor.h"

#include "exec/own_workers.h"

bool
own_workers_begin(PlanState *gather)
{
	EState *estate = gather->state;

	/* a lock's recheck (EvalPlanQual) reads one row */
	if (estate->es_use_parallel_mode || estate->es_epq_active != NULL || IsParallelWorker())
		return false;
	EnterParallelMode();
	estate->es_use_parallel_mode = true;
	return true;
}

void
own_workers_end(PlanState *gather)
{
	(void) ExecShutdownNode(gather);
	gather->state->es_use_parallel_mode = false;
	ExitParallelMode();
}
