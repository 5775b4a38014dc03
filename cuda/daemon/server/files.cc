/*
 * files.cc
 *		The limit of open files (RLIMIT_NOFILE); files.h says what takes files.
 */
#include <algorithm>

#include <dirent.h>
#include <sys/resource.h>

#include "daemon/server/files.h"

/* Whatever the limit is: each has a thread. */
#define MAX_CONNECTIONS 4096

#define CONNECTION_FILES 3

/* A GPU's driver opens up to sixteen after its start; the listener, its lock and its signals take five. */
#define OTHER_FILES 32

/* Slabs get no more than this part of the files. */
#define SLABS_SHARE 4

void
files_raise_limit()
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void) setrlimit(RLIMIT_NOFILE, &limit);
}

/* What is listed are also "." and "..", and the folder itself while it is read. */
static uint64_t
files_open()
{
	DIR *folder = opendir("/proc/self/fd");
	uint64_t files = 0;

	if (folder == nullptr)
		return 0;
	while (readdir(folder) != nullptr)
		files++;
	closedir(folder);
	return files - std::min<uint64_t>(files, 3);
}

FileBudget
files_budget(uint64_t wanted_slabs)
{
	struct rlimit limit = {0, 0};
	uint64_t taken = files_open() + OTHER_FILES;
	FileBudget budget = {};
	uint64_t left;

	(void) getrlimit(RLIMIT_NOFILE, &limit);
	budget.limit = limit.rlim_cur;
	left = budget.limit - std::min(budget.limit, taken);
	budget.slabs = std::min(wanted_slabs, left / SLABS_SHARE);
	budget.connections = std::min<uint64_t>((left - budget.slabs) / CONNECTION_FILES, MAX_CONNECTIONS);
	return budget;
}
