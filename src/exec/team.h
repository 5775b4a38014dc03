/*
 * exec/team.h
 *		The processes of one sort: how workers find the sort, feed it, and read its rows in ranges.
 *
 * leader:		begins the sort, team_init, launches workers, takes part, team_finish_feed, team_close
 * worker:		team_join, takes part, team_finish_feed
 *
 * PostgreSQL's Gather launches the workers (node_feed.c), also in a query without parallel mode
 * (own_workers.c).  In index builds the leader launches them (team_create).
 *
 * A lone worker cannot map the sort's shared memory, or there is none.  It must not skip its part of the
 * input, because no other process may read that part.  It sorts its rows by itself, into runs in the leader's
 * files.  The leader merges these runs when all workers have ended (team_close).  A lone worker counts itself
 * before it reads its first row.  The parallel scan hands rows out under a lock or an atomic counter.
 * Therefore, if a process has read its last row and then finds no lone worker counted, no lone worker has
 * rows.
 *
 * If a worker comes when the sort is closed, no input is left: team_join returns NULL.
 *
 * When all processes have fed, each may read ranges of the order; a counter hands the ranges out.  One of
 * them, here called the first process, calls team_sort_together, looks at the rows, and sets the number of
 * ranges (team_share_out): in a build of an index the leader, in a query (node_ranges.c) the process that
 * entered first.  The other processes wait for that (team_await_ranges).  Then all processes call
 * team_next_range until it returns -1.
 *
 * TeamShare is in the dynamic shared memory of the query or the build.  The leader sets its fields before
 * workers start, with these exceptions.  The counts of lone workers and of their rows are atomic.  `step` is
 * an atomic word with barriers: the first process writes nreaders and nranges before it, so a reader of
 * `step` sees them.  `joined` and `next_range` are atomic counters.
 *
 * On failure: a worker whose key differs from the leader's key does not take part.  If no process has entered
 * yet, it raises an error, because otherwise no process may read its part of the input.  A device that cannot
 * merge runs of other processes (Sorter.files is NULL) fails if all workers are lone workers, and the leader
 * begins again.  Without dynamic shared memory team_create returns NULL.  PostgreSQL raises an error of a
 * worker in the leader.
 */
#ifndef GPUSORT_EXEC_TEAM_H
#define GPUSORT_EXEC_TEAM_H

#include "postgres.h"

#include "access/parallel.h"
#include "storage/condition_variable.h"

#include "base/stopwatch.h"
#include "device/participants.h"
#include "key/sort_key.h"

/* The state that the processes share. */
typedef struct TeamShare
{
	SortTeam sort;
	pg_atomic_uint64 lone_rows; /* rows in the runs that lone workers have published */
	Oid newest_value;			/* the newest enum value that the leader knows (sort_key_newest_value) */
	uint64 fingerprint;			/* of the leader's key */
	uint32 unmarked;			/* columns of the key that need no marker, as the leader has decided */
	bool complete_rows;			/* do rows have all sort columns? */
	ConditionVariable stepped;
	pg_atomic_uint32 step; /* a TeamStep */
	uint32 nreaders;
	uint32 nranges;
	pg_atomic_uint32 joined; /* number of joined processes; the first nreaders of them read */
	pg_atomic_uint32 next_range;
} TeamShare;

/*
 * In the leader, before workers start: sets the sorter and the key that the workers will feed.
 * complete_rows: do rows have all sort columns?  NULL: there is no sort, and no worker can join.
 */
extern void team_init(TeamShare *team, const Sorter *sorter, const SortKey *key, bool complete_rows);

/*
 * In a worker: returns a sorter to feed with rows of this descriptor, and sets the layout of the key for it.
 * NULL: no input is left.
 */
extern Sorter *team_join(TeamShare *team, SortKey *key, TupleDesc desc);

/*
 * Both steps of it, for a caller that wants no lone worker.  team_map: maps the sort's memory; NULL: it
 * cannot be mapped, or there is none.
 */
extern SortShare *team_map(const TeamShare *team);
extern Sorter *team_join_mapped(TeamShare *team, SortShare *share, SortKey *key, TupleDesc desc);

/*
 * This process has read all of its input: `rows` rows since the watch was started.  False: the sorter has
 * failed. team is NULL if there are no workers.
 */
extern bool team_finish_feed(TeamShare *team, Sorter *sorter, uint64 rows, Stopwatch watch);

/* In the leader, after its last row: do lone workers have rows? */
extern bool team_has_lone(TeamShare *team);

/*
 * In the leader, when all workers have ended: tells the sorter of the lone workers.  A process that has
 * entered has read to the end of the input, so a lone worker that read no row has left no row out.
 */
extern void team_close(TeamShare *team, Sorter *sorter);

/* ---------------------------------------------------------------- ranges */

/*
 * In the first process, after team_finish_feed: can all processes read ranges of the rows?  Sorter.nrows has
 * the number of rows.
 */
extern bool team_sort_together(TeamShare *team, Sorter *sorter);

/*
 * In the first process, after team_sort_together: lets nreaders processes read nranges ranges.  False: no
 * ranges are read.
 */
extern bool team_share_out(TeamShare *team, const Sorter *sorter, uint32 nreaders, uint32 nranges);

/* In another process, after team_finish_feed: will it read ranges? */
extern bool team_await_ranges(TeamShare *team, Sorter *sorter);

/*
 * Returns the next range for this process, and moves the sorter to the beginning of the range; -1: no range
 * is left.
 */
extern int team_next_range(TeamShare *team, Sorter *sorter);

/* In the leader, when all workers have ended: returns the number of processes that read ranges. */
extern int team_readers(TeamShare *team);

/* ---------------------------------------------------------------- workers of the leader's own */

/*
 * In the leader, which must not be a parallel worker: begins parallel mode and prepares to launch workers
 * (LaunchParallelWorkers).  The workers begin in this function of this library.  Returns `size` bytes of
 * memory that all processes share.  NULL: there is no memory, and parallel mode was not begun.
 */
extern void *team_create(const char *function, int nworkers, Size size, ParallelContext **context);

/*
 * Waits for the end of the workers, calls `report` repeatedly meanwhile, and adds up the workers' usage of
 * WAL and buffers.
 */
extern void team_wait(ParallelContext *context, void (*report)(void *arg), void *arg);

/* Call this when the sorter has ended too: releases the rest, and ends parallel mode. */
extern void team_release(ParallelContext *context);

/* In such a worker: its first call, which returns the memory of team_create, and its last call. */
extern void *team_worker_begin(shm_toc *toc);
extern void team_worker_end(shm_toc *toc);

#endif /* GPUSORT_EXEC_TEAM_H */
