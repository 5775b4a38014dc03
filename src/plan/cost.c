/*
 * plan/cost.c
 *		What a GpuSort costs, in the planner's units.
 *
 * With n rows, and cpu_operator_cost (c) as the unit of processor work, on the cpu device, sorted by p
 * processes:
 *
 *		startup	= input + n * c * (FEED + KEY_BYTE * key bytes) + n * c * SORT * log2(n) / p + spilled pages
 *		run		= n * c * RETURN
 *
 * On the cuda device:
 *
 *		startup	= input + n * c * (FEED + KEY_BYTE * key bytes) + c * CUDA_JOB + n * c * (CUDA_SORT + CUDA_BYTE * bytes of a row)
 *		run		= n * c * CUDA_RETURN
 *
 * FEED: encode the key, copy the row.  SORT: each doubling of n adds one level to the splitter tree or the
 * base case.  RETURN: hand out the row, from the cache thanks to prefetching.  KEY_BYTE: encoding, moving and
 * looking at key bytes.  CUDA_JOB: connecting, launching, the last chunk's way there and the first one's way
 * back.  CUDA_BYTE: the way back; the way there is over when the input is.  Whether rows fit in the device's
 * memory is not known here.
 *
 * Spilled pages are written once and read once a merge pass, three quarters of them in sequence, as cost_sort
 * assumes it too.
 *
 * Where several processes feed the sort, each pays FEED and KEY_BYTE for its rows, below the Gather;
 * parallel_tuple_cost is charged only for rows that find no room in memory, which alone pass the Gather.
 *
 * The constants are measured against what cost_sort charges for what PostgreSQL's own sort takes;
 * docs/architecture.md says how to measure them again.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "plan/cost.h"

/* In units of cpu_operator_cost a row; see docs/architecture.md, "The cost formula". */
#define FEED_COST 8.0
#define SORT_COST 0.4
#define RETURN_COST 4.0
#define KEY_BYTE_COST 0.1

#define CUDA_JOB_COST 300000.0
#define CUDA_SORT_COST 0.3
#define CUDA_BYTE_COST 0.003
#define CUDA_RETURN_COST 2.0

/* Memory a row takes besides its columns and its key: tuple header, row offset, sort item. */
#define ROW_OVERHEAD (MAXALIGN(SizeofMinimalTupleHeader) + 32)

/* The same in a temporary file. */
#define STORED_ROW_OVERHEAD MAXALIGN(SizeofMinimalTupleHeader)

/*
 * Merges of runs that memory can't hold together are rare; one pass is charged for each further factor of
 * this.
 */
#define ASSUMED_FAN_IN 500.0

static Cost
spill_cost(double bytes, double memory)
{
	double pages = ceil(bytes / BLCKSZ);
	double passes = Max(1.0, ceil(log(Max(bytes / memory, 1.0)) / log(ASSUMED_FAN_IN)));

	return 2.0 * pages * passes * (0.75 * seq_page_cost + 0.25 * random_page_cost);
}

static double
row_bytes(const SortCostInput *sort)
{
	return MAXALIGN(sort->width) + sort->key_width;
}

/* Encoding keys and copying rows. */
static Cost
feed_cost(double rows, const SortCostInput *sort)
{
	return rows * cpu_operator_cost * (FEED_COST + KEY_BYTE_COST * sort->key_width);
}

/* Sorting what was fed, on the device or in memory or by way of files. */
static Cost
sort_cost(double n, const SortCostInput *sort)
{
	Cost cost;

	if (sort->on_gpu)
		return cpu_operator_cost *
			   (CUDA_JOB_COST + n * (CUDA_SORT_COST + CUDA_BYTE_COST * (row_bytes(sort) + ROW_OVERHEAD)));
	cost = n * cpu_operator_cost * SORT_COST * log2(n);
	if (n * (row_bytes(sort) + ROW_OVERHEAD) <= sort->memory)
		return cost / sort->processes;
	return cost + spill_cost(n * (row_bytes(sort) + STORED_ROW_OVERHEAD), sort->memory);
}

/* Sorting and returning. */
static void
add_sort_cost(Path *path, Cost startup, const SortCostInput *sort)
{
	double n = Max(sort->rows, 2.0);

	path->rows = sort->rows;
	path->startup_cost = startup + sort_cost(n, sort);
	path->total_cost =
		path->startup_cost + n * cpu_operator_cost * (sort->on_gpu ? CUDA_RETURN_COST : RETURN_COST);
}

void
cost_gpusort(Path *path, const Path *input, const SortCostInput *sort)
{
	add_sort_cost(path, input->total_cost + feed_cost(Max(sort->rows, 2.0), sort), sort);
}

void
cost_gpusort_of_feeds(Path *path, const Path *input, const SortCostInput *sort)
{
	add_sort_cost(path, input->total_cost, sort);
}

void
cost_gpusort_feed(Path *path, const Path *partial, const SortCostInput *sort)
{
	path->rows = partial->rows;
	path->startup_cost = path->total_cost = partial->total_cost + feed_cost(partial->rows, sort);
}

double
cost_passed_rows(const SortCostInput *sort)
{
	return sort->on_gpu ? 0.0 : Max(0.0, sort->rows - sort->memory / (row_bytes(sort) + ROW_OVERHEAD));
}
