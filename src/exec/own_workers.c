/*
 * exec/own_workers.c
 *		A parallel mode of the sort's own, for as long as it reads its input.
 *
 * README.md has why this is right, and what PostgreSQL relies on meanwhile.
 *
 * Rows are in the memory of the sort when the Gather is through (memory/arena.c).  What stands in the
 * workers' dynamic shared memory is gone when parallel mode ends; but the plan may be read once more, by
 * PostgreSQL's own nodes, which expect it for as long as the query lasts.  So this is for a bare scan below
 * the feed alone, whose place in the table is forgotten here.
 *
 * The plan is checked once more here, for it may be old, or PostgreSQL's own (plan/own_expressions.c).
 *
 * PostgreSQL checks permissions when the executor starts, and no more when the first row is asked for: a
 * cursor returns its rows after a REVOKE.  Workers would check them when they start, as the user of that
 * moment.  So their range table asks for none, and there are no workers for another user.
 *
 * After an error the transaction's abort ends the workers and parallel mode.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "base/pg_compat.h"
#include "exec/own_workers.h"
#include "plan/own_expressions.h"

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

/* Does the executor run as the user that it was started by, and as freely? */
static bool
user_is_the_same(const OwnWorkers *own)
{
	Oid user;
	int security_context;

	GetUserIdAndSecContext(&user, &security_context);
	return user == own->user && security_context == own->security_context;
}

/* Is this Gather one whose workers the query does not launch, but the sort may? */
static bool
may_be_launched(const OwnWorkers *own, PlanState *gather)
{
	const EState *estate = gather->state;
	const SeqScanState *scan = scan_below(gather);

	/* a lock's recheck (EvalPlanQual) reads one row */
	if (estate->es_use_parallel_mode || estate->es_epq_active != NULL || IsParallelWorker() || scan == NULL)
		return false;
	return user_is_the_same(own) && own_workers_may_evaluate((Node *) scan->ss.ps.plan->targetlist) &&
		   own_workers_may_evaluate((Node *) scan->ss.ps.plan->qual);
}

/* The query's range table, but that it takes no permissions; as long-lived. */
static List *
range_table_of_workers(EState *estate)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	List *range_table = NIL;
	ListCell *cell;

	foreach(cell, estate->es_range_table)
	{
		RangeTblEntry *rte = makeNode(RangeTblEntry);

		*rte = *lfirst_node(RangeTblEntry, cell);
		rte_take_no_permission(rte);
		range_table = lappend(range_table, rte);
	}
	MemoryContextSwitchTo(old);
	return range_table;
}

/* Hides from the workers what permissions the query takes. */
static void
take_no_permissions(OwnWorkers *own, EState *estate)
{
	if (own->workers_range_table == NIL)
		own->workers_range_table = range_table_of_workers(estate);
	own->range_table = estate->es_range_table;
	own->permissions = estate_exchange_permissions(estate, NIL);
	estate->es_range_table = own->workers_range_table;
}

static void
restore_permissions(OwnWorkers *own, EState *estate)
{
	estate->es_range_table = own->range_table;
	(void) estate_exchange_permissions(estate, own->permissions);
}

void
own_workers_init(OwnWorkers *own)
{
	GetUserIdAndSecContext(&own->user, &own->security_context);
}

void
own_workers_begin(OwnWorkers *own, PlanState *gather)
{
	own->active = may_be_launched(own, gather);
	if (!own->active)
		return;
	EnterParallelMode();
	gather->state->es_use_parallel_mode = true;
	take_no_permissions(own, gather->state);
}

void
own_workers_end(OwnWorkers *own, PlanState *gather)
{
	(void) ExecShutdownNode(gather);
	forget_scan(&scan_below(gather)->ss);
	restore_permissions(own, gather->state);
	gather->state->es_use_parallel_mode = false;
	ExitParallelMode();
	own->active = false;
}
