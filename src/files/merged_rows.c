/*
 * files/merged_rows.c
 *		The rows of a sort's last merge, as they are asked for.
 *
 * Forwards they come out of the merger and are kept nowhere.  Who wants a row that the merger has passed, as
 * he reads backwards or goes back to a mark, has all rows merged once more, into a tuplestore, which can be
 * read both ways; the runs are dropped then.
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "base/limits.h"
#include "base/pg_compat.h"
#include "base/stopwatch.h"
#include "files/merged_rows.h"

/* Memory of the tuplestore, in kB; what is more of it is in a temporary file. */
#define STORE_MEMORY 64

struct MergedRows
{
	Merger *merger;			 /* NULL once the rows are stored */
	VerifiedMerge *verified; /* gives the merger's rows; NULL: it does so itself */
	KeyRow *key_row;
	MemoryContext context;
	SorterStats *stats;
	int64 nrows;
	int64 merged;	/* this row is the merger's next one */
	int64 position; /* the row last returned, -1 before the first, nrows after the last */
	int64 mark;

	Tuplestorestate *store; /* of all rows; NULL: nobody went back yet */
	TupleTableSlot *slot;	/* what goes into it and comes out; nobody takes it apart */
	int64 store_at;			/* where it is read: on this row, or after the last */
};

MergedRows *
merged_rows_create(Merger *merger, VerifiedMerge *verified, KeyRow *key_row, SorterStats *stats)
{
	MergedRows *rows = palloc0(sizeof(MergedRows));

	rows->merger = merger;
	rows->verified = verified;
	rows->key_row = key_row;
	rows->context = CurrentMemoryContext;
	rows->stats = stats;
	rows->nrows = merger_rows(merger);
	rows->position = -1;
	return rows;
}

/* ---------------------------------------------------------------- merging */

/* The merger's next row, which there must be. */
static MinimalTuple
merge_row(MergedRows *rows)
{
	rows->merged++;
	if (rows->verified != NULL)
		return verified_merge_next(rows->verified);
	return run_reader_row(merger_next(rows->merger), rows->key_row);
}

static void
restart_merge(MergedRows *rows)
{
	merger_seek(rows->merger, NULL);
	if (rows->verified != NULL)
		verified_merge_restart(rows->verified);
	rows->merged = 0;
}

static void
end_merge(MergedRows *rows)
{
	if (rows->verified != NULL)
		verified_merge_end(rows->verified);
	merger_end(rows->merger);
	rows->merger = NULL;
}

/* ---------------------------------------------------------------- rows that are stored */

/* It is read from its end, which moves as rows are put. */
static void
create_store(MergedRows *rows)
{
	TupleDesc no_columns = CreateTemplateTupleDesc(0);

	TupleDescFinalize(no_columns);
	rows->slot = MakeSingleTupleTableSlot(no_columns, &TTSOpsMinimalTuple);
	rows->store = tuplestore_begin_heap(true, false, STORE_MEMORY);
	(void) tuplestore_advance(rows->store, true);
}

static void
store_rows(MergedRows *rows)
{
	Stopwatch watch = stopwatch_start();
	uint64 bytes = 0;

	create_store(rows);
	restart_merge(rows);
	while (rows->merged < rows->nrows)
	{
		if (rows->merged % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		ExecStoreMinimalTuple(merge_row(rows), rows->slot, false);
		tuplestore_puttupleslot(rows->store, rows->slot);
		bytes +=
			ExecFetchSlotMinimalTuple(rows->slot, NULL)->t_len - MINIMAL_TUPLE_DATA_OFFSET + 2 * sizeof(int);
	}
	ExecClearTuple(rows->slot);
	end_merge(rows);
	rows->store_at = rows->nrows;
	if (!tuplestore_in_memory(rows->store))
		rows->stats->disk_bytes += bytes;
	rows->stats->merge_ms += stopwatch_ms(watch);
}

/* A row that the merger has passed. */
static MinimalTuple
stored_row(MergedRows *rows, int64 row)
{
	if (rows->store == NULL)
		store_rows(rows);
	if (rows->store_at != row)
	{
		bool forward = rows->store_at < row;
		int64 between = (forward ? row - rows->store_at : rows->store_at - row) - 1;

		(void) tuplestore_skiptuples(rows->store, between, forward);
		if (!tuplestore_gettupleslot(rows->store, forward, false, rows->slot))
			elog(ERROR, "gpusort: fewer sorted rows were stored than there are");
		rows->store_at = row;
	}
	return ExecFetchSlotMinimalTuple(rows->slot, NULL);
}

/* ---------------------------------------------------------------- reading */

MinimalTuple
merged_rows_next(MergedRows *rows, bool forward)
{
	int64 row = rows->position + (forward ? 1 : -1);
	MemoryContext old;
	MinimalTuple result;

	rows->position = Max(-1, Min(rows->nrows, row));
	if (row < 0 || row >= rows->nrows)
		return NULL;
	old = MemoryContextSwitchTo(rows->context);
	result = rows->merger != NULL && row == rows->merged ? merge_row(rows) : stored_row(rows, row);
	MemoryContextSwitchTo(old);
	return result;
}

void
merged_rows_rewind(MergedRows *rows)
{
	rows->position = -1;
	if (rows->merger != NULL && rows->merged > 0)
		restart_merge(rows);
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

void
merged_rows_end(MergedRows *rows)
{
	if (rows->merger != NULL)
		end_merge(rows);
	if (rows->store != NULL)
	{
		ExecDropSingleTupleTableSlot(rows->slot);
		tuplestore_end(rows->store);
	}
	pfree(rows);
}
