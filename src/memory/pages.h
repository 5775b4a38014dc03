/*
 * memory/pages.h
 *		Pages of memory, made and mapped before they are touched; huge ones where those pay.
 *
 * The kernel is asked first because a process that touches a page of a file for which there is no memory is
 * killed (SIGBUS).
 */
#ifndef GPUSORT_MEMORY_PAGES_H
#define GPUSORT_MEMORY_PAGES_H

#include "memory/files.h"

/* The smallest page of memory, on every processor that is supported; a system with larger ones takes more. */
#define SMALL_PAGE_SIZE ((Size) 4096)

#define HUGE_PAGE_SIZE ((Size) 2 * 1024 * 1024)

/*
 * Has the kernel provide memory of this process alone that was just allocated, if there is much of it.
 * Checks for interrupts.
 */
extern void pages_provide_private(char *memory, Size size);

/*
 * Has the kernel make those pages of mapped files that there are not yet, as zeros, and map all of them; what
 * is in the others stays.  alone: no other process is likely to do that in the same file now; then some
 * behind them may be made as well.  False: there is no memory, and touching it might be fatal.  Checks for
 * interrupts.
 */
extern bool pages_provide_shared(const MemoryFiles *files, char *memory, Size size, bool alone);

#endif /* GPUSORT_MEMORY_PAGES_H */
