/*
 * exec/own_workers.h
 *		A parallel mode of the sort's own, for as long as it reads its input.
 */
#ifndef GPUSORT_EXEC_OWN_WORKERS_H
#define GPUSORT_EXEC_OWN_WORKERS_H

#include "postgres.h"

#include "nodes/execnodes.h"

/*
 * Lets this Gather, above a GpuSortFeed, launch its workers in a query that runs in no parallel mode; false:
 * it runs in one, so that they are launched anyway, or must not, and the Gather reads alone.  What is fed
 * must be a bare scan.
 */
extern bool own_workers_begin(PlanState *gather);

/* Waits for these workers' end, and leaves parallel mode.  After an error the transaction's end does that. */
extern void own_workers_end(PlanState *gather);

#endif /* GPUSORT_EXEC_OWN_WORKERS_H */
