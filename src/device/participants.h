/*
 * device/participants.h
 *		Data that the processes of one sort share: memory at the same address in all of them, and the state of
 *		each process.
 *
 * The process that begins the sort, the leader or first process, creates the memory.  The memory lives as
 * long as the leader's sorter.  Pointers into it have the same meaning in all processes (memory/arena.h).
 *
 * A worker that comes when the sort is closed takes no part: sort_share_enter returns -1, and the worker
 * reads nothing of its input.  A parallel scan hands out all of the input, and the processes that entered
 * have read it.  A worker that cannot map the memory at its address (sort_share_attach returns NULL) is a
 * lone worker (SortTeam).
 *
 * The states of a sort with several processes:
 *
 *		feeding		processes enter, fill chunks, and note that they have read their part of the input
 *		closed		no process may enter any more: all that entered had noted that
 *		overflowed	some row found no room, and each process writes runs of its own
 *		failed		the device cannot go on; each process stops at its next chunk
 *
 * Locks: SortShare.mutex protects the fields that follow it, except the processes' own entries and the fields
 * that are set before workers start (most, bound).  The arena's own mutex protects its record of the memory
 * that is handed out.  Processes that can use an old value may read overflowed and failed without a lock.
 * changed is broadcast after every change that a process may wait for.
 *
 * On failure: sort_share_create, sort_share_attach and arena_alloc return NULL, and the caller goes on
 * without the memory.  Waiting ends with an error if the process is interrupted.  An error in one process of
 * a parallel query or build ends all processes, so no process is left waiting.
 */
#ifndef GPUSORT_DEVICE_PARTICIPANTS_H
#define GPUSORT_DEVICE_PARTICIPANTS_H

#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/fileset.h"

#include "base/devices.h"
#include "base/spin.h"
#include "device/sorter.h"
#include "memory/arena.h"

/* Processes that can take part, the first one included; PostgreSQL allows 1024 workers of a Gather. */
#define SORT_SHARE_MAX_PROCESSES 64

/* The work of one process, for EXPLAIN. */
typedef struct SortShareProcess
{
	int pid;
	int worker_number; /* ParallelWorkerNumber; -1: the leader */
	uint64 rows;	   /* rows that it fed */
	double feed_ms;
	double sort_ms;
} SortShareProcess;

/* At the start of the shared memory; a device's own data follow it. */
struct SortShare
{
	Arena arena; /* the memory */

	slock_t mutex;			   /* protects all that follows, except the processes' own entries */
	ConditionVariable changed; /* closed, overflowed or failed became true, or nfed changed */
	int nentered;
	int most; /* the most processes that may enter */
	int nfed; /* processes that have read all of their part of the input */
	bool closed;
	bool overflowed; /* some row found no room: each process writes by itself what does not fit */
	bool failed;	 /* the device cannot go on: the sort must start again */
	SortFailureReason failure_reason;
	char failure[256];
	int nmet;				 /* processes that wait for the others at the next meeting */
	uint32 meeting;			 /* number of meetings of all processes so far */
	struct SortBound *bound; /* NULL: all rows are wanted */
	/* says which rows of each group are wanted; NULL: all */
	struct GroupBound *groups;
	struct ValueBound *values;	  /* says which rows are wanted by their first column; NULL: all */
	struct SortKeyTables *tables; /* of values that get codes; NULL: none do */
	SortShareProcess processes[SORT_SHARE_MAX_PROCESSES];
};

/*
 * Tells a worker where the sort is, and what a lone worker needs, which sorts its part of the input by itself
 * (exec/team.h).  A SortTeam is in the dynamic shared memory of the query or the build.  nlone is atomic;
 * nothing else is changed once workers start.
 */
struct SortTeam
{
	ArenaHandle handle; /* handle of the shared memory; zeros: there is none */
	DeviceKind device;
	FileSet files;			/* the leader's files */
	Size memory;			/* bytes of memory for a lone worker */
	pg_atomic_uint32 nlone; /* lone workers */
};

/*
 * Called by a worker that has not read a row yet: it is a lone worker.  Returns its number among the lone
 * workers.
 */
static inline int
sort_team_add_lone(SortTeam *team)
{
	return pg_atomic_fetch_add_u32(&team->nlone, 1);
}

/*
 * Takes the memory of filters, which know what rows are wanted, off the request's memory.  What is left is
 * for rows, on any device.
 */
extern void sort_request_set_filters_aside(SortRequest *request);

/* Returns what is set aside of this limit for tables of this number of values in each of ncolumns columns. */
extern Size sort_values_memory(Size limit, double values, int ncolumns, int processes);

/* Makes an arena for the sort (arena_create); the device's own struct begins with a SortShare. */
extern SortShare *sort_share_create(Size size, Size header_size, int processes);

/*
 * Makes a bound of the rows that the request wants, for all processes.  The bound is in the shared memory, of
 * which it takes sizeof(SortBound); without shared memory it is in CurrentMemoryContext.  NULL: all rows are
 * wanted, or there is no memory left for a bound.
 */
extern struct SortBound *sort_share_create_bound(SortShare *share, const SortRequest *request);

/* The same for the first rows of each group that the request wants.  key: of the rows as they come. */
extern struct GroupBound *sort_share_create_groups(SortShare *share, const SortRequest *request,
												   const struct SortKey *key);

/*
 * Makes the key with codes for the columns that the request names, and the tables of their values, for all
 * processes.  NULL: rows have the request's key.
 */
extern struct SortKey *sort_share_create_coded(SortShare *share, const SortRequest *request);

/* The same for rows that are wanted by the first column of this key. */
extern struct ValueBound *sort_share_create_values(SortShare *share, const SortRequest *request,
												   const struct SortKey *key);

/* Attaches the memory in another process (arena_attach); NULL: that is impossible. */
extern SortShare *sort_share_attach(const ArenaHandle *handle);

/* Did this process create the memory?  share: NULL if it shares nothing. */
static inline bool
sort_share_is_own(const SortShare *share)
{
	return share != NULL && arena_is_own(&share->arena);
}

/* Did another process create the memory?  share: NULL if this process shares nothing. */
static inline bool
sort_share_is_joined(const SortShare *share)
{
	return share != NULL && !arena_is_own(&share->arena);
}

/*
 * Makes this process take part.  Returns its number, an index of processes.  -1: it is too late, or too many
 * processes take part; the processes that entered read all of the input.  share: NULL if this process is
 * alone, and the first one.
 */
extern int sort_share_enter(SortShare *share);

/* sort_share_enter as a function of a SortDevice; false: it is too late. */
extern bool sorter_enter(Sorter *sorter, int processes);

/*
 * Notes the rows that this process fed, and the time that it took, for EXPLAIN, if the process has entered.
 */
extern void sorter_note_rows(const Sorter *sorter, uint64 rows, double feed_ms);

/*
 * Notes that this process, if it takes part, has read all of its part of the input.  Other processes may wait
 * for that.
 */
extern void sorter_note_fed(Sorter *sorter);

/*
 * Raises an error if a process that has entered has not noted the end of its input.  share: NULL if no other
 * process feeds.
 */
extern void sort_share_check_all_fed(const SortShare *share);

/* Has any process entered?  share: NULL if none can. */
extern bool sort_share_is_entered(SortShare *share);

/*
 * Waits until all processes that entered have read all of their input, and closes the sort: true.  No row can
 * come then, and only all processes together change what was fed.  False, and not closed: the device has
 * failed.  Checks for interrupts.
 */
extern bool sort_share_wait_all_fed(SortShare *share);

/*
 * Waits until all processes that entered have called this function once more.  Only after the sort was
 * closed.  Checks for interrupts.
 */
extern void sort_share_meet(SortShare *share);

/*
 * Waits until *number, which the mutex protects, is 0.  The process that changes it broadcasts `changed`.
 * False: it was 0 already.  Checks for interrupts.
 */
extern bool sort_share_wait_for_none(SortShare *share, const int *number);

/* Notes that some row found no room; only before the sort is closed. */
extern void sort_share_note_overflow(SortShare *share);

/* Tells the other processes that the device has failed.  share: NULL if there are no others. */
extern void sort_share_fail(SortShare *share, SortFailureReason reason, const char *message);

#endif /* GPUSORT_DEVICE_PARTICIPANTS_H */
