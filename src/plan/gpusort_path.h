/*
 * plan/gpusort_path.h
 *		A GpuSort as a path of the planner.
 */
#ifndef GPUSORT_PLAN_GPUSORT_PATH_H
#define GPUSORT_PLAN_GPUSORT_PATH_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/sort_shape.h"
#include "plan/rival.h"

/* A sort that a GpuSort might do. */
typedef struct SortToOffer
{
	PlannerInfo *root;
	RelOptInfo *rel; /* rel of the sorted rows */
	Path *input;	 /* the cheapest input of one process */
	Path *partial;	 /* the input of several processes, or NULL */
	double rows;	 /* the likely number of rows, where the planner's estimate is in doubt */
	List *pathkeys;
	double fraction;	   /* the part of the rows that the query wants, up to 1 */
	double wanted;		   /* the most rows that a LIMIT above returns; -1: all */
	int group_columns;	   /* first columns, of each group of which one row is wanted; 0: all rows are */
	int grouped;		   /* first columns whose equal values must come together, in whatever order */
	bool with_ties;		   /* is PostgreSQL's sort not told this LIMIT? */
	bool for_order_by;	   /* is it the query's own order, so that sort columns may be needed only for it? */
	const AggPath *hashed; /* the planner's path without a sort, or NULL */
	RivalPlan replaced;	   /* the replaced plan, if such plans are noted */
} SortToOffer;

/* The expectations of a GpuSort, for a comparison with plans that do not sort. */
typedef struct SortExpectation
{
	SortShape shape;
	double ms;		 /* milliseconds until all rows are returned, with the input */
	double part;	 /* the part of the rows that each process returns: 1, or less in ranges */
	double input_ms; /* milliseconds of the input by itself, in one process */
	double rival_ms; /* milliseconds of the rival's sort by itself */
	bool is_faster;	 /* is it faster than the rival? */
} SortExpectation;

/* Can a sort of this input be offered, and are the rows not already in this order? */
extern bool sort_may_be_offered(const Path *input, List *pathkeys);

/* Returns the path of rel whose rows several processes could feed to such a sort, or NULL. */
extern Path *partial_input(const RelOptInfo *rel, List *pathkeys);

/*
 * Returns the fastest GpuSort if it is expected to be faster than the rival, or the mode is force, or the
 * planner would not sort at all; otherwise NULL.  The path is not in a rel's list of paths.  Fills
 * `expected`, if it is not NULL and a GpuSort is possible.
 */
extern CustomPath *gpusort_path(const SortToOffer *sort, const Rival *rival, SortExpectation *expected);

/*
 * Returns a GpuSortRanges over sort->partial, a partial path with the rows and costs of one process.  Rows
 * that are equal in the first sort->grouped sort columns come out of one process.  NULL: it is impossible, or
 * would write clearly more temporary files without being much faster.  Fills `expected`, if it is not NULL
 * and the path is possible.
 */
extern Path *gpusort_path_ranges(const SortToOffer *sort, const Rival *rival, SortExpectation *expected);

/*
 * Changes the cost of the chain of paths above a GpuSort or GpuSortRanges to this total, and those within the
 * chain in proportion.  input: the cost below the sort, which is not changed.
 */
extern void gpusort_path_set_chain_cost(Path *top, Path *gpusort, Cost input, Cost total);

#endif /* GPUSORT_PLAN_GPUSORT_PATH_H */
