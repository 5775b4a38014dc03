/*
 * exec/node_ranges.h
 *		The executor node GpuSortRanges.
 */
#ifndef GPUSORT_EXEC_NODE_RANGES_H
#define GPUSORT_EXEC_NODE_RANGES_H

#include "postgres.h"

#include "nodes/extensible.h"

extern const CustomScanMethods gpusort_ranges_scan_methods;

#endif /* GPUSORT_EXEC_NODE_RANGES_H */
