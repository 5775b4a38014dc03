/*
 * exec/input_rows.h
 *		The rows of a sort's input, those of a plain scan without a call of the executor for each.
 */
#ifndef GPUSORT_EXEC_INPUT_ROWS_H
#define GPUSORT_EXEC_INPUT_ROWS_H

#include "postgres.h"

#include "access/heapam.h"
#include "executor/executor.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

typedef struct InputRows
{
	PlanState *input;
	SeqScanState *scan; /* the same, if its pages can be read; NULL: the executor returns all rows */
	HeapScanDesc pages; /* where in its table it is; NULL: the executor returns the next row */
} InputRows;

extern void input_rows_begin(InputRows *rows, PlanState *input);

/* The next row that the executor returns, and where its scan is then. */
extern TupleTableSlot *input_rows_next_page(InputRows *rows);

/* So many bytes of a tuple are fetched ahead, and of the tuple that comes so many later. */
#define INPUT_AHEAD_BYTES 128
#define INPUT_AHEAD_ROWS 3

/* Has the processor fetch a tuple that comes soon. */
static inline void
input_rows_fetch_ahead(const HeapScanDescData *pages, Page page, uint32 index)
{
	const char *tuple;

	if (index >= (uint32) pages->rs_ntuples)
		return;
	tuple = (const char *) PageGetItem(page, PageGetItemId(page, pages->rs_vistuples[index]));
	for (int ahead = 0; ahead < INPUT_AHEAD_BYTES; ahead += PG_CACHE_LINE_SIZE / 2)
		__builtin_prefetch(tuple + ahead);
}

/*
 * Goes on to the next tuple of the page that is visible to the scan, and leaves scan and slot as
 * heap_getnextslot does; false: there is none.
 */
static inline bool
input_rows_step(HeapScanDesc pages, TupleTableSlot *slot)
{
	BufferHeapTupleTableSlot *stored = (BufferHeapTupleTableSlot *) slot;
	HeapTuple tuple = &pages->rs_ctup;
	uint32 index = (uint32) pages->rs_cindex + 1;
	OffsetNumber offset;
	ItemId item;
	Page page;

	if (index >= (uint32) pages->rs_ntuples)
		return false;
	page = BufferGetPage(pages->rs_cbuf);
	input_rows_fetch_ahead(pages, page, index + INPUT_AHEAD_ROWS);
	offset = pages->rs_vistuples[index];
	item = PageGetItemId(page, offset);
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
	ItemPointerSetOffsetNumber(&tuple->t_self, offset);
	pages->rs_cindex = index;
	pgstat_count_heap_getnext(pages->rs_base.rs_rd);

	if (unlikely(stored->base.tuple != tuple || stored->buffer != pages->rs_cbuf))
	{
		/* whoever looked at the last row has made a copy of it */
		(void) ExecStoreBufferHeapTuple(tuple, slot, pages->rs_cbuf);
		return true;
	}
	slot->tts_nvalid = 0;
	slot->tts_tid = tuple->t_self;
	stored->base.off = 0;
	return true;
}

/* The next row, or NULL or an empty slot.  It stands in a slot of the input's until the next call. */
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
		if (node->qual == NULL && node->ps_ProjInfo == NULL)
			return slot;
		ResetExprContext(context);
		context->ecxt_scantuple = slot;
		if (node->qual != NULL && !ExecQual(node->qual, context))
			continue;
		return node->ps_ProjInfo != NULL ? ExecProject(node->ps_ProjInfo) : slot;
	}
	return input_rows_next_page(rows);
}

#endif /* GPUSORT_EXEC_INPUT_ROWS_H */
