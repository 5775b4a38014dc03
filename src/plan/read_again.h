/*
 * plan/read_again.h
 *		May a grouping's input be read more than once?
 */
#ifndef GPUSORT_PLAN_READ_AGAIN_H
#define GPUSORT_PLAN_READ_AGAIN_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Are the rows of this path of rel the same ones if they are read again? */
extern bool read_again_is_same(const PlannerInfo *root, const RelOptInfo *rel, const Path *input);

/* Is rel one table in memory, with conditions that take little time? */
extern bool read_again_is_cheap(const RelOptInfo *rel);

#endif /* GPUSORT_PLAN_READ_AGAIN_H */
