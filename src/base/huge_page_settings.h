/*
 * base/huge_page_settings.h
 *		What the machine's settings say of huge pages.
 */
#ifndef GPUSORT_BASE_HUGE_PAGE_SETTINGS_H
#define GPUSORT_BASE_HUGE_PAGE_SETTINGS_H

#include "postgres.h"

/*
 * Has this file of /sys/kernel/mm/transparent_hugepage the value?  One of several values is the setting if it
 * is in brackets.  False also if there is no such file.
 */
extern bool huge_page_setting_has(const char *name, const char *value);

#endif /* GPUSORT_BASE_HUGE_PAGE_SETTINGS_H */
