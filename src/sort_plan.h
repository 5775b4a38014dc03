/*
 * sort_plan.h
 *		The GpuSort plan node: what a Sort node says, in a CustomScan.
 *
 * A GpuSort's input is its lefttree, as for a Sort.  Its scan tuples are the input's, column by column; the sort
 * columns stand in custom_private.
 */
#ifndef GPUSORT_SORT_PLAN_H
#define GPUSORT_SORT_PLAN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "sort_key.h"

/* The name in EXPLAIN, and under which the node's methods are registered. */
#define GPUSORT_NODE_NAME "GpuSort"

/* Registers the node's methods; once, when the library is loaded. */
extern void sort_plan_register(const CustomScanMethods *methods);

/* What a GpuSort is told besides what a Sort is. */
typedef struct SortPlanOptions
{
	bool		junk_is_unused; /* what the output has for this sort alone, resjunk, no node above looks at */
	bool		restartable;	/* the input gives the same rows when read once more: it has no volatile functions */
	bool		on_gpu;			/* which device is expected to be the cheaper one */
} SortPlanOptions;

/* A GpuSort in the place of sort, over sort's input; before or after setrefs.c. targetlist is the output. */
extern CustomScan *sort_plan_from_sort(const Sort *sort, List *targetlist, const SortPlanOptions *options);

/* Is this a GpuSort? */
extern bool sort_plan_is_gpusort(const Plan *plan);

/* The sort columns of a GpuSort or a Sort, in a palloc'd array. */
extern SortColumnSpec *sort_plan_columns(const Plan *plan, int *ncolumns);

/* As the options said. */
extern bool sort_plan_is_restartable(const CustomScan *plan);
extern bool sort_plan_is_on_gpu(const CustomScan *plan);

/* The columns of the input that need not be kept beside their keys, since nothing looks at them after the sort. */
extern Bitmapset *sort_plan_unused_columns(const CustomScan *plan);

/*
 * Completes the node when setrefs.c and the labeling of the output are done: finds the unused columns, and makes the
 * scan tuple refer to the input's columns, as a Sort's target list does. (setrefs.c needs the expressions themselves
 * there, but EXPLAIN can't print all of them out of place.)
 */
extern void sort_plan_finish(CustomScan *plan);

#endif							/* GPUSORT_SORT_PLAN_H */
