/*
 * plan/own_scan.h
 *		A scan shared by several processes, in a query that PostgreSQL has no parallel plan for.
 */
#ifndef GPUSORT_PLAN_OWN_SCAN_H
#define GPUSORT_PLAN_OWN_SCAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * The partial path whose rows several processes could feed to a sort in the place of this input, which is a
 * plain scan of a table; NULL: none, or the query is one that PostgreSQL itself considers parallel plans for.
 * It is in no rel's lists.  A Gather over it is the sort's alone: own_scan_keep_serial must follow.
 */
extern Path *own_scan_path(PlannerInfo *root, Path *input);

/* When a Gather has been made over such a path: the query as a whole runs in no parallel mode. */
extern void own_scan_keep_serial(PlannerInfo *root);

#endif /* GPUSORT_PLAN_OWN_SCAN_H */
