/*
 * exec/input_rows.c
 *		The rows of a sort's input; those of a plain scan from the page at hand.
 *
 * A sequential scan of a table notes which of a page's tuples its snapshot sees; to hand up each of them
 * takes the executor longer than to look at the tuple.  So the executor is asked for the first row of a page
 * alone, and all others are read here.  The scan stands afterwards where it would stand if it had returned
 * the row itself: pages, parallel scans, snapshots, predicate locks, rescans and the end of the scan are its
 * own concern, always.  README.md says where the executor is asked for every row.
 */
#include "postgres.h"

#include "access/tableam.h"

#include "exec/input_rows.h"

static SeqScanState *
scan_of_pages(PlanState *input)
{
	SeqScanState *scan = (SeqScanState *) input;

	if (!IsA(input, SeqScanState) || input->state->es_epq_active != NULL ||
		scan->ss.ss_currentRelation->rd_tableam != GetHeapamTableAmRoutine())
		return NULL;
	return scan;
}

void
input_rows_begin(InputRows *rows, PlanState *input)
{
	rows->input = input;
	rows->scan = scan_of_pages(input);
	rows->pages = NULL;
}

/* Does the scan stand on a page from which rows may be taken?  It has returned one. */
static bool
stands_on_page(const SeqScanState *scan)
{
	const PlanState *node = &scan->ss.ps;

	/* what counts rows, or whatever else wants to see each call, stands between since the first call */
	return node->ExecProcNode == node->ExecProcNodeReal &&
		   (scan->ss.ss_currentScanDesc->rs_flags & SO_ALLOW_PAGEMODE) != 0;
}

TupleTableSlot *
input_rows_ask_executor(InputRows *rows)
{
	TupleTableSlot *slot = ExecProcNode(rows->input);

	rows->pages = NULL;
	if (!TupIsNull(slot) && rows->scan != NULL && stands_on_page(rows->scan))
		rows->pages = (HeapScanDesc) rows->scan->ss.ss_currentScanDesc;
	return slot;
}

/* ---------------------------------------------------------------- several rows at a time */

InputBatch *
input_batch_create(const InputRows *rows, MemoryContext context)
{
	const PlanState *scan = &rows->scan->ss.ps;
	const TupleTableSlotOps *ops = scan->ps_ProjInfo != NULL ? &TTSOpsVirtual : &TTSOpsHeapTuple;
	TupleDesc desc = scan->ps_ProjInfo != NULL ? ExecGetResultType(rows->input)
											   : rows->scan->ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	MemoryContext old = MemoryContextSwitchTo(context);
	InputBatch *batch = palloc0(sizeof(InputBatch));

	batch->has_tuples = scan->ps_ProjInfo == NULL;
	for (int i = 0; i < GROUP_BATCH_ROWS; i++)
		batch->slots[i] = MakeSingleTupleTableSlot(desc, ops);
	MemoryContextSwitchTo(old);
	return batch;
}

void
input_batch_free(InputBatch *batch)
{
	for (int i = 0; i < GROUP_BATCH_ROWS; i++)
		ExecDropSingleTupleTableSlot(batch->slots[i]);
	pfree(batch);
}

/* Keeps the row that the scan's slot has, or what is computed of it. */
static void
keep_row(const InputRows *rows, InputBatch *batch, int n)
{
	const PlanState *node = &rows->scan->ss.ps;
	TupleTableSlot *kept = batch->slots[n];
	TupleTableSlot *computed;

	if (batch->has_tuples)
	{
		batch->tuples[n] = rows->pages->rs_ctup;
		return;
	}
	/* the values are in the page, which the scan holds, or in memory that is freed before the next batch */
	computed = ExecProject(node->ps_ProjInfo);
	ExecClearTuple(kept);
	memcpy(kept->tts_values, computed->tts_values, sizeof(Datum) * kept->tts_tupleDescriptor->natts);
	memcpy(kept->tts_isnull, computed->tts_isnull, sizeof(bool) * kept->tts_tupleDescriptor->natts);
	ExecStoreVirtualTuple(kept);
}

int
input_rows_take_batch(InputRows *rows, InputBatch *batch)
{
	const PlanState *node = &rows->scan->ss.ps;
	TupleTableSlot *slot = rows->scan->ss.ss_ScanTupleSlot;
	ExprContext *context = node->ps_ExprContext;
	int n = 0;

	if (rows->pages == NULL)
		return 0;
	if (input_rows_are_plain(rows))
	{
		/* a slot is not needed for a row that is dropped */
		while (n < GROUP_BATCH_ROWS && input_rows_next_tuple(rows->pages, &batch->tuples[n]))
			__builtin_prefetch(batch->tuples[n++].t_data);
		return n;
	}
	ResetExprContext(context);
	while (n < GROUP_BATCH_ROWS && input_rows_step(rows->pages, slot))
	{
		context->ecxt_scantuple = slot;
		if (node->qual == NULL || ExecQual(node->qual, context))
			keep_row(rows, batch, n++);
	}
	return n;
}
