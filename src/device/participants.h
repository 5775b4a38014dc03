/*
 * device/participants.h
 *		What the processes of one sort have in common: memory at the same address in all of them, and who of
 *		them is how far.
 *
 * The process that begins the sort creates the memory, and it lives as long as the sorter; pointers into it
 * mean the same to all (shared_files.h).
 *
 * Who comes too late has no part in the sort: it reads nothing of its input, for the others have read all.
 * Who can't map the memory at that address knows nothing of the others: it reads its input and passes all
 * rows up to the first process as tuples.  It says so elsewhere before it reads the first of them, and the
 * others learn of it when they have read their last (finish_feed of sorter.h).
 *
 * The life of a sort with several processes:
 *
 *		feeding		processes enter, fill chunks, and leave when their part of the input is over
 *		closed		nobody may enter any more: all that entered were done with feeding
 *
 * As a parallel scan hands out all of its input, the input is over when those who entered are through with
 * it: who has not entered until then has nothing to read.
 */
#ifndef GPUSORT_DEVICE_PARTICIPANTS_H
#define GPUSORT_DEVICE_PARTICIPANTS_H

#include "postgres.h"

#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"

#include "device/shared_files.h"
#include "device/sorter.h"

/* Processes that can take part, the first one included; PostgreSQL allows 1024 workers of a Gather. */
#define SORT_SHARE_MAX_PROCESSES 64

/* What one process did, for EXPLAIN. */
typedef struct SortShareProcess
{
	int pid;
	int worker_number; /* ParallelWorkerNumber; -1: the leader */
	bool fed;		   /* is it through with its part of the input? */
	uint64 rows;	   /* that it fed */
	double feed_ms;
	double sort_ms;
} SortShareProcess;

/*
 * At the start of the shared memory; a device has its own things behind it.
 *
 * The memory may be that of an earlier sort, which the server has kept; and who comes late for that one may
 * open it still.  So what is attached says to whom, and is never set to zeros: a process counts itself in
 * only if it finds its own sort's number, and the first process keeps the memory only if nobody is counted,
 * in the same step as it takes the number away.  If it lets go of the memory while others are counted, as it
 * does when a sort starts again, the last of them frees it, and no sooner.
 */
struct SortShare
{
	/* the sort's number, 0: none; below it SORT_SHARE_ENDED, and how many others have it */
	pg_atomic_uint64 attached;
	uint32 magic;
	bool on_gpu;   /* of which device? */
	bool on_cards; /* of several GPUs (cuda/cards.c)? */
	bool in_turns; /* of one, part by part (cuda/turns.c)? */
	SortShareHandle handle;

	slock_t mutex;			   /* of all that follows but the processes' own entries */
	ConditionVariable changed; /* closed, overflowed or failed became true, or nfed changed */
	int nentered;
	int nfed; /* processes that are through with their part of the input */
	bool closed;
	bool overflowed;	 /* some row is passed up to the first process, for want of room */
	bool spills_jointly; /* but then nothing is passed up: each process finds room for its rows by itself */
	bool failed;		 /* the device can't go on: the sort must start again */
	SortFailureReason failure_reason;
	char failure[256];
	int nmet;					 /* processes that wait for the others to come as far */
	uint32 meeting;				 /* how often all have met */
	Size left;					 /* bytes that can be handed out */
	Size used[SHARED_FILES_MAX]; /* bytes handed out of each file, this header included */
	Size held[SHARED_FILES_MAX]; /* bytes that were memory when the sort began, of an earlier one */
	SortBound *bound;			 /* NULL: all rows are wanted */
	SortShareProcess processes[SORT_SHARE_MAX_PROCESSES];
};

/*
 * Makes memory of so many bytes for so many processes, or takes what the server has kept, of which nothing
 * more is in use before it is written to; header_size are the device's own struct that begins with a
 * SortShare, all zeros but for the SortShare itself.  NULL: there is none to be had.  Freed with
 * CurrentMemoryContext.
 */
extern SortShare *sort_share_create(Size size, Size header_size, int processes);

/*
 * What the request says of the rows wanted, for all processes: in the shared memory, of which it takes
 * sizeof(SortBound), or without any in CurrentMemoryContext.  NULL: all are wanted, or there is no memory
 * left to say so.
 */
extern SortBound *sort_share_create_bound(SortShare *share, const SortRequest *request);

/* Did this process create it?  Or another one, so that this one has joined?  NULL: it shares nothing. */
static inline bool
sort_share_is_own(const SortShare *share)
{
	return share != NULL && share->handle.pid == MyProcPid;
}

static inline bool
sort_share_is_joined(const SortShare *share)
{
	return share != NULL && share->handle.pid != MyProcPid;
}

/* In another process; NULL: can't.  Freed, as far as this process is concerned, with CurrentMemoryContext. */
extern SortShare *sort_share_attach(const SortShareHandle *handle);

/*
 * Hands out bytes of the memory, a multiple of 8, that hold anything, of what is memory already as long as
 * there is such; NULL: none left.
 */
extern void *sort_share_alloc(SortShare *share, Size size);

/*
 * Gives back what is left of an earlier sort's memory and was not handed out, a file's at a time, until no
 * more than this is memory.
 */
extern void sort_share_trim(SortShare *share, Size at_most);

/*
 * In the first process, which has no more use for it: the server may keep the memory, if no other process has
 * it any more.
 */
extern void sort_share_end(SortShare *share);

/* Is this an address in it? */
static inline bool
sort_share_contains(const SortShare *share, const void *address)
{
	const char *start = (const char *) share;

	return (const char *) address > start &&
		   (const char *) address < start + share->handle.nfiles * share->handle.size;
}

/*
 * This process takes part: its number, an index of processes; -1: too late, or too many do, who read all of
 * the input.  NULL: it is alone, and the first one.
 */
extern int sort_share_enter(SortShare *share);

/* This process, which has entered, fed so many rows in so long, for EXPLAIN.  NULL: no other process did. */
extern void sort_share_note_rows(SortShare *share, uint64 rows, double feed_ms);

/* This process is through with its part of the input; NULL or -1: nobody waits for that. */
extern void sort_share_note_fed(SortShare *share, int process);

/*
 * Waits until all that entered are through with the input, and closes the sort: true; nothing that was fed is
 * changed from then on but by all together, for no row is to come.  False, and not closed: rows are passed
 * up, or the device has failed.  Checks for interrupts.
 */
extern bool sort_share_wait_all_fed(SortShare *share);

/*
 * Waits until all that entered have called this, once more; after the sort was closed.  Checks for
 * interrupts.
 */
extern void sort_share_meet(SortShare *share);

/* Waits until all others that entered are through; no matter what else.  For the first process. */
extern void sort_share_wait_others(SortShare *share);

/* Rows are passed up.  False: the sort was closed before. */
extern bool sort_share_note_overflow(SortShare *share);

/* NULL: there is nobody to tell. */
extern void sort_share_fail(SortShare *share, SortFailureReason reason, const char *message);

#endif /* GPUSORT_DEVICE_PARTICIPANTS_H */
