/*
 * plan/planner.c
 *		Offering GpuSort to the planner.
 *
 * For a query's ORDER BY, create_upper_paths_hook looks at the path that PostgreSQL would choose of its own.
 * If that one sorts, or fetches the rows by an index, and a GpuSort is expected to be faster (cost.c) without
 * clearly more temporary files, a GpuSort path over the cheapest input is added, at a lower cost.  If it gets
 * the order in another way, the plan stays: a GpuSort takes the place of a Sort or an index scan, it is never
 * the reason for another plan.  In mode force paths that sort are taken out of the competition, and a GpuSort
 * comes in, however long it takes.
 *
 * The path's only child is a Sort path, made by the planner's own functions, over the real input: so that the
 * planner works out the sort columns of the plan as it would for its own sort.  PlanCustomPath then takes the
 * Sort node's place.
 *
 * Where the input has a partial path, a GpuSort may stand over a Gather of GpuSortFeed over that: several
 * processes feed one sort then.  Of one process or several, and of the devices, the fastest is taken.
 *
 * Nodes are complete when PlanCustomPath has made them: planner_hook, which takes the Sorts that are for
 * something else (take_sorts.c), may not even see the plans, if another extension has one, too.
 */
#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "key/sort_key.h"
#include "plan/choice.h"
#include "plan/cost.h"
#include "plan/pathkeys.h"
#include "plan/planner.h"
#include "plan/rival.h"
#include "plan/shape.h"
#include "plan/sort_plan.h"
#include "plan/take_sorts.h"
#include "service/state.h"

static create_upper_paths_hook_type prev_create_upper_paths_hook;
static planner_hook_type prev_planner_hook;

/* Are the sorts of finished plans counted? */
static bool counting = true;

/* ---------------------------------------------------------------- decisions */

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

/* Could evaluating this part of the query once more give other rows, or do something twice? */
static bool
is_volatile(Query *query, PlannerInfo *root)
{
	return contain_volatile_functions((Node *) query) ||
		   query_tree_walker(query, has_volatile_subplan, root,
							 QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES);
}

static bool
query_is_volatile(PlannerInfo *root)
{
	return is_volatile(root->parse, root);
}

/*
 * The same of what is below the query's sort, whose input has these columns: not the LIMIT, nor what of the
 * output is computed from the sorted rows.  Columns that the query groups or sorts by are below it.
 */
static bool
sort_input_is_volatile(PlannerInfo *root, List *columns)
{
	Query below = *root->parse;
	ListCell *cell;

	below.limitOffset = below.limitCount = NULL;
	below.targetList = NIL;
	foreach(cell, root->parse->targetList)
	{
		if (lfirst_node(TargetEntry, cell)->ressortgroupref != 0)
			below.targetList = lappend(below.targetList, lfirst(cell));
	}
	return is_volatile(&below, root) || contain_volatile_functions((Node *) columns) ||
		   has_volatile_subplan((Node *) columns, root);
}

/* ---------------------------------------------------------------- paths */

static Plan *plan_gpusort_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist,
							   List *clauses, List *custom_plans);

static Plan *plan_feed_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist,
							List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {.CustomName = GPUSORT_NODE_NAME,
											   .PlanCustomPath = plan_gpusort_path};

static const CustomPathMethods feed_path_methods = {.CustomName = GPUSORT_FEED_NODE_NAME,
													.PlanCustomPath = plan_feed_path};

/* A GpuSort that might be made, and how long it would take. */
typedef struct Candidate
{
	bool found;	   /* false: there is none */
	Path *partial; /* what several processes would read, or NULL */
	SortShape shape;
	PathTime time;
} Candidate;

/* How long the cpu device would take for it. */
static double
candidate_cpu_ms(const Candidate *candidate)
{
	SortShape shape = candidate->shape;

	shape.on_gpu = false;
	return sort_time_total(&shape, predict_gpusort(&shape));
}

/* Is the GpuSort expected to be faster on the cuda device than on the cpu device, whichever was chosen? */
static bool
is_faster_on_gpu(const Candidate *candidate, const CostYardstick *yardstick, const Path *input)
{
	SortShape shape = candidate->shape;
	PathTime other;

	shape.on_gpu = !shape.on_gpu;
	other = cost_time_gpusort(yardstick, &shape, candidate->partial != NULL ? candidate->partial : input);
	return shape.on_gpu == (other.wanted < candidate->time.wanted);
}

/*
 * How many rows a LIMIT must want, at least, for the cuda device to be expected to be the faster one, to a
 * power of 2; 0: whatever it wants, -1: never.  The planner has to guess what many a LIMIT wants; when the
 * sort begins it is known.
 */
static double
rows_for_gpu(const Candidate *candidate, const CostYardstick *yardstick, const Path *input)
{
	Candidate limited = *candidate;
	double least = -1;

	if (!sort_may_use_gpu())
		return -1;
	for (double wanted = Max(1, yardstick->shape.rows); wanted >= 1; wanted /= 2)
	{
		limited.shape.wanted = wanted;
		limited.time = cost_time_gpusort(yardstick, &limited.shape,
										 candidate->partial != NULL ? candidate->partial : input);
		if (!is_faster_on_gpu(&limited, yardstick, input))
			return least;
		least = wanted;
	}
	return 0;
}

/* What a path says of its GpuSort. */
static List *
candidate_to_private(const Candidate *candidate, const CostYardstick *yardstick, const Path *input)
{
	double expected = sort_time_total(&candidate->shape, candidate->time.sort);
	double expected_of_postgres = sort_time_total(&yardstick->rival_shape, yardstick->time.sort);

	List *private =
		list_make5(makeInteger(is_faster_on_gpu(candidate, yardstick, input)),
				   makeInteger((int) Min(candidate->shape.key_bytes, INT_MAX)),
				   makeFloat(psprintf("%.3f", expected)), makeFloat(psprintf("%.3f", expected_of_postgres)),
				   makeFloat(psprintf("%.3f", candidate_cpu_ms(candidate))));

	return lappend(private, makeFloat(psprintf("%.0f", rows_for_gpu(candidate, yardstick, input))));
}

/* A GpuSort over this input, its cost not set. */
static CustomPath *
create_gpusort_path(PlannerInfo *root, RelOptInfo *ordered_rel, Path *input)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = ordered_rel;
	path->path.pathtarget = input->pathtarget;
	path->path.parallel_safe = ordered_rel->consider_parallel && input->parallel_safe;
	path->path.pathkeys = root->sort_pathkeys;
	path->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
	path->custom_paths = list_make1(create_sort_path(root, ordered_rel, input, root->sort_pathkeys, -1.0));
	path->methods = &path_methods;
	return path;
}

/*
 * The partial path's rows, fed to a sort above the Gather that is returned; their costs are a part of the
 * sort's.
 */
static Path *
create_feeding_gather(PlannerInfo *root, RelOptInfo *ordered_rel, const Candidate *candidate)
{
	CustomPath *feed = makeNode(CustomPath);
	Path *partial = candidate->partial;
	double passed_rows = predict_passed_rows(&candidate->shape);

	feed->path.pathtype = T_CustomScan;
	feed->path.parent = ordered_rel;
	feed->path.pathtarget = partial->pathtarget;
	feed->path.parallel_aware = true;
	feed->path.parallel_safe = true;
	feed->path.parallel_workers = partial->parallel_workers;
	feed->path.rows = partial->rows;
	feed->path.startup_cost = feed->path.total_cost = partial->total_cost;
	feed->custom_paths = list_make1(partial);
	feed->methods = &feed_path_methods;
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
 * Predicts a GpuSort on one device, by one process or, over a partial path, by several; keeps it if it is the
 * fastest so far.
 */
static void
consider_candidate(const CostYardstick *yardstick, Path *input, Path *partial, bool on_gpu, Candidate *best)
{
	Candidate candidate = {.found = true, .partial = partial, .shape = yardstick->shape};

	candidate.shape.processes = 1;
	if (partial != NULL)
		candidate.shape.processes = partial->parallel_workers + (parallel_leader_participation ? 1 : 0);
	candidate.shape = shape_for_gpusort(&candidate.shape);
	candidate.shape.on_gpu = on_gpu;
	candidate.shape.device_memory = gpu_service_device_memory();
	if (gpusort_mode == GPUSORT_MODE_AUTO && cost_writes_more(yardstick, &candidate.shape))
		return;
	candidate.time = cost_time_gpusort(yardstick, &candidate.shape, partial != NULL ? partial : input);
	if (!best->found || candidate.time.wanted < best->time.wanted)
		*best = candidate;
}

/*
 * The fastest GpuSort on the devices that the settings allow: the cuda device where it is there, or is asked
 * for, and keys say the order.
 */
static Candidate
fastest_candidate(const CostYardstick *yardstick, Path *input, Path *partial)
{
	Candidate best = {.found = false};
	bool with_gpu = sort_may_use_gpu() && !yardstick->shape.verified;
	bool with_cpu = !with_gpu || gpusort_backend != GPUSORT_BACKEND_CUDA;

	for (int on_gpu = with_cpu ? 0 : 1; on_gpu <= (with_gpu ? 1 : 0); on_gpu++)
	{
		consider_candidate(yardstick, input, NULL, on_gpu, &best);
		if (partial != NULL)
			consider_candidate(yardstick, input, partial, on_gpu, &best);
	}
	return best;
}

static void
add_candidate(PlannerInfo *root, RelOptInfo *ordered_rel, const CostYardstick *yardstick,
			  const Candidate *candidate, Path *input, PathTarget *target)
{
	List *private = candidate_to_private(candidate, yardstick, input);
	CustomPath *path;

	if (candidate->partial != NULL)
		input = create_feeding_gather(root, ordered_rel, candidate);
	path = create_gpusort_path(root, ordered_rel, input);
	path->custom_private = private;
	cost_set(yardstick, &candidate->time, &path->path);
	if (candidate->partial != NULL)
	{
		/* EXPLAIN should not show an input that is dearer than what reads it */
		input->total_cost = Min(input->total_cost, path->path.startup_cost);
		input->startup_cost = Min(input->startup_cost, input->total_cost);
	}
	add_gpusort_path(root, ordered_rel, path, input, target);
}

/*
 * How many rows the LIMIT above the sort lets through, -1: all.  It may be that of an outer query, if that
 * passes on what it wants; and where its count is a parameter, it is what the planner assumes then, a part of
 * the rows.
 */
static double
rows_wanted(const PlannerInfo *root, double rows)
{
	const PlannerInfo *outer = root->parent_root;

	if (root->limit_tuples >= 0)
		return root->limit_tuples;
	if (root->parse->limitCount != NULL)
		return root->tuple_fraction > 0 ? wanted_fraction(root, rows) * rows : -1;
	if (outer == NULL || limit_needed(root->parse) || root->tuple_fraction <= 0 ||
		root->tuple_fraction != outer->tuple_fraction)
		return -1;
	return rows_wanted(outer, rows);
}

/* What is known of the sort, whoever does it. */
static void
describe_sort(PlannerInfo *root, const Path *input, const SortColumnSpec *columns, SortShape *shape)
{
	int ncolumns = list_length(root->sort_pathkeys);
	ColumnStats *stats = palloc(sizeof(ColumnStats) * ncolumns);
	const Path *scan = IsA(input, ProjectionPath) ? ((const ProjectionPath *) input)->subpath : input;

	for (int i = 0; i < ncolumns; i++)
		stats[i] = column_stats_of_expr(root, list_nth(input->pathtarget->exprs, columns[i].attno - 1));
	memset(shape, 0, sizeof(*shape));
	shape->rows = input->rows;
	shape->width = input->pathtarget->width;
	(void) shape_init(shape, list_length(input->pathtarget->exprs), ncolumns, columns, stats,
					  scan->pathtype == T_SeqScan);
	shape->wanted = rows_wanted(root, shape->rows);
}

/* Adds a GpuSort path for the query's ORDER BY to ordered_rel, if there is one to add. */
static void
consider_gpusort(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel)
{
	Path *input = input_rel->cheapest_total_path;
	bool force = gpusort_mode == GPUSORT_MODE_FORCE;
	SortColumnSpec *columns;
	PathTarget *target;
	Declined why_not;
	Rival rival;
	double fraction;
	SortShape shape;
	CostYardstick yardstick;
	Candidate candidate;

	if (root->sort_pathkeys == NIL || ordered_rel->pathlist == NIL || input == NULL ||
		input->param_info != NULL || pathkeys_contained_in(root->sort_pathkeys, input->pathkeys))
		return;
	fraction = wanted_fraction(root, input->rows);
	if (!sort_worth_taking(input->rows, &why_not) ||
		!rival_find(input_rel, ordered_rel, fraction, force, &rival))
		return;
	columns = palloc(sizeof(SortColumnSpec) * list_length(root->sort_pathkeys));
	target = ((Path *) linitial(ordered_rel->pathlist))->pathtarget;
	if (!pathkeys_supported(root->sort_pathkeys, input->pathtarget, columns) ||
		sort_repeats_volatile(input->pathtarget->exprs))
		return;
	describe_sort(root, input, columns, &shape);
	cost_yardstick_init(&yardstick, &rival, &shape, fraction, input,
						root->parse->limitOption == LIMIT_OPTION_WITH_TIES);
	candidate = fastest_candidate(&yardstick, input, partial_input(root, input_rel, ordered_rel));
	if (!candidate.found || !(force || cost_is_lower(&yardstick, &candidate.time)))
		return;
	if (force)
		remove_sorting_paths(ordered_rel);
	add_candidate(root, ordered_rel, &yardstick, &candidate, input, target);
}

/* The GpuSort that is made above it completes it. */
static Plan *
plan_feed_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
			   List *custom_plans)
{
	return &sort_plan_feed(linitial(custom_plans), tlist)->scan.plan;
}

/*
 * The columns (resnos) of an output that are there for the sort alone: those of the query's output that it
 * does not return.  NULL also if this is not the query's output, but what that is computed from.
 */
static Bitmapset *
find_sort_junk(const PlannerInfo *root, List *output)
{
	Bitmapset *junk = NULL;
	ListCell *output_cell;
	ListCell *query_cell;

	if (list_length(output) != list_length(root->processed_tlist))
		return NULL;
	forboth(output_cell, output, query_cell, root->processed_tlist)
	{
		const TargetEntry *column = lfirst_node(TargetEntry, output_cell);
		const TargetEntry *wanted = lfirst_node(TargetEntry, query_cell);

		if (!equal(column->expr, wanted->expr))
			return NULL;
		if (wanted->resjunk && wanted->ressortgroupref != 0)
			junk = bms_add_member(junk, column->resno);
	}
	return junk;
}

static Plan *
plan_gpusort_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
				  List *custom_plans)
{
	const Path *sorted = linitial(best_path->custom_paths);
	SortPlanOptions options =
		{/* FETCH FIRST ... WITH TIES compares the sort columns of the rows that come out */
		 .output_is_used = root->parse->limitOption == LIMIT_OPTION_WITH_TIES,
		 .sort_junk = find_sort_junk(root, tlist),
		 .restartable = !sort_input_is_volatile(root, sorted->pathtarget->exprs),
		 .is_faster_on_gpu = intVal(linitial(best_path->custom_private)) != 0,
		 .key_bytes = intVal(lsecond(best_path->custom_private)),
		 .expected_ms = floatVal(lthird(best_path->custom_private)),
		 .postgres_ms = floatVal(lfourth(best_path->custom_private)),
		 .cpu_ms = floatVal(list_nth(best_path->custom_private, 4)),
		 .rows_for_gpu = floatVal(list_nth(best_path->custom_private, 5))};
	CustomScan *plan = sort_plan_from_sort(linitial_node(Sort, custom_plans), tlist, &options);

	plan->flags = best_path->flags;
	return &plan->scan.plan;
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
gpusort_planner(planner_hook_parameters)
{
	PlannedStmt *result = prev_planner_hook != NULL ? prev_planner_hook(planner_hook_arguments)
													: standard_planner(planner_hook_arguments);

	return gpusort_mode == GPUSORT_MODE_OFF ? result : take_sorts(result, counting);
}

PlannedStmt *
planner_plan_uncounted(Query *query, const char *query_string)
{
	bool was_counting = counting;
	PlannedStmt *result;

	counting = false;
	PG_TRY();
	{
		result = pg_plan_unexplained_query(query, query_string, CURSOR_OPT_PARALLEL_OK, NULL);
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
