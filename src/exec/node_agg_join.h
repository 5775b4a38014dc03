/*
 * exec/node_agg_join.h
 *		The executor node GpuAggJoin (plan/agg_join.h).
 */
#ifndef GPUSORT_EXEC_NODE_AGG_JOIN_H
#define GPUSORT_EXEC_NODE_AGG_JOIN_H

#include "postgres.h"

#include "nodes/extensible.h"

extern const CustomScanMethods gpuaggjoin_scan_methods;

#endif /* GPUSORT_EXEC_NODE_AGG_JOIN_H */
