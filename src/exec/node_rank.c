/*
 * exec/node_rank.c
 *		The executor node GpuRank.
 *
 * It counts the rows of its input, which come in order, and returns each with row_number(), rank() and
 * dense_rank() as they are at it.  No row is kept: the first row's columns of a partition, and of its peers
 * where the ranks need them, are all that is remembered (row_group.c).
 *
 * A run condition, once false, is false for the rest of a partition.  Above the topmost window nobody wants
 * such rows, and none are returned; another window above gets them, with NULLs for the results.
 *
 * RankStage has the states, which one process goes through; nothing is shared.  Errors are PostgreSQL's.
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "base/pg_compat.h"
#include "exec/explain.h"
#include "exec/node_rank.h"
#include "exec/row_group.h"
#include "plan/rank_plan.h"

typedef enum RankStage
{
	RANK_NOT_BEGUN, /* no row was read */
	RANK_COUNTING,
	RANK_PASSING,  /* the run condition is false: returning the rest of the partition without results */
	RANK_SKIPPING, /* or leaving it out */
	RANK_DONE
} RankStage;

typedef struct GpuRankState
{
	CustomScanState css; /* must be first */
	RankStage stage;
	RowGroup *partition;
	RowGroup *peers; /* NULL: no function needs them */
	ExprState *run_condition;
	bool is_top;
	bool computes; /* anything of a scan tuple? */
	int64 row_number;
	int64 rank;
	int64 dense_rank;
	int nresults;
	const int64 *results[RANK_FUNCTIONS]; /* which of these the scan tuple's last columns have */
} GpuRankState;

static const CustomExecMethods rank_exec_methods;

/* ---------------------------------------------------------------- slots */

/*
 * An input's row, and results behind its columns.  The row stays where it is; its columns are read when
 * somebody asks for them.  So who only counts rows, or looks at a few columns, does not pay for all.  It is a
 * virtual slot of which not all values need be there: what PostgreSQL does with those is done when they are.
 */
typedef struct RankSlot
{
	VirtualTupleTableSlot base; /* must be first */
	TupleTableSlot *row;
} RankSlot;

/* The row's columns up to this one; of the results, which stand there already, any. */
static void
get_columns(TupleTableSlot *slot, int natts)
{
	TupleTableSlot *row = ((RankSlot *) slot)->row;
	int ncolumns = Min(natts, row->tts_tupleDescriptor->natts);

	slot_getsomeattrs(row, ncolumns);
	for (int i = slot->tts_nvalid; i < ncolumns; i++)
	{
		slot->tts_values[i] = row->tts_values[i];
		slot->tts_isnull[i] = row->tts_isnull[i];
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

static const TupleTableSlotOps *
rank_slot_ops(void)
{
	static TupleTableSlotOps ops;

	ops = TTSOpsVirtual;
	ops.base_slot_size = sizeof(RankSlot);
	ops.getsomeattrs = get_columns;
	ops.materialize = materialize;
	ops.copy_heap_tuple = copy_heap_tuple;
	ops.copy_minimal_tuple = copy_minimal_tuple;
	return &ops;
}

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

/* ---------------------------------------------------------------- beginning */

static Node *
create_rank_state(CustomScan *plan)
{
	GpuRankState *state = palloc0(sizeof(GpuRankState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &rank_exec_methods;
	custom_scan_set_slot_ops(&state->css, rank_slot_ops());
	return (Node *) state;
}

/* As a WindowAgg does before it calls it. */
static void
check_permission(Oid function)
{
	AclResult result = proc_aclcheck(function, GetUserId());

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, get_func_name(function));
	InvokeFunctionExecuteHook(function);
}

static void
begin_results(GpuRankState *state, const CustomScan *plan)
{
	ListCell *cell;

	foreach(cell, rank_plan_functions(plan))
	{
		Oid function = lfirst_oid(cell);

		check_permission(function);
		state->results[state->nresults++] = function == F_ROW_NUMBER ? &state->row_number
											: function == F_RANK_	 ? &state->rank
																	 : &state->dense_rank;
	}
}

static bool
needs_peers(const GpuRankState *state)
{
	for (int i = 0; i < state->nresults; i++)
	{
		if (state->results[i] != &state->row_number)
			return true;
	}
	return false;
}

static void
begin_rank(CustomScanState *css, EState *estate, int eflags)
{
	GpuRankState *state = (GpuRankState *) css;
	const CustomScan *plan = (const CustomScan *) css->ss.ps.plan;
	TupleDesc rows;

	custom_scan_apply_slot_ops(css, estate, rank_slot_ops());
	outerPlanState(css) = ExecInitNode(outerPlan(plan), estate, eflags);
	rows = ExecGetResultType(outerPlanState(css));
	begin_results(state, plan);
	state->partition = row_group_create(rank_plan_partition(plan), rows, &css->ss.ps);
	if (needs_peers(state))
		state->peers = row_group_create(rank_plan_order(plan), rows, &css->ss.ps);
	state->run_condition = ExecInitQual(plan->custom_exprs, &css->ss.ps);
	state->is_top = rank_plan_is_top(plan);
	state->computes =
		state->run_condition != NULL || css->ss.ps.qual != NULL || css->ss.ps.ps_ProjInfo != NULL;
}

/* ---------------------------------------------------------------- rows */

static void
begin_partition(GpuRankState *state, TupleTableSlot *row)
{
	state->stage = RANK_COUNTING;
	state->row_number = state->rank = state->dense_rank = 1;
	row_group_begin(state->partition, row);
	if (state->peers != NULL)
		row_group_begin(state->peers, row);
}

static void
count_row(GpuRankState *state, TupleTableSlot *row)
{
	ExprContext *context = state->css.ss.ps.ps_ExprContext;

	if (state->stage == RANK_NOT_BEGUN || !row_group_contains(state->partition, row, context))
	{
		begin_partition(state, row);
		return;
	}
	state->row_number++;
	if (state->peers != NULL && !row_group_contains(state->peers, row, context))
	{
		state->rank = state->row_number;
		state->dense_rank++;
		row_group_begin(state->peers, row);
	}
}

/* The scan tuple: the row and its results, or NULLs where the run condition is false. */
static void
store_tuple(GpuRankState *state, TupleTableSlot *row)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	int ncolumns = row->tts_tupleDescriptor->natts;

	rank_slot_store(slot, row);
	for (int i = 0; i < state->nresults; i++)
	{
		slot->tts_values[ncolumns + i] = Int64GetDatum(*state->results[i]);
		slot->tts_isnull[ncolumns + i] = state->stage == RANK_PASSING;
	}
}

/*
 * Is the scan tuple to be returned?  The one at which the run condition becomes false is, and with its
 * results, if another window may want it.
 */
static bool
is_wanted(GpuRankState *state, ExprContext *context)
{
	if (state->stage == RANK_PASSING)
		return true;
	if (!ExecQual(state->run_condition, context))
	{
		if (!state->is_top)
			state->stage = RANK_PASSING;
		else
			state->stage = state->partition->columns.n > 0 ? RANK_SKIPPING : RANK_DONE;
		return state->stage == RANK_PASSING;
	}
	if (state->css.ss.ps.qual == NULL)
		return true;
	/* PostgreSQL 15 made it before the slot was known to have its columns read */
	slot_getallattrs(state->css.ss.ss_ScanTupleSlot);
	if (ExecQual(state->css.ss.ps.qual, context))
		return true;
	InstrCountFiltered1(&state->css, 1);
	return false;
}

static TupleTableSlot *
exec_rank(CustomScanState *css)
{
	GpuRankState *state = (GpuRankState *) css;
	ProjectionInfo *projection = css->ss.ps.ps_ProjInfo;
	ExprContext *context = css->ss.ps.ps_ExprContext;

	while (state->stage != RANK_DONE)
	{
		TupleTableSlot *row;

		CHECK_FOR_INTERRUPTS();
		row = ExecProcNode(outerPlanState(css));
		if (TupIsNull(row))
		{
			state->stage = RANK_DONE;
			break;
		}
		count_row(state, row);
		if (state->stage == RANK_SKIPPING)
			continue;
		store_tuple(state, row);
		if (!state->computes)
			return css->ss.ss_ScanTupleSlot;
		ResetExprContext(context);
		context->ecxt_scantuple = css->ss.ss_ScanTupleSlot;
		if (is_wanted(state, context))
			return projection != NULL ? ExecProject(projection) : css->ss.ss_ScanTupleSlot;
	}
	return NULL;
}

static void
rescan_rank(CustomScanState *css)
{
	GpuRankState *state = (GpuRankState *) css;

	state->stage = RANK_NOT_BEGUN;
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

static void
end_rank(CustomScanState *css)
{
	ExecEndNode(outerPlanState(css));
}

static const CustomExecMethods rank_exec_methods = {
	.CustomName = GPURANK_NODE_NAME,
	.BeginCustomScan = begin_rank,
	.ExecCustomScan = exec_rank,
	.EndCustomScan = end_rank,
	.ReScanCustomScan = rescan_rank,
	.ExplainCustomScan = explain_rank_node,
};

const CustomScanMethods gpurank_scan_methods = {
	.CustomName = GPURANK_NODE_NAME,
	.CreateCustomScanState = create_rank_state,
};
