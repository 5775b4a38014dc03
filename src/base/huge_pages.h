/*
 * base/huge_pages.h
 *		Memory on huge pages, where that pays.
 */
#ifndef GPUSORT_BASE_HUGE_PAGES_H
#define GPUSORT_BASE_HUGE_PAGES_H

#include "postgres.h"

/*
 * Has the kernel provide memory that was just allocated, if there is much of it, and on huge pages where
 * those are to be had cheaply.  Checks for interrupts.
 */
extern void huge_pages_provide(char *p, Size size);

#endif /* GPUSORT_BASE_HUGE_PAGES_H */
