/*
 * base/huge_pages.c
 *		Memory on huge pages, where that pays.
 *
 * Sorting touches memory in no order, and with 4 kB pages most touches miss the TLB.  Where transparent huge
 * pages are set to "madvise", the usual default, memory must ask for them.
 *
 * But in a virtual machine that returns free memory to its host, free huge pages are just what was returned:
 * the host has to find memory for each again when it is first touched, 5 ms and more instead of 0.2 for 2 MB,
 * which costs more than huge pages gain; small pages are taken from what is at hand.  (Sorting 20 million
 * rows: 2.4 s on huge pages that are at hand, 2.9 s on small ones, 5 to 8 s on huge ones that were returned;
 * Firecracker, Linux 6.18.)  So the pages are touched one by one as they are allocated, and the first slow
 * one ends the asking for them, for a while.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "miscadmin.h"

#include "base/huge_pages.h"
#include "base/stopwatch.h"

#define HUGE_PAGE_SIZE ((uintptr_t) 2 * 1024 * 1024)
#define SMALL_PAGE_SIZE ((uintptr_t) 4 * 1024)
#define POPULATE_STEP ((Size) 8 * 1024 * 1024)	/* bytes between checks for interrupts */
#define HUGE_PAGES_MIN ((Size) 4 * 1024 * 1024) /* less memory stays on small pages */

/* A first touch of a huge page that takes longer is slow. */
#define SLOW_TOUCH_MS 1.0

/* Huge pages that were slow are tried again after so long. */
#define SLOW_FOR_MS 30000.0

#ifdef MADV_HUGEPAGE

static Stopwatch slow_since;
static bool slow = false;

static bool
huge_pages_pay(void)
{
	if (slow && stopwatch_ms(slow_since) > SLOW_FOR_MS)
		slow = false;
	return !slow;
}

/* Touches the pages of a range, until one is slow; the rest will be small pages. */
static void
touch_huge_pages(char *from, char *to)
{
	for (char *page = from; page < to; page += HUGE_PAGE_SIZE)
	{
		Stopwatch watch = stopwatch_start();

		CHECK_FOR_INTERRUPTS();
		*(volatile char *) page = 0;
		if (stopwatch_ms(watch) > SLOW_TOUCH_MS)
		{
			slow = true;
			slow_since = stopwatch_start();
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
