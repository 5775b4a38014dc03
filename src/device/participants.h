/*
 * device/participants.h
 *		What the processes of one sort have in common: memory at the same address in all of them, and how far
 *		each of them is.
 *
 * The process that begins the sort, the leader or first process, creates the memory.  It lives as long as the
 * leader's sorter; pointers into it mean the same in all processes (memory/arena.h).
 *
 * A worker that comes when the sort is closed takes no part: sort_share_enter returns -1, and the worker
 * reads nothing of its input, for a parallel scan hands out all of it and the processes that entered have
 * read it.  A worker that can't map the memory at its address (sort_share_attach returns NULL) is a lone one
 * (SortTeam).
 *
 * The states of a sort with several processes:
 *
 *		feeding		processes enter, fill chunks, and note that they have read their part of the input
 *		closed		nobody may enter any more: all that entered had noted that
 *		overflowed	some row found no room, and each process writes runs of its own
 *		failed		the device can't go on; each process stops at its next chunk
 *
 * Locks: SortShare.mutex keeps the fields behind it, but for the processes' own entries and what is set
 * before workers start (most, bound).  The arena's own mutex keeps what is handed out of the memory.
 * overflowed and failed may be read without a lock by processes that can do with an old answer.  changed is
 * broadcast after every change that somebody may wait for.
 *
 * On failure: sort_share_create, sort_share_attach and arena_alloc return NULL, and the caller goes on
 * without the memory.  Waiting ends with an error if the process is interrupted; an error in one process of a
 * parallel query or build ends all, so nobody is left waiting.
 */
#ifndef GPUSORT_DEVICE_PARTICIPANTS_H
#define GPUSORT_DEVICE_PARTICIPANTS_H

#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/fileset.h"
#include "storage/spin.h"

#include "device/sorter.h"
#include "memory/arena.h"

/* Processes that can take part, the first one included; PostgreSQL allows 1024 workers of a Gather. */
#define SORT_SHARE_MAX_PROCESSES 64

/* What one process did, for EXPLAIN. */
typedef struct SortShareProcess
{
	int pid;
	int worker_number; /* ParallelWorkerNumber; -1: the leader */
	uint64 rows;	   /* that it fed */
	double feed_ms;
	double sort_ms;
} SortShareProcess;

/* At the start of the shared memory; a device has its own things behind it. */
struct SortShare
{
	Arena arena; /* the memory */

	slock_t mutex;			   /* of all that follows but the processes' own entries */
	ConditionVariable changed; /* closed, overflowed or failed became true, or nfed changed */
	int nentered;
	int most; /* that may enter */
	int nfed; /* processes that are through with their part of the input */
	bool closed;
	bool overflowed; /* some row found no room: each process writes what does not fit by itself */
	bool failed;	 /* the device can't go on: the sort must start again */
	SortFailureReason failure_reason;
	char failure[256];
	int nmet;				 /* processes that wait for the others to come as far */
	uint32 meeting;			 /* how often all have met */
	struct SortBound *bound; /* NULL: all rows are wanted */
	SortShareProcess processes[SORT_SHARE_MAX_PROCESSES];
};

/*
 * How a worker finds the sort, and what a lone worker needs, which sorts its part of the input by itself
 * (exec/team.h).  In the dynamic shared memory of the query or the build; nlone is atomic, nothing else is
 * changed once workers start.
 */
struct SortTeam
{
	ArenaHandle handle; /* of the shared memory; zeros: there is none */
	bool on_gpu;
	FileSet files;			/* the leader's */
	Size memory;			/* bytes for a lone worker */
	pg_atomic_uint32 nlone; /* lone workers */
};

/* In a worker that has not read a row yet: it is a lone one; its number among them. */
static inline int
sort_team_add_lone(SortTeam *team)
{
	return pg_atomic_fetch_add_u32(&team->nlone, 1);
}

/* Makes an arena for the sort (arena_create); the device's own struct begins with a SortShare. */
extern SortShare *sort_share_create(Size size, Size header_size, int processes);

/*
 * What the request says of the rows wanted, for all processes: in the shared memory, of which it takes
 * sizeof(SortBound), or without any in CurrentMemoryContext.  NULL: all are wanted, or there is no memory
 * left to say so.
 */
extern struct SortBound *sort_share_create_bound(SortShare *share, const SortRequest *request);

/* In another process (arena_attach); NULL: can't. */
extern SortShare *sort_share_attach(const ArenaHandle *handle);

/* Did this process create it?  NULL: it shares nothing. */
static inline bool
sort_share_is_own(const SortShare *share)
{
	return share != NULL && arena_is_own(&share->arena);
}

/* Did another process create it?  NULL: it shares nothing. */
static inline bool
sort_share_is_joined(const SortShare *share)
{
	return share != NULL && !arena_is_own(&share->arena);
}

/*
 * This process takes part: its number, an index of processes; -1: too late, or too many do, who read all of
 * the input.  NULL: it is alone, and the first one.
 */
extern int sort_share_enter(SortShare *share);

/* The same as a function of a SortDevice: false: too late. */
extern bool sorter_enter(Sorter *sorter, int processes);

/* This process, which has entered, fed so many rows in so long, for EXPLAIN.  NULL: no other process did. */
extern void sort_share_note_rows(SortShare *share, uint64 rows, double feed_ms);

/* This process is through with its part of the input, if it takes part; others may wait for that. */
extern void sorter_note_fed(Sorter *sorter);

/* An error if a process that has entered is not; NULL: no other process has. */
extern void sort_share_check_all_fed(const SortShare *share);

/* Has any process entered?  NULL: none. */
extern bool sort_share_is_entered(SortShare *share);

/*
 * Waits until all that entered are through with the input, and closes the sort: true; nothing that was fed is
 * changed from then on but by all together, for no row is to come.  False, and not closed: the device has
 * failed.  Checks for interrupts.
 */
extern bool sort_share_wait_all_fed(SortShare *share);

/*
 * Waits until all that entered have called this, once more; after the sort was closed.  Checks for
 * interrupts.
 */
extern void sort_share_meet(SortShare *share);

/*
 * Waits until a number that is under the mutex is 0; the process that changes it broadcasts `changed`.
 * False: it was.  Checks for interrupts.
 */
extern bool sort_share_wait_for_none(SortShare *share, const int *number);

/* Some row found no room; before the sort is closed. */
extern void sort_share_note_overflow(SortShare *share);

/* NULL: there is nobody to tell. */
extern void sort_share_fail(SortShare *share, SortFailureReason reason, const char *message);

#endif /* GPUSORT_DEVICE_PARTICIPANTS_H */
