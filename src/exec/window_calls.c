/*
 * exec/window_calls.c
 *		The functions of a window: their results, row by row.
 *
 * lag() keeps the values of the last rows in a ring, nth_value() and last_value() keep one.  The oldest ones
 * are freed first, as a generation context expects: another one would keep a block for every length that
 * values had.  lead() reads a row that is held (held_rows.h).
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/pg_compat.h"
#include "exec/window_aggregate.h"
#include "exec/window_calls.h"
#include "plan/window_functions.h"

/* Bytes of a block of kept values. */
#define BLOCK_MIN 1024
#define BLOCK_MAX (64 * 1024)

typedef struct CallState
{
	WindowCall call;
	int column;	  /* of the result in the scan tuple, from 0 */
	int16 length; /* of the result's type */
	bool byval;
	NullableDatum result;		/* at the current row */
	NullableDatum fallback;		/* LAG, LEAD: the result where there is no such row */
	NullableDatum *kept;		/* copies; LAG: of the values of the last rows; others with a frame: of one */
	int position;				/* LAG: the kept value of the current row */
	WindowAggregate *aggregate; /* NULL: it is none */
} CallState;

struct WindowCalls
{
	MemoryContext memory;		/* of kept values */
	MemoryContext results;		/* of aggregates */
	int64 frame_rows;			/* rows in the frame */
	WindowAggState *aggregates; /* the context of aggregates; NULL: there is none */
	int n;
	CallState calls[FLEXIBLE_ARRAY_MEMBER];
};

/* ---------------------------------------------------------------- making */

static void
note_needs(WindowNeeds *needs, const WindowCall *call)
{
	switch (call->kind)
	{
		case WINDOW_CUME_DIST:
		case WINDOW_PERCENT_RANK:
			needs->last_peer |= call->kind == WINDOW_CUME_DIST;
			needs->peers = true;
			needs->rows_ahead = WINDOW_ALL_ROWS;
			break;
		case WINDOW_NTILE:
			needs->rows_ahead = WINDOW_ALL_ROWS;
			break;
		case WINDOW_RANK:
		case WINDOW_DENSE_RANK:
			needs->peers = true;
			break;
		case WINDOW_LEAD:
			needs->rows_ahead = Max(needs->rows_ahead, call->offset);
			needs->readers++;
			break;
		default:
			needs->frame |= window_kind_has_frame(call->kind);
			break;
	}
}

static WindowAggregate *
create_aggregate(WindowCalls *calls, const WindowFunc *function, PlanState *node)
{
	if (calls->aggregates == NULL)
		calls->aggregates = window_aggregate_context(node->state);
	return window_aggregate_create(calls->aggregates, function, node);
}

static void
create_call(WindowCalls *calls, CallState *state, const WindowFunc *function, PlanState *node,
			WindowNeeds *needs)
{
	check_call_permission(function->winfnoid, GetUserId());
	/* first, for it says what became of an aggregate since the statement was planned */
	if (function->winagg)
		state->aggregate = create_aggregate(calls, function, node);
	state->call = window_call(function, NULL);
	get_typlenbyval(function->wintype, &state->length, &state->byval);
	note_needs(needs, &state->call);
	state->kept =
		palloc0(sizeof(NullableDatum) * (state->call.kind == WINDOW_LAG ? state->call.offset + 1 : 1));
	state->fallback.isnull = state->call.fallback == NULL || state->call.fallback->constisnull;
	if (!state->fallback.isnull)
		state->fallback.value = state->call.fallback->constvalue;
}

/* In a custom_scan_tlist. */
static bool
is_no_result(const Expr *value)
{
	return IsA(value, Var) || IsA(value, Const);
}

WindowCalls *
window_calls_create(CustomScanState *node, List *functions, WindowNeeds *needs)
{
	WindowCalls *calls = palloc0(offsetof(WindowCalls, calls) + sizeof(CallState) * list_length(functions));
	List *columns = ((const CustomScan *) node->ss.ps.plan)->custom_scan_tlist;
	int column = 0;
	ListCell *cell;

	calls->memory =
		GenerationContextCreate(CurrentMemoryContext, "gpusort kept values", 0, BLOCK_MIN, BLOCK_MAX);
	calls->results =
		AllocSetContextCreate(CurrentMemoryContext, "gpusort window results", ALLOCSET_SMALL_SIZES);
	foreach(cell, functions)
	{
		while (is_no_result(list_nth_node(TargetEntry, columns, column)->expr))
			column++;
		calls->calls[calls->n].column = column++;
		create_call(calls, &calls->calls[calls->n++], lfirst(cell), &node->ss.ps, needs);
	}
	return calls;
}

/* ---------------------------------------------------------------- kept values */

static void
keep_column(const WindowCalls *calls, const CallState *state, NullableDatum *kept, TupleTableSlot *row)
{
	MemoryContext old;

	if (!state->byval && kept->value != 0)
		pfree(DatumGetPointer(kept->value));
	kept->value = slot_getattr(row, state->call.attno, &kept->isnull);
	if (state->byval)
		return;
	old = MemoryContextSwitchTo(calls->memory);
	kept->value = kept->isnull ? 0 : datumCopy(kept->value, false, state->length);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- the frame */

void
window_calls_begin(WindowCalls *calls)
{
	calls->frame_rows = 0;
	if (calls->aggregates != NULL)
		MemoryContextReset(calls->aggregates->aggcontext);
	for (int i = 0; i < calls->n; i++)
	{
		if (calls->calls[i].aggregate != NULL)
			window_aggregate_begin(calls->calls[i].aggregate);
		calls->calls[i].position = 0;
	}
}

void
window_calls_enter_frame(WindowCalls *calls, TupleTableSlot *row, ExprContext *context)
{
	calls->frame_rows++;
	context->ecxt_outertuple = row;
	for (int i = 0; i < calls->n; i++)
	{
		CallState *state = &calls->calls[i];

		if (state->aggregate != NULL)
			window_aggregate_add(state->aggregate, context);
		else if (state->call.kind == WINDOW_LAST_VALUE ||
				 (state->call.kind == WINDOW_NTH_VALUE && state->call.offset == calls->frame_rows))
			keep_column(calls, state, state->kept, row);
	}
}

void
window_calls_end_frame(WindowCalls *calls)
{
	MemoryContext old = MemoryContextSwitchTo(calls->results);

	MemoryContextReset(calls->results);
	for (int i = 0; i < calls->n; i++)
	{
		CallState *state = &calls->calls[i];

		if (state->aggregate != NULL)
			state->result.value = window_aggregate_result(state->aggregate, &state->result.isnull);
		else if (window_kind_has_frame(state->call.kind))
			state->result =
				calls->frame_rows < state->call.offset ? (NullableDatum){.isnull = true} : *state->kept;
	}
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- the current row */

/*
 * The ring has one value more than lag() goes back: the oldest one is the result, and the next to be
 * replaced.
 */
static void
compute_lag(WindowCalls *calls, CallState *state, int64 row_number, TupleTableSlot *row)
{
	keep_column(calls, state, &state->kept[state->position], row);
	state->position = state->position == state->call.offset ? 0 : state->position + 1;
	state->result = row_number > state->call.offset ? state->kept[state->position] : state->fallback;
}

static void
compute_lead(CallState *state, HeldRows *held, int reader)
{
	TupleTableSlot *row = held_rows_read(held, reader, state->call.offset);

	state->result = state->fallback;
	if (row != NULL)
		state->result.value = slot_getattr(row, state->call.attno, &state->result.isnull);
}

/* The first buckets have one row more if rows are left. */
static int32
bucket_of_row(int64 row, int64 rows, int64 buckets)
{
	int64 size = rows / buckets;
	int64 larger = rows % buckets * (size + 1);

	return row < larger ? row / (size + 1) + 1 : rows % buckets + (row - larger) / size + 1;
}

void
window_calls_at_row(WindowCalls *calls, const WindowPlace *place, TupleTableSlot *row, HeldRows *held,
					int first_reader)
{
	for (int i = 0; i < calls->n; i++)
	{
		CallState *state = &calls->calls[i];

		switch (state->call.kind)
		{
			case WINDOW_ROW_NUMBER:
				state->result.value = Int64GetDatum(place->row_number);
				break;
			case WINDOW_RANK:
				state->result.value = Int64GetDatum(place->rank);
				break;
			case WINDOW_DENSE_RANK:
				state->result.value = Int64GetDatum(place->dense_rank);
				break;
			case WINDOW_NTILE:
				state->result.value =
					Int32GetDatum(bucket_of_row(place->row_number - 1, place->rows, state->call.offset));
				break;
			case WINDOW_PERCENT_RANK:
				state->result.value =
					Float8GetDatum(place->rows > 1 ? (place->rank - 1) / (float8) (place->rows - 1) : 0);
				break;
			case WINDOW_CUME_DIST:
				state->result.value = Float8GetDatum(place->last_peer / (float8) place->rows);
				break;
			case WINDOW_LAG:
				compute_lag(calls, state, place->row_number, row);
				break;
			case WINDOW_LEAD:
				compute_lead(state, held, first_reader++);
				break;
			default: /* computed when the frame ends */
				break;
		}
	}
}

void
window_calls_results(const WindowCalls *calls, bool computed, TupleTableSlot *slot)
{
	for (int i = 0; i < calls->n; i++)
	{
		const CallState *state = &calls->calls[i];

		slot->tts_values[state->column] = state->result.value;
		slot->tts_isnull[state->column] = !computed || state->result.isnull;
	}
}
