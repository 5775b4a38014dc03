/*
 * memory/huge_page_costs.h
 *		Do huge pages save time, on this machine and at this time?
 *
 * Code that lets the kernel make a huge page reports the time.
 */
#ifndef GPUSORT_MEMORY_HUGE_PAGE_COSTS_H
#define GPUSORT_MEMORY_HUGE_PAGE_COSTS_H

#include "postgres.h"

/* Should the next huge page be requested? */
extern bool huge_pages_pay(void);

/*
 * Reports that npages huge pages were made in ms milliseconds. npages 0: the kernel made none, and small
 * pages will be made.
 */
extern void huge_pages_note(int npages, double ms);

/* The state is in the server's shared memory; without it each process has its own state. */
extern Size huge_page_costs_shmem_size(void);
extern void huge_page_costs_shmem_init(void);

#endif /* GPUSORT_MEMORY_HUGE_PAGE_COSTS_H */
