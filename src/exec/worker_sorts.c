/*
 * exec/worker_sorts.c
 *		Sorts that processes of a parallel plan do each for itself: what the leader tells its workers, and
 *		what they tell it for EXPLAIN.
 *
 * The leader writes what is wanted before workers start.  Each worker writes its own entry, and the leader
 * reads it when the workers have ended; where a LIMIT ends them early, what they have written by then.
 */
#include "postgres.h"

#include "port/atomics.h"

#include "exec/worker_sorts.h"

Size
worker_sorts_size(int nworkers)
{
	return offsetof(WorkerSorts, workers) + sizeof(WorkerSort) * nworkers;
}

void
worker_sorts_init(WorkerSorts *sorts, int nworkers)
{
	memset(sorts, 0, worker_sorts_size(nworkers));
	sorts->nworkers = nworkers;
}

void
worker_sorts_note(WorkerSorts *sorts, int n, const SorterStats *stats, bool verified)
{
	WorkerSort *own = &sorts->workers[n];

	own->stats = *stats;
	own->verified = verified;
	strlcpy(own->method, stats->method, sizeof(own->method));
	pg_write_barrier();
	own->performed = true;
}

bool
worker_sorts_get(const WorkerSorts *sorts, int n, SorterStats *stats, bool *verified)
{
	const WorkerSort *worker = &sorts->workers[n];

	if (!worker->performed)
		return false;
	pg_read_barrier();
	*stats = worker->stats;
	*verified = worker->verified;
	stats->method = worker->method;
	return true;
}

WorkerSorts *
worker_sorts_keep(WorkerSorts *sorts)
{
	Size size = worker_sorts_size(sorts->nworkers);
	WorkerSorts *copy;

	if (sorts->kept)
		return sorts;
	copy = palloc(size);
	memcpy(copy, sorts, size);
	copy->kept = true;
	return copy;
}
