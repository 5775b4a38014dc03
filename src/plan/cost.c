/*
 * plan/cost.c
 *		What a GpuSort costs, in the planner's units: PostgreSQL's own cost times the ratio of the two times.
 *
 * PostgreSQL's cost of a Sort knows neither how long a type's comparisons take nor how wide its values are.
 * So the time of both sorts is predicted (predict.c), and a GpuSort over the same input costs
 *
 *		input + (cost of PostgreSQL's sort, above its input) * (time of the GpuSort) / (time of PostgreSQL's sort)
 *
 * which is the cheaper one of two if and only if it is the faster one.  The path to compare with, the rival,
 * is the one that PostgreSQL would choose of its own for the part of the rows that is wanted.  Where inputs
 * differ (several processes read one of them) their times, by their costs, come into it in the same units:
 *
 *		cost of the rival + (time of ours - time of the rival) * (cost of its sort) / (time of its sort)
 *
 * which is the formula above if the inputs are the same one.  So is the cost of an ORDER BY's path, which
 * competes with other sorts alone.  In the middle of a plan a path competes with other groupings, and the
 * cost of the rival, which may pass all rows through a Gather, says little of it: there the first formula
 * holds, with PostgreSQL's sort of these rows by one process, and the start of workers in the input's cost.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "plan/cost.h"
#include "plan/predict.h"
#include "plan/predict_gpusort.h"
#include "plan/predict_postgres.h"
#include "plan/shape.h"

double
wanted_fraction(const PlannerInfo *root, double rows)
{
	double fraction = root->tuple_fraction;

	if (fraction >= 1)
		fraction /= Max(rows, 1);
	return fraction <= 0 || fraction > 1 ? 1 : fraction;
}

bool
may_end_early(const PlannerInfo *root)
{
	for (root = root->parent_root; root != NULL; root = root->parent_root)
	{
		if (root->tuple_fraction > 0)
			return true;
	}
	return false;
}

/*
 * Of the time of an index scan a GpuSort may take this part: how long it takes depends on where the rows are,
 * of which little is known.
 */
#define INDEX_SCAN_SHARE 0.75

/* The cost, or a difference of two, without what an enable_ setting that is off has added to it. */
static Cost
without_disabled(Cost cost)
{
	return cost - rint(cost / disable_cost) * disable_cost;
}

/* What the planner adds to a merge join for the sort of its inner input. */
static Cost
inner_sort_cost(const MergePath *merge)
{
	const Path *inner = merge->jpath.innerjoinpath;
	const Path *outer = merge->jpath.outerjoinpath;
	double rows = Max(inner->rows, 2);

	/* it is blocking, as that of the outer input is: all of it stands in the startup cost */
	if (merge->innersortkeys == NIL)
		return 0;
	return Max(0, Min(2 * cpu_operator_cost * rows * log2(rows),
					  merge->jpath.path.total_cost - inner->total_cost - outer->total_cost));
}

/* What every process does for all of it, in a path that several processes share. */
static Cost
unshared_cost(const Path *path)
{
	const JoinPath *join = (const JoinPath *) path;
	Cost cost = 0;

	switch (nodeTag(path))
	{
		case T_ProjectionPath:
			return unshared_cost(((const ProjectionPath *) path)->subpath);
		case T_MaterialPath:
			return unshared_cost(((const MaterialPath *) path)->subpath);
		case T_SortPath:
			return unshared_cost(((const SortPath *) path)->subpath);
		case T_AggPath:
			return unshared_cost(((const AggPath *) path)->subpath);
		case T_SubqueryScanPath:
			return unshared_cost(((const SubqueryScanPath *) path)->subpath);
		case T_MergePath:
			cost = inner_sort_cost((const MergePath *) path);
			break;
		case T_HashPath:
		case T_NestPath:
			break;
		default:
			return 0;
	}
	if (join->innerjoinpath->parallel_workers > 0)
		cost += unshared_cost(join->innerjoinpath);
	else if (join->innerjoinpath->param_info == NULL)
		cost += without_disabled(join->innerjoinpath->total_cost);
	return cost + unshared_cost(join->outerjoinpath);
}

/*
 * What a partial path costs, whose processes run beside each other: what every process does for all of it
 * they do one after the other, as far as there are fewer processors than processes.
 */
static Cost
partial_cost(const Path *path, const SortShape *shape, Cost cost)
{
	Cost unshared = Min(cost, unshared_cost(path));

	return cost - unshared + unshared * Max(1, shape->processes / running_processes(shape));
}

/* What it costs where one process would pay so much: they share what is not done by each. */
static Cost
shared_cost(const Path *path, const SortShape *shape, Cost serial)
{
	Cost unshared = Min(serial, unshared_cost(path));

	return unshared + (serial - unshared) / running_processes(shape);
}

/* A Gather's cost is mostly what the settings say of launching and passing rows; its time is predicted. */
static double
gather_ms(const CostYardstick *yardstick, const GatherPath *gather)
{
	SortShape shape = yardstick->shape;
	Cost cost = without_disabled(gather->subpath->total_cost);

	shape.rows = gather->path.rows;
	shape.processes = gather->num_workers + (parallel_leader_participation ? 1 : 0);
	return predict_input(partial_cost(gather->subpath, &shape, cost)) + predict_gather(&shape);
}

/* As much of a table's pages is rows, where they are full. */
#define ROWS_SHARE 0.9

/* What such an index scan takes longer than one of rows beside each other. */
static double
fetches_ms(const SortShape *shape, const Path *scan)
{
	SortShape fetched = *shape;

	fetched.table_bytes = ROWS_SHARE * scan->parent->pages * BLCKSZ;
	return predict_fetches(&fetched);
}

double
cost_input_ms(const CostYardstick *yardstick, const SortShape *shape, const Path *input)
{
	const Path *serial = path_below_projection(yardstick->serial_input);
	double cost = without_disabled(input->total_cost);

	input = path_below_projection(input);
	if (IsA(input, GatherPath))
		return gather_ms(yardstick, (const GatherPath *) input);
	if (shape->groups > 0 && IsA(input, IndexPath) && input->pathtype == T_IndexScan)
		return predict_input(cost) + fetches_ms(shape, input);
	if (shape->processes > 1)
	{
		if (!IsA(serial, GatherPath))
			cost = Min(cost, shared_cost(input, shape, without_disabled(serial->total_cost)));
		cost = partial_cost(input, shape, cost);
	}
	return predict_input(cost);
}

static PathTime
add_input(const CostYardstick *yardstick, const SortShape *shape, const Path *input, SortTime sort)
{
	PathTime time = {.sort = sort};
	double ms = cost_input_ms(yardstick, shape, input);

	/* An incremental sort has read only a part of its input when its first row is there. */
	time.first = sort.first + (shape->groups > 1 ? ms / shape->groups : ms);
	time.all = sort.first + sort.rest + ms;
	time.wanted = time.first + yardstick->fraction * (time.all - time.first);
	return time;
}

static double
cost_per_ms(Cost cost, double ms)
{
	if (cost > 0 && ms > 0)
		return cost / ms;
	return 1 / predict_input(1);
}

/* Of an index scan that gives the order the sort is what it takes longer than a scan of the same rows. */
static PathTime
time_index_scan(const CostYardstick *yardstick)
{
	const SortShape *shape = &yardstick->rival_shape;
	double ms = predict_input(without_disabled(yardstick->rival.path->total_cost)) +
				fetches_ms(shape, yardstick->rival.path) / running_processes(shape);
	PathTime time = {.all = ms, .wanted = yardstick->fraction * ms};

	time.sort.rest = Max(0, ms - cost_input_ms(yardstick, shape, yardstick->serial_input));
	return time;
}

static void
measure_by_index_scan(CostYardstick *yardstick)
{
	const Path *path = yardstick->rival.path;

	yardstick->time = time_index_scan(yardstick);
	yardstick->startup_cost = without_disabled(path->startup_cost);
	yardstick->total_cost = without_disabled(path->total_cost);
	yardstick->cost_per_ms = yardstick->cost_per_first_ms =
		cost_per_ms(yardstick->total_cost, yardstick->time.all);
}

static void
measure_by_sort(CostYardstick *yardstick)
{
	const Rival *rival = &yardstick->rival;
	const SortShape *shape = &yardstick->rival_shape;
	SortTime sort = predict_postgres_sort(shape);
	Cost total = without_disabled(rival->path->total_cost - rival->input->total_cost);
	Cost startup = without_disabled(rival->path->startup_cost - rival->input->total_cost);

	yardstick->time = add_input(yardstick, shape, rival->input, sort);
	yardstick->cost_per_ms = cost_per_ms(total, sort.first + sort.rest);
	yardstick->total_cost = rival->input->total_cost + total;
	if (shape->groups > 0 || startup <= 0)
	{
		yardstick->cost_per_first_ms = yardstick->cost_per_ms;
		yardstick->startup_cost =
			Max(0, yardstick->total_cost -
					   (yardstick->time.all - yardstick->time.first) * yardstick->cost_per_ms);
		return;
	}
	yardstick->cost_per_first_ms = cost_per_ms(startup, sort.first);
	yardstick->startup_cost = rival->input->total_cost + startup;
}

void
cost_yardstick_init(CostYardstick *yardstick, const Rival *rival, const SortShape *shape, double fraction,
					const Path *serial_input, bool with_ties)
{
	SortShape *rival_shape = &yardstick->rival_shape;

	yardstick->rival = *rival;
	yardstick->fraction = fraction;
	yardstick->serial_input = serial_input;
	yardstick->shape = *shape;
	*rival_shape = *shape;
	rival_shape->processes = rival->processes;
	if (rival->columns_in_order > 0)
		rival_shape->groups = shape_groups(shape, rival->columns_in_order);
	if (with_ties)
		rival_shape->wanted = -1;
	if (rival->input == NULL)
		measure_by_index_scan(yardstick);
	else
		measure_by_sort(yardstick);
}

PathTime
cost_time_gpusort(const CostYardstick *yardstick, const SortShape *shape, const Path *input)
{
	return add_input(yardstick, shape, input, predict_gpusort(shape));
}

double
cost_gain_worth(const SortShape *postgres, double sort_ms, double all_ms)
{
	double gain = (1 - WORTH_SHARE) * all_ms;

	return postgres->groups > 0 ? Max(gain, (1 - INCREMENTAL_SHARE) * sort_ms) : gain;
}

bool
cost_gain_counts(double gain, Cost plan)
{
	return gain >= (1 - WORTH_SHARE) * PLAN_UNIT_MS * plan || gain >= WORTH_MS;
}

bool
cost_is_lower(const CostYardstick *yardstick, const PathTime *time)
{
	const PathTime *rival = &yardstick->time;
	double sort_ms = rival->sort.first + yardstick->fraction * rival->sort.rest;
	double gain = rival->wanted - time->wanted;

	if (yardstick->rival.input == NULL)
		return time->wanted < INDEX_SCAN_SHARE * rival->wanted;
	return gain > cost_gain_worth(&yardstick->rival_shape, sort_ms, rival->wanted) &&
		   cost_gain_counts(gain, without_disabled(yardstick->rival.input->total_cost));
}

bool
cost_writes_more(const CostYardstick *yardstick, const SortShape *shape)
{
	double theirs = yardstick->rival.input == NULL ? 0 : predict_postgres_temp(&yardstick->rival_shape);

	return temp_is_clearly_more(predict_gpusort_temp(shape), theirs);
}

void
cost_set(const CostYardstick *yardstick, const PathTime *time, Cost input, Path *path)
{
	const PathTime *rival = &yardstick->time;
	Cost startup = yardstick->startup_cost + (time->first - rival->first) * yardstick->cost_per_first_ms;
	Cost total = yardstick->total_cost + (time->all - rival->all) * yardstick->cost_per_ms;
	Cost least = Max(LEAST_SHARE * yardstick->total_cost, Min(input, WORTH_SHARE * yardstick->total_cost));

	path->rows = yardstick->shape.rows;
	path->total_cost = Max(total, least);
	startup = Max(startup, Max(LEAST_SHARE * yardstick->startup_cost, Min(input, least)));
	path->startup_cost = Min(path->total_cost, startup);
}

double
cost_ratio(double ours, double theirs)
{
	return theirs > 0 ? Max(LEAST_SHARE, ours / theirs) : 1;
}

/*
 * What stands in the place of PostgreSQL's sort costs, which costs so much.  That cost knows nothing of how
 * long comparisons take: of text in most locales they take 20 times what it says.  Groupings that hash
 * compare little, so beside them a sort counts by its time; but never more than PostgreSQL's own.
 */
static Cost
in_unit_of_plans(Cost cost, double ours, double theirs)
{
	return Max(cost * cost_ratio(ours, theirs), Min(cost * WORTH_SHARE, ours / PLAN_MIDDLE_UNIT_MS));
}

void
cost_set_in_plan(const CostYardstick *yardstick, SortTime time, Cost input, const SortPath *sort, Path *path)
{
	const SortShape *shape = &yardstick->shape;
	SortTime theirs = yardstick->time.sort;
	Cost below = sort->subpath->total_cost;
	Cost startup = without_disabled(sort->path.startup_cost - below);
	Cost total = without_disabled(sort->path.total_cost - below);

	if (!IsA(yardstick->rival.path, SortPath)) /* which sorts them otherwise */
		theirs = predict_postgres_sort(shape);
	path->rows = shape->rows;
	path->total_cost = input + in_unit_of_plans(total, time.first + time.rest, theirs.first + theirs.rest);
	path->startup_cost = Min(path->total_cost, input + in_unit_of_plans(startup, time.first, theirs.first));
}

static Cost
with_doubt(Cost cost, Cost input)
{
	return cost > input ? input + (cost - input) / PLAN_SHARE : cost;
}

void
cost_add_doubt(Path *path, Cost input)
{
	path->startup_cost = with_doubt(path->startup_cost, input);
	path->total_cost = with_doubt(path->total_cost, input);
}
