/*
 * exec/nodes_above.h
 *		What the nodes above a sort want of it.
 *
 * PostgreSQL tells a Sort its bound, but not a custom scan.  Therefore, when an executor has started, each
 * GpuSort gets the Limit above it, if the Limit bounds the sort, and each GpuSort and GpuSortRanges the node
 * that wants the first rows of groups alone.
 */
#ifndef GPUSORT_EXEC_NODES_ABOVE_H
#define GPUSORT_EXEC_NODES_ABOVE_H

/* Once, when the library is loaded. */
extern void nodes_above_install_hook(void);

#endif /* GPUSORT_EXEC_NODES_ABOVE_H */
