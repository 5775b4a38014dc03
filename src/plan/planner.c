/*
 * plan/planner.c
 *		Offering GpuSort to the planner.
 *
 * For a query's ORDER BY, create_upper_paths_hook adds a GpuSort path over the cheapest input; the planner's
 * own comparison of costs decides, in mode auto.  In mode force, paths that sort are taken out of the
 * competition.
 *
 * The path's only child is a Sort path, made by the planner's own functions, over the real input: so that the
 * planner works out the sort columns of the plan as it would for its own sort.  PlanCustomPath then takes the
 * Sort node's place.
 *
 * Where the input has a partial path, a second GpuSort path stands over a Gather of GpuSortFeed over that:
 * several processes feed one sort then.
 *
 * What must wait until the plan is finished (sort_plan_finish) is done in planner_hook, for the nodes that
 * were made while planning this query.
 */
#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "key/sort_key.h"
#include "plan/choice.h"
#include "plan/cost.h"
#include "plan/planner.h"
#include "plan/sort_plan.h"
#include "service/connection.h"

static create_upper_paths_hook_type prev_create_upper_paths_hook;
static planner_hook_type prev_planner_hook;

/* GpuSort nodes made since the innermost planner call began. */
static List *made_nodes = NIL;

/* Are the sorts of finished plans counted? */
static bool counting = true;

/* ---------------------------------------------------------------- decisions */

/* Does this output column of the input supply the pathkey? */
static bool
column_matches(const PathKey *pathkey, const PathTarget *target, int column)
{
	EquivalenceClass *ec = pathkey->pk_eclass;

	if (ec->ec_has_volatile)
		return ec->ec_sortref != 0 && get_pathtarget_sortgroupref(target, column) == ec->ec_sortref;
	return find_ec_member_matching_expr(ec, list_nth(target->exprs, column), NULL) != NULL;
}

/* The sort column that the pathkey would have on this output column of the input. */
static SortColumnSpec
column_spec(const PathKey *pathkey, const PathTarget *target, int column)
{
	Expr *expr = list_nth(target->exprs, column);
	EquivalenceClass *ec = pathkey->pk_eclass;
	EquivalenceMember *member =
		ec->ec_has_volatile ? linitial(ec->ec_members) : find_ec_member_matching_expr(ec, expr, NULL);

	return (SortColumnSpec){
		.attno = column + 1,
		.type = exprType((Node *) expr),
		.sortop = pathkey_sort_operator(pathkey, member->em_datatype),
		.collation = ec->ec_collation,
		.nulls_first = pathkey->pk_nulls_first,
	};
}

/*
 * Can the rows be sorted by the pathkeys?  Every column that could supply a pathkey must be one that can,
 * since the planner picks one of them later.  Fills columns, one a pathkey.
 */
static bool
pathkeys_supported(List *pathkeys, const PathTarget *target, SortColumnSpec *columns)
{
	ListCell *cell;

	foreach(cell, pathkeys)
	{
		const PathKey *pathkey = lfirst_node(PathKey, cell);
		bool found = false;

		for (int i = 0; i < list_length(target->exprs); i++)
		{
			Declined why_not;

			if (!column_matches(pathkey, target, i))
				continue;
			columns[foreach_current_index(cell)] = column_spec(pathkey, target, i);
			if (!sort_key_supported(&columns[foreach_current_index(cell)], &why_not))
				return false;
			found = true;
		}
		if (!found)
			return false;
	}
	return true;
}

static bool query_is_volatile(PlannerInfo *root);

/* Is there a subquery among the node's expressions that is volatile? These are SubPlans by now. */
static bool
has_volatile_subplan(Node *node, void *root)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) &&
		query_is_volatile(list_nth(((PlannerInfo *) root)->glob->subroots, ((SubPlan *) node)->plan_id - 1)))
		return true;
	return expression_tree_walker(node, has_volatile_subplan, root);
}

/* Could reading the query's rows once more give others, or do something twice? */
static bool
query_is_volatile(PlannerInfo *root)
{
	return contain_volatile_functions((Node *) root->parse) ||
		   query_tree_walker(root->parse, has_volatile_subplan, root,
							 QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES);
}

/* ---------------------------------------------------------------- paths */

static Plan *plan_gpusort_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist,
							   List *clauses, List *custom_plans);

static Plan *plan_feed_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist,
							List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = GPUSORT_NODE_NAME,
	.PlanCustomPath = plan_gpusort_path,
};

static const CustomPathMethods feed_path_methods = {
	.CustomName = GPUSORT_FEED_NODE_NAME,
	.PlanCustomPath = plan_feed_path,
};

static bool path_sorts(const Path *path);

/* Must an input of the merge be sorted? The plan gets Sort nodes over those that come in another order. */
static bool
merge_append_sorts(const MergeAppendPath *merge)
{
	ListCell *cell;

	foreach(cell, merge->subpaths)
	{
		const Path *input = lfirst(cell);

		if (!pathkeys_contained_in(merge->path.pathkeys, input->pathkeys) || path_sorts(input))
			return true;
	}
	return false;
}

/* Is it a path of PostgreSQL's that gets its order from a sort? */
static bool
path_sorts(const Path *path)
{
	if (IsA(path, ProjectionPath))
		return path_sorts(((const ProjectionPath *) path)->subpath);
	if (IsA(path, GatherMergePath))
		return path_sorts(((const GatherMergePath *) path)->subpath);
	if (IsA(path, MergeAppendPath))
		return merge_append_sorts((const MergeAppendPath *) path);
	return IsA(path, SortPath) || IsA(path, IncrementalSortPath);
}

/* A GpuSort over this input, its cost not set. custom_private says whether it is on the cuda device. */
static CustomPath *
create_gpusort_path(PlannerInfo *root, RelOptInfo *ordered_rel, Path *input, bool on_gpu)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = ordered_rel;
	path->path.pathtarget = input->pathtarget;
	path->path.parallel_safe = ordered_rel->consider_parallel && input->parallel_safe;
	path->path.pathkeys = root->sort_pathkeys;
	path->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
	path->custom_paths = list_make1(create_sort_path(root, ordered_rel, input, root->sort_pathkeys, -1.0));
	path->custom_private = list_make1_int(on_gpu);
	path->methods = &path_methods;
	return path;
}

/* The partial path's rows, fed to a sort above the Gather that is returned. */
static Path *
create_feeding_gather(PlannerInfo *root, RelOptInfo *ordered_rel, Path *partial, const SortCostInput *cost)
{
	CustomPath *feed = makeNode(CustomPath);
	double passed_rows = cost_passed_rows(cost);

	feed->path.pathtype = T_CustomScan;
	feed->path.parent = ordered_rel;
	feed->path.pathtarget = partial->pathtarget;
	feed->path.parallel_aware = true;
	feed->path.parallel_safe = true;
	feed->path.parallel_workers = partial->parallel_workers;
	feed->custom_paths = list_make1(partial);
	feed->methods = &feed_path_methods;
	cost_gpusort_feed(&feed->path, partial, cost);
	path_inherit_disabled(&feed->path, partial, false);
	return (Path *) create_gather_path(root, ordered_rel, &feed->path, partial->pathtarget, NULL,
									   &passed_rows);
}

/* Takes the paths that sort out of the rel's list, in favour of the one to be added. */
static void
remove_sorting_paths(RelOptInfo *rel)
{
	ListCell *cell;

	foreach(cell, rel->pathlist)
	{
		if (path_sorts(lfirst(cell)))
			rel->pathlist = foreach_delete_current(rel->pathlist, cell);
	}
}

/* Adds the path to ordered_rel, with the output that is wanted of that. */
static void
add_gpusort_path(PlannerInfo *root, RelOptInfo *ordered_rel, CustomPath *path, Path *input,
				 PathTarget *target)
{
	path_inherit_disabled(&path->path, input, !enable_sort && gpusort_mode != GPUSORT_MODE_FORCE);
	/*
	 * a volatile output column must not be taken for an equal column of the input: a node of its own computes
	 * it
	 */
	if (!contain_volatile_functions((Node *) target->exprs))
		path->flags |= CUSTOMPATH_SUPPORT_PROJECTION;
	if (input->pathtarget != target)
		add_path(ordered_rel, apply_projection_to_path(root, ordered_rel, &path->path, target));
	else
		add_path(ordered_rel, &path->path);
}

/* The path whose rows several processes could feed to a sort, or NULL. */
static Path *
partial_input(const PlannerInfo *root, const RelOptInfo *input_rel, const RelOptInfo *ordered_rel)
{
	Path *partial;

	if (!ordered_rel->consider_parallel || input_rel->partial_pathlist == NIL)
		return NULL;
	partial = linitial(input_rel->partial_pathlist);
	if (partial->parallel_workers <= 0 || pathkeys_contained_in(root->sort_pathkeys, partial->pathkeys))
		return NULL;
	return partial;
}

/*
 * Adds the paths of a GpuSort on one device: one that reads its input alone, and one whose input several
 * processes feed.
 */
static void
add_gpusort_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel, PathTarget *target,
				  SortCostInput cost)
{
	Path *input = input_rel->cheapest_total_path;
	Path *partial = partial_input(root, input_rel, ordered_rel);
	CustomPath *path = create_gpusort_path(root, ordered_rel, input, cost.on_gpu);

	cost.processes = 1;
	cost_gpusort(&path->path, input, &cost);
	add_gpusort_path(root, ordered_rel, path, input, target);
	if (partial == NULL)
		return;
	cost.processes = partial->parallel_workers + (parallel_leader_participation ? 1 : 0);
	input = create_feeding_gather(root, ordered_rel, partial, &cost);
	path = create_gpusort_path(root, ordered_rel, input, cost.on_gpu);
	cost_gpusort_of_feeds(&path->path, input, &cost);
	add_gpusort_path(root, ordered_rel, path, input, target);
}

/*
 * Adds the paths of a GpuSort on each device that the settings allow; the cuda device where it is there, or
 * is asked for.
 */
static void
add_paths_by_device(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel,
					const SortColumnSpec *columns, PathTarget *target)
{
	const Path *input = input_rel->cheapest_total_path;
	int width = input->pathtarget->width;
	const char *why_not;
	SortCostInput cost = {
		.rows = input->rows,
		.width = width,
		.key_width = sort_key_estimate_width(list_length(root->sort_pathkeys), columns, width),
		.memory = guc_sort_memory(),
	};

	if (gpusort_backend != GPUSORT_BACKEND_CUDA)
		add_gpusort_paths(root, input_rel, ordered_rel, target, cost);
	cost.on_gpu = gpusort_backend == GPUSORT_BACKEND_CUDA ||
				  (gpusort_backend == GPUSORT_BACKEND_AUTO && gpu_client_ready(&why_not));
	if (cost.on_gpu)
		add_gpusort_paths(root, input_rel, ordered_rel, target, cost);
}

/* Adds GpuSort paths for the query's ORDER BY to ordered_rel, if there are any to add. */
static void
consider_gpusort(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel)
{
	Path *input = input_rel->cheapest_total_path;
	SortColumnSpec *columns;
	PathTarget *target;
	Declined why_not;

	if (root->sort_pathkeys == NIL || ordered_rel->pathlist == NIL || input == NULL ||
		input->param_info != NULL || pathkeys_contained_in(root->sort_pathkeys, input->pathkeys))
		return;
	columns = palloc(sizeof(SortColumnSpec) * list_length(root->sort_pathkeys));
	target = ((Path *) linitial(ordered_rel->pathlist))->pathtarget;
	if (!sort_worth_taking(input->rows, root->limit_tuples, &why_not) ||
		!pathkeys_supported(root->sort_pathkeys, input->pathtarget, columns) ||
		sort_repeats_volatile(input->pathtarget->exprs))
		return;
	if (gpusort_mode == GPUSORT_MODE_FORCE)
		remove_sorting_paths(ordered_rel);
	add_paths_by_device(root, input_rel, ordered_rel, columns, target);
}

/* Remembers a node that is to be finished when the whole plan is made. */
static Plan *
remember_node(CustomScan *plan, const CustomPath *path)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(plan));

	plan->flags = path->flags;
	made_nodes = lappend(made_nodes, plan);
	MemoryContextSwitchTo(old);
	return &plan->scan.plan;
}

/* The feed is finished with the GpuSort above it. */
static Plan *
plan_feed_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
			   List *custom_plans)
{
	return &sort_plan_feed(linitial(custom_plans), tlist)->scan.plan;
}

static Plan *
plan_gpusort_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
				  List *custom_plans)
{
	SortPlanOptions options = {
		/* FETCH FIRST ... WITH TIES compares the sort columns of the rows that come out */
		.junk_is_unused = root->parse->limitOption != LIMIT_OPTION_WITH_TIES,
		.restartable = !query_is_volatile(root),
		.on_gpu = linitial_int(best_path->custom_private) != 0,
	};

	return remember_node(sort_plan_from_sort(linitial_node(Sort, custom_plans), tlist, &options), best_path);
}

/* Completes a GpuSort of the finished plan, and the feed below it, if there is one. */
static void
finish_node(CustomScan *plan)
{
	CustomScan *feed = sort_plan_feed_of(plan);

	sort_plan_finish(plan);
	if (feed != NULL)
		sort_plan_finish_feed(feed, plan);
}

/* ---------------------------------------------------------------- hooks */

static void
gpusort_create_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
						   RelOptInfo *output_rel, void *extra)
{
	if (prev_create_upper_paths_hook != NULL)
		prev_create_upper_paths_hook(root, stage, input_rel, output_rel, extra);
	if (stage == UPPERREL_ORDERED && gpusort_mode != GPUSORT_MODE_OFF)
		consider_gpusort(root, input_rel, output_rel);
}

static PlannedStmt *
gpusort_planner(Query *parse, const char *query_string, int cursor_options, ParamListInfo bound_params)
{
	List *outer_nodes = made_nodes;
	PlannedStmt *result;
	ListCell *cell;

	made_nodes = NIL;
	PG_TRY();
	{
		result = prev_planner_hook != NULL
					 ? prev_planner_hook(parse, query_string, cursor_options, bound_params)
					 : standard_planner(parse, query_string, cursor_options, bound_params);
		foreach(cell, made_nodes)
			finish_node(lfirst_node(CustomScan, cell));
		if (counting && gpusort_mode != GPUSORT_MODE_OFF)
			sort_count_declined(result);
	}
	PG_FINALLY();
	{
		made_nodes = outer_nodes;
	}
	PG_END_TRY();
	return result;
}

PlannedStmt *
planner_plan_uncounted(Query *query, const char *query_string)
{
	bool was_counting = counting;
	PlannedStmt *result;

	counting = false;
	PG_TRY();
	{
		result = pg_plan_query(query, query_string, CURSOR_OPT_PARALLEL_OK, NULL);
	}
	PG_FINALLY();
	{
		counting = was_counting;
	}
	PG_END_TRY();
	return result;
}

void
planner_install_hooks(void)
{
	prev_create_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = gpusort_create_upper_paths;
	prev_planner_hook = planner_hook;
	planner_hook = gpusort_planner;
}
