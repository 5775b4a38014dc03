/*
 * files.h
 *		The number of files that this process may have open, and the number of connections for which they are
 *		enough.
 *
 * A connection takes three files: its socket, the event of its place at the gate, and its slab of chunk
 * memory.  Slabs that are not lent also have one file each.  Some files are reserved for the listener, and
 * for the driver, which opens more while it works.
 */
#ifndef GPUSORTD_FILES_H
#define GPUSORTD_FILES_H

#include <cstdint>
#include <mutex>

/*
 * A thread that opens a file holds this mutex.  The listener holds it from the time when it gives up its
 * reserved file until it has one again.  Otherwise another thread could take that file, and the listener
 * could not refuse clients any more.
 */
inline std::mutex files_mutex;

/* Raises the limit as far as this process may. */
void files_raise_limit();

struct FileBudget
{
	uint64_t limit;		  /* of open files */
	uint32_t connections; /* 0: not enough for one */
	uint32_t slabs;		  /* of chunk memory, made and not retired; no more than wanted */
};

/* Once the devices are open, and before there is a connection or a slab. */
FileBudget files_budget(uint64_t wanted_slabs);

#endif /* GPUSORTD_FILES_H */
