/*
 * exec/percentiles.c
 *		Percentiles of values that come in order.
 *
 * While values are counted, those behind the first one that can still be needed are held: the position of a
 * percentile only moves forwards while more values come.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/pg_compat.h"
#include "exec/held_rows.h"
#include "exec/percentiles.h"
#include "plan/agg_input_calls.h"

typedef struct PercentileCall
{
	bool continuous;
	bool is_array;
	Oid type; /* of a value, which the column's type may only be the bytes of */
	int n;	  /* fractions */
	const float8 *fractions;
	float8 least; /* of them */
	int first;	  /* the first of the call's fractions among all */
} PercentileCall;

/* A value that is needed: for fraction i, place 2 i is the value below it, place 2 i + 1 the one above. */
typedef struct Pick
{
	int64 position;
	int place;
} Pick;

struct Percentiles
{
	AttrNumber column;
	int16 length;
	bool byval;
	char align;
	ExprState *filter;
	int ncalls;
	PercentileCall *calls;
	int nfractions; /* of all calls */
	int64 n;		/* values of the group so far */
	int64 dropped;	/* values that were held and are not needed */
	HeldRows *held; /* rows of one column */
	TupleTableSlot *value;
	MemoryContext memory; /* of picked values and results */
	Pick *picks;		  /* in order */
	int at;				  /* the first one without a value */
	Datum *values;		  /* by place */
};

/* ---------------------------------------------------------------- making */

static void
init_call(PercentileCall *call, const Aggref *aggref, int first)
{
	const Const *fractions = agg_input_fractions(aggref);

	call->continuous = agg_input_kind(aggref) == AGG_INPUT_PERCENTILE_CONT;
	call->is_array = fractions->consttype != FLOAT8OID;
	call->type = exprType((Node *) linitial_node(TargetEntry, aggref->args)->expr);
	call->first = first;
	if (call->is_array)
	{
		ArrayType *array = DatumGetArrayTypePCopy(fractions->constvalue);

		call->n = ARR_DIMS(array)[0];
		call->fractions = (const float8 *) ARR_DATA_PTR(array);
	}
	else
	{
		float8 *fraction = palloc(sizeof(float8));

		*fraction = DatumGetFloat8(fractions->constvalue);
		call->n = 1;
		call->fractions = fraction;
	}
	call->least = 1;
	for (int i = 0; i < call->n; i++)
		call->least = Min(call->least, call->fractions[i]);
}

Percentiles *
percentiles_create(List *calls, TupleDesc rows, PlanState *node)
{
	Percentiles *percentiles = palloc0(sizeof(Percentiles));
	const Aggref *first = linitial_node(Aggref, calls);
	TupleDesc value = CreateTemplateTupleDesc(1);
	ListCell *cell;

	percentiles->column = agg_input_compared(first).attnos[0];
	get_typlenbyvalalign(TupleDescAttr(rows, percentiles->column - 1)->atttypid, &percentiles->length,
						 &percentiles->byval, &percentiles->align);
	percentiles->filter = ExecInitQual(first->aggfilter != NULL ? list_make1(first->aggfilter) : NIL, node);
	percentiles->calls = palloc(sizeof(PercentileCall) * list_length(calls));
	foreach(cell, calls)
	{
		PercentileCall *call = &percentiles->calls[percentiles->ncalls++];

		init_call(call, lfirst_node(Aggref, cell), percentiles->nfractions);
		percentiles->nfractions += call->n;
	}
	percentiles->picks = palloc(sizeof(Pick) * 2 * percentiles->nfractions);
	percentiles->values = palloc(sizeof(Datum) * 2 * percentiles->nfractions);
	percentiles->memory =
		AllocSetContextCreate(CurrentMemoryContext, "gpusort percentiles", ALLOCSET_SMALL_SIZES);
	TupleDescCopyEntry(value, 1, rows, percentiles->column);
	TupleDescFinalize(value);
	percentiles->value = ExecInitExtraTupleSlot(node->state, value, &TTSOpsVirtual);
	percentiles->held = held_rows_create(node->state, value, 1);
	return percentiles;
}

AttrNumber
percentiles_column(const Percentiles *percentiles)
{
	return percentiles->column;
}

int
percentiles_fractions(const Percentiles *percentiles)
{
	return percentiles->nfractions;
}

void
percentiles_begin(Percentiles *percentiles)
{
	percentiles->n = percentiles->dropped = 0;
	held_rows_clear(percentiles->held);
	MemoryContextReset(percentiles->memory);
}

/* ---------------------------------------------------------------- positions */

/* Of n values, one at least. */
static int64
position_below(const PercentileCall *call, float8 fraction, int64 n)
{
	if (call->continuous)
		return (int64) floor(fraction * (float8) (n - 1));
	return Max((int64) ceil(fraction * (float8) n), 1) - 1;
}

static int64
position_above(const PercentileCall *call, float8 fraction, int64 n)
{
	return call->continuous ? (int64) ceil(fraction * (float8) (n - 1)) : position_below(call, fraction, n);
}

static int
compare_picks(const void *a, const void *b)
{
	const Pick *one = a;
	const Pick *other = b;

	return (one->position > other->position) - (one->position < other->position);
}

void
percentiles_expect(Percentiles *percentiles, int64 n)
{
	percentiles->n = n;
	percentiles->at = 0;
	if (n == 0)
		return;
	for (int c = 0; c < percentiles->ncalls; c++)
	{
		const PercentileCall *call = &percentiles->calls[c];

		for (int i = 0; i < call->n; i++)
		{
			Pick *picks = &percentiles->picks[2 * (call->first + i)];

			picks[0] = (Pick){position_below(call, call->fractions[i], n), 2 * (call->first + i)};
			picks[1] = (Pick){position_above(call, call->fractions[i], n), 2 * (call->first + i) + 1};
		}
	}
	qsort(percentiles->picks, 2 * percentiles->nfractions, sizeof(Pick), compare_picks);
}

int64
percentiles_wanted(const Percentiles *percentiles)
{
	if (percentiles->n == 0 || percentiles->at == 2 * percentiles->nfractions)
		return -1;
	return percentiles->picks[percentiles->at].position;
}

void
percentiles_give(Percentiles *percentiles, Datum value)
{
	int64 position = percentiles_wanted(percentiles);
	MemoryContext old = MemoryContextSwitchTo(percentiles->memory);
	Datum copy = datumCopy(value, percentiles->byval, percentiles->length);

	MemoryContextSwitchTo(old);
	while (percentiles_wanted(percentiles) == position)
		percentiles->values[percentiles->picks[percentiles->at++].place] = copy;
}

/* ---------------------------------------------------------------- values that are counted */

/* Of so many values, the first one that a percentile needs, now or when more come. */
static int64
first_needed(const Percentiles *percentiles, int64 n)
{
	int64 first = n;

	for (int c = 0; c < percentiles->ncalls; c++)
	{
		const PercentileCall *call = &percentiles->calls[c];

		first = Min(first, position_below(call, call->least, n));
	}
	return first;
}

void
percentiles_add(Percentiles *percentiles, ExprContext *context)
{
	TupleTableSlot *value = percentiles->value;
	int64 first;

	ResetExprContext(context);
	if (!ExecQual(percentiles->filter, context))
		return;
	ExecClearTuple(value);
	value->tts_values[0] = slot_getattr(context->ecxt_outertuple, percentiles->column, &value->tts_isnull[0]);
	if (value->tts_isnull[0])
		return;
	ExecStoreVirtualTuple(value);
	held_rows_push(percentiles->held, value);
	percentiles->n++;
	first = first_needed(percentiles, percentiles->n);
	for (; percentiles->dropped < first; percentiles->dropped++)
		held_rows_pop(percentiles->held);
}

void
percentiles_end(Percentiles *percentiles)
{
	int64 position;

	percentiles_expect(percentiles, percentiles->n);
	while ((position = percentiles_wanted(percentiles)) >= 0)
	{
		TupleTableSlot *value = held_rows_read(percentiles->held, 0, position - percentiles->dropped);
		bool isnull;

		if (value == NULL)
			elog(ERROR, "gpusort: a value of a percentile is missing");
		percentiles_give(percentiles, slot_getattr(value, 1, &isnull));
	}
}

/* ---------------------------------------------------------------- results */

/* The value at this share of the way from one to the other, computed as PostgreSQL does. */
static Datum
interpolate(Oid type, Datum below, Datum above, float8 share)
{
	Datum difference;

	if (type == FLOAT8OID)
		return Float8GetDatum(DatumGetFloat8(below) +
							  share * (DatumGetFloat8(above) - DatumGetFloat8(below)));
	difference = DirectFunctionCall2(interval_mi, above, below);
	difference = DirectFunctionCall2(interval_mul, difference, Float8GetDatum(share));
	return DirectFunctionCall2(interval_pl, difference, below);
}

static Datum
result_of_fraction(const Percentiles *percentiles, const PercentileCall *call, int i)
{
	const Datum *values = &percentiles->values[2 * (call->first + i)];
	float8 position;

	if (!call->continuous)
		return values[0];
	position = call->fractions[i] * (float8) (percentiles->n - 1);
	if (floor(position) == ceil(position))
		return values[0];
	return interpolate(call->type, values[0], values[1], position - floor(position));
}

Datum
percentiles_result(const Percentiles *percentiles, int number, bool *isnull)
{
	const PercentileCall *call = &percentiles->calls[number];
	MemoryContext old;
	Datum *results;
	Datum result;

	*isnull = percentiles->n == 0;
	if (*isnull)
		return (Datum) 0;
	old = MemoryContextSwitchTo(percentiles->memory);
	results = palloc(sizeof(Datum) * call->n);
	for (int i = 0; i < call->n; i++)
		results[i] = result_of_fraction(percentiles, call, i);
	result = results[0];
	if (call->is_array)
		result = PointerGetDatum(construct_array(results, call->n, call->type, percentiles->length,
												 percentiles->byval, percentiles->align));
	MemoryContextSwitchTo(old);
	return result;
}
