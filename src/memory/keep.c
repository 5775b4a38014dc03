/*
 * memory/keep.c
 *		The memory of one joint sort, which the server keeps for the next one.
 *
 * README.md has the states.  Whoever takes the files opens them by the holder's /proc entries, and so does
 * the launcher.  Memory is freed by making a hole in the file, so it does not matter who has it open.  A
 * holder that ends says so before its descriptors are closed, so what the lock's owner opens are these files.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "base/guc.h"
#include "memory/keep.h"

/* Files are kept for so long. */
#define KEPT_MS 5000

/* Of the memory that the server may have, by default. */
#define DEFAULT_PART 32

typedef struct KeptFiles
{
	LWLock *lock;
	int default_kb;
	Latch *launcher; /* NULL: nobody frees what is kept */
	int pid;		 /* of the holder; 0: nothing is kept */
	Memfds files;	 /* as the holder has them */
	Size held[MEMFDS_MAX];
	Size memory; /* of all files */
	TimestampTz since;
} KeptFiles;

static const char lock_name[] = "gpusort kept files";

static KeptFiles *kept; /* NULL: not loaded by shared_preload_libraries */

/* What this process has put there. */
static Memfds own;

/* Bytes that may be kept. */
static Size
most_kept(void)
{
	int kb = gpusort_max_kept_memory == -1 ? kept->default_kb : gpusort_max_kept_memory;

	return (Size) kb * 1024;
}

/* With the lock: closes what this process has put there and another one has taken. */
static void
close_taken(void)
{
	if (kept->pid != MyProcPid)
		memfds_close(&own, false);
}

/* Nobody could open the files of a process that has ended; but earlier holders have them open. */
static void
free_at_exit(int code, Datum argument)
{
	if (kept->pid == MyProcPid)
		keep_free();
}

/* Not before_shmem_exit(): see prepare_slot() in monitor/progress.c. */
static void
become_holder(Memfds *files, const Size *held, Size memory)
{
	static bool prepared = false;

	if (!prepared)
		on_shmem_exit(free_at_exit, 0);
	prepared = true;
	own = kept->files = *files;
	kept->pid = MyProcPid;
	memcpy(kept->held, held, sizeof(kept->held));
	kept->memory = memory;
	kept->since = GetCurrentTimestamp();
	SetLatch(kept->launcher);
	*files = (Memfds){.size = files->size};
}

bool
keep_put(Memfds *files, const Size *held)
{
	Size memory = memfds_memory(files);
	bool done = false;

	if (kept == NULL || memory > most_kept())
		return false;
	memfds_unmap(files);
	LWLockAcquire(kept->lock, LW_EXCLUSIVE);
	if (kept->pid == 0 && kept->launcher != NULL)
	{
		close_taken();
		become_holder(files, held, memory);
		done = true;
	}
	LWLockRelease(kept->lock);
	return done;
}

/* With the lock: has this process have them open. */
static bool
open_files(Memfds *files)
{
	if (kept->pid == MyProcPid)
	{
		*files = own;
		own.nfiles = 0;
		return true;
	}
	*files = (Memfds){.size = kept->files.size};
	for (int i = 0; i < kept->files.nfiles; i++)
	{
		if (!memfds_open(files, kept->pid, kept->files.fds[i]))
		{
			memfds_close(files, false);
			return false;
		}
	}
	return true;
}

bool
keep_take(Memfds *files, Size at_most, Size *held)
{
	bool done = false;

	if (kept == NULL)
		return false;
	LWLockAcquire(kept->lock, LW_EXCLUSIVE);
	close_taken();
	if (kept->pid != 0 && kept->memory <= at_most && open_files(files))
	{
		memcpy(held, kept->held, sizeof(kept->held));
		kept->pid = 0;
		done = true;
	}
	LWLockRelease(kept->lock);
	return done;
}

void
keep_free(void)
{
	Memfds files;
	Size held[MEMFDS_MAX];

	if (kept != NULL && kept->pid != 0 && keep_take(&files, SIZE_MAX, held))
		memfds_close(&files, true);
}

/* ---------------------------------------------------------------- the launcher */

/* Milliseconds that the files may be kept yet; -1: there are none. */
static long
time_left(void)
{
	long left = -1;

	LWLockAcquire(kept->lock, LW_EXCLUSIVE);
	kept->launcher = MyLatch;
	if (kept->pid != 0)
		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
											   TimestampTzPlusMilliseconds(kept->since, KEPT_MS));
	LWLockRelease(kept->lock);
	return left;
}

long
keep_free_idle(void)
{
	long left = time_left();

	if (left != 0)
		return left;
	keep_free();
	left = time_left();
	return left == 0 ? KEPT_MS : left; /* can't open them, and tries again */
}

/* ---------------------------------------------------------------- what the server may have */

/*
 * A line of /proc/self/cgroup names a cgroup by its path below the root of its hierarchy: "0::/path" of
 * version 2, "4:memory:/path" of version 1.  In a container the path may be one of the host's, where only the
 * root is to be seen: so the limits of all cgroups on the way up are looked for, and those that are found
 * count.
 */

/* The number in a file; SIZE_MAX: there is none, or a word ("max"). */
static Size
number_in(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned long long number;
	bool found = file != NULL && fscanf(file, "%llu", &number) == 1;

	if (file != NULL)
		fclose(file);
	return found ? (Size) number : SIZE_MAX;
}

/* The least limit of a cgroup and those that it is in.  Changes the path. */
static Size
cgroup_limit(const char *root, char *path, const char *name)
{
	Size limit = SIZE_MAX;
	Size number;
	char file[2 * MAXPGPATH];

	for (char *end = path + strlen(path); end != NULL; end = strrchr(path, '/'))
	{
		*end = '\0';
		snprintf(file, sizeof(file), "%s%s/%s", root, path, name);
		number = number_in(file);
		limit = Min(limit, number);
	}
	return limit;
}

/* What the line of /proc/self/cgroup says.  Changes it. */
static Size
limit_of_line(char *line)
{
	char *path = strchr(line, '/');

	line[strcspn(line, "\n")] = '\0';
	if (path == NULL)
		return SIZE_MAX;
	if (strncmp(line, "0::", 3) == 0)
		return cgroup_limit("/sys/fs/cgroup", path, "memory.max");
	if (strstr(line, ":memory:") != NULL)
		return cgroup_limit("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes");
	return SIZE_MAX;
}

/* Bytes: of the machine, or what the cgroup of this process, or one that it is in, may have. */
static Size
memory_limit(void)
{
	Size limit = (Size) sysconf(_SC_PHYS_PAGES) * (Size) sysconf(_SC_PAGESIZE);
	FILE *cgroups = fopen("/proc/self/cgroup", "r");
	char line[MAXPGPATH];

	if (cgroups == NULL)
		return limit;
	while (fgets(line, sizeof(line), cgroups) != NULL)
	{
		Size limit_here = limit_of_line(line);

		limit = Min(limit, limit_here);
	}
	fclose(cgroups);
	return limit;
}

/* ---------------------------------------------------------------- shared memory */

void
keep_shmem_request(void)
{
	RequestAddinShmemSpace(sizeof(KeptFiles));
	RequestNamedLWLockTranche(lock_name, 1);
}

/* Where the setting is left alone, SHOW tells what that is. */
static void
set_default_limit(void)
{
	char value[32];
	Size kb = memory_limit() / 1024 / DEFAULT_PART;

	kept->default_kb = (int) Min(kb, MAX_KILOBYTES);
	snprintf(value, sizeof(value), "%d", kept->default_kb);
	SetConfigOption("gpusort.max_kept_memory", value, PGC_POSTMASTER, PGC_S_DYNAMIC_DEFAULT);
}

void
keep_shmem_init(void)
{
	bool found;

	kept = ShmemInitStruct("gpusort kept files", sizeof(KeptFiles), &found);
	if (found)
		return;
	memset(kept, 0, sizeof(KeptFiles));
	set_default_limit();
	kept->lock = &GetNamedLWLockTranche(lock_name)->lock;
}
