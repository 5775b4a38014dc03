/*
 * exec/node_window.c
 *		The executor node GpuWindow.
 *
 * It reads rows in order, and returns each with the results of functions over its window (window_calls.c).
 * Of the rows before, it keeps what the functions need: the columns in which a partition's rows are equal,
 * and those of peers (row_group.c), a few values, the states of aggregates.
 *
 * Where results need no row behind the current one, rows are returned as they come.  Otherwise they are held
 * (held_rows.c): for lead() as many rows as it looks ahead, and where frames end with a unit of rows, peers
 * or the partition, that unit.  When its first row becomes the current one, all of its rows enter the frame.
 *
 * A run condition, once false, is false for the rest of a partition.  Above the topmost window nobody wants
 * such rows, and none are returned; another window above gets them, with NULLs for the results.
 *
 * WindowStage has the states, which one process goes through; nothing is shared.  Errors are PostgreSQL's.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"

#include "base/pg_compat.h"
#include "exec/explain.h"
#include "exec/held_rows.h"
#include "exec/node_window.h"
#include "exec/row_group.h"
#include "exec/window_calls.h"
#include "exec/window_slot.h"
#include "plan/window_plan.h"

typedef enum WindowStage
{
	WINDOW_NOT_BEGUN, /* no row was read */
	WINDOW_COUNTING,
	WINDOW_PASSING,	 /* the run condition is false: returning the rest of the partition without results */
	WINDOW_SKIPPING, /* or leaving it out */
	WINDOW_DONE
} WindowStage;

/* Readers of held rows; those of calls follow. */
enum
{
	READER_CURRENT,
	READER_UNIT,
	READER_PEERS,
	READER_CALLS
};

typedef struct GpuWindowState
{
	CustomScanState css; /* must be first */
	WindowStage stage;
	RowGroup *partition;
	RowGroup *peers; /* NULL: no function needs them */
	RowGroup *unit;	 /* NULL: frames end with the current row */
	int last_attno;	 /* the highest attno of the columns that groups and functions look at */
	ExprState *run_condition;
	bool is_top;
	WindowCalls *calls;
	WindowNeeds needs;
	WindowPlace place;
	HeldRows *held;		   /* the current row and those behind it; NULL: rows are returned as they come */
	bool has_ended;		   /* the input, which must not be asked again */
	TupleTableSlot *ahead; /* the row behind the held ones, in the input's slot; NULL: none was read */
	bool ahead_begins;	   /* is it the first one of the next partition? */
	int64 unit_left;	   /* rows of the current unit that were not returned */
} GpuWindowState;

static const CustomExecMethods window_exec_methods;

/* ---------------------------------------------------------------- beginning */

static Node *
create_window_state(CustomScan *plan)
{
	GpuWindowState *state = palloc0(sizeof(GpuWindowState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &window_exec_methods;
	custom_scan_set_slot_ops(&state->css, window_slot_ops());
	return (Node *) state;
}

/* Where frames end. */
static void
begin_units(GpuWindowState *state, const CustomScan *plan, TupleDesc rows)
{
	WindowUnit unit = window_plan_unit(plan);

	state->calls = window_calls_create(&state->css, window_plan_functions(plan), &state->needs);
	if (unit == UNIT_PEERS)
		state->unit = row_group_create(window_plan_order(plan), rows, &state->css.ss.ps);
	else if (unit == UNIT_PARTITION)
		state->unit = row_group_create((WindowColumns){0}, rows, &state->css.ss.ps);
	if (state->unit != NULL || state->needs.rows_ahead > 0)
		state->held = held_rows_create(state->css.ss.ps.state, rows, READER_CALLS + state->needs.readers);
}

/* The last column of the input that groups and functions look at. */
static int
last_column(const GpuWindowState *state, List *functions)
{
	Bitmapset *attnos = NULL;
	int last = state->partition->last_attno;

	pull_varattnos((Node *) functions, OUTER_VAR, &attnos);
	if (attnos != NULL)
		last = Max(last, bms_prev_member(attnos, -1) + FirstLowInvalidHeapAttributeNumber);
	if (state->peers != NULL)
		last = Max(last, state->peers->last_attno);
	return state->unit != NULL ? Max(last, state->unit->last_attno) : last;
}

static void
begin_window(CustomScanState *css, EState *estate, int eflags)
{
	GpuWindowState *state = (GpuWindowState *) css;
	const CustomScan *plan = (const CustomScan *) css->ss.ps.plan;
	TupleDesc rows = window_slot_begin(css, estate, eflags);

	begin_units(state, plan, rows);
	state->partition = row_group_create(window_plan_partition(plan), rows, &css->ss.ps);
	if (state->needs.peers)
		state->peers = row_group_create(window_plan_order(plan), rows, &css->ss.ps);
	state->last_attno = last_column(state, window_plan_functions(plan));
	state->run_condition = ExecInitQual(window_plan_run_condition(plan), &css->ss.ps);
	state->is_top = window_plan_is_top(plan);
}

/* ---------------------------------------------------------------- reading */

/* Reads the next row.  Sets whether it is the first one of a partition. */
static inline TupleTableSlot *
read_row(GpuWindowState *state, bool *begins)
{
	TupleTableSlot *row = ExecProcNode(outerPlanState(state));

	if (TupIsNull(row))
		return NULL;
	/* all at once, as each call of the slot's function takes time */
	slot_getsomeattrs(row, state->last_attno);
	*begins = state->stage == WINDOW_NOT_BEGUN ||
			  !row_group_contains(state->partition, row, state->css.ss.ps.ps_ExprContext);
	return row;
}

/*
 * Reads the row behind the held ones, all of which must be held, to state->ahead.  false: the partition has
 * no such row.
 */
static bool
read_ahead(GpuWindowState *state)
{
	CHECK_FOR_INTERRUPTS();
	if (state->ahead == NULL && !state->has_ended)
	{
		state->ahead = read_row(state, &state->ahead_begins);
		state->has_ended = state->ahead == NULL;
	}
	return state->ahead != NULL && !state->ahead_begins;
}

static void
hold_row(GpuWindowState *state, TupleTableSlot *row)
{
	held_rows_push(state->held, row);
	state->ahead = NULL;
}

/*
 * The same as read_row, where rows are held.  The row is not held if no other one is: it is in the input's
 * slot then, until the next one is read.
 */
static TupleTableSlot *
next_held_row(GpuWindowState *state, bool *begins)
{
	TupleTableSlot *row;

	*begins = false;
	if (held_rows_count(state->held) > 0)
		held_rows_pop(state->held);
	if (held_rows_count(state->held) > 0)
		return held_rows_read(state->held, READER_CURRENT, 0);
	*begins = !read_ahead(state);
	row = state->ahead;
	state->ahead = NULL;
	return row;
}

/* ---------------------------------------------------------------- computing */

static void
begin_partition(GpuWindowState *state, TupleTableSlot *row)
{
	state->stage = WINDOW_COUNTING;
	state->place = (WindowPlace){1, 1, 1, 0, 0};
	state->unit_left = 0;
	row_group_begin(state->partition, row);
	if (state->peers != NULL)
		row_group_begin(state->peers, row);
	window_calls_begin(state->calls);
}

static void
count_row(GpuWindowState *state, TupleTableSlot *row)
{
	state->place.row_number++;
	if (state->peers != NULL && !row_group_contains(state->peers, row, state->css.ss.ps.ps_ExprContext))
	{
		state->place.rank = state->place.row_number;
		state->place.dense_rank++;
		row_group_begin(state->peers, row);
	}
}

/* The row of this index from the current one, in the partition; those before must be held.  NULL: none. */
static TupleTableSlot *
row_behind(GpuWindowState *state, int64 index)
{
	if (index < held_rows_count(state->held))
		return held_rows_read(state->held, READER_UNIT, index);
	return read_ahead(state) ? state->ahead : NULL;
}

/* All rows of the unit that begins with this row, the current one, enter the frame. */
static void
begin_unit(GpuWindowState *state, TupleTableSlot *row)
{
	ExprContext *context = state->css.ss.ps.ps_ExprContext;

	state->unit_left = 0;
	row_group_begin(state->unit, row);
	do
	{
		window_calls_enter_frame(state->calls, row, context);
		ResetExprContext(context);
		if (held_rows_count(state->held) == state->unit_left)
			hold_row(state, row);
		state->unit_left++;
		row = row_behind(state, state->unit_left);
	} while (row != NULL && row_group_contains(state->unit, row, context));
	window_calls_end_frame(state->calls);
}

/* Holds the current row, and as many behind it as functions look at. */
static TupleTableSlot *
hold_rows_ahead(GpuWindowState *state, TupleTableSlot *row)
{
	if (held_rows_count(state->held) == 0)
		hold_row(state, row);
	while (held_rows_count(state->held) <= state->needs.rows_ahead && read_ahead(state))
		hold_row(state, state->ahead);
	return held_rows_read(state->held, READER_CURRENT, 0);
}

/* Finds the last peer of the current row, the first one of its peers; all rows of the partition are held. */
static void
find_last_peer(GpuWindowState *state)
{
	ExprContext *context = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *row;
	int64 n = 1;

	while ((row = held_rows_read(state->held, READER_PEERS, n)) != NULL &&
		   row_group_contains(state->peers, row, context))
		n++;
	state->place.last_peer = state->place.rank + n - 1;
}

/*
 * Computes the results at this row, in the order of a WindowAgg: those of aggregates come last.  Returns the
 * row, where it is then.
 */
static TupleTableSlot *
compute_results(GpuWindowState *state, TupleTableSlot *row)
{
	if (state->needs.rows_ahead > 0)
	{
		row = hold_rows_ahead(state, row);
		state->place.rows = state->place.row_number - 1 + held_rows_count(state->held);
	}
	if (state->needs.last_peer && state->place.rank == state->place.row_number)
		find_last_peer(state);
	window_calls_at_row(state->calls, &state->place, row, state->held, READER_CALLS);
	if (state->unit != NULL)
	{
		if (state->unit_left == 0)
			begin_unit(state, row);
		state->unit_left--;
		return held_rows_read(state->held, READER_CURRENT, 0);
	}
	if (state->needs.frame)
	{
		window_calls_enter_frame(state->calls, row, state->css.ss.ps.ps_ExprContext);
		window_calls_end_frame(state->calls);
	}
	return row;
}

/*
 * Is the scan tuple to be returned?  The one at which the run condition becomes false is, and with its
 * results, if another window may want it.
 */
static bool
is_wanted(GpuWindowState *state, ExprContext *context)
{
	if (state->stage == WINDOW_PASSING)
		return true;
	if (!ExecQual(state->run_condition, context))
	{
		if (!state->is_top)
			state->stage = WINDOW_PASSING;
		else
			state->stage = state->partition->columns.n > 0 ? WINDOW_SKIPPING : WINDOW_DONE;
		return state->stage == WINDOW_PASSING;
	}
	if (state->css.ss.ps.qual == NULL)
		return true;
	/* PostgreSQL 15 made it before the slot was known to have its columns read */
	slot_getallattrs(state->css.ss.ss_ScanTupleSlot);
	if (ExecQual(state->css.ss.ps.qual, context))
		return true;
	InstrCountFiltered1(&state->css, 1);
	return false;
}

static TupleTableSlot *
exec_window(CustomScanState *css)
{
	GpuWindowState *state = (GpuWindowState *) css;
	ProjectionInfo *projection = css->ss.ps.ps_ProjInfo;
	ExprContext *context = css->ss.ps.ps_ExprContext;

	while (state->stage != WINDOW_DONE)
	{
		bool begins = false;
		TupleTableSlot *row;

		CHECK_FOR_INTERRUPTS();
		row = state->held != NULL ? next_held_row(state, &begins) : read_row(state, &begins);
		if (row == NULL)
		{
			state->stage = WINDOW_DONE;
			break;
		}
		if (begins)
			begin_partition(state, row);
		else if (state->stage == WINDOW_COUNTING)
			count_row(state, row);
		if (state->stage == WINDOW_SKIPPING)
			continue;
		ResetExprContext(context);
		if (state->stage == WINDOW_COUNTING)
			row = compute_results(state, row);
		window_slot_store(css->ss.ss_ScanTupleSlot, row);
		window_calls_results(state->calls, state->stage == WINDOW_COUNTING, css->ss.ss_ScanTupleSlot);
		context->ecxt_scantuple = css->ss.ss_ScanTupleSlot;
		if (is_wanted(state, context))
			return projection != NULL ? ExecProject(projection) : css->ss.ss_ScanTupleSlot;
	}
	return NULL;
}

static void
rescan_window(CustomScanState *css)
{
	GpuWindowState *state = (GpuWindowState *) css;

	state->stage = WINDOW_NOT_BEGUN;
	state->ahead = NULL;
	state->has_ended = false;
	if (state->held != NULL)
		held_rows_clear(state->held);
	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

static void
end_window(CustomScanState *css)
{
	GpuWindowState *state = (GpuWindowState *) css;

	if (state->held != NULL)
		held_rows_clear(state->held);
	ExecEndNode(outerPlanState(css));
}

static const CustomExecMethods window_exec_methods = {
	.CustomName = GPUWINDOW_NODE_NAME,
	.BeginCustomScan = begin_window,
	.ExecCustomScan = exec_window,
	.EndCustomScan = end_window,
	.ReScanCustomScan = rescan_window,
	.ExplainCustomScan = explain_window_node,
};

const CustomScanMethods gpuwindow_scan_methods = {
	.CustomName = GPUWINDOW_NODE_NAME,
	.CreateCustomScanState = create_window_state,
};
