/*
 * exec/held_rows.c
 *		A queue of rows that were read, but not returned yet.
 *
 * Rows are copied to memory, whose pointers go round in a ring.  A row behind work_mem of others goes to a
 * tuplestore, and so do all rows behind it, until the queue is empty.
 *
 * A row has a number, counted since the queue was empty for the last time.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "exec/held_rows.h"

/* kB of a tuplestore's own memory; work_mem is used up already. */
#define STORE_MEMORY 64

/* Rows of the ring at first; a power of two, as later.  Bytes of a block of rows. */
#define RING_MIN 4
#define BLOCK_MIN (8 * 1024)
#define BLOCK_MAX (64 * 1024)

typedef struct RowReader
{
	TupleTableSlot *slot;
	int64 at;			/* the number of the slot's row; -1: none */
	int64 stored;		/* rows of the tuplestore that it has read or skipped */
	int store_position; /* its read pointer there */
} RowReader;

struct HeldRows
{
	MemoryContext query;
	MemoryContext memory; /* of the rows in memory */
	MinimalTuple *ring;
	int64 ring_size;
	int64 first;
	int64 end;
	Tuplestorestate *store; /* NULL: no row was stored */
	int64 store_begin;		/* the number of the first row in it; PG_INT64_MAX: none is */
	int nreaders;
	RowReader readers[FLEXIBLE_ARRAY_MEMBER];
};

static void
forget_rows(HeldRows *held)
{
	held->first = held->end = 0;
	held->store_begin = PG_INT64_MAX;
	for (int i = 0; i < held->nreaders; i++)
	{
		held->readers[i].at = -1;
		held->readers[i].stored = 0;
	}
}

HeldRows *
held_rows_create(EState *estate, TupleDesc desc, int nreaders)
{
	HeldRows *held = palloc0(offsetof(HeldRows, readers) + sizeof(RowReader) * nreaders);

	held->query = CurrentMemoryContext;
	held->memory =
		GenerationContextCreate(CurrentMemoryContext, "gpusort held rows", 0, BLOCK_MIN, BLOCK_MAX);
	held->nreaders = nreaders;
	for (int i = 0; i < nreaders; i++)
		held->readers[i].slot = ExecInitExtraTupleSlot(estate, desc, &TTSOpsMinimalTuple);
	forget_rows(held);
	return held;
}

/* ---------------------------------------------------------------- rows in memory */

static inline MinimalTuple *
place_of(HeldRows *held, int64 number)
{
	return &held->ring[number & (held->ring_size - 1)];
}

/* Doubles the ring, which is full. */
static void
grow_ring(HeldRows *held)
{
	int64 size = held->ring_size == 0 ? RING_MIN : held->ring_size * 2;
	MinimalTuple *ring = MemoryContextAllocHuge(held->query, sizeof(MinimalTuple) * size);

	for (int64 i = held->first; i < held->end; i++)
		ring[i & (size - 1)] = *place_of(held, i);
	if (held->ring != NULL)
		pfree(held->ring);
	held->ring = ring;
	held->ring_size = size;
}

static bool
has_room(const HeldRows *held)
{
	Size bytes = MemoryContextMemAllocated(held->memory, false) + held->ring_size * sizeof(MinimalTuple);

	return held->store_begin == PG_INT64_MAX && bytes < (Size) work_mem * 1024;
}

static void
keep_row(HeldRows *held, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(held->memory);

	if (held->end - held->first == held->ring_size)
		grow_ring(held);
	*place_of(held, held->end) = ExecCopySlotMinimalTuple(slot);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- stored rows */

static void
begin_store(HeldRows *held)
{
	MemoryContext old = MemoryContextSwitchTo(held->query);

	held->store = tuplestore_begin_heap(false, false, STORE_MEMORY);
	/* a row that is put moves the pointer that is selected then, which must be no reader's */
	tuplestore_set_eflags(held->store, 0);
	for (int i = 0; i < held->nreaders; i++)
		held->readers[i].store_position = tuplestore_alloc_read_pointer(held->store, 0);
	MemoryContextSwitchTo(old);
}

static void
store_row(HeldRows *held, TupleTableSlot *row)
{
	if (held->store == NULL)
		begin_store(held);
	if (held->store_begin == PG_INT64_MAX)
		held->store_begin = held->end;
	tuplestore_select_read_pointer(held->store, 0);
	tuplestore_puttupleslot(held->store, row);
}

/* Reads the row of that number, which is stored, to the reader's slot. */
static void
read_stored(HeldRows *held, RowReader *reader, int64 number)
{
	MemoryContext old = MemoryContextSwitchTo(held->query);
	int64 skipped = number - held->store_begin - reader->stored;

	tuplestore_select_read_pointer(held->store, reader->store_position);
	/* copied, as the tuplestore may move its rows to a file */
	if ((skipped > 0 && !tuplestore_skiptuples(held->store, skipped, true)) ||
		!tuplestore_gettupleslot(held->store, true, true, reader->slot))
		elog(ERROR, "gpusort: a held row is missing");
	reader->stored += skipped + 1;
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- the queue */

void
held_rows_push(HeldRows *held, TupleTableSlot *slot)
{
	if (has_room(held))
		keep_row(held, slot);
	else
		store_row(held, slot);
	held->end++;
}

/* The queue is empty. */
static void
begin_anew(HeldRows *held)
{
	if (held->store_begin != PG_INT64_MAX)
	{
		for (int i = 0; i < held->nreaders; i++)
			ExecClearTuple(held->readers[i].slot);
		tuplestore_clear(held->store);
	}
	forget_rows(held);
}

void
held_rows_pop(HeldRows *held)
{
	if (held->first < held->store_begin)
		pfree(*place_of(held, held->first));
	held->first++;
	if (held->first == held->end)
		begin_anew(held);
}

int64
held_rows_count(const HeldRows *held)
{
	return held->end - held->first;
}

TupleTableSlot *
held_rows_read(HeldRows *held, int reader_number, int64 index)
{
	RowReader *reader = &held->readers[reader_number];
	int64 number = held->first + index;

	if (number >= held->end)
		return NULL;
	if (reader->at == number)
		return reader->slot;
	if (number >= held->store_begin)
		read_stored(held, reader, number);
	else
		ExecStoreMinimalTuple(*place_of(held, number), reader->slot, false);
	reader->at = number;
	return reader->slot;
}

void
held_rows_clear(HeldRows *held)
{
	MemoryContextReset(held->memory);
	begin_anew(held);
}
