/*
 * base/memory_limit.c
 *		How much memory may this server have?
 *
 * A line of /proc/self/cgroup names a cgroup by its path below the root of its hierarchy: "0::/path" of
 * version 2, "4:memory:/path" of version 1.  In a container the path may be one of the host's, where only the
 * root is to be seen: so the limits of all cgroups on the way up are looked for, and those that are found
 * count.
 */
#include "postgres.h"

#include <unistd.h>

#include "base/memory_limit.h"

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

Size
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
