/*
 * exec/limit_above.h
 *		The Limit above a GpuSort.
 *
 * PostgreSQL tells a Sort its bound, but not a custom scan.  Therefore, when an executor has started, each
 * GpuSort gets the Limit above it, if the Limit bounds the sort.
 */
#ifndef GPUSORT_EXEC_LIMIT_ABOVE_H
#define GPUSORT_EXEC_LIMIT_ABOVE_H

/* Once, when the library is loaded. */
extern void limit_above_install_hook(void);

#endif /* GPUSORT_EXEC_LIMIT_ABOVE_H */
