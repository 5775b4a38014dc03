/*
 * exec/node_gpusort.c
 *		The executor node GpuSort.
 *
 * Like a Sort node it reads all of its input when the first row is asked for, sorts, and returns the rows;
 * all of the sorting is behind the device interface (device/sorter.h).
 *
 * Where the plan is a parallel one, the input is a Gather over GpuSortFeed nodes (node_feed.c), which feed
 * the same sorter from several processes.
 *
 * README.md has its states, and what happens when a device fails (fall_back).  The node runs in the leader,
 * or in a process that is alone; nothing here is shared but through the sorter.  Below a Gather each process
 * has a node, with a sorter of its own, and they share what worker_sorts.h has.  All that it holds is in the
 * query's memory context, so errors need no code.
 *
 * Its slot of scan tuples holds the sorted rows as minimal tuples; where the plan wants other columns than
 * the input's, the node projects.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/sinval.h"

#include "base/pg_compat.h"
#include "base/stopwatch.h"
#include "device/participants.h"
#include "exec/chunk_feed.h"
#include "exec/explain.h"
#include "exec/gpusort_request.h"
#include "exec/gpusort_state.h"
#include "exec/group_above.h"
#include "exec/node_feed.h"
#include "exec/node_gpusort.h"
#include "exec/not_null.h"
#include "exec/own_workers.h"
#include "exec/row_slot.h"
#include "key/changes.h"
#include "key/key_row.h"
#include "key/sort_key.h"
#include "monitor/counters.h"
#include "monitor/fallback_log.h"
#include "plan/sort_plan.h"

static const CustomExecMethods exec_methods;

/* GpuSorts whose states were begun. */
static uint64 made = 0;

static Node *
create_gpusort_state(CustomScan *plan)
{
	GpuSortState *state = palloc0(sizeof(GpuSortState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	custom_scan_set_slot_ops(&state->css, &TTSOpsMinimalTuple);
	return (Node *) state;
}

bool
node_is_gpusort(const PlanState *state)
{
	return IsA(state, CustomScanState) && ((const CustomScanState *) state)->methods == &exec_methods;
}

uint64
node_gpusort_count_made(void)
{
	return made;
}

static void
begin_gpusort(CustomScanState *css, EState *estate, int eflags)
{
	GpuSortState *state = (GpuSortState *) css;
	Plan *plan = css->ss.ps.plan;

	made++;
	state->columns = sort_plan_columns(plan, &state->ncolumns);
	sort_plan_refer_to_input(plan);
	state->random_access = (eflags & (EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK)) != 0;
	state->unused = sort_plan_unused_columns((CustomScan *) plan);
	state->restartable = sort_plan_is_restartable((CustomScan *) plan);
	state->key_width = sort_plan_expected((CustomScan *) plan).key_bytes;
	custom_scan_apply_slot_ops(css, estate, &TTSOpsMinimalTuple);

	/* The input is read forwards and, unless its parameters change, once. */
	eflags &= ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
	outerPlanState(css) = ExecInitNode(outerPlan(plan), estate, eflags);
	state->feed = node_feed_below(outerPlanState(css));
	own_workers_init(&state->own_workers);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	not_null_columns(outerPlanState(css), state->ncolumns, state->columns);
}

/* ---------------------------------------------------------------- statistics */

/* Is this a lock's recheck of rows that were changed (EvalPlanQual)? */
static bool
is_recheck(const GpuSortState *state)
{
	return state->css.ss.ps.state->es_epq_active != NULL;
}

/* What the sorter did so far besides being fed: the time of it. */
static double
ms_besides_feed(const SorterStats *stats)
{
	return stats->queue_ms + stats->sort_ms + stats->spill_ms + stats->merge_ms;
}

/*
 * Counts a sort that was performed; when_read: what it had done when its input was read, which took read_ms.
 */
static void
note_performed(GpuSortState *state, double read_ms, const SorterStats *when_read)
{
	SorterStats stats;

	state->performed = true;
	state->device = device_names[state->sorter->device->kind];
	state->feed_ms += read_ms - ms_besides_feed(when_read);
	state->sorter->device->get_stats(state->sorter, &stats);
	if (!is_recheck(state))
		stats_count_sort(state->device, &stats);
	if (IsParallelWorker() && state->worker_sorts != NULL)
		worker_sorts_note(state->worker_sorts, ParallelWorkerNumber, &stats, state->key->verified);
	progress_note_processes(state->progress, stats.processes);
	progress_enter(state->sorter, PROGRESS_RETURNING);
}

/* ---------------------------------------------------------------- the sort */

static void
release_sorter(GpuSortState *state)
{
	if (state->sorter == NULL)
		return;
	gpusort_state_get_stats(state, &state->past);
	state->performed = false;
	progress_end(state->progress);
	if (state->feed != NULL)
		node_feed_set_sorter(state->feed, NULL, NULL, false);
	state->sorter->device->end(state->sorter);
	state->sorter = NULL;
	ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
}

/* Has the feeds below the Gather put all rows into the sorter; the row that hands over may come out of it. */
static void
drain_feeds(GpuSortState *state)
{
	PlanState *gather = outerPlanState(state);
	TupleTableSlot *slot = ExecProcNode(gather);

	if (TupIsNull(slot))
		node_feed_close(state->feed);
	else if (!node_feed_has_handed_over(state->feed))
		elog(ERROR, "gpusort: a row has come through a Gather above feeds");
	else if (gather->instrument != NULL)
		gather->instrument->tuplecount -= 1; /* EXPLAIN ANALYZE shall not count it */
}

/* How many of the rows are wanted: a worker's Limit is below its Gather, or else one of the leader's. */
static RowsWanted
rows_wanted_now(GpuSortState *state)
{
	RowsWanted wanted;

	if (IsParallelWorker() && state->limit == NULL && state->worker_sorts != NULL)
		wanted = state->worker_sorts->wanted;
	else
		wanted = rows_wanted_by(state->limit);
	group_above_evaluate(state->group_above, &state->css.ss.ps, &wanted);
	return wanted;
}

/*
 * Do its keys only guess the order, without codes?  A card cannot sort by them: the plan may have expected
 * codes where there is no memory for them.
 */
static bool
guesses_on_card(const GpuSortState *state, const SortDevice *device, const SortRequest *request)
{
	return device->kind != DEVICE_CPU && state->key->verified && request->rows.coded == 0;
}

/* Begins a sorter of this device. */
static void
begin_sorter(GpuSortState *state, const SortDevice *device)
{
	SortRequest request;

	sort_device_set_layout(device, state->key);
	gpusort_request_make(state, device, &request);
	if (guesses_on_card(state, device, &request))
	{
		device = &sort_device_cpu;
		sort_device_set_layout(device, state->key);
		gpusort_request_make(state, device, &request);
	}
	progress_start(state->progress, device_names[device->kind], request.expected.rows, request.processes.n);
	state->sorter = device->begin(&request);
	progress_set_sorter(state->progress, state->sorter);
	progress_enter(state->sorter, PROGRESS_READING);
	if (state->feed != NULL)
		node_feed_set_sorter(state->feed, state->sorter, state->key, request.rows.complete);
}

/* Reads and sorts with this device; false: the sorter has failed. */
static bool
sort_with(GpuSortState *state, const SortDevice *device)
{
	SorterStats when_read;
	Stopwatch watch = stopwatch_start();
	double read_ms;

	if (state->feed != NULL)
		own_workers_begin(&state->own_workers, outerPlanState(state));
	begin_sorter(state, device);
	if (state->sorter->failure == NULL)
	{
		state->began_reading = true;
		if (state->feed != NULL)
			drain_feeds(state);
		else
			(void) sort_feed_input(state->sorter, state->key, outerPlanState(state), state->unused);
	}
	if (state->own_workers.active)
		own_workers_end(&state->own_workers, outerPlanState(state));
	if (state->sorter->failure != NULL)
		return false;
	read_ms = stopwatch_ms(watch);
	state->sorter->device->get_stats(state->sorter, &when_read);
	progress_enter(state->sorter, PROGRESS_SORTING);
	if (!state->sorter->device->sort(state->sorter))
		return false;
	note_performed(state, read_ms, &when_read);
	return true;
}

/* Gets ready to read the input once more.  What the sorter did does not count. */
static void
read_again(GpuSortState *state)
{
	if (state->sorter->failure_reason == SORT_FAILURE_CODES)
	{
		SorterStats stats;

		state->sorter->device->get_stats(state->sorter, &stats);
		state->coding_ended = true;
		state->values_full = stats.values_full;
	}
	state->performed = false;
	release_sorter(state);
	if (state->began_reading)
		ExecReScan(outerPlanState(state));
	state->began_reading = false;
}

/* The device has failed: gets ready to read the input once more, or raises an error if that can't be. */
static void
fall_back(GpuSortState *state)
{
	const Sorter *sorter = state->sorter;
	char *failure = MemoryContextStrdup(state->css.ss.ps.state->es_query_cxt, sorter->failure);
	const char *device = device_names[sorter->device->kind];
	/* where nobody has entered, nobody has asked for a row */
	bool has_read = state->began_reading && (sorter->share == NULL || sort_share_is_entered(sorter->share));

	if (sorter->failure_reason == SORT_FAILURE_CODES)
	{
		read_again(state);
		return;
	}
	stats_count_fallback(device, sorter->failure_reason);
	if (state->returned_rows || (has_read && !state->restartable))
		ereport(
			ERROR,
			(errcode(ERRCODE_SYSTEM_ERROR),
			 errmsg("the sort on device \"%s\" could not be completed", device),
			 errdetail("Reason: %s.", failure),
			 state->returned_rows
				 ? errhint(
					   "Some rows were already returned. Run the query again, or set gpusort.backend to \"cpu\".")
				 : errhint(
					   "The query has volatile functions below the sort, so its input cannot be read again. Run the query again, or set gpusort.backend to \"cpu\".")));
	fallback_log_device(device, sorter->failure_reason, failure);
	state->fallback = failure;
	state->fallback_device = device;
	read_again(state);
}

/*
 * Is this session certain to look at the same catalogs as before?  Its caches change when it hears of what
 * others have done, by messages that are counted, and with each command of its own, or its rollback, which
 * leaves the command's number as it is.
 */
static bool
catalogs_are_the_same(const CatalogsSeen *seen, const CatalogsSeen *now)
{
	return seen->command == now->command && seen->subtransaction == now->subtransaction &&
		   seen->messages == now->messages;
}

/*
 * The key of the rows that come now.  PostgreSQL looks up what it compares by when a sort begins, and no
 * earlier: a cursor's query may wait for its first row while types and operators are changed.
 */
static void
describe_key(GpuSortState *state)
{
	CatalogsSeen now = {GetCurrentCommandId(false), GetCurrentSubTransactionId(),
						SharedInvalidMessageCounter};
	MemoryContext old;

	if (state->key != NULL && catalogs_are_the_same(&state->described, &now))
		return;
	old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	state->described = now;
	if (state->key == NULL || !sort_key_is_current(state->key, state->columns))
	{
		state->key = sort_key_create(state->ncolumns, state->columns);
		state->key->policy.rows =
			key_row_create(state->key, ExecGetResultType(outerPlanState(state)), state->unused);
		state->sample = NULL;
	}
	MemoryContextSwitchTo(old);
}

/*
 * The device to begin with, by what the settings are now, and by what a LIMIT above wants: the plan may be an
 * old one, made before either was known.  A lock's recheck, which runs the plan again for each row that was
 * changed meanwhile, sorts that one row here.
 */
static const SortDevice *
choose_device(const GpuSortState *state)
{
	const CustomScan *plan = (const CustomScan *) state->css.ss.ps.plan;

	if (is_recheck(state))
		return &sort_device_cpu;
	return sort_devices[sort_plan_device(plan, gpusort_request_has_guesses(state),
										 rows_wanted_by(state->limit).rows)];
}

/* Makes a sorter of this device, or of the one that doesn't fail, hold the input's rows in order. */
static void
sort_input(GpuSortState *state, const SortDevice *device)
{
	EState *estate = state->css.ss.ps.state;
	ScanDirection direction = estate->es_direction;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	/* The input is always read forwards. */
	estate->es_direction = ForwardScanDirection;
	state->wanted = rows_wanted_now(state);
	state->returned_rows = false;
	state->rows_returned = 0;
	state->began_reading = false;
	if (state->progress == NULL)
		state->progress = progress_create();
	while (!sort_with(state, device))
	{
		bool ended = state->sorter->failure_reason == SORT_FAILURE_CODES;

		fall_back(state);
		device = ended ? choose_device(state) : &sort_device_cpu;
	}
	estate->es_direction = direction;
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- rows */

/* The next row, also if the device fails before the first one was returned. */
static inline MinimalTuple
next_row(GpuSortState *state, bool forward)
{
	MinimalTuple row = sorter_next(state->sorter, forward);

	if (unlikely(row == NULL && state->sorter->failure != NULL))
	{
		fall_back(state);
		sort_input(state, &sort_device_cpu);
		row = sorter_next(state->sorter, forward);
	}
	state->returned_rows |= row != NULL;
	state->rows_returned += row != NULL;
	if (unlikely(row == NULL || state->rows_returned % PROGRESS_ROWS == 0))
		progress_note_returned(state->progress, state->rows_returned);
	return row;
}

static TupleTableSlot *
exec_gpusort(CustomScanState *css)
{
	GpuSortState *state = (GpuSortState *) css;
	MinimalTuple row;

	CHECK_FOR_INTERRUPTS();
	if (unlikely(state->sorter == NULL))
	{
		describe_key(state);
		sort_input(state, choose_device(state));
	}
	row = next_row(state, ScanDirectionIsForward(css->ss.ps.state->es_direction));
	if (likely(row != NULL))
		row_slot_store(css->ss.ss_ScanTupleSlot, row);
	return row_slot_return(css, row != NULL);
}

static void
rescan_gpusort(CustomScanState *css)
{
	GpuSortState *state = (GpuSortState *) css;
	PlanState *input = outerPlanState(css);
	RowsWanted wanted = rows_wanted_now(state);

	if (state->sorter == NULL)
	{
		/* nothing was read yet; a changed parameter makes the input rescan itself */
		if (input->chgParam == NULL)
			ExecReScan(input);
		return;
	}
	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	/*
	 * As a Sort does, only where the rows were asked for once more from the start: a parameter in the run
	 * condition of a WindowAgg is not among those that the planner knows of the plan, so that it changes
	 * unseen.
	 */
	if (state->random_access && input->chgParam == NULL && rows_wanted_suffice(&state->wanted, &wanted) &&
		sorter_rewind(state->sorter))
		return;
	release_sorter(state);
	if (input->chgParam == NULL)
		ExecReScan(input);
}

void
node_gpusort_read_few(PlanState *node)
{
	((GpuSortState *) node)->few_read = true;
}

int64
node_gpusort_rows(const PlanState *node)
{
	return sorter_rows(((const GpuSortState *) node)->sorter);
}

void
node_gpusort_seek(PlanState *node, int64 position)
{
	sorter_seek(((GpuSortState *) node)->sorter, position);
}

int64
node_gpusort_count_keys(PlanState *node, int64 first, int64 end)
{
	return sorter_count_keys(((GpuSortState *) node)->sorter, first, end);
}

static void
mark_gpusort(CustomScanState *css)
{
	Sorter *sorter = ((GpuSortState *) css)->sorter;

	if (sorter != NULL)
		sorter_mark(sorter);
}

static void
restore_gpusort(CustomScanState *css)
{
	Sorter *sorter = ((GpuSortState *) css)->sorter;

	if (sorter != NULL)
		sorter_restore(sorter);
}

static void
end_gpusort(CustomScanState *css)
{
	release_sorter((GpuSortState *) css);
	ExecEndNode(outerPlanState(css));
}

/* ---------------------------------------------------------------- below a Gather */

static Size
estimate_dsm(CustomScanState *css, ParallelContext *pcxt)
{
	return worker_sorts_size(pcxt->nworkers);
}

/* In the leader, before workers start again. */
static void
reinitialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	GpuSortState *state = (GpuSortState *) css;

	state->worker_sorts = coordinate;
	state->worker_sorts->wanted = rows_wanted_by(state->limit);
}

/* In the leader, before workers start. */
static void
initialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	worker_sorts_init(coordinate, pcxt->nworkers);
	reinitialize_dsm(css, pcxt, coordinate);
}

static void
initialize_worker(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	((GpuSortState *) css)->worker_sorts = coordinate;
}

/* Nobody reads on; the Gather will free what its workers have written. */
static void
shutdown_gpusort(CustomScanState *css)
{
	GpuSortState *state = (GpuSortState *) css;
	MemoryContext old;

	if (state->worker_sorts == NULL || IsParallelWorker())
		return;
	old = MemoryContextSwitchTo(css->ss.ps.state->es_query_cxt);
	state->worker_sorts = worker_sorts_keep(state->worker_sorts);
	MemoryContextSwitchTo(old);
}

static const CustomExecMethods exec_methods = {
	.CustomName = GPUSORT_NODE_NAME,
	.BeginCustomScan = begin_gpusort,
	.ExecCustomScan = exec_gpusort,
	.EndCustomScan = end_gpusort,
	.ReScanCustomScan = rescan_gpusort,
	.MarkPosCustomScan = mark_gpusort,
	.RestrPosCustomScan = restore_gpusort,
	.EstimateDSMCustomScan = estimate_dsm,
	.InitializeDSMCustomScan = initialize_dsm,
	.ReInitializeDSMCustomScan = reinitialize_dsm,
	.InitializeWorkerCustomScan = initialize_worker,
	.ShutdownCustomScan = shutdown_gpusort,
	.ExplainCustomScan = explain_sort_node,
};

const CustomScanMethods gpusort_scan_methods = {
	.CustomName = GPUSORT_NODE_NAME,
	.CreateCustomScanState = create_gpusort_state,
};
