/*
 * exec/node_agg_input.c
 *		The executor node GpuAggInput.
 *
 * It reads rows in order from a GpuSort, for an Agg above it, and returns, as plan/agg_input.h says, all of
 * them, the first one of equal rows, or one of each group.  Rows get marks.  One row of a group has the
 * results of percentiles and modes; its other rows have NULLs there.
 *
 * If the rows have positions, and no values of the group need be compared with others, a group's end is
 * looked for by larger and larger steps and then by bisection, and the few values that are needed are read
 * where they are (seek_group).  Otherwise values are counted as they come, and the last row of a group has
 * the results.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "base/pg_compat.h"
#include "exec/agg_results.h"
#include "exec/explain.h"
#include "exec/node_agg_input.h"
#include "exec/node_gpusort.h"
#include "exec/row_group.h"
#include "exec/window_slot.h"
#include "plan/agg_input.h"

/* Rows of a group that are read one by one before larger steps are taken. */
#define ROWS_BEFORE_STEPS 32

/* So few percentiles need few rows: a sort need not put the others in order. */
#define FEW_FRACTIONS 16

/* No row follows the one at this position. */
#define UNKNOWN_POSITION (-2)

typedef struct GpuAggInputState
{
	CustomScanState css; /* must be first */
	AggInputRows rows;
	RowGroup *group;
	RowGroup *equal;	   /* AGG_INPUT_FIRSTS: the columns of the calls */
	AggResults *results;   /* NULL: AGG_INPUT_FIRSTS */
	TupleTableSlot *kept;  /* a copy of the current row; AGG_INPUT_ONE: of the first row of the group */
	TupleTableSlot *ahead; /* the first row of the next group, in the input's slot; NULL: it is not read */
	bool begun;			   /* was a row read? */
	bool has_ended;		   /* the input, which must not be asked again */
	int64 position;		   /* of the row that was read last */
	int64 group_end;	   /* the position behind the group, if positions are used */
	bool compares_keys;	   /* were neighboring keys compared? */
	bool reads_positions;  /* were rows read at their positions? */
	int64 group_size;	   /* rows of the last group that was looked for so */
} GpuAggInputState;

static const CustomExecMethods agg_input_exec_methods;

/* ---------------------------------------------------------------- beginning */

static Node *
create_agg_input_state(CustomScan *plan)
{
	GpuAggInputState *state = palloc0(sizeof(GpuAggInputState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &agg_input_exec_methods;
	custom_scan_set_slot_ops(&state->css, window_slot_ops());
	return (Node *) state;
}

/* Does one group need only percentiles, and few of them? */
static bool
reads_few(const GpuAggInputState *state)
{
	int n = 0;

	if (state->rows != AGG_INPUT_ONE || state->group->columns.n > 0 || !state->results->may_seek)
		return false;
	for (int i = 0; i < state->results->npercentiles; i++)
		n += percentiles_fractions(state->results->percentiles[i]);
	return n <= FEW_FRACTIONS && n > 0;
}

static void
begin_agg_input(CustomScanState *css, EState *estate, int eflags)
{
	GpuAggInputState *state = (GpuAggInputState *) css;
	const CustomScan *plan = (const CustomScan *) css->ss.ps.plan;
	TupleDesc rows = window_slot_begin(css, estate, eflags);

	state->rows = agg_input_rows(plan);
	state->position = -1;
	state->group = row_group_create(agg_input_groups(plan), rows, &css->ss.ps);
	state->kept = ExecInitExtraTupleSlot(estate, rows, &TTSOpsMinimalTuple);
	if (state->rows != AGG_INPUT_FIRSTS)
		state->results = agg_results_create(css, rows);
	if (reads_few(state))
		node_gpusort_read_few(outerPlanState(css));
	if (state->rows == AGG_INPUT_FIRSTS)
		state->equal =
			row_group_create(agg_input_compared(linitial(agg_input_calls(plan))), rows, &css->ss.ps);
}

/* ---------------------------------------------------------------- rows */

static TupleTableSlot *
read_row(GpuAggInputState *state)
{
	TupleTableSlot *row;

	CHECK_FOR_INTERRUPTS();
	if (state->has_ended)
		return NULL;
	row = ExecProcNode(outerPlanState(state));
	state->position++;
	state->has_ended = TupIsNull(row);
	return state->has_ended ? NULL : row;
}

static bool
is_in_group(GpuAggInputState *state, RowGroup *group, TupleTableSlot *row)
{
	return row_group_contains(group, row, state->css.ss.ps.ps_ExprContext);
}

/* The row as the node returns it. */
static TupleTableSlot *
return_row(GpuAggInputState *state, TupleTableSlot *row)
{
	window_slot_store(state->css.ss.ss_ScanTupleSlot, row);
	return state->css.ss.ss_ScanTupleSlot;
}

/* ---------------------------------------------------------------- groups by positions */

static TupleTableSlot *
row_at(GpuAggInputState *state, int64 position)
{
	TupleTableSlot *row;

	if (position != state->position + 1)
		node_gpusort_seek(outerPlanState(state), position);
	state->position = position - 1;
	row = read_row(state);
	if (row == NULL)
		elog(ERROR, "gpusort: a sorted row is missing");
	return row;
}

/*
 * The position behind the last row of the group that begins there.  The group is taken to have about as many
 * rows as the one before: each row at another position takes a message to a card.
 */
static int64
find_end_of_group(GpuAggInputState *state, int64 begin, int64 nrows)
{
	int64 inside = begin;
	int64 outside = nrows;
	int64 guessed = state->group_size - state->group_size / 32;
	int64 step = 1;

	if (state->group->columns.n == 0)
		return nrows;
	if (guessed > ROWS_BEFORE_STEPS && begin + guessed < nrows)
	{
		step = guessed / 16;
		if (is_in_group(state, state->group, row_at(state, begin + guessed)))
			inside = begin + guessed;
		else
			outside = begin + guessed;
	}
	while (inside + step < outside && is_in_group(state, state->group, row_at(state, inside + step)))
	{
		inside += step;
		if (inside - begin >= ROWS_BEFORE_STEPS)
			step *= 2;
	}
	outside = Min(inside + step, outside);
	while (outside - inside > 1)
	{
		int64 middle = inside + (outside - inside) / 2;

		if (is_in_group(state, state->group, row_at(state, middle)))
			inside = middle;
		else
			outside = middle;
	}
	state->group_size = outside - begin;
	return outside;
}

/* The position of the first value; NULLs come first or last. */
static int64
find_values(GpuAggInputState *state, AttrNumber column, int64 *begin, int64 end)
{
	bool first_is_null = slot_attisnull(row_at(state, *begin), column);
	int64 same = *begin;
	int64 other = end;

	if (!first_is_null && !slot_attisnull(row_at(state, end - 1), column))
		return end;
	while (other - same > 1)
	{
		int64 middle = same + (other - same) / 2;

		if (slot_attisnull(row_at(state, middle), column) == first_is_null)
			same = middle;
		else
			other = middle;
	}
	if (first_is_null)
		*begin = other;
	return first_is_null ? end : other;
}

/* The number of different values at these positions. */
static int64
count_values(GpuAggInputState *state, InputCall *call, int64 first, int64 end)
{
	int64 n = -1;

	if (state->rows == AGG_INPUT_COUNTS)
	{
		n = node_gpusort_count_keys(outerPlanState(state), first, end);
		state->position = UNKNOWN_POSITION;
	}
	state->compares_keys |= n >= 0;
	if (n >= 0)
		return n;
	n = 0;
	for (int64 position = first; position < end; position++)
		n += agg_results_is_first(state->results, call, row_at(state, position)) ? 1 : 0;
	return n;
}

static void
seek_counts(GpuAggInputState *state, int64 begin)
{
	for (int i = 0; i < state->results->ncalls; i++)
	{
		InputCall *call = &state->results->calls[i];
		int64 first = begin;
		int64 end;

		if (!call->counts)
			continue;
		end = find_values(state, call->attno, &first, state->group_end);
		if (first < end)
			call->n = count_values(state, call, first, end);
	}
}

/* Computes the results of the group whose first row was just read, and is kept. */
static void
seek_group(GpuAggInputState *state, int64 nrows)
{
	int64 begin = state->position;

	state->reads_positions = true;
	state->group_end = find_end_of_group(state, begin, nrows);
	for (int i = 0; i < state->results->npercentiles; i++)
	{
		Percentiles *percentiles = state->results->percentiles[i];
		AttrNumber column = percentiles_column(percentiles);
		int64 first = begin;
		int64 end = find_values(state, column, &first, state->group_end);
		int64 wanted;
		bool isnull;

		percentiles_expect(percentiles, end - first);
		while ((wanted = percentiles_wanted(percentiles)) >= 0)
			percentiles_give(percentiles, slot_getattr(row_at(state, first + wanted), column, &isnull));
	}
	seek_counts(state, begin);
}

/* The number of rows, if positions are to be used; otherwise -1.  A row must have been read. */
static int64
rows_to_seek(const GpuAggInputState *state)
{
	return state->results->may_seek ? node_gpusort_rows(outerPlanState(state)) : -1;
}

/* ---------------------------------------------------------------- returning */

/* Reads the group whose first row is kept, and the first row of the next one. */
static void
read_group(GpuAggInputState *state)
{
	TupleTableSlot *row = state->kept;

	do
	{
		agg_results_add(state->results, row);
		row = read_row(state);
	} while (row != NULL && is_in_group(state, state->group, row));
	state->ahead = row;
	agg_results_end(state->results);
}

/* The row, in the input's slot, begins a group. */
static void
begin_group(GpuAggInputState *state, TupleTableSlot *row)
{
	row_group_begin(state->group, row);
	agg_results_begin(state->results);
}

static TupleTableSlot *
next_group(GpuAggInputState *state)
{
	TupleTableSlot *row = state->ahead;
	int64 nrows;

	if (!state->begun)
		row = read_row(state);
	state->begun = true;
	if (row == NULL)
		return NULL;
	ExecCopySlot(state->kept, row);
	begin_group(state, row);
	nrows = rows_to_seek(state);
	if (nrows >= 0)
	{
		seek_group(state, nrows);
		state->ahead = state->group_end < nrows ? row_at(state, state->group_end) : NULL;
	}
	else
		read_group(state);
	agg_results_set(state->results, true);
	return return_row(state, state->kept);
}

/* Returns the row, which was just read, of all; the first row of a group has the results. */
static TupleTableSlot *
return_by_position(GpuAggInputState *state, TupleTableSlot *row, int64 nrows)
{
	int64 position = state->position;
	bool begins = position == state->group_end;

	if (begins)
	{
		ExecCopySlot(state->kept, row);
		begin_group(state, row);
		row = state->kept;
		seek_group(state, nrows);
		node_gpusort_seek(outerPlanState(state), position + 1);
		state->position = position;
	}
	agg_results_mark(state->results, row);
	agg_results_set(state->results, begins);
	return return_row(state, row);
}

/* The same, if the last row of a group has the results, for which the row behind is read. */
static TupleTableSlot *
return_after_next(GpuAggInputState *state, TupleTableSlot *row)
{
	bool ends;

	ExecCopySlot(state->kept, row);
	state->ahead = read_row(state);
	ends = state->ahead == NULL || !is_in_group(state, state->group, state->ahead);
	if (ends)
		agg_results_end(state->results);
	agg_results_set(state->results, ends);
	return return_row(state, state->kept);
}

static TupleTableSlot *
next_of_all(GpuAggInputState *state)
{
	TupleTableSlot *row = state->ahead != NULL ? state->ahead : read_row(state);
	int64 nrows;

	if (row == NULL)
		return NULL;
	nrows = rows_to_seek(state);
	if (nrows >= 0)
	{
		state->begun = true;
		return return_by_position(state, row, nrows);
	}
	if (!state->begun || !is_in_group(state, state->group, row))
		begin_group(state, row);
	state->begun = true;
	agg_results_add(state->results, row);
	return state->results->has_results ? return_after_next(state, row) : return_row(state, row);
}

static TupleTableSlot *
next_first(GpuAggInputState *state)
{
	TupleTableSlot *row;

	do
	{
		row = read_row(state);
	} while (row != NULL && state->begun && is_in_group(state, state->group, row) &&
			 is_in_group(state, state->equal, row));
	if (row == NULL)
		return NULL;
	state->begun = true;
	row_group_begin(state->group, row);
	row_group_begin(state->equal, row);
	return return_row(state, row);
}

static TupleTableSlot *
exec_agg_input(CustomScanState *css)
{
	GpuAggInputState *state = (GpuAggInputState *) css;
	TupleTableSlot *row = NULL;

	switch (state->rows)
	{
		case AGG_INPUT_ALL:
			row = next_of_all(state);
			break;
		case AGG_INPUT_FIRSTS:
			row = next_first(state);
			break;
		case AGG_INPUT_ONE:
		case AGG_INPUT_COUNTS:
			row = next_group(state);
			break;
	}
	return row;
}

static void
forget_rows(GpuAggInputState *state)
{
	state->ahead = NULL;
	state->begun = state->has_ended = false;
	state->position = -1;
	state->group_end = 0;
	ExecClearTuple(state->kept);
	ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
	if (state->results != NULL)
		agg_results_begin(state->results);
}

static void
rescan_agg_input(CustomScanState *css)
{
	forget_rows((GpuAggInputState *) css);
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

static void
end_agg_input(CustomScanState *css)
{
	forget_rows((GpuAggInputState *) css);
	ExecEndNode(outerPlanState(css));
}

/* How the results were found, which depends on what the sort has done with its rows. */
static void
explain_agg_input(CustomScanState *css, List *ancestors, ExplainState *es)
{
	const GpuAggInputState *state = (const GpuAggInputState *) css;

	if (!es->analyze || !state->begun || state->results == NULL || !state->results->has_results)
		return;
	ExplainPropertyText("Results",
						state->compares_keys	 ? "keys compared"
						: state->reads_positions ? "rows read at positions"
												 : "all rows read",
						es);
}

static const CustomExecMethods agg_input_exec_methods = {
	.CustomName = GPUAGGINPUT_NODE_NAME,
	.BeginCustomScan = begin_agg_input,
	.ExecCustomScan = exec_agg_input,
	.EndCustomScan = end_agg_input,
	.ReScanCustomScan = rescan_agg_input,
	.ExplainCustomScan = explain_agg_input,
};

const CustomScanMethods gpuagginput_scan_methods = {
	.CustomName = GPUAGGINPUT_NODE_NAME,
	.CreateCustomScanState = create_agg_input_state,
};
