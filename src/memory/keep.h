/*
 * memory/keep.h
 *		The memory of one joint sort that the server keeps for the next one.
 *
 * All functions except the last two do nothing if the library is not in shared_preload_libraries.
 */
#ifndef GPUSORT_MEMORY_KEEP_H
#define GPUSORT_MEMORY_KEEP_H

#include "memory/memfds.h"

/*
 * Keeps the files, which no other process may use any more, and clears *files. held: bytes at the beginning
 * of each file that have memory.  False: the files may not be kept, and still belong to the caller.
 */
extern bool keep_put(Memfds *files, const Size *held);

/*
 * Takes the kept files of any session, not mapped, unless they have more than at_most bytes of memory.
 * False: there are no such files, and held is not changed.
 */
extern bool keep_take(Memfds *files, Size at_most, Size *held);

/* Frees the kept memory. */
extern void keep_free(void);

/*
 * Only for the launcher: frees memory that has been kept for too long.  Returns the milliseconds until the
 * next call; -1: no call before the launcher's latch is set.
 */
extern long keep_free_idle(void);

/* The shared memory of the account (monitor/shared_memory.c). */
extern void keep_shmem_request(void);
extern void keep_shmem_init(void);

#endif /* GPUSORT_MEMORY_KEEP_H */
