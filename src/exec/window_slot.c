/*
 * exec/window_slot.c
 *		The slot of a GpuWindow: an input's row, and results behind its columns.
 */
#include "postgres.h"

#include "base/pg_compat.h"
#include "exec/window_slot.h"

/* The row's columns up to this one; of the results, which stand there already, any. */
static void
get_columns(TupleTableSlot *slot, int natts)
{
	TupleTableSlot *row = ((WindowSlot *) slot)->row;
	int ncolumns = Min(natts, row->tts_tupleDescriptor->natts);

	slot_getsomeattrs(row, ncolumns);
	for (int i = slot->tts_nvalid; i < ncolumns; i++)
	{
		slot->tts_values[i] = row->tts_values[i];
		slot->tts_isnull[i] = row->tts_isnull[i];
	}
	slot->tts_nvalid = natts;
}

static void
materialize(TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	TTSOpsVirtual.materialize(slot);
}

static HeapTuple
copy_heap_tuple(TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	return TTSOpsVirtual.copy_heap_tuple(slot);
}

static MinimalTuple
copy_minimal_tuple(copy_minimal_tuple_parameters)
{
	slot_getallattrs(slot);
	return TTSOpsVirtual.copy_minimal_tuple(copy_minimal_tuple_arguments);
}

const TupleTableSlotOps *
window_slot_ops(void)
{
	static TupleTableSlotOps ops;

	ops = TTSOpsVirtual;
	ops.base_slot_size = sizeof(WindowSlot);
	ops.getsomeattrs = get_columns;
	ops.materialize = materialize;
	ops.copy_heap_tuple = copy_heap_tuple;
	ops.copy_minimal_tuple = copy_minimal_tuple;
	return &ops;
}
