/*
 * plan/agg_input_take.h
 *		Puts a GpuAggInput below an Agg: for which of its calls, and what the Agg computes then.
 */
#ifndef GPUSORT_PLAN_AGG_INPUT_TAKE_H
#define GPUSORT_PLAN_AGG_INPUT_TAKE_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * Puts a GpuAggInput below the Agg of a finished plan, and rewrites the Agg's calls, if a GpuSort is its
 * input and has an order that some calls need.  next_id: a number that no node of the statement has, which is
 * then used.  False: nothing has changed.
 */
extern bool agg_input_take(Agg *agg, int next_id);

#endif /* GPUSORT_PLAN_AGG_INPUT_TAKE_H */
