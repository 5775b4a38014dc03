/*
 * memory/files.h
 *		Files without names, mapped one behind the other.
 */
#ifndef GPUSORT_MEMORY_FILES_H
#define GPUSORT_MEMORY_FILES_H

#include "postgres.h"

/* More processes than that share files. */
#define MEMORY_FILES_MAX 16

/* All zeros: none.  Each file has room for all that is wanted, of which only what is used becomes memory. */
typedef struct MemoryFiles
{
	int nfiles;
	int fds[MEMORY_FILES_MAX];
	char *address; /* NULL: not mapped */
	Size size;	   /* of each file */
} MemoryFiles;

/*
 * Has files that are not mapped be one a process, or as many as this one may have open, of so many bytes
 * each, and maps them at any address.  held: bytes of each, from its beginning, that are memory.  False: that
 * can't be, and there may be some files.
 */
extern bool memory_files_make(MemoryFiles *files, Size size, int processes, Size *held);

/* Adds a file that another process has open.  False: that can't be. */
extern bool memory_files_open(MemoryFiles *files, int pid, int fd);

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

#endif /* GPUSORT_MEMORY_FILES_H */
