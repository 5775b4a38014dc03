/*
 * device/participants.c
 *		What the processes of one sort have in common: memory at the same address in all of them
 *		(shared_files.h), and who of them is how far.
 */
#include "postgres.h"

#include <limits.h>

#include "access/parallel.h"
#include "miscadmin.h"

#include "base/wait_events.h"
#include "device/participants.h"

#define SORT_SHARE_MAGIC 0x47505331

/* Workers that may take part, the first ones: all, but in tests. */
#ifndef SORT_SHARE_WORKERS
#define SORT_SHARE_WORKERS INT_MAX
#endif

/* ---------------------------------------------------------------- memory */

/* In attached: the first process has let go of the memory. */
#define SORT_SHARE_ENDED 0x80000000u

/* What attached is of a sort that only the first process has. */
static uint64
attached_none(uint32 number)
{
	return (uint64) number << 32;
}

/* A worker has no more to do with it.  Was it the last process? */
static bool
detach(void *address)
{
	SortShare *share = address;
	uint64 attached = pg_atomic_sub_fetch_u64(&share->attached, 1);

	return (uint32) attached == SORT_SHARE_ENDED;
}

/* Nor has the first process, and nobody attaches any more.  Was it the last one? */
static bool
end(void *address)
{
	SortShare *share = address;

	return (uint32) pg_atomic_fetch_or_u64(&share->attached, SORT_SHARE_ENDED) == 0;
}

SortShare *
sort_share_create(Size size, Size header_size, int processes)
{
	static uint32 sorts = 0;
	const Size attached_size = offsetof(SortShare, magic);
	SortShareHandle handle;
	Size held[SHARED_FILES_MAX];
	SortShare *share;

	size += MAXALIGN(header_size);
	share = shared_files_create(size, processes, header_size, &handle, held);
	if (share == NULL)
		return NULL;
#ifdef MEMORY_SPOILED
	memset((char *) share + attached_size, 0x7f, header_size - attached_size);
#endif
	memset((char *) share + attached_size, 0, header_size - attached_size);
	sorts = Max(sorts + 1, 1); /* never 0 */
	handle.number = sorts;
	share->magic = SORT_SHARE_MAGIC;
	share->handle = handle;
	memcpy(share->held, held, sizeof(held));
	share->left = handle.size - TYPEALIGN(64, header_size);
	share->used[0] = TYPEALIGN(64, header_size);
	SpinLockInit(&share->mutex);
	ConditionVariableInit(&share->changed);
	pg_atomic_write_u64(&share->attached, attached_none(handle.number));
	shared_files_on_release(share, end);
	return share;
}

SortBound *
sort_share_create_bound(SortShare *share, const SortRequest *request)
{
	SortBound *bound;

	if (request->rows_wanted == 0)
		return NULL;
	if (share == NULL)
		bound = palloc0(sizeof(SortBound));
	else
	{
		bound = sort_share_alloc(share, sizeof(SortBound));
		if (bound == NULL || !shared_files_populate(bound, sizeof(SortBound), true))
			return NULL;
		memset(bound, 0, sizeof(SortBound));
		share->bound = bound;
	}
	bound_init(bound, request->key, request->rows_wanted, request->with_ties);
	return bound;
}

/* Counts this process in, if it is still that sort's. */
static bool
attach(SortShare *share, uint32 number)
{
	uint64 attached = pg_atomic_read_u64(&share->attached);

	do
	{
		if (attached >> 32 != number || (attached & SORT_SHARE_ENDED) != 0)
			return false;
	} while (!pg_atomic_compare_exchange_u64(&share->attached, &attached, attached + 1));
	shared_files_on_release(share, detach);
	return true;
}

SortShare *
sort_share_attach(const SortShareHandle *handle)
{
	SortShare *share;

	if (handle->pid == 0 || ParallelWorkerNumber >= SORT_SHARE_WORKERS)
		return NULL;
	share = shared_files_attach(handle);
	if (share == NULL || !attach(share, handle->number) || share->magic != SORT_SHARE_MAGIC ||
		memcmp(&share->handle, handle, sizeof(*handle)) != 0)
		return NULL;
	return share;
}

void
sort_share_end(SortShare *share)
{
	uint64 nobody = attached_none(share->handle.number);
	Size held[SHARED_FILES_MAX];

	if (!pg_atomic_compare_exchange_u64(&share->attached, &nobody, 0))
		return;
	for (int i = 0; i < SHARED_FILES_MAX; i++)
		held[i] = Max(share->used[i], share->held[i]);
	shared_files_keep(share, held);
}

/* Bytes of a file that are memory and not handed out. */
static Size
unused(const SortShare *share, int file)
{
	return share->held[file] > share->used[file] ? share->held[file] - share->used[file] : 0;
}

/*
 * The file to take so many bytes of: this process's own, unless it has to be made there while memory that
 * there is lies in others.
 */
static int
choose_file(const SortShare *share, Size size)
{
	int own = (ParallelWorkerNumber + 1) % share->handle.nfiles;
	int best = own;

	if (unused(share, own) >= size)
		return own;
	for (int file = 0; file < share->handle.nfiles; file++)
	{
		if (unused(share, file) > unused(share, best) && share->used[file] + size <= share->handle.size)
			best = file;
	}
	return best;
}

void *
sort_share_alloc(SortShare *share, Size size)
{
	void *result = NULL;
	int file;

	size = TYPEALIGN(8, size);
	SpinLockAcquire(&share->mutex);
	file = choose_file(share, size);
	if (size <= share->left && share->used[file] + size <= share->handle.size)
	{
		result = shared_files_address(&share->handle, file) + share->used[file];
		share->used[file] += size;
		share->left -= size;
	}
	SpinLockRelease(&share->mutex);
#ifdef MEMORY_SPOILED
	if (result != NULL)
		memset(result, 0x7f, size);
#endif
	return result;
}

/* What is given back counts as handed out: nobody can get it meanwhile. */
void
sort_share_trim(SortShare *share, Size at_most)
{
	Size from[SHARED_FILES_MAX];
	Size bytes[SHARED_FILES_MAX] = {0};
	Size memory = 0;
	int nfiles = share->handle.nfiles;

	SpinLockAcquire(&share->mutex);
	for (int i = 0; i < nfiles; i++)
		memory += Max(share->used[i], share->held[i]);
	for (int i = 0; i < nfiles && memory > at_most; i++)
	{
		from[i] = share->used[i];
		bytes[i] = unused(share, i);
		share->used[i] += bytes[i];
		memory -= bytes[i];
	}
	SpinLockRelease(&share->mutex);
	for (int i = 0; i < nfiles; i++)
	{
		if (bytes[i] > 0)
			shared_files_discard(shared_files_address(&share->handle, i) + from[i], bytes[i]);
	}
}

/* ---------------------------------------------------------------- who is how far */

int
sort_share_enter(SortShare *share)
{
	int process = -1;

	if (share == NULL)
		return 0;
	SpinLockAcquire(&share->mutex);
	if (!share->closed && share->nentered < SORT_SHARE_MAX_PROCESSES)
	{
		process = share->nentered++;
		share->processes[process].pid = MyProcPid;
		share->processes[process].worker_number = ParallelWorkerNumber;
	}
	SpinLockRelease(&share->mutex);
	return process;
}

void
sort_share_note_rows(SortShare *share, uint64 rows, double feed_ms)
{
	for (int i = 0; share != NULL && i < SORT_SHARE_MAX_PROCESSES; i++)
	{
		if (share->processes[i].pid == MyProcPid)
		{
			share->processes[i].rows = rows;
			share->processes[i].feed_ms = feed_ms;
		}
	}
}

void
sort_share_note_fed(SortShare *share, int process)
{
	if (share == NULL || process < 0)
		return;
	SpinLockAcquire(&share->mutex);
	share->processes[process].fed = true;
	share->nfed++;
	SpinLockRelease(&share->mutex);
	ConditionVariableBroadcast(&share->changed);
}

typedef enum FeedOutcome
{
	FEED_GOES_ON,
	FEED_CLOSED,
	FEED_BROKEN /* rows were passed up, or the device has failed */
} FeedOutcome;

/* How the feeding stands; closes the sort if that is due. */
static FeedOutcome
feed_outcome(SortShare *share)
{
	FeedOutcome outcome = FEED_GOES_ON;

	SpinLockAcquire(&share->mutex);
	if (share->closed)
		outcome = FEED_CLOSED;
	else if ((share->overflowed && !share->spills_jointly) || share->failed)
		outcome = FEED_BROKEN;
	else if (share->nfed == share->nentered)
	{
		share->closed = true;
		outcome = FEED_CLOSED;
	}
	SpinLockRelease(&share->mutex);
	return outcome;
}

bool
sort_share_wait_all_fed(SortShare *share)
{
	FeedOutcome outcome;

	while ((outcome = feed_outcome(share)) == FEED_GOES_ON)
		ConditionVariableSleep(&share->changed, gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
	ConditionVariableCancelSleep();
	return outcome == FEED_CLOSED;
}

/* Are all here that met for the so manyth time? */
static bool
have_met(SortShare *share, uint32 meeting)
{
	bool met;

	SpinLockAcquire(&share->mutex);
	met = share->meeting != meeting;
	SpinLockRelease(&share->mutex);
	return met;
}

void
sort_share_meet(SortShare *share)
{
	uint32 meeting;
	bool last;

	SpinLockAcquire(&share->mutex);
	meeting = share->meeting;
	last = ++share->nmet == share->nentered;
	if (last)
	{
		share->nmet = 0;
		share->meeting++;
	}
	SpinLockRelease(&share->mutex);
	if (last)
		ConditionVariableBroadcast(&share->changed);
	else
	{
		while (!have_met(share, meeting))
			ConditionVariableSleep(&share->changed, gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
		ConditionVariableCancelSleep();
	}
}

static bool
others_are_fed(SortShare *share)
{
	bool fed = true;

	SpinLockAcquire(&share->mutex);
	for (int i = 0; i < share->nentered; i++)
		fed &= share->processes[i].fed || share->processes[i].pid == MyProcPid;
	SpinLockRelease(&share->mutex);
	return fed;
}

void
sort_share_wait_others(SortShare *share)
{
	while (!others_are_fed(share))
		ConditionVariableSleep(&share->changed, gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
	ConditionVariableCancelSleep();
}

bool
sort_share_note_overflow(SortShare *share)
{
	bool closed;

	SpinLockAcquire(&share->mutex);
	share->overflowed = true;
	closed = share->closed;
	SpinLockRelease(&share->mutex);
	ConditionVariableBroadcast(&share->changed);
	return !closed;
}

void
sort_share_fail(SortShare *share, SortFailureReason reason, const char *message)
{
	if (share == NULL)
		return;
	SpinLockAcquire(&share->mutex);
	if (!share->failed)
	{
		share->failed = true;
		share->failure_reason = reason;
		strlcpy(share->failure, message, sizeof(share->failure));
	}
	SpinLockRelease(&share->mutex);
	ConditionVariableBroadcast(&share->changed);
}
