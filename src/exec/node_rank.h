/*
 * exec/node_rank.h
 *		The executor node GpuRank.
 */
#ifndef GPUSORT_EXEC_NODE_RANK_H
#define GPUSORT_EXEC_NODE_RANK_H

#include "postgres.h"

#include "nodes/extensible.h"

/* Methods of the node, to be registered under its name. */
extern const CustomScanMethods gpurank_scan_methods;

#endif /* GPUSORT_EXEC_NODE_RANK_H */
