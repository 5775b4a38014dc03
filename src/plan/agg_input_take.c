/*
 * plan/agg_input_take.c
 *		Puts a GpuAggInput below an Agg: for which of its calls, and what the Agg computes then.
 *
 * A result is passed to the Agg by an aggregate that returns the only value that is not NULL.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "base/pg_compat.h"
#include "plan/agg_input.h"
#include "plan/agg_input_calls.h"
#include "plan/agg_input_take.h"
#include "plan/sort_columns.h"
#include "plan/sort_plan.h"

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

/* Does this column order as the clause of a call does?  Who counts values has no use for their order. */
static bool
orders_for(const SortColumnSpec *column, const SortGroupClause *clause, const Aggref *call, Oid collation)
{
	if (agg_input_is_count(call))
		return sort_brings_together(column, clause->eqop, collation);
	return clause->sortop == column->sortop && collation == column->collation &&
		   /* who looks at rows in WITHIN GROUP does not look at NULLs */
		   (clause->nulls_first == column->nulls_first || agg_input_is_ordered_set(agg_input_kind(call)));
}

/* Is this column of the sort that of a clause of a call, in its order? */
static bool
is_sorted_by(const AggPlan *plan, int i, const SortGroupClause *clause, const Aggref *call)
{
	const TargetEntry *argument = agg_input_clause_argument(clause, call);
	AttrNumber attno = agg_input_argument_column(argument);

	return i < plan->ncolumns && attno > 0 &&
		   sort_input_column(plan->sort, attno) == plan->columns[i].attno &&
		   orders_for(&plan->columns[i], clause, call, exprCollation((Node *) argument->expr));
}

/* Do the columns of the sort that follow those of the groups order as the call wants? */
static bool
has_order_for(const AggPlan *plan, const Aggref *call)
{
	int column = plan->ngroups;
	ListCell *cell;

	foreach(cell, agg_input_clauses(call))
	{
		if (IsA(agg_input_clause_argument(lfirst(cell), call)->expr, Const))
			continue;
		if (!is_sorted_by(plan, column++, lfirst(cell), call))
			return false;
	}
	return true;
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
		if (!agg_input_is_ordered_set(agg_input_kind(lfirst(cell))) && !agg_input_is_count(lfirst(cell)))
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

/* ---------------------------------------------------------------- columns of the node */

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
	return agg_input_is_ordered_set(agg_input_kind(call)) || plan->rows == AGG_INPUT_ONE ||
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

	pick->aggfnoid = agg_input_picking_aggregate(call->aggtype);
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
	agg->plan.lefttree = agg_input_make(agg, plan.rows, plan.taken, scan_columns(&plan), next_id);
	agg->plan.targetlist = (List *) rewrite((Node *) agg->plan.targetlist, &rewriting);
	agg->plan.qual = (List *) rewrite((Node *) agg->plan.qual, &rewriting);
	return true;
}
