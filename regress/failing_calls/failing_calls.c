/*
 * regress/failing_calls/failing_calls.c
 *		System calls of gpusort's that fail in chosen processes, for tests.
 *
 * The dynamic linker loads it before all else into a server (LD_PRELOAD), so the calls come here first.  The
 * setting failing_calls.plan, which parallel workers have from their leader, says which fail, and where:
 *
 *		CALL:PROCESS[:EVERY]
 *
 *		CALL		open (of another process's memory), mmap, ftruncate, memfd_create, or provide: whatever
 *					has the kernel provide pages; all of memory that sorts share alone
 *		PROCESS		leader, workers, first (of the workers), third (every third one), others (all but the first)
 *		EVERY		every so manyth of these calls in a process; all, if it is left out
 *
 * A process tells the server's log of the first call that failed in it, and is slow from then on: a worker
 * where the function slowly_where_calls_fail is called for a row, so that the others are through with theirs
 * before it; a leader where it asks the postmaster for workers, so that those have read rows before it reads.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "access/parallel.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/dsm.h"
#include "utils/guc.h"

#undef snprintf /* the server's, which other programs have not */

#define EXPORTED __attribute__((visibility("default")))

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(slowly_where_calls_fail);
PG_FUNCTION_INFO_V1(take_all_segments);

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Programs other than the server have none of these. */
#pragma weak ParallelWorkerNumber
#pragma weak MyBackendType
#pragma weak PostmasterPid
#pragma weak GetConfigOption
#pragma weak pg_usleep
#pragma weak dsm_create
#pragma weak dsm_pin_mapping

static bool has_failed = false; /* some call in this process? */

/* Is this process meant? */
static bool
is_process(const char *name)
{
	int worker = ParallelWorkerNumber;

	if (strcmp(name, "leader") == 0)
		return worker < 0 && MyBackendType == B_BACKEND;
	if (worker < 0)
		return false;
	if (strcmp(name, "first") == 0)
		return worker == 0;
	if (strcmp(name, "third") == 0)
		return worker % 3 == 2;
	if (strcmp(name, "others") == 0)
		return worker > 0;
	return strcmp(name, "workers") == 0;
}

static void
tell(const char *plan)
{
	char line[128];

	if (has_failed)
		return;
	has_failed = true;
	snprintf(line, sizeof(line), "failing_calls: %s in worker %d\n", plan, ParallelWorkerNumber);
	(void) !write(STDERR_FILENO, line, strlen(line));
}

/* Is a call to fail here and now? */
static bool
fails(const char *call)
{
	static unsigned int calls = 0;
	const char *plan;
	char planned_call[32];
	char process[32];
	unsigned int every = 1;

	if (&ParallelWorkerNumber == NULL || GetConfigOption == NULL)
		return false;
	plan = GetConfigOption("failing_calls.plan", true, false);
	if (plan == NULL || sscanf(plan, "%31[^:]:%31[^:]:%u", planned_call, process, &every) < 2 ||
		strcmp(planned_call, call) != 0 || !is_process(process) || ++calls % every != 0)
		return false;
	tell(plan);
	return true;
}

/* Is it memory that sorts share? */
static bool
is_shared_memory(int fd)
{
	char link[64];
	char target[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	return strstr(target, "memfd:gpusort") != NULL;
}

Datum
slowly_where_calls_fail(PG_FUNCTION_ARGS)
{
	if (has_failed && ParallelWorkerNumber >= 0)
		pg_usleep(1000);
	PG_RETURN_BOOL(true);
}

/* Until the session ends there is no segment of dynamic shared memory for anybody else; how many it took. */
Datum
take_all_segments(PG_FUNCTION_ARGS)
{
	dsm_segment *segment;
	int n = 0;

	while ((segment = dsm_create(1, DSM_CREATE_NULL_IF_MAXSEGMENTS)) != NULL)
	{
		dsm_pin_mapping(segment);
		n++;
	}
	PG_RETURN_INT32(n);
}

/* ---------------------------------------------------------------- the calls */

extern EXPORTED int open(const char *path, int flags, ...);
extern EXPORTED int open64(const char *path, int flags, ...);

static int
open_file(const char *path, int flags, mode_t mode)
{
	if (strncmp(path, "/proc/", 6) == 0 && strstr(path, "/fd/") != NULL && fails("open"))
	{
		errno = EACCES;
		return -1;
	}
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int
open(const char *path, int flags, ...)
{
	va_list rest;
	mode_t mode;

	va_start(rest, flags);
	mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	return open_file(path, flags, mode);
}

int
open64(const char *path, int flags, ...)
{
	va_list rest;
	mode_t mode;

	va_start(rest, flags);
	mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	return open_file(path, flags, mode);
}

EXPORTED void *
mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (fd >= 0 && (flags & MAP_SHARED) != 0 && is_shared_memory(fd) && fails("mmap"))
	{
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *) syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

EXPORTED int
ftruncate(int fd, off_t size)
{
	if (is_shared_memory(fd) && fails("ftruncate"))
	{
		errno = EFBIG;
		return -1;
	}
	return syscall(SYS_ftruncate, fd, size);
}

EXPORTED int
memfd_create(const char *name, unsigned int flags)
{
	if (fails("memfd_create"))
	{
		errno = EMFILE;
		return -1;
	}
	return syscall(SYS_memfd_create, name, flags);
}

EXPORTED int
madvise(void *address, size_t size, int advice)
{
	if ((advice == MADV_POPULATE_WRITE || advice == MADV_COLLAPSE) && fails("provide"))
	{
		errno = ENOMEM;
		return -1;
	}
	return syscall(SYS_madvise, address, size, advice);
}

EXPORTED int
fallocate(int fd, int mode, off_t offset, off_t size)
{
	if (is_shared_memory(fd) && fails("provide"))
	{
		errno = ENOSPC;
		return -1;
	}
	return syscall(SYS_fallocate, fd, mode, offset, size);
}

EXPORTED ssize_t
pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	if (is_shared_memory(fd) && fails("provide"))
	{
		errno = ENOSPC;
		return -1;
	}
	return syscall(SYS_pwritev, fd, parts, count, offset, 0);
}

/* PostgreSQL's own calls alone come here; the postmaster's, which ends processes so, are left alone. */
EXPORTED int
kill(pid_t pid, int number)
{
	int result = syscall(SYS_kill, pid, number);

	if (has_failed && ParallelWorkerNumber < 0 && number == SIGUSR1 && pid == PostmasterPid)
		pg_usleep(10000);
	return result;
}
