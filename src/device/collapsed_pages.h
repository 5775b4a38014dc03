/*
 * device/collapsed_pages.h
 *		Huge pages for memory of a file where the machine's setting gives small ones.
 *
 * shared_pages.c alone calls it, before it makes small pages.  Failure costs nothing but the attempt: small
 * pages do as well.
 */
#ifndef GPUSORT_DEVICE_COLLAPSED_PAGES_H
#define GPUSORT_DEVICE_COLLAPSED_PAGES_H

#include "postgres.h"

#include "base/huge_page_costs.h"

/* At most so many at once. */
#define COLLAPSED_PAGES_MAX 4

/*
 * Makes huge pages of zeros from this address on, a multiple of HUGE_PAGE_SIZE both here and in the file,
 * unless the first one's first small page is there; what is in the others stays.  Returns how many; 0: that
 * is not possible, does not pay or failed, and they are left to small pages, of which some may be there now.
 */
extern int collapsed_pages_make(char *address, int at_most);

#endif /* GPUSORT_DEVICE_COLLAPSED_PAGES_H */
