/*
 * exec/window_aggregate.c
 *		Running aggregates of a window: rows are added, and results are read in between.
 *
 * An aggregate's functions find out where they are called by AggCheckCallContext.  For them there is a
 * WindowAggState, which has nothing but the memory context of the states: that of one node's aggregates,
 * until the partition ends.  It calls the plain transition functions, as a WindowAgg does over a frame whose
 * begin does not move.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_agg.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "base/pg_compat.h"
#include "exec/window_aggregate.h"

struct WindowAggregate
{
	MemoryContext memory; /* of the state, until the partition ends */
	ExprState *filter;	  /* NULL: there is none */
	List *arguments;	  /* ExprStates */
	FmgrInfo transition_function;
	FmgrInfo final_function;
	FunctionCallInfo transition; /* the state, and the arguments */
	FunctionCallInfo final;		 /* NULL: the state is the result */
	Datum initial;
	bool initial_isnull;
	int16 state_length;
	bool state_byval;
	int16 result_length;
	bool has_rows; /* was the state ever set by a row? */
};

/* ---------------------------------------------------------------- making */

WindowAggState *
window_aggregate_context(EState *estate)
{
	WindowAggState *context = makeNode(WindowAggState);

	context->ss.ps.state = estate;
	context->aggcontext =
		AllocSetContextCreate(CurrentMemoryContext, "gpusort window aggregates", ALLOCSET_DEFAULT_SIZES);
	context->curaggcontext = context->aggcontext;
	return context;
}

void
check_call_permission(Oid function, Oid user)
{
	AclResult result = proc_aclcheck(function, user);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, get_func_name(function));
	InvokeFunctionExecuteHook(function);
}

/* Who has made a function. */
static Oid
owner_of(Oid function)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	return owner;
}

/* Types of the arguments, and of the state as it is for these. */
typedef struct AggregateTypes
{
	Oid arguments[FUNC_MAX_ARGS];
	int narguments;
	Oid state;
} AggregateTypes;

static AggregateTypes
types_of(const WindowFunc *function, Oid declared_state)
{
	AggregateTypes types = {.narguments = list_length(function->args)};

	for (int i = 0; i < types.narguments; i++)
		types.arguments[i] = exprType(list_nth(function->args, i));
	types.state =
		resolve_aggregate_transtype(function->winfnoid, declared_state, types.arguments, types.narguments);
	return types;
}

static FunctionCallInfo
make_call(WindowAggState *context, FmgrInfo *function, int narguments, Oid collation)
{
	FunctionCallInfo call = palloc0(SizeForFunctionCallInfo(narguments));

	InitFunctionCallInfoData(*call, function, narguments, collation, (Node *) context, NULL);
	for (int i = 1; i < narguments; i++)
		call->args[i].isnull = true;
	return call;
}

static void
make_calls(WindowAggregate *aggregate, WindowAggState *context, const WindowFunc *function,
		   const FormData_pg_aggregate *form, AggregateTypes *types)
{
	Expr *expression;
	int nfinal = form->aggfinalextra ? types->narguments + 1 : 1;

	build_aggregate_transfn_expr(types->arguments, types->narguments, 0, false, types->state,
								 function->inputcollid, form->aggtransfn, InvalidOid, &expression, NULL);
	fmgr_info(form->aggtransfn, &aggregate->transition_function);
	fmgr_info_set_expr((Node *) expression, &aggregate->transition_function);
	aggregate->transition =
		make_call(context, &aggregate->transition_function, types->narguments + 1, function->inputcollid);
	if (!OidIsValid(form->aggfinalfn))
		return;
	build_aggregate_finalfn_expr(types->arguments, nfinal, types->state, function->wintype,
								 function->inputcollid, form->aggfinalfn, &expression);
	fmgr_info(form->aggfinalfn, &aggregate->final_function);
	fmgr_info_set_expr((Node *) expression, &aggregate->final_function);
	aggregate->final = make_call(context, &aggregate->final_function, nfinal, function->inputcollid);
}

/* The state before the first row. */
static void
make_initial(WindowAggregate *aggregate, const WindowFunc *function, HeapTuple tuple,
			 const AggregateTypes *types)
{
	Datum initial =
		SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &aggregate->initial_isnull);
	Oid input;
	Oid parameter;

	get_typlenbyval(types->state, &aggregate->state_length, &aggregate->state_byval);
	if (!aggregate->initial_isnull)
	{
		getTypeInputInfo(types->state, &input, &parameter);
		aggregate->initial = OidInputFunctionCall(input, TextDatumGetCString(initial), parameter, -1);
		return;
	}
	/* the first value will be the state, unless the function was altered since the aggregate was made */
	if (aggregate->transition_function.fn_strict &&
		(types->narguments < 1 || !IsBinaryCoercible(types->arguments[0], types->state)))
		ereport(ERROR, (errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
						errmsg("aggregate %u needs to have compatible input type and transition type",
							   function->winfnoid)));
}

static void
make_functions(WindowAggregate *aggregate, WindowAggState *context, const WindowFunc *function)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function->winfnoid));
	const FormData_pg_aggregate *form;
	AggregateTypes types;
	Oid owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", function->winfnoid);
	form = (const FormData_pg_aggregate *) GETSTRUCT(tuple);
	if (form->aggfinalmodify != AGGMODIFY_READ_ONLY)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("aggregate function %s does not support use as a window function",
							   format_procedure(function->winfnoid))));
	owner = owner_of(function->winfnoid);
	check_call_permission(form->aggtransfn, owner);
	if (OidIsValid(form->aggfinalfn))
		check_call_permission(form->aggfinalfn, owner);
	types = types_of(function, form->aggtranstype);
	make_calls(aggregate, context, function, form, &types);
	make_initial(aggregate, function, tuple, &types);
	ReleaseSysCache(tuple);
}

WindowAggregate *
window_aggregate_create(WindowAggState *context, const WindowFunc *function, PlanState *node)
{
	WindowAggregate *aggregate = palloc0(sizeof(WindowAggregate));
	bool byval;

	aggregate->memory = context->aggcontext;
	make_functions(aggregate, context, function);
	get_typlenbyval(function->wintype, &aggregate->result_length, &byval);
	aggregate->arguments = ExecInitExprList(function->args, node);
	if (function->aggfilter != NULL)
		aggregate->filter = ExecInitQual(list_make1(function->aggfilter), node);
	return aggregate;
}

/* ---------------------------------------------------------------- rows */

void
window_aggregate_begin(WindowAggregate *aggregate)
{
	NullableDatum *state = &aggregate->transition->args[0];
	MemoryContext old = MemoryContextSwitchTo(aggregate->memory);

	state->isnull = aggregate->initial_isnull;
	state->value = aggregate->initial;
	if (!state->isnull)
		state->value = datumCopy(aggregate->initial, aggregate->state_byval, aggregate->state_length);
	aggregate->has_rows = false;
	MemoryContextSwitchTo(old);
}

/* Evaluates the arguments, and says whether one is NULL. */
static bool
evaluate_arguments(WindowAggregate *aggregate, ExprContext *context)
{
	bool any_null = false;
	NullableDatum *argument = aggregate->transition->args;
	ListCell *cell;

	foreach(cell, aggregate->arguments)
	{
		argument++;
		argument->value = ExecEvalExpr((ExprState *) lfirst(cell), context, &argument->isnull);
		any_null |= argument->isnull;
	}
	return any_null;
}

/* Does this state live in the memory of states by itself? */
static bool
is_adopted(const WindowAggregate *aggregate, Datum value)
{
	return DatumIsReadWriteExpandedObject(value, false, aggregate->state_length) &&
		   MemoryContextGetParent(DatumGetEOHP(value)->eoh_context) == aggregate->memory;
}

/* Has the state, passed by reference, be another one, which a transition function has returned. */
static void
replace_state(WindowAggregate *aggregate, Datum value, bool isnull)
{
	NullableDatum *state = &aggregate->transition->args[0];
	MemoryContext old = MemoryContextSwitchTo(aggregate->memory);

	if (!isnull && !is_adopted(aggregate, value))
		value = datumCopy(value, false, aggregate->state_length);
	MemoryContextSwitchTo(old);
	if (!state->isnull)
	{
		if (DatumIsReadWriteExpandedObject(state->value, false, aggregate->state_length))
			DeleteExpandedObject(state->value);
		else
			pfree(DatumGetPointer(state->value));
	}
	state->value = value;
}

/* The first value is the state of a strict function that has none. */
static void
take_first_value(WindowAggregate *aggregate)
{
	NullableDatum *state = &aggregate->transition->args[0];
	MemoryContext old = MemoryContextSwitchTo(aggregate->memory);

	state->value =
		datumCopy(aggregate->transition->args[1].value, aggregate->state_byval, aggregate->state_length);
	state->isnull = false;
	aggregate->has_rows = true;
	MemoryContextSwitchTo(old);
}

static void
call_transition(WindowAggregate *aggregate)
{
	FunctionCallInfo call = aggregate->transition;
	NullableDatum *state = &call->args[0];
	Datum value;

	call->isnull = false;
	value = FunctionCallInvoke(call);
	aggregate->has_rows = true;
	if (!aggregate->state_byval && DatumGetPointer(value) != DatumGetPointer(state->value))
		replace_state(aggregate, value, call->isnull);
	else
		state->value = value;
	state->isnull = call->isnull;
}

/*
 * What a strict function may not be called with, a state that became NULL included, leaves the state alone.
 */
static void
add_row(WindowAggregate *aggregate, ExprContext *context)
{
	bool any_null;

	if (!ExecQual(aggregate->filter, context))
		return;
	any_null = evaluate_arguments(aggregate, context);
	if (!aggregate->transition_function.fn_strict)
		call_transition(aggregate);
	else if (any_null)
		return;
	else if (!aggregate->transition->args[0].isnull)
		call_transition(aggregate);
	else if (!aggregate->has_rows)
		take_first_value(aggregate);
}

void
window_aggregate_add(WindowAggregate *aggregate, ExprContext *context)
{
	MemoryContext old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);

	add_row(aggregate, context);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- results */

Datum
window_aggregate_result(WindowAggregate *aggregate, bool *isnull)
{
	const NullableDatum *state = &aggregate->transition->args[0];
	Datum value = MakeExpandedObjectReadOnly(state->value, state->isnull, aggregate->state_length);
	FunctionCallInfo call = aggregate->final;

	*isnull = state->isnull;
	if (call == NULL)
		return value;
	*isnull = true;
	if (aggregate->final_function.fn_strict && (state->isnull || call->nargs > 1))
		return (Datum) 0;
	call->args[0] = (NullableDatum){.value = value, .isnull = state->isnull};
	call->isnull = false;
	value = FunctionCallInvoke(call);
	*isnull = call->isnull;
	return MakeExpandedObjectReadOnly(value, call->isnull, aggregate->result_length);
}
