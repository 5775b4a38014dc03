/*
 * check/how.c
 *		How a sort is done, in words for a person: device, processes, memory, temporary files.
 *
 * The figures are those that its time is predicted from (predict.h), so they are the planner's estimates.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"

#include "base/group_rows.h"
#include "base/limits.h"
#include "check/advice.h"
#include "check/how.h"
#include "plan/choice.h"
#include "plan/devices.h"
#include "plan/forecast.h"
#include "plan/likely_rows.h"
#include "plan/predict_codes.h"
#include "plan/predict_gpusort.h"
#include "plan/predict_postgres.h"
#include "plan/shape.h"
#include "plan/sort_plan.h"
#include "plan/window_plan.h"
#include "service/state.h"

#define KILOBYTE 1024.0
#define MEGABYTE (1024.0 * 1024.0)

/* ---------------------------------------------------------------- words */

static const char *
size_in_words(double bytes)
{
	if (bytes < MEGABYTE)
		return psprintf("%.0f kB", bytes / KILOBYTE);
	return psprintf("%.*f MB", bytes < 10 * MEGABYTE ? 1 : 0, bytes / MEGABYTE);
}

static const char *
processes_in_words(int processes)
{
	return processes == 1 ? "1 process" : psprintf("%d processes", processes);
}

static bool
is_card(const char *device)
{
	return strcmp(device, "cuda") == 0;
}

const char *
check_how_in_words(const SortHow *how)
{
	const char *files = how->files > 0 ? psprintf("about %s of temporary files", size_in_words(how->files))
						: how->scarce  ? "no temporary files unless the sort takes more than expected"
									   : "no temporary files";

	return psprintf("device %s, %s%s, about %s of %s%s, %s", how->device, processes_in_words(how->processes),
					how->each ? " with a part of the rows each" : "", size_in_words(how->memory),
					is_card(how->device) ? "a card's memory" : "memory", how->each ? " each" : "", files);
}

const char *
check_how_within(int processes, int kilobytes)
{
	return psprintf("device postgresql, %s, at most %s of memory at a time", processes_in_words(processes),
					size_in_words(kilobytes * KILOBYTE));
}

/* ---------------------------------------------------------------- left to PostgreSQL */

const char *
check_how_declined(const SortShape *shape)
{
	SortHow how = {.device = "postgresql",
				   .processes = Max(1, shape->beside),
				   .each = shape->beside > 1,
				   .memory = Min(predict_postgres_memory(shape), shape->memory),
				   .files = predict_postgres_temp(shape)};

	return check_how_in_words(&how);
}

/* ---------------------------------------------------------------- taken */

static SortShape
shape_of_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors)
{
	SortShape shape;
	Declined why_not;

	(void) shape_of_plan(&shape, stmt, sort, ancestors, plan_likely_rows(stmt, sort), &why_not);
	shape = shape_for_gpusort(&shape);
	shape.device_memory = device_memory_of_sort();
	shape.device = DEVICE_CPU;
	if (!sort_plan_is_ranges(sort))
		shape.device = sort_plan_device((const CustomScan *) sort, forecast_guesses(&shape), 0);
	return shape;
}

/* In how many parts, that take turns, it is sorted on one GPU. */
static int
turns_on_card(const PlannedStmt *stmt, const Plan *sort, const SortShape *shape)
{
	SortExpected expected = sort_plan_expected((const CustomScan *) sort);
	double row_bytes = sort->lefttree->plan_width + MAXALIGN(SizeofMinimalTupleHeader);
	double row = gpu_row_memory(row_bytes, expected.key_bytes);
	double rows = shape->rows_of_group > 0 ? Min(sort->plan_rows, expected.kept) : sort->plan_rows;

	/* workers of the sort's own are gone when its rows are read */
	return gpu_turns(rows, shape->device_memory / row, shape->keys[0].largest, shape->wanted < 0,
					 IsA(sort->lefttree, Gather) && stmt->parallelModeNeeded);
}

/* How many values get codes; 0: none. */
static double
coded_values(const Plan *sort, const SortShape *shape)
{
	double most;
	uint32 columns = predict_gpusort_coded(shape, &most);

	return predict_coded_values(shape, columns & sort_plan_expected((const CustomScan *) sort).coded);
}

/* On the windows directly above the sort, up to the first one that is left to PostgreSQL. */
static List *
remarks_on_windows(const PlannedStmt *stmt, List *ancestors, List *remarks)
{
	bool taken = false;
	ListCell *cell;

	foreach(cell, ancestors)
	{
		const Plan *plan = lfirst(cell);
		const char *why_not;

		if (!IsA(plan, WindowAgg) && !window_plan_is_window(plan))
			break;
		if (window_plan_is_window(plan))
		{
			if (!taken)
				remarks = lappend(remarks, "the window above the sort is computed as rows come (GpuWindow)");
			taken = true;
			continue;
		}
		why_not = window_plan_why_not(stmt, (const WindowAgg *) plan);
		return lappend(remarks, psprintf("a window above the sort copies all rows (WindowAgg): %s",
										 why_not != NULL ? why_not : "little of the time would be saved"));
	}
	return remarks;
}

static List *
remarks_on(const PlannedStmt *stmt, const Plan *sort, List *ancestors, const SortShape *shape,
		   const SortHow *how)
{
	List *remarks = NIL;
	int turns = shape->device != DEVICE_CPU ? turns_on_card(stmt, sort, shape) : 1;
	double values = coded_values(sort, shape);

	/* with gpusort.backend = cuda each sort tries */
	if (shape->device != DEVICE_CPU && !gpu_service_ready())
		remarks = lappend(remarks, psprintf("at present the CPU will sort: %s",
											gpu_service_why_not("gpusortd does not answer")));
	if (shape->device == DEVICE_CPU && (how->files > 0 || how->scarce))
		remarks = lappend(remarks, (char *) advice_on_memory(shape));
	if (turns > 1)
		remarks =
			lappend(remarks,
					psprintf("in %d parts, one after the other: a GPU has no room for all rows", turns));
	if (values > 0)
		remarks = lappend(remarks, psprintf("about %.0f different strings are encoded and compared once each",
											values));
	if (shape->device == DEVICE_CPU && shape->verified && device_is_open(false, shape->beside))
		remarks = lappend(remarks, "not on a card: the CPU verifies the order of such values by comparisons");
	if (predict_gpusort_drops_in_groups(shape))
		remarks = lappend(remarks, shape->rows_of_group == 1
									   ? "only the first row of each group is kept"
									   : psprintf("only the first %.0f rows of each group are kept",
												  shape->rows_of_group));
	if (sort_plan_is_ranges(sort))
		remarks = lappend(remarks, "each process returns whole groups (GpuSortRanges)");
	return remarks_on_windows(stmt, ancestors, remarks);
}

const char *
check_how_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors)
{
	SortShape shape = shape_of_taken(stmt, sort, ancestors);
	SortHow how = {.device = device_names[shape.device],
				   .processes = shape.beside > 0 ? shape.beside : shape.processes,
				   .each = shape.beside > 1,
				   .memory = predict_gpusort_memory(&shape),
				   .files = predict_gpusort_temp(&shape)};
	StringInfoData words;
	ListCell *cell;

	how.scarce = how.files == 0 && shape.device == DEVICE_CPU &&
				 advice_memory_is_scarce(how.memory, shape.memory, shape.processes);
	if (how.files > 0)
		how.memory = shape.device == DEVICE_CPU ? shape.memory : shape.device_memory;
	initStringInfo(&words);
	appendStringInfoString(&words, check_how_in_words(&how));
	foreach(cell, remarks_on(stmt, sort, ancestors, &shape, &how))
		appendStringInfo(&words, "; %s", (char *) lfirst(cell));
	return words.data;
}
