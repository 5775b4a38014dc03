/*
 * device/participants.c
 *		What the processes of one sort have in common: memory at the same address in all of them, and who of
 *		them is how far.
 *
 * The memory is a memfd, mapped at a random address of a range that neither programs nor the kernel use
 * otherwise.  As PostgreSQL's processes are children of one postmaster, what is free in one is nearly always
 * free in the others; where it isn't, or where there is no /proc, sort_share_attach says so, and that process
 * has no part in the sort.
 *
 * The file descriptor and the mapping belong to the memory context that was current, by way of a reset
 * callback: so errors, cancels and aborts release them.  The memory itself lasts until the last process has
 * let go of it.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/parallel.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/fd.h"

#include "base/wait_events.h"
#include "device/participants.h"

#define SORT_SHARE_MAGIC 0x47505331

/* Addresses to try: multiples of ADDRESS_STEP from ADDRESS_FIRST on. */
#define ADDRESS_FIRST UINT64CONST(0x100000000000)
#define ADDRESS_STEP UINT64CONST(0x40000000)
#define ADDRESS_STEPS UINT64CONST(0xC000)
#define ADDRESS_TRIES 16

/* The size is a multiple of huge pages. */
#define SHARE_PAGE_SIZE ((Size) 2 * 1024 * 1024)

/* Bytes that are populated between checks for interrupts. */
#define POPULATE_STEP ((Size) 8 * 1024 * 1024)
#define SMALL_PAGE_SIZE ((uintptr_t) 4096)

/* Workers that may take part, the first ones: all, but in tests. */
#ifndef SORT_SHARE_WORKERS
#define SORT_SHARE_WORKERS INT_MAX
#endif

/* Newer than many a system's headers; a kernel that doesn't know it says so. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* What a process has open, until its memory context is reset. */
typedef struct SortShareMapping
{
	MemoryContextCallback callback;
	struct SortShareMapping *next; /* in this process */
	int fd;						   /* -1: none */
	void *address;				   /* NULL: not mapped */
	Size size;
} SortShareMapping;

static SortShareMapping *mappings = NULL;

/* ---------------------------------------------------------------- mapping */

static void
forget_mapping(const SortShareMapping *mapping)
{
	for (SortShareMapping **link = &mappings; *link != NULL; link = &(*link)->next)
	{
		if (*link == mapping)
		{
			*link = mapping->next;
			return;
		}
	}
}

static void
release_mapping(void *arg)
{
	SortShareMapping *mapping = arg;

	forget_mapping(mapping);
	/* the condition variable that this process waits on may be in there */
	ConditionVariableCancelSleep();
	if (mapping->address != NULL)
		munmap(mapping->address, mapping->size);
	if (mapping->fd >= 0)
	{
		close(mapping->fd);
		ReleaseExternalFD();
	}
	mapping->address = NULL;
	mapping->fd = -1;
}

/* Nothing open yet; whatever is put into it is released with CurrentMemoryContext. */
static SortShareMapping *
mapping_create(void)
{
	SortShareMapping *mapping = palloc0(sizeof(SortShareMapping));

	mapping->fd = -1;
	mapping->callback.func = release_mapping;
	mapping->callback.arg = mapping;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &mapping->callback);
	mapping->next = mappings;
	mappings = mapping;
	return mapping;
}

/* Maps the file at this address, unless something else is there. */
static bool
map_at(SortShareMapping *mapping, uint64 address, Size size)
{
#ifdef MAP_FIXED_NOREPLACE
	void *wanted = (void *) (uintptr_t) address;
	void *p = mmap(wanted, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
				   mapping->fd, 0);

	if (p == MAP_FAILED)
		return false;
	if (p != wanted)
	{
		/* a kernel that takes the address for a hint */
		munmap(p, size);
		return false;
	}
	mapping->address = p;
	mapping->size = size;
#ifdef MADV_HUGEPAGE
	(void) madvise(p, size, MADV_HUGEPAGE);
#endif
	return true;
#else
	return false;
#endif
}

static bool
map_somewhere(SortShareMapping *mapping, Size size)
{
	for (int i = 0; i < ADDRESS_TRIES; i++)
	{
		uint64 step = pg_prng_uint64_range(&pg_global_prng_state, 0, ADDRESS_STEPS - 1);

		if (map_at(mapping, ADDRESS_FIRST + step * ADDRESS_STEP, size))
			return true;
	}
	return false;
}

/* A file without a name, of so many bytes. */
static bool
open_new_file(SortShareMapping *mapping, Size size)
{
#ifdef MFD_CLOEXEC
	if (!AcquireExternalFD())
		return false;
	mapping->fd = memfd_create("gpusort", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (mapping->fd < 0 && errno == EINVAL)
		mapping->fd = memfd_create("gpusort", MFD_CLOEXEC);
	if (mapping->fd < 0)
		ReleaseExternalFD();
	return mapping->fd >= 0 && ftruncate(mapping->fd, size) == 0;
#else
	return false;
#endif
}

SortShare *
sort_share_create(Size size, Size header_size)
{
	SortShareMapping *mapping = mapping_create();
	SortShare *share;

	size = TYPEALIGN(SHARE_PAGE_SIZE, size + MAXALIGN(header_size));
	if (!open_new_file(mapping, size) || !map_somewhere(mapping, size) ||
		!sort_share_populate(mapping->address, header_size))
	{
		release_mapping(mapping);
		return NULL;
	}
	share = mapping->address;
	share->magic = SORT_SHARE_MAGIC;
	share->handle.pid = MyProcPid;
	share->handle.fd = mapping->fd;
	share->handle.address = (uint64) (uintptr_t) share;
	share->handle.size = size;
	share->used = TYPEALIGN(64, header_size);
	SpinLockInit(&share->mutex);
	ConditionVariableInit(&share->changed);
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
		if (bound == NULL || !sort_share_populate(bound, sizeof(SortBound)))
			return NULL;
		share->bound = bound;
	}
	bound_init(bound, request->key, request->rows_wanted, request->with_ties);
	return bound;
}

/* Opens the first process's file. */
static bool
open_file_of(SortShareMapping *mapping, const SortShareHandle *handle)
{
	char path[64];
	struct stat status;

	if (!AcquireExternalFD())
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle->pid, handle->fd);
	mapping->fd = open(path, O_RDWR | O_CLOEXEC);
	if (mapping->fd < 0)
		ReleaseExternalFD();
	return mapping->fd >= 0 && fstat(mapping->fd, &status) == 0 && (uint64) status.st_size == handle->size;
}

SortShare *
sort_share_attach(const SortShareHandle *handle)
{
	SortShareMapping *mapping;
	SortShare *share;

	if (handle->pid == 0 || ParallelWorkerNumber >= SORT_SHARE_WORKERS)
		return NULL;
	mapping = mapping_create();
	if (open_file_of(mapping, handle) && map_at(mapping, handle->address, handle->size))
	{
		share = mapping->address;
		if (share->magic == SORT_SHARE_MAGIC && memcmp(&share->handle, handle, sizeof(*handle)) == 0)
			return share;
	}
	release_mapping(mapping);
	return NULL;
}

/* ---------------------------------------------------------------- memory */

void *
sort_share_alloc(SortShare *share, Size size)
{
	void *result = NULL;

	size = TYPEALIGN(8, size);
	SpinLockAcquire(&share->mutex);
	if (size <= share->handle.size - share->used)
	{
		result = (char *) share + share->used;
		share->used += size;
	}
	SpinLockRelease(&share->mutex);
	return result;
}

/*
 * Has pages of the file made that stand at this address, by older kernels; false: there is no memory for
 * them.
 */
static bool
allocate_pages(const char *from, Size size)
{
	for (const SortShareMapping *mapping = mappings; mapping != NULL; mapping = mapping->next)
	{
		const char *start = mapping->address;

		if (start != NULL && from >= start && from < start + mapping->size)
			return fallocate(mapping->fd, 0, from - start, size) == 0;
	}
	return false;
}

/* The same, and has them mapped, where the kernel can. */
static bool
provide_pages(char *from, Size size)
{
#ifdef MADV_POPULATE_WRITE
	if (madvise(from, size, MADV_POPULATE_WRITE) == 0)
		return true;
	if (errno != EINVAL)
		return false;
#endif
	return allocate_pages(from, size);
}

bool
sort_share_populate(void *memory, Size size)
{
	char *from = (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, memory);
	char *to = (char *) TYPEALIGN(SMALL_PAGE_SIZE, (char *) memory + size);

	for (char *step = from; step < to; step += POPULATE_STEP)
	{
		CHECK_FOR_INTERRUPTS();
		while (!provide_pages(step, Min((Size) (to - step), POPULATE_STEP)))
		{
			if (errno != EINTR && errno != EAGAIN)
				return false;
			CHECK_FOR_INTERRUPTS();
		}
	}
	return true;
}

void
sort_share_discard(void *memory, Size size)
{
#ifdef MADV_REMOVE
	char *from = (char *) TYPEALIGN(SMALL_PAGE_SIZE, memory);
	char *to = (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, (char *) memory + size);

	if (from < to)
		(void) madvise(from, to - from, MADV_REMOVE);
#endif
}

/* ---------------------------------------------------------------- who is how far */

int
sort_share_enter(SortShare *share)
{
	int process = -1;

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
	for (int i = 0; i < SORT_SHARE_MAX_PROCESSES; i++)
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

void
sort_share_note_overflow(SortShare *share)
{
	SpinLockAcquire(&share->mutex);
	share->overflowed = true;
	SpinLockRelease(&share->mutex);
	ConditionVariableBroadcast(&share->changed);
}

void
sort_share_fail(SortShare *share, SortFailureReason reason, const char *message)
{
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
