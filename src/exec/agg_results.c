/*
 * exec/agg_results.c
 *		What an Agg's calls want of rows that come in order: marks of rows, and results of groups.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "base/pg_compat.h"
#include "exec/agg_results.h"
#include "exec/window_aggregate.h"

/* ---------------------------------------------------------------- beginning */

static bool
is_percentile(AggInputKind kind)
{
	return kind == AGG_INPUT_PERCENTILE_CONT || kind == AGG_INPUT_PERCENTILE_DISC;
}

/* Those that look at the same rows. */
static void
create_percentiles(AggResults *results, List *calls, TupleDesc rows)
{
	List *together = NIL; /* a list of calls each */
	ListCell *cell;

	for (int i = 0; i < results->ncalls; i++)
	{
		const Aggref *call = list_nth(calls, i);
		int number = 0;

		if (!is_percentile(results->calls[i].kind))
			continue;
		foreach(cell, together)
		{
			if (equal(((const Aggref *) linitial((List *) lfirst(cell)))->aggfilter, call->aggfilter))
				break;
			number++;
		}
		if (number == list_length(together))
			together = lappend(together, NIL);
		cell = list_nth_cell(together, number);
		results->calls[i].percentiles = number;
		results->calls[i].number = list_length(lfirst(cell));
		lfirst(cell) = lappend(lfirst(cell), unconstify(Aggref *, call));
	}
	results->percentiles = palloc(sizeof(Percentiles *) * (list_length(together) + 1));
	foreach(cell, together)
		results->percentiles[results->npercentiles++] =
			percentiles_create(lfirst(cell), rows, &results->node->ss.ps);
}

/* Has it one result for a group? */
static bool
has_result(const InputCall *call)
{
	return call->kind > AGG_INPUT_FIRST || call->counts;
}

static void
create_call(AggResults *results, InputCall *call, const Aggref *aggref, TupleDesc rows)
{
	check_call_permission(aggref->aggfnoid, GetUserId());
	call->kind = agg_input_kind(aggref);
	call->percentiles = -1;
	call->counts = call->kind == AGG_INPUT_FIRST && results->rows != AGG_INPUT_ALL;
	results->has_results |= has_result(call);
	results->may_seek &= !has_result(call) || (call->kind != AGG_INPUT_MODE && aggref->aggfilter == NULL);
	if (!agg_input_has_result(call->kind) || is_percentile(call->kind))
		return;
	call->filter =
		ExecInitQual(aggref->aggfilter != NULL ? list_make1(aggref->aggfilter) : NIL, &results->node->ss.ps);
	call->equal = row_group_create(agg_input_compared(aggref), rows, &results->node->ss.ps);
	call->attno = call->equal->columns.n > 0 ? call->equal->columns.attnos[0] : 0;
}

AggResults *
agg_results_create(CustomScanState *node, TupleDesc rows)
{
	const CustomScan *plan = (const CustomScan *) node->ss.ps.plan;
	AggResults *results = palloc0(sizeof(*results));
	List *calls = agg_input_calls(plan);
	int column = list_length(outerPlan(plan)->targetlist);
	ListCell *cell;

	results->node = node;
	results->rows = agg_input_rows(plan);
	results->modes = AllocSetContextCreate(CurrentMemoryContext, "gpusort modes", ALLOCSET_SMALL_SIZES);
	results->calls = palloc0(sizeof(InputCall) * list_length(calls));
	results->may_seek = true;
	foreach(cell, calls)
	{
		InputCall *call = &results->calls[results->ncalls++];

		create_call(results, call, lfirst_node(Aggref, cell), rows);
		if (agg_input_has_result(call->kind))
			call->column = column++;
	}
	results->may_seek &= results->has_results;
	create_percentiles(results, calls, rows);
	return results;
}

/* ---------------------------------------------------------------- rows */

void
agg_results_begin(AggResults *results)
{
	MemoryContextReset(results->modes);
	for (int i = 0; i < results->ncalls; i++)
	{
		InputCall *call = &results->calls[i];

		call->has_rows = false;
		call->n = call->most = 0;
		call->mode = (NullableDatum){.isnull = true};
	}
	for (int i = 0; i < results->npercentiles; i++)
		percentiles_begin(results->percentiles[i]);
}

/* The first values that are the most are the mode. */
static void
count_for_mode(AggResults *results, InputCall *call)
{
	const GroupColumn *column = call->equal->images;
	MemoryContext old;

	call->n++;
	if (call->n <= call->most)
		return;
	call->most = call->n;
	if (call->is_mode)
		return;
	call->is_mode = true;
	old = MemoryContextSwitchTo(results->modes);
	if (!call->mode.isnull && !column->byval)
		pfree(DatumGetPointer(call->mode.value));
	call->mode.value =
		datumCopy(call->equal->first->tts_values[column->index], column->byval, column->length);
	call->mode.isnull = false;
	MemoryContextSwitchTo(old);
}

bool
agg_results_is_first(AggResults *results, InputCall *call, TupleTableSlot *row)
{
	if (call->has_rows && row_group_contains(call->equal, row, results->node->ss.ps.ps_ExprContext))
		return false;
	call->has_rows = true;
	row_group_begin(call->equal, row);
	return true;
}

static void
add_to_call(AggResults *results, InputCall *call, TupleTableSlot *row)
{
	TupleTableSlot *slot = results->node->ss.ss_ScanTupleSlot;
	ExprContext *context = results->node->ss.ps.ps_ExprContext;
	bool passes;

	if (call->equal == NULL)
		return;
	ResetExprContext(context);
	context->ecxt_outertuple = row;
	passes = ExecQual(call->filter, context);
	if (call->kind == AGG_INPUT_FIRST && !call->counts)
	{
		slot->tts_values[call->column] = BoolGetDatum(passes && agg_results_is_first(results, call, row));
		slot->tts_isnull[call->column] = false;
	}
	else if (passes && !slot_attisnull(row, call->attno) && call->counts)
		call->n += agg_results_is_first(results, call, row) ? 1 : 0;
	else if (passes && !slot_attisnull(row, call->attno))
	{
		if (agg_results_is_first(results, call, row))
		{
			call->n = 0;
			call->is_mode = false;
		}
		count_for_mode(results, call);
	}
}

void
agg_results_mark(AggResults *results, TupleTableSlot *row)
{
	for (int i = 0; i < results->ncalls; i++)
		add_to_call(results, &results->calls[i], row);
}

void
agg_results_add(AggResults *results, TupleTableSlot *row)
{
	ExprContext *context = results->node->ss.ps.ps_ExprContext;

	agg_results_mark(results, row);
	context->ecxt_outertuple = row;
	for (int i = 0; i < results->npercentiles; i++)
		percentiles_add(results->percentiles[i], context);
}

void
agg_results_set(AggResults *results, bool ends)
{
	TupleTableSlot *slot = results->node->ss.ss_ScanTupleSlot;

	for (int i = 0; i < results->ncalls; i++)
	{
		const InputCall *call = &results->calls[i];
		NullableDatum result = {.isnull = true};

		if (!has_result(call))
			continue;
		if (call->counts)
			result = (NullableDatum){.value = Int64GetDatum(call->n)};
		else if (ends && call->percentiles >= 0)
			result.value =
				percentiles_result(results->percentiles[call->percentiles], call->number, &result.isnull);
		else if (ends)
			result = call->mode;
		slot->tts_values[call->column] = result.value;
		slot->tts_isnull[call->column] = result.isnull;
	}
}

void
agg_results_end(AggResults *results)
{
	for (int i = 0; i < results->npercentiles; i++)
		percentiles_end(results->percentiles[i]);
}
