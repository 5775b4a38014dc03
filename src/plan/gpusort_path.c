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
#include "key/supported.h"
#include "plan/choice.h"
#include "plan/cost.h"
#include "plan/devices.h"
#include "plan/forecast.h"
#include "plan/gpusort_path.h"
#include "plan/own_scan.h"
#include "plan/path_chain.h"
#include "plan/plan_walk.h"
#include "plan/predict.h"
#include "plan/predict_gpusort.h"
#include "plan/shape.h"
#include "plan/sort_columns.h"
#include "plan/sort_plan.h"

/* A path, with what its plan will be made of: few paths become plans. */
typedef struct GpuSortPath
{
	CustomPath path;
	bool for_order_by;
	SortShape shape;
	double input_ms;
	double ms;			/* of what the inputs take in it is what this one takes longer */
	double postgres_ms; /* the same of the rival's sort */
	RivalPlan replaced;
	int grouped;	 /* first columns whose equal values must come together, in whatever order */
	bool has_ranges; /* is it a GpuSortRanges? */
} GpuSortPath;

/* ---------------------------------------------------------------- sort columns */

/* Members of classes that are a child relation's alone match its own rows. */
static Relids
child_relids(const Path *input)
{
	return IS_OTHER_REL(input->parent) ? input->parent->relids : NULL;
}

/*
 * What of its class this output column of the input is, if it supplies the pathkey; else NULL.
 */
static const EquivalenceMember *
find_member(const PathKey *pathkey, const Path *input, int column)
{
	const PathTarget *target = input->pathtarget;
	EquivalenceClass *ec = pathkey->pk_eclass;
	Expr *expr = list_nth(target->exprs, column);

	if (ec->ec_has_volatile)
		return ec->ec_sortref != 0 && get_pathtarget_sortgroupref(target, column) == ec->ec_sortref
				   ? linitial(ec->ec_members)
				   : NULL;
	/* most columns are of another relation than any of the class */
	if (IsA(expr, Var) && child_relids(input) == NULL &&
		!bms_is_member(((const Var *) expr)->varno, ec->ec_relids))
		return NULL;
	return find_ec_member_matching_expr(ec, expr, child_relids(input));
}

/* The sort column that the pathkey would have on that output column of the input. */
static SortColumnSpec
column_spec(const PathKey *pathkey, const Path *input, int column, const EquivalenceMember *member)
{
	const Node *expr = list_nth(input->pathtarget->exprs, column);

	return (SortColumnSpec){.attno = column + 1,
							.type = exprType(expr),
							.row = sort_plan_row(expr),
							.sortop = pathkey_sort_operator(pathkey, member->em_datatype),
							.collation = pathkey->pk_eclass->ec_collation,
							.nulls_first = pathkey->pk_nulls_first};
}

/*
 * Fills the pathkey's sort column: the last that could supply it, which shape_init looks at.  False: there is
 * none, or another that could is none to sort by; the planner picks one of them later.
 */
static bool
find_column(const PathKey *pathkey, const Path *input, SortColumnSpec *column)
{
	bool found = false;

	for (int i = 0; i < list_length(input->pathtarget->exprs); i++)
	{
		const EquivalenceMember *member = find_member(pathkey, input, i);
		Declined why_not;
		bool verified;

		if (member == NULL)
			continue;
		if (found && !sort_key_supported_if_verified(column, &verified, &why_not))
			return false;
		*column = column_spec(pathkey, input, i, member);
		found = true;
	}
	return found;
}

/* Does this path make the values of its rows?  A scan of all columns returns them as they are stored. */
static bool
is_formed(const Path *input)
{
	const Path *scan = path_below_projection(input);
	List *columns = input->pathtarget->exprs;

	if (scan->pathtype != T_SeqScan || list_length(columns) != scan->parent->max_attr)
		return true;
	for (int i = 0; i < list_length(columns); i++)
	{
		const Var *column = list_nth(columns, i);

		if (!IsA(column, Var) || column->varattno != i + 1)
			return true;
	}
	return false;
}

/*
 * What is known of the sort, whoever does it.  Equal values of the first `grouped` columns must come
 * together, in whatever order.  False: no GpuSort can do it.
 */
static bool
describe_sort(const SortToOffer *sort, int grouped, SortShape *shape)
{
	const PathTarget *target = sort->input->pathtarget;
	int ncolumns = list_length(sort->pathkeys);
	SortColumnSpec *columns = palloc(sizeof(SortColumnSpec) * ncolumns);
	ColumnStats *stats = palloc(sizeof(ColumnStats) * ncolumns);
	Declined why_not;

	for (int i = 0; i < ncolumns; i++)
	{
		const PathKey *pathkey = list_nth_node(PathKey, sort->pathkeys, i);

		if (!find_column(pathkey, sort->input, &columns[i]))
			return false;
		if (i < grouped)
			columns[i].collation = sort_collation_of_groups(pathkey->pk_opfamily, columns[i].collation);
		stats[i] = column_stats_of_expr(sort->root, list_nth(target->exprs, columns[i].attno - 1));
	}
	if (!shape_init(shape, ncolumns, columns, stats, &why_not))
		return false;
	shape->rows = sort->rows;
	shape->width = target->width;
	shape_set_rows(shape, list_length(target->exprs), columns, &stats[0],
				   path_below_projection(sort->input)->pathtype == T_SeqScan);
	shape->wanted = sort->wanted;
	shape->formed = is_formed(sort->input);
	shape->rows_of_group = sort->group_columns > 0 ? 1 : 0;
	shape->group_columns = sort->group_columns;
	shape->device_memory = device_memory_of_sort();
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

/*
 * Predicts a GpuSort of this shape on one device, by several processes over a partial path; keeps the fastest
 * so far.
 */
static void
consider_candidate(const SortToOffer *sort, const CostYardstick *yardstick, const SortShape *shape,
				   Path *partial, DeviceKind device, Candidate *best)
{
	Candidate candidate = {.partial = partial,
						   .input = partial != NULL ? partial : sort->input,
						   .shape = *shape};

	if (partial != NULL)
		candidate.shape.processes = partial->parallel_workers + (parallel_leader_participation ? 1 : 0);
	candidate.shape = shape_for_gpusort(&candidate.shape);
	candidate.shape.returned_alone = !sort->root->glob->parallelModeOK;
	candidate.shape.device = device;
	candidate.time = cost_time_gpusort(yardstick, &candidate.shape, candidate.input);
	if (gpusort_mode == GPUSORT_MODE_AUTO && !is_worth_files(candidate.time.wanted, yardstick->time.wanted) &&
		cost_writes_more(yardstick, &candidate.shape))
		return;
	if (best->input == NULL || candidate.time.wanted < best->time.wanted)
		*best = candidate;
}

/* The fastest on the devices that the settings allow. */
static Candidate
fastest_candidate(const SortToOffer *sort, const CostYardstick *yardstick, const SortShape *shape)
{
	Candidate best = {.input = NULL};
	bool guesses = forecast_guesses(shape);

	for (DeviceKind device = DEVICE_CPU; device < DEVICES; device++)
	{
		if (!device_is_allowed(device, guesses, shape->beside))
			continue;
		consider_candidate(sort, yardstick, shape, NULL, device, &best);
		if (sort->partial != NULL)
			consider_candidate(sort, yardstick, shape, sort->partial, device, &best);
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
	const GpuSortPath *path = (const GpuSortPath *) best_path;
	SortPlanOptions options =
		{/* FETCH FIRST ... WITH TIES compares the sort columns of the rows that come out */
		 .output_is_used = !path->for_order_by || root->parse->limitOption == LIMIT_OPTION_WITH_TIES,
		 .sort_junk = find_sort_junk(root, tlist),
		 .restartable = !plan_is_volatile(root->glob->subplans, sort->plan.lefttree),
		 .expected = forecast_gpusort(&path->shape, path->input_ms, path->postgres_ms)};
	CustomScan *plan;

	options.expected.ms = path->ms;
	options.expected.replaced = path->replaced;
	options.group_columns = path->has_ranges ? path->grouped : 0;
	for (int i = 0; i < path->grouped; i++)
		sort->collations[i] =
			sort_collation_of_groups(list_nth_node(PathKey, best_path->path.pathkeys, i)->pk_opfamily,
									 sort->collations[i]);
	plan = sort_plan_from_sort(sort, tlist, &options);
	plan->flags = best_path->flags;
	own_scan_keep_serial(root);
	return &plan->scan.plan;
}

/* ---------------------------------------------------------------- paths */

static const CustomPathMethods path_methods = {.CustomName = GPUSORT_NODE_NAME,
											   .PlanCustomPath = plan_gpusort_path};

static const CustomPathMethods feed_path_methods = {.CustomName = GPUSORT_FEED_NODE_NAME,
													.PlanCustomPath = plan_feed_path};

/*
 * A Gather that feeds the partial path's rows to a sort above it; its costs are a part of the sort's.  No row
 * goes through the Gather, but PostgreSQL never expects fewer than one, and who reads plans divides by it.
 */
static Path *
create_feeding_gather(const SortToOffer *sort, const Candidate *candidate)
{
	CustomPath *feed = makeNode(CustomPath);
	Path *partial = candidate->partial;
	double rows = 1;

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
	return (Path *) create_gather_path(sort->root, sort->rel, &feed->path, partial->pathtarget, NULL, &rows);
}

/* A GpuSort over this input, which is the sort's own or feeds it, its cost not set. */
static GpuSortPath *
create_path_over(const SortToOffer *sort, Path *input)
{
	GpuSortPath *gpusort = (GpuSortPath *) newNode(sizeof(GpuSortPath), T_CustomPath);
	CustomPath *path = &gpusort->path;

	path->path.pathtype = T_CustomScan;
	path->path.parent = sort->rel;
	path->path.pathtarget = input->pathtarget;
	path->path.parallel_safe = sort->rel->consider_parallel && input->parallel_safe;
	path->path.pathkeys = sort->pathkeys;
	path->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
	path->custom_paths = list_make1(create_sort_path(sort->root, sort->rel, input, sort->pathkeys, -1.0));
	path->methods = &path_methods;
	gpusort->for_order_by = sort->for_order_by;
	gpusort->grouped = sort->grouped;
	return gpusort;
}

/* Milliseconds with the input, for as many rows as sort_time_total counts. */
static double
total_with_input(const SortShape *shape, const PathTime *time)
{
	return sort_time_total(shape, (SortTime){.first = time->first, .rest = time->all - time->first});
}

/*
 * What is known of it.  The two sorts may read different inputs, such as one that workers share: what the
 * input of both takes is left out of their times, what one of them takes longer is not.
 */
static void
note_candidate(const SortToOffer *sort, const Candidate *candidate, const CostYardstick *yardstick,
			   GpuSortPath *path)
{
	const SortShape *shape = &candidate->shape;
	double ours = total_with_input(shape, &candidate->time);
	double theirs = total_with_input(&yardstick->rival_shape, &yardstick->time);
	double input = Min(ours - sort_time_total(shape, candidate->time.sort),
					   theirs - sort_time_total(&yardstick->rival_shape, yardstick->time.sort));

	path->shape = *shape;
	path->input_ms = cost_input_ms(yardstick, shape, candidate->input);
	path->ms = ours - input;
	path->postgres_ms = theirs - input;
	path->replaced = sort->replaced;
}

/* EXPLAIN should not show a Gather that is dearer than what reads it. */
static void
set_costs(CustomPath *path, Cost startup, Cost total)
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

/* What is above the input's cost, multiplied by the factor. */
static Cost
scaled_above(Cost cost, Cost input, double factor)
{
	return cost > input ? input + factor * (cost - input) : cost;
}

void
gpusort_path_set_chain_cost(Path *top, Path *gpusort, Cost input, Cost total)
{
	double factor;

	/* over an input that workers share it may cost less than the input of one process */
	if (top->total_cost <= input + 1)
		input = 0;
	factor = (total - input) / Max(1, top->total_cost - input);
	for (Path *path = top; path != gpusort; path = path_input(path))
	{
		path->startup_cost = scaled_above(path->startup_cost, input, factor);
		path->total_cost = scaled_above(path->total_cost, input, factor);
	}
	set_costs((CustomPath *) gpusort, Min(scaled_above(gpusort->startup_cost, input, factor), total),
			  Min(total, scaled_above(gpusort->total_cost, input, factor)));
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
	SortTime time = candidate->time.sort;

	if (candidate->partial != NULL)
		time.first -= predict_launch(&candidate->shape);
	return time;
}

/* PostgreSQL's own sort of the rows by one process, which the rival may be. */
static const SortPath *
serial_sort(const SortToOffer *sort, const CostYardstick *yardstick)
{
	const Path *rival = yardstick->rival.path;

	if (IsA(rival, SortPath) && yardstick->rival.input == sort->input)
		return (const SortPath *) rival;
	return create_sort_path(sort->root, sort->rel, sort->input, sort->pathkeys, -1);
}

static CustomPath *
create_path(const SortToOffer *sort, const Candidate *candidate, const CostYardstick *yardstick)
{
	Path *input = candidate->partial != NULL ? create_feeding_gather(sort, candidate) : sort->input;
	GpuSortPath *gpusort = create_path_over(sort, input);
	CustomPath *path = &gpusort->path;

	note_candidate(sort, candidate, yardstick, gpusort);
	if (sort->for_order_by || rival_fetches_rows(&yardstick->rival))
		cost_set(yardstick, &candidate->time, sort->for_order_by ? 0 : input_cost(candidate), &path->path);
	else
		cost_set_in_plan(yardstick, time_without_launch(candidate), input_cost(candidate),
						 serial_sort(sort, yardstick), &path->path);
	set_costs(path, path->path.startup_cost, path->path.total_cost);
	path_inherit_disabled(&path->path, input, !enable_sort && gpusort_mode != GPUSORT_MODE_FORCE);
	return path;
}

bool
sort_may_be_offered(const Path *input, List *pathkeys)
{
	return input->param_info == NULL && !pathkeys_contained_in(pathkeys, input->pathkeys);
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
	SortShape shape;
	SortShape grouping;
	CostYardstick yardstick;
	Candidate candidate;
	bool is_faster;

	if (sort_repeats_volatile(sort->input->pathtarget->exprs) || !describe_sort(sort, 0, &shape) ||
		!describe_sort(sort, sort->grouped, &grouping))
		return NULL;
	cost_yardstick_init(&yardstick, rival, &shape, sort->fraction, sort->input, sort->with_ties);
	candidate = fastest_candidate(sort, &yardstick, &grouping);
	if (candidate.input == NULL)
		return NULL;
	/* an incremental sort need not read all of its input then, whatever a GpuSort saves of all */
	is_faster = cost_is_lower(&yardstick, &candidate.time) &&
				!(yardstick.rival_shape.groups > 0 && may_end_early(sort->root));
	if (expected != NULL)
		*expected =
			(SortExpectation){.shape = candidate.shape,
							  .ms = candidate.time.all,
							  .part = 1,
							  .input_ms = cost_input_ms(&yardstick, &shape, sort->input),
							  .rival_ms = sort_time_total(&yardstick.rival_shape, yardstick.time.sort),
							  .is_faster = is_faster};
	if (gpusort_mode != GPUSORT_MODE_FORCE && sort->hashed == NULL && !is_faster)
		return NULL;
	return create_path(sort, &candidate, &yardstick);
}

/* The part of the rows that one of the processes reads; the leader reads less, as PostgreSQL assumes. */
static double
part_of_process(const Path *partial)
{
	double leader = parallel_leader_participation ? Max(0, 1 - 0.3 * partial->parallel_workers) : 0;

	return 1 / (partial->parallel_workers + leader);
}

/* PostgreSQL counts no processors, but processes that have none wait for the others. */
static SortExpectation
expect_ranges(const SortToOffer *sort, const CostYardstick *yardstick, const Candidate *candidate)
{
	const PathTime *time = &candidate->time;
	double part = Max(part_of_process(sort->partial), 1 / running_processes(&candidate->shape));

	return (SortExpectation){.shape = candidate->shape,
							 .ms = time->first + (time->all - time->first) * part,
							 .part = part,
							 .input_ms = cost_input_ms(yardstick, &yardstick->shape, sort->input),
							 .rival_ms = sort_time_total(&yardstick->rival_shape, yardstick->time.sort),
							 .is_faster = cost_is_lower(yardstick, time)};
}

Path *
gpusort_path_ranges(const SortToOffer *sort, const Rival *rival, SortExpectation *expected)
{
	SortShape shape;
	SortShape grouping;
	CostYardstick yardstick;
	Candidate candidate = {.input = NULL};
	GpuSortPath *ranges;
	Path *path;
	double part = part_of_process(sort->partial);

	if (sort_repeats_volatile(sort->input->pathtarget->exprs) || !describe_sort(sort, 0, &shape) ||
		!describe_sort(sort, sort->grouped, &grouping))
		return NULL;
	cost_yardstick_init(&yardstick, rival, &shape, sort->fraction, sort->input, sort->with_ties);
	consider_candidate(sort, &yardstick, &grouping, sort->partial, DEVICE_CPU, &candidate);
	if (candidate.input == NULL)
		return NULL;
	if (expected != NULL)
		*expected = expect_ranges(sort, &yardstick, &candidate);
	ranges = (GpuSortPath *) create_path(sort, &candidate, &yardstick);
	path = &ranges->path.path;
	ranges->has_ranges = true;
	ranges->path.flags = 0;
	ranges->path.custom_paths =
		list_make1(create_sort_path(sort->root, sort->rel, sort->partial, sort->pathkeys, -1.0));
	path->parallel_aware = path->parallel_safe = true;
	path->parallel_workers = sort->partial->parallel_workers;
	path->rows *= part;
	path->startup_cost = Max(path->startup_cost - parallel_setup_cost, sort->partial->total_cost);
	path->total_cost = path->startup_cost + Max(0, path->total_cost - path->startup_cost) * part;
	return path;
}
