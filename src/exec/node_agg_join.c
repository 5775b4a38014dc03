/*
 * exec/node_agg_join.c
 *		The executor node GpuAggJoin: a row is made of one row of each input.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "exec/node_agg_join.h"
#include "plan/agg_join.h"

static const CustomExecMethods agg_join_exec_methods;

static Node *
create_agg_join_state(CustomScan *plan)
{
	CustomScanState *state = makeNode(CustomScanState);

	state->methods = &agg_join_exec_methods;
	return (Node *) state;
}

static void
begin_agg_join(CustomScanState *css, EState *estate, int eflags)
{
	const CustomScan *plan = (const CustomScan *) css->ss.ps.plan;
	ListCell *cell;

	foreach(cell, plan->custom_plans)
		css->custom_ps = lappend(css->custom_ps, ExecInitNode(lfirst(cell), estate, eflags));
}

/*
 * Adds the input's columns to the row, from this one on; returns their number, 0: the input has no more rows.
 */
static int
add_columns(PlanState *input, TupleTableSlot *row, int first)
{
	TupleTableSlot *columns = ExecProcNode(input);
	int n;

	if (TupIsNull(columns))
		return 0;
	slot_getallattrs(columns);
	n = columns->tts_tupleDescriptor->natts;
	memcpy(row->tts_values + first, columns->tts_values, n * sizeof(*row->tts_values));
	memcpy(row->tts_isnull + first, columns->tts_isnull, n * sizeof(*row->tts_isnull));
	return n;
}

/* The next group, before the condition and the projection. */
static TupleTableSlot *
next_group(ScanState *scan)
{
	const CustomScanState *css = (const CustomScanState *) scan;
	TupleTableSlot *row = scan->ss_ScanTupleSlot;
	int columns = 0;
	int ended = 0;
	ListCell *cell;

	CHECK_FOR_INTERRUPTS();
	ExecClearTuple(row);
	foreach(cell, css->custom_ps)
	{
		int added = add_columns(lfirst(cell), row, columns);

		columns += added;
		ended += added == 0;
	}
	if (ended == 0)
		return ExecStoreVirtualTuple(row);
	if (ended < list_length(css->custom_ps))
		elog(ERROR, "gpusort: the inputs of a node have different numbers of groups");
	return NULL;
}

/*
 * When a row that was locked is looked at again, ExecScan asks this for the node's row, in some minor
 * versions in sub-selects as well.  Groups are formed anew then, as below an Agg.
 */
static bool
recheck_group(ScanState *scan, TupleTableSlot *row)
{
	return next_group(scan) != NULL;
}

static TupleTableSlot *
exec_agg_join(CustomScanState *css)
{
	return ExecScan(&css->ss, next_group, recheck_group);
}

static void
rescan_agg_join(CustomScanState *css)
{
	ListCell *cell;

	ExecScanReScan(&css->ss);
	foreach(cell, css->custom_ps)
	{
		PlanState *input = lfirst(cell);

		if (css->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(input, css->ss.ps.chgParam);
		if (input->chgParam == NULL)
			ExecReScan(input);
	}
}

static void
end_agg_join(CustomScanState *css)
{
	ListCell *cell;

	foreach(cell, css->custom_ps)
		ExecEndNode(lfirst(cell));
}

static const CustomExecMethods agg_join_exec_methods = {
	.CustomName = GPUAGGJOIN_NODE_NAME,
	.BeginCustomScan = begin_agg_join,
	.ExecCustomScan = exec_agg_join,
	.EndCustomScan = end_agg_join,
	.ReScanCustomScan = rescan_agg_join,
};

const CustomScanMethods gpuaggjoin_scan_methods = {
	.CustomName = GPUAGGJOIN_NODE_NAME,
	.CreateCustomScanState = create_agg_join_state,
};
