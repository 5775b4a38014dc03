/*
 * plan/window_functions.c
 *		Calls of functions over a window: which kinds a GpuWindow computes.
 *
 * A WindowAgg evaluates the arguments of lag(), lead(), nth_value() and the like only at rows that it
 * fetches, so an expression there may fail at others.  A column cannot.  Aggregates are evaluated at each row
 * in order by a WindowAgg, too: any expression will do that is not volatile.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/pg_compat.h"
#include "plan/window_functions.h"

static WindowCall
refuse(const char **why_not, const char *words)
{
	if (why_not != NULL)
		*why_not = words;
	return (WindowCall){.kind = WINDOW_OTHER};
}

/* ---------------------------------------------------------------- arguments */

/* The column that the argument is, perhaps as a type of the same bytes; 0: it is an expression. */
static AttrNumber
argument_column(const WindowFunc *function)
{
	const Node *argument = linitial(function->args);

	while (IsA(argument, RelabelType))
		argument = (const Node *) ((const RelabelType *) argument)->arg;
	return IsA(argument, Var) ? ((const Var *) argument)->varattno : 0;
}

/* The argument of that number, if it is a constant and not NULL. */
static const Const *
constant_argument(const WindowFunc *function, int i)
{
	const Node *argument = list_nth(function->args, i);

	return IsA(argument, Const) && !((const Const *) argument)->constisnull ? (const Const *) argument : NULL;
}

/* ---------------------------------------------------------------- kinds */

/* lag() and lead(), of so many arguments; sign: -1 of lag(). */
static WindowCall
offset_call(const WindowFunc *function, int arguments, int sign, const char **why_not)
{
	WindowCall call = {.attno = argument_column(function), .offset = sign};

	if (call.attno <= 0)
		return refuse(why_not, "the argument of lag() or lead() is no column");
	if (arguments > 1)
	{
		const Const *offset = constant_argument(function, 1);

		if (offset == NULL || DatumGetInt32(offset->constvalue) > WINDOW_MAX_OFFSET ||
			DatumGetInt32(offset->constvalue) < -WINDOW_MAX_OFFSET)
			return refuse(why_not, psprintf("the offset of lag() or lead() is no constant up to %d",
											WINDOW_MAX_OFFSET));
		call.offset = sign * DatumGetInt32(offset->constvalue);
	}
	if (arguments > 2)
	{
		call.fallback = list_nth(function->args, 2);
		if (!IsA(call.fallback, Const))
			return refuse(why_not, "the default of lag() or lead() is no constant");
	}
	call.kind = call.offset > 0 ? WINDOW_LEAD : WINDOW_LAG;
	call.offset = call.offset < 0 ? -call.offset : call.offset;
	return call;
}

/* first_value(), last_value() and nth_value(). */
static WindowCall
value_call(const WindowFunc *function, WindowKind kind, const char **why_not)
{
	WindowCall call = {.kind = kind, .attno = argument_column(function), .offset = 1};

	if (call.attno <= 0)
		return refuse(why_not, "the argument of first_value(), last_value() or nth_value() is no column");
	if (list_length(function->args) > 1)
	{
		const Const *number = constant_argument(function, 1);

		if (number == NULL || DatumGetInt32(number->constvalue) <= 0)
			return refuse(why_not, "the number of nth_value() is no positive constant");
		call.offset = DatumGetInt32(number->constvalue);
	}
	return call;
}

static WindowCall
ntile_call(const WindowFunc *function, const char **why_not)
{
	const Const *buckets = constant_argument(function, 0);

	if (buckets == NULL || DatumGetInt32(buckets->constvalue) <= 0)
		return refuse(why_not, "the argument of ntile() is no positive constant");
	return (WindowCall){.kind = WINDOW_NTILE, .offset = DatumGetInt32(buckets->constvalue)};
}

/* An aggregate must leave its state as it was when it returns a result; a WindowAgg would raise an error. */
static WindowCall
aggregate_call(const WindowFunc *function, const char **why_not)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function->winfnoid));
	bool read_only;

	if (!HeapTupleIsValid(tuple))
		return refuse(why_not, "an aggregate is gone");
	read_only = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggfinalmodify == AGGMODIFY_READ_ONLY;
	ReleaseSysCache(tuple);
	if (!read_only)
		return refuse(why_not, "the final function of an aggregate may change the aggregate's state");
	return (WindowCall){.kind = WINDOW_AGGREGATE};
}

WindowCall
window_call(const WindowFunc *function, const char **why_not)
{
	if (windowfunc_has_null_treatment(function))
		return refuse(why_not, "a function says how it treats nulls");
	if (function->winagg)
		return aggregate_call(function, why_not);
	switch (function->winfnoid)
	{
		case F_ROW_NUMBER:
			return (WindowCall){.kind = WINDOW_ROW_NUMBER};
		case F_RANK_:
			return (WindowCall){.kind = WINDOW_RANK};
		case F_DENSE_RANK_:
			return (WindowCall){.kind = WINDOW_DENSE_RANK};
		case F_NTILE:
			return ntile_call(function, why_not);
		case F_PERCENT_RANK_:
			return (WindowCall){.kind = WINDOW_PERCENT_RANK};
		case F_CUME_DIST_:
			return (WindowCall){.kind = WINDOW_CUME_DIST};
		case F_LAG_ANYELEMENT:
		case F_LAG_ANYELEMENT_INT4:
		case F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			return offset_call(function, list_length(function->args), -1, why_not);
		case F_LEAD_ANYELEMENT:
		case F_LEAD_ANYELEMENT_INT4:
		case F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			return offset_call(function, list_length(function->args), 1, why_not);
		case F_FIRST_VALUE:
		case F_NTH_VALUE:
			return value_call(function, WINDOW_NTH_VALUE, why_not);
		case F_LAST_VALUE:
			return value_call(function, WINDOW_LAST_VALUE, why_not);
		default:
			return refuse(why_not,
						  psprintf("which rows %s() needs is not known", get_func_name(function->winfnoid)));
	}
}

bool
window_kind_has_frame(WindowKind kind)
{
	return kind == WINDOW_NTH_VALUE || kind == WINDOW_LAST_VALUE || kind == WINDOW_AGGREGATE;
}
