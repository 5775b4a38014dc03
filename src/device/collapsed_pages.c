/*
 * device/collapsed_pages.c
 *		Huge pages for memory of a file where the machine's setting gives small ones.
 *
 * shmem_enabled is `never` unless somebody has set it, and then the kernel makes small pages for memory that
 * processes share.  But it collapses those that are there into a huge one for who asks for just that
 * (madvise, MADV_COLLAPSE, from Linux 6.1 on), whatever shmem_enabled says but `deny`.  What is not there it
 * takes for zeros, so one small page is made, and the rest is cleared at once.
 *
 * Whoever sets transparent huge pages to `never` altogether wants none, and gets none.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "base/huge_page_settings.h"
#include "base/limits.h"
#include "base/stopwatch.h"
#include "device/collapsed_pages.h"

/* Newer than many a system's headers; a kernel that doesn't know it says so. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#ifdef MADV_POPULATE_WRITE

/* Does the kernel collapse pages, and may there be huge ones of the size known here, but not for files? */
static bool
find_out(void)
{
	return madvise(NULL, 0, MADV_COLLAPSE) == 0 && !huge_page_setting_has("enabled", "[never]") &&
		   huge_page_setting_has("shmem_enabled", "[never]") &&
		   huge_page_setting_has("hpage_pmd_size", "2097152\n");
}

static bool
is_there(char *page)
{
	unsigned char present;

	return mincore(page, SMALL_PAGE_SIZE, &present) != 0 || (present & 1) != 0;
}

/* One small page of each. */
static bool
make_first_pages(char *address, int npages)
{
	for (int i = 0; i < npages; i++)
	{
		if (madvise(address + i * HUGE_PAGE_SIZE, SMALL_PAGE_SIZE, MADV_POPULATE_WRITE) != 0)
			return false;
	}
	return true;
}

int
collapsed_pages_make(char *address, int at_most)
{
	static int possible = -1;
	static bool tried = false;
	int npages = tried ? at_most : 1; /* the first one tells what the others take */
	Stopwatch watch;
	bool made;

	if (possible < 0)
		possible = find_out();
	if (!possible || !huge_pages_pay() || is_there(address))
		return 0;
	watch = stopwatch_start();
	if (!make_first_pages(address, npages))
		return 0;
	made = madvise(address, npages * HUGE_PAGE_SIZE, MADV_COLLAPSE) == 0;
	tried = true;
	huge_pages_note(made ? npages : 0, stopwatch_ms(watch));
	return made ? npages : 0;
}

#else

int
collapsed_pages_make(char *address, int at_most)
{
	return 0;
}

#endif
