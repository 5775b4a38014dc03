/*
 * device/shared_pages.h
 *		Pages of memory that is a file's, made and mapped before they are touched.
 *
 * shared_files.c alone calls it, and calls it again if a signal came in between.  The kernel is asked first
 * because a process that touches a page for which there is no memory is killed (SIGBUS).
 */
#ifndef GPUSORT_DEVICE_SHARED_PAGES_H
#define GPUSORT_DEVICE_SHARED_PAGES_H

#include "postgres.h"

/*
 * Part of a file without a name, and where this process has it mapped: whole pages.  Address and offset are
 * the same modulo huge pages.
 */
typedef struct FilePages
{
	int fd;
	Size offset;
	char *address;
	Size size;
	Size file_size;
	int nfiles; /* that a sort has, of this size each */
} FilePages;

/*
 * Has the kernel make those of the pages that there are not yet, as zeros, and map all of them; what is in
 * the others stays.  alone: no other process does that in this file at this time; then some behind them may
 * be made as well.  False: there is no memory, or a signal came, as errno says.
 */
extern bool shared_pages_provide(const FilePages *pages, bool alone);

#endif /* GPUSORT_DEVICE_SHARED_PAGES_H */
