/*
 * exec/window_slot.c
 *		The slot of a GpuWindow: columns of an input's row, results and constants.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/primnodes.h"

#include "base/pg_compat.h"
#include "exec/window_slot.h"

static void
set_columns(TupleTableSlot *slot, List *columns)
{
	WindowSlot *window = (WindowSlot *) slot;
	AttrNumber last = 0;

	window->sources = palloc0(sizeof(WindowSource) * list_length(columns));
	for (int i = 0; i < list_length(columns); i++)
	{
		const Node *value = (const Node *) list_nth_node(TargetEntry, columns, i)->expr;
		WindowSource *source = &window->sources[i];

		if (IsA(value, Var))
			source->attno = ((const Var *) value)->varattno;
		else if (IsA(value, Const))
		{
			slot->tts_values[i] = ((const Const *) value)->constvalue;
			slot->tts_isnull[i] = ((const Const *) value)->constisnull;
		}
		last = source->last = Max(last, source->attno);
	}
}

/* The row's columns up to this one; the other values stand there already. */
static void
get_columns(TupleTableSlot *slot, int natts)
{
	const WindowSlot *window = (const WindowSlot *) slot;
	TupleTableSlot *row = window->row;

	slot_getsomeattrs(row, window->sources[natts - 1].last);
	for (int i = slot->tts_nvalid; i < natts; i++)
	{
		int column = window->sources[i].attno - 1;

		if (column < 0)
			continue;
		slot->tts_values[i] = row->tts_values[column];
		slot->tts_isnull[i] = row->tts_isnull[column];
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

TupleDesc
window_slot_begin(CustomScanState *node, EState *estate, int eflags)
{
	const CustomScan *plan = (const CustomScan *) node->ss.ps.plan;

	custom_scan_apply_slot_ops(node, estate, window_slot_ops());
	set_columns(node->ss.ss_ScanTupleSlot, plan->custom_scan_tlist);
	outerPlanState(node) = ExecInitNode(outerPlan(plan), estate, eflags);
	/* expressions look at held rows, too, which are in other slots than the input's */
	node->ss.ps.outeropsset = true;
	node->ss.ps.outerops = &TTSOpsMinimalTuple;
	node->ss.ps.outeropsfixed = false;
	return ExecGetResultType(outerPlanState(node));
}
