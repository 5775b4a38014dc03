/*
 * memory/pages.h
 *		Pages of memory, made and mapped before they are touched; huge pages if they save time.
 *
 * The pages are requested first, because the kernel kills a process that touches a page of a file without
 * memory (SIGBUS).
 */
#ifndef GPUSORT_MEMORY_PAGES_H
#define GPUSORT_MEMORY_PAGES_H

#include "memory/memfds.h"

/* The smallest page of memory on every supported processor; a system with larger pages takes more. */
#define SMALL_PAGE_SIZE ((Size) 4096)

#define HUGE_PAGE_SIZE ((Size) 2 * 1024 * 1024)

/*
 * Lets the kernel provide memory of this process that was just allocated, if it is large.  Checks for
 * interrupts.
 */
extern void pages_provide_private(char *memory, Size size);

/*
 * Lets the kernel make the missing pages of mapped files, as zeros, and map all pages.  Existing pages keep
 * their content. alone: no other process is likely to do that in the same file now; then some pages behind
 * may be made too.  False: there is no memory, and touching the pages might kill the process.  Checks for
 * interrupts.
 */
extern bool pages_provide_shared(const Memfds *files, char *memory, Size size, bool alone);

#endif /* GPUSORT_MEMORY_PAGES_H */
