/*
 * plan/gpusort_path.h
 *		A GpuSort as a path of the planner's.
 */
#ifndef GPUSORT_PLAN_GPUSORT_PATH_H
#define GPUSORT_PLAN_GPUSORT_PATH_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/predict.h"
#include "plan/rival.h"
#include "plan/rival_plan.h"

/* A sort that a GpuSort might do. */
typedef struct SortToOffer
{
	PlannerInfo *root;
	RelOptInfo *rel; /* that the sorted rows belong to */
	Path *input;	 /* the cheapest one of a single process */
	Path *partial;	 /* what several processes would read, or NULL */
	double rows;	 /* that are likely, which may be fewer than the planner expects */
	List *pathkeys;
	double fraction;   /* what part of the rows the query wants, up to 1 */
	double wanted;	   /* the most rows that a LIMIT above lets through; -1: all */
	bool with_ties;	   /* is that one which PostgreSQL's sort isn't told? */
	bool for_order_by; /* is it the query's own order, so that its sort columns may be there for it alone? */
	const AggPath *hashed; /* what the planner would do instead of sorting, or NULL */
	RivalPlan replaced;	   /* the same, if that is noted */
} SortToOffer;

/* What is expected of a GpuSort, for who weighs it against something else than a sort. */
typedef struct SortExpectation
{
	SortShape shape;
	double ms;		 /* until all rows are there, with its input */
	double input_ms; /* that the input takes by itself, in a single process */
	bool is_faster;	 /* than the rival? */
} SortExpectation;

/* Are there rows enough in this input for a sort of them to be offered, and are they not in such an order? */
extern bool sort_may_be_offered(const Path *input, List *pathkeys);

/* The path of rel whose rows several processes could feed to such a sort, or NULL. */
extern Path *partial_input(const RelOptInfo *rel, List *pathkeys);

/*
 * The fastest GpuSort, if it is expected to be faster than the rival, or the mode is force, or the planner
 * would not sort at all; else NULL.  It is in no rel's paths.  Fills expected, if that is not NULL.
 */
extern CustomPath *gpusort_path(const SortToOffer *sort, const Rival *rival, SortExpectation *expected);

/* The same path of one of several plans, with what this one is offered in place of. */
extern CustomPath *gpusort_path_in_place_of(const CustomPath *path, RivalPlan replaced);

/* Are its sorted rows expected to be in temporary files? */
extern bool gpusort_path_is_in_files(const CustomPath *path);

/* Changes its costs. */
extern void gpusort_path_set_costs(CustomPath *path, Cost startup, Cost total);

#endif /* GPUSORT_PLAN_GPUSORT_PATH_H */
