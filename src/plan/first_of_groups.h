/*
 * plan/first_of_groups.h
 *		Whether the node above a GpuSort wants only the first rows of each group of them.
 *
 * These nodes do: a window that numbers rows, with a condition on the numbers; the nodes of DISTINCT,
 * DISTINCT ON, UNION, and of GROUP BY without aggregates; a GpuAggInput for aggregates with DISTINCT.
 */
#ifndef GPUSORT_PLAN_FIRST_OF_GROUPS_H
#define GPUSORT_PLAN_FIRST_OF_GROUPS_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "base/group_rows.h"

/* What a node wants of a sort below it. */
typedef struct GroupsWanted
{
	GroupRows kind;
	int columns; /* first columns of the sort that form the groups; 0: all rows are one group */
	Expr *limit; /* a Const or Param: the number of rows, an int2, int4 or int8; NULL: 1 */
	Oid type;	 /* its type */
	bool below;	 /* numbers below `limit` are wanted, and not the limit itself */
} GroupsWanted;

/* Are only some rows of each group wanted?  sort: a GpuSort or Sort of a finished plan; above: its parent. */
extern bool first_of_groups(const PlannedStmt *stmt, const Plan *above, const Plan *sort,
							GroupsWanted *wanted);

/* Returns the number of rows for a value of the limit. */
extern FirstOfGroups first_of_groups_by(const GroupsWanted *wanted, Datum limit, bool isnull);

/* Does the plan say the number of rows?  Then first_of_groups_in_plan returns it; otherwise it returns 1. */
extern bool first_of_groups_is_known(const GroupsWanted *wanted);
extern FirstOfGroups first_of_groups_in_plan(const GroupsWanted *wanted);

#endif /* GPUSORT_PLAN_FIRST_OF_GROUPS_H */
