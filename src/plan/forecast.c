/*
 * plan/forecast.c
 *		How long a sort of a finished plan takes, by PostgreSQL's Sort and by a GpuSort in its place.
 *
 * Both have the same input; what that takes and the whole plan, by their costs, say whether what is gained is
 * worth it.
 */
#include "postgres.h"

#include <limits.h>

#include "plan/cost.h"
#include "plan/devices.h"
#include "plan/forecast.h"
#include "plan/predict.h"
#include "plan/predict_codes.h"
#include "plan/predict_gpusort.h"
#include "plan/shape.h"
#include "plan/window_plan.h"
#include "plan/sort_plan.h"

/*
 * Another device may take as much longer than the cpu device: rows are expected too few more often than too
 * many, and with more of them it is soon the faster one.
 */
#define OTHER_SHARE 1.035

/* ---------------------------------------------------------------- devices */

bool
forecast_guesses(const SortShape *shape)
{
	SortShape there = *shape;
	double values;

	if (!shape->verified)
		return false;
	there.device = DEVICE_CUDA;
	return predict_gpusort_coded(&there, &values) == 0 || predict_gpusort_temp(&there) > 0;
}

static double
ms_on(const SortShape *shape, DeviceKind device)
{
	SortShape there = *shape;

	there.device = device;
	return sort_time_total(&there, predict_gpusort(&there));
}

/*
 * The device that is expected to be the fastest one of the usable devices, beside what its input takes, if
 * the cpu device takes so long.
 */
static DeviceKind
fastest_device(const SortShape *shape, double input_ms, double cpu_ms)
{
	DeviceKind fastest = DEVICE_CPU;
	double least = (shape->wanted >= 0 ? 1 : OTHER_SHARE) * (input_ms + cpu_ms);
	bool guesses = forecast_guesses(shape);

	for (DeviceKind device = DEVICE_CPU + 1; device < DEVICES; device++)
	{
		double ms;

		if (!device_is_usable(device, guesses, shape->beside))
			continue;
		ms = input_ms + ms_on(shape, device);
		if (ms < least)
		{
			fastest = device;
			least = ms;
		}
	}
	return fastest;
}

/*
 * The fastest device if a LIMIT wants all rows, and the number of rows, to a power of 2, from which on it is
 * the fastest one.  The planner has to guess what many a LIMIT wants; when the sort begins it is known.
 */
static void
forecast_limits(const SortShape *shape, double input_ms, SortExpected *expected)
{
	SortShape limited = *shape;

	if (!device_is_open(forecast_guesses(shape), shape->beside))
		return; /* that is the cpu device */
	limited.wanted = Max(1, shape->rows);
	expected->limited = fastest_device(&limited, input_ms, ms_on(&limited, DEVICE_CPU));
	for (double wanted = limited.wanted; expected->limited != DEVICE_CPU && wanted >= 1; wanted /= 2)
	{
		limited.wanted = wanted;
		if (fastest_device(&limited, input_ms, ms_on(&limited, DEVICE_CPU)) != expected->limited)
			return;
		expected->limited_from = wanted / 2 >= 1 ? wanted : 0;
	}
}

SortExpected
forecast_gpusort(const SortShape *shape, double input_ms, double postgres_ms)
{
	double cpu_ms = ms_on(shape, DEVICE_CPU);
	SortExpected expected = {.device = fastest_device(shape, input_ms, cpu_ms),
							 .key_bytes = (int) Min(shape->key_bytes, INT_MAX),
							 .kept = predict_gpusort_kept(shape),
							 .kept_of = shape->rows_of_group,
							 .ms = shape->device == DEVICE_CPU ? cpu_ms : ms_on(shape, shape->device),
							 .postgres_ms = postgres_ms,
							 .cpu_ms = cpu_ms};

	expected.coded = predict_coded_columns(shape, &expected.values);
	forecast_limits(shape, input_ms, &expected);
	return expected;
}

/* Of the devices that the settings allow. */
static DeviceKind
choose_device(const SortShape *shape)
{
	DeviceKind fastest = DEVICE_CPU;
	bool guesses = forecast_guesses(shape);

	if (device_is_open(guesses, shape->beside))
		fastest = fastest_device(shape, 0, ms_on(shape, DEVICE_CPU));
	return device_or_allowed(fastest, guesses, shape->beside);
}

/* ---------------------------------------------------------------- who reads it */

/* Does the node read all of this input before it returns a row? */
static bool
reads_all_at_once(const Plan *plan)
{
	if (IsA(plan, Agg))
		return ((const Agg *) plan)->aggstrategy == AGG_PLAIN ||
			   ((const Agg *) plan)->aggstrategy == AGG_HASHED;
	return IsA(plan, Sort) || IsA(plan, Hash) || sort_plan_is_gpusort(plan) || sort_plan_is_ranges(plan);
}

/* Does the node read all of this input if all of its own rows are wanted? */
static bool
reads_all(const Plan *plan, const Plan *input)
{
	switch (nodeTag(plan))
	{
		case T_WindowAgg:
			return ((const WindowAgg *) plan)->runCondition == NIL;
		case T_CustomScan:
			return window_plan_is_window(plan) && window_plan_run_condition((const CustomScan *) plan) == NIL;
		case T_NestLoop:
		case T_HashJoin:
			return plan->lefttree == input;
		case T_Agg:
		case T_Group:
		case T_Unique:
		case T_IncrementalSort:
		case T_Material:
		case T_ModifyTable:
		case T_ProjectSet:
		case T_Result:
		case T_LockRows:
		case T_SubqueryScan:
		case T_Append:
		case T_MergeAppend:
		case T_Gather:
		case T_GatherMerge:
			return true;
		default:
			return false; /* a LIMIT; a merge join, which ends with the shorter input; others */
	}
}

static bool
is_in_main_plan(const PlannedStmt *stmt, const Plan *sort, List *ancestors)
{
	return (ancestors != NIL ? llast(ancestors) : sort) == stmt->planTree;
}

/*
 * Do the nodes above surely read all of the sort's rows?  Those of a sub-select are read as they are wanted.
 */
static bool
is_read_to_end(const PlannedStmt *stmt, const Plan *sort, List *ancestors)
{
	const Plan *input = sort;
	ListCell *cell;

	foreach(cell, ancestors)
	{
		const Plan *plan = lfirst(cell);

		if (reads_all_at_once(plan))
			return true;
		if (!reads_all(plan, input))
			return false;
		input = plan;
	}
	/* an incremental sort for the query's own order was weighed by how many rows are wanted (planner.c) */
	return input == stmt->planTree && !(input == sort && IsA(sort, IncrementalSort));
}

/* ---------------------------------------------------------------- times */

bool
forecast_sort(SortForecast *forecast, const PlannedStmt *stmt, const Plan *sort, List *ancestors, double rows,
			  Declined *why_not)
{
	double postgres_ms;
	bool possible;

	memset(forecast, 0, sizeof(*forecast));
	possible = shape_of_plan(&forecast->postgres_shape, stmt, sort, ancestors, rows, why_not);
	forecast->input_ms = PLAN_UNIT_MS * sort->lefttree->total_cost;
	if (is_in_main_plan(stmt, sort, ancestors))
		forecast->plan_cost = stmt->planTree->total_cost;
	forecast->read_to_end = is_read_to_end(stmt, sort, ancestors);
	forecast->postgres = predict_postgres_sort(&forecast->postgres_shape);
	postgres_ms = sort_time_total(&forecast->postgres_shape, forecast->postgres);
	forecast->expected = (SortExpected){.ms = -1, .postgres_ms = postgres_ms};
	if (!possible)
		return false;
	forecast->shape = shape_for_gpusort(&forecast->postgres_shape);
	forecast->shape.device_memory = device_memory_of_sort();
	forecast->shape.device = choose_device(&forecast->shape);
	forecast->ours = predict_gpusort(&forecast->shape);
	forecast->expected = forecast_gpusort(&forecast->shape, 0, postgres_ms);
	return true;
}

bool
forecast_is_worth(const SortForecast *forecast)
{
	double postgres = forecast->expected.postgres_ms;
	double ours = forecast->expected.ms / (forecast->shape.beside > 1 ? BESIDE_SHARE : 1);

	return postgres - ours >
			   cost_gain_worth(&forecast->postgres_shape, postgres, forecast->input_ms + postgres) &&
		   cost_gain_counts(postgres - ours, forecast->plan_cost);
}

bool
forecast_is_faster(const SortForecast *forecast)
{
	/* an incremental sort of which some rows are wanted need not read all of its input, whatever it saves */
	if (!forecast->read_to_end &&
		(forecast->postgres_shape.groups > 0 || forecast->ours.first >= forecast->postgres.first))
		return false;
	return forecast_is_worth(forecast);
}

/* ---------------------------------------------------------------- costs */

static double
share_of(double ours, double theirs)
{
	return Min(1, cost_ratio(ours, theirs));
}

void
forecast_set_costs(const SortForecast *forecast, const Sort *sort, Plan *gpusort)
{
	const SortTime *ours = &forecast->ours;
	const SortTime *theirs = &forecast->postgres;
	Cost input = sort->plan.lefttree->total_cost;
	Cost startup = Max(0, sort->plan.startup_cost - input);
	Cost total = Max(0, sort->plan.total_cost - input);

	gpusort->total_cost = input + total * share_of(ours->first + ours->rest, theirs->first + theirs->rest);
	if (IsA(sort, IncrementalSort))
		startup = gpusort->total_cost - input; /* it has rows before it has read all of its input */
	gpusort->startup_cost = Min(gpusort->total_cost, input + startup * share_of(ours->first, theirs->first));
}
