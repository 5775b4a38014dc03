/*
 * memory/files.h
 *		Unnamed files, mapped in sequence.
 */
#ifndef GPUSORT_MEMORY_FILES_H
#define GPUSORT_MEMORY_FILES_H

#include "postgres.h"

/* If there are more processes, they share files. */
#define MEMORY_FILES_MAX 16

/* All zeros: no files.  Each file has room for all bytes; only used bytes take memory. */
typedef struct MemoryFiles
{
	int nfiles;
	int fds[MEMORY_FILES_MAX];
	char *address; /* NULL: not mapped */
	Size size;	   /* of each file */
} MemoryFiles;

/*
 * Makes one file of `size` bytes for each process, or as many as this process may open, and maps the files at
 * any address.  Files that are already there, not mapped, are used too. held: bytes at the beginning of each
 * file that already have memory.  False: that is impossible, and some files may exist.
 */
extern bool memory_files_make(MemoryFiles *files, Size size, int processes, Size *held);

/* Adds a file that another process has open.  False: that is impossible. */
extern bool memory_files_open(MemoryFiles *files, int pid, int fd);

/* Maps the files from this address on.  False: the address range is not free, and no file is mapped. */
extern bool memory_files_map_at(MemoryFiles *files, uint64 address);
extern void memory_files_unmap(MemoryFiles *files);

/* Returns the bytes of memory that the files have. */
extern Size memory_files_memory(const MemoryFiles *files);

/*
 * Unmaps and closes all files. last: also frees their memory, which no process may use any more.  Afterwards
 * there are no files.
 */
extern void memory_files_close(MemoryFiles *files, bool last);

#endif /* GPUSORT_MEMORY_FILES_H */
