/*
 * base/preload.h
 *		The setting that loads the library into new sessions.
 */
#ifndef GPUSORT_BASE_PRELOAD_H
#define GPUSORT_BASE_PRELOAD_H

/*
 * Returns the name of a setting that loads the library into sessions of this role in this database; NULL: no
 * setting does.
 */
extern const char *preload_setting(void);

/* Returns what the current user can do to load the library by a setting; palloc'd. */
extern const char *preload_hint(void);

#endif /* GPUSORT_BASE_PRELOAD_H */
