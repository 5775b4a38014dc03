/*
 * plan/sort_plan.h
 *		The plan nodes GpuSort and GpuSortFeed: what a Sort node says, in a CustomScan.
 *
 * A GpuSort's input is its lefttree, as for a Sort.  Its scan tuples are the input's, column by column; the
 * sort columns stand in custom_private.  A GpuSortFeed, below the Gather that is a GpuSort's input, is a copy
 * of it as to all that.
 *
 * The nodes are complete when they are made, by the planner or in a finished plan (take_sorts.c): plans may
 * come past no hook of ours after that, for other extensions have hooks, too, and some store plans.
 */
#ifndef GPUSORT_PLAN_SORT_PLAN_H
#define GPUSORT_PLAN_SORT_PLAN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "key/sort_key.h"
#include "plan/rival_plan.h"

/* The names in EXPLAIN, and under which the nodes' methods are registered. */
#define GPUSORT_NODE_NAME "GpuSort"
#define GPUSORT_FEED_NODE_NAME "GpuSortFeed"

/* Registers the nodes' methods; once, when the library is loaded. */
extern void sort_plan_register(const CustomScanMethods *gpusort_methods,
							   const CustomScanMethods *feed_methods);

/* What the planner expects of a GpuSort, and what follows of that; plans keep it. */
typedef struct SortExpected
{
	bool faster_on_gpu; /* of the two devices */
	/* the same if a LIMIT is known when the sort begins: if it wants so many rows; -1: never */
	double rows_for_gpu;
	int key_bytes;		/* of a row's key */
	double ms;			/* time that it takes, without its input */
	double postgres_ms; /* that PostgreSQL's sort in its place would take */
	double cpu_ms;		/* and the cpu device */
	RivalPlan replaced; /* what it was offered in place of, if that was noted */
} SortExpected;

/* What a GpuSort is told besides what a Sort is. */
typedef struct SortPlanOptions
{
	bool output_is_used;  /* all columns of the output are, those for the sort alone included */
	Bitmapset *sort_junk; /* resnos of the output for the sort alone, at which no node above looks */
	bool restartable;	  /* the input gives the same rows when read once more: nothing below is volatile */
	int beside;			  /* so many processes of a parallel plan do one such sort each; 0: this one alone */
	SortExpected expected;
} SortPlanOptions;

/*
 * A GpuSort in the place of sort, over sort's input; before setrefs.c. targetlist is the output.  It is
 * complete, and so is the feed below it, if there is one.
 */
extern CustomScan *sort_plan_from_sort(const Sort *sort, List *targetlist, const SortPlanOptions *options);

/* The same of a Sort of a finished plan, after setrefs.c; with the Sort's output, costs and parameters. */
extern CustomScan *sort_plan_from_finished_sort(const Sort *sort, const SortPlanOptions *options);

/* A GpuSortFeed over this input; the GpuSort that is made above it completes it. */
extern CustomScan *sort_plan_feed(Plan *input, List *targetlist);

/* A node's output columns by reference, for one above it, or one whose scan tuple they are. */
extern List *plan_refer_to_columns(List *targetlist, int varno);

extern bool sort_plan_is_gpusort(const Plan *plan);
extern bool sort_plan_is_feed(const Plan *plan);

/* The sort columns of a GpuSort, a GpuSortFeed or a Sort, in a palloc'd array. */
extern SortColumnSpec *sort_plan_columns(const Plan *plan, int *ncolumns);

/* As the options said. */
extern bool sort_plan_is_restartable(const CustomScan *plan);

/* For a sort of which so many rows are wanted; 0: as many as the planner thought. */
extern bool sort_plan_is_faster_on_gpu(const CustomScan *plan, uint64 rows_wanted);

/* As the options said; such a sort is done by the cpu device. */
extern int sort_plan_beside(const CustomScan *plan);

extern SortExpected sort_plan_expected(const CustomScan *plan);

/* The columns of the input that nothing looks at after the sort: they need not be kept beside their keys. */
extern Bitmapset *sort_plan_unused_columns(const CustomScan *plan);

/*
 * Makes the scan tuple of a GpuSort or GpuSortFeed refer to the input's columns, as a Sort's target list
 * does, for whoever prints the plan: setrefs.c needs the expressions themselves there, but not all can be
 * printed out of their place.  The plan may be a cached one: for who executes it nothing changes.
 */
extern void sort_plan_refer_to_input(Plan *plan);

#endif /* GPUSORT_PLAN_SORT_PLAN_H */
