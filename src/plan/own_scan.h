/*
 * plan/own_scan.h
 *		A scan shared by several processes, in a query for which PostgreSQL has no parallel plan.
 */
#ifndef GPUSORT_PLAN_OWN_SCAN_H
#define GPUSORT_PLAN_OWN_SCAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Returns a partial path in the place of this input, a plain scan of a table, so that several processes can
 * feed a sort.  NULL: there is none, or PostgreSQL itself considers parallel plans for the query.  The path
 * is not in a rel's lists.  A Gather over it belongs to the sort alone: own_scan_keep_serial must follow.
 */
extern Path *own_scan_path(PlannerInfo *root, Path *input);

/* Call this when a Gather was made over such a path: the query as a whole does not run in parallel mode. */
extern void own_scan_keep_serial(PlannerInfo *root);

#endif /* GPUSORT_PLAN_OWN_SCAN_H */
