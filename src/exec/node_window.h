/*
 * exec/node_window.h
 *		The executor node GpuWindow.
 */
#ifndef GPUSORT_EXEC_NODE_WINDOW_H
#define GPUSORT_EXEC_NODE_WINDOW_H

#include "postgres.h"

#include "nodes/extensible.h"

/* Methods of the node, to be registered under its name. */
extern const CustomScanMethods gpuwindow_scan_methods;

#endif /* GPUSORT_EXEC_NODE_WINDOW_H */
