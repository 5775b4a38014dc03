/*
 * exec/rank_slot.h
 *		Slots of an input's row and some results behind its columns.
 *
 * The row stays where it is; its columns are read when somebody asks for them.  So who only counts rows, or
 * looks at a few columns, does not pay for all.
 */
#ifndef GPUSORT_EXEC_RANK_SLOT_H
#define GPUSORT_EXEC_RANK_SLOT_H

#include "postgres.h"

#include "executor/tuptable.h"

typedef struct RankSlot
{
	VirtualTupleTableSlot base; /* must be first */
	TupleTableSlot *row;
} RankSlot;

/* What such a slot is made with. */
extern const TupleTableSlotOps *rank_slot_ops(void);

/*
 * Makes the slot hold this row as long as the row's own slot does, or until it is materialized.  The values
 * of the last columns are the caller's to set, before or after.
 */
static inline void
rank_slot_store(TupleTableSlot *slot, TupleTableSlot *row)
{
	if (unlikely(TTS_SHOULDFREE(slot)))
		ExecClearTuple(slot);
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = 0;
	((RankSlot *) slot)->row = row;
}

#endif /* GPUSORT_EXEC_RANK_SLOT_H */
