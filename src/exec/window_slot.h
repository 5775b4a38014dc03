/*
 * exec/window_slot.h
 *		The slot of a GpuWindow: columns of an input's row, results and constants.
 *
 * The row stays where it is; its columns are read when somebody asks for them.  So who only counts rows, or
 * looks at a few columns, does not pay for all.  It is a virtual slot of which not all values need be there:
 * what PostgreSQL does with those is done when they are.
 */
#ifndef GPUSORT_EXEC_WINDOW_SLOT_H
#define GPUSORT_EXEC_WINDOW_SLOT_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/execnodes.h"

typedef struct WindowSource
{
	AttrNumber attno; /* the column of the row; 0: the value is a result or a constant */
	AttrNumber last;  /* the highest one up to here */
} WindowSource;

typedef struct WindowSlot
{
	VirtualTupleTableSlot base; /* must be first */
	TupleTableSlot *row;
	WindowSource *sources; /* of each column */
} WindowSlot;

/* The operations of such slots. */
extern const TupleTableSlotOps *window_slot_ops(void);

/*
 * Begins a node whose scan tuple is such a slot, and its input.  The slot's columns are described by
 * custom_scan_tlist (plan/window_plan.h), and its constants are set.  Returns the descriptor of the input's
 * rows.
 */
extern TupleDesc window_slot_begin(CustomScanState *node, EState *estate, int eflags);

/*
 * Makes the slot hold this row as long as the row's own slot does, or until it is materialized.  The results
 * are the caller's to set, before or after.
 */
static inline void
window_slot_store(TupleTableSlot *slot, TupleTableSlot *row)
{
	if (unlikely(TTS_SHOULDFREE(slot)))
		ExecClearTuple(slot);
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = 0;
	((WindowSlot *) slot)->row = row;
}

#endif /* GPUSORT_EXEC_WINDOW_SLOT_H */
