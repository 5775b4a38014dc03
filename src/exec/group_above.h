/*
 * exec/group_above.h
 *		The node above a GpuSort, if it wants only the first rows of each group of them.
 */
#ifndef GPUSORT_EXEC_GROUP_ABOVE_H
#define GPUSORT_EXEC_GROUP_ABOVE_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "exec/rows_wanted.h"
#include "plan/first_of_groups.h"

typedef struct GroupAbove GroupAbove;

/*
 * When an executor has started: returns what the parent of a sort wants, in the query's memory; NULL: all
 * rows.
 */
extern GroupAbove *group_above_find(PlanState *parent, PlanState *sort);

/* Returns what is wanted as far as the plan tells; NULL: all rows. */
extern const GroupsWanted *group_above_wanted(const GroupAbove *above);

/* Sets what is wanted now.  above: NULL if all rows are. */
extern void group_above_evaluate(const GroupAbove *above, PlanState *sort, RowsWanted *wanted);

#endif /* GPUSORT_EXEC_GROUP_ABOVE_H */
