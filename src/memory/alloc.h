/*
 * memory/alloc.h
 *		The large allocations of one process.
 */
#ifndef GPUSORT_MEMORY_ALLOC_H
#define GPUSORT_MEMORY_ALLOC_H

#include "postgres.h"

/*
 * Allocates size bytes, which may be more than MaxAllocSize, and where size is large and huge pages are to be
 * had cheaply, on those.  Holds anything.  Freed with CurrentMemoryContext, or by huge_free, not pfree.
 * Errors as palloc does.  Checks for interrupts.
 */
extern void *huge_alloc(Size size);

extern void huge_free(void *p);

#endif /* GPUSORT_MEMORY_ALLOC_H */
