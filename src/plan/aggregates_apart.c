/*
 * plan/aggregates_apart.c
 *		Aggregates of one query that need different orders are computed apart, each from rows in its order.
 *
 * An Agg has one input, in one order, and sorts for all aggregates that need another one.  So for each order
 * there is an Agg of its own over a GpuSort of the groups' columns and the arguments alone, and one for all
 * aggregates that need no order, which workers may form in part.  A GpuAggJoin (agg_join.h) puts their rows
 * side by side.  The input is read for each of them, so it must be tables that are read again as they were.
 * In mode auto it is one table in memory: what joins and slow conditions take is not known well enough.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "plan/agg_join.h"
#include "plan/aggregates_apart.h"
#include "plan/choice.h"
#include "plan/cost.h"
#include "plan/predict.h"
#include "plan/read_again.h"
#include "plan/sorted_aggregates.h"
#include "plan/sorted_groups.h"

/* Milliseconds that a GpuAggInput and an Agg take for a row that is returned, at least. */
#define AGG_ROW_MS 0.0001

/* What is computed apart. */
typedef struct Apart
{
	const SortToOffer *sort;
	const RelOptInfo *input_rel;
	const GroupPathExtraData *extra;
	List *groups;	 /* expressions by which the query groups */
	List *dependent; /* columns of the output that follow from these */
	List *paths;	 /* a path for each order, and one for the aggregates without an order */
	List *columns;	 /* expressions of the query for the columns of all paths */
	double ms;		 /* expected for all of them */
	double rival_ms; /* expected of one Agg, which has one of the orders if that pays */
} Apart;

/* ---------------------------------------------------------------- the output of the query */

/*
 * Finds columns of the output that are neither grouped by nor in aggregates; true: only an Agg computes it.
 */
static bool
find_dependent(Node *node, void *arg)
{
	Apart *apart = arg;

	if (node == NULL || IsA(node, Aggref) || list_member(apart->groups, node))
		return false;
	if (IsA(node, GroupingFunc))
		return true;
	if (!IsA(node, Var) && !IsA(node, PlaceHolderVar))
		return expression_tree_walker(node, find_dependent, arg);
	apart->dependent = list_append_unique(apart->dependent, node);
	return false;
}

/* Finds what is in the output.  False: only an Agg can compute it. */
static bool
describe_output(Apart *apart)
{
	const Query *query = apart->sort->root->parse;

	apart->groups = get_sortgrouplist_exprs(query->groupClause, apart->extra->targetList);
	return !find_dependent((Node *) apart->sort->rel->reltarget->exprs, apart) &&
		   !find_dependent(apart->extra->havingQual, apart);
}

/* ---------------------------------------------------------------- outputs */

/* The calls as those of an Agg that has no others; their rows may come in any order. */
static List *
calls_alone(List *calls)
{
	List *alone = NIL;
	List *states = NIL;
	ListCell *cell;

	foreach(cell, calls)
	{
		Aggref *call = copyObject(lfirst_node(Aggref, cell));

		aggref_set_presorted(call, false);
		call->aggno = list_length(alone);
		states = list_append_unique_int(states, call->aggtransno);
		for (int i = 0; i < list_length(states); i++)
		{
			if (list_nth_int(states, i) == lfirst_node(Aggref, cell)->aggtransno)
				call->aggtransno = i;
		}
		alone = lappend(alone, call);
	}
	return alone;
}

/* The columns of the input that are grouped by, as PostgreSQL has labelled them. */
static PathTarget *
target_of_groups(const Path *input)
{
	PathTarget *target = create_empty_pathtarget();

	for (int i = 0; i < list_length(input->pathtarget->exprs); i++)
	{
		Index label = get_pathtarget_sortgroupref(input->pathtarget, i);

		if (label != 0)
			add_column_to_pathtarget(target, list_nth(input->pathtarget->exprs, i), label);
	}
	return target;
}

/* The groups' columns, and the columns that follow from them in the first path, then these calls. */
static PathTarget *
output_of(const Apart *apart, List *calls)
{
	PathTarget *target = target_of_groups(apart->sort->input);

	if (apart->paths == NIL)
		add_new_columns_to_pathtarget(target, apart->dependent);
	add_new_columns_to_pathtarget(target, calls);
	return set_pathtarget_cost_width(apart->sort->root, target);
}

/* Adds a path with the output of these calls. */
static void
add_path_of(Apart *apart, Path *path, List *calls)
{
	const PathTarget *target = path->pathtarget;
	int others = list_length(target->exprs) - list_length(calls);

	apart->columns = list_concat(apart->columns, list_concat(list_copy_head(target->exprs, others), calls));
	apart->paths = lappend(apart->paths, path);
}

/* ---------------------------------------------------------------- sorts that no order spares */

static bool
sorts(const Aggref *call)
{
	return call->aggkind != AGGKIND_NORMAL || call->aggdistinct != NIL || call->aggorder != NIL;
}

static bool
any_sorts(List *calls)
{
	ListCell *cell;

	foreach(cell, calls)
	{
		if (sorts(lfirst_node(Aggref, cell)))
			return true;
	}
	return false;
}

/*
 * An Agg that sorts by itself wants the groups one after the other, so one of those in an order gets these.
 */
static void
move_sorting(AggregateOrder *order, List **calls)
{
	ListCell *cell;

	foreach(cell, *calls)
	{
		if (!sorts(lfirst_node(Aggref, cell)))
			continue;
		order->one_of_equal = false;
		order->calls = lappend(order->calls, lfirst(cell));
		*calls = foreach_delete_current(*calls, cell);
	}
}

/* ---------------------------------------------------------------- aggregates in an order */

/* A target, and an input that it is computed from. */
typedef struct Narrowing
{
	PathTarget *target;
	List *input;
} Narrowing;

/* Adds the input's columns that an expression needs besides those of the target; true: one is not there. */
static bool
add_needed(Node *node, void *arg)
{
	Narrowing *narrowing = arg;

	if (node == NULL || list_member(narrowing->target->exprs, node))
		return false;
	if (list_member(narrowing->input, node))
	{
		add_column_to_pathtarget(narrowing->target, (Expr *) node, 0);
		return false;
	}
	return IsA(node, Var) || IsA(node, PlaceHolderVar) || expression_tree_walker(node, add_needed, arg);
}

/* The columns that these calls need.  NULL: the input does not have them all. */
static PathTarget *
target_of_order(const Apart *apart, const AggregateOrder *order)
{
	const Path *input = apart->sort->input;
	Narrowing narrowing = {target_of_groups(input), input->pathtarget->exprs};

	add_new_columns_to_pathtarget(narrowing.target, order->computed);
	if (add_needed((Node *) order->calls, &narrowing) ||
		(apart->paths == NIL && add_needed((Node *) apart->dependent, &narrowing)))
		return NULL;
	return set_pathtarget_cost_width(apart->sort->root, narrowing.target);
}

static Path *
narrowed(PlannerInfo *root, Path *path, PathTarget *target)
{
	return path != NULL ? (Path *) create_projection_path(root, path->parent, path, target) : NULL;
}

static AggStrategy
strategy_of_order(const PlannerInfo *root)
{
	return root->parse->groupClause != NIL ? AGG_SORTED : AGG_PLAIN;
}

/* The GpuSort of sort's input, if that is faster, or else NULL. */
static CustomPath *
sort_by_order(SortToOffer *sort, const Apart *apart, const AggregateOrder *order, SortExpectation *expected)
{
	Rival rival;

	*expected = (SortExpectation){.ms = 0};
	sort->pathkeys = order->pathkeys;
	rival_describe(apart->input_rel,
				   (Path *) create_sort_path(sort->root, sort->rel, sort->input, order->pathkeys, -1),
				   &rival);
	return gpusort_path(sort, &rival, expected);
}

/* The time of all rows with all columns in this order, as one Agg for all aggregates has them. */
static double
ms_of_all(const Apart *apart, const AggregateOrder *order)
{
	SortToOffer sort = *apart->sort;
	SortExpectation expected;
	CustomPath *gpusort;

	if (is_parallel_safe(sort.root, (Node *) order->computed))
		sort.partial = sorted_aggregates_input(sort.root, partial_input(apart->input_rel, order->pathkeys),
											   order->computed);
	sort.input = sorted_aggregates_input(sort.root, sort.input, order->computed);
	gpusort = sort_by_order(&sort, apart, order, &expected);
	return sort.rows * AGG_ROW_MS + (gpusort != NULL ? expected.ms : expected.input_ms + expected.rival_ms);
}

/* Adds the aggregates of an order over a GpuSort, if that is faster.  False: it is not. */
static bool
add_order(Apart *apart, const AggregateOrder *order)
{
	SortToOffer sort = *apart->sort;
	PathTarget *target = target_of_order(apart, order);
	SortExpectation expected;
	CustomPath *gpusort;
	Path *path;

	if (target == NULL)
		return false;
	if (is_parallel_safe(sort.root, (Node *) order->computed))
		sort.partial = narrowed(sort.root, partial_input(apart->input_rel, order->pathkeys), target);
	sort.input = narrowed(sort.root, sort.input, target);
	sort.group_columns = order->one_of_equal ? list_length(order->pathkeys) : 0;
	gpusort = sort_by_order(&sort, apart, order, &expected);
	if (gpusort == NULL)
		return false;
	path = aggregates_path(sort.root, sort.rel, &gpusort->path, output_of(apart, calls_alone(order->calls)),
						   strategy_of_order(sort.root), AGGSPLIT_SIMPLE, NIL, apart->extra);
	apart->rival_ms += apart->paths == NIL ? ms_of_all(apart, order) : expected.rival_ms;
	apart->ms += expected.ms;
	add_path_of(apart, path, order->calls);
	return true;
}

/* ---------------------------------------------------------------- aggregates without an order */

/* Can workers compute the calls in part? */
static bool
are_partial(const PlannerInfo *root, List *calls)
{
	ListCell *cell;

	foreach(cell, calls)
	{
		const Aggref *call = lfirst_node(Aggref, cell);
		const AggTransInfo *state = list_nth(root->aggtransinfos, call->aggtransno);

		if (sorts(call) || !OidIsValid(state->combinefn_oid) ||
			(state->aggtranstype == INTERNALOID &&
			 !(OidIsValid(state->serialfn_oid) && OidIsValid(state->deserialfn_oid))))
			return false;
	}
	return true;
}

/* The output of a part: the calls' states. */
static PathTarget *
output_of_part(const Apart *apart, List *calls)
{
	List *parts = copyObject(calls);
	ListCell *cell;

	foreach(cell, parts)
		mark_partial_aggref(lfirst_node(Aggref, cell), AGGSPLIT_INITIAL_SERIAL);
	return output_of(apart, parts);
}

/* The same aggregates, which workers compute in part; NULL: they can't. */
static Path *
in_workers(const Apart *apart, List *calls, List *alone, AggStrategy strategy)
{
	PlannerInfo *root = apart->sort->root;
	RelOptInfo *rel = apart->sort->rel;
	Path *path;
	double rows;

	if (!rel->consider_parallel || apart->input_rel->partial_pathlist == NIL || !are_partial(root, calls) ||
		!is_parallel_safe(root, (Node *) alone))
		return NULL;
	path =
		aggregates_path(root, rel, linitial(apart->input_rel->partial_pathlist), output_of_part(apart, alone),
						strategy, AGGSPLIT_INITIAL_SERIAL, NIL, apart->extra);
	rows = path->rows * (path->parallel_workers + 1);
	path = (Path *) create_gather_path(root, rel, path, path->pathtarget, NULL, &rows);
	return aggregates_path(root, rel, path, output_of(apart, alone), strategy, AGGSPLIT_FINAL_DESERIAL, NIL,
						   apart->extra);
}

/* Adds the calls that no order serves. */
static void
add_rest(Apart *apart, List *calls)
{
	PlannerInfo *root = apart->sort->root;
	RelOptInfo *rel = apart->sort->rel;
	List *groups = groupby_pathkeys(root);
	List *alone = calls_alone(calls);
	Path *input = apart->sort->input;
	Path *path;
	Path *parallel;
	AggStrategy strategy = strategy_of_order(root);
	Cost below;

	if (groups != NIL && enable_hashagg && !any_sorts(calls) &&
		grouping_is_hashable(processed_group_clause(root)))
		strategy = AGG_HASHED;
	else if (groups != NIL)
		input = (Path *) create_sort_path(root, rel, input, groups, -1);
	below = input->total_cost;
	path = aggregates_path(root, rel, input, output_of(apart, alone), strategy, AGGSPLIT_SIMPLE, NIL,
						   apart->extra);
	/* of what is not done for each group a single Agg is not spared either */
	apart->rival_ms += predict_input(path->total_cost - below);
	parallel = strategy != AGG_SORTED ? in_workers(apart, calls, alone, strategy) : NULL;
	if (parallel != NULL && parallel->total_cost < path->total_cost)
		path = parallel;
	apart->ms += predict_input(path->total_cost);
	if (strategy == AGG_HASHED)
		path = (Path *) create_sort_path(root, rel, path, groups, -1);
	add_path_of(apart, path, calls);
}

/* ---------------------------------------------------------------- offering */

/* With a cost below that of PostgreSQL's cheapest path, which has none for the sorts of aggregates. */
static void
offer(const Apart *apart, const Path *cheapest)
{
	CustomPath *join =
		agg_join_path(apart->sort->rel, apart->paths, apart->columns, apart->extra->havingQual);
	Cost total = 0;
	ListCell *cell;

	foreach(cell, apart->paths)
		total += ((const Path *) lfirst(cell))->total_cost;
	join->path.total_cost = join->path.startup_cost = Min(total, WORTH_SHARE * cheapest->total_cost);
	join->path.pathkeys = groupby_pathkeys(apart->sort->root);
	add_path(apart->sort->rel, &join->path);
}

/*
 * A single order beside plain aggregates gains where there is one group.  To form many groups twice takes
 * longer than one Agg over rows in order: remarks_by_issue of bench/whole_queries 1158 ms instead of 602.
 */
static bool
has_orders_enough(const Apart *apart)
{
	bool is_one_group = apart->sort->root->parse->groupClause == NIL;

	return list_length(apart->paths) >= (gpusort_mode != GPUSORT_MODE_FORCE && is_one_group ? 1 : 2);
}

/* From 16 on the Agg has no columns for those of GROUP BY that a condition makes constant. */
static bool
has_columns_of_groups(const PlannerInfo *root)
{
	return list_length(processed_group_clause(root)) == list_length(root->parse->groupClause);
}

bool
aggregates_apart_offer(const SortToOffer *sort, const RelOptInfo *input_rel, const GroupPathExtraData *extra)
{
	Apart apart = {.sort = sort, .input_rel = input_rel, .extra = extra};
	const Path *cheapest = rival_cheapest(sort->rel, 1, false);
	List *rest;
	List *orders = sorted_aggregates_orders(sort->root, sort->input, true, &rest);
	ListCell *cell;

	if (orders == NIL || cheapest == NULL || !has_columns_of_groups(sort->root) ||
		!(gpusort_mode == GPUSORT_MODE_FORCE || read_again_is_cheap(input_rel)) ||
		!read_again_is_same(sort->root, input_rel, sort->input) || !describe_output(&apart))
		return false;
	move_sorting(linitial(orders), &rest);
	foreach(cell, orders)
	{
		AggregateOrder *order = lfirst(cell);

		if (!add_order(&apart, order))
			rest = list_concat(rest, order->calls);
	}
	if (!has_orders_enough(&apart))
		return false;
	if (rest != NIL)
		add_rest(&apart, rest);
	if (list_length(apart.paths) < 2 ||
		(gpusort_mode != GPUSORT_MODE_FORCE && apart.ms > PLAN_SHARE * apart.rival_ms))
		return false;
	offer(&apart, cheapest);
	return true;
}
