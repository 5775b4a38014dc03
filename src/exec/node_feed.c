/*
 * exec/node_feed.c
 *		The executor node GpuSortFeed.
 *
 * It stands below a Gather whose parent is a GpuSort.  In the leader and in each worker it reads its child
 * and feeds the rows to the one sort of the GpuSort, so that no row goes through the Gather: as a rule the
 * node returns nothing.
 *
 * The GpuSort begins the sort and gives it to the leader's feed; workers find it by a handle in the dynamic
 * shared memory of the parallel query, which is all that stands there: the sort outlives it.
 *
 * A row for which the sort has no room is returned, and from then on so is every row of this process: the
 * GpuSort gets them from the Gather, and makes room by spilling.  A worker that can't open the sort's memory
 * returns all of its rows, and so does one whose keys are not the leader's; it must not skip its part of the
 * input, for it may be the only process that reads it.  It counts itself in the memory that the workers share
 * before it reads, so that nobody sorts while its rows come.  One that comes when the sort is closed has
 * nothing to read (device/participants.h): join_sort gets NULL from the device, and the node is done without
 * asking its child for a row.
 *
 * The states are those of FeedStage, in order; FEED_PASSING is left out by a process that has found room for
 * all of its rows, and FEED_DONE follows at once where the sort is closed.  Of FeedShared, npassing is
 * atomic, and the leader sets the rest before workers start, so there is no lock.
 *
 * If the sort's device fails, each process stops, and the GpuSort starts again.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "port/atomics.h"

#include "base/pg_compat.h"
#include "base/stopwatch.h"
#include "device/participants.h"
#include "exec/chunk_feed.h"
#include "exec/input_rows.h"
#include "exec/node_feed.h"
#include "exec/page_feed.h"
#include "key/key_row.h"
#include "plan/sort_plan.h"

typedef enum FeedStage
{
	FEED_NOT_BEGUN,
	FEED_FEEDING,
	FEED_PASSING,	  /* returning the rest of the input */
	FEED_TAKING_BACK, /* returning what the device did not keep after all */
	FEED_DONE
} FeedStage;

/* In the dynamic shared memory of the parallel query. */
typedef struct FeedShared
{
	ArenaHandle handle;		   /* of the sort; zeros: others can't join */
	pg_atomic_uint32 npassing; /* workers that pass all of their rows on, or will */
	uint32 unmarked;		   /* the leader found out which columns of the key need no marker */
	uint64 fingerprint;		   /* of the leader's key */
} FeedShared;

struct GpuSortFeedState
{
	CustomScanState css; /* must be first */
	FeedStage stage;
	Sorter *sorter;			  /* leader: the GpuSort's; worker: NULL until it has joined */
	FeedShared *shared;		  /* NULL: no other process */
	ParallelContext *workers; /* leader: those that the Gather launches; NULL: none */
	SortKey *key;			  /* leader: the GpuSort's; worker: NULL until it wants to join */
	SortFeed feed;
	Stopwatch watch;
	uint64 rows;	  /* that were fed */
	bool handed_over; /* leader: the sorter has all rows, and workers help to return them */
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
node_feed_set_sorter(GpuSortFeedState *state, Sorter *sorter, SortKey *key)
{
	state->sorter = sorter;
	state->key = key;
	state->stage = FEED_NOT_BEGUN;
	state->handed_over = false;
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

/*
 * In a worker: makes its encoder of keys.  False: its keys are others than the leader's, for a type was
 * altered in between.
 */
static bool
make_key(GpuSortFeedState *state)
{
	int ncolumns;
	SortColumnSpec *columns = sort_plan_columns(state->css.ss.ps.plan, &ncolumns);

	sort_key_set_unmarked(ncolumns, columns, state->shared->unmarked);
	state->key = sort_key_create(ncolumns, columns);
	state->key->rows = key_row_create(state->key, ExecGetResultType(outerPlanState(state)),
									  sort_plan_unused_columns((CustomScan *) state->css.ss.ps.plan));
	return sort_key_fingerprint(state->key) == state->shared->fingerprint;
}

/* In a worker: takes part in the sort that the handle names, and says what is to be done next. */
static FeedStage
join_sort(GpuSortFeedState *state)
{
	SortShare *share = make_key(state) ? sort_share_attach(&state->shared->handle) : NULL;
	const SortDevice *device;

	if (share == NULL)
	{
		pg_atomic_fetch_add_u32(&state->shared->npassing, 1);
		return FEED_PASSING;
	}
	device = share->on_gpu ? &sort_device_cuda : &sort_device_cpu;
	sort_device_set_layout(device, state->key);
	state->sorter = device->join(share, state->key, NULL);
	return state->sorter != NULL ? FEED_FEEDING : FEED_DONE;
}

/* In the leader, which takes part when the workers have been launched. */
static bool
enter_sort(GpuSortFeedState *state)
{
	int nworkers = state->workers != NULL ? state->workers->nworkers_launched : 0;

	return state->sorter->device->enter(state->sorter, 1 + nworkers, NULL);
}

/* Takes part in the sort, if that is possible and needed. */
static FeedStage
begin_feeding(GpuSortFeedState *state)
{
	const CustomScan *plan = (const CustomScan *) state->css.ss.ps.plan;
	MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	FeedStage stage;

	state->watch = stopwatch_start();
	state->rows = 0;
	if (IsParallelWorker())
		stage = join_sort(state);
	else if (state->sorter == NULL)
		elog(ERROR, "gpusort: a feed without a sort");
	else
		stage = enter_sort(state) ? FEED_FEEDING : FEED_DONE;
	if (stage == FEED_FEEDING)
	{
		const SortDevice *device = state->sorter->device;

		sort_device_set_layout(device, state->key);
		sort_feed_begin(&state->feed, state->sorter, state->key, ExecGetResultType(outerPlanState(state)),
						device->properties & SORT_KEEPS_SORT_COLUMNS ? NULL : sort_plan_unused_columns(plan),
						SORT_FEED_WITH_OTHERS);
	}
	MemoryContextSwitchTo(old);
	return stage;
}

/* ---------------------------------------------------------------- rows */

/* Feeds the input's rows; returns the first one that finds no room, or NULL. */
static TupleTableSlot *
feed_rows(GpuSortFeedState *state)
{
	InputRows rows;

	input_rows_begin(&rows, outerPlanState(state));
	for (;;)
	{
		TupleTableSlot *slot = input_rows_next(&rows);

		if (TupIsNull(slot))
			return NULL;
		CHECK_FOR_INTERRUPTS();
		if (!sort_feed_put(&state->feed, slot))
			return slot;
		state->rows += 1 + page_feed_rows(&state->feed, &rows);
	}
}

/* EXPLAIN ANALYZE shall show the rows that were fed as the node's. */
static void
count_fed_rows(GpuSortFeedState *state)
{
	if (state->css.ss.ps.instrument != NULL)
		state->css.ss.ps.instrument->tuplecount += state->rows;
}

/*
 * This process has read its part of the input.  Is there a worker that passes rows on?  It said so before it
 * read the first of them, and one that says so later finds none left.
 */
static bool
others_pass_rows(const GpuSortFeedState *state)
{
	return state->shared != NULL && pg_atomic_read_u32(&state->shared->npassing) > 0;
}

/*
 * The sorter has all rows.  If workers stay to help to return them, the leader must get out of the Gather,
 * which waits for their end: so it returns a row, which stands for nothing.  A Gather above a feed passes
 * columns on and computes nothing, for most rows never come to it.
 */
static TupleTableSlot *
hand_over(GpuSortFeedState *state)
{
	if (!state->sorter->device->work(state->sorter, SORT_WORK_HELP))
		return NULL;
	state->handed_over = true;
	if (state->css.ss.ps.instrument != NULL)
		state->css.ss.ps.instrument->tuplecount -= 1;
	return ExecStoreAllNullTuple(state->css.ss.ss_ScanTupleSlot);
}

/*
 * Feeds this process's part of the input, or as much of it as there is room for; returns the first row that
 * found none, or NULL.
 */
static TupleTableSlot *
feed(GpuSortFeedState *state)
{
	const SortDevice *device = state->sorter->device;
	TupleTableSlot *refused = feed_rows(state);

	count_fed_rows(state);
	sort_feed_end(&state->feed);
	if (state->sorter->failure != NULL)
	{
		state->stage = FEED_DONE;
		return NULL;
	}
	/* for EXPLAIN VERBOSE: the share outlives the workers */
	sort_share_note_rows(state->sorter->share, state->rows, stopwatch_ms(state->watch));
	device->finish_feed(state->sorter, others_pass_rows(state));
	state->stage = refused != NULL ? FEED_PASSING : FEED_TAKING_BACK;
	if (refused != NULL)
		return refused;
	if (!IsParallelWorker())
		return hand_over(state);
	(void) device->work(state->sorter, SORT_WORK_HELP);
	return NULL;
}

/* The next of the rows that the device did not keep, or NULL. */
static TupleTableSlot *
take_back(GpuSortFeedState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	MinimalTuple row = state->sorter != NULL ? state->sorter->device->take_back(state->sorter) : NULL;

	if (row == NULL)
	{
		state->stage = FEED_DONE;
		return ExecClearTuple(slot);
	}
	/* it was counted when it was fed */
	if (state->css.ss.ps.instrument != NULL)
		state->css.ss.ps.instrument->tuplecount -= 1;
	return ExecStoreMinimalTuple(row, slot, false);
}

static TupleTableSlot *
exec_feed(CustomScanState *css)
{
	GpuSortFeedState *state = (GpuSortFeedState *) css;
	TupleTableSlot *slot = NULL;

	CHECK_FOR_INTERRUPTS();
	if (state->stage == FEED_NOT_BEGUN)
		state->stage = begin_feeding(state);
	if (state->stage == FEED_FEEDING)
	{
		slot = feed(state);
		if (slot != NULL)
			return slot;
	}
	if (state->stage == FEED_PASSING)
	{
		slot = ExecProcNode(outerPlanState(css));
		if (!TupIsNull(slot))
			return slot;
		state->stage = FEED_TAKING_BACK;
	}
	if (state->stage == FEED_TAKING_BACK)
		return take_back(state);
	return ExecClearTuple(css->ss.ss_ScanTupleSlot);
}

static void
rescan_feed(CustomScanState *css)
{
	((GpuSortFeedState *) css)->stage = FEED_NOT_BEGUN;
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
		(void) state->sorter->device->work(state->sorter, SORT_WORK_DISMISS);
	state->workers = NULL;
	state->shared = NULL;
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
	return sizeof(FeedShared);
}

/* In the leader, before workers start: tells them where the sort is. */
static void
initialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	GpuSortFeedState *state = (GpuSortFeedState *) css;
	FeedShared *shared = coordinate;

	state->workers = pcxt;
	state->shared = shared;
	memset(shared, 0, sizeof(*shared));
	pg_atomic_init_u32(&shared->npassing, 0);
	if (state->key != NULL)
	{
		shared->unmarked = sort_key_unmarked(state->key);
		shared->fingerprint = sort_key_fingerprint(state->key);
	}
	if (state->sorter != NULL && state->sorter->failure == NULL && state->sorter->share != NULL)
		shared->handle = state->sorter->share->arena.handle;
}

static void
initialize_worker(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	((GpuSortFeedState *) css)->shared = coordinate;
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
