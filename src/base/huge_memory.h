/*
 * base/huge_memory.h
 *		The large allocations of sorts.
 */
#ifndef GPUSORT_BASE_HUGE_MEMORY_H
#define GPUSORT_BASE_HUGE_MEMORY_H

#include "postgres.h"

/*
 * Allocates size bytes, which may be more than MaxAllocSize, in what the session has kept of other sorts or
 * anew, and where size is large and huge pages are to be had cheaply, on those.  Holds anything.  Freed with
 * CurrentMemoryContext, or by huge_free, not pfree.  Errors as palloc does.  Checks for interrupts.
 */
extern void *huge_alloc(Size size);

/* The session may keep it for its next sort. */
extern void huge_free(void *p);

#endif /* GPUSORT_BASE_HUGE_MEMORY_H */
