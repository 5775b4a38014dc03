/*
 * memory/pages.c
 *		Pages of memory, made and mapped before they are touched; huge ones where those pay.
 *
 * Sorting touches memory in no order, and with 4 kB pages most touches miss the TLB.  Who may have huge pages
 * the machine's settings say, for memory of one process and for memory of files apart:
 *
 *		enabled			memory of one process: it asks for huge pages, which do with `madvise`, the usual default
 *		shmem_enabled	memory of files: its mapping asks for them (files.c), which does with `advise`
 *
 * shmem_enabled is `never` unless somebody has set it.  But a kernel collapses small pages into a huge one
 * for who asks for just that (madvise, MADV_COLLAPSE, from Linux 6.1 on), whatever shmem_enabled says but
 * `deny`.  What is not there it takes for zeros, so one small page is made, and the rest is cleared at once.
 * Whoever sets transparent huge pages to `never` altogether wants none, and gets none.
 *
 * Huge pages are not always to be had cheaply (huge_page_costs.h).  So those of one process are touched one
 * by one, those of files are collapsed some at a time, and once they don't pay the rest is left to small
 * ones.
 *
 * madvise (MADV_POPULATE_WRITE) makes small pages and maps them.  Where the setting gives a file huge pages,
 * it makes those, for a mapping that asks for them.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "miscadmin.h"

#include "base/stopwatch.h"
#include "memory/huge_page_costs.h"
#include "memory/pages.h"

/* Less memory of one process stays as it is. */
#define PROVIDED_MIN ((Size) 4 * 1024 * 1024)

/*
 * So much of what there is of a file, and of a process's share of a file, is made ahead at most; nothing at
 * the file's beginning.
 */
#ifndef SHARE_BEGINNING
#define SHARE_BEGINNING HUGE_PAGE_SIZE
#define SHARE_AHEAD_OF_USED 4
#define SHARE_AHEAD_OF_FILES 16
#endif

/* So many huge pages are collapsed at once. */
#define COLLAPSED_MAX 4

/* Newer than many a system's headers; a kernel that doesn't know them says so. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* ---------------------------------------------------------------- what the machine gives */

/*
 * Has this file of /sys/kernel/mm/transparent_hugepage the value?  One of several values is the setting if it
 * is in brackets.  False also if there is no such file.
 */
static bool
setting_has(const char *name, const char *value)
{
	char path[MAXPGPATH];
	char setting[128];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, setting, sizeof(setting) - 1);
	close(fd);
	setting[Max(length, 0)] = '\0';
	return strstr(setting, value) != NULL;
}

/* Does mincore say that a page is not there which nobody has made?  It need not tell everybody. */
static bool
mincore_tells(void)
{
	unsigned char present = 1;
	void *page = mmap(NULL, SMALL_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return false;
	if (mincore(page, SMALL_PAGE_SIZE, &present) != 0)
		present = 1;
	munmap(page, SMALL_PAGE_SIZE);
	return (present & 1) == 0;
}

/* Does the kernel collapse pages of files, and may there be huge ones of the size known here? */
static bool
can_collapse(void)
{
	static int known = -1;

	if (known < 0)
		known = mincore_tells() && madvise(NULL, 0, MADV_COLLAPSE) == 0 &&
				!setting_has("enabled", "[never]") && setting_has("shmem_enabled", "[never]") &&
				setting_has("hpage_pmd_size", "2097152\n");
	return known;
}

/* ---------------------------------------------------------------- huge pages */

/* Touches the pages of a range of one process's, as long as that pays; the rest will be small pages. */
static void
touch_huge_pages(char *from, const char *to)
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

/*
 * Makes huge pages of zeros in files from this address on, as many as there is room for at most, unless the
 * first one's first small page is there; what is in the others stays.  Returns their bytes; 0: that is not
 * possible, does not pay or failed, and they are left to small pages, of which some may be there now.
 */
static Size
make_huge_pages(char *address, Size room)
{
	static bool tried = false;
	/* the first one tells what others take */
	int npages = Min(room / HUGE_PAGE_SIZE, tried ? COLLAPSED_MAX : 1);
	Stopwatch watch;
	bool made;

	if (npages == 0 || (uintptr_t) address % HUGE_PAGE_SIZE != 0 || !can_collapse())
		return 0;
	if (!huge_pages_pay() || is_there(address))
		return 0;
	watch = stopwatch_start();
	if (!make_first_pages(address, npages))
		return 0;
	made = madvise(address, npages * HUGE_PAGE_SIZE, MADV_COLLAPSE) == 0;
	tried = true;
	huge_pages_note(made ? npages : 0, stopwatch_ms(watch));
	return made ? npages * HUGE_PAGE_SIZE : 0;
}

/* ---------------------------------------------------------------- small pages of files */

/* The file that has the memory at this address, and where in it that is. */
static int
file_of(const Memfds *files, const char *address, Size *offset)
{
	*offset = (address - files->address) % files->size;
	return files->fds[(address - files->address) / files->size];
}

/* Has the kernel make and map small pages, or whatever it makes for a mapping that asks for huge ones. */
static bool
make_small_pages(const Memfds *files, char *address, Size size)
{
	Size offset;
	int fd = file_of(files, address, &offset);

	if (madvise(address, size, MADV_POPULATE_WRITE) == 0)
		return true;
	/* a kernel that does not know it: at least there is memory */
	return errno == EINVAL && fallocate(fd, 0, offset, size) == 0;
}

/* ---------------------------------------------------------------- all pages of a range */

/*
 * How many bytes behind so many may be made as well: a huge page, or a small part of what there is of the
 * file, but not much of all that there may be.  None at the beginning, as many sorts are small.
 */
static Size
bytes_ahead(const Memfds *files, const char *address, Size size)
{
	Size most = files->size / files->nfiles / SHARE_AHEAD_OF_FILES;
	Size offset;

	(void) file_of(files, address, &offset);
	if (offset + SMALL_PAGE_SIZE <= SHARE_BEGINNING)
		return 0;
	return Min(Min(Max(offset / SHARE_AHEAD_OF_USED, HUGE_PAGE_SIZE), most), files->size - offset - size);
}

/*
 * Makes and maps pages up to the end of a huge page, or several huge ones.  files: NULL for memory of this
 * process alone, which has its huge pages already.  Returns the bytes; 0: there is no memory, or a signal
 * came, as errno says.
 */
static Size
provide_first(const Memfds *files, char *address, Size size, bool alone)
{
	Size small = Min(size, HUGE_PAGE_SIZE - (uintptr_t) address % HUGE_PAGE_SIZE);
	Size huge;

	if (files == NULL)
		return madvise(address, small, MADV_POPULATE_WRITE) == 0 ? small : 0;
	huge = make_huge_pages(address, size + (alone ? bytes_ahead(files, address, size) : 0));
	if (huge > 0)
		return Min(huge, size);
	return make_small_pages(files, address, small) ? small : 0;
}

/* Has pages be there, whole ones. */
static bool
provide(const Memfds *files, char *from, const char *to, bool alone)
{
	while (from < to)
	{
		Size made;

		CHECK_FOR_INTERRUPTS();
		made = provide_first(files, from, to - from, alone);
		if (made == 0 && errno != EINTR && errno != EAGAIN)
			return false;
		from += made;
	}
	return true;
}

void
pages_provide_private(char *memory, Size size)
{
	char *end = memory + size;
	char *from = (char *) TYPEALIGN(HUGE_PAGE_SIZE, memory);
	char *to = (char *) TYPEALIGN_DOWN(HUGE_PAGE_SIZE, end);

	if (size < PROVIDED_MIN)
		return;
	/* It is advice: where the kernel takes none, the memory is as good but slower. */
	if (from < to && huge_pages_pay() && madvise(from, to - from, MADV_HUGEPAGE) == 0)
		touch_huge_pages(from, to);
	(void) provide(NULL, (char *) TYPEALIGN(SMALL_PAGE_SIZE, memory),
				   (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, end), true);
}

bool
pages_provide_shared(const Memfds *files, char *memory, Size size, bool alone)
{
	char *from = (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, memory);
	char *to = (char *) TYPEALIGN(SMALL_PAGE_SIZE, memory + size);

	return provide(files, from, to, alone);
}
