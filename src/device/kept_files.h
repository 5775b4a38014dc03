/*
 * device/kept_files.h
 *		Files without names that a session keeps for its next sort.
 */
#ifndef GPUSORT_DEVICE_KEPT_FILES_H
#define GPUSORT_DEVICE_KEPT_FILES_H

#include "device/memory_files.h"

/*
 * Keeps the files, which this process made and no other one has any more, each with no more than so many
 * bytes of its memory, as far as the session may keep memory.  False: it may keep none, and nothing is done.
 */
extern bool kept_files_put(MemoryFiles *files, const Size *used);

/*
 * Takes the files out of what is kept, with what each of them holds; held is zeros before.  False: there are
 * none.
 */
extern bool kept_files_take(MemoryFiles *files, Size *held);

#endif /* GPUSORT_DEVICE_KEPT_FILES_H */
