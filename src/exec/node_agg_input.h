/*
 * exec/node_agg_input.h
 *		The executor node GpuAggInput.
 */
#ifndef GPUSORT_EXEC_NODE_AGG_INPUT_H
#define GPUSORT_EXEC_NODE_AGG_INPUT_H

#include "postgres.h"

#include "nodes/extensible.h"

/* Methods of the node, to be registered under its name. */
extern const CustomScanMethods gpuagginput_scan_methods;

#endif /* GPUSORT_EXEC_NODE_AGG_INPUT_H */
