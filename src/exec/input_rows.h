/*
 * exec/input_rows.h
 *		The rows of a sort's input; for a plain scan the rows of the current page.
 */
#ifndef GPUSORT_EXEC_INPUT_ROWS_H
#define GPUSORT_EXEC_INPUT_ROWS_H

#include "postgres.h"

#include "access/heapam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

#include "base/group_rows.h"

typedef struct InputRows
{
	PlanState *input;
	SeqScanState *scan; /* the input, if its rows may be taken from pages; otherwise NULL */
	/* the current page of the scan, which may have its next row; NULL: fetch from the executor */
	HeapScanDesc pages;
} InputRows;

/* Rows of one page that are taken together. */
typedef struct InputBatch
{
	bool has_tuples; /* does the scan return rows as they are in the page? */
	HeapTupleData tuples[GROUP_BATCH_ROWS];
	TupleTableSlot *slots[GROUP_BATCH_ROWS]; /* without tuples; otherwise input_batch_slot sets them */
} InputBatch;

extern void input_rows_begin(InputRows *rows, PlanState *input);

/* Returns the next row from the executor, or NULL or an empty slot. */
extern TupleTableSlot *input_rows_ask_executor(InputRows *rows);

/* Makes a batch for rows of an input that is a scan, in this context. */
extern InputBatch *input_batch_create(const InputRows *rows, MemoryContext context);
extern void input_batch_free(InputBatch *batch);

/*
 * Takes the next rows of the page, as many as there is room for.  They are valid until the next call.
 * Returns their number; 0: the page has none.
 */
extern int input_rows_take_batch(InputRows *rows, InputBatch *batch);

/* Returns a slot with this row of a batch. */
static inline TupleTableSlot *
input_batch_slot(InputBatch *batch, int row)
{
	TupleTableSlot *slot = batch->slots[row];

	return batch->has_tuples ? ExecStoreHeapTuple(&batch->tuples[row], slot, false) : slot;
}

/* Does the scan return all rows, with all columns and without changes? */
static inline bool
input_rows_are_plain(const InputRows *rows)
{
	return rows->scan->ss.ps.qual == NULL && rows->scan->ss.ps.ps_ProjInfo == NULL;
}

/* Advances to the next visible tuple of the page.  False: there are none. */
static inline bool
input_rows_next_tuple(HeapScanDesc pages, HeapTuple tuple)
{
	uint32 index = (uint32) pages->rs_cindex + 1;
	Page page;
	ItemId item;

	if (index >= (uint32) pages->rs_ntuples)
		return false;
	page = BufferGetPage(pages->rs_cbuf);
	item = PageGetItemId(page, pages->rs_vistuples[index]);
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
	ItemPointerSetOffsetNumber(&tuple->t_self, pages->rs_vistuples[index]);
	pages->rs_cindex = index;
	pgstat_count_heap_getnext(pages->rs_base.rs_rd);
	return true;
}

/* Does the same, and leaves scan and slot as heap_getnextslot does. */
static inline bool
input_rows_step(HeapScanDesc pages, TupleTableSlot *slot)
{
	BufferHeapTupleTableSlot *stored = (BufferHeapTupleTableSlot *) slot;
	HeapTuple tuple = &pages->rs_ctup;

	if (!input_rows_next_tuple(pages, tuple))
		return false;
	/* the slot holds the scan's tuple and the page's pin, unless other code has materialized it */
	if (unlikely(stored->base.tuple != tuple || stored->buffer != pages->rs_cbuf))
		(void) ExecStoreBufferHeapTuple(tuple, slot, pages->rs_cbuf);
	slot->tts_nvalid = 0;
	slot->tts_tid = tuple->t_self;
	stored->base.off = 0;
	return true;
}

/*
 * Returns the next row, or NULL or an empty slot.  The row is valid in a slot of the input until the next
 * call.
 */
static inline TupleTableSlot *
input_rows_next(InputRows *rows)
{
	while (rows->pages != NULL)
	{
		PlanState *node = &rows->scan->ss.ps;
		TupleTableSlot *slot = rows->scan->ss.ss_ScanTupleSlot;
		ExprContext *context = node->ps_ExprContext;

		if (!input_rows_step(rows->pages, slot))
			break;
		if (input_rows_are_plain(rows))
			return slot;
		ResetExprContext(context);
		context->ecxt_scantuple = slot;
		if (node->qual == NULL || ExecQual(node->qual, context))
			return node->ps_ProjInfo != NULL ? ExecProject(node->ps_ProjInfo) : slot;
		CHECK_FOR_INTERRUPTS();
	}
	return input_rows_ask_executor(rows);
}

#endif /* GPUSORT_EXEC_INPUT_ROWS_H */
