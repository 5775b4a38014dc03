/*
 * memory/keep.h
 *		The memory of one joint sort, which the server keeps for the next one.
 *
 * All but the last two do nothing where the library is not in shared_preload_libraries.
 */
#ifndef GPUSORT_MEMORY_KEEP_H
#define GPUSORT_MEMORY_KEEP_H

#include "memory/files.h"

/*
 * Keeps the files, which no other process uses any more; held: bytes of each, from its beginning, that are
 * memory.  There are none then.  False: they may not be kept, and are the caller's.
 */
extern bool keep_put(MemoryFiles *files, const Size *held);

/*
 * Takes what is kept, whichever session has put it there, as files that are not mapped, unless it has more
 * memory than so many bytes.  False: there is nothing to be had; held is then as it was.
 */
extern bool keep_take(MemoryFiles *files, Size at_most, Size *held);

/* Frees what is kept. */
extern void keep_free(void);

/*
 * Of the launcher alone: frees what has been kept for too long.  Returns milliseconds until it is to be
 * called again; -1: not before its latch is set.
 */
extern long keep_free_idle(void);

/* The shared memory of it (monitor/shared_memory.c). */
extern void keep_shmem_request(void);
extern void keep_shmem_init(void);

#endif /* GPUSORT_MEMORY_KEEP_H */
