/*
 * plan/hashed_groups.h
 *		The cost of a path that sorts to form groups, compared with a path that hashes.
 */
#ifndef GPUSORT_PLAN_HASHED_GROUPS_H
#define GPUSORT_PLAN_HASHED_GROUPS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/gpusort_path.h"

/* Returns the cheapest path if it hashes the input's rows in one process; otherwise NULL. */
extern const AggPath *hashed_groups_path(const Path *cheapest, const Path *input);

/*
 * Computes the cost of a path that sorts instead of hashing.  The cost is lower than that of hashing if and
 * only if the path takes clearly less time. path: has the cost compared with PostgreSQL's sort.  False: do
 * not offer the path.
 */
extern bool hashed_groups_cost(const PlannerInfo *root, const AggPath *hashed, const SortExpectation *sort,
							   const Path *path, Cost *cost);

/*
 * Returns the number of combinations of the columns' values, at most the number of rows.  The planner expects
 * at most a tenth of the rows, for any columns.
 */
extern double likely_groups(const SortShape *sort);

#endif /* GPUSORT_PLAN_HASHED_GROUPS_H */
