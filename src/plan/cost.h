/*
 * plan/cost.h
 *		The cost of a GpuSort, in the planner's units: PostgreSQL's cost times the ratio of the two times.
 */
#ifndef GPUSORT_PLAN_COST_H
#define GPUSORT_PLAN_COST_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/predict_terms.h"
#include "plan/rival.h"

/*
 * A GpuSort that replaces a sort must take at most this part of the time of that sort and everything below
 * it.  It must also save the same share of the whole plan.  A smaller gain is not worth another plan.  A gain
 * of WORTH_MS milliseconds is worth it in any plan.
 */
#define WORTH_SHARE 0.95
#define WORTH_MS 1000

/*
 * If a GpuSort replaces an incremental sort, it may take at most this share of the incremental sort's time.
 * A GpuSort needs memory for all rows.  An incremental sort needs memory for one group, whose rows stay in a
 * cache.  With groups of ten a GpuSort takes 1.3 times as long as expected (calibrated on 15 and on 19rc1).
 */
#define INCREMENTAL_SHARE 0.75

/*
 * Milliseconds for a unit of the planner's cost below the sorts of a finished plan: the tenth percentile of
 * 90 sorts in TPC-H and TPC-DS, and the median, 2026-11-27.  COST_INPUT is the time for a table in memory.
 */
#define PLAN_UNIT_MS 0.0035
#define PLAN_MIDDLE_UNIT_MS 0.006

/* A GpuSort costs at least this part of the cost of the plan that it replaces. */
#define LEAST_SHARE 0.01

/* The expected milliseconds of a path, with its input. */
typedef struct PathTime
{
	SortTime sort; /* the sort alone */
	double first;  /* until the first row */
	double all;	   /* until the last row */
	double wanted; /* until the part of the rows that the query wants */
} PathTime;

/* The comparison for GpuSort's paths. */
typedef struct CostYardstick
{
	Rival rival;
	SortShape shape;	   /* the sort's shape */
	SortShape rival_shape; /* the shape as the rival sorts */
	PathTime time;
	double fraction;		  /* the part of the rows that the query wants, up to 1 */
	const Path *serial_input; /* the cheapest input that one process reads */
	Cost startup_cost;		  /* cost of the rival, without the addition of an enable_ setting for its sort */
	Cost total_cost;
	double cost_per_first_ms; /* units of cost for a millisecond before the first row */
	double cost_per_ms;		  /* units of cost for a millisecond in total */
} CostYardstick;

/*
 * Returns the milliseconds that a GpuSort must save.  sort_ms: the time of PostgreSQL's sort.  all_ms: the
 * time of that sort and everything below it.
 */
extern double cost_gain_worth(const SortShape *postgres, double sort_ms, double all_ms);

/*
 * Does a gain of this many milliseconds count in a plan of this cost?  The cost may be far too high, for
 * example with a sub-select in each row's condition.
 */
extern bool cost_gain_counts(double gain, Cost plan);

/* Is a GpuSort with this time expected to be faster than the rival? */
extern bool cost_is_lower(const CostYardstick *yardstick, const PathTime *time);

/* Is a GpuSort of this shape expected to write clearly more temporary files than the rival? */
extern bool cost_writes_more(const CostYardstick *yardstick, const SortShape *shape);

/*
 * Returns the part of a path's rows that the query wants: from a number of rows, a fraction, or all rows by
 * default.
 */
extern double wanted_fraction(const PlannerInfo *root, double rows);

/* May an outer query with a LIMIT read only some of this query's rows?  Their number is not known. */
extern bool may_end_early(const PlannerInfo *root);

/*
 * Fills the yardstick. shape: the properties of the sort, for either side and any number of processes.
 * with_ties: PostgreSQL's sort is not told this LIMIT.
 */
extern void cost_yardstick_init(CostYardstick *yardstick, const Rival *rival, const SortShape *shape,
								double fraction, const Path *serial_input, bool with_ties);

/*
 * Returns the milliseconds of an input by itself.  Several processes share all of it, even if the planner's
 * cost has parts that are not shared.  If the input is a Gather, the cost for one process is not known.
 */
extern double cost_input_ms(const CostYardstick *yardstick, const SortShape *shape, const Path *input);

/* The times of a GpuSort of this shape over an input, which is partial if it has several processes. */
extern PathTime cost_time_gpusort(const CostYardstick *yardstick, const SortShape *shape, const Path *input);

/* Returns gpusort's time divided by PostgreSQL's time, at least LEAST_SHARE. */
extern double cost_ratio(double ours, double theirs);

/*
 * Sets the startup and total cost of a path with this time that competes only with other sorts and with index
 * scans.  The unit is the rival's. input: the least cost of the path, unless the rival costs less.
 */
extern void cost_set(const CostYardstick *yardstick, const PathTime *time, Cost input, Path *path);

/*
 * Sets the costs of a path that competes with any other path. input: the cost of its input, including
 * workers. sort: PostgreSQL's sort of these rows by one process, over an input of any cost.
 */
extern void cost_set_in_plan(const CostYardstick *yardstick, SortTime time, Cost input, const SortPath *sort,
							 Path *path);

/*
 * Raises the cost of a path that replaces another plan.  PLAN_SHARE gives the increase of the cost above its
 * input.
 */
extern void cost_add_doubt(Path *path, Cost input);

#endif /* GPUSORT_PLAN_COST_H */
