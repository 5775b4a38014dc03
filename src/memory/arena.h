/*
 * memory/arena.h
 *		Memory at the same address in several processes: whose it is, and how much of it is handed out.
 *
 * The process that creates an arena owns it: it is not in the query's dynamic shared memory, which is gone
 * when the Gather has shut down, and nothing of /dev/shm, which is small in containers.
 *
 * Each process has a file of its own to take memory from, though all can use all of it: the kernel makes and
 * frees the pages of one file under locks.
 *
 * Locks: Arena.mutex keeps what is handed out.  attached is an atomic word, which a process may look at in
 * memory that is another arena's by now.
 *
 * On failure arena_create, arena_attach and arena_alloc return NULL, and arena_populate returns false: there
 * is no file, no free address, or no memory.  None of them raises an error for that.
 */
#ifndef GPUSORT_MEMORY_ARENA_H
#define GPUSORT_MEMORY_ARENA_H

#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/spin.h"

#include "memory/files.h"

/* Finds the memory from another process; fixed size, without pointers to anything else. */
typedef struct ArenaHandle
{
	int pid; /* of the first process; 0: there is nothing to share */
	int nfiles;
	int fds[MEMORY_FILES_MAX]; /* there */
	uint64 address;			   /* of the first file; the others follow */
	uint64 size;			   /* of each */
	uint32 number;			   /* of the arena, in that process; never 0 */
} ArenaHandle;

/*
 * At the start of the memory; who uses it has a struct that begins with this one.
 *
 * The memory may be that of an earlier arena, which the server has kept; and who comes late for that one may
 * open it still.  So what is attached says to which, and is never set to zeros: a process counts itself in
 * only if it finds its own arena's number, and the first process keeps the memory only if nobody is counted,
 * in the same step as it takes the number away.  If it lets go of the memory while others are counted, as it
 * does when a sort starts again, the last of them frees it, and no sooner.
 */
typedef struct Arena
{
	/* the arena's number, 0: none; below it ARENA_ENDED, and how many others have it */
	pg_atomic_uint64 attached;
	uint32 magic;
	ArenaHandle handle;

	slock_t mutex;				 /* of all that follows */
	Size left;					 /* bytes that can be handed out */
	Size used[MEMORY_FILES_MAX]; /* bytes handed out of each file, the header included */
	Size held[MEMORY_FILES_MAX]; /* bytes that were memory when the arena began, of an earlier one */
} Arena;

/*
 * Makes an arena of so many bytes for so many processes, or takes what the server has kept, of which nothing
 * more is in use before it is written to.  Returns the header, the caller's own struct that begins with an
 * Arena, all zeros but for the Arena itself.  NULL: there is no memory to be had.  Let go of with
 * CurrentMemoryContext.
 */
extern void *arena_create(Size size, Size header_size, int processes);

/* In another process; NULL: can't.  Let go of, as far as this process is concerned, as above. */
extern void *arena_attach(const ArenaHandle *handle);

/*
 * In the first process, which has no more use for it: the server may keep the memory, if no other process has
 * it any more.
 */
extern void arena_end(Arena *arena);

/* Did this process create it? */
static inline bool
arena_is_own(const Arena *arena)
{
	return arena->handle.pid == MyProcPid;
}

/*
 * Hands out bytes of the memory, a multiple of 8, that hold anything, of what is memory already as long as
 * there is such.  Checks for interrupts.  NULL: none left.  Without an arena it is this process's own memory,
 * as by huge_alloc (alloc.h).
 */
extern void *arena_alloc(Arena *arena, Size size);

/*
 * The same without pages: before any is touched, somebody has to call arena_populate, which returns false if
 * there is no memory, and touching it might be fatal.  Several processes may do so at a time, each for a
 * part.
 */
extern void *arena_reserve(Arena *arena, Size size);
extern bool arena_populate(void *memory, Size size);

/* Gives pages back to the kernel; they are zeros when touched again. */
extern void arena_discard(void *memory, Size size);

/*
 * Gives back what is left of an earlier arena's memory and was not handed out, a file's at a time, until no
 * more than this is memory.
 */
extern void arena_trim(Arena *arena, Size at_most);

#endif /* GPUSORT_MEMORY_ARENA_H */
