/*
 * planner.c
 *		Offering GpuSort to the planner.
 *
 * For a query's ORDER BY, create_upper_paths_hook adds a GpuSort path over the cheapest input; the planner's own
 * comparison of costs decides, in mode auto.  In mode force, paths that sort are taken out of the competition.
 *
 * The path's only child is a Sort path, made by the planner's own functions, over the real input: so that the
 * planner works out the sort columns of the plan as it would for its own
 * sort.  PlanCustomPath then takes the Sort node's place.
 *
 * What must wait until the plan is finished (sort_plan_finish) is done in planner_hook, for the nodes
 * that were made while planning this query.
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

#include "cost.h"
#include "guc.h"
#include "pg_compat.h"
#include "planner.h"
#include "sort_choice.h"
#include "sort_key.h"
#include "sort_plan.h"

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
	Expr	   *expr = list_nth(target->exprs, column);
	EquivalenceClass *ec = pathkey->pk_eclass;
	EquivalenceMember *member = ec->ec_has_volatile ? linitial(ec->ec_members)
		: find_ec_member_matching_expr(ec, expr, NULL);

	return (SortColumnSpec) {
		.attno = column + 1,
		.type = exprType((Node *) expr),
		.sortop = pathkey_sort_operator(pathkey, member->em_datatype),
		.collation = ec->ec_collation,
		.nulls_first = pathkey->pk_nulls_first
	};
}

/*
 * Can the rows be sorted by the pathkeys?  Every column that could supply a pathkey must be one that can, since the
 * planner picks one of them later.  Fills columns, one a pathkey.
 */
static bool
pathkeys_supported(List *pathkeys, const PathTarget *target, SortColumnSpec *columns)
{
	ListCell   *cell;

	foreach(cell, pathkeys)
	{
		const PathKey *pathkey = lfirst_node(PathKey, cell);
		bool		found = false;

		for (int i = 0; i < list_length(target->exprs); i++)
		{
			Declined	why_not;

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

/* ---------------------------------------------------------------- paths */

static Plan *plan_gpusort_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
							   List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = GPUSORT_NODE_NAME,
	.PlanCustomPath = plan_gpusort_path
};

/* Is it a path of PostgreSQL's that gets its order from a sort? */
static bool
path_sorts(const Path *path)
{
	if (IsA(path, ProjectionPath))
		return path_sorts(((const ProjectionPath *) path)->subpath);
	if (IsA(path, GatherMergePath))
		return path_sorts(((const GatherMergePath *) path)->subpath);
	return IsA(path, SortPath) || IsA(path, IncrementalSortPath);
}

static CustomPath *
create_gpusort_path(PlannerInfo *root, RelOptInfo *ordered_rel, Path *input, const SortColumnSpec *columns)
{
	CustomPath *path = makeNode(CustomPath);
	int			width = input->pathtarget->width;
	int			ncolumns = list_length(root->sort_pathkeys);

	path->path.pathtype = T_CustomScan;
	path->path.parent = ordered_rel;
	path->path.pathtarget = input->pathtarget;
	path->path.parallel_safe = ordered_rel->consider_parallel && input->parallel_safe;
	path->path.pathkeys = root->sort_pathkeys;
	path->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
	path->custom_paths = list_make1(create_sort_path(root, ordered_rel, input, root->sort_pathkeys, -1.0));
	path->methods = &path_methods;

	cost_gpusort(&path->path, input, input->rows, width, sort_key_estimate_width(ncolumns, columns, width),
				 guc_sort_memory());
	path_inherit_disabled(&path->path, input, !enable_sort && gpusort_mode != GPUSORT_MODE_FORCE);
	return path;
}

/* Takes the paths that sort out of the rel's list, in favour of the one to be added. */
static void
remove_sorting_paths(RelOptInfo *rel)
{
	ListCell   *cell;

	foreach(cell, rel->pathlist)
	{
		if (path_sorts(lfirst(cell)))
			rel->pathlist = foreach_delete_current(rel->pathlist, cell);
	}
}

/* Adds a GpuSort path for the query's ORDER BY to ordered_rel, if there is one to add. */
static void
consider_gpusort(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel)
{
	Path	   *input = input_rel->cheapest_total_path;
	SortColumnSpec *columns;
	PathTarget *target;
	CustomPath *path;
	Declined	why_not;

	if (root->sort_pathkeys == NIL || ordered_rel->pathlist == NIL || input == NULL || input->param_info != NULL ||
		pathkeys_contained_in(root->sort_pathkeys, input->pathkeys))
		return;
	columns = palloc(sizeof(SortColumnSpec) * list_length(root->sort_pathkeys));
	target = ((Path *) linitial(ordered_rel->pathlist))->pathtarget;
	if (!sort_worth_taking(input->rows, root->limit_tuples, &why_not) ||
		!pathkeys_supported(root->sort_pathkeys, input->pathtarget, columns) ||
		sort_repeats_volatile(input->pathtarget->exprs))
		return;

	path = create_gpusort_path(root, ordered_rel, input, columns);
	/* a volatile output column must not be taken for an equal column of the input: a node of its own computes it */
	if (!contain_volatile_functions((Node *) target->exprs))
		path->flags |= CUSTOMPATH_SUPPORT_PROJECTION;
	if (gpusort_mode == GPUSORT_MODE_FORCE)
		remove_sorting_paths(ordered_rel);
	if (input->pathtarget != target)
		add_path(ordered_rel, apply_projection_to_path(root, ordered_rel, &path->path, target));
	else
		add_path(ordered_rel, &path->path);
}

static Plan *
plan_gpusort_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
				  List *custom_plans)
{
	SortPlanOptions options = {
		/* FETCH FIRST ... WITH TIES compares the sort columns of the rows that come out */
		.junk_is_unused = root->parse->limitOption != LIMIT_OPTION_WITH_TIES,
		.restartable = !contain_volatile_functions((Node *) root->parse),
		.on_gpu = gpusort_backend == GPUSORT_BACKEND_CUDA
	};
	CustomScan *plan = sort_plan_from_sort(linitial_node(Sort, custom_plans), tlist, &options);
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(plan));

	plan->flags = best_path->flags;
	made_nodes = lappend(made_nodes, plan);
	MemoryContextSwitchTo(old);
	return &plan->scan.plan;
}

/* ---------------------------------------------------------------- hooks */

static void
gpusort_create_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel, RelOptInfo *output_rel,
						   void *extra)
{
	if (prev_create_upper_paths_hook != NULL)
		prev_create_upper_paths_hook(root, stage, input_rel, output_rel, extra);
	if (stage == UPPERREL_ORDERED && gpusort_mode != GPUSORT_MODE_OFF)
		consider_gpusort(root, input_rel, output_rel);
}

static PlannedStmt *
gpusort_planner(Query *parse, const char *query_string, int cursor_options, ParamListInfo bound_params)
{
	List	   *outer_nodes = made_nodes;
	PlannedStmt *result;
	ListCell   *cell;

	made_nodes = NIL;
	PG_TRY();
	{
		result = prev_planner_hook != NULL ? prev_planner_hook(parse, query_string, cursor_options, bound_params)
			: standard_planner(parse, query_string, cursor_options, bound_params);
		foreach(cell, made_nodes)
			sort_plan_finish(lfirst_node(CustomScan, cell));
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
	bool		was_counting = counting;
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
