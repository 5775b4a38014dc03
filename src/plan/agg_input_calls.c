/*
 * plan/agg_input_calls.c
 *		Calls of aggregates: what each needs of rows in order, and whether a GpuAggInput computes that.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/pg_compat.h"
#include "plan/agg_input_calls.h"

/* ---------------------------------------------------------------- what a call needs */

AggInputKind
agg_input_kind(const Aggref *call)
{
	if (call->aggsplit != AGGSPLIT_SIMPLE || call->aggkind == AGGKIND_HYPOTHETICAL)
		return AGG_INPUT_OTHER;
	switch (call->aggfnoid)
	{
		case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
		case F_PERCENTILE_CONT_FLOAT8_INTERVAL:
		case F_PERCENTILE_CONT__FLOAT8_FLOAT8:
		case F_PERCENTILE_CONT__FLOAT8_INTERVAL:
			return AGG_INPUT_PERCENTILE_CONT;
		case F_PERCENTILE_DISC_FLOAT8_ANYELEMENT:
		case F_PERCENTILE_DISC__FLOAT8_ANYELEMENT:
			return AGG_INPUT_PERCENTILE_DISC;
		case F_MODE:
			return AGG_INPUT_MODE;
		default:
			break;
	}
	if (call->aggkind != AGGKIND_NORMAL)
		return AGG_INPUT_OTHER;
	if (call->aggdistinct != NIL)
		return AGG_INPUT_FIRST;
	return call->aggorder != NIL ? AGG_INPUT_IN_ORDER : AGG_INPUT_OTHER;
}

bool
agg_input_has_result(AggInputKind kind)
{
	return kind >= AGG_INPUT_FIRST;
}

bool
agg_input_is_count(const Aggref *call)
{
	return agg_input_kind(call) == AGG_INPUT_FIRST && call->aggfnoid == F_COUNT_ANY &&
		   agg_input_compared(call).n == 1;
}

bool
agg_input_is_ordered_set(AggInputKind kind)
{
	return kind > AGG_INPUT_FIRST;
}

List *
agg_input_clauses(const Aggref *call)
{
	return call->aggdistinct != NIL ? call->aggdistinct : call->aggorder;
}

AttrNumber
agg_input_argument_column(const TargetEntry *argument)
{
	const Expr *expr = argument->expr;

	while (IsA(expr, RelabelType))
		expr = ((const RelabelType *) expr)->arg;
	return IsA(expr, Var) && ((const Var *) expr)->varno == OUTER_VAR ? ((const Var *) expr)->varattno : 0;
}

const Const *
agg_input_fractions(const Aggref *call)
{
	const Node *fractions = linitial(call->aggdirectargs);

	return IsA(fractions, Const) ? (const Const *) fractions : NULL;
}

static bool
is_fraction(float8 value)
{
	return value >= 0 && value <= 1;
}

/* PostgreSQL has errors and NULLs of its own for others, and arrays of the same bounds. */
static bool
fractions_supported(const Aggref *call)
{
	const Const *fractions = agg_input_fractions(call);
	const ArrayType *array;

	if (fractions == NULL || fractions->constisnull)
		return false;
	if (fractions->consttype == FLOAT8OID)
		return is_fraction(DatumGetFloat8(fractions->constvalue));
	array = DatumGetArrayTypeP(fractions->constvalue);
	if (ARR_NDIM(array) != 1 || ARR_LBOUND(array)[0] != 1 || ARR_HASNULL(array))
		return false;
	for (int i = 0; i < ARR_DIMS(array)[0]; i++)
	{
		if (!is_fraction(((const float8 *) ARR_DATA_PTR(array))[i]))
			return false;
	}
	return true;
}

const TargetEntry *
agg_input_clause_argument(const SortGroupClause *clause, const Aggref *call)
{
	return get_sortgroupclause_tle(unconstify(SortGroupClause *, clause), call->args);
}

/* Constants are equal in all rows. */
WindowColumns
agg_input_compared(const Aggref *call)
{
	List *clauses = agg_input_clauses(call);
	WindowColumns columns = {.attnos = palloc(sizeof(AttrNumber) * list_length(clauses)),
							 .operators = palloc(sizeof(Oid) * list_length(clauses)),
							 .collations = palloc(sizeof(Oid) * list_length(clauses))};
	ListCell *cell;

	foreach(cell, clauses)
	{
		const SortGroupClause *clause = lfirst_node(SortGroupClause, cell);
		const TargetEntry *argument = agg_input_clause_argument(clause, call);

		if (IsA(argument->expr, Const))
			continue;
		columns.attnos[columns.n] = agg_input_argument_column(argument);
		columns.operators[columns.n] = clause->eqop;
		columns.collations[columns.n++] = exprCollation((Node *) argument->expr);
	}
	return columns;
}

/* ---------------------------------------------------------------- whether it can be served */

Oid
agg_input_picking_aggregate(Oid type)
{
	oidvector *types = buildoidvector(&type, 1);
	Oid function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("min"),
								   PointerGetDatum(types), ObjectIdGetDatum(PG_CATALOG_NAMESPACE));

	if (OidIsValid(function))
		return function;
	if (OidIsValid(get_element_type(type)))
		return F_MIN_ANYARRAY;
	return type_is_enum(type) ? F_MIN_ANYENUM : any_value_aggregate;
}

static bool
filter_supported(const Aggref *call)
{
	Node *filter = (Node *) call->aggfilter;

	return !contain_volatile_functions(filter) && !contain_subplans(filter);
}

const char *
agg_input_why_not(const Aggref *call)
{
	AggInputKind kind = agg_input_kind(call);

	if (kind == AGG_INPUT_OTHER)
		return "no node of gpusort computes this function";
	if (kind != AGG_INPUT_IN_ORDER && !filter_supported(call))
		return "its FILTER has a volatile function or a sub-select";
	if (!agg_input_is_ordered_set(kind))
		return NULL;
	if (IsA(linitial_node(TargetEntry, call->args)->expr, Const))
		return "its argument is a constant";
	if (!OidIsValid(agg_input_picking_aggregate(call->aggtype)))
		return "the type of its result has no aggregate min";
	if (kind != AGG_INPUT_MODE && !fractions_supported(call))
		return "its fractions are not constants from 0 to 1";
	return NULL;
}

bool
agg_input_serves(const Aggref *call)
{
	return agg_input_why_not(call) == NULL &&
		   (agg_input_kind(call) != AGG_INPUT_IN_ORDER || aggref_sorts(call));
}
