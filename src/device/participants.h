/*
 * device/participants.h
 *		What the processes of one sort have in common: memory at the same address in all of them, and who of
 *		them is how far.
 *
 * The process that begins the sort creates the memory, and it lives as long as the sorter; pointers into it
 * mean the same to all (memory/arena.h).
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

#include "device/sorter.h"
#include "memory/arena.h"

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

/* At the start of the shared memory; a device has its own things behind it. */
struct SortShare
{
	Arena arena; /* the memory */

	bool on_gpu;   /* of which device? */
	bool on_cards; /* of several GPUs (cuda/cards.c)? */
	bool in_turns; /* of one, part by part (cuda/turns.c)? */

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
	int nmet;		  /* processes that wait for the others to come as far */
	uint32 meeting;	  /* how often all have met */
	SortBound *bound; /* NULL: all rows are wanted */
	SortShareProcess processes[SORT_SHARE_MAX_PROCESSES];
};

/* Makes an arena for the sort (arena_create); the device's own struct begins with a SortShare. */
extern SortShare *sort_share_create(Size size, Size header_size, int processes);

/*
 * What the request says of the rows wanted, for all processes: in the shared memory, of which it takes
 * sizeof(SortBound), or without any in CurrentMemoryContext.  NULL: all are wanted, or there is no memory
 * left to say so.
 */
extern SortBound *sort_share_create_bound(SortShare *share, const SortRequest *request);

/* In another process (arena_attach); NULL: can't. */
extern SortShare *sort_share_attach(const ArenaHandle *handle);

/*
 * This process takes part: its number, an index of processes; -1: too late, or too many do, who read all of
 * the input.
 */
extern int sort_share_enter(SortShare *share);

/* This process, which has entered, fed so many rows in so long, for EXPLAIN. */
extern void sort_share_note_rows(SortShare *share, uint64 rows, double feed_ms);

/* This process is through with its part of the input. */
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

extern void sort_share_fail(SortShare *share, SortFailureReason reason, const char *message);

#endif /* GPUSORT_DEVICE_PARTICIPANTS_H */
