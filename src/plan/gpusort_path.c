/*
 * plan/gpusort_path.c
 *		A GpuSort as a path of the planner's.
 *
 * The path's only child is a Sort path, made by the planner's own functions, over the real input: so that the
 * planner works out the sort columns of the plan as it would for its own sort.  PlanCustomPath then takes the
 * Sort node's place.
 *
 * Where the input has a partial path, a GpuSort may stand over a Gather of GpuSortFeed over that: several
 * processes feed one sort then.  Of one process or several, and of the devices, the fastest is taken.
 */
#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "key/sort_key.h"
#include "plan/choice.h"
#include "plan/cost.h"
#include "plan/forecast.h"
#include "plan/gpusort_path.h"
#include "plan/own_scan.h"
#include "plan/plan_walk.h"
#include "plan/shape.h"
#include "plan/sort_plan.h"
#include "service/state.h"

/* Members of a path's custom_private. */
enum
{
	PATH_EXPECTED,	  /* a SortExpected */
	PATH_FOR_ORDER_BY /* Integer */
};

/* ---------------------------------------------------------------- sort columns */

/* Members of classes that are a child relation's alone match its own rows. */
static Relids
child_relids(const Path *input)
{
	return IS_OTHER_REL(input->parent) ? input->parent->relids : NULL;
}

/* Does this output column of the input supply the pathkey? */
static bool
column_matches(const PathKey *pathkey, const Path *input, int column)
{
	const PathTarget *target = input->pathtarget;
	EquivalenceClass *ec = pathkey->pk_eclass;

	if (ec->ec_has_volatile)
		return ec->ec_sortref != 0 && get_pathtarget_sortgroupref(target, column) == ec->ec_sortref;
	return find_ec_member_matching_expr(ec, list_nth(target->exprs, column), child_relids(input)) != NULL;
}

/* The sort column that the pathkey would have on this output column of the input. */
static SortColumnSpec
column_spec(const PathKey *pathkey, const Path *input, int column)
{
	Expr *expr = list_nth(input->pathtarget->exprs, column);
	EquivalenceClass *ec = pathkey->pk_eclass;
	EquivalenceMember *member = ec->ec_has_volatile
									? linitial(ec->ec_members)
									: find_ec_member_matching_expr(ec, expr, child_relids(input));

	return (SortColumnSpec){.attno = column + 1,
							.type = exprType((Node *) expr),
							.sortop = pathkey_sort_operator(pathkey, member->em_datatype),
							.collation = ec->ec_collation,
							.nulls_first = pathkey->pk_nulls_first};
}

/*
 * Can the path's rows be sorted by the pathkeys?  Every column that could supply a pathkey must be one that
 * can, since the planner picks one of them later.  Fills columns, one a pathkey.
 */
static bool
pathkeys_supported(List *pathkeys, const Path *input, SortColumnSpec *columns)
{
	ListCell *cell;

	foreach(cell, pathkeys)
	{
		const PathKey *pathkey = lfirst_node(PathKey, cell);
		bool found = false;

		for (int i = 0; i < list_length(input->pathtarget->exprs); i++)
		{
			Declined why_not;
			bool verified;

			if (!column_matches(pathkey, input, i))
				continue;
			columns[foreach_current_index(cell)] = column_spec(pathkey, input, i);
			if (!sort_key_supported_if_verified(&columns[foreach_current_index(cell)], &verified, &why_not))
				return false;
			found = true;
		}
		if (!found)
			return false;
	}
	return true;
}

/* ---------------------------------------------------------------- candidates */

/* A GpuSort that might be made, and how long it would take. */
typedef struct Candidate
{
	Path *partial;	   /* what several processes would read, or NULL */
	const Path *input; /* that, or what a single process reads; NULL: there is no candidate */
	SortShape shape;
	PathTime time;
} Candidate;

/* Predicts a GpuSort on one device, by several processes over a partial path; keeps the fastest so far. */
static void
consider_candidate(const SortToOffer *sort, const CostYardstick *yardstick, Path *partial, bool on_gpu,
				   Candidate *best)
{
	Candidate candidate = {.partial = partial,
						   .input = partial != NULL ? partial : sort->input,
						   .shape = yardstick->shape};

	candidate.shape.processes = 1;
	if (partial != NULL)
		candidate.shape.processes = partial->parallel_workers + (parallel_leader_participation ? 1 : 0);
	candidate.shape = shape_for_gpusort(&candidate.shape);
	candidate.shape.returned_alone = !sort->root->glob->parallelModeOK;
	candidate.shape.on_gpu = on_gpu;
	candidate.shape.device_memory = guc_sort_device_memory(gpu_service_device_memory());
	candidate.time = cost_time_gpusort(yardstick, &candidate.shape, candidate.input);
	if (gpusort_mode == GPUSORT_MODE_AUTO && !is_worth_files(candidate.time.wanted, yardstick->time.wanted) &&
		cost_writes_more(yardstick, &candidate.shape))
		return;
	if (best->input == NULL || candidate.time.wanted < best->time.wanted)
		*best = candidate;
}

/* The fastest on the devices that the settings allow; a card sorts only by keys that say the order. */
static Candidate
fastest_candidate(const SortToOffer *sort, const CostYardstick *yardstick)
{
	Candidate best = {.input = NULL};
	bool with_gpu = sort_may_use_gpu() && !yardstick->shape.verified;
	bool with_cpu = !with_gpu || gpusort_backend != GPUSORT_BACKEND_CUDA;

	for (int on_gpu = with_cpu ? 0 : 1; on_gpu <= (with_gpu ? 1 : 0); on_gpu++)
	{
		consider_candidate(sort, yardstick, NULL, on_gpu, &best);
		if (sort->partial != NULL)
			consider_candidate(sort, yardstick, sort->partial, on_gpu, &best);
	}
	return best;
}

/* ---------------------------------------------------------------- plans */

/* The GpuSort that is made above it completes it. */
static Plan *
plan_feed_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
			   List *custom_plans)
{
	return &sort_plan_feed(linitial(custom_plans), tlist)->scan.plan;
}

/* The columns (resnos) of the query's output that are there for the sort alone; of another output NULL. */
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
	Sort *sort = linitial_node(Sort, custom_plans);
	bool for_order_by = intVal(list_nth(best_path->custom_private, PATH_FOR_ORDER_BY)) != 0;
	SortPlanOptions options =
		{/* FETCH FIRST ... WITH TIES compares the sort columns of the rows that come out */
		 .output_is_used = !for_order_by || root->parse->limitOption == LIMIT_OPTION_WITH_TIES,
		 .sort_junk = find_sort_junk(root, tlist),
		 .restartable = !plan_is_volatile(root->glob->subplans, sort->plan.lefttree),
		 .expected = sort_expected_from_list(list_nth(best_path->custom_private, PATH_EXPECTED))};
	CustomScan *plan = sort_plan_from_sort(sort, tlist, &options);

	plan->flags = best_path->flags;
	own_scan_keep_serial(root);
	return &plan->scan.plan;
}

/* ---------------------------------------------------------------- paths */

static const CustomPathMethods path_methods = {.CustomName = GPUSORT_NODE_NAME,
											   .PlanCustomPath = plan_gpusort_path};

static const CustomPathMethods feed_path_methods = {.CustomName = GPUSORT_FEED_NODE_NAME,
													.PlanCustomPath = plan_feed_path};

/* Milliseconds with the input, for as many rows as sort_time_total counts. */
static double
total_with_input(const SortShape *shape, const PathTime *time)
{
	return sort_time_total(shape, (SortTime){.first = time->first, .rest = time->all - time->first});
}

/*
 * What a path says of its GpuSort.  The two sorts may read different inputs, such as one that workers share:
 * what the input of both takes is left out of their times, what one of them takes longer is not.
 */
static List *
candidate_to_private(const SortToOffer *sort, const Candidate *candidate, const CostYardstick *yardstick)
{
	const SortShape *shape = &candidate->shape;
	double ours = total_with_input(shape, &candidate->time);
	double theirs = total_with_input(&yardstick->rival_shape, &yardstick->time);
	double input = Min(ours - sort_time_total(shape, candidate->time.sort),
					   theirs - sort_time_total(&yardstick->rival_shape, yardstick->time.sort));
	SortExpected expected =
		forecast_gpusort(shape, cost_input_ms(yardstick, shape, candidate->input), theirs - input);

	expected.ms = ours - input;
	expected.replaced = sort->replaced;
	return list_make2(sort_expected_to_list(&expected), makeInteger(sort->for_order_by));
}

/* A Gather that feeds the partial path's rows to a sort above it; its costs are a part of the sort's. */
static Path *
create_feeding_gather(const SortToOffer *sort, const Candidate *candidate)
{
	CustomPath *feed = makeNode(CustomPath);
	Path *partial = candidate->partial;
	double no_rows = 0;

	feed->path.pathtype = T_CustomScan;
	feed->path.parent = sort->rel;
	feed->path.pathtarget = partial->pathtarget;
	feed->path.parallel_aware = true;
	feed->path.parallel_safe = true;
	feed->path.parallel_workers = partial->parallel_workers;
	feed->path.rows = partial->rows;
	feed->path.startup_cost = feed->path.total_cost = partial->total_cost;
	feed->custom_paths = list_make1(partial);
	feed->methods = &feed_path_methods;
	path_inherit_disabled(&feed->path, partial, false);
	return (Path *) create_gather_path(sort->root, sort->rel, &feed->path, partial->pathtarget, NULL,
									   &no_rows);
}

/* A GpuSort over this input, which is the sort's own or feeds it, its cost not set. */
static CustomPath *
create_path_over(const SortToOffer *sort, Path *input)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = sort->rel;
	path->path.pathtarget = input->pathtarget;
	path->path.parallel_safe = sort->rel->consider_parallel && input->parallel_safe;
	path->path.pathkeys = sort->pathkeys;
	path->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
	path->custom_paths = list_make1(create_sort_path(sort->root, sort->rel, input, sort->pathkeys, -1.0));
	path->methods = &path_methods;
	return path;
}

CustomPath *
gpusort_path_in_place_of(const CustomPath *path, RivalPlan replaced)
{
	CustomPath *copy = palloc(sizeof(*copy));
	SortExpected expected = sort_expected_from_list(list_nth(path->custom_private, PATH_EXPECTED));

	expected.replaced = replaced;
	*copy = *path;
	copy->custom_private =
		list_make2(sort_expected_to_list(&expected), list_nth(path->custom_private, PATH_FOR_ORDER_BY));
	return copy;
}

/* EXPLAIN should not show a Gather that is dearer than what reads it. */
void
gpusort_path_set_costs(CustomPath *path, Cost startup, Cost total)
{
	Path *input = linitial_node(SortPath, path->custom_paths)->subpath;

	path->path.startup_cost = startup;
	path->path.total_cost = total;
	if (IsA(input, GatherPath) && IsA(((GatherPath *) input)->subpath, CustomPath))
	{
		input->total_cost = Min(input->total_cost, startup);
		input->startup_cost = Min(input->startup_cost, input->total_cost);
	}
}

/* What the input costs, with the start of workers who share it. */
static Cost
input_cost(const Candidate *candidate)
{
	return candidate->input->total_cost + (candidate->partial != NULL ? parallel_setup_cost : 0);
}

/* The input's cost has the start of workers. */
static SortTime
time_without_launch(const Candidate *candidate)
{
	SortShape shape = candidate->shape;

	shape.launch = 0;
	return predict_gpusort(&shape);
}

static CustomPath *
create_path(const SortToOffer *sort, const Candidate *candidate, const CostYardstick *yardstick)
{
	Path *input = candidate->partial != NULL ? create_feeding_gather(sort, candidate) : sort->input;
	CustomPath *path = create_path_over(sort, input);

	path->custom_private = candidate_to_private(sort, candidate, yardstick);
	if (sort->for_order_by)
		cost_set(yardstick, &candidate->time, &path->path);
	else
		cost_set_in_plan(yardstick, time_without_launch(candidate), input_cost(candidate),
						 create_sort_path(sort->root, sort->rel, sort->input, sort->pathkeys, -1),
						 &path->path);
	gpusort_path_set_costs(path, path->path.startup_cost, path->path.total_cost);
	path_inherit_disabled(&path->path, input, !enable_sort && gpusort_mode != GPUSORT_MODE_FORCE);
	return path;
}

/*
 * Do the columns tell which rows of a table with partitions or children are to be written?  setrefs.c puts
 * such columns right where the planner's own nodes have them, but not in the description of a scan tuple.
 */
static bool
has_row_identities(const PlannerInfo *root, const PathTarget *target)
{
	ListCell *cell;

	if (root->row_identity_vars == NIL)
		return false;
	foreach(cell, target->exprs)
	{
		if (IsA(lfirst(cell), Var) && lfirst_node(Var, cell)->varno == ROWID_VAR)
			return true;
	}
	return false;
}

/* What is known of the sort, whoever does it. */
static void
describe_sort(const SortToOffer *sort, const SortColumnSpec *columns, SortShape *shape)
{
	const PathTarget *target = sort->input->pathtarget;
	int ncolumns = list_length(sort->pathkeys);
	ColumnStats *stats = palloc(sizeof(ColumnStats) * ncolumns);

	for (int i = 0; i < ncolumns; i++)
		stats[i] = column_stats_of_expr(sort->root, list_nth(target->exprs, columns[i].attno - 1));
	memset(shape, 0, sizeof(*shape));
	shape->rows = sort->input->rows;
	shape->width = target->width;
	(void) shape_init(shape, list_length(target->exprs), ncolumns, columns, stats,
					  path_below_projection(sort->input)->pathtype == T_SeqScan);
	shape->wanted = sort->wanted;
}

bool
sort_may_be_offered(const Path *input, List *pathkeys)
{
	return input->param_info == NULL && sort_has_rows_enough(input->rows) &&
		   !pathkeys_contained_in(pathkeys, input->pathkeys);
}

Path *
partial_input(const RelOptInfo *rel, List *pathkeys)
{
	Path *partial;

	if (!rel->consider_parallel || rel->partial_pathlist == NIL)
		return NULL;
	partial = linitial(rel->partial_pathlist);
	if (partial->parallel_workers <= 0 || pathkeys_contained_in(pathkeys, partial->pathkeys))
		return NULL;
	return partial;
}

CustomPath *
gpusort_path(const SortToOffer *sort, const Rival *rival, SortExpectation *expected)
{
	SortColumnSpec *columns = palloc(sizeof(SortColumnSpec) * list_length(sort->pathkeys));
	const PathTarget *target = sort->input->pathtarget;
	SortShape shape;
	CostYardstick yardstick;
	Candidate candidate;
	bool is_faster;

	if (!pathkeys_supported(sort->pathkeys, sort->input, columns) || sort_repeats_volatile(target->exprs) ||
		has_row_identities(sort->root, target))
		return NULL;
	describe_sort(sort, columns, &shape);
	cost_yardstick_init(&yardstick, rival, &shape, sort->fraction, sort->input, sort->with_ties);
	candidate = fastest_candidate(sort, &yardstick);
	if (candidate.input == NULL)
		return NULL;
	is_faster = cost_is_lower(&yardstick, &candidate.time);
	if (gpusort_mode != GPUSORT_MODE_FORCE && sort->hashed == NULL && !is_faster)
		return NULL;
	if (expected != NULL)
		*expected = (SortExpectation){.shape = candidate.shape,
									  .ms = candidate.time.all,
									  .input_ms = cost_input_ms(&yardstick, &shape, sort->input),
									  .is_faster = is_faster};
	return create_path(sort, &candidate, &yardstick);
}
