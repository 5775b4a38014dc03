/*
 * base/huge_page_settings.c
 *		What the machine's settings say of huge pages.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/huge_page_settings.h"

bool
huge_page_setting_has(const char *name, const char *value)
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
