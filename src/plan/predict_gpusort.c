/*
 * plan/predict_gpusort.c
 *		What GpuSort does for a sort: the counts that its time is predicted from.
 *
 * Each row is copied once and its key encoded beside it, by all processes that feed.  The rest is the
 * device's (predict_work.h).
 *
 * If values get codes, the sort is predicted as one with such keys (predict_codes.h).
 *
 * With a bound, a row is encoded, and copied only if its key is below what has been seen to be the bound's:
 * of n rows about k (1 + ln(n / k)), for k wanted.
 */
#include "postgres.h"

#include <math.h>

#include "base/group_rows.h"
#include "base/limits.h"
#include "plan/predict_codes.h"
#include "plan/predict_gpusort.h"
#include "plan/predict_work.h"

/* Rows that are left of each wanted one, and bytes of a table for each byte of a key in it. */
#define GROUP_LEFT 1.5
#define GROUP_SLOTS 2.0

/* With so many rows a bounded sort has made its splitters several times. */
#define BOUND_EARLY_ROWS 4000

static const DeviceWork *
work_of(const SortShape *shape)
{
	static const DeviceWork *const works[DEVICES] =
		{[DEVICE_CPU] = &predict_on_cpu, [DEVICE_CUDA] = &predict_on_cuda};

	return works[shape->device];
}

/* ---------------------------------------------------------------- feed */

/* What comes to the encoding of that many rows the first time. */
static void
count_first_strings(const SortShape *shape, double rows, double *counts)
{
	for (int i = 0; i < shape->nkeys; i++)
	{
		if (!work_has_code(shape, i))
			count_first_strings_of(shape, &shape->keys[i], rows, counts);
	}
}

static void
count_feed(const SortShape *shape, double rows, double *counts)
{
	counts[COST_FEED] += rows;
	counts[COST_FEED_BYTE] += rows * work_stored_bytes(shape);
}

/* ---------------------------------------------------------------- rows */

/* Are rows dropped that are not among the first of their group? */
static bool
drops_in_groups(const SortShape *shape)
{
	return shape->rows_of_group > 0 && shape->rows_of_group <= GROUP_ROWS_MAX && !shape->verified;
}

/* How many of the rows are left then.  Groups for which the table has no room are left whole. */
static double
rows_of_groups(const SortShape *shape, double rows)
{
	double groups = 1;
	double room;
	double left;

	for (int i = 0; i < Min(shape->group_columns, shape->nkeys); i++)
		groups = Min(rows, groups * key_values(&shape->keys[i], rows));
	left = Min(rows, groups * shape->rows_of_group * GROUP_LEFT);
	room = Min(shape->memory / GROUP_TABLE_SHARE, GROUP_TABLE_MAX);
	return rows -
		   (rows - left) * Min(1, room / (groups * shape->rows_of_group * shape->key_bytes * GROUP_SLOTS));
}

/* How many of the rows are copied: with a bound not all. */
static double
kept_rows(const SortShape *shape)
{
	double rows = Max(shape->rows, 2);
	double wanted = work_bound(shape) < 0 ? rows : Max(1, shape->wanted);
	double left;

	if (drops_in_groups(shape))
	{
		left = rows_of_groups(shape, rows);
		return Min(rows, left * (1 + log(rows / left)));
	}
	return wanted < rows ? Min(rows, rows_kept(shape, rows, wanted) + BOUND_SAMPLES) : rows;
}

/* For how many their group is looked up, until the filter is switched off because it drops hardly any. */
static double
rows_found(double rows, double kept)
{
	return group_rows_drop_few(rows, kept) ? group_rows_patience(rows, true) : rows;
}

/* How many are left to be sorted: others are dropped when there are many more than wanted, or no room. */
static double
left_rows(const SortShape *shape, double kept)
{
	double wanted = Max(1, shape->wanted);
	double most = BOUND_DROP_FACTOR * wanted + BOUND_SAMPLES;
	double least = (1 + 1.0 / BOUND_LEAST_PART) * wanted + BOUND_SAMPLES;

	if (drops_in_groups(shape))
		return rows_of_groups(shape, Max(shape->rows, 2));
	if (work_bound(shape) < 0)
		return kept;
	return Min(kept, Min(most, Max(least, work_of(shape)->room(shape))));
}

/* Are not all rows wanted?  A card drops none by codes. */
static bool
drops_rows(const SortShape *shape)
{
	return shape->wanted >= 0 || shape->rows_of_group > 0;
}

uint32
predict_gpusort_coded(const SortShape *shape, double *values)
{
	uint32 columns;

	*values = 0;
	if (work_bound(shape) >= 0 || (shape->device != DEVICE_CPU && drops_rows(shape)))
		return 0;
	columns = predict_coded_columns(shape, values);
	return drops_in_groups(shape) && !predict_codes_are_within(shape, columns) ? 0 : columns;
}

/* The shape of what is done. */
static SortShape
with_codes(const SortShape *shape)
{
	double values;
	uint32 columns = predict_gpusort_coded(shape, &values);

	return columns != 0 ? predict_shape_with_codes(shape, columns) : *shape;
}

bool
predict_gpusort_drops_in_groups(const SortShape *shape)
{
	SortShape done = with_codes(shape);

	return drops_in_groups(&done);
}

double
predict_gpusort_kept(const SortShape *shape)
{
	SortShape done = with_codes(shape);

	return kept_rows(&done);
}

static double
left_in_all(const SortShape *shape)
{
	return left_rows(shape, kept_rows(shape));
}

double
predict_gpusort_memory(const SortShape *shape)
{
	SortShape done = with_codes(shape);

	return work_of(shape)->memory(&done, left_in_all(&done)) + predict_tables_memory(&done);
}

double
predict_gpusort_temp(const SortShape *shape)
{
	SortShape done = with_codes(shape);
	double rows = left_in_all(&done);

	return rows <= work_of(shape)->room(&done) ? 0 : work_of(shape)->temp(&done, rows);
}

static CostCounts
count_done(const SortShape *shape)
{
	double rows = Max(shape->rows, 2);
	double kept = kept_rows(shape);
	double left = left_rows(shape, kept);
	double running = running_processes(shape);
	CostCounts counts = {.first = {0}};

	counts.first[COST_START] += 1;
	count_encoding(shape, rows / running, counts.first);
	count_first_strings(shape, rows / running, counts.first);
	count_codes(shape, rows / running, counts.first);
	count_values(shape, counts.first);
	if (work_bound(shape) >= 0 && shape->wanted < rows)
	{
		counts.first[COST_START_BOUND] += 1;
		counts.first[COST_BOUND] += rows / running;
		counts.first[COST_BOUND_KEPT] += kept / running;
		counts.first[COST_BOUND_EARLY] += Min(kept / running, BOUND_EARLY_ROWS);
	}
	if (drops_in_groups(shape))
	{
		double found = rows_found(rows, kept);

		counts.first[COST_GROUP_FIND] += found / running;
		counts.first[COST_GROUP_KEPT] += found * (kept / rows) / running;
	}
	count_feed(shape, kept / running, counts.first);
	work_of(shape)->count(shape, left, &counts);
	if (shape->processes > 1)
		count_launch(shape, &counts);

	/* no more of those left is returned than wanted, but sort_time_total takes its part of all rows */
	for (int i = 0; i < COST_TERMS && left < rows && work_bound(shape) >= 0; i++)
		counts.rest[i] *= rows / left;
	return counts;
}

CostCounts
count_gpusort(const SortShape *shape)
{
	SortShape done = with_codes(shape);

	return count_done(&done);
}
