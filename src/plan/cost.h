/*
 * plan/cost.h
 *		What a GpuSort costs, in the planner's units: PostgreSQL's own cost times the ratio of the two times.
 */
#ifndef GPUSORT_PLAN_COST_H
#define GPUSORT_PLAN_COST_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/predict.h"
#include "plan/rival.h"

/*
 * What stands in the place of a sort must take at most this part of the time of that sort and all below it,
 * and save as much of the whole plan around it: what gains less is not worth another plan.  But what gains
 * WORTH_MS milliseconds is worth it in any plan.
 */
#define WORTH_SHARE 0.95
#define WORTH_MS 1000

/*
 * In the place of an incremental sort it must save as much of that one's own time, too: a GpuSort needs
 * memory for all rows where that one needs it for a group, whose rows stay in a cache.  Of groups of ten it
 * takes 1.3 times as long as expected (calibrated on 15 and on 19rc1).
 */
#define INCREMENTAL_SHARE 0.75

/*
 * Milliseconds that a unit of the planner's cost takes below the sorts of a finished plan: the least tenth of
 * 90 in TPC-H and TPC-DS, and the middle one, 2026-11-27.  COST_INPUT is that of a table in memory.
 */
#define PLAN_UNIT_MS 0.0035
#define PLAN_MIDDLE_UNIT_MS 0.006

/* Nothing of ours costs less than this part of what it stands in the place of. */
#define LEAST_SHARE 0.01

/* Milliseconds that a path is expected to take, with its input. */
typedef struct PathTime
{
	SortTime sort; /* the sort alone */
	double first;  /* until the first row is there */
	double all;	   /* until the last one is */
	double wanted; /* until that part of the rows is there that the query wants */
} PathTime;

/* What GpuSort's paths are measured by. */
typedef struct CostYardstick
{
	Rival rival;
	SortShape shape;	   /* of the sort */
	SortShape rival_shape; /* as the rival does it */
	PathTime time;
	double fraction;		  /* what part of the rows the query wants, up to 1 */
	const Path *serial_input; /* the cheapest one that a single process reads */
	Cost startup_cost;		  /* of the rival, without what an enable_ setting adds to its sort */
	Cost total_cost;
	double cost_per_first_ms; /* units of cost that a millisecond is worth, before the first row */
	double cost_per_ms;		  /* in all */
} CostYardstick;

/*
 * Milliseconds that a GpuSort must save in the place of PostgreSQL's sort, which takes so many, with all
 * below it so many.
 */
extern double cost_gain_worth(const SortShape *postgres, double sort_ms, double all_ms);

/*
 * Does a gain of so many milliseconds count in a plan of this cost?  That may be far too high, as of a
 * sub-select in each row's condition.
 */
extern bool cost_gain_counts(double gain, Cost plan);

/* Is the GpuSort, on one device, by so many processes, expected to be faster than the rival? */
extern bool cost_is_lower(const CostYardstick *yardstick, const PathTime *time);

/* Is it expected to write clearly more temporary files than the rival? */
extern bool cost_writes_more(const CostYardstick *yardstick, const SortShape *shape);

/* What part of a path's rows the query wants: a number of them, a fraction, or all if it says nothing. */
extern double wanted_fraction(const PlannerInfo *root, double rows);

/* May a query around this one, with a LIMIT, read some of its rows alone?  How many is not known. */
extern bool may_end_early(const PlannerInfo *root);

/*
 * Fills the yardstick; shape: what is known of the sort, whoever does it and by however many processes;
 * with_ties: the LIMIT is one that PostgreSQL's sort isn't told.
 */
extern void cost_yardstick_init(CostYardstick *yardstick, const Rival *rival, const SortShape *shape,
								double fraction, const Path *serial_input, bool with_ties);

/*
 * Milliseconds that an input takes by itself.  Several processes share it, whatever part of its cost the
 * planner thinks they don't; what a process alone would pay for is not known if that is a Gather.
 */
extern double cost_input_ms(const CostYardstick *yardstick, const SortShape *shape, const Path *input);

/* The times of a GpuSort of this shape over an input, which is partial if it has several processes. */
extern PathTime cost_time_gpusort(const CostYardstick *yardstick, const SortShape *shape, const Path *input);

/* Our time as a part of theirs, LEAST_SHARE at least. */
extern double cost_ratio(double ours, double theirs);

/*
 * Sets the startup and total cost of a path that takes so long, and competes with other sorts and with index
 * scans alone: in the rival's unit.  input: what it costs at least, unless the rival costs less.
 */
extern void cost_set(const CostYardstick *yardstick, const PathTime *time, Cost input, Path *path);

/*
 * The same of one that competes with anything; input: what its input costs, workers and all; sort:
 * PostgreSQL's own sort of these rows by one process, over an input of any cost.
 */
extern void cost_set_in_plan(const CostYardstick *yardstick, SortTime time, Cost input, const SortPath *sort,
							 Path *path);

/*
 * Makes a path that stands for another plan as much dearer as PLAN_SHARE says of what it costs above its
 * input, unless the mode is force.
 */
extern void cost_add_doubt(Path *path, Cost input);

#endif /* GPUSORT_PLAN_COST_H */
