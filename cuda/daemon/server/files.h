/*
 * files.h
 *		How many files this process may have open, and for what they are enough.
 *
 * A connection takes three: its socket, the event of its place at the gate, and its segment of chunk memory.
 * Segments that are lent to nobody have a file each as well, and some are left for the driver, which opens
 * more as it works, and for the listener.
 */
#ifndef GPUSORTD_FILES_H
#define GPUSORTD_FILES_H

#include <cstdint>
#include <mutex>

/*
 * Held by a thread that opens a file, and by the listener from where it gives up the file that it has in
 * reserve until it has one again: else another thread takes that one, and nobody is refused any more.
 */
inline std::mutex files_mutex;

/* Raises the limit as far as this process may.  */
void files_raise_limit();

struct FileBudget
{
	uint64_t limit;		  /* of open files */
	uint32_t connections; /* 0: not enough for one */
	uint32_t segments;	  /* of chunk memory, made and not retired; no more than wanted */
};

/* Once the devices are open, and before there is a connection or a segment.  */
FileBudget files_budget(uint64_t wanted_segments);

#endif /* GPUSORTD_FILES_H */
