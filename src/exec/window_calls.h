/*
 * exec/window_calls.h
 *		The functions of a window: their results, row by row.
 *
 * The caller says which rows enter the frame, and which row is the current one.
 */
#ifndef GPUSORT_EXEC_WINDOW_CALLS_H
#define GPUSORT_EXEC_WINDOW_CALLS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "exec/held_rows.h"
#include "plan/window_plan.h"

/* The current row's place in its partition. */
typedef struct WindowPlace
{
	int64 row_number;
	int64 rank;
	int64 dense_rank;
	int64 last_peer; /* row number of the last peer, if needed */
	int64 rows;		 /* of the partition, if needed */
} WindowPlace;

typedef struct WindowCalls WindowCalls;

#define WINDOW_ALL_ROWS PG_INT64_MAX

/* What calls need to look at, in addition to the current row. */
typedef struct WindowNeeds
{
	bool peers;
	bool last_peer;
	bool frame;
	int64 rows_ahead; /* rows behind the current one; WINDOW_ALL_ROWS: all of the partition */
	int readers;	  /* calls of lead(), each of which has a reader of held rows */
} WindowNeeds;

/*
 * Makes the calls of a node in CurrentMemoryContext, and adds what they need.  Raises an error if the user
 * may not call a function.
 */
extern WindowCalls *window_calls_create(CustomScanState *node, List *functions, WindowNeeds *needs);

/* Begins a partition without rows. */
extern void window_calls_begin(WindowCalls *calls);

/* The row enters the frame.  Uses the context's per-tuple memory, and its outer row. */
extern void window_calls_enter_frame(WindowCalls *calls, TupleTableSlot *row, ExprContext *context);

/*
 * Computes the calls that look at the frame, which has all its rows now.  Results are valid until the next
 * row enters the frame.
 */
extern void window_calls_end_frame(WindowCalls *calls);

/*
 * Computes the other calls.  held: this row and those behind it; first_reader: the readers of lead() begin
 * here.
 */
extern void window_calls_at_row(WindowCalls *calls, const WindowPlace *place, TupleTableSlot *row,
								HeldRows *held, int first_reader);

/* Sets the results in the slot, as a column each; NULLs if they were not computed. */
extern void window_calls_results(const WindowCalls *calls, bool computed, TupleTableSlot *slot);

#endif /* GPUSORT_EXEC_WINDOW_CALLS_H */
