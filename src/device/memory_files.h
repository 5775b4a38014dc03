/*
 * device/memory_files.h
 *		Files without names, mapped one behind the other.
 */
#ifndef GPUSORT_DEVICE_MEMORY_FILES_H
#define GPUSORT_DEVICE_MEMORY_FILES_H

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

/*
 * Has files be so many, of this size, at any address.  held: bytes of each, from its beginning, that are
 * memory.  False: that can't be, and there may be fewer files.
 */
extern bool memory_files_change(MemoryFiles *files, Size size, int nfiles, Size *held);

/* Maps the files from this address on; none, if something else is there. */
extern bool memory_files_map_at(MemoryFiles *files, uint64 address);

/*
 * Unmaps and closes all files; last: no other process has them, so their memory is freed.  There are none
 * then.
 */
extern void memory_files_close(MemoryFiles *files, bool last);

/* Leaves each file no more memory than so many bytes, which become 0 where that failed. */
extern void memory_files_cut(const MemoryFiles *files, Size *held);

#endif /* GPUSORT_DEVICE_MEMORY_FILES_H */
