/*
 * base/memory_files.h
 *		Files without names, mapped one behind the other.
 */
#ifndef GPUSORT_BASE_MEMORY_FILES_H
#define GPUSORT_BASE_MEMORY_FILES_H

#include "postgres.h"

/* More processes than that share files. */
#define SHARED_FILES_MAX 16

/* All zeros: none.  Each file has room for all that is wanted, of which only what is used becomes memory. */
typedef struct MemoryFiles
{
	int nfiles;
	int fds[SHARED_FILES_MAX];
	char *address; /* NULL: not mapped */
	Size size;	   /* of each file */
} MemoryFiles;

/*
 * Makes a file a process, or as many as this one may have open, of files->size bytes each, and maps them at
 * any address.  False: that can't be, and there may be some files.
 */
extern bool memory_files_create(MemoryFiles *files, int processes);

/* Adds a file that another process has open.  False: that can't be. */
extern bool memory_files_open(MemoryFiles *files, int pid, int fd);

/*
 * Has files that are not mapped be so many, of this size, and maps them at any address.  held: bytes of each,
 * from its beginning, that are memory.  False: that can't be, and there may be fewer files.
 */
extern bool memory_files_change(MemoryFiles *files, Size size, int nfiles, Size *held);

/* Maps the files from this address on; none, if something else is there. */
extern bool memory_files_map_at(MemoryFiles *files, uint64 address);
extern void memory_files_unmap(MemoryFiles *files);

/* Bytes of memory that the files have. */
extern Size memory_files_memory(const MemoryFiles *files);

/*
 * Unmaps and closes all files; last: and frees their memory, which no process is to use any more.  There are
 * none then.
 */
extern void memory_files_close(MemoryFiles *files, bool last);

#endif /* GPUSORT_BASE_MEMORY_FILES_H */
