/*
 * memory/alloc.h
 *		The large allocations of one process.
 */
#ifndef GPUSORT_MEMORY_ALLOC_H
#define GPUSORT_MEMORY_ALLOC_H

#include "postgres.h"

/*
 * Allocates size bytes, which may be more than MaxAllocSize.  A large allocation uses huge pages if they are
 * cheap.  The memory is not zeroed.  It is freed with CurrentMemoryContext, or by huge_free, not by pfree.
 * Raises errors as palloc does.  Checks for interrupts.
 */
extern void *huge_alloc(Size size);

/* The same, but pages take memory only when they are touched. */
extern void *huge_reserve(Size size);

extern void huge_free(void *p);

#endif /* GPUSORT_MEMORY_ALLOC_H */
