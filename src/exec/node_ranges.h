/*
 * exec/node_ranges.h
 *		The executor node GpuSortRanges.
 */
#ifndef GPUSORT_EXEC_NODE_RANGES_H
#define GPUSORT_EXEC_NODE_RANGES_H

#include "postgres.h"

#include "nodes/extensible.h"

extern const CustomScanMethods gpusort_ranges_scan_methods;

/* Is it the state of such a node? */
extern bool node_is_ranges(const PlanState *state);

/* Returns the number of such nodes that this process has made. */
extern uint64 node_ranges_count_made(void);

#endif /* GPUSORT_EXEC_NODE_RANGES_H */
