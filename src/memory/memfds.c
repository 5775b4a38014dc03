/*
 * memory/memfds.c
 *		Files without names, mapped one behind the other.
 *
 * The files are memfds, mapped at a random address of a range that neither programs nor the kernel use
 * otherwise: then most processes have nothing else there.
 *
 * The first process frees the memory.  A gigabyte takes a kernel 0.1 s to unmap and 0.2 to 0.4 s to free: so
 * several threads do that there, a file each, which do nothing else and end before this returns.
 */
#include "postgres.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/pg_prng.h"
#include "storage/fd.h"

#include "memory/memfds.h"

/* Addresses to try: multiples of ADDRESS_STEP from ADDRESS_FIRST on. */
#define ADDRESS_FIRST UINT64CONST(0x100000000000)
#define ADDRESS_STEP UINT64CONST(0x40000000)
#define ADDRESS_STEPS UINT64CONST(0xC000)
#define ADDRESS_TRIES 16

/* Files that have less memory are closed by one thread. */
#define ENDED_TOGETHER_MIN ((Size) 16 * 1024 * 1024)
#define ENDING_STACK_SIZE ((Size) 256 * 1024)
#define STAT_BLOCK_SIZE 512

/*
 * Newer than many a system's headers; a kernel that doesn't know them says so, or takes the address for a
 * hint.
 */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* ---------------------------------------------------------------- closing */

/* What becomes of a file. */
typedef struct FileEnd
{
	int fd;
	char *address; /* NULL: it is not mapped */
	Size size;
	bool last; /* is its memory freed? */
} FileEnd;

/*
 * Pages are unmapped before addresses are: other threads can do that at the same time.  The memory is freed
 * though another process may have the file open; its size stays, for that process may have it mapped.
 */
static void *
end_file(void *arg)
{
	const FileEnd *end = arg;

	if (end->address != NULL)
	{
		(void) madvise(end->address, end->size, MADV_DONTNEED);
		munmap(end->address, end->size);
	}
	if (end->last)
		(void) fallocate(end->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end->size);
	close(end->fd);
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

Size
memfds_memory(const Memfds *files)
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

static char *
address_of(const Memfds *files, int file)
{
	return files->address != NULL ? files->address + file * files->size : NULL;
}

void
memfds_close(Memfds *files, bool last)
{
	FileEnd ends[MEMFDS_MAX];
	pthread_t threads[MEMFDS_MAX];
	int nthreads = 0;
	bool together = last && memfds_memory(files) >= ENDED_TOGETHER_MIN;

	for (int i = files->nfiles - 1; i >= 0; i--)
	{
		ends[i] = (FileEnd){files->fds[i], address_of(files, i), files->size, last};
		if (together && i > 0)
			nthreads += start_ending(&ends[i], &threads[nthreads]) ? 1 : 0;
		else
			end_file(&ends[i]);
	}
	for (int i = 0; i < nthreads; i++)
		pthread_join(threads[i], NULL);
	files->address = NULL;
	for (; files->nfiles > 0; files->nfiles--)
		ReleaseExternalFD();
}

/* ---------------------------------------------------------------- mapping */

void
memfds_unmap(Memfds *files)
{
	if (files->address != NULL)
		munmap(files->address, files->nfiles * files->size);
	files->address = NULL;
}

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
	(void) madvise(start, size, MADV_HUGEPAGE);
	(void) madvise(start, size, MADV_RANDOM);
}

bool
memfds_map_at(Memfds *files, uint64 address)
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

static bool
map_somewhere(Memfds *files)
{
	for (int i = 0; i < ADDRESS_TRIES; i++)
	{
		uint64 step = pg_prng_uint64_range(&pg_global_prng_state, 0, ADDRESS_STEPS - 1);

		if (memfds_map_at(files, ADDRESS_FIRST + step * ADDRESS_STEP))
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------- files */

/* Adds a file without a name. */
static bool
add_new_file(Memfds *files)
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

bool
memfds_open(Memfds *files, int pid, int fd)
{
	char path[64];

	if (!AcquireExternalFD())
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	files->fds[files->nfiles] = open(path, O_RDWR | O_CLOEXEC);
	if (files->fds[files->nfiles] < 0)
	{
		ReleaseExternalFD();
		return false;
	}
	files->nfiles++;
	return true;
}

/* Frees the last file. */
static void
drop_file(Memfds *files)
{
	Memfds surplus = {.nfiles = 1, .fds = {files->fds[--files->nfiles]}, .size = files->size};

	memfds_close(&surplus, true);
}

bool
memfds_make(Memfds *files, Size size, int processes, Size *held)
{
	int wanted = Min(Max(processes, 1), MEMFDS_MAX);

	for (; files->nfiles > wanted; held[files->nfiles] = 0)
		drop_file(files);
	for (int i = 0; i < files->nfiles; i++)
	{
		if (ftruncate(files->fds[i], size) != 0)
			return false;
		held[i] = Min(held[i], size);
	}
	files->size = size;
	while (files->nfiles < wanted && add_new_file(files))
		;
	return files->nfiles > 0 && map_somewhere(files);
}
