/*
 * device/shared_files.c
 *		Memory at the same address in several processes, in files without names.
 *
 * The files are memfds, mapped one behind the other at a random address of a range that neither programs nor
 * the kernel use otherwise; the others open them by the first process's /proc entries.  As PostgreSQL's
 * processes are children of one postmaster, what is free in one is nearly always free in the others; where it
 * isn't, or where there is no /proc, shared_files_attach says so.
 *
 * Each file has room for all that is wanted, of which only what is used becomes memory.
 *
 * File descriptors and mappings belong to the memory context that was current, by way of a reset callback: so
 * errors, cancels and aborts release them.  The memory itself lasts until the last process has let go of it.
 * That is mostly the first one, and a gigabyte takes a kernel 0.1 s to unmap and 0.2 to 0.4 s to free: so
 * several threads do that there, a file each, which do nothing else and end before the callback does.
 *
 * Files that are kept stay mapped, so that the first process finds their pages where they were.  Another sort
 * that wants as many files of the same size has them as they are; otherwise their sizes or their number are
 * changed, and they are mapped anew, which takes the pages no less along.
 */
#include "postgres.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/parallel.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/fd.h"

#include "base/kept_memory.h"
#include "device/shared_files.h"
#include "device/shared_pages.h"

/* Addresses to try: multiples of ADDRESS_STEP from ADDRESS_FIRST on. */
#define ADDRESS_FIRST UINT64CONST(0x100000000000)
#define ADDRESS_STEP UINT64CONST(0x40000000)
#define ADDRESS_STEPS UINT64CONST(0xC000)
#define ADDRESS_TRIES 16

/* The size is a multiple of huge pages. */
#define SHARE_PAGE_SIZE ((Size) 2 * 1024 * 1024)

/*
 * So much of what there is of a file, and of a process's share of a file, is made ahead at most; nothing at
 * the file's beginning.
 */
#ifndef SHARE_BEGINNING
#define SHARE_BEGINNING SHARE_PAGE_SIZE
#define SHARE_AHEAD_OF_USED 4
#define SHARE_AHEAD_OF_FILES 16
#endif

/* Bytes that are populated between checks for interrupts. */
#define POPULATE_STEP ((Size) 8 * 1024 * 1024)
#define SMALL_PAGE_SIZE ((uintptr_t) 4096)

/* Files that have less memory are closed, or cut, by one thread. */
#define ENDED_TOGETHER_MIN ((Size) 16 * 1024 * 1024)
#define ENDING_STACK_SIZE ((Size) 256 * 1024)
#define STAT_BLOCK_SIZE 512

/* Newer than many a system's headers; a kernel that doesn't know it says so. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* What a process has open, until its memory context is reset. */
typedef struct SharedFiles
{
	MemoryContextCallback callback;
	struct SharedFiles *next; /* in this process */
	bool created;			  /* by this process? */
	int nfiles;
	int fds[SHARED_FILES_MAX];
	char *address; /* NULL: not mapped */
	Size size;	   /* of each file */
} SharedFiles;

static SharedFiles *all_files = NULL;

/* Files that are kept for the next sort; nfiles 0: none. */
static struct
{
	int nfiles;
	int fds[SHARED_FILES_MAX];
	char *address;
	Size size;
	KeptPiece pieces[SHARED_FILES_MAX]; /* what each file has */
	int npieces;						/* that kept_memory has */
} kept;

/* ---------------------------------------------------------------- closing */

/* What becomes of a file. */
typedef struct FileEnd
{
	int fd;
	char *address; /* NULL: it is not mapped */
	Size size;
	Size held; /* of that stays memory, what else there is is freed; 0: it is unmapped and closed */
	bool failed;
} FileEnd;

/* Pages are unmapped before addresses are: other threads can do that at the same time. */
static void
close_file(const FileEnd *end)
{
	if (end->address != NULL)
	{
		(void) madvise(end->address, end->size, MADV_DONTNEED);
		munmap(end->address, end->size);
	}
	close(end->fd);
}

static void *
end_file(void *arg)
{
	FileEnd *end = arg;

	if (end->held == 0)
		close_file(end);
	else
		end->failed = ftruncate(end->fd, end->held) != 0 || ftruncate(end->fd, end->size) != 0;
	return NULL;
}

/*
 * Starts a thread that ends a file; false: this one has done so.  No signal handler of PostgreSQL's may run
 * in that thread.
 */
static bool
start_ending(FileEnd *end, pthread_t *thread)
{
	pthread_attr_t attributes;
	sigset_t all_signals;
	sigset_t old_signals;
	bool started;

	if (pthread_attr_init(&attributes) != 0)
	{
		end_file(end);
		return false;
	}
	(void) pthread_attr_setstacksize(&attributes, ENDING_STACK_SIZE);
	sigfillset(&all_signals);
	pthread_sigmask(SIG_SETMASK, &all_signals, &old_signals);
	started = pthread_create(thread, &attributes, end_file, end) == 0;
	pthread_sigmask(SIG_SETMASK, &old_signals, NULL);
	pthread_attr_destroy(&attributes);
	if (!started)
		end_file(end);
	return started;
}

/* Bytes of memory that the files have. */
static Size
memory_of(const SharedFiles *files)
{
	Size memory = 0;
	struct stat status;

	for (int i = 0; i < files->nfiles; i++)
	{
		if (fstat(files->fds[i], &status) == 0)
			memory += (Size) status.st_blocks * STAT_BLOCK_SIZE;
	}
	return memory;
}

/* Ends all files, by a thread each where there is much memory and this process the last to let go of it. */
static void
end_files(const SharedFiles *files, FileEnd *ends)
{
	pthread_t threads[SHARED_FILES_MAX];
	int nthreads = 0;
	bool together = files->created && memory_of(files) >= ENDED_TOGETHER_MIN;

	for (int i = 1; i < files->nfiles; i++)
	{
		if (together)
			nthreads += start_ending(&ends[i], &threads[nthreads]) ? 1 : 0;
		else
			end_file(&ends[i]);
	}
	if (files->nfiles > 0)
		end_file(&ends[0]);
	for (int i = 0; i < nthreads; i++)
		pthread_join(threads[i], NULL);
}

static char *
address_of(const SharedFiles *files, int file)
{
	return files->address != NULL ? files->address + file * files->size : NULL;
}

/* They are unmapped, too. */
static void
close_files(SharedFiles *files)
{
	FileEnd ends[SHARED_FILES_MAX];

	for (int i = 0; i < files->nfiles; i++)
		ends[i] = (FileEnd){files->fds[i], address_of(files, i), files->size, 0, false};
	end_files(files, ends);
	files->address = NULL;
	for (; files->nfiles > 0; files->nfiles--)
		ReleaseExternalFD();
}

static void
unmap(SharedFiles *files)
{
	if (files->address != NULL)
		munmap(files->address, files->nfiles * files->size);
	files->address = NULL;
}

static void
forget_files(const SharedFiles *files)
{
	for (SharedFiles **link = &all_files; *link != NULL; link = &(*link)->next)
	{
		if (*link == files)
		{
			*link = files->next;
			return;
		}
	}
}

/*
 * What a worker had mapped, until it ends or maps something else.  It takes a while to unmap, and the leader
 * waits for a worker's last message, but not for its end.
 */
static char *left_mapped = NULL;
static Size left_size;

static void
unmap_what_was_left(void)
{
	if (left_mapped != NULL)
		munmap(left_mapped, left_size);
	left_mapped = NULL;
}

static void
release_files(void *arg)
{
	SharedFiles *files = arg;

	forget_files(files);
	/* the condition variable that this process waits on may be in there */
	ConditionVariableCancelSleep();
	if (!files->created && IsParallelWorker())
	{
		unmap_what_was_left();
		left_mapped = files->address;
		left_size = files->nfiles * files->size;
		files->address = NULL;
	}
	close_files(files);
}

/* ---------------------------------------------------------------- mapping */

/* Nothing open yet; whatever is put into it is released with CurrentMemoryContext. */
static SharedFiles *
files_create(Size size)
{
	SharedFiles *files = palloc0(sizeof(SharedFiles));

	files->size = size;
	files->callback.func = release_files;
	files->callback.arg = files;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &files->callback);
	files->next = all_files;
	all_files = files;
	return files;
}

#ifdef MAP_FIXED_NOREPLACE

/* Maps a file at this address, unless something else is there. */
static bool
map_file_at(int fd, void *wanted, Size size)
{
	void *p =
		mmap(wanted, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);

	if (p == wanted)
		return true;
	/* a kernel that takes the address for a hint */
	if (p != MAP_FAILED)
		munmap(p, size);
	return false;
}

/*
 * Huge pages where there may be; and that which pages were touched tells nothing of the future: else a kernel
 * (from 6.3 on it listens) spends a tenth of a sort's processor time on lists of those, as it unmaps them.
 */
static void
advise(char *start, Size size)
{
#ifdef MADV_HUGEPAGE
	(void) madvise(start, size, MADV_HUGEPAGE);
#endif
	(void) madvise(start, size, MADV_RANDOM);
}

/* Maps the files from this address on; none, if something else is there. */
static bool
map_at(SharedFiles *files, uint64 address)
{
	char *start = (char *) (uintptr_t) address;

	for (int i = 0; i < files->nfiles; i++)
	{
		if (map_file_at(files->fds[i], start + i * files->size, files->size))
			continue;
		if (i > 0)
			munmap(start, i * files->size);
		return false;
	}
	files->address = start;
	advise(start, files->nfiles * files->size);
	return true;
}

#else

static bool
map_at(SharedFiles *files, uint64 address)
{
	return false;
}

#endif

static bool
map_somewhere(SharedFiles *files)
{
	for (int i = 0; i < ADDRESS_TRIES; i++)
	{
		uint64 step = pg_prng_uint64_range(&pg_global_prng_state, 0, ADDRESS_STEPS - 1);

		if (map_at(files, ADDRESS_FIRST + step * ADDRESS_STEP))
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------- files */

/* Adds a file without a name. */
static bool
add_new_file(SharedFiles *files)
{
#ifdef MFD_CLOEXEC
	int fd;

	if (!AcquireExternalFD())
		return false;
	fd = memfd_create("gpusort", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("gpusort", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, files->size) == 0)
	{
		files->fds[files->nfiles++] = fd;
		return true;
	}
	if (fd >= 0)
		close(fd);
	ReleaseExternalFD();
	return false;
#else
	return false;
#endif
}

/* Adds a file for each process, or as many as this one may have open; false: none. */
static bool
add_new_files(SharedFiles *files, int processes)
{
	int wanted = Min(Max(processes, 1), SHARED_FILES_MAX);

	while (files->nfiles < wanted && add_new_file(files))
		;
	return files->nfiles > 0;
}

/* ---------------------------------------------------------------- keeping */

/* Nothing of a file that is kept is left; without any of them there is no use in the others' addresses. */
static void
give_back_file(KeptPiece *piece)
{
	SharedFiles files = {.created = true, .nfiles = kept.nfiles, .address = kept.address, .size = kept.size};

	if (--kept.npieces > 0)
		return;
	memcpy(files.fds, kept.fds, sizeof(files.fds));
	kept.nfiles = 0;
	close_files(&files);
}

/* Takes the files out of what is kept, with what they hold; false: there are none. */
static bool
take_kept_files(SharedFiles *files, Size *held)
{
	if (kept.nfiles == 0)
		return false;
	for (KeptPiece *piece = kept_memory_first(); piece != NULL;)
	{
		KeptPiece *next = piece->next;

		if (piece->give_back == give_back_file)
		{
			kept_memory_take(piece);
			held[piece - kept.pieces] = piece->held;
		}
		piece = next;
	}
	files->nfiles = kept.nfiles;
	memcpy(files->fds, kept.fds, sizeof(files->fds));
	files->address = kept.address;
	files->size = kept.size;
	kept.nfiles = 0;
	return true;
}

/*
 * Has files that were kept be so many, of this size, at any address; false: that can't be, and there may be
 * fewer files.
 */
static bool
change_files(SharedFiles *files, Size size, int nfiles, Size *held)
{
	if (files->size == size && files->nfiles == nfiles)
		return true;
	unmap(files);
	for (; files->nfiles > nfiles; files->nfiles--)
	{
		close(files->fds[files->nfiles - 1]);
		ReleaseExternalFD();
		held[files->nfiles - 1] = 0;
	}
	files->size = size;
	for (int i = 0; i < files->nfiles; i++)
	{
		if (ftruncate(files->fds[i], size) != 0)
			return false;
		held[i] = Min(held[i], size);
	}
	while (files->nfiles < nfiles)
	{
		if (!add_new_file(files))
			return false;
	}
	return map_somewhere(files);
}

/* Has files that were kept, if there are any that will do. */
static bool
reuse_files(SharedFiles *files, int processes, Size *held)
{
	Size size = files->size;

	memset(held, 0, SHARED_FILES_MAX * sizeof(Size));
	if (!take_kept_files(files, held))
		return false;
	if (change_files(files, size, Min(processes, SHARED_FILES_MAX), held))
		return true;
	close_files(files);
	files->size = size;
	memset(held, 0, SHARED_FILES_MAX * sizeof(Size));
	return false;
}

/*
 * Takes files that were kept, or makes some.  What else is kept goes: what this sort takes is not counted
 * against it.  A single file is small, and nothing is kept of it.
 */
static bool
make_files(SharedFiles *files, int processes, Size *held)
{
	bool reused = false;

	if (processes > 1)
	{
		reused = reuse_files(files, processes, held);
		kept_memory_release(0);
	}
	return reused || (add_new_files(files, processes) && map_somewhere(files));
}

static SharedFiles *
files_at(const char *address)
{
	SharedFiles *files = all_files;

	while (files->address != address)
		files = files->next;
	return files;
}

/* Leaves each file no more memory than what was used, and all together no more than may be kept. */
static void
cut_files(const SharedFiles *files, const Size *used, Size *held)
{
	FileEnd ends[SHARED_FILES_MAX];
	Size limit = kept_memory_limit();
	Size memory = 0;
	double share;

	for (int i = 0; i < files->nfiles; i++)
		memory += used[i];
	share = memory > limit ? (double) limit / memory : 1.0;
	for (int i = 0; i < files->nfiles; i++)
	{
		Size most = TYPEALIGN_DOWN(SMALL_PAGE_SIZE, (Size) (used[i] * share));

		/* a page at least, as a file with none is closed */
		ends[i] =
			(FileEnd){files->fds[i], address_of(files, i), files->size, Max(most, SMALL_PAGE_SIZE), false};
	}
	end_files(files, ends);
	for (int i = 0; i < files->nfiles; i++)
		held[i] = ends[i].failed ? 0 : ends[i].held;
}

/* Moves files to those that are kept. */
static void
keep(SharedFiles *files, const Size *held)
{
	kept.nfiles = files->nfiles;
	memcpy(kept.fds, files->fds, sizeof(kept.fds));
	kept.address = files->address;
	kept.size = files->size;
	kept.npieces = 1; /* until all are there */
	files->address = NULL;
	files->nfiles = 0;
	for (int i = 0; i < kept.nfiles; i++)
	{
		KeptPiece piece = {kept.address + i * kept.size, held[i], true, give_back_file, NULL};

		kept.pieces[i] = piece;
		if (kept_memory_put(&kept.pieces[i]))
			kept.npieces++;
		else
			kept_memory_cut(&kept.pieces[i], 0);
	}
	give_back_file(NULL);
}

void
shared_files_keep(void *address, const Size *used)
{
	SharedFiles *files = files_at(address);
	Size held[SHARED_FILES_MAX];

	ConditionVariableCancelSleep();
	kept_memory_release(0);
	if (kept_memory_limit() == 0)
		return; /* the memory context frees them */
	cut_files(files, used, held);
	keep(files, held);
}

/* ---------------------------------------------------------------- in the first process, and in others */

void *
shared_files_create(Size size, int processes, Size populated, SortShareHandle *handle, Size *held)
{
	SharedFiles *files = files_create(TYPEALIGN(SHARE_PAGE_SIZE, size));

	files->created = true;
	memset(held, 0, SHARED_FILES_MAX * sizeof(Size));
	if (!make_files(files, processes, held) || !shared_files_populate(files->address, populated, true))
	{
		release_files(files);
		return NULL;
	}
	memset(handle, 0, sizeof(*handle));
	handle->pid = MyProcPid;
	handle->nfiles = files->nfiles;
	memcpy(handle->fds, files->fds, sizeof(files->fds));
	handle->address = (uint64) (uintptr_t) files->address;
	handle->size = files->size;
	return files->address;
}

/* Adds a file of the first process's. */
static bool
add_file_of(SharedFiles *files, const SortShareHandle *handle, int file)
{
	char path[64];
	struct stat status;
	int fd;

	if (!AcquireExternalFD())
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle->pid, handle->fds[file]);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
	{
		ReleaseExternalFD();
		return false;
	}
	files->fds[files->nfiles++] = fd;
	return fstat(fd, &status) == 0 && (uint64) status.st_size == handle->size;
}

void *
shared_files_attach(const SortShareHandle *handle)
{
	SharedFiles *files = files_create(handle->size);

	unmap_what_was_left();
	for (int i = 0; i < handle->nfiles; i++)
	{
		if (!add_file_of(files, handle, i))
		{
			release_files(files);
			return NULL;
		}
	}
	if (!map_at(files, handle->address))
	{
		release_files(files);
		return NULL;
	}
	return files->address;
}

/* ---------------------------------------------------------------- pages */

/*
 * How many bytes behind pages that one process is alone with may be made as well: a huge page, or a small
 * part of what there is of the file, but not much of all that there may be.  None at the beginning, as many
 * sorts are small.
 */
static Size
bytes_ahead(const SharedFiles *files, Size offset, Size size)
{
	Size wanted = Max(offset / SHARE_AHEAD_OF_USED, SHARE_PAGE_SIZE);

	if (offset + SMALL_PAGE_SIZE <= SHARE_BEGINNING)
		return 0;
	return Min(Min(wanted, files->size / files->nfiles / SHARE_AHEAD_OF_FILES), files->size - offset - size);
}

/* Finds the pages' file, and where in it they are; false: they are not of a file of this process's. */
static bool
find_file(FilePages *pages, bool alone)
{
	for (const SharedFiles *files = all_files; files != NULL; files = files->next)
	{
		Size offset = pages->address - files->address;

		if (files->address == NULL || pages->address < files->address ||
			offset >= files->nfiles * files->size)
			continue;
		pages->fd = files->fds[offset / files->size];
		pages->offset = offset % files->size;
		pages->ahead = alone ? bytes_ahead(files, pages->offset, pages->size) : 0;
		return true;
	}
	return false;
}

/* Has pages be there, whole ones, a step at a time. */
static bool
provide(char *from, const char *to, bool alone)
{
	char *end;

	for (char *step = from; step < to; step = end)
	{
		FilePages pages = {.address = step};

		end = Min((char *) TYPEALIGN(POPULATE_STEP, step + 1), (char *) to);
		pages.size = end - step;
		CHECK_FOR_INTERRUPTS();
		if (!find_file(&pages, alone))
			return false;
		while (!shared_pages_provide(&pages, alone))
		{
			if (errno != EINTR && errno != EAGAIN)
				return false;
			CHECK_FOR_INTERRUPTS();
		}
	}
	return true;
}

bool
shared_files_populate(void *memory, Size size, bool alone)
{
	char *end = (char *) memory + size;
	char *from = (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, memory);
	char *to = (char *) TYPEALIGN(SMALL_PAGE_SIZE, end);
	char *own_from = (char *) TYPEALIGN(SMALL_PAGE_SIZE, memory);
	char *own_to = (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, end);

	/* the pages at the ends may hold something of others */
	if (!alone || own_from >= own_to)
		return provide(from, to, false);
	return provide(from, own_from, false) && provide(own_from, own_to, true) && provide(own_to, to, false);
}

void
shared_files_discard(void *memory, Size size)
{
#ifdef MADV_REMOVE
	char *from = (char *) TYPEALIGN(SMALL_PAGE_SIZE, memory);
	char *to = (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, (char *) memory + size);

	if (from < to)
		(void) madvise(from, to - from, MADV_REMOVE);
#endif
}
