/*
 * exec/own_workers.h
 *		A parallel mode of the sort's own, for as long as it reads its input.
 */
#ifndef GPUSORT_EXEC_OWN_WORKERS_H
#define GPUSORT_EXEC_OWN_WORKERS_H

#include "postgres.h"

#include "nodes/execnodes.h"

/* Of a GpuSort above a Gather. */
typedef struct OwnWorkers
{
	Oid user; /* of the executor's start */
	int security_context;
	bool active;	   /* is this parallel mode the sort's own? */
	List *range_table; /* the executor's, meanwhile */
	List *permissions;
} OwnWorkers;

/* To be called when the executor starts. */
extern void own_workers_init(OwnWorkers *own);

/*
 * Lets this Gather, above a GpuSortFeed, launch its workers in a query that runs in no parallel mode, and
 * sets own->active; if that is false, the query runs in one, so that they are launched anyway, or they must
 * not be, and the Gather reads alone.
 */
extern void own_workers_begin(OwnWorkers *own, PlanState *gather);

/* Waits for these workers' end, and leaves parallel mode.  After an error the transaction's end does that. */
extern void own_workers_end(OwnWorkers *own, PlanState *gather);

#endif /* GPUSORT_EXEC_OWN_WORKERS_H */
