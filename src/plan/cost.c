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
 * competes with other sorts alone.  In the middle of a plan a path competes with joins and groupings, and the
 * cost of the rival, which may pass all rows through a Gather, says little of it: there the first formula
 * holds, with PostgreSQL's sort of these rows by one process, and the start of workers in the input's cost.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "base/guc.h"
#include "plan/cost.h"
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

/* The cost without what an enable_ setting that is off has added to it. */
static Cost
without_disabled(Cost cost)
{
	return cost - floor(cost / disable_cost) * disable_cost;
}

/* A Gather's cost is mostly what the settings say of launching and passing rows; its time is predicted. */
static double
gather_ms(const CostYardstick *yardstick, const GatherPath *gather)
{
	SortShape shape = yardstick->shape;

	shape.rows = gather->path.rows;
	shape.processes = gather->num_workers + (parallel_leader_participation ? 1 : 0);
	return predict_input(without_disabled(gather->subpath->total_cost)) + predict_gather(&shape);
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
		return predict_input(cost) + predict_fetches(shape);
	if (shape->processes > 1 && !IsA(serial, GatherPath))
		cost = Min(cost, without_disabled(serial->total_cost) / running_processes(shape));
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
				predict_fetches(shape) / running_processes(shape);
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
			yardstick->total_cost - (yardstick->time.all - yardstick->time.first) * yardstick->cost_per_ms;
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
cost_is_lower(const CostYardstick *yardstick, const PathTime *time)
{
	const PathTime *rival = &yardstick->time;
	double sort_ms = rival->sort.first + yardstick->fraction * rival->sort.rest;

	if (yardstick->rival.input == NULL)
		return time->wanted < INDEX_SCAN_SHARE * rival->wanted;
	return rival->wanted - time->wanted > cost_gain_worth(&yardstick->rival_shape, sort_ms, rival->wanted);
}

bool
cost_writes_more(const CostYardstick *yardstick, const SortShape *shape)
{
	double theirs = yardstick->rival.input == NULL ? 0 : predict_postgres_temp(&yardstick->rival_shape);

	return temp_is_clearly_more(predict_gpusort_temp(shape), theirs);
}

void
cost_set(const CostYardstick *yardstick, const PathTime *time, Path *path)
{
	const PathTime *rival = &yardstick->time;
	Cost startup = yardstick->startup_cost + (time->first - rival->first) * yardstick->cost_per_first_ms;
	Cost total = yardstick->total_cost + (time->all - rival->all) * yardstick->cost_per_ms;

	path->rows = yardstick->shape.rows;
	path->total_cost = Max(total, LEAST_SHARE * yardstick->total_cost);
	path->startup_cost = Min(path->total_cost, Max(startup, LEAST_SHARE * yardstick->startup_cost));
}

double
cost_ratio(double ours, double theirs)
{
	return theirs > 0 ? Max(LEAST_SHARE, ours / theirs) : 1;
}

void
cost_set_in_plan(const CostYardstick *yardstick, SortTime time, Cost input, const SortPath *sort, Path *path)
{
	SortShape shape = yardstick->shape;
	SortTime theirs = yardstick->time.sort;
	Cost below = sort->subpath->total_cost;
	Cost startup = without_disabled(sort->path.startup_cost - below);
	Cost total = without_disabled(sort->path.total_cost - below);

	shape.processes = 1;
	if (!IsA(yardstick->rival.path, SortPath)) /* which sorts them otherwise */
		theirs = predict_postgres_sort(&shape);
	path->rows = shape.rows;
	path->total_cost = input + total * cost_ratio(time.first + time.rest, theirs.first + theirs.rest);
	path->startup_cost = Min(path->total_cost, input + startup * cost_ratio(time.first, theirs.first));
}

static Cost
with_doubt(Cost cost, Cost input)
{
	return cost > input ? input + (cost - input) / PLAN_SHARE : cost;
}

void
cost_add_doubt(Path *path, Cost input)
{
	if (gpusort_mode == GPUSORT_MODE_FORCE)
		return;
	path->startup_cost = with_doubt(path->startup_cost, input);
	path->total_cost = with_doubt(path->total_cost, input);
}
