/*
 * exec/node_gpusort.h
 *		The executor node GpuSort.
 */
#ifndef GPUSORT_EXEC_NODE_GPUSORT_H
#define GPUSORT_EXEC_NODE_GPUSORT_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

/* Methods of the node, to be registered under its name. */
extern const CustomScanMethods gpusort_scan_methods;

/* Is this state a GpuSort's? */
extern bool node_is_gpusort(const PlanState *state);

/* Returns the number of GpuSorts whose states this process has begun. */
extern uint64 node_gpusort_count_made(void);

/* Says, before the node returns its first row, that only a few rows will be read, at positions. */
extern void node_gpusort_read_few(PlanState *node);

/*
 * node_gpusort_rows: the number of the node's rows, if each has a position, from 0; otherwise -1.
 * node_gpusort_seek: the next row is the one at this position.  The node must have returned a row.
 */
extern int64 node_gpusort_rows(const PlanState *node);
extern void node_gpusort_seek(PlanState *node, int64 position);

/*
 * Returns the number of rows that differ in the sort columns, of those from position `first` to before `end`;
 * -1: they must be read.  The rows must have positions.  Afterwards node_gpusort_seek must be called.
 */
extern int64 node_gpusort_count_keys(PlanState *node, int64 first, int64 end);

#endif /* GPUSORT_EXEC_NODE_GPUSORT_H */
