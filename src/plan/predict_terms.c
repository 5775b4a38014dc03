/*
 * plan/predict_terms.c
 *		The terms of a prediction: their times, and the counts that several of its files need.
 *
 * Rows that are in no order and larger than a cache are far away when they are returned.  What counts as a
 * cache is CACHE_BYTES, and the part of the rows beyond it is taken to be missed.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"

#include "plan/predict_terms.h"

#define CACHE_BYTES (2.0 * 1024 * 1024)

static const double nanoseconds[] = {
#define COST_TERM(name, ns, what) ns,
#include "plan/cost_terms.h"
#undef COST_TERM
};

/* ---------------------------------------------------------------- counts */

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

double
count_fetches(const SortShape *shape)
{
	double elsewhere = 1 - shape->correlation * shape->correlation;
	double bytes = Max(shape->table_bytes, shape->rows * (shape->width + SizeofHeapTupleHeader));

	return shape->rows * elsewhere * levels_of(bytes / CACHE_BYTES);
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
SortTime
predict_sort(const SortShape *shape, const CostCounts *counts)
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

double
predict_term(CostTerm term, double count)
{
	return count * nanoseconds[term] / 1e6;
}
