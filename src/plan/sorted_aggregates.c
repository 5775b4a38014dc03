/*
 * plan/sorted_aggregates.c
 *		The order of rows that spares a grouping the sorts of its aggregates.
 *
 * An Agg sorts for each aggregate with DISTINCT, ORDER BY or WITHIN GROUP, within each group.  One of these
 * orders can be that of the input: the longest one, which serves all that are the beginning of it.  From 16
 * on the planner itself sorts for DISTINCT and ORDER BY; then the order is only looked for where it does not.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "plan/agg_input_calls.h"
#include "plan/sorted_aggregates.h"

/* The share of the rows that must pass a filter. */
#define LEAST_SHARE 0.5

/* ---------------------------------------------------------------- which aggregate */

/* A column, a constant, or a column as a type that has all of its values. */
static bool
cannot_fail(const Node *argument)
{
	if (IsA(argument, RelabelType))
		argument = (const Node *) ((const RelabelType *) argument)->arg;
	if (IsA(argument, FuncExpr))
	{
		switch (((const FuncExpr *) argument)->funcid)
		{
			case F_FLOAT8_INT2:
			case F_FLOAT8_INT4:
			case F_FLOAT8_INT8:
			case F_FLOAT8_FLOAT4:
				argument = linitial(((const FuncExpr *) argument)->args);
				break;
			default:
				return false;
		}
	}
	return IsA(argument, Var) || IsA(argument, Const);
}

/*
 * An Agg evaluates arguments only of rows that pass the filter, so expressions could fail for others.
 */
const char *
sorted_aggregates_why_not(const Aggref *call)
{
	ListCell *cell;

	foreach(cell, call->args)
	{
		Node *argument = (Node *) lfirst_node(TargetEntry, cell)->expr;

		if (contain_volatile_functions(argument) || contain_subplans(argument))
			return "its argument has a volatile function or a sub-select";
		if (call->aggfilter != NULL && !cannot_fail(argument))
			return "its argument is computed only for rows that pass its FILTER";
	}
	return NULL;
}

/* Does the Agg sort about as many rows as come?  Fewer ones it sorts sooner than all of them are sorted. */
static bool
sorts_most_rows(PlannerInfo *root, const Aggref *call)
{
	return call->aggfilter == NULL || gpusort_mode == GPUSORT_MODE_FORCE ||
		   clause_selectivity(root, (Node *) call->aggfilter, 0, JOIN_INNER, NULL) >= LEAST_SHARE;
}

/* Is one of the rows that are equal in the order enough for all of its calls? */
static bool
one_of_equal_is_enough(const AggregateOrder *order)
{
	const Aggref *longest = linitial(order->calls);
	ListCell *cell;

	foreach(cell, order->calls)
	{
		const Aggref *call = lfirst(cell);

		if (agg_input_kind(call) != AGG_INPUT_FIRST || call->aggfilter != NULL ||
			!equal(call->args, longest->args))
			return false;
	}
	return true;
}

static bool
all_count(const List *calls)
{
	const ListCell *cell;

	foreach(cell, calls)
	{
		if (!agg_input_is_count(lfirst(cell)))
			return false;
	}
	return true;
}

bool
sorted_aggregates_presorted_count(const PlannerInfo *root)
{
	ListCell *cell;

	foreach(cell, root->agginfos)
	{
		const Aggref *call = agginfo_call(lfirst(cell));

		if (agg_input_clauses(call) != NIL && !aggref_sorts(call) && !agg_input_is_count(call))
			return false;
	}
	return true;
}

/* ---------------------------------------------------------------- the order */

/* Without those of the same values. */
static List *
add_pathkeys(List *pathkeys, List *more)
{
	ListCell *cell;

	foreach(cell, more)
	{
		ListCell *other;

		foreach(other, pathkeys)
		{
			if (lfirst_node(PathKey, other)->pk_eclass == lfirst_node(PathKey, cell)->pk_eclass)
				break;
		}
		if (other == NULL)
			pathkeys = lappend(pathkeys, lfirst(cell));
	}
	return pathkeys;
}

/* The clauses that are no constants. */
static int
number_of_columns(const Aggref *call)
{
	int n = 0;
	ListCell *cell;

	foreach(cell, agg_input_clauses(call))
		n += IsA(get_sortgroupclause_expr(lfirst(cell), call->args), Const) ? 0 : 1;
	return n;
}

/*
 * The order of these groups, then of the call, by these clauses.  NIL: columns of the call are constant,
 * equal to others, or among the groups, so that agg_input_take would not find them all.
 */
static List *
order_by_clauses(PlannerInfo *root, List *groups, const Aggref *call, List *clauses)
{
	List *columns = make_pathkeys_for_sortclauses(root, clauses, call->args);
	List *pathkeys = add_pathkeys(list_copy(groups), columns);

	return list_length(pathkeys) < list_length(groups) + Max(number_of_columns(call), 1) ? NIL : pathkeys;
}

static List *
order_of_call(PlannerInfo *root, List *groups, const Aggref *call)
{
	return order_by_clauses(root, groups, call, agg_input_clauses(call));
}

/* The same with NULLs at the other end, where an ordered set does not look at them. */
static List *
order_with_other_nulls(PlannerInfo *root, List *groups, const Aggref *call)
{
	List *clauses = copyObject(agg_input_clauses(call));
	SortGroupClause *clause = linitial_node(SortGroupClause, clauses);

	clause->nulls_first = !clause->nulls_first;
	return order_by_clauses(root, groups, call, clauses);
}

/* The order that would spare the call its sort; NIL: there is none. */
static List *
order_that_spares(PlannerInfo *root, List *groups, const Aggref *call, bool presorted)
{
	Aggref alone = *call;

	if (presorted)
		aggref_set_presorted(&alone, false);
	if (!agg_input_serves(&alone) || sorted_aggregates_why_not(call) != NULL || !sorts_most_rows(root, call))
		return NIL;
	return order_of_call(root, groups, call);
}

/* Adds the call to an order that begins with its own, or is the beginning of it; false: there is none. */
static bool
add_by_pathkeys(List *orders, List *pathkeys, Aggref *call)
{
	ListCell *cell;

	foreach(cell, orders)
	{
		AggregateOrder *order = lfirst(cell);

		if (pathkeys_contained_in(pathkeys, order->pathkeys))
			order->calls = lappend(order->calls, call);
		else if (pathkeys_contained_in(order->pathkeys, pathkeys))
		{
			order->pathkeys = pathkeys;
			order->calls = lcons(call, order->calls);
		}
		else
			continue;
		return true;
	}
	return false;
}

/* Adds the call to one of the orders, or its own order to them. */
static List *
add_to_orders(PlannerInfo *root, List *groups, List *orders, List *pathkeys, Aggref *call)
{
	AggregateOrder *order;

	if (add_by_pathkeys(orders, pathkeys, call))
		return orders;
	if (call->aggkind == AGGKIND_ORDERED_SET &&
		add_by_pathkeys(orders, order_with_other_nulls(root, groups, call), call))
		return orders;
	order = palloc0(sizeof(*order));
	*order = (AggregateOrder){.pathkeys = pathkeys, .calls = list_make1(call)};
	return lappend(orders, order);
}

static List *
longest_first(List *orders)
{
	AggregateOrder *longest = NULL;
	ListCell *cell;

	foreach(cell, orders)
	{
		AggregateOrder *order = lfirst(cell);

		if (longest == NULL || list_length(order->pathkeys) > list_length(longest->pathkeys))
			longest = order;
	}
	return longest != NULL ? lcons(longest, list_delete_ptr(orders, longest)) : NIL;
}

/* The arguments that are sorted by and are no columns of the input. */
static List *
computed_arguments(const Aggref *call, const PathTarget *target)
{
	List *computed = NIL;
	ListCell *cell;

	foreach(cell, agg_input_clauses(call))
	{
		Expr *argument = (Expr *) get_sortgroupclause_expr(lfirst(cell), call->args);

		while (IsA(argument, RelabelType))
			argument = ((RelabelType *) argument)->arg;
		if (!IsA(argument, Const) && !list_member(target->exprs, argument))
			computed = lappend(computed, argument);
	}
	return computed;
}

/*
 * Can the groups be formed by an order?  From 16 on PostgreSQL may add the order of an aggregate to theirs.
 */
static bool
groups_supported(PlannerInfo *root, List *groups, bool presorted)
{
	return root->parse->hasAggs && root->parse->groupingSets == NIL &&
		   (presorted || list_length(groups) == list_length(root->group_pathkeys)) &&
		   list_length(groups) >= list_length(processed_group_clause(root));
}

List *
sorted_aggregates_orders(PlannerInfo *root, const Path *input, bool presorted, List **rest)
{
	List *groups = groupby_pathkeys(root);
	List *orders = NIL;
	ListCell *cell;

	*rest = NIL;
	if (!groups_supported(root, groups, presorted))
		return NIL;
	foreach(cell, root->agginfos)
	{
		Aggref *call = agginfo_call(lfirst(cell));
		List *pathkeys = order_that_spares(root, groups, call, presorted);

		if (pathkeys == NIL)
			*rest = lappend(*rest, call);
		else
			orders = add_to_orders(root, groups, orders, pathkeys, call);
	}
	foreach(cell, orders)
	{
		AggregateOrder *order = lfirst(cell);

		order->computed = computed_arguments(linitial(order->calls), input->pathtarget);
		order->one_of_equal = one_of_equal_is_enough(order);
		order->only_counts = all_count(order->calls);
	}
	return longest_first(orders);
}

Path *
sorted_aggregates_input(PlannerInfo *root, Path *path, List *computed)
{
	PathTarget *target;
	ListCell *cell;

	if (path == NULL || computed == NIL)
		return path;
	target = copy_pathtarget(path->pathtarget);
	foreach(cell, computed)
		add_column_to_pathtarget(target, lfirst(cell), 0);
	return (Path *) create_projection_path(root, path->parent, path, set_pathtarget_cost_width(root, target));
}
