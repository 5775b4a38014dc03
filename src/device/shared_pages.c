/*
 * device/shared_pages.c
 *		Pages of memory that is a file's, made and mapped before they are touched.
 *
 * madvise (MADV_POPULATE_WRITE) does both, a page at a time.  Where pages are small, which they are unless
 * somebody has set that up, it is quicker to write zeros to the file first: then the kernel maps sixteen
 * pages at once, as it does with pages of a file that there are already and that are read.  A shared mapping
 * that may be written to needs no second look when it is.  256 MB, one process with a file of its own, in
 * milliseconds (two cores, Linux 6.18, by hand): madvise alone 150, after fallocate 125, zeros 88.  Pages
 * that fallocate makes are cleared when they are mapped, so they are mapped one by one.
 *
 * To write to a file takes its lock, so processes that do so in one file wait for each other: they are left
 * to madvise.  So are huge pages where that setting gives them: the kernel makes them for a mapping that asks
 * for them, and not for who writes.
 *
 * Where pages would be small, huge ones are made nevertheless if that is possible and pays
 * (collapsed_pages.h): 200 MB take 13 ms there, and 27 to 38 on a machine half as fast, with memory at hand.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/huge_page_settings.h"
#include "base/limits.h"
#include "device/collapsed_pages.h"
#include "device/shared_pages.h"

/*
 * So much of what there is of a file, and of a process's share of a file, is made ahead at most; nothing at
 * the file's beginning.
 */
#ifndef SHARE_BEGINNING
#define SHARE_BEGINNING HUGE_PAGE_SIZE
#define SHARE_AHEAD_OF_USED 4
#define SHARE_AHEAD_OF_FILES 16
#endif

/* So many pages are looked at, or written, at once. */
#define PAGES_AT_ONCE 256

/* Bytes that a kernel maps at once, unless somebody has set that up otherwise. */
#define MAPPED_AT_ONCE ((Size) 64 * 1024)

#ifdef MADV_POPULATE_WRITE

/* Does the machine give memory of files no huge pages, or doesn't it know them? */
static bool
setting_is_small(void)
{
	return huge_page_setting_has("shmem_enabled", "[never]") ||
		   huge_page_setting_has("shmem_enabled", "[deny]") || !huge_page_setting_has("shmem_enabled", "");
}

/* Does mincore say that a page is not there which nobody has made?  It need not tell everybody. */
static bool
mincore_tells(void)
{
	unsigned char present = 1;
	int fd = memfd_create("gpusort page", MFD_CLOEXEC);
	void *page;

	if (fd < 0)
		return false;
	page = ftruncate(fd, SMALL_PAGE_SIZE) == 0
			   ? mmap(NULL, SMALL_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			   : MAP_FAILED;
	close(fd);
	if (page == MAP_FAILED)
		return false;
	if (mincore(page, SMALL_PAGE_SIZE, &present) != 0)
		present = 1;
	munmap(page, SMALL_PAGE_SIZE);
	return (present & 1) == 0;
}

/* Are pages made by writing to files, one by one, and can it be told which there are? */
static bool
pages_are_small(void)
{
	static int known = -1;

	if (known < 0)
		known = setting_is_small() && mincore_tells();
	return known;
}

/* What a part of a file has. */
typedef enum Contents
{
	NO_PAGES,
	SOME_PAGES,
	ALL_PAGES
} Contents;

static Contents
contents_of(const FilePages *pages)
{
	unsigned char present[PAGES_AT_ONCE];
	Size npages = pages->size / SMALL_PAGE_SIZE;
	Size npresent = 0;

	for (Size first = 0; first < npages; first += PAGES_AT_ONCE)
	{
		Size n = Min(npages - first, PAGES_AT_ONCE);

		if (mincore(pages->address + first * SMALL_PAGE_SIZE, n * SMALL_PAGE_SIZE, present) != 0)
			return SOME_PAGES;
		for (Size i = 0; i < n; i++)
			npresent += present[i] & 1;
	}
	if (npresent == 0)
		return NO_PAGES;
	return npresent == npages ? ALL_PAGES : SOME_PAGES;
}

/* Makes pages where there are none. */
static bool
write_zeros(const FilePages *pages)
{
	static char zeros[SMALL_PAGE_SIZE];
	struct iovec parts[PAGES_AT_ONCE];
	Size done = 0;

	for (int i = 0; i < PAGES_AT_ONCE; i++)
		parts[i] = (struct iovec){zeros, sizeof(zeros)};
	while (done < pages->size)
	{
		Size count = Min((pages->size - done) / sizeof(zeros), PAGES_AT_ONCE);
		ssize_t written = pwritev(pages->fd, parts, count, pages->offset + done);

		if (written <= 0)
			return false;
		done += TYPEALIGN_DOWN(sizeof(zeros), (Size) written);
	}
	return true;
}

/* Maps pages that there are. */
static void
touch(const FilePages *pages)
{
	for (Size at = 0; at < pages->size; at += MAPPED_AT_ONCE)
		(void) *(volatile const char *) (pages->address + at);
}

/* False: that is not to be done here. */
static bool
make_and_map(const FilePages *pages, bool *made)
{
	Contents contents = contents_of(pages);

	if (contents == SOME_PAGES)
		return false;
	*made = contents == ALL_PAGES || write_zeros(pages);
	if (*made)
		touch(pages);
	return true;
}

#else

static bool
pages_are_small(void)
{
	return false;
}

static bool
make_and_map(const FilePages *pages, bool *made)
{
	return false;
}

#endif

/* Has the kernel make and map small pages, or whatever it makes for a mapping that asks for huge ones. */
static bool
provide_pages(const FilePages *pages, bool alone)
{
	bool made;

	if (alone && pages_are_small() && make_and_map(pages, &made))
		return made;
#ifdef MADV_POPULATE_WRITE
	if (madvise(pages->address, pages->size, MADV_POPULATE_WRITE) == 0)
		return true;
	if (errno != EINVAL)
		return false;
#endif
	/* a kernel that does not know it, or none that there was when this was built: at least there is memory */
	return fallocate(pages->fd, 0, pages->offset, pages->size) == 0;
}

/*
 * How many bytes behind the pages may be made as well: a huge page, or a small part of what there is of the
 * file, but not much of all that there may be.  None at the beginning, as many sorts are small.
 */
static Size
bytes_ahead(const FilePages *pages)
{
	Size wanted = Max(pages->offset / SHARE_AHEAD_OF_USED, HUGE_PAGE_SIZE);
	Size most = pages->file_size / pages->nfiles / SHARE_AHEAD_OF_FILES;

	if (pages->offset + SMALL_PAGE_SIZE <= SHARE_BEGINNING)
		return 0;
	return Min(Min(wanted, most), pages->file_size - pages->offset - pages->size);
}

/* How many huge pages may be made where these begin? */
static int
huge_pages_wanted(const FilePages *pages, bool alone)
{
	Size room = pages->size + (alone ? bytes_ahead(pages) : 0);

	return pages->offset % HUGE_PAGE_SIZE == 0 && pages_are_small()
			   ? Min(room / HUGE_PAGE_SIZE, COLLAPSED_PAGES_MAX)
			   : 0;
}

/* Makes and maps pages up to the end of a huge page, or several huge ones; false: there is no memory. */
static bool
provide_first(const FilePages *pages, bool alone, Size *made)
{
	FilePages first = *pages;
	int wanted = huge_pages_wanted(pages, alone);
	int npages = wanted > 0 ? collapsed_pages_make(pages->address, wanted) : 0;

	if (npages > 0)
		first.size = npages * HUGE_PAGE_SIZE;
	else
	{
		first.size = Min(pages->size, HUGE_PAGE_SIZE - pages->offset % HUGE_PAGE_SIZE);
		if (!provide_pages(&first, alone))
			return false;
	}
	*made = Min(first.size, pages->size);
	return true;
}

bool
shared_pages_provide(const FilePages *pages, bool alone)
{
	FilePages left = *pages;

	while (left.size > 0)
	{
		Size made;

		if (!provide_first(&left, alone, &made))
			return false;
		left.offset += made;
		left.address += made;
		left.size -= made;
	}
	return true;
}
