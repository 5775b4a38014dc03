/*
 * device/shared_files.h
 *		Memory at the same address in several processes, in files without names.
 *
 * The process that creates it owns it: it is not in the query's dynamic shared memory, which is gone when the
 * Gather has shut down, and nothing of /dev/shm, which is small in containers.
 *
 * Each process has a file of its own to take memory from, though all can use all of it: the kernel makes and
 * frees the pages of one file under locks, so that several processes that have it do so in the same file wait
 * for each other.
 *
 * The files may be those of an earlier sort (kept_files.h): then their memory holds what was left in it.
 *
 * The leader creates the memory; other processes attach it.  Nothing here takes a lock: who may take which
 * bytes is participants.h's, and who lets go last is decided by the function that is given to
 * shared_files_on_release.
 *
 * On failure shared_files_create and shared_files_attach return NULL, and shared_files_populate returns
 * false: there is no file, no free address, or no memory.  None of them raises an error for that.
 */
#ifndef GPUSORT_DEVICE_SHARED_FILES_H
#define GPUSORT_DEVICE_SHARED_FILES_H

#include "base/memory_files.h"

/* Finds the memory from another process; fixed size, without pointers to anything else. */
typedef struct SortShareHandle
{
	int pid; /* of the first process; 0: there is nothing to share */
	int nfiles;
	int fds[SHARED_FILES_MAX]; /* there */
	uint64 address;			   /* of the first file; the others follow */
	uint64 size;			   /* of each */
	uint32 number;			   /* of the sort, in that process; never 0 */
} SortShareHandle;

/*
 * Makes files of so many bytes each, one a process, and has the kernel provide the first bytes of the first
 * one.  Returns its address, and sets the handle, and held: bytes of each file, from its beginning, that are
 * memory already, and hold anything; what is beyond them are zeros.  NULL: there are none to be had.  Let go
 * of with CurrentMemoryContext.
 */
extern void *shared_files_create(Size size, int processes, Size populated, SortShareHandle *handle,
								 Size *held);

/*
 * Keeps the files for another sort, if they may be kept; held: bytes of each that are memory.  No other
 * process has them mapped, nor will.  They are not to be touched any more.
 */
extern void shared_files_keep(void *address, const Size *held);

/* In another process; NULL: can't.  Let go of with CurrentMemoryContext. */
extern void *shared_files_attach(const SortShareHandle *handle);

/*
 * To be called by a process that lets go of the memory at this address, while it is mapped yet, whatever
 * makes it do so.  Returns whether no other process has it any more, nor will: then it is freed.
 */
typedef bool (*SharedFilesLeave)(void *address);

/* Without that it is freed when the process that has created it lets go of it. */
extern void shared_files_on_release(void *address, SharedFilesLeave leave);

/* Where a file begins. */
static inline char *
shared_files_address(const SortShareHandle *handle, int file)
{
	return (char *) (uintptr_t) (handle->address + file * handle->size);
}

/*
 * Has the kernel provide memory, all of which is the caller's, before it is touched; checks for interrupts.
 * alone: no other process is likely to do that in the same file now.  False: there is none, and touching it
 * might be fatal.
 */
extern bool shared_files_populate(void *memory, Size size, bool alone);

/* Gives pages back to the kernel; they are zeros when touched again. */
extern void shared_files_discard(void *memory, Size size);

#endif /* GPUSORT_DEVICE_SHARED_FILES_H */
