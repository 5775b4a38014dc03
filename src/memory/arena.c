/*
 * memory/arena.c
 *		Memory at the same address in several processes: whose it is, and how much of it is handed out.
 *
 * As PostgreSQL's processes are children of one postmaster, an address that is free in one is nearly always
 * free in the others; where it isn't, or where there is no /proc, arena_attach says so.
 *
 * Who lets go of the memory last frees it, by making holes in the files: a process that kept them for others
 * (keep.c) may have them open still.  Files that were kept get the size and the number that the next arena
 * wants, and an address of its own; their pages stay.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"

#include "memory/alloc.h"
#include "memory/arena.h"
#include "memory/keep.h"
#include "memory/pages.h"

#define ARENA_MAGIC 0x47505331

/* In attached: the first process has let go of the memory. */
#define ARENA_ENDED 0x80000000u

/* What a process has open, until its memory context is reset. */
typedef struct Mapping
{
	MemoryContextCallback callback;
	struct Mapping *next; /* in this process */
	bool created;		  /* by this process? */
	bool shared;		  /* do others have it, or may they? then attached says who frees the memory */
	Memfds files;
} Mapping;

static Mapping *mappings = NULL;

/* ---------------------------------------------------------------- as long as the memory context */

/* Not in the list: it was released before, when something had failed. */
static void
forget(const Mapping *mapping)
{
	Mapping **link = &mappings;

	while (*link != NULL && *link != mapping)
		link = &(*link)->next;
	if (*link != NULL)
		*link = mapping->next;
}

/*
 * What a worker had mapped, until it ends or maps something else.  It takes a while to unmap, and the leader
 * waits for a worker's last message, but not for its end.
 */
static Memfds left_mapped;

/* This process lets go of the memory.  Is it nobody's any more, nor will be? */
static bool
leave(const Mapping *mapping)
{
	Arena *arena = (Arena *) mapping->files.address;

	if (!mapping->shared)
		return mapping->created;
	if (mapping->created)
		return (uint32) pg_atomic_fetch_or_u64(&arena->attached, ARENA_ENDED) == 0;
	return (uint32) pg_atomic_sub_fetch_u64(&arena->attached, 1) == ARENA_ENDED;
}

static void
release(void *arg)
{
	Mapping *mapping = arg;
	Memfds *files = &mapping->files;
	bool last;

	forget(mapping);
	/* the condition variable that this process waits on may be in there */
	ConditionVariableCancelSleep();
	last = files->nfiles > 0 && leave(mapping);
	if (!mapping->created && IsParallelWorker())
	{
		memfds_unmap(&left_mapped);
		left_mapped = *files;
		files->address = NULL;
	}
	memfds_close(files, last);
}

/* Nothing open yet; whatever is put into it is released with CurrentMemoryContext. */
static Mapping *
mapping_create(bool created)
{
	Mapping *mapping = palloc0(sizeof(Mapping));

	mapping->created = created;
	mapping->callback.func = release;
	mapping->callback.arg = mapping;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &mapping->callback);
	mapping->next = mappings;
	mappings = mapping;
	return mapping;
}

/* The one that this is an address in; NULL: none of this process's. */
static Mapping *
mapping_of(const void *address)
{
	for (Mapping *mapping = mappings; mapping != NULL; mapping = mapping->next)
	{
		const char *start = mapping->files.address;

		if (start != NULL && (const char *) address >= start &&
			(const char *) address < start + mapping->files.nfiles * mapping->files.size)
			return mapping;
	}
	return NULL;
}

/* Has the kernel provide memory; alone: no other process is likely to do that in the same file now. */
static bool
populate(void *memory, Size size, bool alone)
{
	const Mapping *mapping = mapping_of(memory);

	if (mapping == NULL)
		pages_provide_private(memory, size);
	return mapping == NULL || pages_provide_shared(&mapping->files, memory, size, alone);
}

/* ---------------------------------------------------------------- in the first process */

/* What attached is of an arena that only the first process has. */
static uint64
attached_none(uint32 number)
{
	return (uint64) number << 32;
}

/* Maps files that were kept, if there are any that will do, or new ones. */
static bool
map_files(Memfds *files, Size size, int processes, Size *held)
{
	if (keep_take(files, size, held) && !memfds_make(files, size, processes, held))
		memfds_close(files, true);
	if (files->nfiles > 0)
		return true;
	memset(held, 0, MEMFDS_MAX * sizeof(Size));
	return memfds_make(files, size, processes, held);
}

/* Sets the header, behind what is attached. */
static void
init(Arena *arena, const Memfds *files, Size header_size, const Size *held)
{
	static uint32 arenas = 0;
	const Size attached_size = offsetof(Arena, magic);

#ifdef MEMORY_SPOILED
	memset((char *) arena + attached_size, 0x7f, header_size - attached_size);
#endif
	memset((char *) arena + attached_size, 0, header_size - attached_size);
	arenas = Max(arenas + 1, 1); /* never 0 */
	arena->magic = ARENA_MAGIC;
	arena->handle.pid = MyProcPid;
	arena->handle.nfiles = files->nfiles;
	memcpy(arena->handle.fds, files->fds, sizeof(files->fds));
	arena->handle.address = (uint64) (uintptr_t) files->address;
	arena->handle.size = files->size;
	arena->handle.number = arenas;
	SpinLockInit(&arena->mutex);
	arena->left = files->size - TYPEALIGN(64, header_size);
	arena->used[0] = TYPEALIGN(64, header_size);
	memcpy(arena->held, held, sizeof(arena->held));
}

void *
arena_create(Size size, Size header_size, int processes)
{
	Mapping *mapping = mapping_create(true);
	Memfds *files = &mapping->files;
	Size held[MEMFDS_MAX];
	Arena *arena;

	size = TYPEALIGN(HUGE_PAGE_SIZE, size + MAXALIGN(header_size));
	if (!map_files(files, size, processes, held) || !populate(files->address, header_size, true))
	{
		release(mapping);
		return NULL;
	}
	arena = (Arena *) files->address;
	init(arena, files, header_size, held);
	pg_atomic_write_u64(&arena->attached, attached_none(arena->handle.number));
	mapping->shared = true;
	return arena;
}

void
arena_end(Arena *arena)
{
	Mapping *mapping = mapping_of(arena);
	uint64 nobody = attached_none(arena->handle.number);
	Size held[MEMFDS_MAX];

	if (!pg_atomic_compare_exchange_u64(&arena->attached, &nobody, 0))
		return;
	for (int i = 0; i < MEMFDS_MAX; i++)
		held[i] = Max(arena->used[i], arena->held[i]);
	ConditionVariableCancelSleep();
	mapping->shared = false;
	/* what is not kept the memory context frees */
	(void) keep_put(&mapping->files, held);
}

/* ---------------------------------------------------------------- in others */

/* Adds a file of the first process's. */
static bool
add_file_of(Memfds *files, const ArenaHandle *handle, int file)
{
	struct stat status;

	return memfds_open(files, handle->pid, handle->fds[file]) && fstat(files->fds[file], &status) == 0 &&
		   (uint64) status.st_size == handle->size;
}

static bool
map_files_of(Memfds *files, const ArenaHandle *handle)
{
	files->size = handle->size;
	for (int i = 0; i < handle->nfiles; i++)
	{
		if (!add_file_of(files, handle, i))
			return false;
	}
	return memfds_map_at(files, handle->address);
}

/* Counts this process in, if it is still that arena's. */
static bool
count_in(Arena *arena, uint32 number)
{
	uint64 attached = pg_atomic_read_u64(&arena->attached);

	do
	{
		if (attached >> 32 != number || (attached & ARENA_ENDED) != 0)
			return false;
	} while (!pg_atomic_compare_exchange_u64(&arena->attached, &attached, attached + 1));
	return true;
}

void *
arena_attach(const ArenaHandle *handle)
{
	Mapping *mapping;
	Arena *arena;

	if (handle->pid == 0)
		return NULL;
	mapping = mapping_create(false);
	memfds_unmap(&left_mapped);
	if (!map_files_of(&mapping->files, handle))
	{
		release(mapping);
		return NULL;
	}
	arena = (Arena *) mapping->files.address;
	mapping->shared = count_in(arena, handle->number);
	if (!mapping->shared || arena->magic != ARENA_MAGIC ||
		memcmp(&arena->handle, handle, sizeof(*handle)) != 0)
		return NULL;
	return arena;
}

/* ---------------------------------------------------------------- handing out */

/* Where a file begins. */
static char *
file_address(const Arena *arena, int file)
{
	return (char *) arena + file * arena->handle.size;
}

/* Bytes of a file that are memory and not handed out. */
static Size
unused(const Arena *arena, int file)
{
	return arena->held[file] > arena->used[file] ? arena->held[file] - arena->used[file] : 0;
}

/*
 * The file to take so many bytes of: this process's own, unless it has to be made there while memory that
 * there is lies in others.
 */
static int
choose_file(const Arena *arena, Size size)
{
	int own = (ParallelWorkerNumber + 1) % arena->handle.nfiles;
	int best = own;

	if (unused(arena, own) >= size)
		return own;
	for (int file = 0; file < arena->handle.nfiles; file++)
	{
		if (unused(arena, file) > unused(arena, best) && arena->used[file] + size <= arena->handle.size)
			best = file;
	}
	return best;
}

/* Hands out so many bytes. */
static void *
take(Arena *arena, Size size)
{
	void *result = NULL;
	int file;

	SpinLockAcquire(&arena->mutex);
	file = choose_file(arena, size);
	if (size <= arena->left && arena->used[file] + size <= arena->handle.size)
	{
		result = file_address(arena, file) + arena->used[file];
		arena->used[file] += size;
		arena->left -= size;
	}
	SpinLockRelease(&arena->mutex);
	return result;
}

/* What is handed out holds anything. */
static void *
spoil(void *memory, Size size)
{
#ifdef MEMORY_SPOILED
	if (memory != NULL)
		memset(memory, 0x7f, size);
#endif
	return memory;
}

void *
arena_reserve(Arena *arena, Size size)
{
	if (arena == NULL)
		return huge_reserve(size);
	return spoil(take(arena, TYPEALIGN(8, size)), size);
}

void *
arena_alloc(Arena *arena, Size size)
{
	void *memory;

	if (arena == NULL)
		return huge_alloc(size);
	memory = take(arena, TYPEALIGN(8, size));
	return memory != NULL && populate(memory, size, true) ? spoil(memory, size) : NULL;
}

bool
arena_populate(void *memory, Size size)
{
	return populate(memory, size, false);
}

/* ---------------------------------------------------------------- giving back */

void
arena_discard(void *memory, Size size)
{
	char *from = (char *) TYPEALIGN(SMALL_PAGE_SIZE, memory);
	char *to = (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, (char *) memory + size);

	if (from < to)
		(void) madvise(from, to - from, MADV_REMOVE);
}

/* What is given back counts as handed out: nobody can get it meanwhile. */
void
arena_trim(Arena *arena, Size at_most)
{
	Size from[MEMFDS_MAX];
	Size bytes[MEMFDS_MAX] = {0};
	Size memory = 0;
	int nfiles = arena->handle.nfiles;

	SpinLockAcquire(&arena->mutex);
	for (int i = 0; i < nfiles; i++)
		memory += Max(arena->used[i], arena->held[i]);
	for (int i = 0; i < nfiles && memory > at_most; i++)
	{
		from[i] = arena->used[i];
		bytes[i] = unused(arena, i);
		arena->used[i] += bytes[i];
		memory -= bytes[i];
	}
	SpinLockRelease(&arena->mutex);
	for (int i = 0; i < nfiles; i++)
	{
		if (bytes[i] > 0)
			arena_discard(file_address(arena, i) + from[i], bytes[i]);
	}
}
