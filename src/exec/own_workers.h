/*
 * exec/own_workers.h
 *		A parallel mode of the sort's own, while the sort reads its input.
 */
#ifndef GPUSORT_EXEC_OWN_WORKERS_H
#define GPUSORT_EXEC_OWN_WORKERS_H

#include "postgres.h"

#include "nodes/execnodes.h"

/* The state for a GpuSort above a Gather. */
typedef struct OwnWorkers
{
	Oid user; /* the user at the executor's start */
	int security_context;
	bool active;			   /* is this parallel mode the sort's own? */
	List *workers_range_table; /* NIL: no worker was launched yet */
	List *range_table;		   /* the executor's range table, while the workers' is in use */
	List *permissions;
} OwnWorkers;

/* Call this when the executor starts. */
extern void own_workers_init(OwnWorkers *own);

/*
 * Lets this Gather, above a GpuSortFeed, launch its workers in a query without parallel mode, and sets
 * own->active.  If own->active is false, there are two cases: the query is in parallel mode, and the Gather
 * launches its workers anyway; or workers are not allowed, and the Gather reads alone.
 */
extern void own_workers_begin(OwnWorkers *own, PlanState *gather);

/*
 * Waits for the end of these workers, and leaves parallel mode.  After an error the end of the transaction
 * does both.
 */
extern void own_workers_end(OwnWorkers *own, PlanState *gather);

#endif /* GPUSORT_EXEC_OWN_WORKERS_H */
