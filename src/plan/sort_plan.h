/*
 * plan/sort_plan.h
 *		The plan nodes GpuSort and GpuSortFeed: what a Sort node says, in a CustomScan.
 *
 * A GpuSort's input is its lefttree, as for a Sort.  Its scan tuples are the input's, column by column; the
 * sort columns stand in custom_private.  A GpuSortFeed, below the Gather that is a GpuSort's input, is a copy
 * of it as to all that.
 */
#ifndef GPUSORT_PLAN_SORT_PLAN_H
#define GPUSORT_PLAN_SORT_PLAN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "key/sort_key.h"

/* The names in EXPLAIN, and under which the nodes' methods are registered. */
#define GPUSORT_NODE_NAME "GpuSort"
#define GPUSORT_FEED_NODE_NAME "GpuSortFeed"

/* Registers the nodes' methods; once, when the library is loaded. */
extern void sort_plan_register(const CustomScanMethods *gpusort_methods,
							   const CustomScanMethods *feed_methods);

/* What a GpuSort is told besides what a Sort is. */
typedef struct SortPlanOptions
{
	bool junk_is_unused; /* what the output has for this sort alone, resjunk, no node above looks at */
	bool restartable;	 /* the input gives the same rows when read once more: nothing below is volatile */
	bool on_gpu;		 /* which device is expected to be the cheaper one */
	int key_bytes;		 /* of a row's key, expected */
	double expected_ms;	 /* time that it is expected to take, without its input */
	double postgres_ms;	 /* and that PostgreSQL's sort in its place would take */
} SortPlanOptions;

/* A GpuSort in the place of sort, over sort's input; before or after setrefs.c. targetlist is the output. */
extern CustomScan *sort_plan_from_sort(const Sort *sort, List *targetlist, const SortPlanOptions *options);

/* A GpuSortFeed over this input; it is told the rest by the GpuSort that is made above it. */
extern CustomScan *sort_plan_feed(Plan *input, List *targetlist);

/* Is this a GpuSort? */
extern bool sort_plan_is_gpusort(const Plan *plan);

/* The GpuSortFeed below the Gather that is the input of this GpuSort, or NULL. */
extern CustomScan *sort_plan_feed_of(const CustomScan *plan);

/* The sort columns of a GpuSort, a GpuSortFeed or a Sort, in a palloc'd array. */
extern SortColumnSpec *sort_plan_columns(const Plan *plan, int *ncolumns);

/* As the options said. */
extern bool sort_plan_is_restartable(const CustomScan *plan);
extern bool sort_plan_is_on_gpu(const CustomScan *plan);

extern int sort_plan_key_bytes(const CustomScan *plan);
extern double sort_plan_expected_ms(const CustomScan *plan);
extern double sort_plan_postgres_ms(const CustomScan *plan);

/*
 * The columns of the input that need not be kept beside their keys, since nothing looks at them after the
 * sort.
 */
extern Bitmapset *sort_plan_unused_columns(const CustomScan *plan);

/*
 * Completes the node when setrefs.c and the labeling of the output are done: finds the unused columns, and
 * makes the scan tuple refer to the input's columns, as a Sort's target list does.  (setrefs.c needs the
 * expressions themselves there, but EXPLAIN can't print all of them out of place.)
 */
extern void sort_plan_finish(CustomScan *plan);

/* The same for a feed, once the GpuSort above it is finished. */
extern void sort_plan_finish_feed(CustomScan *feed, const CustomScan *gpusort);

#endif /* GPUSORT_PLAN_SORT_PLAN_H */
