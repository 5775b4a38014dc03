/*
 * plan/path_chain.h
 *		Chains of paths with one input each, and their copies.
 */
#ifndef GPUSORT_PLAN_PATH_CHAIN_H
#define GPUSORT_PLAN_PATH_CHAIN_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Returns the input of a path that sorts, or returns what it computes from sorted rows; of another one NULL.
 */
extern Path *path_input(Path *path);

/* Returns the same, or the input of a Gather, with or without a merge. */
extern Path *path_below(Path *path);

/* Returns a copy of a path that has a path_input, over another input, with the costs of the original. */
extern Path *path_copy_over(Path *path, Path *input);

/*
 * Returns a path of the same rows whose order the planner does not know.  It makes no node of its own.
 */
extern Path *path_without_order(PlannerInfo *root, Path *path);

#endif /* GPUSORT_PLAN_PATH_CHAIN_H */
