/*
 * memory/huge_page_costs.h
 *		Do huge pages pay, on this machine and at this time?
 *
 * Who has the kernel make a huge page says what it took.
 */
#ifndef GPUSORT_MEMORY_HUGE_PAGE_COSTS_H
#define GPUSORT_MEMORY_HUGE_PAGE_COSTS_H

#include "postgres.h"

/* Should the next huge page be asked for? */
extern bool huge_pages_pay(void);

/* So many huge pages were made in so many milliseconds; 0: in vain, and small ones are to be made. */
extern void huge_pages_note(int npages, double ms);

/* In the server's shared memory, for all of its processes; without it each process notes for itself. */
extern Size huge_page_costs_shmem_size(void);
extern void huge_page_costs_shmem_init(void);

#endif /* GPUSORT_MEMORY_HUGE_PAGE_COSTS_H */
