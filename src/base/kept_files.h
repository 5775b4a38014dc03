/*
 * base/kept_files.h
 *		The memory of one joint sort, which the server keeps for the next one.
 *
 * All but the last two do nothing where the library is not in shared_preload_libraries.
 */
#ifndef GPUSORT_BASE_KEPT_FILES_H
#define GPUSORT_BASE_KEPT_FILES_H

#include "base/memory_files.h"

/*
 * Keeps the files, which no other process uses any more; held: bytes of each, from its beginning, that are
 * memory.  There are none then.  False: they may not be kept, and are the caller's.
 */
extern bool kept_files_put(MemoryFiles *files, const Size *held);

/*
 * Takes what is kept, whichever session has put it there, as files that are not mapped, unless it has more
 * memory than so many bytes.  False: there is nothing to be had; held is then as it was.
 */
extern bool kept_files_take(MemoryFiles *files, Size at_most, Size *held);

/* Frees what is kept. */
extern void kept_files_free(void);

/*
 * Of the launcher alone: frees what has been kept for too long.  Returns milliseconds until it is to be
 * called again; -1: not before its latch is set.
 */
extern long kept_files_free_idle(void);

/* The shared memory of it (monitor/shared_memory.c). */
extern void kept_files_shmem_request(void);
extern void kept_files_shmem_init(void);

#endif /* GPUSORT_BASE_KEPT_FILES_H */
