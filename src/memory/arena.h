/*
 * memory/arena.h
 *		Memory at the same address in several processes: its owner, and the parts that were handed out.
 *
 * The process that creates an arena owns it.  An arena is not in the query's dynamic shared memory, which
 * ends when the Gather shuts down, and not in /dev/shm, which is small in containers.
 *
 * Each process takes memory from its own file, because the kernel makes and frees the pages of one file under
 * locks.  All processes can use the memory of all files.
 *
 * Locks: Arena.mutex protects the amounts that were handed out. attached is an atomic word.  A process may
 * read it in memory that already belongs to another arena.
 *
 * On failure arena_create, arena_attach and arena_alloc return NULL, and arena_populate returns false.  The
 * reason is that there is no file, no free address, or no memory.  None of these functions raises an error
 * for that.
 */
#ifndef GPUSORT_MEMORY_ARENA_H
#define GPUSORT_MEMORY_ARENA_H

#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"

#include "base/spin.h"
#include "memory/memfds.h"

/* With a handle another process finds the memory.  It has a fixed size and no pointers. */
typedef struct ArenaHandle
{
	int pid; /* process ID of the first process; 0: there is no arena */
	int nfiles;
	int fds[MEMFDS_MAX]; /* descriptors in that process */
	uint64 address;		 /* address of the first file; the other files follow */
	uint64 size;		 /* size of each file */
	uint32 number;		 /* number of the arena in that process; never 0 */
} ArenaHandle;

/*
 * The header at the start of the memory.  A user of the arena has a struct that begins with this one.
 *
 * The memory may belong to an earlier arena that the server has kept, and a late process of that arena may
 * still open it.  Therefore attached has the number of the arena and is never zeroed.  A process counts
 * itself only if it finds the number of its own arena.  The first process gives the memory away only if no
 * process is counted, and removes the number in the same step.  If the first process detaches while other
 * processes are counted, as it does when a sort begins again, the last of these processes frees the memory.
 */
typedef struct Arena
{
	/* the arena's number, 0: none; in lower bits ARENA_ENDED, and the number of other attached processes */
	pg_atomic_uint64 attached;
	uint32 magic;
	ArenaHandle handle;

	slock_t mutex;		   /* protects the fields below */
	Size left;			   /* bytes that can be handed out */
	Size used[MEMFDS_MAX]; /* bytes handed out of each file, including the header */
	/* bytes of each file that already had memory, of an earlier arena, when this arena began */
	Size held[MEMFDS_MAX];
} Arena;

/*
 * Makes an arena of `size` bytes for `processes` processes, or takes the memory that the server has kept.
 * Pages take memory only when they are written.  Returns the header: the caller's struct, which begins with
 * an Arena.  All bytes behind the Arena are zeros.  NULL: there is no memory.  The process detaches with
 * CurrentMemoryContext.
 */
extern void *arena_create(Size size, Size header_size, int processes);

/* In another process: attaches to the arena; NULL: that is impossible.  The process detaches as above. */
extern void *arena_attach(const ArenaHandle *handle);

/*
 * In the first process, which no longer needs the arena: the server may keep the memory if no other process
 * is attached.
 */
extern void arena_end(Arena *arena);

/* Did this process create it? */
static inline bool
arena_is_own(const Arena *arena)
{
	return arena->handle.pid == MyProcPid;
}

/*
 * Hands out `size` bytes, a multiple of 8, which are not zeroed.  It prefers bytes that already have memory.
 * Checks for interrupts.  NULL: no bytes are left.  Without an arena it allocates memory of this process by
 * huge_alloc (alloc.h).
 */
extern void *arena_alloc(Arena *arena, Size size);

/*
 * Hands out bytes without pages.  Before a byte is touched, a process must call arena_populate for it.
 * arena_populate returns false if there is no memory; touching the bytes might then kill the process.
 * Several processes may call it at the same time, each for a part.  Without an arena they are bytes of this
 * process (huge_reserve).
 */
extern void *arena_reserve(Arena *arena, Size size);
extern bool arena_populate(void *memory, Size size);

/* Returns pages to the kernel; they are zeros when they are touched again. */
extern void arena_discard(void *memory, Size size);

/*
 * Returns memory of an earlier arena that was not handed out to the kernel, one file after another, until at
 * most at_most bytes are left.
 */
extern void arena_trim(Arena *arena, Size at_most);

#endif /* GPUSORT_MEMORY_ARENA_H */
