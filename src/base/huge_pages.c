/*
 * base/huge_pages.c
 *		Memory on huge pages, where that pays.
 *
 * Sorting touches memory in no order, and with 4 kB pages most touches miss the TLB.  Where transparent huge
 * pages are set to "madvise", the usual default, memory must ask for them.
 *
 * They are not always to be had cheaply (huge_page_costs.h).  So the pages are touched one by one as they are
 * allocated, and once they don't pay the rest is left to small ones.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "miscadmin.h"

#include "base/huge_page_costs.h"
#include "base/huge_pages.h"
#include "base/limits.h"
#include "base/stopwatch.h"

#define POPULATE_STEP ((Size) 8 * 1024 * 1024)	/* bytes between checks for interrupts */
#define HUGE_PAGES_MIN ((Size) 4 * 1024 * 1024) /* less memory stays on small pages */

#ifdef MADV_HUGEPAGE

/* Touches the pages of a range, as long as that pays; the rest will be small pages. */
static void
touch_huge_pages(char *from, char *to)
{
	for (char *page = from; page < to; page += HUGE_PAGE_SIZE)
	{
		Stopwatch watch = stopwatch_start();

		CHECK_FOR_INTERRUPTS();
		*(volatile char *) page = 0;
		huge_pages_note(1, stopwatch_ms(watch));
		if (!huge_pages_pay())
		{
			(void) madvise(page + HUGE_PAGE_SIZE, to - page - HUGE_PAGE_SIZE, MADV_NOHUGEPAGE);
			return;
		}
	}
}

#endif

/*
 * Has the kernel provide the pages of a range in one go: cheaper than one fault each, where the kernel can
 * (Linux 5.14).
 */
static void
populate(char *from, char *to)
{
#ifdef MADV_POPULATE_WRITE
	for (char *step = from; step < to; step += POPULATE_STEP)
	{
		CHECK_FOR_INTERRUPTS();
		if (madvise(step, Min((Size) (to - step), POPULATE_STEP), MADV_POPULATE_WRITE) != 0)
			return;
	}
#endif
}

void
huge_pages_provide(char *p, Size size)
{
	if (size < HUGE_PAGES_MIN)
		return;
#ifdef MADV_HUGEPAGE
	if (huge_pages_pay())
	{
		char *from = (char *) TYPEALIGN(HUGE_PAGE_SIZE, p);
		char *to = (char *) TYPEALIGN_DOWN(HUGE_PAGE_SIZE, p + size);

		/* It is advice: where the kernel takes none, the memory is as good but slower. */
		if (to > from && madvise(from, to - from, MADV_HUGEPAGE) == 0)
			touch_huge_pages(from, to);
	}
#endif
	populate((char *) TYPEALIGN(SMALL_PAGE_SIZE, p), (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, p + size));
}
