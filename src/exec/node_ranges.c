/*
 * exec/node_ranges.c
 *		The executor node GpuSortRanges.
 *
 * It stands below a Gather.  Every process of the parallel plan reads its part of the input and feeds one
 * sort; all of them sort together, as in a build of an index (team.h), and then each returns ranges of the
 * order.  Rows that are equal in the group columns, the first sort columns, come out of one process, one
 * after the other, so that a node above can treat them as a complete group.
 *
 * A range is cut where groups end: it begins behind the group of its first row, and ends behind the group of
 * the first row behind it.  RangesStage has the steps.  Ranges are handed out in rising order, so the rows of
 * each process are in order.
 *
 * No process waits for the leader, which may never come here: PostgreSQL lets it leave the plan to workers,
 * or end early.  The process that entered the sort first says how the ranges are shared out.  If the rows
 * cannot be read in ranges, because there was no room in memory and the keys guess, or for a single process,
 * it returns all of them.  Before a process reads or enters the sort, RangesShare.begun decides which ones
 * read: those that have mapped the sort's memory, or one that cannot, all by itself.
 *
 * The leader sets RangesShare before workers start, but for `begun`, which is atomic, and `sorts`, which the
 * process writes that sorts first, or alone, before it returns a row; the leader reads it when the workers
 * have ended.  Only the cpu device can do such a sort.  On errors PostgreSQL ends all processes; what a
 * process holds is in its query's memory context.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/pg_compat.h"
#include "base/stopwatch.h"
#include "device/participants.h"
#include "exec/chunk_feed.h"
#include "exec/explain.h"
#include "exec/node_ranges.h"
#include "exec/not_null.h"
#include "exec/ranges_state.h"
#include "exec/row_slot.h"
#include "exec/sort_request.h"
#include "key/key_row.h"
#include "monitor/counters.h"
#include "plan/sort_plan.h"

/* Ranges for each process, so that none waits long for another. */
#define RANGES_PER_PROCESS 8

static const CustomExecMethods ranges_exec_methods;

/* How many nodes this process has made. */
static uint64 nmade;

/* ---------------------------------------------------------------- beginning */

static Node *
create_ranges_state(CustomScan *plan)
{
	GpuSortRangesState *state = palloc0(sizeof(GpuSortRangesState));

	nmade++;
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &ranges_exec_methods;
	custom_scan_set_slot_ops(&state->css, &TTSOpsMinimalTuple);
	return (Node *) state;
}

/* The first sort columns, with the operators that say which values are equal. */
static WindowColumns
group_columns(const GpuSortRangesState *state, int n)
{
	WindowColumns columns = {n, palloc(sizeof(AttrNumber) * n), palloc(sizeof(Oid) * n),
							 palloc(sizeof(Oid) * n)};

	for (int i = 0; i < n; i++)
	{
		const SortColumnSpec *column = &state->columns[i];

		columns.attnos[i] = column->attno;
		columns.operators[i] = get_equality_op_for_ordering_op(column->sortop, NULL);
		columns.collations[i] = column->collation;
	}
	return columns;
}

static void
begin_ranges(CustomScanState *css, EState *estate, int eflags)
{
	GpuSortRangesState *state = (GpuSortRangesState *) css;
	Plan *plan = css->ss.ps.plan;

	state->columns = sort_plan_columns(plan, &state->ncolumns);
	sort_plan_refer_to_input(plan);
	state->unused = sort_plan_unused_columns((CustomScan *) plan);
	state->memory = AllocSetContextCreate(CurrentMemoryContext, "GpuSortRanges", ALLOCSET_DEFAULT_SIZES);
	custom_scan_apply_slot_ops(css, estate, &TTSOpsMinimalTuple);
	outerPlanState(css) = ExecInitNode(outerPlan(plan), estate, eflags);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	not_null_columns(outerPlanState(css), state->ncolumns, state->columns);
	state->group = row_group_create(group_columns(state, sort_plan_group_columns((CustomScan *) plan)),
									ExecGetResultType(outerPlanState(css)), &css->ss.ps);
	for (int i = 0; i < state->group->columns.n; i++)
		state->unused = bms_del_member(state->unused, state->group->columns.attnos[i]);
}

/* ---------------------------------------------------------------- the sort */

static SortKey *
make_key(GpuSortRangesState *state)
{
	SortKey *key;

	if (IsParallelWorker())
		sort_key_set_unmarked(state->ncolumns, state->columns, state->share->team.unmarked);
	key = sort_key_create(state->ncolumns, state->columns);
	key->policy.rows = key_row_create(key, ExecGetResultType(outerPlanState(state)), state->unused);
	sort_device_set_layout(&sort_device_cpu, key);
	return key;
}

static bool
rows_are_complete(const GpuSortRangesState *state)
{
	return sort_request_rows_are_complete(&sort_device_cpu, state->ncolumns, state->columns, state->unused);
}

/* nworkers: 0 if this process sorts alone */
static void
make_request(GpuSortRangesState *state, int nworkers, SortRequest *request)
{
	double rows = state->css.ss.ps.plan->plan_rows;
	RowsWanted wanted = {.rows = 0};

	sort_request_init(request, &state->css, state->key, 1 + nworkers);
	request->rows.complete = rows_are_complete(state);
	request->rows.fed_once = true;
	request->processes.share = request->processes.read_jointly = nworkers > 0;
	request->expected.rows = request->expected.kept = rows * request->processes.n;
	group_above_evaluate(state->group_above, &state->css.ss.ps, &wanted);
	sort_request_set_first(request, &wanted.first, sort_request_codable(request, &state->css));
	sort_request_expect_first(request, &state->css, state->group_above);
	sort_request_set_filters_aside(request);
}

/* Progress is that of the leader, which shows what its workers do. */
static void
begin_sorter(GpuSortRangesState *state, int nworkers)
{
	MemoryContext old = MemoryContextSwitchTo(state->memory);
	SortRequest request;

	if (state->key == NULL)
		state->key = make_key(state);
	make_request(state, nworkers, &request);
	if (!IsParallelWorker())
		state->progress = progress_create();
	if (state->progress != NULL)
		progress_start(state->progress, device_names[DEVICE_CPU], request.expected.rows, request.processes.n);
	state->sorter = sort_device_cpu.begin(&request);
	if (state->progress != NULL)
		progress_set_sorter(state->progress, state->sorter);
	progress_enter(state->sorter, PROGRESS_READING);
	MemoryContextSwitchTo(old);
}

static void
release_sorter(GpuSortRangesState *state)
{
	state->stage = RANGES_NOT_SORTED;
	ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
	if (state->progress != NULL)
		progress_end(state->progress);
	if (state->sorter != NULL)
		state->sorter->device->end(state->sorter);
	state->progress = NULL;
	state->sorter = NULL;
	state->key = NULL;
	state->rows_returned = 0;
	MemoryContextReset(state->memory);
}

/* The process that sorts first, or alone, counts the sort. */
static void
note_sorted(GpuSortRangesState *state)
{
	SorterStats stats;

	state->sorter->device->get_stats(state->sorter, &stats);
	stats_count_sort(device_names[DEVICE_CPU], &stats);
	if (state->progress != NULL)
		progress_note_processes(state->progress, stats.processes);
	if (state->sorts == NULL)
	{
		state->sorts = MemoryContextAlloc(state->css.ss.ps.state->es_query_cxt, worker_sorts_size(1));
		worker_sorts_init(state->sorts, 1);
	}
	worker_sorts_note(state->sorts, 0, &stats, state->key->verified);
}

/* ---------------------------------------------------------------- taking part */

/* Does this process read input?  The first one that comes decides which processes do. */
static bool
may_read(RangesShare *share, RangesBegun how)
{
	uint32 begun = RANGES_NOT_BEGUN;

	return pg_atomic_compare_exchange_u32(&share->begun, &begun, how) ||
		   (how == RANGES_BY_TEAM && begun == how);
}

/* Becomes one of the processes that feed the sort; false: nothing is left to be fed, or they are too many. */
static bool
join_team(GpuSortRangesState *state, SortShare *mapped)
{
	RangesShare *share = state->share;

	if (!IsParallelWorker())
		return state->sorter->device->enter(state->sorter, 1 + state->context->nworkers_launched);
	state->key = make_key(state);
	state->sorter =
		team_join_mapped(&share->team, mapped, state->key, ExecGetResultType(outerPlanState(state)));
	return state->sorter != NULL;
}

/* What the input's nodes keep while they return rows lives as long as the query. */
static uint64
feed_input(GpuSortRangesState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	uint64 rows = sort_feed_input(state->sorter, state->key, outerPlanState(state), state->unused);

	MemoryContextSwitchTo(old);
	return rows;
}

/* In the process that entered first: does it share out ranges, or return all rows itself? */
static RangesStage
share_out(GpuSortRangesState *state)
{
	TeamShare *team = &state->share->team;
	Sorter *sorter = state->sorter;
	uint32 processes = sorter->share->nentered;
	bool together = team_sort_together(team, sorter) && processes > 1;

	if (!together)
		(void) team_share_out(team, sorter, 0, 0);
	/* ranges are not shared out before: this takes the chunks, if the rows are in memory */
	(void) sorter->device->sort(sorter);
	note_sorted(state);
	progress_enter(sorter, PROGRESS_RETURNING);
	if (!together)
		return RANGES_ALL;
	(void) team_share_out(team, sorter, processes, processes * RANGES_PER_PROCESS);
	return RANGES_BETWEEN;
}

/* Sorts all rows in this process. */
static RangesStage
sort_alone(GpuSortRangesState *state)
{
	if (state->sorter == NULL)
		begin_sorter(state, 0);
	(void) feed_input(state);
	(void) state->sorter->device->sort(state->sorter);
	note_sorted(state);
	progress_enter(state->sorter, PROGRESS_RETURNING);
	return RANGES_ALL;
}

/* Feeds this process's part of the input, and sorts with the others. */
static RangesStage
sort_in_team(GpuSortRangesState *state, SortShare *mapped)
{
	TeamShare *team = &state->share->team;
	Stopwatch watch = stopwatch_start();

	if (!join_team(state, mapped))
		return RANGES_DONE;
	(void) team_finish_feed(team, state->sorter, feed_input(state), watch);
	if (state->sorter->process == 0)
		return share_out(state);
	return team_await_ranges(team, state->sorter) ? RANGES_BETWEEN : RANGES_DONE;
}

/* Reads the input, and sorts; which rows does this process return? */
static RangesStage
sort_input(GpuSortRangesState *state)
{
	RangesShare *share = state->share;
	MemoryContext old = MemoryContextSwitchTo(state->memory);
	SortShare *mapped = NULL;
	RangesStage stage = RANGES_DONE;

	if (share != NULL)
		mapped = IsParallelWorker() ? team_map(&share->team) : state->sorter->share;
	if (share == NULL || (mapped == NULL && may_read(share, RANGES_BY_ONE)))
		stage = sort_alone(state);
	else if (mapped != NULL && may_read(share, RANGES_BY_TEAM))
		stage = sort_in_team(state, mapped);
	MemoryContextSwitchTo(old);
	return stage;
}

/* ---------------------------------------------------------------- rows */

/* Puts the next row, if there is one before the end of the range, into the slot. */
static inline bool
next_row(GpuSortRangesState *state)
{
	MinimalTuple row = sorter_next(state->sorter, true);

	if (row == NULL)
		return false;
	row_slot_store(state->css.ss.ss_ScanTupleSlot, row);
	if (unlikely(state->progress != NULL && ++state->rows_returned % PROGRESS_ROWS == 0))
		progress_note_returned(state->progress, state->rows_returned);
	return true;
}

static inline bool
is_in_group(GpuSortRangesState *state)
{
	return row_group_contains(state->group, state->css.ss.ss_ScanTupleSlot, state->css.ss.ps.ps_ExprContext);
}

/* Goes to the next range. */
static void
begin_range(GpuSortRangesState *state)
{
	int range = team_next_range(&state->share->team, state->sorter);

	if (range < 0)
		state->stage = RANGES_DONE;
	else if (range == 0)
		state->stage = RANGES_INSIDE;
	else if (next_row(state))
	{
		row_group_begin(state->group, state->css.ss.ss_ScanTupleSlot);
		state->stage = RANGES_SKIPPING;
	}
}

/* The range has no more rows: the group behind it is this process's.  Is there one? */
static bool
begin_group_behind(GpuSortRangesState *state)
{
	state->sorter->device->pass_range_end(state->sorter);
	return next_row(state);
}

static bool
next_of_ranges(GpuSortRangesState *state)
{
	while (state->stage != RANGES_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		switch (state->stage)
		{
			case RANGES_BETWEEN:
				begin_range(state);
				continue;
			case RANGES_SKIPPING:
				if (next_row(state))
				{
					if (is_in_group(state))
						continue;
					state->stage = RANGES_INSIDE;
					return true;
				}
				/* the group that is skipped may go on behind the range */
				if (!begin_group_behind(state) || is_in_group(state))
				{
					state->stage = RANGES_BETWEEN;
					continue;
				}
				row_group_begin(state->group, state->css.ss.ss_ScanTupleSlot);
				state->stage = RANGES_BEHIND;
				return true;
			case RANGES_INSIDE:
				if (next_row(state))
					return true;
				if (!begin_group_behind(state))
				{
					state->stage = RANGES_BETWEEN;
					continue;
				}
				row_group_begin(state->group, state->css.ss.ss_ScanTupleSlot);
				state->stage = RANGES_BEHIND;
				return true;
			default:
				Assert(state->stage == RANGES_BEHIND);
				if (next_row(state) && is_in_group(state))
					return true;
				state->stage = RANGES_BETWEEN;
		}
	}
	return false;
}

static TupleTableSlot *
exec_ranges(CustomScanState *css)
{
	GpuSortRangesState *state = (GpuSortRangesState *) css;
	bool found;

	CHECK_FOR_INTERRUPTS();
	if (unlikely(state->stage == RANGES_NOT_SORTED))
		state->stage = sort_input(state);
	if (likely(state->stage == RANGES_INSIDE))
		found = next_row(state) || next_of_ranges(state);
	else
		found = state->stage == RANGES_ALL ? next_row(state) : next_of_ranges(state);
	return row_slot_return(css, found);
}

/* Where a Gather reads again, the leader has begun another sort already (reinitialize_dsm). */
static void
rescan_ranges(CustomScanState *css)
{
	GpuSortRangesState *state = (GpuSortRangesState *) css;

	if (state->share == NULL)
		release_sorter(state);
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

static void
end_ranges(CustomScanState *css)
{
	release_sorter((GpuSortRangesState *) css);
	ExecEndNode(outerPlanState(css));
}

/* ---------------------------------------------------------------- the other processes */

static Size
estimate_dsm(CustomScanState *css, ParallelContext *pcxt)
{
	return offsetof(RangesShare, sorts) + worker_sorts_size(1);
}

/* In the leader, before workers start, also for another time. */
static void
initialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	GpuSortRangesState *state = (GpuSortRangesState *) css;

	release_sorter(state);
	state->share = coordinate;
	state->context = pcxt;
	begin_sorter(state, pcxt->nworkers);
	team_init(&state->share->team, state->sorter, state->key, rows_are_complete(state));
	pg_atomic_init_u32(&state->share->begun, RANGES_NOT_BEGUN);
	worker_sorts_init(&state->share->sorts, 1);
	state->sorts = &state->share->sorts;
}

static void
initialize_worker(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	GpuSortRangesState *state = (GpuSortRangesState *) css;

	state->share = coordinate;
	state->sorts = &state->share->sorts;
}

/* Nobody reads on, and the Gather will free what its workers have written. */
static void
shutdown_ranges(CustomScanState *css)
{
	GpuSortRangesState *state = (GpuSortRangesState *) css;
	MemoryContext old;

	if (state->share == NULL || IsParallelWorker())
		return;
	old = MemoryContextSwitchTo(css->ss.ps.state->es_query_cxt);
	state->sorts = worker_sorts_keep(state->sorts);
	MemoryContextSwitchTo(old);
	state->share = NULL;
	state->context = NULL;
	state->stage = RANGES_DONE;
}

static const CustomExecMethods ranges_exec_methods = {
	.CustomName = GPUSORT_RANGES_NODE_NAME,
	.BeginCustomScan = begin_ranges,
	.ExecCustomScan = exec_ranges,
	.EndCustomScan = end_ranges,
	.ReScanCustomScan = rescan_ranges,
	.EstimateDSMCustomScan = estimate_dsm,
	.InitializeDSMCustomScan = initialize_dsm,
	.ReInitializeDSMCustomScan = initialize_dsm,
	.InitializeWorkerCustomScan = initialize_worker,
	.ShutdownCustomScan = shutdown_ranges,
	.ExplainCustomScan = explain_ranges_node,
};

bool
node_is_ranges(const PlanState *node)
{
	return IsA(node, CustomScanState) && ((const CustomScanState *) node)->methods == &ranges_exec_methods;
}

uint64
node_ranges_count_made(void)
{
	return nmade;
}

const CustomScanMethods gpusort_ranges_scan_methods = {
	.CustomName = GPUSORT_RANGES_NODE_NAME,
	.CreateCustomScanState = create_ranges_state,
};
