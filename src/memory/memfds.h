/*
 * memory/memfds.h
 *		Files without a name that are memory (memfds), mapped in sequence.
 */
#ifndef GPUSORT_MEMORY_MEMFDS_H
#define GPUSORT_MEMORY_MEMFDS_H

#include "postgres.h"

/* If there are more processes, they share files. */
#define MEMFDS_MAX 16

/* All zeros: no files.  Each file has room for all bytes; only used bytes take memory. */
typedef struct Memfds
{
	int nfiles;
	int fds[MEMFDS_MAX];
	char *address; /* NULL: not mapped */
	Size size;	   /* of each file */
} Memfds;

/*
 * Makes one file of `size` bytes for each process, or as many as this process may open, and maps the files at
 * any address.  Files that are already there, not mapped, are used too. held: bytes at the beginning of each
 * file that already have memory.  False: that is impossible, and some files may exist.
 */
extern bool memfds_make(Memfds *files, Size size, int processes, Size *held);

/* Adds a file that another process has open.  False: that is impossible. */
extern bool memfds_open(Memfds *files, int pid, int fd);

/* Maps the files from this address on.  False: the address range is not free, and no file is mapped. */
extern bool memfds_map_at(Memfds *files, uint64 address);
extern void memfds_unmap(Memfds *files);

/* Returns the bytes of memory that the files have. */
extern Size memfds_memory(const Memfds *files);

/*
 * Unmaps and closes all files. last: also frees their memory, which no process may use any more.  Afterwards
 * there are no files.
 */
extern void memfds_close(Memfds *files, bool last);

#endif /* GPUSORT_MEMORY_MEMFDS_H */
