/*
 * exec/row_slot.h
 *		A sorted row in the slot of a node, and how the node returns it.
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

/* Returns the row in the node's slot, as the node projects it; there is none: an empty slot. */
static inline TupleTableSlot *
row_slot_return(CustomScanState *css, bool has_row)
{
	TupleTableSlot *slot = css->ss.ss_ScanTupleSlot;
	ProjectionInfo *projection = css->ss.ps.ps_ProjInfo;

	if (unlikely(!has_row))
	{
		ExecClearTuple(slot);
		return projection != NULL ? ExecClearTuple(css->ss.ps.ps_ResultTupleSlot) : slot;
	}
	if (projection == NULL)
		return slot;
	ResetExprContext(css->ss.ps.ps_ExprContext);
	css->ss.ps.ps_ExprContext->ecxt_scantuple = slot;
	return ExecProject(projection);
}

#endif /* GPUSORT_EXEC_ROW_SLOT_H */
