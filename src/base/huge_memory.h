/*
 * base/huge_memory.h
 *		Large allocations, on huge pages where that pays.
 */
#ifndef GPUSORT_BASE_HUGE_MEMORY_H
#define GPUSORT_BASE_HUGE_MEMORY_H

#include "postgres.h"

/*
 * Allocates size bytes, which may be more than MaxAllocSize, in CurrentMemoryContext, and where size is large
 * and huge pages are to be had cheaply, on those.  Errors as palloc does; release with pfree.  Checks for
 * interrupts.
 */
extern void *huge_alloc(Size size);

#endif /* GPUSORT_BASE_HUGE_MEMORY_H */
