/*
 * plan/agg_input.c
 *		The plan node GpuAggInput: what an Agg's own sorts would tell it, computed from rows in order.
 *
 * A result is passed to the Agg by an aggregate that returns the only value that is not NULL.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
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
#include "plan/agg_input.h"
#include "plan/sort_columns.h"
#include "plan/sort_plan.h"

/* Members of custom_private. */
enum
{
	PRIVATE_ROWS,		/* Integer, AggInputRows */
	PRIVATE_GROUPS,		/* a Group with its columns alone */
	PRIVATE_TARGETLIST, /* of the Agg, before its calls were rewritten */
	PRIVATE_QUAL
};

static const CustomScanMethods *node_methods;

void
agg_input_register(const CustomScanMethods *methods)
{
	node_methods = methods;
	RegisterCustomScanMethods(methods);
}

bool
agg_input_is(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == node_methods;
}

/* ---------------------------------------------------------------- calls */

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

static bool
is_ordered_set(AggInputKind kind)
{
	return kind > AGG_INPUT_FIRST;
}

List *
agg_input_clauses(const Aggref *call)
{
	return call->aggdistinct != NIL ? call->aggdistinct : call->aggorder;
}

/* The column that an argument is, perhaps as a type of the same bytes; 0: it is another expression. */
static AttrNumber
argument_column(const TargetEntry *argument)
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

static const TargetEntry *
clause_argument(const SortGroupClause *clause, const Aggref *call)
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
		const TargetEntry *argument = clause_argument(clause, call);

		if (IsA(argument->expr, Const))
			continue;
		columns.attnos[columns.n] = argument_column(argument);
		columns.operators[columns.n] = clause->eqop;
		columns.collations[columns.n++] = exprCollation((Node *) argument->expr);
	}
	return columns;
}

/* ---------------------------------------------------------------- which calls */

/* An Agg and the sort below it. */
typedef struct AggPlan
{
	Agg *agg;
	Plan *sort;
	SortColumnSpec *columns; /* of the sort */
	int ncolumns;
	int ngroups; /* the first of them, in which the groups differ */
	List *calls; /* all Aggrefs of the Agg, each once */
	List *taken; /* those of them that a GpuAggInput serves */
	AggInputRows rows;
} AggPlan;

static bool
find_calls(Node *node, void *arg)
{
	List **calls = arg;

	if (node == NULL)
		return false;
	if (!IsA(node, Aggref))
		return expression_tree_walker(node, find_calls, calls);
	*calls = list_append_unique(*calls, node);
	return false;
}

/* Does this column of the sort order as the clause of a call does? */
static bool
is_sorted_by(const AggPlan *plan, int i, const SortGroupClause *clause, const Aggref *call)
{
	const TargetEntry *argument = clause_argument(clause, call);
	AttrNumber attno = argument_column(argument);
	const SortColumnSpec *column = &plan->columns[i];

	return i < plan->ncolumns && attno > 0 && sort_input_column(plan->sort, attno) == column->attno &&
		   clause->sortop == column->sortop && exprCollation((Node *) argument->expr) == column->collation &&
		   /* who looks at rows in WITHIN GROUP does not look at NULLs */
		   (clause->nulls_first == column->nulls_first || is_ordered_set(agg_input_kind(call)));
}

/* Do the columns of the sort that follow those of the groups order as the call wants? */
static bool
has_order_for(const AggPlan *plan, const Aggref *call)
{
	int column = plan->ngroups;
	ListCell *cell;

	foreach(cell, agg_input_clauses(call))
	{
		if (IsA(clause_argument(lfirst(cell), call)->expr, Const))
			continue;
		if (!is_sorted_by(plan, column++, lfirst(cell), call))
			return false;
	}
	return true;
}

/* The aggregate that returns the only value which is not NULL; 0: there is none for the type. */
static Oid
picking_aggregate(Oid type)
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
	if (!is_ordered_set(kind))
		return NULL;
	if (IsA(linitial_node(TargetEntry, call->args)->expr, Const))
		return "its argument is a constant";
	if (!OidIsValid(picking_aggregate(call->aggtype)))
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

/* Do all calls want the first one of the same equal rows? */
static bool
all_want_firsts(const AggPlan *plan)
{
	ListCell *cell;

	if (list_length(plan->taken) != list_length(plan->calls))
		return false;
	foreach(cell, plan->taken)
	{
		const Aggref *call = lfirst(cell);

		if (agg_input_kind(call) != AGG_INPUT_FIRST || call->aggfilter != NULL ||
			plan->ngroups + agg_input_compared(call).n != plan->ncolumns)
			return false;
	}
	return true;
}

/* Can the node compute all results? */
static bool
all_have_results(const AggPlan *plan)
{
	ListCell *cell;

	foreach(cell, plan->taken)
	{
		if (!is_ordered_set(agg_input_kind(lfirst(cell))) && !agg_input_is_count(lfirst(cell)))
			return false;
	}
	return list_length(plan->taken) == list_length(plan->calls);
}

/* From 16 on an Agg itself finds the first ones of equal rows that come in order. */
static void
leave_presorted(AggPlan *plan)
{
	ListCell *cell;

	foreach(cell, plan->taken)
	{
		if (agg_input_kind(lfirst(cell)) == AGG_INPUT_FIRST && !aggref_sorts(lfirst_node(Aggref, cell)))
			plan->taken = foreach_delete_current(plan->taken, cell);
	}
}

static void
choose_calls(AggPlan *plan)
{
	ListCell *cell;

	(void) find_calls((Node *) plan->agg->plan.targetlist, &plan->calls);
	(void) find_calls((Node *) plan->agg->plan.qual, &plan->calls);
	foreach(cell, plan->calls)
	{
		if (agg_input_serves(lfirst(cell)) && has_order_for(plan, lfirst(cell)))
			plan->taken = lappend(plan->taken, lfirst(cell));
	}
	if (plan->taken == NIL)
		return;
	if (all_want_firsts(plan))
		plan->rows = all_have_results(plan) ? AGG_INPUT_COUNTS : AGG_INPUT_FIRSTS;
	else if (all_have_results(plan))
		plan->rows = AGG_INPUT_ONE;
	else
		leave_presorted(plan);
}

/* ---------------------------------------------------------------- making the node */

/* What EXPLAIN prints of a mark: whether a row is the first one of its kind. */
static Expr *
explained_mark(void)
{
	Expr *number =
		(Expr *) makeFuncExpr(F_ROW_NUMBER, INT8OID, NIL, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	Const *one = makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(1), false, FLOAT8PASSBYVAL);

	Oid equal = get_opfamily_member(INTEGER_BTREE_FAM_OID, INT8OID, INT8OID, BTEqualStrategyNumber);

	return make_opclause(equal, BOOLOID, false, number, (Expr *) one, InvalidOid, InvalidOid);
}

/* Has the call one result for a group, which the Agg picks? */
static bool
is_picked(const AggPlan *plan, const Aggref *call)
{
	return is_ordered_set(agg_input_kind(call)) || plan->rows == AGG_INPUT_ONE ||
		   plan->rows == AGG_INPUT_COUNTS;
}

static bool
has_column(const AggPlan *plan, const Aggref *call)
{
	return plan->rows != AGG_INPUT_FIRSTS && agg_input_has_result(agg_input_kind(call));
}

static List *
scan_columns(const AggPlan *plan)
{
	List *columns = plan_refer_to_columns(plan->sort->targetlist, OUTER_VAR);
	ListCell *cell;

	foreach(cell, plan->taken)
	{
		Expr *result = lfirst(cell);

		if (!has_column(plan, (const Aggref *) result))
			continue;
		if (!is_picked(plan, (const Aggref *) result))
			result = explained_mark();
		columns = lappend(columns, makeTargetEntry(result, list_length(columns) + 1, NULL, false));
	}
	return columns;
}

static Group *
group_columns(const Agg *agg)
{
	Group *group = makeNode(Group);

	group->numCols = agg->numCols;
	group->grpColIdx = agg->grpColIdx;
	group->grpOperators = agg->grpOperators;
	group->grpCollations = agg->grpCollations;
	return group;
}

static CustomScan *
make_plan(const AggPlan *plan, int id)
{
	CustomScan *node = makeNode(CustomScan);

	node->scan.plan = *plan->sort;
	NodeSetTag(node, T_CustomScan);
	node->scan.plan.parallel_aware = false;
	node->scan.plan.plan_node_id = id;
	node->scan.plan.qual = NIL;
	node->scan.plan.initPlan = NIL;
	node->scan.plan.lefttree = plan->sort;
	node->custom_scan_tlist = scan_columns(plan);
	node->scan.plan.targetlist = plan_refer_to_columns(node->custom_scan_tlist, INDEX_VAR);
	node->custom_exprs = copyObject(plan->taken);
	node->custom_private = list_make4(makeInteger(plan->rows), group_columns(plan->agg),
									  plan->agg->plan.targetlist, plan->agg->plan.qual);
	node->methods = node_methods;
	return node;
}

/* ---------------------------------------------------------------- rewriting calls */

/* Which state each call of the Agg has, of those that are left. */
typedef struct Rewriting
{
	const AggPlan *plan;
	List *states; /* ints: of state i, the number of the state before, or -1 - the number of the call */
} Rewriting;

/* The column of the GpuAggInput that has the result of the taken call of that number. */
static AttrNumber
result_column(const AggPlan *plan, int number)
{
	AttrNumber column = list_length(plan->sort->targetlist);

	for (int i = 0; i <= number; i++)
		column += has_column(plan, list_nth(plan->taken, i)) ? 1 : 0;
	return column;
}

/* The call over the columns that it evaluates, without a sort. */
static Aggref *
without_sort(const Aggref *call)
{
	Aggref *plain = copyObject(unconstify(Aggref *, call));
	ListCell *cell;

	plain->aggdistinct = plain->aggorder = NIL;
	aggref_set_presorted(plain, false);
	foreach(cell, plain->args)
	{
		TargetEntry *argument = lfirst_node(TargetEntry, cell);

		argument->ressortgroupref = 0;
		if (argument->resjunk)
			plain->args = foreach_delete_current(plain->args, cell);
	}
	return plain;
}

static Aggref *
pick_result(const Aggref *call, AttrNumber column)
{
	Aggref *pick = makeNode(Aggref);
	Var *result = makeVar(OUTER_VAR, column, call->aggtype, -1, call->aggcollid, 0);

	pick->aggfnoid = picking_aggregate(call->aggtype);
	pick->aggtype = pick->aggtranstype = call->aggtype;
	pick->aggcollid = call->aggcollid;
	pick->inputcollid = call->inputcollid;
	pick->aggargtypes = list_make1_oid(call->aggtype);
	pick->args = list_make1(makeTargetEntry((Expr *) result, 1, NULL, false));
	pick->aggkind = AGGKIND_NORMAL;
	pick->aggsplit = AGGSPLIT_SIMPLE;
	pick->aggno = call->aggno;
	pick->location = -1;
	return pick;
}

/* The number of the call among those taken; -1: it is none of them. */
static int
number_of_call(const AggPlan *plan, const Aggref *call)
{
	for (int i = 0; i < list_length(plan->taken); i++)
	{
		if (equal(list_nth(plan->taken, i), call))
			return i;
	}
	return -1;
}

/* The number of the state among those that are left. */
static int
state_number(Rewriting *rewriting, int key)
{
	int number = 0;
	ListCell *cell;

	foreach(cell, rewriting->states)
	{
		if (lfirst_int(cell) == key)
			return number;
		number++;
	}
	rewriting->states = lappend_int(rewriting->states, key);
	return number;
}

/* What stands for the call: without rows a count is 0. */
static Node *
picked_result(const Aggref *call, Aggref *pick)
{
	CoalesceExpr *result;

	if (!agg_input_is_count(call))
		return (Node *) pick;
	result = makeNode(CoalesceExpr);
	result->coalescetype = INT8OID;
	result->args = list_make2(pick, makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false,
											  FLOAT8PASSBYVAL));
	result->location = -1;
	return (Node *) result;
}

static Node *
rewritten_call(Rewriting *rewriting, const Aggref *call)
{
	const AggPlan *plan = rewriting->plan;
	int number = number_of_call(plan, call);
	int key = call->aggtransno;
	bool picked = number >= 0 && is_picked(plan, call);
	Aggref *rewritten;

	if (number < 0)
		rewritten = copyObject(unconstify(Aggref *, call));
	else if (picked)
	{
		rewritten = pick_result(call, result_column(plan, number));
		key = -1 - call->aggno;
	}
	else
	{
		rewritten = without_sort(call);
		if (has_column(plan, call))
			rewritten->aggfilter =
				(Expr *) makeVar(OUTER_VAR, result_column(plan, number), BOOLOID, -1, InvalidOid, 0);
	}
	rewritten->aggtransno = state_number(rewriting, key);
	return picked ? picked_result(call, rewritten) : (Node *) rewritten;
}

static Node *
rewrite(Node *node, void *rewriting)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
		return rewritten_call(rewriting, (const Aggref *) node);
	return expression_tree_mutator(node, rewrite, rewriting);
}

bool
agg_input_take(Agg *agg, int next_id)
{
	AggPlan plan = {.agg = agg, .sort = agg->plan.lefttree};
	Rewriting rewriting = {.plan = &plan};
	WindowColumns groups = {agg->numCols, agg->grpColIdx, agg->grpOperators, agg->grpCollations};
	CustomScan *node;

	if (agg->groupingSets != NIL || agg->aggsplit != AGGSPLIT_SIMPLE || agg->chain != NIL ||
		(agg->aggstrategy != AGG_PLAIN && agg->aggstrategy != AGG_SORTED) || !sort_plan_is_gpusort(plan.sort))
		return false;
	plan.columns = sort_plan_columns(plan.sort, &plan.ncolumns);
	plan.ngroups = sort_columns_of_groups(plan.sort, &groups, NULL);
	if (plan.ngroups < 0)
		return false;
	choose_calls(&plan);
	if (plan.taken == NIL)
		return false;
	if (plan.rows == AGG_INPUT_COUNTS)
		sort_plan_prefer_cpu((CustomScan *) plan.sort);
	node = make_plan(&plan, next_id);
	agg->plan.targetlist = (List *) rewrite((Node *) agg->plan.targetlist, &rewriting);
	agg->plan.qual = (List *) rewrite((Node *) agg->plan.qual, &rewriting);
	agg->plan.lefttree = &node->scan.plan;
	return true;
}

/* ---------------------------------------------------------------- what the node says */

AggInputRows
agg_input_rows(const CustomScan *plan)
{
	return intVal(list_nth(plan->custom_private, PRIVATE_ROWS));
}

bool
agg_input_drops_equal(const CustomScan *plan)
{
	AggInputRows rows = agg_input_rows(plan);

	return rows == AGG_INPUT_FIRSTS || rows == AGG_INPUT_COUNTS;
}

WindowColumns
agg_input_groups(const CustomScan *plan)
{
	const Group *group = list_nth_node(Group, plan->custom_private, PRIVATE_GROUPS);

	return (WindowColumns){group->numCols, group->grpColIdx, group->grpOperators, group->grpCollations};
}

List *
agg_input_calls(const CustomScan *plan)
{
	return plan->custom_exprs;
}

Agg *
agg_input_explained(const CustomScan *plan, const Agg *agg)
{
	Agg *explained = makeNode(Agg);

	*explained = *agg;
	explained->plan.targetlist = list_nth(plan->custom_private, PRIVATE_TARGETLIST);
	explained->plan.qual = list_nth(plan->custom_private, PRIVATE_QUAL);
	return explained;
}
