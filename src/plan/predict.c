/*
 * plan/predict.c
 *		How long a sort takes, by PostgreSQL's Sort and by GpuSort.
 *
 * The time is a sum: so many rows put, so many levels of comparisons, so many bytes written, each times what
 * one of it takes (cost_terms.h).  predict_postgres.c and predict_gpusort.c count.
 *
 * What both sides have in common is told apart here as far as it is not a number of something: rows that are
 * in no order and larger than a cache are far away when they are returned; what counts as a cache is
 * CACHE_BYTES, and the part of the rows beyond it is taken to be missed.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"

#include "plan/predict.h"

static const double nanoseconds[] = {
#define COST_TERM(name, ns, what) ns,
#include "plan/cost_terms.h"
#undef COST_TERM
};

#define CACHE_BYTES (2.0 * 1024 * 1024)

/* So many times as much in temporary files, and so many bytes more, are clearly more. */
#define TEMP_FACTOR 1.25
#define TEMP_BYTES (1024.0 * 1024)

/* What is so many times as fast may write them. */
#define WORTH_FILES 1.5

double
share_far(const SortShape *shape, double bytes)
{
	if (shape->order != ORDER_NONE || bytes <= CACHE_BYTES)
		return 0;
	return 1 - CACHE_BYTES / bytes;
}

double
bytes_beyond_cache(double bytes)
{
	return Max(0, bytes - CACHE_BYTES);
}

double
levels_of(double values)
{
	return values > 1 ? log2(values) : 0;
}

double
running_processes(const SortShape *shape)
{
	double share = shape->share > 0 ? shape->share : COST_PROCESSOR_SHARE;

	return 1 + Max(0, Min(shape->processes, shape->cores) - 1) * share;
}

double
rows_kept(const SortShape *shape, double rows, double wanted)
{
	if (wanted >= rows || shape->order == ORDER_REVERSED)
		return rows;
	return shape->order == ORDER_NONE ? Min(rows, wanted * (1 + log(rows / wanted))) : wanted;
}

double
key_values(const SortKeyShape *key, double rows)
{
	return key->distinct > 0 ? Min(key->distinct, rows) : rows;
}

double
compared_bytes(const SortKeyShape *key, double rows)
{
	bool agree = key->leading > 0 && key->leading * 2 < key_values(key, rows);

	if (key->class != KEY_LIBC)
		return 0;
	return agree ? key->width : Min(key->width, sizeof(uint64));
}

/* Workers that a parallel plan starts are the processes but for the leader, whether it takes part or not. */
void
count_launch(const SortShape *shape, CostCounts *counts)
{
	counts->first[COST_LAUNCH] += shape->launch;
	counts->first[COST_LAUNCH_WORKER] += shape->launch * Max(1, shape->processes - 1);
}

/* ---------------------------------------------------------------- time */

static double
milliseconds(const double *counts)
{
	double ns = 0;

	for (int i = 0; i < COST_TERMS; i++)
		ns += counts[i] * nanoseconds[i];
	return ns / 1e6;
}

/* Processes that do such a sort each share the processors. */
static SortTime
time_of(const SortShape *shape, const CostCounts *counts)
{
	SortTime time = {.first = 0};
	double slower = 1;

	for (int i = 0; i < COST_TERMS; i++)
	{
		time.first += counts->first[i] * nanoseconds[i];
		time.rest += counts->rest[i] * nanoseconds[i];
	}
	if (shape->beside > 1)
	{
		SortShape all = *shape;

		all.processes = shape->beside;
		slower = all.processes / running_processes(&all);
	}
	return (SortTime){.first = slower * (time.first / 1e6), .rest = slower * (time.rest / 1e6)};
}

double
predict_counts(const CostCounts *counts)
{
	return milliseconds(counts->first) + milliseconds(counts->rest);
}

SortTime
predict_postgres_sort(const SortShape *shape)
{
	CostCounts counts = count_postgres_sort(shape);

	return time_of(shape, &counts);
}

SortTime
predict_gpusort(const SortShape *shape)
{
	CostCounts counts = count_gpusort(shape);

	return time_of(shape, &counts);
}

double
sort_time_total(const SortShape *shape, SortTime time)
{
	double part = shape->wanted < 0 ? 1 : Min(1, shape->wanted / Max(shape->rows, 1));

	return time.first + part * time.rest;
}

double
predict_launch(const SortShape *shape)
{
	CostCounts counts = {.first = {0}};

	count_launch(shape, &counts);
	return milliseconds(counts.first);
}

double
predict_gather(const SortShape *shape)
{
	CostCounts counts = {.first = {0}};

	count_launch(shape, &counts);
	counts.first[COST_PG_GATHER] = shape->rows;
	counts.first[COST_PG_GATHER_BYTE] = shape->rows * MAXALIGN(shape->width);
	return milliseconds(counts.first);
}

double
count_fetches(const SortShape *shape)
{
	double elsewhere = 1 - shape->correlation * shape->correlation;
	double bytes = Max(shape->table_bytes, shape->rows * (shape->width + SizeofHeapTupleHeader));

	return shape->rows * elsewhere * levels_of(bytes / CACHE_BYTES);
}

double
predict_fetches(const SortShape *shape)
{
	return count_fetches(shape) * nanoseconds[COST_INPUT_FETCH] / 1e6;
}

bool
temp_is_clearly_more(double ours, double theirs)
{
	return ours > TEMP_FACTOR * theirs + TEMP_BYTES;
}

bool
is_worth_files(double ours, double theirs)
{
	return WORTH_FILES * ours < theirs;
}

double
predict_input(double cost)
{
	return cost * nanoseconds[COST_INPUT] / 1e6;
}
