/*
 * plan/predict.c
 *		How long a sort takes, by PostgreSQL's Sort and by GpuSort.
 *
 * The time is a sum: so many rows put, so many levels of comparisons, so many bytes written, each times what
 * one of it takes (cost_terms.h).  predict_postgres.c and predict_gpusort.c count.
 */
#include "postgres.h"

#include "plan/predict.h"
#include "plan/predict_gpusort.h"
#include "plan/predict_postgres.h"

/* So many times as much in temporary files, and so many bytes more, are clearly more. */
#define TEMP_FACTOR 1.25
#define TEMP_BYTES (1024.0 * 1024)

/* What is so many times as fast may write them. */
#define WORTH_FILES 1.5

SortTime
predict_postgres_sort(const SortShape *shape)
{
	CostCounts counts = count_postgres_sort(shape);

	return predict_sort(shape, &counts);
}

SortTime
predict_gpusort(const SortShape *shape)
{
	CostCounts counts = count_gpusort(shape);

	return predict_sort(shape, &counts);
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
	return predict_counts(&counts);
}

double
predict_gather(const SortShape *shape)
{
	CostCounts counts = {.first = {0}};

	count_launch(shape, &counts);
	counts.first[COST_PG_GATHER] = shape->rows;
	counts.first[COST_PG_GATHER_BYTE] = shape->rows * MAXALIGN(shape->width);
	return predict_counts(&counts);
}

double
predict_fetches(const SortShape *shape)
{
	return predict_term(COST_INPUT_FETCH, count_fetches(shape));
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
	return predict_term(COST_INPUT, cost);
}
