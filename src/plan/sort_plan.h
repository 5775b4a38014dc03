/*
 * plan/sort_plan.h
 *		The plan nodes GpuSort, GpuSortFeed and GpuSortRanges: the fields of a Sort node in a CustomScan.
 *
 * A GpuSort's input is its lefttree, as for a Sort.  Its scan tuples have the input's columns, and the sort
 * columns are in custom_private.  A GpuSortFeed is below the Gather that is a GpuSort's input.  It has copies
 * of all these fields.  A GpuSortRanges is a GpuSort below a Gather, whose rows all processes read.
 *
 * The nodes are complete when they are made, by the planner or in a finished plan (take_sorts.c): after that,
 * a plan may not pass a hook of gpusort, because other extensions also have hooks, and some store plans.
 */
#ifndef GPUSORT_PLAN_SORT_PLAN_H
#define GPUSORT_PLAN_SORT_PLAN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "base/declined.h"
#include "base/devices.h"
#include "key/types.h"
#include "plan/rival.h"

/* The names in EXPLAIN, which are also the names of the registered methods. */
#define GPUSORT_NODE_NAME "GpuSort"
#define GPUSORT_FEED_NODE_NAME "GpuSortFeed"
#define GPUSORT_RANGES_NODE_NAME "GpuSortRanges"

/* Registers the nodes' methods; once, when the library is loaded. */
extern void sort_plan_register(const CustomScanMethods *gpusort_methods,
							   const CustomScanMethods *feed_methods,
							   const CustomScanMethods *ranges_methods);

/* The planner's expectations of a GpuSort, and their consequences; plans keep them. */
typedef struct SortExpected
{
	DeviceKind device; /* the fastest one of the usable devices */
	/*
	 * if the LIMIT is known when the sort begins: the fastest device if limited_from or more rows are wanted;
	 * for fewer rows the cpu device is the fastest one
	 */
	DeviceKind limited;
	double limited_from;
	int key_bytes;		/* bytes of a row's key */
	uint32 coded;		/* columns whose values get codes, as bits */
	double values;		/* different values of such a column */
	double kept;		/* rows that are not dropped when they come */
	double kept_of;		/* the number of rows of each group that `kept` is for; 0: all */
	double ms;			/* milliseconds of the sort, without its input */
	double postgres_ms; /* milliseconds of PostgreSQL's sort in its place */
	double cpu_ms;		/* milliseconds of the sort on the cpu device */
	RivalPlan replaced; /* the plan that it would replace, if such plans were noted */
} SortExpected;

/* The fields of a GpuSort that a Sort does not have. */
typedef struct SortPlanOptions
{
	bool output_is_used;  /* does the plan use all output columns, including columns only for the sort? */
	Bitmapset *sort_junk; /* resnos of output columns only for the sort, which no node above reads */
	/* does the input return the same rows when it is read again?  Nothing below may be volatile */
	bool restartable;
	int beside; /* number of processes of a parallel plan that do one such sort each; 0: only this one */
	/*
	 * The first sort columns; rows that are equal in them come out of the same process, in a GpuSortRanges.
	 * 0: the node is a GpuSort.
	 */
	int group_columns;
	SortExpected expected;
} SortPlanOptions;

/*
 * Returns a GpuSort in the place of sort, over sort's input, before setrefs.c. targetlist: the output.  The
 * node is complete, and also a feed below it.
 */
extern CustomScan *sort_plan_from_sort(const Sort *sort, List *targetlist, const SortPlanOptions *options);

/*
 * Returns a GpuSort in the place of a Sort of a finished plan, after setrefs.c, with the Sort's output, costs
 * and parameters.
 */
extern CustomScan *sort_plan_from_finished_sort(const Sort *sort, const SortPlanOptions *options);

/* Returns a GpuSortFeed over this input.  Making the GpuSort above completes it. */
extern CustomScan *sort_plan_feed(Plan *input, List *targetlist);

/*
 * Returns references to a node's output columns, for a node above it, or for a node with these columns as its
 * scan tuple.
 */
extern List *plan_refer_to_columns(List *targetlist, int varno);

extern bool sort_plan_is_gpusort(const Plan *plan);
extern bool sort_plan_is_feed(const Plan *plan);
extern bool sort_plan_is_ranges(const Plan *plan);

/* Returns options.group_columns. */
extern int sort_plan_group_columns(const CustomScan *plan);

/* Returns the sort columns of a GpuSort, GpuSortFeed, GpuSortRanges or Sort, in a palloc'd array. */
extern SortColumnSpec *sort_plan_columns(const Plan *plan, int *ncolumns);

/*
 * Returns the columns of the records without a named type that the expression makes, which may be NULL; NULL:
 * it makes none, or is not known to.
 */
extern TupleDesc sort_plan_row(const Node *expr);

/* Returns options.restartable. */
extern bool sort_plan_is_restartable(const CustomScan *plan);

/*
 * Returns the device that should do the sort now.  verified: see plan/devices.h; rows_wanted: 0: the number
 * that the planner expected.
 */
extern DeviceKind sort_plan_device(const CustomScan *plan, bool verified, uint64 rows_wanted);

/* Returns options.beside.  If it is not 0, the cpu device does the sort. */
extern int sort_plan_beside(const CustomScan *plan);

extern SortExpected sort_plan_expected(const CustomScan *plan);

/* Returns the columns whose values get codes now, as bits, as far as they can. */
extern uint32 sort_plan_coded(const CustomScan *plan);

/* From now on the cpu device is the fastest one for the node, which only that device can count keys for. */
extern void sort_plan_prefer_cpu(CustomScan *plan);

/*
 * Returns the columns of the input that no node reads after the sort, so they need not be kept beside their
 * keys.
 */
extern Bitmapset *sort_plan_unused_columns(const CustomScan *plan);

/*
 * Makes the scan tuple of such a node refer to the input's columns, as a Sort's target list does, so that
 * EXPLAIN can print the plan. setrefs.c needs the expressions themselves there, and not all of them can be
 * printed in that place.  The plan may be cached: for the executor nothing changes.
 */
extern void sort_plan_refer_to_input(Plan *plan);

#endif /* GPUSORT_PLAN_SORT_PLAN_H */
