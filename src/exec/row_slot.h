/*
 * exec/row_slot.h
 *		A sorted row in the slot of a node.
 */
#ifndef GPUSORT_EXEC_ROW_SLOT_H
#define GPUSORT_EXEC_ROW_SLOT_H

#include "postgres.h"

#include "executor/executor.h"
#include "executor/tuptable.h"

/*
 * Does what ExecStoreMinimalTuple does with a row that stays where it is, but without a call if the slot, of
 * minimal tuples, has nothing to free.
 */
static inline void
row_slot_store(TupleTableSlot *slot, MinimalTuple row)
{
	MinimalTupleTableSlot *stored = (MinimalTupleTableSlot *) slot;

	if (unlikely(TTS_SHOULDFREE(slot)))
	{
		ExecStoreMinimalTuple(row, slot, false);
		return;
	}
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = 0;
	stored->off = 0;
	stored->mintuple = row;
	stored->minhdr.t_len = row->t_len + MINIMAL_TUPLE_OFFSET;
	stored->minhdr.t_data = (HeapTupleHeader) ((char *) row - MINIMAL_TUPLE_OFFSET);
}

#endif /* GPUSORT_EXEC_ROW_SLOT_H */
