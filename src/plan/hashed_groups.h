/*
 * plan/hashed_groups.h
 *		What a path that sorts to form groups costs, beside one that hashes.
 */
#ifndef GPUSORT_PLAN_HASHED_GROUPS_H
#define GPUSORT_PLAN_HASHED_GROUPS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/gpusort_path.h"

/* The cheapest path, if it hashes the input's rows in one process; else NULL. */
extern const AggPath *hashed_groups_path(const Path *cheapest, const Path *input);

/*
 * The cost of a path that sorts in the place of such a one: lower if and only if it takes clearly less time.
 * path has what it would cost beside PostgreSQL's sort.  False: it is not to be offered.
 */
extern bool hashed_groups_cost(const PlannerInfo *root, const AggPath *hashed, const SortExpectation *sort,
							   const Path *path, Cost *cost);

/*
 * As many groups as values of the columns can be combined, up to one a row.  The planner expects no more than
 * a tenth of the rows, whatever the columns.
 */
extern double likely_groups(const SortShape *sort);

#endif /* GPUSORT_PLAN_HASHED_GROUPS_H */
