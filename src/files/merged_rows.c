/*
 * files/merged_rows.c
 *		The rows of a sort's last merge, as they are asked for.
 *
 * Forwards they come out of the merger and are kept nowhere.  Those who may want to read them again, or
 * backwards, have the runs for that, which stay: where the merge stood in them is remembered at the beginning
 * of every stretch of the rows, of which there are STRETCHES.  So any stretch can be merged again.
 *
 * To read a row that the merger has passed, its stretch and the one before are merged into a window, a
 * tuplestore, which can be read both ways.  The window is two stretches, so that who turns round where one of
 * them ends has both sides at hand; and it is a small part of all rows, so that the runs and the window
 * together take little more of the disk than the runs alone.
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "base/limits.h"
#include "base/pg_compat.h"
#include "base/stopwatch.h"
#include "files/merged_rows.h"

#define STRETCHES 64

/* Memory of a window, in kB; what is more of it is in a temporary file. */
#define WINDOW_MEMORY 64

struct MergedRows
{
	Merger *merger;
	VerifiedMerge *verified; /* gives the merger's rows; NULL: it does so itself */
	KeyRow *key_row;
	MemoryContext context;
	SorterStats *stats;
	int64 nrows;
	int64 merged;	/* this row is the merger's next one */
	int64 position; /* the row last returned, -1 before the first, nrows after the last */
	int64 mark;

	/* With random access. */
	int64 stretch_rows;
	int64 next_stretch; /* the row with which the next one begins that is not known yet; -1: none is wanted */
	RunPosition *positions;		 /* at the beginnings of those that are known, one of each run */
	Tuplestorestate *window;	 /* NULL: nobody went backwards yet */
	TupleTableSlot *window_slot; /* what goes into it and comes out; nobody takes it apart */
	int64 window_first;
	int64 window_end;
	int64 window_at;	/* where it is read: on this row, or after its last */
	uint64 window_most; /* bytes of its files at most */
};

MergedRows *
merged_rows_create(Merger *merger, VerifiedMerge *verified, KeyRow *key_row, bool random_access,
				   SorterStats *stats)
{
	MergedRows *rows = palloc0(sizeof(MergedRows));

	rows->merger = merger;
	rows->verified = verified;
	rows->key_row = key_row;
	rows->context = CurrentMemoryContext;
	rows->stats = stats;
	rows->nrows = merger_rows(merger);
	rows->position = -1;
	rows->next_stretch = -1;
	if (random_access)
	{
		rows->stretch_rows = rows->nrows / STRETCHES + 1;
		rows->next_stretch = 0;
		rows->positions = palloc(merged_rows_memory(merger_runs(merger)));
	}
	return rows;
}

Size
merged_rows_memory(int nruns)
{
	return STRETCHES * nruns * sizeof(RunPosition);
}

void
merged_rows_end(MergedRows *rows)
{
	if (rows->verified != NULL)
		verified_merge_end(rows->verified);
	merger_end(rows->merger);
	if (rows->window != NULL)
	{
		ExecDropSingleTupleTableSlot(rows->window_slot);
		tuplestore_end(rows->window);
	}
	if (rows->positions != NULL)
		pfree(rows->positions);
	pfree(rows);
}

/* ---------------------------------------------------------------- merging */

static inline RunPosition *
positions_of(const MergedRows *rows, int64 stretch)
{
	return rows->positions + stretch * merger_runs(rows->merger);
}

/* The merger's next row, which there must be. */
static StoredRow
merge_row(MergedRows *rows)
{
	const RunReader *reader;

	if (rows->verified != NULL)
	{
		rows->merged++;
		return verified_merge_next(rows->verified);
	}
	reader = merger_next(rows->merger);
	if (unlikely(rows->merged == rows->next_stretch))
	{
		merger_tell(rows->merger, positions_of(rows, rows->merged / rows->stretch_rows));
		rows->next_stretch += rows->stretch_rows;
	}
	rows->merged++;
	return run_reader_row(reader, rows->key_row);
}

/* The first row of a stretch that is known will be the merger's next one. */
static void
go_to_stretch(MergedRows *rows, int64 stretch)
{
	merger_seek(rows->merger, positions_of(rows, stretch));
	rows->merged = stretch * rows->stretch_rows;
}

/* ---------------------------------------------------------------- the window */

/* Makes the window empty.  It is read from its end, which moves as rows are put. */
static void
clear_window(MergedRows *rows)
{
	if (rows->window == NULL)
	{
		TupleDesc no_columns = CreateTemplateTupleDesc(0);

		TupleDescFinalize(no_columns);
		rows->window_slot = MakeSingleTupleTableSlot(no_columns, &TTSOpsMinimalTuple);
		rows->window = tuplestore_begin_heap(true, false, WINDOW_MEMORY);
	}
	ExecClearTuple(rows->window_slot);
	tuplestore_clear(rows->window);
	(void) tuplestore_advance(rows->window, true);
}

/* Puts the merger's next row into the window; returns the bytes that it takes in a file. */
static uint64
put_into_window(MergedRows *rows)
{
	StoredRow row = merge_row(rows);

	ExecStoreMinimalTuple(row, rows->window_slot, false);
	tuplestore_puttupleslot(rows->window, rows->window_slot);
	return row->t_len - MINIMAL_TUPLE_DATA_OFFSET + 2 * sizeof(int);
}

/* Merges the stretch of a row, and the one before, into the window. */
static void
load_window(MergedRows *rows, int64 row)
{
	Stopwatch watch = stopwatch_start();
	uint64 bytes = 0;
	int64 stretch;

	if (rows->positions == NULL)
		elog(ERROR, "sorted rows that are read once are read again");
	stretch = row / rows->stretch_rows;
	clear_window(rows);
	go_to_stretch(rows, Max(stretch - 1, 0));
	rows->window_first = rows->merged;
	rows->window_end = Min((stretch + 1) * rows->stretch_rows, rows->nrows);
	while (rows->merged < rows->window_end)
	{
		if (rows->merged % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		bytes += put_into_window(rows);
	}
	rows->window_at = rows->window_end;
	if (!tuplestore_in_memory(rows->window) && bytes > rows->window_most)
	{
		rows->stats->disk_bytes += bytes - rows->window_most;
		rows->window_most = bytes;
	}
	rows->stats->merge_ms += stopwatch_ms(watch);
}

/* A row that the merger has passed. */
static StoredRow
row_of_window(MergedRows *rows, int64 row)
{
	if (row < rows->window_first || row >= rows->window_end)
		load_window(rows, row);
	if (rows->window_at != row)
	{
		bool forward = rows->window_at < row;
		int64 between = (forward ? row - rows->window_at : rows->window_at - row) - 1;

		(void) tuplestore_skiptuples(rows->window, between, forward);
		if (!tuplestore_gettupleslot(rows->window, forward, false, rows->window_slot))
			elog(ERROR, "gpusort: a window of sorted rows has fewer than were put into it");
		rows->window_at = row;
	}
	return ExecFetchSlotMinimalTuple(rows->window_slot, NULL);
}

/* ---------------------------------------------------------------- reading */

StoredRow
merged_rows_next(MergedRows *rows, bool forward)
{
	int64 row = rows->position + (forward ? 1 : -1);
	MemoryContext old;
	StoredRow result;

	rows->position = Max(-1, Min(rows->nrows, row));
	if (row < 0 || row >= rows->nrows)
		return NULL;
	old = MemoryContextSwitchTo(rows->context);
	result = row == rows->merged ? merge_row(rows) : row_of_window(rows, row);
	MemoryContextSwitchTo(old);
	return result;
}

void
merged_rows_rewind(MergedRows *rows)
{
	rows->position = -1;
	if (rows->merged > 0)
		go_to_stretch(rows, 0);
}

void
merged_rows_mark(MergedRows *rows)
{
	rows->mark = rows->position;
}

void
merged_rows_restore(MergedRows *rows)
{
	rows->position = rows->mark;
}
