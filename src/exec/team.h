/*
 * exec/team.h
 *		The processes of one sort: how workers find it, feed it, and read its rows by ranges.
 *
 * leader:		begins the sort, team_init, launches workers, takes part, team_finish_feed, team_close
 * worker:		team_join, takes part, team_finish_feed
 *
 * Workers are launched by PostgreSQL's Gather (node_feed.c), also where the query runs in no parallel mode
 * (own_workers.c), or by the leader (team_create).
 *
 * A lone worker can't map the sort's shared memory, or there is none.  It must not skip its part of the
 * input, which it may be the only one to read: it sorts that by itself, into runs of the leader's files, and
 * the leader merges them when all workers have ended (team_close).  It counts itself before it reads its
 * first row.  So a process that has read its last row, and then finds no lone worker counted, knows that
 * there is none with rows: the parallel scan hands rows out under a lock or an atomic counter.
 *
 * A worker that comes when the sort is closed has nothing to read: team_join returns NULL.
 *
 * When all have fed, each may read ranges of the order, which are taken from a counter: the leader calls
 * team_sort_together, looks at the rows, and says into how many ranges they are cut (team_share_out); the
 * others wait for that (team_await_ranges); then all call team_next_range until it returns -1.
 *
 * What a team shares stands in the dynamic shared memory of the query or the build.  The leader sets it
 * before workers start, but for the counts of lone workers and of their rows, which are atomic, and what
 * concerns ranges: `step` is an atomic word with barriers, so that its reader sees nreaders and nranges,
 * which the leader has written before it; `joined` and `next_range` are atomic counters.
 *
 * On failure: a worker whose key is not the leader's does not take part; if nobody has entered yet it raises
 * an error, for then nobody may read its part of the input.  A device that merges no runs of others
 * (Sorter.files is NULL) fails when there are lone workers alone, and the leader begins again.  Without
 * dynamic shared memory team_create returns NULL.  An error in a worker is raised in the leader by
 * PostgreSQL.
 */
#ifndef GPUSORT_EXEC_TEAM_H
#define GPUSORT_EXEC_TEAM_H

#include "postgres.h"

#include "access/parallel.h"
#include "storage/condition_variable.h"

#include "base/stopwatch.h"
#include "device/participants.h"
#include "key/sort_key.h"

/* What the processes share. */
typedef struct TeamShare
{
	SortTeam sort;
	pg_atomic_uint64 lone_rows; /* in the runs that lone workers have published */
	Oid newest_value;			/* of enums, that the leader knows (sort_key_newest_value) */
	uint64 fingerprint;			/* of the leader's key */
	uint32 unmarked;			/* the leader found out which columns of the key need no marker */
	bool complete_rows;			/* do rows hold all their sort columns? */

	ConditionVariable stepped;
	pg_atomic_uint32 step; /* a TeamStep */
	uint32 nreaders;
	uint32 nranges;
	pg_atomic_uint32 joined; /* processes, of which the first nreaders read */
	pg_atomic_uint32 next_range;
} TeamShare;

/*
 * In the leader, before workers start: they are to feed this sorter, with this key, with rows that hold all
 * their sort columns or not; NULL: there is no sort, and nobody can join.
 */
extern void team_init(TeamShare *team, const Sorter *sorter, const SortKey *key, bool complete_rows);

/*
 * In a worker: a sorter to feed with rows of this kind, with a layout of the key that is for it; NULL:
 * nothing is left to be fed.
 */
extern Sorter *team_join(TeamShare *team, SortKey *key, TupleDesc desc);

/*
 * This process's part of the input is over, so many rows since the watch was started; false: the sorter has
 * failed.  NULL: there are no workers.
 */
extern bool team_finish_feed(TeamShare *team, Sorter *sorter, uint64 rows, Stopwatch watch);

/* In the leader, after its last row: are there rows of lone workers? */
extern bool team_has_lone(TeamShare *team);

/*
 * In the leader, when all workers have ended: the sorter is told of the lone ones.  If any process has
 * entered it has read to the end, so a lone worker that reads nothing has left no row out.
 */
extern void team_close(TeamShare *team, Sorter *sorter);

/* ---------------------------------------------------------------- ranges */

/*
 * In the leader, after team_finish_feed: can all processes read ranges of the rows?  Sorter.nrows says how
 * many rows there are.
 */
extern bool team_sort_together(TeamShare *team, Sorter *sorter);

/* In the leader, afterwards: so many processes are to read so many ranges.  False: they don't. */
extern bool team_share_out(TeamShare *team, const Sorter *sorter, uint32 nreaders, uint32 nranges);

/* In a worker, after team_finish_feed: is it to read ranges? */
extern bool team_await_ranges(TeamShare *team, Sorter *sorter);

/* The range that this process reads next, at whose beginning the sorter is then; -1: none is left. */
extern int team_next_range(TeamShare *team, Sorter *sorter);

/* In the leader, when all workers have ended: how many processes read ranges. */
extern int team_readers(TeamShare *team);

/* ---------------------------------------------------------------- workers of the leader's own */

/*
 * In the leader, which is no parallel worker: begins parallel mode and gets ready to launch workers
 * (LaunchParallelWorkers), which begin in this function of this library.  Returns so many bytes that all
 * share; NULL: there is no memory for that, and no parallel mode.
 */
extern void *team_create(const char *function, int nworkers, Size size, ParallelContext **context);

/* Waits for the workers' end, reports meanwhile, again and again, and adds up what they have used. */
extern void team_wait(ParallelContext *context, void (*report)(void *arg), void *arg);

/* When the sorter has ended, too: releases what is left, and ends parallel mode. */
extern void team_release(ParallelContext *context);

/* In such a worker: first, with what team_create returned; and last. */
extern void *team_worker_begin(shm_toc *toc);
extern void team_worker_end(shm_toc *toc);

#endif /* GPUSORT_EXEC_TEAM_H */
