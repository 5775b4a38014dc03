/*
 * exec/node_feed.c
 *		The executor node GpuSortFeed.
 *
 * It stands below a Gather whose parent is a GpuSort.  In the leader and in each worker it reads its child
 * and feeds the rows to the one sort of the GpuSort, so that no row goes through the Gather.  team.h says how
 * processes take part.  The GpuSort gives the sort to the leader's feed; workers find it by a handle in the
 * dynamic shared memory of the parallel query, which is all that stands there: the sort outlives it.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"

#include "base/pg_compat.h"
#include "base/stopwatch.h"
#include "exec/chunk_feed.h"
#include "exec/node_feed.h"
#include "exec/team.h"
#include "key/key_row.h"
#include "key/sort_key.h"
#include "plan/sort_plan.h"

struct GpuSortFeedState
{
	CustomScanState css;			 /* must be first */
	bool is_done;					 /* has it fed, or nothing to feed? */
	Sorter *sorter;					 /* leader: the GpuSort's; worker: NULL until it has joined */
	TeamShare *team;				 /* NULL: no other process */
	ParallelContext *gather_context; /* leader: of the workers that the Gather launches; NULL: none */
	SortKey *key;					 /* leader: the GpuSort's; worker: NULL until it wants to join */
	bool complete_rows;				 /* leader: do rows hold all their sort columns? */
	bool handed_over;				 /* leader: the sorter has all rows, and workers help to return them */
};

static const CustomExecMethods feed_exec_methods;

static Node *
create_feed_state(CustomScan *plan)
{
	GpuSortFeedState *state = palloc0(sizeof(GpuSortFeedState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &feed_exec_methods;
	custom_scan_set_slot_ops(&state->css, &TTSOpsMinimalTuple);
	return (Node *) state;
}

GpuSortFeedState *
node_feed_below(const PlanState *gather)
{
	PlanState *child = IsA(gather, GatherState) ? outerPlanState(gather) : NULL;

	if (child == NULL || !IsA(child, CustomScanState) ||
		((CustomScanState *) child)->methods != &feed_exec_methods)
		return NULL;
	return (GpuSortFeedState *) child;
}

bool
node_feed_has_handed_over(const GpuSortFeedState *state)
{
	return state->handed_over;
}

void
node_feed_set_sorter(GpuSortFeedState *state, Sorter *sorter, SortKey *key, bool complete_rows)
{
	state->sorter = sorter;
	state->key = key;
	state->complete_rows = complete_rows;
	state->is_done = false;
	state->handed_over = false;
}

void
node_feed_close(GpuSortFeedState *state)
{
	if (state->team != NULL)
		team_close(state->team, state->sorter);
}

static void
begin_feed(CustomScanState *css, EState *estate, int eflags)
{
	custom_scan_apply_slot_ops(css, estate, &TTSOpsMinimalTuple);
	sort_plan_refer_to_input(css->ss.ps.plan);
	outerPlanState(css) = ExecInitNode(outerPlan(css->ss.ps.plan), estate, eflags);

	/*
	 * The rows are the input's, whatever setrefs.c has made of the output: it leaves constants there, and
	 * takes one of two equal columns for the other.
	 */
	css->ss.ps.ps_ProjInfo = NULL;
}

/* ---------------------------------------------------------------- joining the sort */

/* In a worker: makes its encoder of keys. */
static SortKey *
make_key(const GpuSortFeedState *state)
{
	int ncolumns;
	SortColumnSpec *columns = sort_plan_columns(state->css.ss.ps.plan, &ncolumns);
	SortKey *key;

	sort_key_set_unmarked(ncolumns, columns, state->team->unmarked);
	key = sort_key_create(ncolumns, columns);
	key->policy.rows = key_row_create(key, ExecGetResultType(outerPlanState(state)),
									  sort_plan_unused_columns((CustomScan *) state->css.ss.ps.plan));
	return key;
}

/* In a worker: takes part in the leader's sort; false: there is nothing to be fed. */
static bool
join_sort(GpuSortFeedState *state)
{
	state->key = make_key(state);
	state->sorter = team_join(state->team, state->key, ExecGetResultType(outerPlanState(state)));
	return state->sorter != NULL;
}

/* In the leader, which takes part when the workers have been launched. */
static bool
enter_sort(GpuSortFeedState *state)
{
	int nworkers = state->gather_context != NULL ? state->gather_context->nworkers_launched : 0;

	if (state->sorter == NULL)
		elog(ERROR, "gpusort: a feed without a sort");
	return state->sorter->device->enter(state->sorter, 1 + nworkers);
}

/* Takes part in the sort; false: there is nothing to be fed. */
static bool
take_part(GpuSortFeedState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	bool feeds = IsParallelWorker() ? join_sort(state) : enter_sort(state);

	MemoryContextSwitchTo(old);
	return feeds;
}

/* ---------------------------------------------------------------- rows */

/* EXPLAIN ANALYZE shall show so many more rows as the node's. */
static void
count_rows(GpuSortFeedState *state, double rows)
{
	if (state->css.ss.ps.instrument != NULL)
		state->css.ss.ps.instrument->tuplecount += rows;
}

/*
 * The sorter has all rows, but those of lone workers.  If workers stay to help to return them, the leader
 * must get out of the Gather, which waits for their end: so it returns a row, which stands for nothing.  A
 * Gather above a feed passes columns on and computes nothing, for no row comes to it.
 */
static TupleTableSlot *
hand_over(GpuSortFeedState *state)
{
	const SortDevice *device = state->sorter->device;
	bool waits = state->team != NULL && team_has_lone(state->team);

	if (waits)
		device->dismiss(state->sorter);
	if (waits || !device->help(state->sorter))
		return NULL;
	state->handed_over = true;
	count_rows(state, -1);
	return ExecStoreAllNullTuple(state->css.ss.ss_ScanTupleSlot);
}

/* Feeds this process's part of the input; returns the row with which the leader hands over, or NULL. */
static TupleTableSlot *
feed(GpuSortFeedState *state)
{
	Stopwatch watch = stopwatch_start();
	Sorter *sorter;
	uint64 rows;

	if (!take_part(state))
		return NULL;
	sorter = state->sorter;
	rows = sort_feed_input(sorter, state->key, outerPlanState(state),
						   sort_plan_unused_columns((const CustomScan *) state->css.ss.ps.plan));
	count_rows(state, rows);
	if (!team_finish_feed(state->team, sorter, rows, watch))
		return NULL;
	if (!IsParallelWorker())
		return hand_over(state);
	(void) sorter->device->help(sorter);
	return NULL;
}

static TupleTableSlot *
exec_feed(CustomScanState *css)
{
	GpuSortFeedState *state = (GpuSortFeedState *) css;
	TupleTableSlot *slot = NULL;

	CHECK_FOR_INTERRUPTS();
	if (!state->is_done)
	{
		state->is_done = true;
		slot = feed(state);
	}
	return slot != NULL ? slot : ExecClearTuple(css->ss.ss_ScanTupleSlot);
}

static void
rescan_feed(CustomScanState *css)
{
	((GpuSortFeedState *) css)->is_done = false;
	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

/* Nobody reads on, and in the first process the workers are ended. */
static void
shutdown_feed(CustomScanState *css)
{
	GpuSortFeedState *state = (GpuSortFeedState *) css;

	if (IsParallelWorker())
		return;
	if (state->sorter != NULL)
		state->sorter->device->dismiss(state->sorter);
	state->gather_context = NULL;
	state->team = NULL;
}

static void
end_feed(CustomScanState *css)
{
	GpuSortFeedState *state = (GpuSortFeedState *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	if (IsParallelWorker() && state->sorter != NULL)
		state->sorter->device->end(state->sorter);
	ExecEndNode(outerPlanState(css));
}

/* ---------------------------------------------------------------- the handle */

static Size
estimate_dsm(CustomScanState *css, ParallelContext *pcxt)
{
	return sizeof(TeamShare);
}

/* In the leader, before workers start: tells them where the sort is. */
static void
initialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	GpuSortFeedState *state = (GpuSortFeedState *) css;

	state->gather_context = pcxt;
	state->team = coordinate;
	team_init(state->team, state->sorter, state->key, state->complete_rows);
}

static void
initialize_worker(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	((GpuSortFeedState *) css)->team = coordinate;
}

static const CustomExecMethods feed_exec_methods = {
	.CustomName = GPUSORT_FEED_NODE_NAME,
	.BeginCustomScan = begin_feed,
	.ExecCustomScan = exec_feed,
	.EndCustomScan = end_feed,
	.ReScanCustomScan = rescan_feed,
	.EstimateDSMCustomScan = estimate_dsm,
	.InitializeDSMCustomScan = initialize_dsm,
	.ReInitializeDSMCustomScan = initialize_dsm,
	.InitializeWorkerCustomScan = initialize_worker,
	.ShutdownCustomScan = shutdown_feed,
};

const CustomScanMethods gpusort_feed_scan_methods = {
	.CustomName = GPUSORT_FEED_NODE_NAME,
	.CreateCustomScanState = create_feed_state,
};
