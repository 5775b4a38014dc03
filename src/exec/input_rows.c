/*
 * exec/input_rows.c
 *		The rows of a sort's input, those of a plain scan without a call of the executor for each.
 */
#include "postgres.h"

#include "access/tableam.h"

#include "exec/input_rows.h"

static SeqScanState *
plain_scan(PlanState *input)
{
	SeqScanState *scan;

	if (!IsA(input, SeqScanState) || input->instrument != NULL || input->state->es_epq_active != NULL)
		return NULL;
	scan = (SeqScanState *) input;
	if (scan->ss.ss_currentRelation->rd_tableam != GetHeapamTableAmRoutine())
		return NULL;
	return TTS_IS_BUFFERTUPLE(scan->ss.ss_ScanTupleSlot) ? scan : NULL;
}

void
input_rows_begin(InputRows *rows, PlanState *input)
{
	rows->input = input;
	rows->scan = plain_scan(input);
	rows->pages = NULL;
}

TupleTableSlot *
input_rows_next_page(InputRows *rows)
{
	TupleTableSlot *slot = ExecProcNode(rows->input);
	TableScanDesc scan;

	rows->pages = NULL;
	if (TupIsNull(slot) || rows->scan == NULL)
		return slot;
	scan = rows->scan->ss.ss_currentScanDesc;
	if (scan != NULL && (scan->rs_flags & SO_ALLOW_PAGEMODE) != 0 && scan->rs_nkeys == 0)
		rows->pages = (HeapScanDesc) scan;
	return slot;
}
