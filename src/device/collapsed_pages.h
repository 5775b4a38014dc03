/*
 * device/collapsed_pages.h
 *		Huge pages for memory of a file where the machine's setting gives small ones.
 */
#ifndef GPUSORT_DEVICE_COLLAPSED_PAGES_H
#define GPUSORT_DEVICE_COLLAPSED_PAGES_H

#include "postgres.h"

#include "base/huge_page_costs.h"

/* At most so many at once. */
#define COLLAPSED_PAGES_MAX 4

/*
 * Makes npages huge pages of zeros from this address on, a multiple of HUGE_PAGE_SIZE both here and in the
 * file, if none of its first huge page's small pages is there, and if that is possible and pays; what is in
 * the others stays.  False: the first one at least is left to small pages, some of which may be there now.
 */
extern bool collapsed_pages_make(char *address, int npages);

#endif /* GPUSORT_DEVICE_COLLAPSED_PAGES_H */
