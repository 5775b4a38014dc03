/*
 * huge_memory.h
 *		Large allocations on huge pages.
 *
 * Sorting touches memory in no order, and with 4 kB pages most touches miss the
 * TLB.  Where transparent huge pages are set to "madvise", the usual default,
 * memory must ask for them.
 */
#ifndef GPUSORT_HUGE_MEMORY_H
#define GPUSORT_HUGE_MEMORY_H

#include "postgres.h"

#include <sys/mman.h>

#include "utils/memutils.h"

#define HUGE_PAGE_SIZE ((uintptr_t) 2 * 1024 * 1024)
#define HUGE_ALLOC_MIN ((Size) 4 * 1024 * 1024) /* smaller allocations stay on small pages */

/*
 * Allocates size bytes, which may be more than MaxAllocSize, in CurrentMemoryContext, and asks
 * for huge pages inside.  Errors as palloc does; release with pfree.
 */
static inline void *
huge_alloc(Size size)
{
	void	   *p = MemoryContextAllocHuge(CurrentMemoryContext, size);

#ifdef MADV_HUGEPAGE
	if (size >= HUGE_ALLOC_MIN)
	{
		uintptr_t	from = TYPEALIGN(HUGE_PAGE_SIZE, (uintptr_t) p);
		uintptr_t	to = TYPEALIGN_DOWN(HUGE_PAGE_SIZE, (uintptr_t) p + size);

		/* It is advice: where the kernel takes none, the memory is as good but slower. */
		if (to > from)
			(void) madvise((void *) from, to - from, MADV_HUGEPAGE);
	}
#endif
	return p;
}

#endif							/* GPUSORT_HUGE_MEMORY_H */
