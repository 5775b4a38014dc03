/*
 * exec/worker_sorts.h
 *		Sorts that each process of a parallel plan does for itself: the leader's values for the workers, and
 *		the workers' statistics for EXPLAIN.
 */
#ifndef GPUSORT_EXEC_WORKER_SORTS_H
#define GPUSORT_EXEC_WORKER_SORTS_H

#include "postgres.h"

#include "exec/rows_wanted.h"
#include "monitor/sort_stats.h"

/* The last sort of one worker. */
typedef struct WorkerSort
{
	bool performed;
	bool verified; /* did its keys only guess the order? */
	SorterStats stats;
	/* the string of stats.method; the pointer in stats is invalid in other processes */
	char method[NAMEDATALEN];
} WorkerSort;

/* The sorts of one node, in the query's dynamic shared memory. */
typedef struct WorkerSorts
{
	bool kept;		   /* a copy in the leader's memory, which outlives the shared memory */
	RowsWanted wanted; /* rows that are wanted from each process; only the leader has the Limit */
	int nworkers;
	WorkerSort workers[FLEXIBLE_ARRAY_MEMBER]; /* by ParallelWorkerNumber */
} WorkerSorts;

extern Size worker_sorts_size(int nworkers);
extern void worker_sorts_init(WorkerSorts *sorts, int nworkers);

/* In worker n: stores the statistics of its sort. */
extern void worker_sorts_note(WorkerSorts *sorts, int n, const SorterStats *stats, bool verified);

/* Returns the statistics of worker n's sort; false: the worker has not sorted. */
extern bool worker_sorts_get(const WorkerSorts *sorts, int n, SorterStats *stats, bool *verified);

/* Returns a copy in the current memory context; returns the argument itself if it is such a copy. */
extern WorkerSorts *worker_sorts_keep(WorkerSorts *sorts);

#endif /* GPUSORT_EXEC_WORKER_SORTS_H */
