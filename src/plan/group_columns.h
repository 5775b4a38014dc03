/*
 * plan/group_columns.h
 *		The columns of a sort that only bring the rows of groups together.
 */
#ifndef GPUSORT_PLAN_GROUP_COLUMNS_H
#define GPUSORT_PLAN_GROUP_COLUMNS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Returns the number of first columns of the sort whose equal values must come together, in whatever order,
 * for the groups, partitions or distinct rows of the paths from the top down to the sort; 0: a path between
 * them forms none, or needs an order.
 */
extern int group_columns_of_chain(PlannerInfo *root, Path *top, const Path *sort);

/* Does nothing above the rel of this stage want rows in the order of these pathkeys, or of the first one? */
extern bool group_order_is_free(const PlannerInfo *root, UpperRelationKind stage, const List *pathkeys);

/* Is the order of these first pathkeys another one where equal values must only come together? */
extern bool group_order_differs(const List *pathkeys, int ncolumns);

#endif /* GPUSORT_PLAN_GROUP_COLUMNS_H */
