/*
 * device/shared_files.c
 *		Memory at the same address in several processes, in files without names.
 *
 * The first process maps its files at an address that is free in most (memory_files.c); the others open them
 * by its /proc entries.  As PostgreSQL's processes are children of one postmaster, what is free in one is
 * nearly always free in the others; where it isn't, or where there is no /proc, shared_files_attach says so.
 *
 * File descriptors and mappings belong to the memory context that was current, by way of a reset callback: so
 * errors, cancels and aborts release them.  Who lets go of the memory last frees it, by making holes in the
 * files: a process that kept them for others (kept_files.c) may have them open still.
 *
 * Files that were kept (kept_files.c) get the size and the number that the next sort wants, and an address of
 * its own; their pages stay.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/fd.h"

#include "base/huge_page_costs.h"
#include "base/kept_files.h"
#include "base/limits.h"
#include "device/shared_files.h"
#include "device/shared_pages.h"

/* Bytes that are populated between checks for interrupts. */
#define POPULATE_STEP ((Size) 8 * 1024 * 1024)

/* What a process has open, until its memory context is reset. */
typedef struct SharedFiles
{
	MemoryContextCallback callback;
	struct SharedFiles *next; /* in this process */
	bool created;			  /* by this process? */
	SharedFilesLeave leave;	  /* NULL: no other process has the memory */
	MemoryFiles memory;
} SharedFiles;

static SharedFiles *all_files = NULL;

/* ---------------------------------------------------------------- as long as the memory context */

static void
forget_files(const SharedFiles *files)
{
	for (SharedFiles **link = &all_files; *link != NULL; link = &(*link)->next)
	{
		if (*link == files)
		{
			*link = files->next;
			return;
		}
	}
}

/*
 * What a worker had mapped, until it ends or maps something else.  It takes a while to unmap, and the leader
 * waits for a worker's last message, but not for its end.
 */
static char *left_mapped = NULL;
static Size left_size;

static void
unmap_what_was_left(void)
{
	if (left_mapped != NULL)
		munmap(left_mapped, left_size);
	left_mapped = NULL;
}

/* This process lets go of the memory.  Is it nobody's any more? */
static bool
leave(const SharedFiles *files)
{
	return files->leave != NULL ? files->leave(files->memory.address) : files->created;
}

static void
release_files(void *arg)
{
	SharedFiles *files = arg;
	bool last;

	forget_files(files);
	/* the condition variable that this process waits on may be in there */
	ConditionVariableCancelSleep();
	last = files->memory.nfiles > 0 && leave(files);
	if (!files->created && IsParallelWorker())
	{
		unmap_what_was_left();
		left_mapped = files->memory.address;
		left_size = files->memory.nfiles * files->memory.size;
		files->memory.address = NULL;
	}
	memory_files_close(&files->memory, last);
}

/* Nothing open yet; whatever is put into it is released with CurrentMemoryContext. */
static SharedFiles *
files_create(Size size)
{
	SharedFiles *files = palloc0(sizeof(SharedFiles));

	files->memory.size = size;
	files->callback.func = release_files;
	files->callback.arg = files;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &files->callback);
	files->next = all_files;
	all_files = files;
	return files;
}

/* ---------------------------------------------------------------- in the first process, and in others */

/* Has files that were kept, if there are any that will do. */
static bool
reuse_files(MemoryFiles *memory, int processes, Size *held)
{
	Size size = memory->size;

	if (!kept_files_take(memory, size, held))
		return false;
	if (memory_files_change(memory, size, Min(processes, SHARED_FILES_MAX), held))
		return true;
	memory_files_close(memory, true);
	memory->size = size;
	memset(held, 0, SHARED_FILES_MAX * sizeof(Size));
	return false;
}

static SharedFiles *
files_at(const char *address)
{
	SharedFiles *files = all_files;

	while (files->memory.address != address)
		files = files->next;
	return files;
}

void
shared_files_on_release(void *address, SharedFilesLeave leave)
{
	files_at(address)->leave = leave;
}

void
shared_files_keep(void *address, const Size *held)
{
	SharedFiles *files = files_at(address);

	ConditionVariableCancelSleep();
	files->leave = NULL;
	/* what is not kept the memory context frees */
	(void) kept_files_put(&files->memory, held);
}

void *
shared_files_create(Size size, int processes, Size populated, SortShareHandle *handle, Size *held)
{
	SharedFiles *files = files_create(TYPEALIGN(HUGE_PAGE_SIZE, size));
	MemoryFiles *memory = &files->memory;

	files->created = true;
	memset(held, 0, SHARED_FILES_MAX * sizeof(Size));
	if (!(reuse_files(memory, processes, held) || memory_files_create(memory, processes)) ||
		!shared_files_populate(memory->address, populated, true))
	{
		release_files(files);
		return NULL;
	}
	memset(handle, 0, sizeof(*handle));
	handle->pid = MyProcPid;
	handle->nfiles = memory->nfiles;
	memcpy(handle->fds, memory->fds, sizeof(memory->fds));
	handle->address = (uint64) (uintptr_t) memory->address;
	handle->size = memory->size;
	return memory->address;
}

/* Adds a file of the first process's. */
static bool
add_file_of(MemoryFiles *memory, const SortShareHandle *handle, int file)
{
	struct stat status;

	return memory_files_open(memory, handle->pid, handle->fds[file]) &&
		   fstat(memory->fds[file], &status) == 0 && (uint64) status.st_size == handle->size;
}

void *
shared_files_attach(const SortShareHandle *handle)
{
	SharedFiles *files = files_create(handle->size);

	unmap_what_was_left();
	for (int i = 0; i < handle->nfiles; i++)
	{
		if (!add_file_of(&files->memory, handle, i))
		{
			release_files(files);
			return NULL;
		}
	}
	if (!memory_files_map_at(&files->memory, handle->address))
	{
		release_files(files);
		return NULL;
	}
	return files->memory.address;
}

/* ---------------------------------------------------------------- pages */

/* Finds the pages' file, and where in it they are; false: they are not of a file of this process's. */
static bool
find_file(FilePages *pages)
{
	for (const SharedFiles *files = all_files; files != NULL; files = files->next)
	{
		const MemoryFiles *memory = &files->memory;
		Size offset = pages->address - memory->address;

		if (memory->address == NULL || pages->address < memory->address ||
			offset >= memory->nfiles * memory->size)
			continue;
		pages->fd = memory->fds[offset / memory->size];
		pages->offset = offset % memory->size;
		pages->file_size = memory->size;
		pages->nfiles = memory->nfiles;
		return true;
	}
	return false;
}

/* Has pages be there, whole ones, a step at a time. */
static bool
provide(char *from, const char *to, bool alone)
{
	char *end;

	for (char *step = from; step < to; step = end)
	{
		FilePages pages = {.address = step};

		end = Min((char *) TYPEALIGN(POPULATE_STEP, step + 1), (char *) to);
		pages.size = end - step;
		CHECK_FOR_INTERRUPTS();
		if (!find_file(&pages))
			return false;
		while (!shared_pages_provide(&pages, alone))
		{
			if (errno != EINTR && errno != EAGAIN)
				return false;
			CHECK_FOR_INTERRUPTS();
		}
	}
	return true;
}

bool
shared_files_populate(void *memory, Size size, bool alone)
{
	char *end = (char *) memory + size;
	char *from = (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, memory);
	char *to = (char *) TYPEALIGN(SMALL_PAGE_SIZE, end);
	char *own_from = (char *) TYPEALIGN(SMALL_PAGE_SIZE, memory);
	char *own_to = (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, end);

	/* the pages at the ends may hold something of others */
	if (!alone || own_from >= own_to)
		return provide(from, to, false);
	return provide(from, own_from, false) && provide(own_from, own_to, true) && provide(own_to, to, false);
}

void
shared_files_discard(void *memory, Size size)
{
#ifdef MADV_REMOVE
	char *from = (char *) TYPEALIGN(SMALL_PAGE_SIZE, memory);
	char *to = (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, (char *) memory + size);

	if (from < to)
		(void) madvise(from, to - from, MADV_REMOVE);
#endif
}
