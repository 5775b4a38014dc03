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
