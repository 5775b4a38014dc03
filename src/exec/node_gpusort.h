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

#endif /* GPUSORT_EXEC_NODE_GPUSORT_H */
