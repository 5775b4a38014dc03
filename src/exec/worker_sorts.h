/*
 * exec/worker_sorts.h
 *		Sorts that processes of a parallel plan do each for itself: what the leader tells its workers, and
 *		what they tell it for EXPLAIN.
 */
#ifndef GPUSORT_EXEC_WORKER_SORTS_H
#define GPUSORT_EXEC_WORKER_SORTS_H

#include "postgres.h"

#include "exec/limit_above.h"
#include "monitor/sort_stats.h"

/* The last sort of one worker. */
typedef struct WorkerSort
{
	bool performed;
	bool verified; /* did its keys only guess at the order? */
	SorterStats stats;
	char method[NAMEDATALEN]; /* that of stats, which is nothing to another process */
} WorkerSort;

/* Of one node, in the query's dynamic shared memory. */
typedef struct WorkerSorts
{
	bool kept;		   /* a copy in the leader's memory, which outlives that */
	RowsWanted wanted; /* of each process; the Limit is known to the leader alone */
	int nworkers;
	WorkerSort workers[FLEXIBLE_ARRAY_MEMBER]; /* by ParallelWorkerNumber */
} WorkerSorts;

extern Size worker_sorts_size(int nworkers);
extern void worker_sorts_init(WorkerSorts *sorts, int nworkers);

/* By a worker: this is what it did. */
extern void worker_sorts_note(WorkerSorts *sorts, const SorterStats *stats, bool verified);

/* What worker n did; false: it has not sorted. */
extern bool worker_sorts_get(const WorkerSorts *sorts, int n, SorterStats *stats, bool *verified);

/* A copy that is kept in the current memory context; that itself if it is one. */
extern WorkerSorts *worker_sorts_keep(WorkerSorts *sorts);

#endif /* GPUSORT_EXEC_WORKER_SORTS_H */
